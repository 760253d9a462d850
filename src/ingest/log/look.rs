//! What a log has that is no longer written by this process: for whoever only looks.

use std::io;
use std::path::Path;

use super::format::SEGMENT_HEADER;
use super::scan::Found;
use super::segments::{has_good_header, list, read};
use super::{Damage, LogError};

/// What was found in a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Looked {
    /// Records that are as they were written.
    pub records: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that are no record and have good ones behind them, and headers that are damaged.
    pub damage: Vec<Damage>,
    /// How many records are not there between segments that are.
    pub missing: u64,
    /// Bytes at the end that are no whole record: a write that broke off, or one under way.
    pub torn: Option<Damage>,
}

/// Bytes of records that a log holds; nothing is read. A folder that is not there has none.
///
/// # Errors
/// The folder cannot be read.
pub fn waiting(dir: &Path) -> Result<u64, LogError> {
    if !dir.is_dir() {
        return Ok(0);
    }
    let segments = list(dir)?;
    let header = SEGMENT_HEADER as u64;
    Ok(segments
        .iter()
        .map(|segment| segment.bytes.saturating_sub(header))
        .sum())
}

/// Reads every record, and changes nothing; a server may be at work there.
///
/// # Errors
/// A file cannot be read, or is of a later version.
pub fn look(dir: &Path) -> Result<Looked, LogError> {
    let mut looked = Looked::default();
    if !dir.is_dir() {
        return Ok(looked);
    }
    let mut next = None;
    for segment in list(dir)? {
        let scan = match read(&segment) {
            Ok(scan) => scan,
            // What came into the tables meanwhile.
            Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                continue;
            }
            Err(error) => return Err(error),
        };
        let damage = |at: u64, bytes: u64| Damage {
            file: segment.path.clone(),
            at,
            bytes,
        };
        if !has_good_header(&segment) {
            let header = (SEGMENT_HEADER as u64).min(segment.bytes);
            looked.damage.push(damage(0, header));
        }
        looked.segments += 1;
        looked.bytes += segment.bytes;
        looked.missing += next.map_or(0, |next| segment.first_seq.saturating_sub(next));
        let faults = looked.damage.len();
        // Of what is torn no more comes, unless it is not the last.
        looked.damage.extend(looked.torn.take());
        let mut after = segment.first_seq;
        for found in scan {
            match found {
                Found::Record { seq, .. } => {
                    looked.records += 1;
                    after = seq + 1;
                }
                Found::Damage { at, length } => {
                    looked.damage.push(damage(at as u64, length as u64));
                }
                Found::Torn { at } => {
                    let rest = segment.bytes.saturating_sub(at as u64);
                    looked.torn = Some(damage(at as u64, rest));
                }
            }
        }
        // Damage is told as such, and may have been any number of records.
        next = (looked.damage.len() == faults && looked.torn.is_none()).then_some(after);
    }
    Ok(looked)
}
