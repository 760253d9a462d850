//! Spans by trace id, until the trace is quiet.
//!
//! A trace is sealed `quiet` after its last span if it has a root and every named parent is there,
//! `quiet_incomplete` after it if not, and `longest` after its first span at the latest. What comes
//! for a trace after that opens it anew, on top of what is known of it, and seals it again by the
//! same rules.
//!
//! Whether a trace is whole is looked at when it has been quiet for long enough, not with every
//! span: each open trace has one live entry in `schedule`, for the next instant at which the answer
//! can matter. A span re-arms it, so a trace is looked at once in `quiet` at most, in time
//! proportional to its size.
//!
//! Memory: what is open, what has room reserved and waits for the log, and what is stored and in no
//! part yet stay together under the ceilings of [`Config`]; what is sealed and not yet analysed
//! stays under a quarter of them, and while that is full nothing more is sealed. One trace has
//! ceilings of its own, so that it cannot take the room of all others.
//!
//! A sealed trace of which something is known that cannot be read now is put off and taken again
//! later; what waits so stays under an eighth of the ceilings.
//!
//! Each trace knows from which record of the durable log on its spans came: the log is cut below
//! the least of these.

mod config;
mod later;
mod room;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

pub use config::Config;
pub use room::{Full, Load, Room};

use self::later::Later;
use crate::model::{Nanos, Span, SpanId, SpanLog, Trace, TraceId};

/// What waits for its analysis may be this part of what may be open.
const SEALED: usize = 4;

/// Of that what was put off may be half.
const WAITING: usize = 2 * SEALED;

/// What a batch came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Spans dropped because their trace is larger than one may be.
    pub spans_over: usize,
    /// Log records dropped likewise.
    pub logs_over: usize,
}

/// A trace that waits for its analysis.
#[derive(Debug)]
pub struct Sealed {
    /// What came since it was last sealed.
    pub trace: Trace,
    /// How many of its spans were dropped since, because it is too large.
    pub dropped: usize,
    /// The first record of the log that it came from.
    pub log_from: u64,
    /// What sealed it.
    pub why: Why,
    /// How often what is known of it could not be read.
    pub tries: u32,
    /// It is not put off any more.
    pub last_try: bool,
    load: Load,
}

/// What sealed a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is whole and quiet.
    Complete,
    /// It is quiet, and something is missing.
    Incomplete,
    /// It was open for as long as a trace may be.
    Longest,
    /// Room was needed.
    Pressure,
    /// The server stops.
    Shutdown,
}

