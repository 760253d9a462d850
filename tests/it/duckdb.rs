//! `DuckDB` on the Parquet files of the tables: the same rows, the same answers as our own SQL.
//!
//! `DWINDLE_DUCKDB` names a Python that has `duckdb`; without it the test says "skipped".

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Output};

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Trace, UnixNanos};
use dwindle::otlp::Limits;
use dwindle::query::sql::Plan;
use dwindle::report::grid;
use dwindle::store::parquet;
use dwindle::store::tables::{Builder, Table, Wanted};

use crate::{folder, support};

/// Prints a line of JSON for each statement, over views of the files in a folder.
const PROGRAM: &str = r#"
import duckdb, json, pathlib, sys
db = duckdb.connect()
for file in pathlib.Path(sys.argv[1]).glob("*.parquet"):
    db.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_parquet('{file}')")
for statement in sys.stdin.read().split(";\n"):
    answer = db.execute(statement)
    names = [column[0] for column in answer.description]
    print(json.dumps([dict(zip(names, row)) for row in answer.fetchall()]))
"#;

/// Statements that both engines understand.
const STATEMENTS: &[&str] = &[
    "SELECT outcome, count(*) AS n, sum(elapsed_ms) AS elapsed_ms, sum(wasted_ms) AS wasted_ms
     FROM requests GROUP BY outcome ORDER BY outcome",
    "SELECT service, operation, count(*) AS n, max(local_ms) AS local_ms, sum(wasted_ms) AS wasted_ms
     FROM hops GROUP BY service, operation ORDER BY service, operation",
    r#"SELECT service, "to", kind, verdict, count(*) AS n, count(timeout_ms) AS with_timeout
     FROM calls GROUP BY service, "to", kind, verdict ORDER BY service, "to", kind, verdict"#,
    r#"SELECT service, part, "to", sum(ms) AS ms, sum(after_deadline_ms) AS after_ms
     FROM ledger GROUP BY service, part, "to" ORDER BY service, part, "to" NULLS FIRST"#,
    "SELECT rule, severity, count(*) AS n, sum(count) AS cases FROM findings
     GROUP BY rule, severity ORDER BY rule",
    "SELECT kind, status, count(*) AS n, count(DISTINCT trace_id) AS traces, sum(elapsed_ms) AS elapsed_ms
     FROM spans GROUP BY kind, status ORDER BY kind, status",
    "SELECT count(*) AS n FROM requests WHERE start >= '2026-10-07 09:15:10' AND complete",
    "SELECT r.outcome, count(*) AS n FROM requests r JOIN spans s
     ON r.trace_id = s.trace_id AND r.request = s.request GROUP BY r.outcome ORDER BY r.outcome",
];

#[test]
fn duckdb_reads_the_parquet_files_and_finds_the_same() {
    let Some(python) = std::env::var_os("DWINDLE_DUCKDB") else {
        println!("skipped: DWINDLE_DUCKDB names no Python with duckdb");
        return;
    };
    let inputs: Vec<Input> = support::samples()
        .into_iter()
        .map(Input::from_argument)
        .collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let mut builder = Builder::new(&Wanted::tables(Table::ALL));
    for trace in &loaded.traces {
        let analysis = analyse(trace, &Policy::default(), &Typical::default());
        builder.add(trace, &analysis);
    }
    let frames = builder.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (table, frame) in &frames {
        let file = File::create(folder.path().join(format!("{table}.parquet"))).unwrap();
        parquet::write(*table, frame, file).unwrap();
    }
    let mut statements: Vec<String> = STATEMENTS.iter().map(|text| (*text).to_owned()).collect();
    for (table, frame) in &frames {
        // Every column of every table, by what is in it.
        let counts = frame.get_column_names().into_iter().map(|name| {
            format!("count(\"{name}\") AS \"{name}\", count(DISTINCT \"{name}\") AS \"d_{name}\"")
        });
        let counts: Vec<String> = counts.collect();
        statements.push(format!("SELECT {} FROM {table}", counts.join(", ")));
    }
    let ours = statements.iter().map(|sql| {
        let plan = Plan::parse(sql).unwrap();
        let answer = plan
            .run(frames.clone(), None)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows: Vec<String> = answer
            .rows()
            .map(|row| grid::json(answer.headings(), &row))
            .collect();
        assert!(!rows.is_empty(), "{sql}");
        rows
    });
    let ours: Vec<Vec<String>> = ours.collect();
    let theirs = ask(&python, folder.path(), &statements.join(";\n"));
    assert_eq!(theirs.len(), ours.len());
    for ((sql, ours), theirs) in statements.iter().zip(&ours).zip(&theirs) {
        let read = |text: &String| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let ours: Vec<serde_json::Value> = ours.iter().map(read).map(rounded).collect();
        let theirs: Vec<serde_json::Value> = theirs.iter().cloned().map(rounded).collect();
        assert_eq!(ours, theirs, "{sql}");
    }
}

