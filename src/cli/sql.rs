//! `dwindle sql`: SQL over the tables of what was read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args as ClapArgs;

use super::data::Data;
use super::input::{self, Analysed};
use super::select::Selection;
use super::{Exit, ListFormat, Printer, Setup, SourceArgs};
use crate::model::Request;
use crate::query::scan;
use crate::query::sql::{Answer, Cell, Heading, Plan};
use crate::report::grid;
use crate::report::number::count;
use crate::store::tables::{self, Builder, Table};

/// `dwindle sql`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle sql 'SELECT outcome, count(*) AS n FROM requests GROUP BY outcome' spans.ndjson
  dwindle sql \"SELECT culprit_service, count(*) AS missed, sum(culprit_consumed_ms) AS ms
               FROM requests WHERE outcome = 'missed'
               GROUP BY culprit_service ORDER BY ms DESC\" *.json
  dwindle sql \"SELECT h.service, quantile_cont(h.local_ms, 0.95) AS p95_ms
               FROM hops h GROUP BY h.service\" spans.parquet --format csv
  dwindle sql 'SELECT …' --data DIR   what a server keeps, while it runs
  dwindle sql --schema                the tables, their columns and units

Instants are UTC, durations milliseconds. Statements only read, and only these tables.
Of files, the rows of the tables that a statement names are held in memory, 10,000,000 at most; more
belong in a folder (dwindle import), which is read piece by piece.
POLARS_MAX_THREADS sets how many threads work on one [default: as many as there are cores].")]
#[command(mut_arg("files", |files| files.required_unless_present("schema")))]
pub struct SqlArgs {
    /// The statement: SELECT or WITH
    #[arg(required = true, value_name = "SQL")]
    pub query: Option<String>,
    /// What to read.
    #[command(flatten)]
    pub input: SourceArgs,
    /// Show the tables, their columns, types and units
    #[arg(long, conflicts_with_all = ["query", "files", "data", "id", "limit", "filters", "since", "until"])]
    pub schema: bool,
    /// A table for people, one JSON array, one JSON object a line, CSV with a header, or Markdown
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Table)]
    pub format: ListFormat,
    /// Rows at most [default: 1000 in a table, all in the other formats]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
}

/// Rows that a table for people has, unless `--limit` says otherwise.
const ROWS: usize = 1000;

/// Rows of files, of all tables, that are held for a statement.
const MOST: usize = 10_000_000;

pub(super) fn run(args: &SqlArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    if args.schema {
        return schema(args.format, printer);
    }
    let plan = Plan::parse(args.query.as_deref().unwrap_or_default())?;
    let selection = Selection::of(&args.input.select, printer)?;
    if let Some(folder) = &args.input.data {
        let data = Data::open(folder, setup, printer)?;
        let selection = selection.of_store(&data, args.input.id.as_deref())?;
        quietly(|| of_store(args, &plan, &data, &selection, printer))?;
        return Ok(data.exit(printer));
    }
    let takes = |request: &Request| selection.takes(request);
    let which: Option<&(dyn Fn(&Request) -> bool + Sync)> = if selection.is_all() {
        None
    } else {
        Some(&takes)
    };
    let builders = Builders::default();
    let held = Held::new(MOST);
    let Analysed { results, exit } =
        input::analysed(&args.input.input(), setup, printer, |trace, analysis| {
            if held.is_full() {
                return Vec::new();
            }
            let (number, mut builder) = builders.take(&plan);
            let added = builder.add_some(trace, analysis, which);
            builders.give_back(number, builder);
            held.add(added.rows());
            vec![(number, added)]
        })?;
    held.fits()?;
    let frames = tables::join(plan.wanted(), builders.all(), &results)?;
    let answer = quietly(|| plan.run(frames, limit(args)))?;
    show(args, &answer, printer)?;
    Ok(exit)
}

fn limit(args: &SqlArgs) -> Option<usize> {
    match args.limit {
        None if args.format == ListFormat::Table => Some(ROWS),
        limit => limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
    }
}

fn of_store(
    args: &SqlArgs,
    plan: &Plan,
    data: &Data,
    selection: &scan::Selection,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if let Some(limit) = limit(args) {
        let answer = data.ask(|snapshot| plan.over(snapshot, selection, limit))?;
        return show(args, &answer, printer);
    }
    let mut stream = data.ask(|snapshot| plan.stream(snapshot, selection))?;
    let headings = stream.headings();
    rows(&headings, stream.by_ref(), args.format, printer)?;
    Ok(stream.finish()?)
}

/// Prints an answer and says what was cut of it.
fn show(args: &SqlArgs, answer: &Answer, printer: &mut Printer) -> anyhow::Result<()> {
    let left_out = print(answer, args.format, printer)?;
    if answer.is_empty() && args.format == ListFormat::Table {
        printer.say("no rows");
    }
    if answer.cut && args.limit.is_none() {
        let note =
            format!("the first {ROWS} rows; --limit N shows more, every other --format shows all");
        printer.say(&note);
    }
    if left_out > 0 {
        let s = if left_out == 1 { "" } else { "s" };
        printer.say(&format!(
            "{left_out} column{s} at the right did not fit; name the columns, widen with --width N, \
             or choose another --format"
        ));
    }
    Ok(())
}

/// Polars panics on some statements, which becomes an error: what would be printed of the panic
/// itself says nothing to whoever wrote the statement.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = work();
    std::panic::set_hook(hook);
    result
}

