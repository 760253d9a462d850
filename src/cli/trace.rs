//! `dwindle trace`: the waterfall of each request.

use super::input::{self, Read};
use super::select::Selection;
use super::{Exit, Printer, Setup, TraceArgs, TraceFormat};
use crate::budget::analyse;
use crate::files;
use crate::model::Trace;
use crate::report::{json, terminal};

/// Traces that are analysed at once; what they print is held that long.
const BATCH: usize = 512;

pub(super) fn run(args: &TraceArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.input.select, printer)?;
    let Read {
        traces,
        exit,
        progress,
    } = input::read(&args.input, setup, printer)?;
    progress.done();
    let look = printer.look();
    let texts = |trace: Trace| -> Vec<String> {
        analyse(&trace, &setup.policy, &setup.typical)
            .requests
            .iter()
            .filter(|request| selection.takes(request))
            .map(|request| match args.format {
                TraceFormat::Text => terminal::request(request, look),
                TraceFormat::Json => json::one(request),
            })
            .collect()
    };
    let mut printed = 0_usize;
    let mut traces = traces.into_iter();
    loop {
        let batch: Vec<Trace> = traces.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        for text in files::each(batch, texts).into_iter().flatten() {
            match args.format {
                TraceFormat::Text if printed > 0 => printer.data(&format!("\n{text}"))?,
                TraceFormat::Text => printer.data(&text)?,
                TraceFormat::Json => printer.line(&text)?,
            }
            printed += 1;
        }
    }
    if printed == 0 && args.format == TraceFormat::Text {
        printer.say(&selection.nothing());
    }
    Ok(exit)
}
