//! The table of finished requests in memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::chunk::Chunk;
use super::count::{Load, Outcomes};
use super::folder::hour_of;
use super::parts::Reach;
use super::size;
use crate::model::{Analysis, Trace, TraceId};

/// A trace and what its analysis says.
#[derive(Debug, Clone)]
pub struct Stored {
    /// What came.
    pub trace: Arc<Trace>,
    /// What it means.
    pub analysis: Arc<Analysis>,
    /// It shows what Dwindle does; nobody sent it.
    pub sample: bool,
    /// The sequence number of the first record of the durable log that any of its spans came
    /// from which are in no part yet; `u64::MAX` if there is none.
    pub log_from: u64,
}

/// What a put pushed out.
#[derive(Debug, Default)]
pub struct Put {
    /// The former state of the same trace.
    pub replaced: Option<Stored>,
    /// Traces that made room, the oldest first.
    pub expired: Vec<Stored>,
}

/// Finished requests by trace, up to a ceiling. All methods take `&self`; share it in an `Arc`.
#[derive(Debug)]
pub struct Memory {
    max_requests: usize,
    max_bytes: usize,
    samples: AtomicUsize,
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By trace id, so that a prefix is a range.
    traces: BTreeMap<TraceId, Entry>,
    /// Traces in the order that they first came; the first leaves first.
    arrivals: BTreeMap<u64, TraceId>,
    /// The traces in the order of their last put; samples stand in a chunk of their own.
    chunks: BTreeMap<u64, Arc<Chunk>>,
    /// Traces that supersede states in parts, with where to look for them and their requests.
    superseding: Arc<Superseding>,
    /// How many traces need the log from where on.
    log_from: BTreeMap<u64, usize>,
    next_arrival: u64,
    next_put: u64,
    bytes: usize,
    spans: usize,
    outcomes: Outcomes,
    /// Sum of the entries' `weight`.
    weight: usize,
}

/// Fresh traces that supersede states in parts: where their spans reach, and what goes.
pub(super) type Superseding = BTreeMap<TraceId, (Reach, Gone)>;

/// What there is to flush, at one instant: what a trace supersedes that is put again meanwhile is
/// not yet in its place.
#[derive(Debug)]
pub(super) struct Unflushed {
    /// In the order of ids, each with the number of its put.
    pub(super) states: Vec<(u64, Stored)>,
    pub(super) superseding: Arc<Superseding>,
}

/// The requests of superseded states, by the hour of their start.
pub(super) type Gone = BTreeMap<u64, Outcomes>;

/// The chunk of the samples.
const SAMPLES: u64 = u64::MAX;

#[derive(Debug)]
struct Entry {
    chunk: u64,
    slot: usize,
    arrival: u64,
    /// Differs between any two states.
    put: u64,
    bytes: usize,
    /// Its requests; a trace without any still takes one place.
    weight: usize,
}

/// Everything in the table at one instant.
#[derive(Debug, Clone, Default)]
pub(super) struct Fresh {
    pub(super) chunks: Vec<Arc<Chunk>>,
    pub(super) samples: Option<Arc<Chunk>>,
    pub(super) superseding: Arc<Superseding>,
    pub(super) traces: usize,
    pub(super) outcomes: Outcomes,
}

impl Memory {
    /// A table of at most so many requests, whatever their size.
    pub fn new(max_requests: usize) -> Self {
        Self::with_ceilings(max_requests, usize::MAX)
    }

    /// A table of at most so many requests and about so many bytes.
    pub fn with_ceilings(max_requests: usize, max_bytes: usize) -> Self {
        Self {
            max_requests,
            max_bytes,
            samples: AtomicUsize::new(0),
            table: RwLock::default(),
        }
    }

    /// Puts a trace into the table, in place of its former state. When that is over the ceiling,
    /// the traces that came first leave; the one that was just put never does.
    pub fn put(&self, stored: Stored) -> Put {
        self.put_if(stored, false, None).unwrap_or_default()
    }

    /// Puts a trace; `superseded` are the requests of its states in parts, if there are any.
    pub(super) fn put_over(&self, stored: Stored, superseded: Option<Gone>) -> Put {
        self.put_if(stored, false, superseded).unwrap_or_default()
    }

    /// Puts a new state of a trace that is in the table; `None`, and nothing is done, if it has
    /// left it meanwhile.
    pub fn put_revision(&self, stored: Stored) -> Option<Put> {
        self.put_if(stored, true, None)
    }

