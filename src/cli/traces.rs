//! `dwindle traces`: a line per request.

use std::cmp::Ordering;

use super::input::{self, Analysed};
use super::select::{Selection, say_cut};
use super::waiting::{self, Waiting};
use super::{Exit, ListFormat, Printer, Setup, TracesArgs};
use crate::model::{Request, SpanId, TraceId, UnixNanos};
use crate::query::order::{ByField, Key};
use crate::report::{csv, json, table};

/// What is kept of a request: its place in the list and what is printed of it.
struct Line {
    order: Key,
    key: (UnixNanos, TraceId, SpanId),
    shown: Shown,
}

enum Shown {
    Text(waiting::Text),
    Row(table::Row),
}

pub(super) fn run(args: &TracesArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.input.select, printer)?;
    let by = args.list.sort.as_ref().map(ByField::of).transpose();
    let by = by.map_err(|error| anyhow::anyhow!("--sort: {error}"))?;
    let format = args.list.format;
    let waiting = Waiting::new();
    let Analysed { results, exit } =
        input::analysed(&args.input, setup, printer, |_, analysis| {
            let requests = analysis.requests.iter();
            let taken = requests.filter(|request| selection.takes(request));
            taken
                .map(|request| line(request, by, format, &waiting))
                .collect()
        })?;
    let mut lines: Vec<Line> = results;
    let descending = by.is_some_and(|by| by.descending);
    lines.sort_by(|a, b| match a.order.compare(&b.order, descending) {
        Ordering::Equal => a.key.cmp(&b.key),
        order => order,
    });
    let all = lines.len();
    let limit = args.list.limit.map(usize::try_from);
    lines.truncate(limit.map_or(all, |limit| limit.unwrap_or(all)));
    print(&lines, &mut waiting.ready()?, format, printer)?;
    say_cut(printer, lines.len(), all);
    if lines.is_empty() && format == ListFormat::Table {
        printer.say(&selection.nothing());
    }
    Ok(exit)
}

fn line(request: &Request, by: Option<ByField>, format: ListFormat, waiting: &Waiting) -> Line {
    let shown = match format {
        ListFormat::Table | ListFormat::Markdown => Shown::Row(table::row(request)),
        ListFormat::Json | ListFormat::Ndjson => Shown::Text(waiting.put(json::listed(request))),
        ListFormat::Csv => Shown::Text(waiting.put(csv::record(request))),
    };
    Line {
        order: by.map_or(Key::Null, |by| by.key(request)),
        key: (request.start, request.trace_id, request.request),
        shown,
    }
}

fn print(
    lines: &[Line],
    ready: &mut waiting::Ready,
    format: ListFormat,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let mut texts = lines.iter().filter_map(|line| match &line.shown {
        Shown::Text(text) => Some(ready.take(text)),
        Shown::Row(_) => None,
    });
    let rows = lines.iter().filter_map(|line| match &line.shown {
        Shown::Row(row) => Some(row),
        Shown::Text(_) => None,
    });
    match format {
        ListFormat::Table => {
            let look = printer.look();
            for text in table::lines(rows, look) {
                printer.line(&text)?;
            }
        }
        ListFormat::Markdown => {
            for text in table::markdown(rows) {
                printer.line(&text)?;
            }
        }
        ListFormat::Ndjson => {
            for text in texts {
                printer.line(&text?)?;
            }
        }
        ListFormat::Json => {
            let mut fault = Ok(());
            let texts = texts
                .by_ref()
                .map_while(|text| text.map_err(|error| fault = Err(error)).ok());
            printer.array(texts)?;
            fault?;
        }
        ListFormat::Csv => {
            printer.data(&csv::header())?;
            for text in texts {
                printer.data(&text?)?;
            }
        }
    }
    Ok(())
}
