//! The thread that writes: one group, one `fdatasync`, one delivery.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::format::{Kind, RecordHeader};
use super::segments::{self, Active, Segment};
use super::{Commit, Durability, LogError, NotTaken, Options, Record, Size};
use crate::telemetry::{Telemetry, clock};

/// About the most bytes of a group: a larger one would keep its first message waiting.
const GROUP_BYTES: usize = 4 << 20;

/// The most bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// How often a disk that takes nothing is tried.
const PROBE: Duration = Duration::from_secs(1);

/// Of the disk so much is left besides what the tables may take: for their indices and the manifest.
const HEADROOM: u64 = 1 << 20;

type Deliver<T> = Box<dyn FnMut(Commit<T>) + Send>;

/// What the handle and the thread share.
#[derive(Debug)]
pub(super) struct Shared<T> {
    pub(super) options: Options,
    queue: Mutex<Queue<T>>,
    /// Told when something waits, and at the end.
    waiting: Condvar,
    /// Told when the thread has ended.
    ended: Condvar,
    /// Held while files are removed, so that two cuts do not meet.
    cutting: Mutex<()>,
}

#[derive(Debug)]
pub(super) struct Queue<T> {
    entries: VecDeque<Entry<T>>,
    bytes: usize,
    /// Segments that are no longer written, the oldest first.
    sealed: VecDeque<Segment>,
    /// First number, bytes and beginning of the one that is written.
    pub(super) active_from: u64,
    active_bytes: u64,
    active_since: u64,
    pub(super) next_seq: u64,
    /// Below it nothing is needed.
    cut: u64,
    pub(super) failing: bool,
    /// Nothing in the segment that is written is needed: the next group begins another.
    roll: bool,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Open,
    /// What waits is committed, and no more is taken.
    Closing,
    /// The thread has ended.
    Ended,
}

#[derive(Debug)]
struct Entry<T> {
    records: Vec<Record>,
    bytes: usize,
    ticket: T,
}

pub(super) struct Writer<T> {
    shared: Arc<Shared<T>>,
    dir: PathBuf,
    telemetry: Arc<Telemetry>,
    deliver: Deliver<T>,
    /// None until the next group if the last segment cannot be trusted.
    active: Option<Active>,
    buffer: Vec<u8>,
}

impl<T> Shared<T> {
    pub(super) fn new(
        options: Options,
        sealed: VecDeque<Segment>,
        next_seq: u64,
        cut: u64,
    ) -> Self {
        Self {
            options,
            queue: Mutex::new(Queue {
                entries: VecDeque::new(),
                bytes: 0,
                sealed,
                active_from: next_seq,
                active_bytes: 0,
                active_since: 0,
                next_seq,
                cut,
                failing: false,
                roll: false,
                life: Life::Open,
            }),
            waiting: Condvar::new(),
            ended: Condvar::new(),
            cutting: Mutex::new(()),
        }
    }

    pub(super) fn append(&self, records: Vec<Record>, ticket: T) -> Result<(), (NotTaken, T)> {
        let bytes = records.iter().map(|record| record.bytes.len()).sum();
        let mut queue = self.lock();
        let refused = if queue.life != Life::Open {
            Some(NotTaken::Closed)
        } else if queue.failing {
            // The thread tries by itself; a queue that cannot move only costs memory.
            Some(NotTaken::Failed)
        } else if queue.disk_bytes() >= self.options.max_bytes {
            Some(NotTaken::Full)
        } else if queue.bytes > 0 && queue.bytes + bytes > self.options.max_queued_bytes {
            Some(NotTaken::Behind)
        } else {
            None
        };
        if let Some(why) = refused {
            return Err((why, ticket));
        }
        queue.bytes += bytes;
        queue.entries.push_back(Entry {
            records,
            bytes,
            ticket,
        });
        drop(queue);
        self.waiting.notify_one();
        Ok(())
    }

