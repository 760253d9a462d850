//! What `trace` and `traces` share: reading the files, saying what was wrong, picking one trace.

use super::printer::Printer;
use super::progress::Progress;
use super::{Exit, InputArgs, Setup};
use crate::budget::analyse;
use crate::files::{self, Input};
use crate::model::{Analysis, Trace, TraceId, UnixNanos};

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

/// Reads the files. What could not be read is said on stderr, what can is kept.
pub(super) fn read(args: &InputArgs, setup: &Setup, printer: &Printer) -> anyhow::Result<Read> {
    let inputs: Vec<Input> = args.files.iter().map(Input::from_argument).collect();
    let stdin = inputs.iter().filter(|input| **input == Input::Stdin);
    if stdin.count() > 1 {
        anyhow::bail!("`-` is given more than once; standard input can be read only once");
    }
    let mut progress = Progress::new(printer.is_watched());
    let loaded = files::load(&inputs, &setup.limits, &mut |done, total| {
        progress.read(done, total);
    });
    progress.analyse(loaded.traces.len());
    for problem in &loaded.problems {
        printer.say(&problem.to_string());
    }
    for skipped in &loaded.skipped {
        printer.say(&skipped.to_string());
    }
    if loaded.replaced_ids > 0 {
        let count = loaded.replaced_ids;
        printer.say(&format!(
            "note: the ids of {count} spans are not hexadecimal; ids were made from them"
        ));
    }
    let mut traces = loaded.traces;
    if let Some(prefix) = &args.id {
        traces = pick(traces, prefix, loaded.problems.is_empty())?;
    }
    traces.sort_by_cached_key(|trace| (first_start(trace), trace.id));
    Ok(Read {
        traces,
        exit: if loaded.problems.is_empty() {
            Exit::Done
        } else {
            Exit::Partial
        },
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
/// trace nor the analysis outlives its `work`, so that memory falls as the work goes on.
pub(super) fn analysed<T: Send>(
    args: &InputArgs,
    setup: &Setup,
    printer: &Printer,
    work: impl Fn(&Trace, &Analysis) -> Vec<T> + Sync,
) -> anyhow::Result<Analysed<T>> {
    let Read {
        traces,
        exit,
        progress,
    } = read(args, setup, printer)?;
    let work = |trace: Trace| work(&trace, &analyse(&trace, &setup.policy, &setup.typical));
    let results = files::each(traces, work).into_iter().flatten().collect();
    progress.done();
    Ok(Analysed { results, exit })
}

fn first_start(trace: &Trace) -> UnixNanos {
    let starts = trace.spans.iter().map(|span| span.start);
    starts.min().unwrap_or_default()
}

/// The one trace whose id begins with `prefix`.
fn pick(traces: Vec<Trace>, prefix: &str, all_read: bool) -> anyhow::Result<Vec<Trace>> {
    let total = traces.len();
    let found: Vec<Trace> = traces
        .into_iter()
        .filter(|trace| trace.id.to_string().starts_with(prefix))
        .collect();
    match found.len() {
        1 => Ok(found),
        0 => {
            let among = match (total, all_read) {
                (0, _) => "there are no traces".to_owned(),
                (1, true) => "there is 1 trace".to_owned(),
                (n, true) => format!("there are {n} traces"),
                (n, false) => format!("{n} could be read"),
            };
            anyhow::bail!("no trace id begins with `{prefix}`; {among}")
        }
        _ => {
            let mut ids: Vec<TraceId> = found.iter().map(|trace| trace.id).collect();
            ids.sort();
            anyhow::bail!("{}", ambiguous(prefix, &ids))
        }
    }
}

fn ambiguous(prefix: &str, ids: &[TraceId]) -> String {
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
