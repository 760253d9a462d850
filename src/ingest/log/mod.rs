//! The durable log: what was acknowledged is in it until it is in the tables.
//!
//! [`Log::append`] puts a message into a bounded queue and returns; one thread writes what waits as
//! a group, brings it to the disk with one `fdatasync`, and only then hands each message's ticket
//! to whoever opened the log, in the order of the sequence numbers. The log is a folder of
//! segments, files of about [`Options::segment_bytes`]; [`Log::cut`] removes those that are below a
//! sequence number, whole. Their [`mod@format`] carries a version and checks.
//!
//! | mode | the process is killed | the machine loses power |
//! |---|---|---|
//! | [`Durability::Sync`] | nothing acknowledged is lost | nothing acknowledged is lost, if the disk does what `fdatasync` asks of it |
//! | [`Durability::Os`] | nothing acknowledged is lost | what came in the last seconds may be lost: what the kernel had not written (30 s by Linux's defaults) |
//!
//! A group that cannot be written is refused, and cut off the file again, so that the next one has
//! a clean place. A disk that takes nothing is tried again every second ([`Kind::Probe`]): the log
//! recovers by itself. After an `fdatasync` that failed nothing is known about the file's end
//! (the kernel forgets what it could not write): the next group goes into a new segment.
//!
//! At opening, a write that broke off at the end of the last segment is cut off and told: it was
//! never acknowledged in mode `sync`. Damage elsewhere costs the records that it hit; it is told
//! with file and offset, and all others are replayed.
//!
//! Why not fjall, which was tried first (3.1.13): a flipped byte in the framing of its journal
//! silently ends the recovery there and truncates the file, so that all that was acknowledged
//! behind it is gone; one in a value fails the opening without a name; a full disk poisons the
//! database until the process restarts; and each record is written twice, into journal and table.

pub mod format;
mod look;
mod scan;
mod segments;
mod writer;

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use format::Kind;
pub use look::{Looked, look, waiting};
pub use scan::Record;

use self::scan::Found;
use self::segments::Segment;
use self::writer::{Shared, Writer};
use crate::store::is_full;
use crate::telemetry::Telemetry;

/// What an acknowledged message survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process and of the machine's power.
    #[default]
    Sync,
    /// The end of the process.
    Os,
}

/// How the log is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What a message survives once it is acknowledged.
    pub durability: Durability,
    /// From this size on a segment is followed by the next.
    pub segment_bytes: u64,
    /// The most bytes on disk; more is refused until the log was cut.
    pub max_bytes: u64,
    /// The most bytes of messages that wait to be written.
    pub max_queued_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            segment_bytes: 32 << 20,
            max_bytes: 8 << 30,
            max_queued_bytes: 64 << 20,
        }
    }
}

/// Bytes of the log that are no record, and cannot be one again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where.
    pub file: PathBuf,
    /// From which byte on.
    pub at: u64,
    /// How many.
    pub bytes: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, from, to) = (self.file.display(), self.at, self.at + self.bytes);
        write!(f, "`{file}`, bytes {from} to {to}")
    }
}

/// Why the log cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system refused.
    #[error("cannot {what} `{}` of the log; check its owner and the disk", file.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A later Dwindle wrote it.
    #[error(
        "`{}` is of version {version} of the log's format, this build reads 1; start the newer one \
         and stop it again, which empties the log", file.display()
    )]
    Newer {
        /// The segment.
        file: PathBuf,
        /// Its version.
        version: u16,
    },
    /// The thread could not be started.
    #[error("cannot start the log's thread")]
    Thread(#[source] io::Error),
}

impl LogError {
    fn new(what: &'static str, file: &Path, source: io::Error) -> Self {
        Self::Io {
            what,
            file: file.to_owned(),
            source,
        }
    }
}

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// More is waiting to be written than may.
    #[error("the disk is behind")]
    Behind,
    /// The log is as large as it may be: what is in it has not come into the tables yet.
    #[error("the log is full until its traces are in the tables")]
    Full,
    /// The disk does not take it.
    #[error("the log cannot be written")]
    Failed,
    /// The log is being closed.
    #[error("the server stops")]
    Closed,
}

/// How much is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Records from the cut on.
    pub records: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// When the oldest segment was begun, in Unix nanoseconds; 0 if nothing is in it.
    pub since: u64,
    /// Segments.
    pub segments: usize,
}

/// A group that was committed, or not: the tickets in the order in which they were appended.
#[derive(Debug)]
pub struct Commit<T> {
    /// The numbers of its records, in the order of the tickets; or why there are none.
    pub result: Result<Range<u64>, NotTaken>,
    /// Each ticket and how many records it has.
    pub tickets: Vec<(T, u64)>,
}

/// The durable log. `T` is what is handed back with each commit.
#[derive(Debug)]
pub struct Log<T: Send + 'static> {
    shared: Arc<Shared<T>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    dir: PathBuf,
}

/// What was in the log when it was opened, to be read once, from the first record on.
#[derive(Debug)]
pub struct Replay {
    segments: std::vec::IntoIter<Segment>,
    current: Option<(Segment, scan::Scan)>,
    /// The number of the next record; not known after damage.
    next_seq: Option<u64>,
    /// How many records there are at most.
    pub records: u64,
}

