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
//! Memory: what is open stays under the ceilings of [`Config`]; what is sealed and not yet
//! analysed stays under a quarter of them, and while that is full nothing more is sealed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

use crate::model::{Nanos, Span, SpanId, SpanLog, Trace, TraceId};

/// What waits for its analysis may be this part of what may be open.
const SEALED: usize = 4;

/// How long traces wait, and how many may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// From the last span of a trace that seems whole to its analysis.
    pub quiet: Nanos,
    /// The same for a trace without a root, or with a parent missing.
    pub quiet_incomplete: Nanos,
    /// From the first span of any trace.
    pub longest: Nanos,
    /// How long a trace must have been quiet to be sealed early when there is no room.
    pub quiet_under_pressure: Nanos,
    /// The most traces being assembled.
    pub max_traces: usize,
    /// The most spans and log records being assembled.
    pub max_spans: usize,
    /// About the most bytes being assembled.
    pub max_bytes: usize,
    /// The most spans of one trace, and the most log records.
    pub max_trace_spans: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            quiet: Nanos::from_secs(2),
            quiet_incomplete: Nanos::from_secs(10),
            longest: Nanos::from_secs(120),
            quiet_under_pressure: Nanos::from_millis(500),
            max_traces: 200_000,
            max_spans: 1_000_000,
            max_bytes: 1 << 30,
            max_trace_spans: 200_000,
        }
    }
}

/// There is no room for the batch; nothing of it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for more spans")]
pub struct Full {
    /// When to come again.
    pub retry_after: Nanos,
}

/// What a batch came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Spans dropped because their trace is larger than one may be.
    pub spans_over: usize,
    /// Log records dropped likewise.
    pub logs_over: usize,
}

/// How much is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Traces.
    pub traces: usize,
    /// Spans.
    pub spans: usize,
    /// Log records.
    pub logs: usize,
    /// About how many bytes.
    pub bytes: usize,
}

/// A trace that waits for its analysis.
#[derive(Debug)]
pub struct Sealed {
    /// What came since it was last sealed.
    pub trace: Trace,
    /// How many of its spans were dropped since, because it is too large.
    pub dropped: usize,
    /// What sealed it.
    pub why: Why,
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
    /// Ids being analysed: few, one per thread.
    working: Vec<TraceId>,
    open_load: Load,
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
    first: Nanos,
    last: Nanos,
    look_at: Nanos,
}

impl Full {
    /// Come again in a second.
    pub fn for_a_second() -> Self {
        Self {
            retry_after: Nanos::from_secs(1),
        }
    }
}

