//! `dwindle sql`: what statements give, what is refused, and how it is said.

use std::path::{Path, PathBuf};
use std::process::Output;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::otlp::Limits;
use dwindle::query::sql::{Plan, SqlError};
use dwindle::store::parquet;
use dwindle::store::tables::{Builder, Table};
use serde_json::{Value, json};

use crate::support;

fn samples() -> Vec<String> {
    let paths = support::samples();
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn sql(statement: &str, more: &[&str]) -> Output {
    let samples = samples();
    let mut args = vec!["sql", statement];
    args.extend(samples.iter().map(String::as_str));
    args.extend(more);
    support::run(&args)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The rows over the sample traces.
fn rows(statement: &str) -> Vec<Value> {
    let output = sql(statement, &["--format", "json"]);
    assert_eq!(text(&output.stderr), "", "{statement}");
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(statement: &str) -> String {
    let output = sql(statement, &[]);
    assert_eq!(output.status.code(), Some(2), "{statement}");
    assert_eq!(text(&output.stdout), "", "{statement}");
    text(&output.stderr).to_owned()
}

/// The samples as one Parquet file.
fn parquet_of_samples(folder: &Path) -> PathBuf {
    let path = folder.join("samples.parquet");
    let samples = samples();
    let mut args = vec!["convert", "-o", path.to_str().unwrap()];
    args.extend(samples.iter().map(String::as_str));
    let output = support::run(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("spans (Parquet, the table `spans`)"),
        "{said}"
    );
    path
}

/// Worked out by hand from `tests/samples/expected.txt` and the samples' spans.
#[test]
fn statements_give_what_was_worked_out_by_hand() {
    assert_eq!(
        rows(
            "SELECT outcome, count(*) AS n FROM requests GROUP BY outcome ORDER BY n DESC, outcome"
        ),
        [
            json!({"outcome": "missed", "n": 11}),
            json!({"outcome": "met", "n": 8}),
            json!({"outcome": "cancelled", "n": 1}),
            json!({"outcome": "failed", "n": 1}),
            json!({"outcome": "no_budget", "n": 1}),
        ]
    );
    // 01-fixed-timeouts: four hops of 1000, 1103 … ms; pricing had 497 of 1000 left.
    let chain = "FROM requests WHERE operation = 'POST /orders' AND wasted_ms > 900";
    assert_eq!(
        rows(&format!(
            "SELECT elapsed_ms, budget_ms, wasted_ms, budget_source_how AS how, culprit_service,
             culprit_part, culprit_consumed_ms, culprit_share, surfaced_service {chain}"
        )),
        [json!({
            "elapsed_ms": 1000.0, "budget_ms": 1000.0, "wasted_ms": 915.0, "how": "observed",
            "culprit_service": "pricing", "culprit_part": "local", "culprit_consumed_ms": 497.0,
            "culprit_share": 0.497, "surfaced_service": "client"
        })]
    );
    let of_chain = format!("trace_id IN (SELECT trace_id {chain})");
    assert_eq!(
        rows(&format!(
            "SELECT service, remaining_in_ms, verdict FROM hops WHERE {of_chain} ORDER BY id"
        )),
        [
            json!({"service": "client", "remaining_in_ms": 1000.0, "verdict": "exceeded_downstream"}),
            json!({"service": "orders", "remaining_in_ms": 999.0, "verdict": "finished_late"}),
            json!({"service": "inventory", "remaining_in_ms": 798.0, "verdict": "finished_late"}),
            json!({"service": "pricing", "remaining_in_ms": 497.0, "verdict": "finished_late"}),
        ]
    );
    // 200 + 300 + 497 of its own, and 1 on the way to each.
    assert_eq!(
        rows(&format!(
            "SELECT part, count(*) AS n, sum(ms) AS ms FROM ledger WHERE {of_chain}
             GROUP BY part ORDER BY ms"
        )),
        [
            json!({"part": "transit_out", "n": 3, "ms": 3.0}),
            json!({"part": "local", "n": 3, "ms": 997.0}),
        ]
    );
    assert_eq!(
        rows(&format!(
            "SELECT f.rule, f.service, f.to, f.severity FROM findings f
             WHERE {of_chain} AND f.rule = 'inverted_timeout' ORDER BY f.service"
        )),
        [
            json!({"rule": "inverted_timeout", "service": "inventory", "to": "pricing", "severity": "error"}),
            json!({"rule": "inverted_timeout", "service": "orders", "to": "inventory", "severity": "error"}),
        ]
    );
}

#[test]
fn every_table_counts_what_the_analysis_holds() {
    let mut expected = [0_usize; 6];
    let inputs: Vec<Input> = samples().iter().map(Input::from_argument).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    for trace in &loaded.traces {
        expected[5] += trace.spans.len();
        for request in analyse(trace, &Policy::default(), &Typical::default()).requests {
            expected[0] += 1;
            expected[1] += request.hops.len();
            expected[2] += request
                .hops
                .iter()
                .map(|hop| hop.calls.len())
                .sum::<usize>();
            expected[3] += request.ledger.len();
            expected[4] += request.findings.len();
        }
    }
    for (table, expected) in Table::ALL.into_iter().zip(expected) {
        let found = rows(&format!("SELECT count(*) AS n FROM {table}"));
        assert_eq!(found, [json!({ "n": expected })], "{table}");
    }
}

/// The same trace files in Parquet: every command gives the same.
#[test]
fn parquet_files_are_read_like_any_trace_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = parquet_of_samples(folder.path()).display().to_string();
    let samples = samples();
    for command in [
        &["traces", "--format", "json"][..],
        &["trace", "--format", "json"],
        &[
            "sql",
            "SELECT * FROM spans ORDER BY trace_id, span_id",
            "--format",
            "csv",
        ],
    ] {
        let run = |files: &[&str]| {
            let args: Vec<&str> = command.iter().chain(files).copied().collect();
            let output = support::run(&args);
            assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
            String::from_utf8(output.stdout).unwrap()
        };
        let plain: Vec<&str> = samples.iter().map(String::as_str).collect();
        let wanted = run(&plain);
        assert!(wanted.len() > 1000);
        assert_eq!(run(&[&path]), wanted, "{command:?}");
        assert_eq!(
            run(&[&folder.path().display().to_string()]),
            wanted,
            "{command:?}"
        );
    }
}

#[test]
fn parquet_comes_through_pipes_and_out_of_compression() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let path = parquet_of_samples(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    let packed = folder.path().join("x.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    std::fs::write(&packed, gzip.finish().unwrap()).unwrap();
    let count = ["sql", "SELECT count(*) FROM spans", "--format", "csv"];
    let run = |file: &str, stdin: std::process::Stdio| {
        let output = support::dwindle()
            .args(count)
            .arg(file)
            .stdin(stdin)
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout).to_owned()
    };
    let direct = run(path.to_str().unwrap(), std::process::Stdio::null());
    assert!(direct.starts_with("count\r\n"));
    assert_eq!(
        run(packed.to_str().unwrap(), std::process::Stdio::null()),
        direct
    );
    let file = std::fs::File::open(&path).unwrap();
    assert_eq!(run("-", file.into()), direct);
}

#[test]
fn what_is_wrong_with_a_parquet_file_is_said_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let good = parquet_of_samples(folder.path());
    let bytes = std::fs::read(&good).unwrap();
    let bad = folder.path().join("bad.parquet");
    let run = || {
        let output = support::run(&["traces", bad.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).to_owned()
    };
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    std::fs::write(&bad, flipped).unwrap();
    let said = run();
    assert!(
        said.contains("bad.parquet: is a damaged Parquet file: its checksum does not match"),
        "{said}"
    );
    std::fs::write(&bad, &bytes[..bytes.len() / 2]).unwrap();
    let said = run();
    assert!(
        said.contains("bad.parquet: is a Parquet file that is cut off"),
        "{said}"
    );

    // Beside good files in a folder another table is passed over; a broken file never is.
    let hops = Plan::parse("SELECT * FROM hops").unwrap();
    let frames = Builder::new(hops.wanted()).finish().unwrap();
    let table = parquet::write(Table::Hops, &frames[0].1, Vec::new()).unwrap();
    std::fs::write(&bad, table).unwrap();
    let output = support::run(&["traces", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stderr).contains("passed over")
            && text(&output.stderr).contains("holds the table `hops`")
    );
}

/// OTLP → Parquet → OTLP: the same bytes as without the way round, log records included.
#[test]
fn converting_to_parquet_and_back_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let logs = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"7",
        "traceId":"TRACE","spanId":"SPAN","body":{"stringValue":"deadline exceeded"},
        "attributes":[{"key":"deadline.remaining_in_ms","value":{"intValue":"400"}}]}]}]}]}"#;
    let first = rows("SELECT trace_id, span_id FROM spans LIMIT 1").remove(0);
    let id = |key: &str| first[key].as_str().unwrap().to_owned();
    let logs = logs
        .replace("TRACE", &id("trace_id"))
        .replace("SPAN", &id("span_id"));
    std::fs::write(at("logs.json"), logs).unwrap();
    let convert = |inputs: &[String], out: &str| {
        let mut args = vec!["convert", "-o", out];
        args.extend(inputs.iter().map(String::as_str));
        let output = support::run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    let inputs: Vec<String> = samples().into_iter().chain([at("logs.json")]).collect();
    convert(&inputs, &at("direct.ndjson"));
    convert(&inputs, &at("way.parquet"));
    convert(&[at("way.parquet")], &at("round.ndjson"));
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert!(read("direct.ndjson").contains("deadline exceeded"));
    assert_eq!(read("round.ndjson"), read("direct.ndjson"));
}

