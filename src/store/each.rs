//! Every trace of a stretch of time, whole, in about the memory of a row group.
//!
//! Hour by hour, and of each hour all files are opened before the first of them is read: a server
//! that merges or removes them meanwhile takes only their names away.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use polars::prelude::{col, lit};

use super::durable::{Durable, State};
use super::error::StoreError;
use super::lookup::{Asked, lookup, restored};
use super::parquet::{self, FileError, Source};
use super::parts::{Part, Reach, collect, truncated};
use super::pieces::Piece;
use super::snapshot::{Known, Window};
use super::tables::Table;
use super::{Store, Stored};
use crate::budget::{Policy, Typical};
use crate::model::{Span, SpanLog, Trace, TraceId};

/// How often an hour is looked at again because its files went before they were opened.
const TRIES: u32 = 5;

/// A trace of the store.
#[derive(Debug, Clone)]
pub struct Kept {
    what: What,
    is_known: bool,
}

#[derive(Debug, Clone)]
enum What {
    /// All of it is in one part.
    Read {
        trace: Trace,
        /// What its requests' rows say that its spans cannot.
        marks: Marks,
    },
    /// It was put together from several.
    Found(Stored),
}

/// Says which traces of a piece are wanted.
pub type Wanted<'a> = dyn Fn(&Piece<'_>) -> Result<HashSet<TraceId>, StoreError> + 'a;

#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    revision: u32,
    truncated: usize,
}

/// How far [`Store::each`] has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Traces that were read.
    pub traces: u64,
    /// Traces in the window's hours, some of them superseded.
    pub of: u64,
}

impl Kept {
    /// Whether it is known to be one of those that are wanted. It is not where the tables that tell
    /// could not be read: then every trace comes, and whoever takes it has to look.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Its spans and log records.
    pub fn into_trace(self) -> Trace {
        match self.what {
            What::Read { trace, .. } => trace,
            What::Found(stored) => Arc::unwrap_or_clone(stored.trace),
        }
    }

    /// Itself with its analysis, as [`Store::get`] gives it.
    pub fn analysed(self, policy: &Policy, typical: &Typical) -> Stored {
        match self.what {
            What::Read { trace, marks } => {
                let Marks {
                    revision,
                    truncated,
                } = marks;
                let analysis = restored(&trace, revision, truncated, policy, typical);
                Stored {
                    trace: Arc::new(trace),
                    analysis: Arc::new(analysis),
                    sample: false,
                    log_from: u64::MAX,
                }
            }
            What::Found(stored) => stored,
        }
    }
}

impl Store {
    /// Hands over the newest state of every trace that has a request in one of the window's hours,
    /// and with `wanted` of those that it names, hour by hour, piece by piece, until `take` is
    /// false. What is in memory alone is not among them. A trace that another process supersedes
    /// meanwhile may come in both states.
    ///
    /// Returns what is damaged or missing, file by file: that is left out.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn each(
        &self,
        window: &Window,
        wanted: Option<&Wanted<'_>>,
        take: &mut dyn FnMut(Vec<Kept>, Passed) -> bool,
    ) -> Result<Vec<String>, StoreError> {
        let Some(durable) = &self.durable else {
            return Ok(Vec::new());
        };
        let mut walk = Walk {
            known: self.known(),
            split: HashSet::new(),
            passed: Passed::default(),
            faults: Vec::new(),
            wanted,
            take,
        };
        let mut hours: BTreeMap<u64, u64> = BTreeMap::new();
        for part in &durable.state().parts {
            if window.meets(part.meta.min_start, part.meta.max_start) {
                *hours.entry(part.meta.hour).or_default() += part.meta.traces;
            }
        }
        walk.passed.of = hours.values().sum();
        for hour in hours.into_keys() {
            let (state, open) = self.open_hour(hour, window)?;
            walk.faults.extend(open.faults);
            for (part, source) in open.parts {
                if !walk.part(&state, &part, source)? {
                    return Ok(walk.faults);
                }
            }
        }
        Ok(walk.faults)
    }

    fn open_hour(&self, hour: u64, window: &Window) -> Result<(Arc<State>, Open), StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            self.refresh().ok();
            let state = self.durable.as_ref().map(Durable::state);
            let state = state.unwrap_or_default();
            let mut open = Open::default();
            let mut gone = false;
            for part in state.parts.iter().filter(|part| part.meta.hour == hour) {
                let meets = window.meets(part.meta.min_start, part.meta.max_start);
                if !meets || part.meta.table(Table::Spans).is_none() {
                    continue;
                }
                // Nobody knows which of its rows count.
                if let Some(lost) = &part.lost {
                    open.faults.push(lost.to_string());
                    continue;
                }
                let path = part.files.path(Table::Spans);
                match Source::open(&path) {
                    Ok(source) => open.parts.push((Arc::clone(part), source)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        gone = true;
                        open.faults.push(format!("{}: is missing", path.display()));
                    }
                    Err(error) => return Err(StoreError::io(path)(error)),
                }
            }
            if !gone || tries == TRIES || !self.refresh().unwrap_or(false) {
                return Ok((state, open));
            }
        }
    }
}