/// Counts the rows that are held, up to a bound.
#[derive(Debug)]
struct Held {
    rows: AtomicUsize,
    most: usize,
}

impl Held {
    fn new(most: usize) -> Self {
        Self {
            rows: AtomicUsize::new(0),
            most,
        }
    }

    fn add(&self, rows: usize) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Whether no more may be held; what is held then is too much already.
    fn is_full(&self) -> bool {
        self.rows.load(Ordering::Relaxed) > self.most
    }

    fn fits(&self) -> anyhow::Result<()> {
        if self.is_full() {
            anyhow::bail!(
                "the statement needs more than {} rows of these files, and would hold them all in \
                 memory; narrow it with --where, --since or --until, or bring the files into a \
                 folder, which is read piece by piece: `dwindle import FILES --data DIR`, then \
                 `dwindle sql … --data DIR`",
                count(self.most)
            );
        }
        Ok(())
    }
}

/// Builders that threads take turns with: as many as ever worked at once.
#[derive(Debug, Default)]
struct Builders(Mutex<(usize, Vec<(usize, Builder)>)>);

impl Builders {
    fn take(&self, plan: &Plan) -> (usize, Builder) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(builder) = pool.1.pop() {
            return builder;
        }
        pool.0 += 1;
        (pool.0 - 1, Builder::new(plan.wanted()))
    }

    fn give_back(&self, number: usize, builder: Builder) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.1.push((number, builder));
    }

    /// All of them, by number.
    fn all(self) -> Vec<Builder> {
        let (_, mut all) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, builder)| builder).collect()
    }
}

/// Prints an answer; how many columns a table for people had no room for.
fn print(answer: &Answer, format: ListFormat, printer: &mut Printer) -> anyhow::Result<usize> {
    rows(answer.headings(), answer.rows(), format, printer)
}

fn rows(
    headings: &[Heading],
    rows: impl Iterator<Item = Vec<Cell>>,
    format: ListFormat,
    printer: &mut Printer,
) -> anyhow::Result<usize> {
    let json = |row: Vec<Cell>| grid::json(headings, &row);
    match format {
        ListFormat::Table => {
            let rows: Vec<Vec<Cell>> = rows.collect();
            let (lines, left_out) = grid::lines(headings, &rows, printer.look());
            for line in lines {
                printer.line(&line)?;
            }
            return Ok(left_out);
        }
        ListFormat::Ndjson => {
            for row in rows {
                printer.line(&json(row))?;
            }
        }
        ListFormat::Json => printer.array(rows.map(json))?,
        ListFormat::Csv => {
            printer.data(&grid::csv_head(headings))?;
            for row in rows {
                printer.data(&grid::csv_record(headings, &row))?;
            }
        }
        ListFormat::Markdown => {
            for line in grid::markdown_head(headings) {
                printer.line(&line)?;
            }
            for row in rows {
                printer.line(&grid::markdown_row(headings, &row))?;
            }
        }
    }
    Ok(0)
}

/// Prints what the tables hold. Nothing is cut: these are words to be read.
fn schema(format: ListFormat, printer: &mut Printer) -> anyhow::Result<Exit> {
    let heading = |name: &str| Heading {
        name: name.to_owned(),
        is_number: false,
        is_ms: false,
    };
    let text = |text: &str| Cell::Text(text.to_owned());
    if matches!(format, ListFormat::Table | ListFormat::Markdown) {
        for (index, table) in Table::ALL.into_iter().enumerate() {
            if index > 0 {
                printer.line("")?;
            }
            let mark = if format == ListFormat::Markdown {
                "## "
            } else {
                ""
            };
            printer.line(&format!("{mark}{table}"))?;
            printer.line(table.doc())?;
            printer.line("")?;
            columns(table, format, printer)?;
        }
        return Ok(Exit::Done);
    }
    let headings = ["table", "column", "type", "unit", "nullable", "doc"].map(heading);
    let all = Table::ALL.into_iter().flat_map(|table| {
        table.columns().iter().map(move |column| {
            vec![
                text(table.as_str()),
                text(column.name),
                text(column.kind.sql()),
                match column.kind.unit() {
                    "" => Cell::Null,
                    unit => text(unit),
                },
                Cell::Bool(column.nullable),
                text(column.doc),
            ]
        })
    });
    rows(&headings, all, format, printer)?;
    Ok(Exit::Done)
}

fn columns(table: Table, format: ListFormat, printer: &mut Printer) -> anyhow::Result<()> {
    if format == ListFormat::Markdown {
        printer
            .line("| column | type | unit | null | meaning |\n| --- | --- | --- | --- | --- |")?;
    }
    for column in table.columns() {
        let (name, kind, unit) = (column.name, column.kind.sql(), column.kind.unit());
        let null = if column.nullable { "null" } else { "" };
        let doc = column.doc;
        printer.line(&if format == ListFormat::Markdown {
            format!("| `{name}` | {kind} | {unit} | {null} | {doc} |")
        } else {
            format!("  {name:<28} {kind:<9} {unit:<6} {null:<4} {doc}")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_what_to_do() {
        let held = Held::new(1_000);
        held.add(600);
        held.add(400);
        assert!(!held.is_full() && held.fits().is_ok());
        held.add(1);
        assert!(held.is_full());
        let error = held.fits().unwrap_err().to_string();
        assert!(
            error.contains("1,000 rows") && error.contains("import"),
            "{error}"
        );
    }
}