impl Why {
    /// The word in counters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Longest => "longest",
            Self::Pressure => "pressure",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Traces being assembled, and those that wait for their analysis. Time is an argument, from any
/// clock that does not go back.
#[derive(Debug)]
pub struct Assembly {
    config: Config,
    open: HashMap<TraceId, Open>,
    /// When to look at which trace; an entry counts only if it is the trace's `look_at`.
    schedule: BinaryHeap<Reverse<(Nanos, TraceId)>>,
    ready: VecDeque<Sealed>,
    /// Sealed traces that were put off, and until when.
    later: Later,
    /// Ids being analysed and from where on they need the log: few per thread.
    working: HashMap<TraceId, u64>,
    open_load: Load,
    /// Room for batches that wait for the log.
    reserved: Load,
    /// What is stored and in no part yet.
    fresh: Load,
    /// The record of the log from which on nothing was pushed yet.
    log_end: u64,
    /// Ready and being analysed.
    sealed_load: Load,
    /// Until then no trace is quiet enough to be sealed early; saves the search.
    none_quiet_until: Nanos,
}

#[derive(Debug)]
struct Open {
    trace: Trace,
    /// What was known of the trace when it was opened.
    known: Option<Arc<Trace>>,
    bytes: usize,
    dropped: usize,
    log_from: u64,
    first: Nanos,
    last: Nanos,
    look_at: Nanos,
}

impl Assembly {
    /// An empty one.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            open: HashMap::new(),
            schedule: BinaryHeap::new(),
            ready: VecDeque::new(),
            later: Later::default(),
            working: HashMap::new(),
            open_load: Load::default(),
            reserved: Load::default(),
            fresh: Load::default(),
            log_end: u64::MAX,
            sealed_load: Load::default(),
            none_quiet_until: Nanos(i64::MIN),
        }
    }

    /// What it was told.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes spans and log records for which there is [`Room`]. `sizes` are their bytes, the
    /// spans' first; `from` is their record in the log; `known` tells what has been analysed of a
    /// trace and is still in memory.
    pub fn push(
        &mut self,
        room: Room,
        (spans, logs, sizes): (Vec<Span>, Vec<SpanLog>, &[usize]),
        from: u64,
        now: Nanos,
        known: &dyn Fn(TraceId) -> Option<Arc<Trace>>,
    ) -> Pushed {
        self.release(room);
        let mut pushed = Pushed::default();
        let mut sizes = sizes.iter().copied();
        let (most, most_bytes) = (self.config.max_trace_spans, self.config.trace_bytes());
        for span in spans {
            let bytes = sizes.next().unwrap_or_default();
            let open = self.touch(span.trace_id, from, now, known);
            let had = open.known.as_ref().map_or(0, |known| known.spans.len());
            if had + open.trace.spans.len() >= most || open.bytes + bytes > most_bytes {
                open.dropped += 1;
                pushed.spans_over += 1;
            } else {
                open.trace.spans.push(span);
                open.bytes += bytes;
                self.open_load.spans += 1;
                self.open_load.bytes += bytes;
            }
        }
        for log in logs {
            let bytes = sizes.next().unwrap_or_default();
            let open = self.touch(log.trace_id, from, now, known);
            let had = open.known.as_ref().map_or(0, |known| known.logs.len());
            if had + open.trace.logs.len() >= most || open.bytes + bytes > most_bytes {
                pushed.logs_over += 1;
            } else {
                open.trace.logs.push(log);
                open.bytes += bytes;
                self.open_load.logs += 1;
                self.open_load.bytes += bytes;
            }
        }
        pushed
    }

    /// Says that every record of the log below `end` was pushed or refused.
    pub fn pushed_below(&mut self, end: u64) {
        self.log_end = end;
    }

    /// The first record of the log that something in here came from, or that was not pushed yet.
    pub fn needs_log_from(&self) -> u64 {
        let open = self.open.values().map(|open| open.log_from);
        let ready = self.ready.iter().map(|sealed| sealed.log_from);
        let later = self.later.each().map(|sealed| sealed.log_from);
        let working = self.working.values().copied();
        let all = open.chain(ready).chain(later).chain(working);
        all.min().unwrap_or(u64::MAX).min(self.log_end)
    }

    /// Seals what is due, as far as there is room for it among the sealed.
    pub fn seal_due(&mut self, now: Nanos) {
        while let Some(&Reverse((at, id))) = self.schedule.peek() {
            if at > now || !self.may_seal(SEALED) {
                break;
            }
            self.schedule.pop();
            let Some(open) = self.open.get_mut(&id).filter(|open| open.look_at == at) else {
                continue;
            };
            match open.verdict(now, &self.config) {
                Ok(why) => self.seal(id, why),
                Err(later) => {
                    open.look_at = later;
                    self.schedule.push(Reverse((later, id)));
                }
            }
        }
    }

    /// Seals what keeps the log from being cut up to `seq`, as far as there is room for it.
    pub fn seal_behind(&mut self, seq: u64) {
        self.later.hurry(|sealed| sealed.log_from < seq);
        for (_, id) in self.by_last() {
            if !self.may_seal(SEALED) {
                return;
            }
            if self.open.get(&id).is_some_and(|open| open.log_from < seq) {
                self.seal(id, Why::Pressure);
            }
        }
    }

    /// Seals everything, however full.
    pub fn seal_all(&mut self) {
        self.later.hurry(|_| true);
        for (_, id) in self.by_last() {
            self.seal(id, Why::Shutdown);
        }
        self.schedule.clear();
    }

    /// The next trace to analyse. Until it is [`done`](Self::done), no other part of the same
    /// trace is given out, so that revisions come in order.
    pub fn take(&mut self, now: Nanos) -> Option<Sealed> {
        let sealed = if let Some(sealed) = self.later.take(now) {
            sealed
        } else {
            let next = self
                .ready
                .iter()
                .position(|sealed| !self.is_busy(sealed.trace.id))?;
            self.ready.remove(next)?
        };
        self.working.insert(sealed.trace.id, sealed.log_from);
        Some(sealed)
    }

    /// The same for as many as one thread takes at once: there are others, and what is sealed waits.
    pub fn take_some(&mut self, now: Nanos, most: usize, most_spans: usize) -> Vec<Sealed> {
        let mut taken: Vec<Sealed> = Vec::new();
        let mut spans = 0;
        while taken.len() < most && spans < most_spans {
            let Some(sealed) = self.take(now) else {
                break;
            };
            spans += sealed.trace.spans.len();
            taken.push(sealed);
        }
        taken
    }

    /// The analysis of a taken trace has ended; `load` is [`Sealed::load`].
    pub fn done(&mut self, id: TraceId, load: Load) {
        self.working.remove(&id);
        self.sealed_load.subtract(load);
    }

    /// A taken trace waits until `at`, because what is known of it cannot be read; if too much
    /// waits already, or it did once more than it may, not any more.
    pub fn put_off(&mut self, mut sealed: Sealed, at: Nanos) {
        self.working.remove(&sealed.trace.id);
        sealed.tries += 1;
        let mut waiting = self.later.load;
        waiting.add(sealed.load);
        let most = &self.config;
        sealed.last_try |= waiting.spans + waiting.logs > most.max_spans / WAITING
            || waiting.bytes > most.max_bytes / WAITING
            || waiting.traces > most.max_traces / WAITING;
        let at = if sealed.last_try { Nanos(i64::MIN) } else { at };
        self.later.put(sealed, at);
    }

    /// How many sealed traces wait until what is known of them can be read.
    pub fn put_off_count(&self) -> usize {
        self.later.load.traces
    }

    /// Tells a trace that opened again during its analysis what has become known of it: it may be
    /// whole now, and does not wait for spans that are there.
    pub fn learn(&mut self, id: TraceId, known: &dyn Fn(TraceId) -> Option<Arc<Trace>>) {
        let Some(open) = self.open.get_mut(&id).filter(|open| open.known.is_none()) else {
            return;
        };
        open.known = known(id);
        let look_at = open.last + self.config.quiet;
        if open.known.is_some() && look_at < open.look_at {
            open.look_at = look_at;
            self.schedule.push(Reverse((look_at, id)));
        }
    }

    /// Whether [`take`](Self::take) would find something.
    pub fn has_work(&self) -> bool {
        self.ready.len() > self.working.len()
            || self
                .ready
                .iter()
                .any(|sealed| !self.is_busy(sealed.trace.id))
    }

    fn is_busy(&self, id: TraceId) -> bool {
        self.working.contains_key(&id) || self.later.has(id)
    }

    /// Nothing is open, ready or being analysed.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
            && self.ready.is_empty()
            && self.working.is_empty()
            && self.later.load.traces == 0
    }

    /// Drops what is ready; returns how many spans that was.
    pub fn discard_ready(&mut self) -> usize {
        let mut lost = 0;
        for sealed in std::mem::take(&mut self.ready) {
            lost += sealed.load.spans;
            self.sealed_load.subtract(sealed.load);
        }
        lost
    }

    /// When there is something to look at for [`seal_due`](Self::seal_due), or to take again.
    pub fn next_due(&self) -> Option<Nanos> {
        let due = self.schedule.peek().map(|Reverse((at, _))| *at);
        due.into_iter().chain(self.later.next_due()).min()
    }

    /// What is being assembled.
    pub fn open(&self) -> Load {
        Load {
            traces: self.open.len(),
            ..self.open_load
        }
    }

    /// What is ready or being analysed.
    pub fn sealed(&self) -> Load {
        self.sealed_load
    }

    /// The open trace, its clock set to `now`; what is known of it is asked for when it opens.
    fn touch(
        &mut self,
        id: TraceId,
        from: u64,
        now: Nanos,
        known: &dyn Fn(TraceId) -> Option<Arc<Trace>>,
    ) -> &mut Open {
        let Self {
            open,
            schedule,
            config,
            ..
        } = self;
        let open = open.entry(id).or_insert_with(|| Open {
            trace: Trace {
                id,
                ..Trace::default()
            },
            known: known(id),
            bytes: 0,
            dropped: 0,
            log_from: from,
            first: now,
            last: now,
            look_at: Nanos::MAX,
        });
        open.last = now;
        open.log_from = open.log_from.min(from);
        let look_at = (now + config.quiet).min(open.first + config.longest);
        if look_at < open.look_at {
            open.look_at = look_at;
            schedule.push(Reverse((look_at, id)));
        }
        open
    }

    /// The open traces, the one that has been quiet the longest first.
    fn by_last(&self) -> Vec<(Nanos, TraceId)> {
        let mut traces: Vec<_> = self
            .open
            .iter()
            .map(|(id, open)| (open.last, *id))
            .collect();
        traces.sort_unstable();
        traces
    }

    fn seal(&mut self, id: TraceId, why: Why) {
        let Some(open) = self.open.remove(&id) else {
            return;
        };
        let load = Load {
            traces: 1,
            spans: open.trace.spans.len(),
            logs: open.trace.logs.len(),
            bytes: open.bytes,
        };
        self.open_load.subtract(Load { traces: 0, ..load });
        self.sealed_load.add(load);
        self.ready.push_back(Sealed {
            trace: open.trace,
            dropped: open.dropped,
            log_from: open.log_from,
            why,
            tries: 0,
            last_try: false,
            load,
        });
    }
}

