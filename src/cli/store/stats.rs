//! `dwindle store stats`.

use std::path::Path;

use clap::{Args as ClapArgs, ValueEnum};
use serde_json::{Value, json};

use super::{bytes, counted, number};
use crate::cli::{Exit, Printer};
use crate::model::{Outcome, UnixNanos};
use crate::store::tables::Table;
use crate::store::{Stats, Store};

/// `dwindle store stats`.
#[derive(Debug, ClapArgs)]
pub(super) struct StatsArgs {
    /// A table for people, or one JSON object
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = StatsFormat::Table)]
    format: StatsFormat,
}

/// How `dwindle store stats` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatsFormat {
    /// Columns for people.
    Table,
    /// One JSON object.
    Json,
}

pub(super) fn run(args: &StatsArgs, store: &Store, printer: &mut Printer) -> anyhow::Result<Exit> {
    let stats = store.stats();
    let log = stats.folder.as_deref().map_or(0, log_bytes);
    match args.format {
        StatsFormat::Json => printer.line(&format!("{:#}", object(&stats, log)))?,
        StatsFormat::Table => {
            for line in table(&stats, log) {
                printer.line(&line)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn table(stats: &Stats, log: u64) -> Vec<String> {
    let requests = stats.requests.total();
    let mut lines = Vec::new();
    let mut say = |name: &str, what: &str| lines.push(format!("{name:10} {what}"));
    let folder = stats.folder.as_deref();
    say(
        "data",
        &folder.map_or(String::new(), |f| f.display().to_string()),
    );
    let outcomes = Outcome::ALL.map(|outcome| (outcome, stats.requests.get(outcome)));
    let outcomes = outcomes.iter().filter(|(_, count)| *count > 0);
    let outcomes: Vec<String> = outcomes
        .map(|(outcome, count)| format!("{} {}", number(*count), outcome.as_str()))
        .collect();
    let outcomes = match outcomes.as_slice() {
        [] => String::new(),
        some => format!(": {}", some.join(", ")),
    };
    say("requests", &format!("{}{outcomes}", number(requests)));
    if let (Some(oldest), Some(newest)) = (stats.oldest, stats.newest) {
        let hours = counted(stats.hours, "hour", "hours");
        say(
            "from",
            &format!("{} to {} UTC, {hours}", minute(oldest), minute(newest)),
        );
    }
    let superseded = match stats.superseded {
        0 => String::new(),
        count => format!(
            ", and {} until the next compaction",
            counted(count, "superseded one", "superseded ones")
        ),
    };
    say("traces", &format!("{}{superseded}", number(stats.traces)));
    say("log", &bytes(log));
    lines.push(String::new());
    lines.push(format!("{:10} {:>15} {:>12}", "table", "rows", "bytes"));
    for (table, size) in &stats.tables {
        let rows = number(size.rows);
        lines.push(format!("{table:10} {rows:>15} {:>12}", bytes(size.bytes)));
    }
    let parts = counted(stats.parts, "part", "parts");
    lines.push(format!(
        "{:10} {parts:>15} {:>12}",
        "all",
        bytes(stats.bytes())
    ));
    lines
}

fn object(stats: &Stats, log: u64) -> Value {
    let outcomes = Outcome::ALL.map(|outcome| {
        let count = stats.requests.get(outcome);
        (outcome.as_str().to_owned(), Value::from(count))
    });
    let tables = Table::ALL.map(|table| {
        let size = stats.tables.get(&table).copied().unwrap_or_default();
        let size = json!({ "rows": size.rows, "bytes": size.bytes });
        (table.as_str().to_owned(), size)
    });
    let instant = |at: Option<UnixNanos>| at.map(|at| at.to_string());
    json!({
        "data": stats.folder,
        "generation": stats.generation,
        "parts": stats.parts,
        "hours": stats.hours,
        "oldest": instant(stats.oldest),
        "newest": instant(stats.newest),
        "requests": stats.requests.total(),
        "outcomes": serde_json::Map::from_iter(outcomes),
        "traces": stats.traces,
        "superseded_traces": stats.superseded,
        "bytes": stats.bytes(),
        "tables": serde_json::Map::from_iter(tables),
        "log_bytes": log,
    })
}

/// `2026-10-07 09:15`.
fn minute(at: UnixNanos) -> String {
    let text = at.to_string();
    text.get(..16).unwrap_or_default().replace('T', " ")
}

/// Bytes of the log's files; a server may be at work on them.
fn log_bytes(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder.join(crate::cli::serve::LOG));
    let lengths = files.into_iter().filter_map(|file| {
        let metadata = file.ok()?.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    });
    lengths.sum()
}
