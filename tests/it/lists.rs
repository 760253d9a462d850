//! Lists over many requests, as people and scripts ask for them: filter, order, limit, formats.

use std::process::Output;

use serde_json::Value;

use crate::support;

/// The command over all samples.
fn over_samples(command: &str, args: &[&str]) -> Output {
    support::dwindle()
        .arg(command)
        .args(support::samples())
        .args(args)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn rows(command: &str, args: &[&str]) -> Vec<Value> {
    let args = [args, &["--format", "ndjson"]].concat();
    let output = over_samples(command, &args);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let lines = out(&output);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn requests_are_chosen_by_an_expression() {
    let all = rows("traces", &[]);
    let missed = rows("traces", &["-w", "outcome=missed and wasted > 200ms"]);
    let expected: Vec<&Value> = all
        .iter()
        .filter(|one| one["outcome"] == "missed" && one["wasted_ms"].as_f64() > Some(200.0))
        .collect();
    assert!(expected.len() > 2 && expected.len() < all.len());
    assert_eq!(missed.iter().collect::<Vec<_>>(), expected);
    // Given twice, both must hold.
    let twice = ["--where", "outcome=missed", "--where", "wasted > 200ms"];
    assert_eq!(rows("traces", &twice), missed);
    // `trace` draws the same ones.
    let drawn = over_samples(
        "trace",
        &[
            "--format",
            "json",
            "-w",
            "outcome=missed and wasted > 200ms",
        ],
    );
    assert_eq!(out(&drawn).lines().count(), missed.len());
}

#[test]
fn an_expression_that_is_none_is_marked_and_reads_nothing() {
    let output = support::run(&[
        "traces",
        "no-such-file.json",
        "-w",
        "outcome=mised and wasted > 1ms",
    ]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""));
    assert_eq!(
        err(&output),
        "error: --where: `outcome` is never `mised`; is it `missed`?\n\
         \x20 outcome=mised and wasted > 1ms\n\
         \x20         ^^^^^\n"
    );
}

#[test]
fn lists_are_sorted_and_cut_and_say_so() {
    let wasted = |rows: &[Value]| -> Vec<f64> {
        rows.iter()
            .map(|row| row["wasted_ms"].as_f64().unwrap())
            .collect()
    };
    let all = wasted(&rows("traces", &["--sort", "wasted"]));
    assert!(all.is_sorted() && all.len() > 20 && all.last() > Some(&0.0));
    let mut down = all.clone();
    down.reverse();
    for order in ["-wasted", "wasted:desc", "wasted_ms:desc"] {
        assert_eq!(wasted(&rows("traces", &["--sort", order])), down, "{order}");
    }
    let output = over_samples(
        "traces",
        &["--sort", "-wasted", "--limit", "3", "--format", "ndjson"],
    );
    assert_eq!(out(&output).lines().count(), 3);
    assert_eq!(
        err(&output),
        format!("3 of {} shown; --limit asked for no more\n", all.len())
    );
    let output = over_samples("traces", &["--limit", "1000", "--format", "ndjson"]);
    assert_eq!(err(&output), "");
    let output = over_samples("traces", &["--sort", "wastd"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("is it `wasted`?"), "{}", err(&output));
}

#[test]
fn a_window_of_time_takes_its_start_and_not_its_end() {
    let all = rows("traces", &[]);
    let start = |row: &Value| row["start"].as_str().unwrap().to_owned();
    let (from, to) = (start(&all[3]), start(&all[7]));
    let some = rows("traces", &["--since", &from, "--until", &to]);
    let expected: Vec<&Value> = all
        .iter()
        .filter(|one| start(one) >= from && start(one) < to)
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(some.iter().collect::<Vec<_>>(), expected);
    // A duration counts back from now, with or without its sign.
    for since in ["1000000h", "-1000000h"] {
        assert_eq!(rows("traces", &["--since", since]), all);
        assert_eq!(rows("traces", &["--until", since]), Vec::<Value>::new());
    }
    let output = over_samples("traces", &["--since", &to, "--until", &from]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("nothing lies between"),
        "{}",
        err(&output)
    );
    let output = over_samples("traces", &["--until", "1980-01-01"]);
    assert!(err(&output).contains("none of the"), "{}", err(&output));
}

#[test]
fn a_markdown_list_has_the_same_rows() {
    let output = over_samples("traces", &["--format", "markdown", "-w", "outcome=missed"]);
    let text = out(&output);
    assert_eq!(
        text.lines().count(),
        2 + rows("traces", &["-w", "outcome=missed"]).len()
    );
    assert!(
        text.starts_with("| start, UTC | trace | service |"),
        "{text}"
    );
    let columns = |line: &str| line.matches('|').count() - line.matches("\\|").count();
    assert!(text.lines().all(|line| columns(line) == 12), "{text}");
}

#[test]
fn the_language_is_explained_with_every_field() {
    let output = support::run(&["filter"]);
    insta::assert_snapshot!("filter", out(&output));
    let output = support::run(&["filter", "--format", "ndjson"]);
    let fields = out(&output);
    assert_eq!(
        fields.lines().count(),
        dwindle::query::filter::fields().len()
    );
}