#[test]
fn statements_that_do_not_only_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = parquet_of_samples(folder.path()).display().to_string();
    for statement in [
        "DROP TABLE requests",
        "DELETE FROM requests",
        "TRUNCATE TABLE requests",
        "CREATE TABLE x AS SELECT * FROM requests",
        "INSERT INTO requests VALUES (1)",
        "UPDATE requests SET service = 'a'",
        "WITH x AS (SELECT 1) DELETE FROM requests",
        "EXPLAIN SELECT 1",
        "SHOW TABLES",
        "SELECT 1 INTO x FROM requests",
        "COPY requests TO 'x.csv'",
        "SET a = 1",
    ] {
        let said = refused(statement);
        assert!(
            said.contains("does not only read") || said.contains("not SQL"),
            "{statement}: {said}"
        );
    }
    for statement in [
        format!("SELECT * FROM read_parquet('{file}')"),
        format!("SELECT * FROM READ_PARQUET('{file}') AS t"),
        format!("SELECT * FROM requests, read_parquet('{file}')"),
        format!("SELECT * FROM requests JOIN read_parquet('{file}') USING (trace_id)"),
        format!("SELECT * FROM (SELECT * FROM read_parquet('{file}')) t"),
        format!(
            "SELECT * FROM requests WHERE trace_id IN (SELECT trace_id FROM read_parquet('{file}'))"
        ),
        format!("WITH x AS (SELECT * FROM read_parquet('{file}')) SELECT * FROM x"),
        format!("SELECT 1 UNION ALL SELECT spans FROM read_parquet('{file}')"),
        format!("SELECT * FROM TABLE(read_parquet('{file}'))"),
        format!("SELECT * FROM (requests JOIN read_parquet('{file}') USING (trace_id))"),
        "SELECT * FROM read_csv('/etc/passwd')".to_owned(),
    ] {
        let said = refused(&statement);
        assert!(said.contains("cannot be read from"), "{statement}: {said}");
    }
    // A path is no table either.
    let said = refused(&format!("SELECT * FROM '{file}'"));
    assert!(said.contains("there is no table"), "{said}");
}