    pub(super) fn cut(&self, seq: u64) -> Result<(), LogError> {
        let _alone = self.cutting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut queue = self.lock();
            queue.cut = queue.cut.max(seq.min(queue.next_seq));
            if queue.cut == queue.next_seq
                && queue.active_from < queue.cut
                && queue.life != Life::Ended
            {
                queue.roll = true;
                self.waiting.notify_one();
            }
            let mut firsts = queue.sealed.iter().map(|segment| segment.first_seq);
            let Some(_) = firsts.next() else {
                return Ok(());
            };
            let end = firsts.next().unwrap_or(queue.active_from);
            if end > queue.cut {
                return Ok(());
            }
            let Some(segment) = queue.sealed.front().cloned() else {
                return Ok(());
            };
            drop(queue);
            match fs::remove_file(&segment.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(LogError::new("remove", &segment.path, error));
                }
                _ => {
                    self.lock().sealed.pop_front();
                }
            }
        }
    }

    pub(super) fn size(&self) -> Size {
        let queue = self.lock();
        let records = queue.next_seq - queue.cut;
        let oldest = queue.sealed.front().map(|segment| segment.created);
        Size {
            records,
            bytes: queue.disk_bytes(),
            since: match (records, oldest) {
                (0, _) => 0,
                (_, Some(created)) if created > 0 => created,
                _ => queue.active_since,
            },
            segments: queue.sealed.len() + 1,
        }
    }

    /// Whether the thread has ended in time.
    pub(super) fn close(&self, within: Duration) -> bool {
        let mut queue = self.lock();
        if queue.life == Life::Open {
            queue.life = Life::Closing;
        }
        self.waiting.notify_all();
        let ended = self
            .ended
            .wait_timeout_while(queue, within, |queue| queue.life != Life::Ended);
        queue = ended.unwrap_or_else(PoisonError::into_inner).0;
        queue.life == Life::Ended
    }

    // The queue is as it should be at every unlock.
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Queue<T> {
    fn disk_bytes(&self) -> u64 {
        self.sealed.iter().map(|segment| segment.bytes).sum::<u64>() + self.active_bytes
    }
}

impl<T> Writer<T> {
    pub(super) fn new(
        shared: Arc<Shared<T>>,
        dir: &Path,
        telemetry: Arc<Telemetry>,
        deliver: Deliver<T>,
    ) -> Self {
        Self {
            shared,
            dir: dir.to_owned(),
            telemetry,
            deliver,
            active: None,
            buffer: Vec::new(),
        }
    }

