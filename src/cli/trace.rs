//! `dwindle trace`: the waterfall of each request.

use std::path::Path;

use anyhow::bail;

use super::data::Data;
use super::input::{self, Read};
use super::select::Selection;
use super::{Exit, Printer, Setup, TraceArgs, TraceFormat};
use crate::budget::analyse;
use crate::files;
use crate::model::{Analysis, Trace};
use crate::report::{Look, json, terminal};

/// Traces that are analysed at once; what they print is held that long.
const BATCH: usize = 512;

pub(super) fn run(args: &TraceArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.input.select, printer)?;
    if let Some(folder) = &args.input.data {
        return of_store(args, folder, &selection, setup, printer);
    }
    let Read {
        traces,
        exit,
        progress,
    } = input::read(&args.input.input(), setup, printer)?;
    progress.done();
    let look = printer.look();
    let texts = |trace: Trace| -> Vec<String> {
        let analysis = analyse(&trace, &setup.policy, &setup.typical);
        texts(&analysis, &selection, args.format, look)
    };
    let mut printed = 0_usize;
    let mut traces = traces.into_iter();
    loop {
        let batch: Vec<Trace> = traces.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        for text in files::each(batch, texts).into_iter().flatten() {
            print(&text, printed == 0, args.format, printer)?;
            printed += 1;
        }
    }
    if printed == 0 && args.format == TraceFormat::Text {
        printer.say(&selection.nothing());
    }
    Ok(exit)
}

/// The trace that `--id` names, from a store.
fn of_store(
    args: &TraceArgs,
    folder: &Path,
    selection: &Selection,
    setup: &Setup,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let Some(prefix) = &args.input.id else {
        bail!("a store may have millions: name one with --id; `dwindle traces --data` lists them");
    };
    let data = Data::open(folder, setup, printer)?;
    let id = data.pick(prefix)?;
    let Some(stored) = data.store().get(id)? else {
        bail!("trace {id} was there and is no longer; retention took it meanwhile");
    };
    let texts = texts(&stored.analysis, selection, args.format, printer.look());
    for (number, text) in texts.iter().enumerate() {
        print(text, number == 0, args.format, printer)?;
    }
    if texts.is_empty() && args.format == TraceFormat::Text {
        printer.say(&selection.nothing());
    }
    Ok(data.exit(printer))
}

fn texts(
    analysis: &Analysis,
    selection: &Selection,
    format: TraceFormat,
    look: Look,
) -> Vec<String> {
    let requests = analysis.requests.iter();
    requests
        .filter(|request| selection.takes(request))
        .map(|request| match format {
            TraceFormat::Text => terminal::request(request, look),
            TraceFormat::Json => json::one(request),
        })
        .collect()
}

fn print(
    text: &str,
    is_first: bool,
    format: TraceFormat,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    match format {
        TraceFormat::Text if is_first => printer.data(text)?,
        TraceFormat::Text => printer.data(&format!("\n{text}"))?,
        TraceFormat::Json => printer.line(text)?,
    }
    Ok(())
}