#[test]
fn errors_say_what_to_do_next() {
    let said = refused("SELECT elapsd_ms FROM requests");
    assert!(
        said.contains(
            "there is no column `elapsd_ms` (did you mean `elapsed_ms`?); `requests` has trace_id"
        ),
        "{said}"
    );
    let said = refused("SELECT r.nothing_like_it FROM requests r");
    assert!(
        said.contains("no column `nothing_like_it`; `requests` has"),
        "{said}"
    );
    let said = refused("SELECT * FROM hop");
    assert!(
        said.contains(
            "there is no table `hop` (did you mean `hops`?); the tables are requests, hops"
        ),
        "{said}"
    );
    let said = refused("SELECT * FROM requests\nWHERE (");
    assert!(
        said.contains("not SQL at line 2, column 8") || said.contains("not SQL: "),
        "{said}"
    );
    let said = refused("SELECT averag(elapsed_ms) FROM requests");
    assert!(said.contains("there is no function `averag`"), "{said}");
    assert!(refused("  ").contains("there is no statement"));
    assert!(refused("SELECT 1; SELECT 2").contains("there are 2 statements"));
    let said = refused("SELECT service FROM requests ORDER BY 0");
    assert!(
        said.starts_with("error: ") && said.lines().count() == 1,
        "{said}"
    );
    // `count(*)` is called `count`, here and where its name is taken.
    for statement in [
        "SELECT count(*), count(*) FROM requests",
        "SELECT count(*) FROM (SELECT count(*), count(*) FROM requests) x",
    ] {
        let said = refused(statement);
        let wanted = "two columns would be named `count`; name one of them yourself with AS, such as `count(*) AS n`";
        assert!(said.contains(wanted), "{said}");
    }
    let said = refused("SELECT service, max(elapsed_ms), min(elapsed_ms), service FROM requests");
    assert!(said.contains("two columns would be named `"), "{said}");
    let said = refused("SELECT count(*) FROM requests HAVING count(*) > 1");
    assert!(said.lines().count() == 1, "{said}");
}