    fn put_if(
        &self,
        mut stored: Stored,
        must_be_there: bool,
        superseded: Option<Gone>,
    ) -> Option<Put> {
        let id = stored.analysis.trace_id;
        let requests = stored.analysis.requests.iter();
        let results: usize = requests.map(size::of_request).sum();
        let bytes = size::of_trace(&stored.trace) + results;
        let mut table = self.write();
        if must_be_there && !table.traces.contains_key(&id) {
            return None;
        }
        let removed = table.remove(id);
        let arrival = removed
            .as_ref()
            .map_or(table.next_arrival, |(e, _)| e.arrival);
        table.next_arrival += u64::from(removed.is_none());
        let replaced = removed.map(|(_, replaced)| replaced);
        if let Some(replaced) = replaced.as_ref().filter(|_| !stored.sample) {
            stored.log_from = stored.log_from.min(replaced.log_from);
        }
        if let Some(superseded) = superseded {
            let reach = Reach::of(&stored.trace);
            Arc::make_mut(&mut table.superseding).insert(id, (reach, superseded));
        }
        table.insert(id, stored, arrival, bytes);
        let mut expired = Vec::new();
        while table.weight > self.max_requests || table.bytes > self.max_bytes {
            let oldest = table.arrivals.values().find(|old| **old != id).copied();
            let Some((_, stored)) = oldest.and_then(|old| table.remove(old)) else {
                break;
            };
            expired.push(stored);
        }
        self.recount_samples(&table);
        Some(Put { replaced, expired })
    }

    /// A trace by its id.
    pub fn get(&self, id: TraceId) -> Option<Stored> {
        self.read().get(id).cloned()
    }

    /// The number of the put that made a trace's state; differs between any two states.
    pub(super) fn put_of(&self, id: TraceId) -> Option<u64> {
        self.read().traces.get(&id).map(|entry| entry.put)
    }

    /// The traces whose id begins with these hex digits of any case, in order; none if `hex` is
    /// not hex.
    pub fn find_prefix(&self, hex: &str) -> Vec<TraceId> {
        let Some((low, high)) = prefix_range(hex) else {
            return Vec::new();
        };
        let table = self.read();
        table.traces.range(low..=high).map(|(id, _)| *id).collect()
    }

    /// Takes every sample out.
    pub fn clear_samples(&self) {
        if !self.has_samples() {
            return;
        }
        let mut table = self.write();
        let samples = table.chunks.get(&SAMPLES);
        let samples: Vec<TraceId> = samples
            .iter()
            .flat_map(|chunk| chunk.each())
            .map(|stored| stored.analysis.trace_id)
            .collect();
        for id in samples {
            table.remove(id);
        }
        self.recount_samples(&table);
    }

    /// Whether there are samples; cheap.
    pub fn has_samples(&self) -> bool {
        self.samples.load(Ordering::Acquire) > 0
    }

    /// Every request as (analysis, index in it, is a sample), the latest start first; of equal
    /// starts the greater trace id, then the greater request id.
    pub fn requests(&self) -> Vec<(Arc<Analysis>, usize, bool)> {
        let table = self.read();
        let stored = table.chunks.values().flat_map(|chunk| chunk.each());
        let requests = stored.flat_map(|stored| {
            let each = stored.analysis.requests.iter().enumerate();
            each.map(move |(index, request)| {
                let id = stored.analysis.trace_id;
                let key = (request.start, id, request.request, index);
                (key, stored)
            })
        });
        let mut requests: Vec<_> = requests.collect();
        requests.sort_unstable_by_key(|(key, _)| Reverse(*key));
        let listed = requests.into_iter();
        listed
            .map(|((.., index), stored)| (Arc::clone(&stored.analysis), index, stored.sample))
            .collect()
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.read().requests()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.read().bytes
    }

    /// The most requests that it keeps.
    pub fn max_requests(&self) -> usize {
        self.max_requests
    }

    /// How much there is, samples included.
    pub(super) fn load(&self) -> Load {
        let table = self.read();
        Load {
            traces: table.traces.len(),
            requests: table.requests(),
            spans: table.spans,
            bytes: table.bytes,
        }
    }

    /// The least `log_from`; `None` when nothing here came from the log.
    pub(super) fn oldest_log(&self) -> Option<u64> {
        let table = self.read();
        let least = table.log_from.first_key_value();
        least.map(|(from, _)| *from).filter(|from| *from < u64::MAX)
    }

    /// Every trace that is no sample, with what tells this state of it from others.
    pub(super) fn unflushed(&self) -> Unflushed {
        let table = self.read();
        let entries = table.traces.values();
        let states = entries
            .filter(|entry| entry.chunk != SAMPLES)
            .filter_map(|entry| {
                let stored = table.chunks.get(&entry.chunk)?.get(entry.slot)?;
                Some((entry.put, stored.clone()))
            });
        Unflushed {
            states: states.collect(),
            superseding: Arc::clone(&table.superseding),
        }
    }

