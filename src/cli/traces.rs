//! `dwindle traces`: a line per request.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::Path;

use super::data::Data;
use super::input::{self, Analysed};
use super::select::{Selection, say_cut};
use super::waiting::{self, Waiting};
use super::{Exit, ListFormat, Printer, Setup, TracesArgs};
use crate::model::{Request, SpanId, TraceId, UnixNanos};
use crate::query::order::{ByField, Key};
use crate::query::requests::{self, Page, Query, Sort};
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
    if let Some(folder) = &args.input.data {
        return of_store(args, folder, &selection, by, setup, printer);
    }
    let format = args.list.format;
    let waiting = Waiting::new();
    let Analysed { results, exit } =
        input::analysed(&args.input.input(), setup, printer, |_, analysis| {
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
    if lines.len() < all {
        say_cut(printer, lines.len(), &all.to_string());
    }
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
    let texts = lines.iter().filter_map(|line| match &line.shown {
        Shown::Text(text) => Some(ready.take(text)),
        Shown::Row(_) => None,
    });
    let rows = lines.iter().filter_map(|line| match &line.shown {
        Shown::Row(row) => Some(row),
        Shown::Text(_) => None,
    });
    match format {
        ListFormat::Table | ListFormat::Markdown => print_rows(rows, format, printer),
        ListFormat::Json | ListFormat::Ndjson | ListFormat::Csv => {
            print_texts(texts, format, printer)
        }
    }
}

fn print_rows<'r>(
    rows: impl Iterator<Item = &'r table::Row> + Clone,
    format: ListFormat,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if format == ListFormat::Markdown {
        for text in table::markdown(rows) {
            printer.line(&text)?;
        }
        return Ok(());
    }
    let look = printer.look();
    for text in table::lines(rows, look) {
        printer.line(&text)?;
    }
    Ok(())
}

fn print_texts<'t>(
    mut texts: impl Iterator<Item = anyhow::Result<Cow<'t, str>>>,
    format: ListFormat,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    match format {
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
        ListFormat::Ndjson | ListFormat::Table | ListFormat::Markdown => {
            for text in texts {
                printer.line(&text?)?;
            }
        }
    }
    Ok(())
}

/// Requests that are listed of a store, unless `--limit` says otherwise.
const STORED: usize = 1000;

fn of_store(
    args: &TracesArgs,
    folder: &Path,
    selection: &Selection,
    by: Option<ByField>,
    setup: &Setup,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let format = args.list.format;
    let is_table = matches!(format, ListFormat::Table | ListFormat::Markdown);
    let data = Data::open(folder, setup, printer)?;
    let limit = args.list.limit.map(usize::try_from);
    let query = Query {
        selection: selection.of_store(&data, args.input.id.as_deref())?,
        sort: by.map_or(Sort::Newest, Sort::By),
        limit: limit.map_or(STORED, |limit| limit.unwrap_or(usize::MAX - 1)),
        findings: !is_table,
        ..Query::default()
    };
    let Page {
        mut rows,
        matching,
        next,
        ..
    } = data.ask(|snapshot| requests::page(snapshot, &query))?;
    if by.is_none() {
        // As of files, the earliest first; of more than fit, the latest are shown.
        rows.reverse();
    }
    if is_table {
        let rows: Vec<table::Row> = rows.iter().map(table::row).collect();
        print_rows(rows.iter(), format, printer)?;
    } else {
        let text = match format {
            ListFormat::Csv => csv::record::<&requests::Row>,
            _ => json::listed::<&requests::Row>,
        };
        print_texts(
            rows.iter().map(|row| Ok(Cow::Owned(text(row)))),
            format,
            printer,
        )?;
    }
    let all = matching.words(|count| count.to_string());
    match args.list.limit {
        // What is missing then is in files that cannot be read, which are named.
        _ if next.is_none() => {}
        None => {
            let which = if by.is_some() { "first" } else { "newest" };
            printer.say(&format!(
                "the {which} {} of {all} requests; --limit N shows more",
                rows.len()
            ));
        }
        Some(_) => say_cut(printer, rows.len(), &all),
    }
    if rows.is_empty() && format == ListFormat::Table {
        printer.say("none of the requests that are stored is one of those asked for");
    }
    Ok(data.exit(printer))
}