/// Polars unwraps what its parser lets through; whatever comes, there is an answer or an error.
#[test]
fn what_is_counted_is_named_so() {
    let names = |statement: &str| -> Vec<String> {
        let output = sql(statement, &["--format", "csv"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let head = text(&output.stdout).lines().next().unwrap();
        head.split(',').map(str::to_owned).collect()
    };
    assert_eq!(
        names("SELECT outcome, count(*) FROM requests GROUP BY outcome"),
        ["outcome", "count"]
    );
    assert_eq!(
        names("(SELECT COUNT(*) FROM hops) UNION ALL (SELECT count(*) FROM calls)"),
        ["count"]
    );
    // A name of one's own stays, and so does one that is taken.
    assert_eq!(names("SELECT count(*) AS len FROM hops"), ["len"]);
    assert_eq!(
        names("SELECT count(*), max(elapsed_ms) AS count FROM hops"),
        ["len", "count"]
    );
}

#[test]
fn odd_statements_never_end_in_a_panic() {
    let odd = [
        "SELECT * FROM requests ORDER BY 99",
        "SELECT * FROM requests ORDER BY 0",
        "SELECT * FROM requests LIMIT -1",
        "SELECT * FROM requests LIMIT 'a'",
        "SELECT * FROM requests OFFSET 99999999999999999999",
        "SELECT ''::int FROM requests",
        "SELECT substr(service, -5, -5) FROM requests",
        "SELECT left(service, -999999999999) FROM requests",
        "SELECT round(elapsed_ms, -400) FROM requests",
        "SELECT elapsed_ms / 0, 1 % 0 FROM requests",
        "SELECT CAST(start AS DATE) FROM requests",
        "SELECT CAST(start AS TIME) FROM requests",
        "SELECT start AT TIME ZONE 'Europe/Berlin' FROM requests",
        "SELECT start + INTERVAL '1 month' FROM requests",
        "SELECT EXTRACT(epoch FROM start), EXTRACT(isoyear FROM start) FROM requests",
        "SELECT timestamp(start) FROM requests",
        "SELECT service ~ '(' FROM requests",
        "SELECT quantile_cont(elapsed_ms, 7) FROM requests",
        "SELECT array_get(array_agg(service), 99) FROM requests",
        "SELECT sum(service) OVER (ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM requests",
        "SELECT * FROM requests TABLESAMPLE (10 PERCENT)",
        "SELECT * FROM requests PIVOT (sum(elapsed_ms) FOR outcome IN ('met'))",
        "SELECT * FROM UNNEST(ARRAY[1,2]) AS t(x)",
        "SELECT * FROM UNNEST(ARRAY[1,2])",
        "SELECT * FROM requests NATURAL JOIN hops",
        "SELECT * FROM requests CROSS JOIN requests",
        "SELECT * FROM requests r FULL OUTER JOIN hops h ON r.elapsed_ms > h.elapsed_ms",
        "SELECT (SELECT 1), EXISTS (SELECT 1) FROM requests",
        "SELECT * FROM requests WHERE service LIKE 5",
        "SELECT DISTINCT ON (service) * FROM requests",
        "SELECT * EXCLUDE (service) FROM requests",
        "SELECT a.b.c.d FROM requests",
        "SELECT {'a': 1} FROM requests",
        "SELECT X'00', N'a', 1e400, 99999999999999999999999999 FROM requests",
        "SELECT 'a' || 1 || NULL FROM requests",
        "SELECT CASE WHEN true THEN 1 ELSE 'a' END FROM requests",
        "VALUES (1), (2, 3)",
        "SELECT",
        "SELECT *",
        "SELECT count(*)",
        "FROM requests",
        "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT * FROM x) SELECT * FROM x",
        "WITH requests AS (SELECT 1 AS a) SELECT * FROM requests",
        "SELECT \u{0} FROM requests",
        "SELECT '\u{1F600}' FROM \"requests\"",
    ];
    let inputs: Vec<Input> = samples().iter().take(2).map(Input::from_argument).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let (mut answers, mut broken) = (0, Vec::new());
    for statement in odd {
        let Ok(plan) = Plan::parse(statement) else {
            continue;
        };
        let mut builder = Builder::new(plan.wanted());
        for trace in &loaded.traces {
            builder.add(
                trace,
                &analyse(trace, &Policy::default(), &Typical::default()),
            );
        }
        match plan.run(builder.finish().unwrap(), Some(100)) {
            Ok(answer) => {
                answers += 1;
                assert!(
                    answer
                        .rows()
                        .all(|row| row.len() == answer.headings().len())
                );
            }
            Err(SqlError::Unsupported(why)) => broken.push(format!("{statement}: {why}")),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(answers >= 10, "{answers}");
    println!("caught: {broken:#?}");
}

#[test]
fn nesting_without_end_is_an_error() {
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(matches!(Plan::parse(&deep), Err(SqlError::Syntax { .. })));
    let wide = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(2000));
    // Whatever Polars makes of it.
    let plan = Plan::parse(&wide);
    assert!(plan.is_ok() || matches!(plan, Err(SqlError::Syntax { .. })));
}

#[test]
fn only_what_a_statement_names_is_built() {
    let columns = |sql: &str| {
        let frames = Builder::new(Plan::parse(sql).unwrap().wanted())
            .finish()
            .unwrap();
        let names = frames
            .iter()
            .map(|(table, frame)| (table.as_str(), frame.width()));
        names.collect::<Vec<_>>()
    };
    let all = |table: Table| (table.as_str(), table.columns().len());
    assert_eq!(columns("SELECT count(*) FROM spans"), [("spans", 1)]);
    // The word `hops` is a column of `requests` too: a few too many are built, never too few.
    assert_eq!(
        columns(
            "SELECT h.service FROM hops h JOIN requests USING (trace_id) WHERE outcome = 'met'"
        ),
        [("requests", 4), ("hops", 2)]
    );
    assert_eq!(columns("SELECT * FROM hops"), [all(Table::Hops)]);
    assert_eq!(columns("SELECT h.* FROM hops h"), [all(Table::Hops)]);
    assert_eq!(
        columns("SELECT COLUMNS('_ms') FROM calls"),
        [all(Table::Calls)]
    );
    assert_eq!(
        columns("SELECT a FROM (SELECT *, 1 AS a FROM calls) t"),
        [all(Table::Calls)]
    );
    assert_eq!(columns("SELECT 1"), []);
}

#[test]
fn the_filter_and_the_window_apply_to_sql() {
    let count = |more: &[&str]| {
        let args = [more, &["--format", "csv"]].concat();
        let output = sql("SELECT count(*) AS n FROM requests", &args);
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout)
            .trim_start_matches("n\r\n")
            .trim()
            .parse::<u64>()
            .unwrap()
    };
    assert_eq!(count(&["--where", "outcome=missed"]), 11);
    assert_eq!(
        count(&[
            "--where",
            "outcome=missed",
            "--where",
            "culprit.service=pricing"
        ]),
        count(&["-w", "outcome=missed and culprit.service=pricing"])
    );
    assert_eq!(count(&["--until", "2026-10-07T09:15:00Z"]), 0);
    // Spans of requests that are left out are left out.
    let output = sql(
        "SELECT count(*) AS n FROM spans s ANTI JOIN requests r ON s.request = r.request",
        &["--where", "outcome=missed", "--format", "csv"],
    );
    assert_eq!(
        text(&output.stdout),
        "n\r\n0\r\n",
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn formats_are_what_they_say() {
    let statement = "SELECT service, to, round(sum(ms), 1) AS ms FROM ledger
        WHERE part = 'dependency' GROUP BY service, to ORDER BY service, to LIMIT 3";
    for format in ["table", "json", "ndjson", "csv", "markdown"] {
        let output = sql(statement, &["--format", format]);
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
        insta::assert_snapshot!(format!("sql-{format}"), text(&output.stdout));
    }
}

#[test]
fn what_a_limit_or_the_width_cuts_is_said() {
    let cross = "SELECT a.service FROM spans a, spans b";
    let output = sql(cross, &[]);
    assert_eq!(text(&output.stdout).lines().count(), 1001);
    assert!(text(&output.stderr).contains("the first 1000 rows; --limit N shows more"));
    let output = sql(cross, &["--limit", "7", "--format", "csv"]);
    assert_eq!(
        (text(&output.stdout).lines().count(), text(&output.stderr)),
        (8, "")
    );
    let output = sql("SELECT * FROM hops", &[]);
    assert!(text(&output.stderr).contains("columns at the right did not fit"));
    assert!(
        text(&output.stdout)
            .lines()
            .all(|line| line.chars().count() <= 100)
    );
    let output = sql(
        "SELECT * FROM hops WHERE service = 'nobody'",
        &["--width", "2000"],
    );
    assert_eq!(text(&output.stderr), "no rows\n");
}

#[test]
fn the_schema_documents_every_column() {
    let run = |format| {
        let output = support::run(&["sql", "--schema", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let listed: Vec<Value> = serde_json::from_str(&run("json")).unwrap();
    let columns: usize = Table::ALL.iter().map(|table| table.columns().len()).sum();
    assert_eq!(listed.len(), columns);
    insta::assert_snapshot!("sql-schema", run("table"));
    assert!(run("markdown").contains("| `elapsed_ms` | DOUBLE | ms |"));
}