fn ask(
    python: &std::ffi::OsStr,
    folder: &std::path::Path,
    statements: &str,
) -> Vec<Vec<serde_json::Value>> {
    let input = folder.join("statements.sql");
    std::fs::write(&input, statements).unwrap();
    let output = Command::new(python)
        .args(["-c", PROGRAM])
        .arg(folder)
        .stdin(File::open(&input).unwrap())
        .output();
    answers(output.unwrap())
}

/// What it printed, a value a line.
fn answers<T: serde::de::DeserializeOwned>(output: Output) -> Vec<T> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Numbers to a microsecond: the order in which sums are made is each engine's own.
fn rounded(mut row: serde_json::Value) -> serde_json::Value {
    for value in row.as_object_mut().unwrap().values_mut() {
        if let Some(number) = value.as_f64() {
            *value = ((number * 1000.0).round() / 1000.0).into();
        }
    }
    row
}

/// Prints a line of JSON for each table of a store, read with a plain glob: all rows, and those of
/// each date and hour. With `newest` after the folder, requests without superseded revisions.
const OF_STORE: &str = r#"
import duckdb, json, sys
db = duckdb.connect()
newest = "QUALIFY revision = max(revision) OVER (PARTITION BY trace_id, request)"
for table in ["requests", "hops", "calls", "ledger", "findings", "spans"]:
    files = f"read_parquet('{sys.argv[1]}/{table}/**/*.parquet', hive_partitioning = true)"
    rows = f"SELECT * FROM {files}"
    if table == "requests" and sys.argv[2:] == ["newest"]:
        rows += " " + newest
    db.execute(f"CREATE OR REPLACE TEMP TABLE of_store AS {rows}")
    # The partition is the hour in which the request starts.
    if table != "spans":
        wrong = "strftime(start, '%Y-%m-%d %H') <> strftime(date, '%Y-%m-%d ') || lpad(hour::VARCHAR, 2, '0')"
        assert db.execute(f"SELECT count(*) FROM of_store WHERE {wrong}").fetchone() == (0,), table
    hours = db.execute("""SELECT strftime(date, '%Y-%m-%dT') || lpad(hour::VARCHAR, 2, '0'), count(*)
        FROM of_store GROUP BY ALL ORDER BY ALL""").fetchall()
    print(json.dumps(dict(hours)))
"#;

#[test]
fn duckdb_reads_the_folder_of_a_store_and_finds_the_same() {
    let Some(python) = std::env::var_os("DWINDLE_DUCKDB") else {
        println!("skipped: DWINDLE_DUCKDB names no Python with duckdb");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let store = folder::open(folder.path());
    let inputs: Vec<Input> = support::samples()
        .into_iter()
        .map(Input::from_argument)
        .collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    // The samples in the hour they have, in the one after it, and so on.
    for hour in 0..4 {
        for trace in &loaded.traces {
            store.put(folder::stored(moved(trace, hour), 1));
        }
    }
    store.flush().unwrap();
    for (hour, trace) in loaded.traces.iter().enumerate().take(9) {
        store.put(folder::stored(moved(trace, hour as u64 % 4), 2));
    }
    assert_eq!(store.flush().unwrap().superseded, 9);
    let ask = |arguments: &[&str]| of_store(&python, folder.path(), arguments);
    let snapshot = store.snapshot();
    let hours = snapshot.hours().into_iter();
    let ours: BTreeMap<String, u64> = hours
        .map(|(hour, of)| {
            (
                hour.to_string().split(':').next().unwrap().to_owned(),
                of.total(),
            )
        })
        .collect();
    assert!(ours.len() > 3);
    assert_eq!(
        ask(&["newest"])[0],
        ours,
        "requests before parts are merged"
    );
    assert_ne!(ask(&[])[0], ours, "superseded rows are there until then");
    drop(snapshot);
    store.compact(None).unwrap();
    let theirs = ask(&[]);
    assert_eq!(theirs[0], ours);
    for (table, theirs) in Table::ALL.into_iter().zip(theirs) {
        let rows = folder::height(&store.snapshot(), table) as u64;
        assert!(rows > 0);
        assert_eq!(theirs.values().sum::<u64>(), rows, "{table}");
        assert!(theirs.keys().all(|hour| ours.contains_key(hour)), "{table}");
    }
}

/// A trace some hours later, under an id of its own.
fn moved(trace: &Trace, hours: u64) -> Trace {
    let mut trace = trace.clone();
    let later = |at: UnixNanos| UnixNanos(at.0 + hours * folder::HOUR);
    trace.id.0[15] ^= hours as u8;
    for span in &mut trace.spans {
        span.trace_id = trace.id;
        (span.start, span.end) = (later(span.start), later(span.end));
        for event in &mut span.events {
            event.time = later(event.time);
        }
    }
    for log in &mut trace.logs {
        log.trace_id = trace.id;
        log.time = later(log.time);
    }
    trace
}

fn of_store(
    python: &std::ffi::OsStr,
    folder: &std::path::Path,
    arguments: &[&str],
) -> Vec<BTreeMap<String, u64>> {
    let output = Command::new(python)
        .args(["-c", OF_STORE])
        .arg(folder)
        .args(arguments)
        .output();
    answers(output.unwrap())
}
