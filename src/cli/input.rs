//! What `trace` and `traces` share: reading the files, saying what was wrong, picking one trace.

use super::printer::Printer;
use super::progress::Progress;
use super::{Exit, InputArgs, Setup};
use crate::budget::analyse;
use crate::files::{self, Content, Gathered, Input, Stored, Take, TraceKey, Unread};
use crate::model::{Analysis, Trace, TraceId};
use crate::otlp::Limits;
use crate::store::parquet;

/// Candidates of an ambiguous id that are named.
const SHOWN_CANDIDATES: usize = 10;

/// What the files held.
pub(super) struct Read {
    /// The traces, by their earliest span, then by id.
    pub(super) traces: Vec<Trace>,
    /// Whether all could be read.
    pub(super) exit: Exit,
    /// Shows how far the work has come.
    pub(super) progress: Progress,
}

/// Reads the files into memory. What could not be read is said on stderr, what can is kept.
pub(super) fn read(args: &InputArgs, setup: &Setup, printer: &Printer) -> anyhow::Result<Read> {
    let limits = Limits {
        max_held_bytes: usize::MAX,
        ..setup.limits.clone()
    };
    let Gone {
        gathered,
        exit,
        progress,
    } = go(args, &limits, printer)?;
    let others = gathered.others();
    let mut traces = gathered.each(|trace| vec![trace])?;
    if let Some(prefix) = &args.id {
        pick(&traces, others, prefix, exit == Exit::Done)?;
    }
    Ok(Read {
        traces: traces.drain(..).map(|(_, trace)| trace).collect(),
        exit,
        progress,
    })
}

/// What was made of the traces.
pub(super) struct Analysed<T> {
    /// The results: trace by trace in the order of their earliest spans (then ids), within a trace
    /// in the order in which `work` gave them.
    pub(super) results: Vec<T>,
    /// Whether all could be read.
    pub(super) exit: Exit,
}

/// Reads the files and does `work` with each trace and its analysis, on all cores. Neither the
/// trace nor the analysis outlives its `work`, and traces beyond a bound wait in a temporary file:
/// memory is what the results take, however much is read.
pub(super) fn analysed<T: Send>(
    args: &InputArgs,
    setup: &Setup,
    printer: &Printer,
    work: impl Fn(&Trace, &Analysis) -> Vec<T> + Sync,
) -> anyhow::Result<Analysed<T>> {
    let work = |trace: Trace| work(&trace, &analyse(&trace, &setup.policy, &setup.typical));
    each(args, setup, printer, work)
}

/// Reads the files and does `work` with each trace as it came, on all cores; as [`analysed`]
/// otherwise.
pub(super) fn each<T: Send>(
    args: &InputArgs,
    setup: &Setup,
    printer: &Printer,
    work: impl Fn(Trace) -> Vec<T> + Sync,
) -> anyhow::Result<Analysed<T>> {
    // One trace is looked for: it is held whole.
    if args.id.is_some() {
        let Read {
            traces,
            exit,
            progress,
        } = read(args, setup, printer)?;
        let results = traces.into_iter().flat_map(work).collect();
        progress.done();
        return Ok(Analysed { results, exit });
    }
    let Gone {
        gathered,
        exit,
        progress,
    } = go(args, &setup.limits, printer)?;
    let results = gathered.each(work)?;
    progress.done();
    Ok(Analysed {
        results: results.into_iter().map(|(_, result)| result).collect(),
        exit,
    })
}

/// The files are read, but nothing is made of them yet.
struct Gone {
    gathered: Gathered,
    exit: Exit,
    progress: Progress,
}

fn go(args: &InputArgs, limits: &Limits, printer: &Printer) -> anyhow::Result<Gone> {
    let inputs: Vec<Input> = args.files.iter().map(Input::from_argument).collect();
    let stdin = inputs.iter().filter(|input| **input == Input::Stdin);
    if stdin.count() > 1 {
        anyhow::bail!("`-` is given more than once; standard input can be read only once");
    }
    let mut progress = Progress::new(printer.is_watched());
    let mut hear = |done, total| progress.read(done, total);
    let stored = Stored {
        is_stored: parquet::is_parquet,
        read: &stored,
    };
    let gathered = files::gather(&inputs, limits, args.id.as_deref(), Some(stored), &mut hear)?;
    progress.analyse();
    let report = gathered.report();
    let mut lines: Vec<String> = Vec::new();
    lines.extend(report.problems.iter().map(ToString::to_string));
    lines.extend(report.passed_over.iter().map(ToString::to_string));
    lines.extend(report.skipped.iter().map(ToString::to_string));
    if report.replaced_ids > 0 {
        let spans = match report.replaced_ids {
            1 => "1 span".to_owned(),
            count => format!("{count} spans"),
        };
        lines.push(format!(
            "note: the ids of {spans} are not hexadecimal; ids were made from them"
        ));
    }
    printer.say_once(lines);
    Ok(Gone {
        exit: if report.problems.is_empty() {
            Exit::Done
        } else {
            Exit::Partial
        },
        gathered,
        progress,
    })
}

/// Reads a Parquet file that Dwindle wrote.
fn stored(content: Content, take: Take<'_>) -> Result<(), Unread> {
    let source = match content {
        Content::File(file) => parquet::Source::File(file),
        Content::Bytes(bytes) => parquet::Source::Bytes(bytes),
    };
    parquet::read_spans(source, take).map_err(|error| {
        if error.is_refusal() {
            Unread::Refused(error.to_string())
        } else {
            Unread::Broken(error.to_string())
        }
    })
}

/// Holds that one trace alone has an id that begins with `prefix`; `others` have not.
fn pick(
    found: &[(TraceKey, Trace)],
    others: usize,
    prefix: &str,
    all_read: bool,
) -> anyhow::Result<()> {
    match found {
        [_] => Ok(()),
        [] => {
            let among = match (others, all_read) {
                (0, _) => "there are no traces".to_owned(),
                (1, true) => "there is 1 trace".to_owned(),
                (n, true) => format!("there are {n} traces"),
                (n, false) => format!("{n} could be read"),
            };
            anyhow::bail!("no trace id begins with `{prefix}`; {among}")
        }
        several => {
            let mut ids: Vec<TraceId> = several.iter().map(|(_, trace)| trace.id).collect();
            ids.sort();
            anyhow::bail!("{}", ambiguous(prefix, &ids))
        }
    }
}

pub(super) fn ambiguous(prefix: &str, ids: &[TraceId]) -> String {
    let count = ids.len();
    let mut lines = vec![format!(
        "{count} trace ids begin with `{prefix}`; give more digits:"
    )];
    lines.extend(ids.iter().take(SHOWN_CANDIDATES).map(TraceId::to_string));
    if count > SHOWN_CANDIDATES {
        lines.push(format!("and {} more", count - SHOWN_CANDIDATES));
    }
    lines.join("\n  ")
}
