//! The log's folder: one file per segment, named by its first sequence number.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::format::{BadHeader, SEGMENT_HEADER, SegmentHeader};
use super::scan::{Found, Scan};
use super::{Damage, LogError};

const SUFFIX: &str = ".log";

/// A file of the log that is no longer written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) first_seq: u64,
    /// Unix time in nanoseconds; 0 if its header is damaged.
    pub(super) created: u64,
    pub(super) bytes: u64,
}

/// The file that is written.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Segment,
    pub(super) file: File,
}

/// What was in the folder.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) segments: VecDeque<Segment>,
    /// The number of the next record.
    pub(super) next_seq: u64,
    /// Bytes at the end of the last segment that are no whole record.
    pub(super) torn: Option<Damage>,
}

/// Looks at the folder, which is made if it is not there, and cuts off what a broken write left.
pub(super) fn open(dir: &Path) -> Result<Opened, LogError> {
    let made = fs::create_dir_all(dir).and_then(|()| dir.parent().map_or(Ok(()), sync_folder));
    made.map_err(|error| LogError::new("make the folder", dir, error))?;
    let mut segments = list(dir)?;
    let mut torn = None;
    let mut next_seq = 1;
    while let Some(last) = segments.pop_back() {
        if last.bytes <= SEGMENT_HEADER as u64 {
            // Made, and nothing written into it: its number is the next one.
            next_seq = next_seq.max(last.first_seq);
            if last.bytes < SEGMENT_HEADER as u64 {
                tracing::warn!(
                    file = %last.path.display(), bytes = last.bytes,
                    "a segment of the log has not even its header: it was just begun when the \
                     machine stopped, or somebody cut it; removed"
                );
            }
            fs::remove_file(&last.path)
                .map_err(|error| LogError::new("remove the empty file", &last.path, error))?;
            continue;
        }
        let (seq, end) = last_of(&last)?;
        next_seq = next_seq.max(seq);
        if let Some(at) = end {
            torn = Some(Damage {
                file: last.path.clone(),
                at,
                bytes: last.bytes - at,
            });
            let cut = if seq == last.first_seq {
                fs::remove_file(&last.path)
            } else {
                truncate(&last.path, at)
            };
            cut.map_err(|error| LogError::new("cut the broken end of", &last.path, error))?;
            if seq == last.first_seq {
                continue;
            }
        }
        segments.push_back(Segment {
            bytes: end.unwrap_or(last.bytes),
            ..last
        });
        break;
    }
    Ok(Opened {
        segments,
        next_seq,
        torn,
    })
}

/// The segments by their first number.
pub(super) fn list(dir: &Path) -> Result<VecDeque<Segment>, LogError> {
    let failed = |error| LogError::new("read the folder", dir, error);
    let mut segments = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        let Some(first_seq) = number.and_then(|number| number.parse().ok()) else {
            continue;
        };
        let path = entry.path();
        let unreadable = |error| LogError::new("read", &path, error);
        let mut head = Vec::new();
        let mut file = File::open(&path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        (&mut file)
            .take(SEGMENT_HEADER as u64)
            .read_to_end(&mut head)
            .map_err(unreadable)?;
        let created = match SegmentHeader::decode(&head) {
            Ok(header) => header.created,
            Err(BadHeader::Newer(version)) => {
                return Err(LogError::Newer {
                    file: path,
                    version,
                });
            }
            // Its records have checks of their own.
            Err(BadHeader::Damaged) => 0,
        };
        segments.push(Segment {
            path,
            first_seq,
            created,
            bytes,
        });
    }
    segments.sort_by_key(|segment| segment.first_seq);
    Ok(segments.into())
}

/// The number after the last record, and where the good part ends if it is not the end.
fn last_of(segment: &Segment) -> Result<(u64, Option<u64>), LogError> {
    let (mut next, mut end) = (segment.first_seq, None);
    for found in read(segment)? {
        match found {
            Found::Record { seq, .. } => next = seq + 1,
            Found::Damage { .. } => {}
            Found::Torn { at } => end = Some(at as u64),
        }
    }
    Ok((next, end))
}

/// All of a segment, which is held in memory meanwhile.
pub(super) fn read(segment: &Segment) -> Result<Scan, LogError> {
    let bytes = fs::read(&segment.path);
    let bytes = bytes.map_err(|error| LogError::new("read", &segment.path, error))?;
    Ok(Scan::new(Bytes::from(bytes), segment.first_seq))
}

/// Whether a segment's header is as it was written; its records do not depend on it.
pub(super) fn has_good_header(segment: &Segment) -> bool {
    segment.created > 0
}

/// Begins a segment. Its name is on the disk when this returns.
pub(super) fn create(dir: &Path, first_seq: u64, created: u64) -> io::Result<Active> {
    let path = dir.join(format!("{first_seq:020}{SUFFIX}"));
    // A file of this name has no record that was acknowledged: its number would have been taken.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(&path)?;
    let header = SegmentHeader { first_seq, created };
    let written = file
        .write_all(&header.encode())
        .and_then(|()| file.sync_all())
        .and_then(|()| sync_folder(dir));
    if let Err(error) = written {
        // Else the next attempt would find the name taken.
        drop(fs::remove_file(&path));
        return Err(error);
    }
    Ok(Active {
        segment: Segment {
            path,
            first_seq,
            created,
            bytes: SEGMENT_HEADER as u64,
        },
        file,
    })
}

pub(super) fn truncate(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_all()
}

/// A new name is on the disk when its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) && !folder.as_os_str().is_empty() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