    /// These states are in parts now, where they took the place of what `superseding` says. Of
    /// those that were replaced meanwhile the newer one stays, and supersedes what is in the part.
    pub(super) fn flushed(&self, states: &[(u64, Stored)], superseding: &Superseding) {
        let mut table = self.write();
        for (put, stored) in states {
            let id = stored.analysis.trace_id;
            let same = table.traces.get(&id).is_some_and(|entry| entry.put == *put);
            if same {
                table.remove(id);
            } else if let Some(newer) = table.get(id) {
                let reach = Reach::of(&newer.trace);
                // What it superseded when it was put, without what is gone and with what has come.
                let before = table.superseding.get(&id).map(|(_, gone)| gone);
                let mut gone = before.cloned().unwrap_or_default();
                for (hour, outcomes) in superseding.get(&id).iter().flat_map(|(_, gone)| gone) {
                    gone.entry(*hour).or_default().subtract(outcomes);
                }
                for request in &stored.analysis.requests {
                    let hour = gone.entry(hour_of(request.start)).or_default();
                    hour.add(request.outcome, 1);
                }
                Arc::make_mut(&mut table.superseding).insert(id, (reach, gone));
                continue;
            }
            if table.superseding.contains_key(&id) {
                Arc::make_mut(&mut table.superseding).remove(&id);
            }
        }
    }

    /// All of it at this instant.
    pub(super) fn fresh(&self) -> Fresh {
        let table = self.read();
        let samples = table.chunks.get(&SAMPLES).map(Arc::clone);
        let sampled = samples.iter().flat_map(|chunk| chunk.each());
        let mut outcomes = table.outcomes;
        let mut traces = table.traces.len();
        for sample in sampled {
            outcomes.subtract(&Outcomes::of(&sample.analysis));
            traces -= 1;
        }
        let chunks = table.chunks.range(..SAMPLES);
        Fresh {
            chunks: chunks.map(|(_, chunk)| Arc::clone(chunk)).collect(),
            samples,
            superseding: Arc::clone(&table.superseding),
            traces,
            outcomes,
        }
    }

    fn recount_samples(&self, table: &Table) {
        let samples = table.chunks.get(&SAMPLES);
        let count = samples.map_or(0, |chunk| chunk.each().count());
        self.samples.store(count, Ordering::Release);
    }

    // A panic while the lock was held leaves at worst a miscounted size; serving on is better.
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// How many requests there are.
    fn requests(&self) -> usize {
        self.outcomes.total() as usize
    }

    fn get(&self, id: TraceId) -> Option<&Stored> {
        let entry = self.traces.get(&id)?;
        self.chunks.get(&entry.chunk)?.get(entry.slot)
    }

    fn insert(&mut self, id: TraceId, stored: Stored, arrival: u64, bytes: usize) {
        self.arrivals.insert(arrival, id);
        *self.log_from.entry(stored.log_from).or_default() += 1;
        let weight = stored.analysis.requests.len().max(1);
        self.bytes += bytes;
        self.weight += weight;
        self.spans += stored.trace.spans.len();
        self.outcomes.merge(&Outcomes::of(&stored.analysis));
        let put = self.next_put;
        self.next_put += 1;
        let chunk = if stored.sample {
            SAMPLES
        } else {
            let last = self.chunks.range(..SAMPLES).next_back();
            let open = last.filter(|(_, chunk)| !chunk.is_full());
            open.map_or(put, |(number, _)| *number)
        };
        let slot = self.chunks.entry(chunk).or_default().push(stored);
        let entry = Entry {
            chunk,
            slot,
            arrival,
            put,
            bytes,
            weight,
        };
        self.traces.insert(id, entry);
    }

    fn remove(&mut self, id: TraceId) -> Option<(Entry, Stored)> {
        let entry = self.traces.remove(&id)?;
        let chunk = self.chunks.get_mut(&entry.chunk)?;
        let stored = chunk.remove(entry.slot)?;
        if chunk.is_empty() {
            self.chunks.remove(&entry.chunk);
        }
        self.arrivals.remove(&entry.arrival);
        if let Some(count) = self.log_from.get_mut(&stored.log_from) {
            *count -= 1;
            if *count == 0 {
                self.log_from.remove(&stored.log_from);
            }
        }
        self.bytes -= entry.bytes;
        self.weight -= entry.weight;
        self.spans -= stored.trace.spans.len();
        self.outcomes.subtract(&Outcomes::of(&stored.analysis));
        Some((entry, stored))
    }
}

/// The least and the greatest id that begin with these hex digits.
pub(super) fn prefix_range(hex: &str) -> Option<(TraceId, TraceId)> {
    let digits = hex.as_bytes();
    if digits.len() > 2 * TraceId::BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let bound = |fill: &str| {
        let missing = 2 * TraceId::BYTES - digits.len();
        format!("{hex}{}", fill.repeat(missing)).parse().ok()
    };
    Some((bound("0")?, bound("f")?))
}
