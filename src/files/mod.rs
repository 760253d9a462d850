//! The trace files that people have. Content decides what a file is, never its name.
//!
//! Read: OTLP/JSON as one document, one per line, several behind one another, in arrays or
//! wrappers; OTLP protobuf, alone or with lengths; the formats of [`formats`]; any of them in
//! gzip or zstd, in archives, folders and patterns. What is something else is refused by its
//! name ([`foreign`]). A bad line costs itself: the lines around it are kept.
//!
//! A file of lines or messages flows: it is cut into pieces that threads decode and group by
//! trace, and the pieces are joined in the order of the file, so that the result does not depend
//! on the threads. Text is gone as soon as it is decoded; only spans stay, and those beyond a
//! bound wait in a temporary file ([`spill`]).
//!
//! **Invariant**: no storage, no network. One input never costs another.

mod archive;
mod binary;
mod chunks;
mod foreign;
mod formats;
mod gather;
mod held;
mod inputs;
mod messages;
mod pool;
mod scan;
mod source;
mod spill;
mod stored;
pub mod write;

use std::fmt;
use std::path::PathBuf;

use crate::model::{Trace, TraceId, UnixNanos};
use crate::otlp::Limits;
use gather::{Found, Gather};
use scan::Scan;
use source::Allowance;
use spill::Spill;

pub use pool::each;
pub use spill::SpillError;
pub use stored::{Content, Stored, Take, Unread};

/// Where to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file, a folder of files, or a pattern of their names (`*`, `?`, `[…]`, `**`).
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// What an argument means: `-` is standard input.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" {
            Self::Stdin
        } else {
            Self::Path(path)
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// What the inputs held.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// The traces, in the order in which their first spans stand in the inputs.
    pub traces: Vec<Trace>,
    /// What could not be read, input by input. Any of them means that not all was done.
    pub problems: Vec<Problem>,
    /// What is not for Dwindle, and no fault.
    pub skipped: Vec<Skipped>,
    /// Files in folders and archives that are no traces, beside others that are.
    pub passed_over: Vec<PassedOver>,
    /// Spans in `traces`, duplicates included.
    pub spans: u64,
    /// Spans that were rejected; `problems` has the first of each input.
    pub rejected: u64,
    /// Spans whose ids are words and no OTLP ids; they were given ids of their own.
    pub replaced_ids: u64,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The input.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The byte in that line, from 1.
    pub column: Option<u64>,
    /// What is wrong and what to do.
    pub reason: String,
}

impl fmt::Display for Problem {
    /// `file:line:column: reason`, as far as it is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Files that were found and not named, and that hold no traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// The folder, the pattern or the archive in which they were found.
    pub place: String,
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: String,
    /// Why that one is of no use.
    pub reason: String,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            count,
            first,
            reason,
        } = self;
        match count {
            1 => write!(f, "{place}: 1 file passed over, {first}: {reason}"),
            many => write!(
                f,
                "{place}: {many} files passed over; the first, {first}: {reason}"
            ),
        }
    }
}

/// A kind of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Spans: said of an input whose lists of spans are empty.
    Spans,
    /// Log records.
    Logs,
    /// Data points of metrics.
    Metrics,
}

/// What was passed over in one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The input.
    pub file: String,
    /// What it was.
    pub signal: Signal,
    /// Log records or data points.
    pub count: u64,
    /// True when the input holds no spans at all.
    pub no_traces: bool,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, count, .. } = self;
        let s = if *count == 1 { "" } else { "s" };
        match (self.no_traces, self.signal) {
            (_, Signal::Spans) => write!(f, "{file}: its lists of spans are empty"),
            (true, Signal::Logs) => {
                write!(
                    f,
                    "{file}: no traces in this file (logs): {count} record{s} skipped"
                )
            }
            (true, Signal::Metrics) => {
                write!(
                    f,
                    "{file}: no traces in this file (metrics): {count} data point{s} skipped"
                )
            }
            (false, Signal::Logs) => write!(f, "{file}: {count} log record{s} skipped"),
            (false, Signal::Metrics) => write!(f, "{file}: {count} data point{s} skipped"),
        }
    }
}

/// Reads all inputs into memory. `progress` hears of bytes done and bytes in all (0 when not
/// known), now and then.
pub fn load(inputs: &[Input], limits: &Limits, progress: &mut dyn FnMut(u64, u64)) -> Loaded {
    let limits = Limits {
        max_held_bytes: usize::MAX,
        ..limits.clone()
    };
    let gathered = gather(inputs, &limits, None, None, progress);
    gathered.map(|gathered| gathered.report).unwrap_or_default()
}