    /// Begins a segment of its own, which also shows that the folder can be written.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let next_seq = self.shared.lock().next_seq;
        let active = segments::create(&self.dir, next_seq, clock::unix_nanos())?;
        let mut queue = self.shared.lock();
        queue.active_from = next_seq;
        queue.active_bytes = active.segment.bytes;
        queue.active_since = active.segment.created;
        drop(queue);
        self.active = Some(active);
        Ok(())
    }

    /// Writes until the log is closed and nothing waits.
    pub(super) fn run(mut self) {
        while let Some(group) = self.next_group() {
            let records: u64 = group.iter().map(|entry| entry.records.len() as u64).sum();
            let result = if group.is_empty() {
                self.idle()
            } else {
                self.write(group.iter().flat_map(|entry| &entry.records))
            };
            self.told(&result);
            let tickets = group
                .into_iter()
                .map(|entry| (entry.ticket, entry.records.len() as u64))
                .collect();
            let result = result.map_err(|_| NotTaken::Failed);
            if result.is_ok() && records > 0 {
                self.telemetry.log_commits.inc();
                self.telemetry.log_records.inc_by(records);
            }
            (self.deliver)(Commit { result, tickets });
        }
        if let Some(active) = self.active.take() {
            self.retire(active.segment);
        }
        let mut queue = self.shared.lock();
        queue.active_from = queue.next_seq;
        queue.active_bytes = 0;
        queue.life = Life::Ended;
        drop(queue);
        self.shared.ended.notify_all();
    }

    /// What waits, up to about the size of a group; empty if a failing disk is to be tried or a
    /// segment begun; `None` at the end.
    fn next_group(&mut self) -> Option<Vec<Entry<T>>> {
        let mut queue = self.shared.lock();
        while queue.entries.is_empty() {
            if queue.life != Life::Open {
                return None;
            }
            if queue.roll && !queue.failing {
                return Some(Vec::new());
            }
            if queue.failing {
                let waited = self.shared.waiting.wait_timeout(queue, PROBE);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                if queue.entries.is_empty() && queue.life == Life::Open {
                    return Some(Vec::new());
                }
            } else {
                let waited = self.shared.waiting.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        let mut group = Vec::new();
        let mut bytes = 0;
        while bytes < GROUP_BYTES
            && let Some(entry) = queue.entries.pop_front()
        {
            bytes += entry.bytes;
            queue.bytes -= entry.bytes;
            group.push(entry);
        }
        Some(group)
    }

    /// Tries a disk that took nothing, or begins a segment where the last one can go.
    fn idle(&mut self) -> io::Result<Range<u64>> {
        let queue = self.shared.lock();
        let (failing, next) = (queue.failing, queue.next_seq);
        drop(queue);
        if !failing {
            return self.roll().map(|()| next..next);
        }
        let probe = Record {
            kind: Kind::Probe,
            bytes: bytes::Bytes::from_static(&[0; 4096]),
        };
        self.write(std::iter::once(&probe))
    }

    /// Writes records and brings them to the disk; on an error none of them is in the log. Returns
    /// their numbers.
    fn write<'r>(&mut self, records: impl Iterator<Item = &'r Record>) -> io::Result<Range<u64>> {
        self.has_room()?;
        self.roll()?;
        let first = self.shared.lock().next_seq;
        let Some(active) = &mut self.active else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut next = first;
        let mut written = 0;
        let buffer = &mut self.buffer;
        buffer.clear();
        let mut flush = |buffer: &mut Vec<u8>| {
            written += buffer.len() as u64;
            let result = active.file.write_all(buffer);
            buffer.clear();
            result
        };
        let mut result = Ok(());
        for record in records {
            RecordHeader::write(record.kind, next, &record.bytes, buffer);
            next += 1;
            if buffer.len() >= BUFFER_BYTES {
                result = flush(buffer);
            }
            if result.is_err() {
                break;
            }
        }
        let result = result.and_then(|()| flush(buffer));
        buffer.shrink_to(2 * BUFFER_BYTES);
        let good = active.segment.bytes;
        if let Err(error) = result {
            // What is left behind would be found as damage; if even this fails, it will be.
            if active.file.set_len(good).is_err() {
                self.abandon();
            }
            return Err(error);
        }
        if self.shared.options.durability == Durability::Sync {
            let started = clock::monotonic_nanos();
            let synced = active.file.sync_data();
            let took = clock::monotonic_nanos() - started;
            self.telemetry.log_fsync.observe(took as f64 / 1e9);
            if let Err(error) = synced {
                drop(active.file.set_len(good));
                self.abandon();
                return Err(error);
            }
        }
        active.segment.bytes += written;
        let mut queue = self.shared.lock();
        queue.active_bytes = active.segment.bytes;
        queue.next_seq = next;
        Ok(first..next)
    }

    /// Leaves as much room on the disk as the log takes, for the tables of what is in it: a log that
    /// took the last byte could never be cut.
    fn has_room(&self) -> io::Result<()> {
        let needed = self.shared.lock().disk_bytes() + HEADROOM;
        if free_bytes(&self.dir).is_some_and(|free| free < needed) {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "there is less room on the disk than the tables of what is in the log may take",
            ));
        }
        Ok(())
    }

    /// Begins the next segment if there is none, or the one that is written is large enough.
    fn roll(&mut self) -> io::Result<()> {
        let most = self.shared.options.segment_bytes;
        let mut queue = self.shared.lock();
        let wanted = std::mem::take(&mut queue.roll);
        let next_seq = queue.next_seq;
        drop(queue);
        let full = |active: &Active| {
            active.segment.first_seq < next_seq && (active.segment.bytes >= most || wanted)
        };
        if self.active.as_ref().is_some_and(|active| !full(active)) {
            return Ok(());
        }
        let before = self.active.take();
        if let Err(error) = self.begin() {
            self.active = before;
            return Err(error);
        }
        if let Some(before) = before {
            self.retire(before.segment);
        }
        Ok(())
    }

    /// Nothing more goes into the segment that was written: its end cannot be trusted.
    fn abandon(&mut self) {
        if let Some(active) = self.active.take() {
            self.shared.lock().active_bytes = 0;
            self.retire(active.segment);
        }
    }

    /// Puts a segment to those that are no longer written. One without a record gives its name to
    /// the next, and must not be removed in its place.
    fn retire(&mut self, segment: Segment) {
        let mut queue = self.shared.lock();
        if segment.first_seq < queue.next_seq {
            queue.sealed.push_back(segment);
        }
    }

    /// Says once when the disk stops taking the log, and once when it takes it again.
    pub(super) fn told(&mut self, result: &io::Result<Range<u64>>) {
        let mut queue = self.shared.lock();
        match (result, queue.failing) {
            (Err(error), before) => {
                self.telemetry.log_failures.inc();
                queue.failing = true;
                if !before {
                    tracing::error!(
                        folder = %self.dir.display(), error = error as &dyn std::error::Error,
                        "the log cannot be written; spans are refused until it can"
                    );
                }
            }
            (Ok(_), true) => {
                queue.failing = false;
                tracing::warn!(folder = %self.dir.display(), "the log can be written again");
            }
            (Ok(_), false) => {}
        }
        self.telemetry.set_log_writable(!queue.failing);
    }
}

/// What is free on the disk of a folder; `None` if nobody says.
fn free_bytes(dir: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(dir)
        .ok()
        .map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    #[cfg(not(unix))]
    None
}

impl<T> fmt::Debug for Writer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("dir", &self.dir)
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}
