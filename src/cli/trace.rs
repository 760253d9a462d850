//! `dwindle trace`: the waterfall of each request.

use std::path::Path;

use anyhow::bail;

use super::data::Data;
use super::input;
use super::select::Selection;
use super::waiting::Waiting;
use super::{Exit, Printer, Setup, TraceArgs, TraceFormat, learn};
use crate::model::Analysis;
use crate::report::{Look, json, terminal};

pub(super) fn run(args: &TraceArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.input.select, printer)?;
    if let Some(folder) = &args.input.data {
        return of_store(args, folder, &selection, setup, printer);
    }
    let look = printer.look();
    // What is printed waits on the disk where it is much; a trace goes when it is analysed.
    let waiting = Waiting::new();
    let read = input::analysed(&args.input.input(), setup, printer, |_, analysis| {
        let texts = texts(analysis, &selection, args.format, look).into_iter();
        texts.map(|text| waiting.put(text)).collect()
    })?;
    let mut ready = waiting.ready()?;
    for (number, text) in read.results.iter().enumerate() {
        print(&ready.take(text)?, number == 0, args.format, printer)?;
    }
    if read.results.is_empty() && args.format == TraceFormat::Text {
        printer.say(&selection.nothing());
    }
    Ok(read.exit)
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
    learn(data.store(), setup.typical_window);
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
