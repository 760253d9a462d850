//! `dwindle traces`: a line per request.

use super::input::{self, Analysed};
use super::{Exit, ListFormat, Printer, Setup, TracesArgs};
use crate::model::{Request, SpanId, TraceId, UnixNanos};
use crate::report::{csv, json, table};

/// What is kept of a request: its place in the list and what is printed of it.
struct Line {
    key: (UnixNanos, TraceId, SpanId),
    shown: Shown,
}

enum Shown {
    Text(String),
    Row(Box<table::Row>),
}

pub(super) fn run(args: &TracesArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    let Analysed { results, exit } =
        input::analysed(&args.input, setup, printer, |_, analysis| {
            let requests = analysis.requests.iter();
            requests.map(|request| line(request, args.format)).collect()
        })?;
    let mut lines: Vec<Line> = results;
    lines.sort_by_key(|line| line.key);
    print(&lines, args.format, printer)?;
    if lines.is_empty() && args.format == ListFormat::Table {
        printer.say("no requests in what was read");
    }
    Ok(exit)
}

fn line(request: &Request, format: ListFormat) -> Line {
    let shown = match format {
        ListFormat::Table => Shown::Row(Box::new(table::row(request))),
        ListFormat::Json | ListFormat::Ndjson => Shown::Text(json::listed(request)),
        ListFormat::Csv => Shown::Text(csv::record(request)),
    };
    Line {
        key: (request.start, request.trace_id, request.request),
        shown,
    }
}

fn print(lines: &[Line], format: ListFormat, printer: &mut Printer) -> anyhow::Result<()> {
    let texts = lines.iter().filter_map(|line| match &line.shown {
        Shown::Text(text) => Some(text),
        Shown::Row(_) => None,
    });
    match format {
        ListFormat::Table => {
            let rows = lines.iter().filter_map(|line| match &line.shown {
                Shown::Row(row) => Some(&**row),
                Shown::Text(_) => None,
            });
            let look = printer.look();
            for text in table::lines(rows, look) {
                printer.line(&text)?;
            }
        }
        ListFormat::Ndjson => {
            for text in texts {
                printer.line(text)?;
            }
        }
        ListFormat::Json => {
            printer.data("[")?;
            for (index, text) in texts.enumerate() {
                printer.data(if index == 0 { "\n" } else { ",\n" })?;
                printer.data(text)?;
            }
            printer.line(if lines.is_empty() { "]" } else { "\n]" })?;
        }
        ListFormat::Csv => {
            printer.data(&csv::header())?;
            for text in texts {
                printer.data(text)?;
            }
        }
    }
    Ok(())
}
