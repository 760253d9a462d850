//! The table of finished requests in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::size;
use crate::model::{Analysis, SpanId, Trace, TraceId, UnixNanos};

/// A trace and what its analysis says.
#[derive(Debug, Clone)]
pub struct Stored {
    /// What came.
    pub trace: Arc<Trace>,
    /// What it means.
    pub analysis: Arc<Analysis>,
    /// It shows what Dwindle does; nobody sent it.
    pub sample: bool,
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
    /// Every request by start, the order in which people look at them.
    by_start: BTreeSet<(UnixNanos, TraceId, SpanId, usize)>,
    next_arrival: u64,
    bytes: usize,
    /// Sum of the entries' `weight`.
    weight: usize,
}

#[derive(Debug)]
struct Entry {
    stored: Stored,
    arrival: u64,
    bytes: usize,
    /// Its requests; a trace without any still takes one place.
    weight: usize,
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
        self.put_if(stored, false).unwrap_or_default()
    }

    /// Puts a new state of a trace that is in the table; `None`, and nothing is done, if it has
    /// left it meanwhile.
    pub fn put_revision(&self, stored: Stored) -> Option<Put> {
        self.put_if(stored, true)
    }

    fn put_if(&self, stored: Stored, must_be_there: bool) -> Option<Put> {
        let id = stored.analysis.trace_id;
        let bytes = size::of_trace(&stored.trace)
            + stored
                .analysis
                .requests
                .iter()
                .map(size::of_request)
                .sum::<usize>();
        let mut table = self.write();
        if must_be_there && !table.traces.contains_key(&id) {
            return None;
        }
        let replaced = table.remove(id);
        let arrival = replaced.as_ref().map_or(table.next_arrival, |e| e.arrival);
        table.next_arrival += u64::from(replaced.is_none());
        let weight = stored.analysis.requests.len().max(1);
        table.insert(
            id,
            Entry {
                stored,
                arrival,
                bytes,
                weight,
            },
        );
        let mut expired = Vec::new();
        while table.weight > self.max_requests || table.bytes > self.max_bytes {
            let oldest = table.arrivals.values().find(|old| **old != id).copied();
            let Some(entry) = oldest.and_then(|old| table.remove(old)) else {
                break;
            };
            expired.push(entry.stored);
        }
        self.recount_samples(&table, replaced.as_ref(), &expired, id);
        Some(Put {
            replaced: replaced.map(|entry| entry.stored),
            expired,
        })
    }

    /// A trace by its id.
    pub fn get(&self, id: TraceId) -> Option<Stored> {
        self.read()
            .traces
            .get(&id)
            .map(|entry| entry.stored.clone())
    }

    /// The traces whose id begins with these hex digits of any case, in order; none if `hex` is
    /// not hex.
    pub fn find_prefix(&self, hex: &str) -> Vec<TraceId> {
        let Some((low, high)) = prefix_range(hex) else {
            return Vec::new();
        };
        self.read()
            .traces
            .range(low..=high)
            .map(|(id, _)| *id)
            .collect()
    }

    /// Takes every sample out.
    pub fn clear_samples(&self) {
        if !self.has_samples() {
            return;
        }
        let mut table = self.write();
        let samples: Vec<TraceId> = table
            .traces
            .iter()
            .filter(|(_, entry)| entry.stored.sample)
            .map(|(id, _)| *id)
            .collect();
        for id in samples {
            table.remove(id);
        }
        self.samples.store(0, Ordering::Release);
    }

    /// Whether there are samples; cheap.
    pub fn has_samples(&self) -> bool {
        self.samples.load(Ordering::Acquire) > 0
    }

    /// Every request as (analysis, index in it, is a sample), the latest start first; of equal
    /// starts the greater trace id, then the greater request id.
    pub fn requests(&self) -> Vec<(Arc<Analysis>, usize, bool)> {
        let table = self.read();
        table
            .by_start
            .iter()
            .rev()
            .filter_map(|(_, id, _, index)| {
                let stored = &table.traces.get(id)?.stored;
                Some((Arc::clone(&stored.analysis), *index, stored.sample))
            })
            .collect()
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.read().by_start.len()
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

    fn recount_samples(
        &self,
        table: &Table,
        replaced: Option<&Entry>,
        expired: &[Stored],
        put: TraceId,
    ) {
        let is_sample = |entry: &Entry| usize::from(entry.stored.sample);
        let gone =
            replaced.map_or(0, is_sample) + expired.iter().filter(|stored| stored.sample).count();
        let come = table.traces.get(&put).map_or(0, is_sample);
        // Writers hold the table's lock, so this read and write belong together.
        let before = self.samples.load(Ordering::Acquire);
        self.samples
            .store((before + come).saturating_sub(gone), Ordering::Release);
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
    fn insert(&mut self, id: TraceId, entry: Entry) {
        for (index, request) in entry.stored.analysis.requests.iter().enumerate() {
            self.by_start
                .insert((request.start, id, request.request, index));
        }
        self.arrivals.insert(entry.arrival, id);
        self.bytes += entry.bytes;
        self.weight += entry.weight;
        self.traces.insert(id, entry);
    }

    fn remove(&mut self, id: TraceId) -> Option<Entry> {
        let entry = self.traces.remove(&id)?;
        for (index, request) in entry.stored.analysis.requests.iter().enumerate() {
            self.by_start
                .remove(&(request.start, id, request.request, index));
        }
        self.arrivals.remove(&entry.arrival);
        self.bytes -= entry.bytes;
        self.weight -= entry.weight;
        Some(entry)
    }
}

/// The least and the greatest id that begin with these hex digits.
fn prefix_range(hex: &str) -> Option<(TraceId, TraceId)> {
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