/// Reads all inputs; of `only`, if it is there, the traces whose id begins so. What goes beyond
/// [`Limits::max_held_bytes`] waits in a temporary file. Files of the store are read by `stored`,
/// and refused without it.
pub fn gather(
    inputs: &[Input],
    limits: &Limits,
    only: Option<&str>,
    stored: Option<Stored<'_>>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Gathered, SpillError> {
    let limits = for_files(limits);
    let mut gather = Gather::new(&limits, only);
    let expanded = inputs::expand(inputs);
    for problem in expanded.problems {
        gather.tell(problem);
    }
    let sizes: Option<Vec<u64>> = expanded
        .inputs
        .iter()
        .map(|(input, _)| source::size(input))
        .collect();
    let total = sizes.map_or(0, |sizes| sizes.iter().sum());
    let mut groups: Vec<Found> = Vec::new();
    groups.resize_with(expanded.groups.len(), Found::default);
    let mut before = 0;
    for (input, group) in expanded.inputs {
        let mut done = 0;
        let name = input.to_string();
        let mut scan = Scan {
            limits: &limits,
            allowance: Allowance::new(limits.max_inflated_bytes),
            progress: &mut |bytes| {
                done = bytes;
                progress(before + bytes, total);
            },
            depth: 0,
            stored,
            path: match &input {
                Input::Path(path) => Some(path),
                Input::Stdin => None,
            },
        };
        let ended = scan.input(name.clone(), source::open(&input), &mut gather);
        before += done;
        match group.and_then(|group| groups.get_mut(group)) {
            Some(group) => group.count(&name, ended),
            None => gather.tell_refusal(name, ended),
        }
        if !gather.is_well() {
            break;
        }
    }
    for (place, found) in expanded.groups.iter().zip(groups) {
        match found.none_good("folder") {
            Some(reason) => gather.tell_refusal(place.clone(), Err(reason)),
            None => gather.passed_over(place, found),
        }
    }
    let (report, rest) = gather.finish()?;
    Ok(Gathered {
        report: Loaded {
            traces: rest.traces,
            ..report
        },
        spill: rest.spill,
        others: rest.others,
    })
}

/// Reads bytes as [`load`] reads a file; `name` is what problems call it.
pub fn load_bytes(name: &str, bytes: &[u8], limits: &Limits) -> Loaded {
    let limits = Limits {
        max_held_bytes: usize::MAX,
        ..for_files(limits)
    };
    let mut gather = Gather::new(&limits, None);
    let mut scan = Scan {
        limits: &limits,
        allowance: Allowance::new(limits.max_inflated_bytes),
        progress: &mut |_| {},
        depth: 0,
        stored: None,
        path: None,
    };
    let ended = scan.input(name.to_owned(), Ok(Box::new(bytes)), &mut gather);
    gather.tell_refusal(name.to_owned(), ended);
    let (report, rest) = gather.finish().unwrap_or_default();
    Loaded {
        traces: rest.traces,
        ..report
    }
}

/// In files people write ids by hand, and a message may be as large as a document.
fn for_files(limits: &Limits) -> Limits {
    Limits {
        words_as_ids: true,
        max_message_bytes: limits.max_document_bytes,
        ..limits.clone()
    }
}

/// What the inputs held, with the traces in memory or, if they are too large, beside it.
#[derive(Debug)]
pub struct Gathered {
    report: Loaded,
    spill: Option<Spill>,
    others: usize,
}

/// The place of a trace in every list: its earliest span, then its id.
pub type TraceKey = (UnixNanos, TraceId);

impl Gathered {
    /// What is to be said of the inputs. Its `traces` are those that are in memory.
    pub fn report(&self) -> &Loaded {
        &self.report
    }

    /// Traces that were left out, since `only` asked for others.
    pub fn others(&self) -> usize {
        self.others
    }

    /// Does `work` with each trace, on all cores. The results come in the order of the traces'
    /// keys, within a trace in the order in which `work` gave them. No trace outlives its `work`;
    /// those that are beside the memory are read back part by part.
    pub fn each<T: Send>(
        self,
        work: impl Fn(Trace) -> Vec<T> + Sync,
    ) -> Result<Vec<(TraceKey, T)>, SpillError> {
        let work = |trace: Trace| {
            let key = key(&trace);
            let results = work(trace).into_iter();
            results.map(|result| (key, result)).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        let mut take = |traces: Vec<Trace>| {
            for results in each(traces, work) {
                all.extend(results);
            }
        };
        take(self.report.traces);
        if let Some(spill) = self.spill {
            spill.drain(&mut take)?;
        }
        all.sort_by_key(|(key, _)| *key);
        Ok(all)
    }
}

fn key(trace: &Trace) -> TraceKey {
    let starts = trace.spans.iter().map(|span| span.start);
    (starts.min().unwrap_or_default(), trace.id)
}