/// The next of a replay.
#[derive(Debug)]
pub enum Replayed {
    /// A record with its sequence number.
    Record(u64, Record),
    /// What is damaged, or a segment that could not be read.
    Damage(Damage),
    /// How many records are not there between segments that are.
    Missing(u64),
}

impl<T: Send + 'static> Log<T> {
    /// Opens the log in `dir`, which is made if it is not there, and starts its thread. `deliver`
    /// is called on that thread with every group, in order.
    pub fn open(
        dir: &Path,
        options: Options,
        telemetry: Arc<Telemetry>,
        deliver: impl FnMut(Commit<T>) + Send + 'static,
    ) -> Result<(Self, Replay), LogError> {
        let opened = segments::open(dir)?;
        if let Some(torn) = &opened.torn {
            tracing::warn!(
                torn.file = %torn.file.display(), torn.at, torn.bytes,
                "a write to the log broke off; its end was cut off"
            );
            telemetry.log_torn_bytes.inc_by(torn.bytes);
        }
        let first = opened.segments.front().map(|segment| segment.first_seq);
        let replay = Replay {
            records: first.map_or(0, |first| opened.next_seq - first),
            segments: Vec::from(opened.segments.clone()).into_iter(),
            current: None,
            next_seq: None,
        };
        let shared = Arc::new(Shared::new(
            options,
            opened.segments,
            opened.next_seq,
            first.unwrap_or(opened.next_seq),
        ));
        let mut writer = Writer::new(Arc::clone(&shared), dir, telemetry, Box::new(deliver));
        match writer.begin() {
            Ok(()) => {}
            // What is there can be read meanwhile; spans are taken again when there is room.
            Err(error) if is_full(&error) => writer.told(&Err(error)),
            Err(error) => return Err(LogError::new("write to the folder", dir, error)),
        }
        let thread = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run())
            .map_err(LogError::Thread)?;
        let log = Self {
            shared,
            thread: Mutex::new(Some(thread)),
            dir: dir.to_owned(),
        };
        Ok((log, replay))
    }

    /// Queues a message of one or more records; it is committed with all of them or none. The
    /// ticket comes back with the commit, or at once.
    pub fn append(&self, records: Vec<Record>, ticket: T) -> Result<(), (NotTaken, T)> {
        self.shared.append(records, ticket)
    }

    /// Removes the segments whose records are all below `seq`. What cannot be removed is tried
    /// again with the next cut.
    pub fn cut(&self, seq: u64) -> Result<(), LogError> {
        self.shared.cut(seq)
    }

    /// How much is in it.
    pub fn size(&self) -> Size {
        self.shared.size()
    }

    /// The number that the next record gets.
    pub fn next_seq(&self) -> u64 {
        self.shared.lock().next_seq
    }

    /// The number with which the segment that is written began.
    pub fn active_from(&self) -> u64 {
        self.shared.lock().active_from
    }

    /// The most bytes that it may take on disk.
    pub fn max_bytes(&self) -> u64 {
        self.shared.options.max_bytes
    }

    /// Whether the last group could be written.
    pub fn is_writable(&self) -> bool {
        !self.shared.lock().failing
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes no more and commits what waits, but is not waited for longer than `within`: a disk
    /// may hang. After it a cut removes all segments that are not needed.
    pub fn close(&self, within: Duration) {
        if self.shared.close(within) {
            let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = thread.take()
                && thread.join().is_err()
            {
                tracing::error!("the log's thread panicked");
            }
        }
    }
}

impl<T: Send + 'static> Drop for Log<T> {
    fn drop(&mut self) {
        self.shared.close(Duration::ZERO);
    }
}

impl Iterator for Replay {
    type Item = Replayed;

    fn next(&mut self) -> Option<Replayed> {
        loop {
            if let Some((segment, scan)) = &mut self.current {
                let (at, bytes) = match scan.next() {
                    Some(Found::Record { seq, record }) => {
                        self.next_seq = self.next_seq.map(|_| seq + 1);
                        if record.kind == Kind::Probe {
                            continue;
                        }
                        return Some(Replayed::Record(seq, record));
                    }
                    Some(Found::Damage { at, length }) => (at as u64, length as u64),
                    Some(Found::Torn { at }) => (at as u64, segment.bytes - at as u64),
                    None => {
                        self.current = None;
                        continue;
                    }
                };
                let file = segment.path.clone();
                self.next_seq = None;
                return Some(Replayed::Damage(Damage { file, at, bytes }));
            }
            let first = self.segments.as_slice().first()?.first_seq;
            let missing = self.next_seq.map_or(0, |next| first.saturating_sub(next));
            self.next_seq = Some(first);
            if missing > 0 {
                return Some(Replayed::Missing(missing));
            }
            let segment = self.segments.next()?;
            let (file, bytes) = (segment.path.clone(), segment.bytes);
            match segments::read(&segment) {
                Ok(scan) => {
                    let good = segments::has_good_header(&segment);
                    self.current = Some((segment, scan));
                    if !good {
                        let bytes = format::SEGMENT_HEADER as u64;
                        return Some(Replayed::Damage(Damage { file, at: 0, bytes }));
                    }
                }
                Err(error) => {
                    self.next_seq = None;
                    tracing::error!(error = &error as &dyn std::error::Error, "unreadable");
                    return Some(Replayed::Damage(Damage { file, at: 0, bytes }));
                }
            }
        }
    }
}