impl Sealed {
    /// What it counts for in [`Assembly::sealed`].
    pub fn load(&self) -> Load {
        self.load
    }
}

impl Open {
    /// Why to seal it now, or else when to look again.
    fn verdict(&self, now: Nanos, config: &Config) -> Result<Why, Nanos> {
        let at_last = self.first + config.longest;
        if now >= at_last {
            return Ok(Why::Longest);
        }
        let quiet = self.last + config.quiet;
        if now < quiet {
            return Err(quiet.min(at_last));
        }
        // Log records alone wait for their spans as long as anything may.
        let has_spans = !self.trace.spans.is_empty();
        if !has_spans && self.known.is_none() {
            return Err(at_last);
        }
        if self.is_whole() {
            return Ok(Why::Complete);
        }
        let quiet = self.last + config.quiet_incomplete;
        if now >= quiet {
            return Ok(Why::Incomplete);
        }
        Err(quiet.min(at_last))
    }

    /// It has a root, and every named parent is there.
    fn is_whole(&self) -> bool {
        let known = self.known.iter().flat_map(|known| &known.spans);
        let spans = || self.trace.spans.iter().chain(known.clone());
        let mut ids: Vec<SpanId> = spans().map(|span| span.span_id).collect();
        ids.sort_unstable();
        let mut has_root = false;
        let all_there = spans().all(|span| match span.parent_id {
            Some(parent) if parent != span.span_id => ids.binary_search(&parent).is_ok(),
            _ => {
                has_root = true;
                true
            }
        });
        has_root && all_there
    }
}