/// The files of an hour.
#[derive(Debug, Default)]
struct Open {
    parts: Vec<(Arc<Part>, Source)>,
    faults: Vec<String>,
}

struct Walk<'a> {
    known: Known,
    /// Traces that are in several parts and were handed over.
    split: HashSet<TraceId>,
    passed: Passed,
    faults: Vec<String>,
    wanted: Option<&'a Wanted<'a>>,
    take: &'a mut dyn FnMut(Vec<Kept>, Passed) -> bool,
}

impl Walk<'_> {
    /// Hands over what begins in a part; false if nothing more is wanted.
    fn part(&mut self, state: &State, part: &Part, source: Source) -> Result<bool, StoreError> {
        let passed = self.passed.traces + part.meta.traces;
        let wanted = self.wanted_of(part)?;
        let is_wanted = |id: &str| {
            let id = id.parse::<TraceId>().ok();
            let wanted = wanted.as_ref();
            wanted.is_none_or(|wanted| id.is_none_or(|id| wanted.contains(&id)))
        };
        let which = wanted.as_ref().map(|_| &is_wanted as &dyn Fn(&str) -> bool);
        let is_known = self.wanted.is_none() || wanted.is_some();
        let mut last: Option<Trace> = None;
        let mut result = Ok(true);
        let read = parquet::read_spans_of(source, which, &mut |spans, logs| {
            let traces = whole(&mut last, spans, logs);
            result = self.give(state, part, traces, is_known);
            matches!(result, Ok(true))
        });
        if !matches!(result, Ok(true)) {
            return result;
        }
        match read {
            Ok(()) => {
                let last: Vec<Trace> = last.into_iter().collect();
                self.passed.traces = passed.saturating_sub(last.len() as u64);
                self.give(state, part, last, is_known)
            }
            Err(FileError::Io(error)) => Err(StoreError::io(path(part))(error)),
            Err(error) => {
                self.faults
                    .push(format!("{}: {error}", path(part).display()));
                Ok(true)
            }
        }
    }

    /// Which traces of a part are wanted, as its tables say; `None` for all.
    fn wanted_of(&self, part: &Part) -> Result<Option<HashSet<TraceId>>, StoreError> {
        let Some(wanted) = self.wanted else {
            return Ok(None);
        };
        match wanted(&Piece::of(part)) {
            // Its tables tell too little if one of them is damaged.
            Ok(_) if part.is_faulty() => Ok(None),
            Ok(wanted) => Ok(Some(wanted)),
            // Another process took the tables away; the spans are held open.
            Err(_) if part.files.have_left() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn give(
        &mut self,
        state: &State,
        part: &Part,
        traces: Vec<Trace>,
        is_known: bool,
    ) -> Result<bool, StoreError> {
        let (Some(first), Some(last)) = (traces.first(), traces.last()) else {
            return Ok(true);
        };
        let marks = marks(part, first.id, last.id)?;
        self.passed.traces += traces.len() as u64;
        let mut kept = Vec::with_capacity(traces.len());
        for trace in traces {
            if part.dead.has(trace.id) {
                continue;
            }
            let filter = part.filter();
            if filter.is_none_or(|filter| filter.is_split(trace.id)) {
                if self.split.contains(&trace.id) {
                    continue;
                }
                // A filter that was made again knows less; what is found tells.
                let asked = Asked::around(trace.id, None, Reach::of(&trace), false);
                match lookup(state, asked, &self.known).map(|found| found.stored) {
                    Ok(Some(found)) if found.trace.spans.len() > trace.spans.len() => {
                        self.split.insert(trace.id);
                        let what = What::Found(found);
                        kept.push(Kept { what, is_known });
                        continue;
                    }
                    // Another process took the other part away: what is here is handed over.
                    Ok(_) | Err(StoreError::Changed | StoreError::Damaged { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            let marks = marks.get(&trace.id).copied().unwrap_or_default();
            let what = What::Read { trace, marks };
            kept.push(Kept { what, is_known });
        }
        Ok((self.take)(kept, self.passed))
    }
}

fn path(part: &Part) -> PathBuf {
    part.files.path(Table::Spans)
}

/// The traces of these spans, which come trace by trace; the last one, of which more may come,
/// waits in `last`.
fn whole(last: &mut Option<Trace>, spans: Vec<Span>, logs: Vec<SpanLog>) -> Vec<Trace> {
    let mut traces: Vec<Trace> = last.take().into_iter().collect();
    for span in spans {
        match traces.last_mut() {
            Some(trace) if trace.id == span.trace_id => trace.spans.push(span),
            _ => traces.push(Trace {
                id: span.trace_id,
                spans: vec![span],
                logs: Vec::new(),
            }),
        }
    }
    let mut at = 0;
    for log in logs {
        // They come in the order of their spans.
        while traces.get(at).is_some_and(|trace| trace.id < log.trace_id) {
            at += 1;
        }
        if let Some(trace) = traces.get_mut(at) {
            trace.logs.push(log);
        }
    }
    *last = traces.pop();
    traces
}

/// What the rows of requests say of the traces from `first` to `last`.
fn marks(
    part: &Part,
    first: TraceId,
    last: TraceId,
) -> Result<BTreeMap<TraceId, Marks>, StoreError> {
    let mut marks: BTreeMap<TraceId, Marks> = BTreeMap::new();
    let rows = match part.scan(Table::Requests) {
        Ok(Some(rows)) => rows,
        // Its spans are there all the same.
        Ok(None) | Err(StoreError::Damaged { .. } | StoreError::Changed) => return Ok(marks),
        Err(error) => return Err(error),
    };
    let id = || col("trace_id");
    let between = id()
        .gt_eq(lit(first.to_string()))
        .and(id().lt_eq(lit(last.to_string())));
    let columns = [id(), col("revision"), col("notes")];
    let frame = collect(rows.filter(between).select(columns))?;
    let ids = frame.column("trace_id")?.str()?.iter();
    let revisions = frame.column("revision")?.i64()?.iter();
    let notes = frame.column("notes")?.str()?.iter();
    for ((id, revision), notes) in ids.zip(revisions).zip(notes) {
        let Some(id) = id.and_then(|id| id.parse().ok()) else {
            continue;
        };
        let of: &mut Marks = marks.entry(id).or_default();
        of.revision = of.revision.max(revision.unwrap_or(0) as u32);
        of.truncated = of.truncated.max(notes.map_or(0, truncated));
    }
    Ok(marks)
}
