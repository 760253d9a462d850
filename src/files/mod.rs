//! The trace files that people have. Content decides what a file is, never its name.
//!
//! Read: OTLP/JSON as one document, one per line, several behind one another, in arrays or
//! wrappers; OTLP protobuf; any of them in gzip or zstd. What is something else is refused by its
//! name ([`foreign`]). A bad line costs itself: the lines around it are kept.
//!
//! A file of lines flows: it is cut at line ends into pieces that threads decode and group by
//! trace, and the pieces are joined in the order of the file, so that the result does not depend
//! on the threads. Text is gone as soon as it is decoded; only spans stay.
//!
//! **Invariant**: no storage, no network. One input never costs another.

mod binary;
mod chunks;
mod foreign;
mod formats;
mod gather;
mod scan;
mod source;

use std::fmt;
use std::path::PathBuf;

use crate::model::Trace;
use crate::otlp::Limits;

pub use gather::each;

/// Where to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
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

/// Reads all inputs. `progress` hears of bytes done and bytes in all (0 when not known), now and
/// then.
pub fn load(inputs: &[Input], limits: &Limits, progress: &mut dyn FnMut(u64, u64)) -> Loaded {
    let limits = Limits {
        words_as_ids: true,
        ..limits.clone()
    };
    let total = source::total_bytes(inputs);
    let mut gather = gather::Gather::default();
    let mut before = 0;
    for input in inputs {
        let mut done = 0;
        gather.begin(input.to_string());
        match source::open(input) {
            Ok(reader) => scan::input(reader, &limits, &mut gather, &mut |bytes| {
                done = bytes;
                progress(before + bytes, total);
            }),
            Err(reason) => gather.problem(None, None, reason),
        }
        gather.end();
        before += done;
    }
    gather.finish()
}

/// Reads bytes as [`load`] reads a file; `name` is what problems call it.
pub fn load_bytes(name: &str, bytes: &[u8], limits: &Limits) -> Loaded {
    let limits = Limits {
        words_as_ids: true,
        ..limits.clone()
    };
    let mut gather = gather::Gather::default();
    gather.begin(name.to_owned());
    scan::input(Box::new(bytes), &limits, &mut gather, &mut |_| {});
    gather.end();
    gather.finish()
}