impl Assembly {
    /// An empty one.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            open: HashMap::new(),
            schedule: BinaryHeap::new(),
            ready: VecDeque::new(),
            working: Vec::new(),
            open_load: Load::default(),
            sealed_load: Load::default(),
            none_quiet_until: Nanos(i64::MIN),
        }
    }

    /// What it was told.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes spans and log records, or nothing. `sizes` are their bytes, the spans' first;
    /// `known` tells what has been analysed of a trace.
    pub fn push(
        &mut self,
        spans: Vec<Span>,
        logs: Vec<SpanLog>,
        sizes: &[usize],
        now: Nanos,
        known: &dyn Fn(TraceId) -> Option<Arc<Trace>>,
    ) -> Result<Pushed, Full> {
        self.make_room(&spans, &logs, sizes.iter().sum(), now)?;
        let mut pushed = Pushed::default();
        let mut sizes = sizes.iter().copied();
        for span in spans {
            let bytes = sizes.next().unwrap_or_default();
            let most = self.config.max_trace_spans;
            let open = self.touch(span.trace_id, now, known);
            let had = open.known.as_ref().map_or(0, |known| known.spans.len());
            if had + open.trace.spans.len() >= most {
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
            let most = self.config.max_trace_spans;
            let open = self.touch(log.trace_id, now, known);
            let had = open.known.as_ref().map_or(0, |known| known.logs.len());
            if had + open.trace.logs.len() >= most {
                pushed.logs_over += 1;
            } else {
                open.trace.logs.push(log);
                open.bytes += bytes;
                self.open_load.logs += 1;
                self.open_load.bytes += bytes;
            }
        }
        Ok(pushed)
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

    /// Seals everything, however full.
    pub fn seal_all(&mut self) {
        for (_, id) in self.by_last() {
            self.seal(id, Why::Shutdown);
        }
        self.schedule.clear();
    }

    /// The next trace to analyse. Until it is [`done`](Self::done), no other part of the same
    /// trace is given out, so that revisions come in order.
    pub fn take(&mut self) -> Option<Sealed> {
        let next = self
            .ready
            .iter()
            .position(|sealed| !self.working.contains(&sealed.trace.id))?;
        let sealed = self.ready.remove(next)?;
        self.working.push(sealed.trace.id);
        Some(sealed)
    }

    /// The analysis of a taken trace has ended; `load` is [`Sealed::load`].
    pub fn done(&mut self, id: TraceId, load: Load) {
        self.working.retain(|working| *working != id);
        self.sealed_load.subtract(load);
    }

    /// Whether [`take`](Self::take) would find something.
    pub fn has_work(&self) -> bool {
        self.ready.len() > self.working.len()
            || self
                .ready
                .iter()
                .any(|sealed| !self.working.contains(&sealed.trace.id))
    }

    /// Nothing is open, ready or being analysed.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty() && self.ready.is_empty() && self.working.is_empty()
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

    /// When [`seal_due`](Self::seal_due) has something to look at.
    pub fn next_due(&self) -> Option<Nanos> {
        self.schedule.peek().map(|Reverse((at, _))| *at)
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
            first: now,
            last: now,
            look_at: Nanos::MAX,
        });
        open.last = now;
        let look_at = (now + config.quiet).min(open.first + config.longest);
        if look_at < open.look_at {
            open.look_at = look_at;
            schedule.push(Reverse((look_at, id)));
        }
        open
    }

    fn make_room(
        &mut self,
        spans: &[Span],
        logs: &[SpanLog],
        bytes: usize,
        now: Nanos,
    ) -> Result<(), Full> {
        let mut need = Load {
            traces: spans.len() + logs.len(),
            spans: spans.len(),
            logs: logs.len(),
            bytes,
        };
        if self.fits(need) {
            return Ok(());
        }
        // Which of its traces are new is only worth finding out when it matters.
        let ids = spans.iter().map(|span| span.trace_id);
        let mut ids: Vec<TraceId> = ids.chain(logs.iter().map(|log| log.trace_id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let new = ids.iter().filter(|id| !self.open.contains_key(id));
        need.traces = new.count();
        if self.fits(need) {
            return Ok(());
        }
        self.relieve(need, &ids, now);
        if self.fits(need) {
            return Ok(());
        }
        let retry_after = (self.none_quiet_until - now)
            .max(Nanos::from_millis(500))
            .min(Nanos::from_secs(5));
        Err(Full { retry_after })
    }

    fn fits(&self, need: Load) -> bool {
        let (have, most) = (self.open(), &self.config);
        have.traces + need.traces <= most.max_traces
            && have.spans + have.logs + need.spans + need.logs <= most.max_spans
            && have.bytes + need.bytes <= most.max_bytes
    }

    /// Seals the oldest quiet traces until there is room for `need` and a tenth to spare, so that
    /// the next batches need not search. `busy` (in order) are just getting more and stay.
    fn relieve(&mut self, need: Load, busy: &[TraceId], now: Nanos) {
        // The search is only worth its time if a good part of what it finds can be sealed: while
        // analysis is behind, every batch would search all traces to seal one.
        if now < self.none_quiet_until || !self.may_seal(8) {
            return;
        }
        let wanted = Load {
            traces: need.traces + self.config.max_traces / 10,
            spans: need.spans + self.config.max_spans / 10,
            logs: need.logs,
            bytes: need.bytes + self.config.max_bytes / 10,
        };
        for (last, id) in self.by_last() {
            if self.fits(wanted) || !self.may_seal(SEALED) {
                return;
            }
            if now < last + self.config.quiet_under_pressure {
                self.none_quiet_until = last + self.config.quiet_under_pressure;
                return;
            }
            if busy.binary_search(&id).is_err() {
                self.seal(id, Why::Pressure);
            }
        }
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

    /// Whether what is sealed is below this part of the ceilings.
    fn may_seal(&self, part: usize) -> bool {
        let (have, most) = (self.sealed_load, &self.config);
        have.traces == 0
            || (have.traces < most.max_traces.div_ceil(part)
                && have.spans + have.logs < most.max_spans.div_ceil(part)
                && have.bytes < most.max_bytes.div_ceil(part))
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
            why,
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

impl Load {
    fn add(&mut self, other: Self) {
        self.traces += other.traces;
        self.spans += other.spans;
        self.logs += other.logs;
        self.bytes += other.bytes;
    }

    fn subtract(&mut self, other: Self) {
        self.traces = self.traces.saturating_sub(other.traces);
        self.spans = self.spans.saturating_sub(other.spans);
        self.logs = self.logs.saturating_sub(other.logs);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}
