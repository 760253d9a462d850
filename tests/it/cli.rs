//! The command as people and scripts meet it: exit codes, streams, colours, formats, ids.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{code, dwindle, root, run, stderr, stdout};

fn sample(name: &str) -> String {
    root()
        .join("sample-traces")
        .join(name)
        .display()
        .to_string()
}

fn all_samples() -> Vec<String> {
    crate::support::samples()
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

/// A sample's document on one line.
fn one_line(name: &str) -> String {
    let text = std::fs::read_to_string(sample(name)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    document.to_string()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn piped(args: &[&str], input: &[u8]) -> Output {
    let mut child = dwindle()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn samples_are_drawn_as_they_were() {
    for name in [
        "01-fixed-timeouts",
        "03-checkout-fan-out",
        "06-retries-ignore-budget",
        "13-cancelled-by-caller",
        "16-unreported-callee",
        "17-handed-over",
        "19-missing-root",
    ] {
        let output = run(&["trace", &sample(&format!("{name}.json"))]);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        insta::assert_snapshot!(name, stdout(&output));
    }
}

#[test]
fn the_list_of_all_samples() {
    let files = all_samples();
    let args: Vec<&str> = ["traces", "--width", "140"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let output = run(&args);
    assert_eq!(code(&output), 0);
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn lists_do_not_depend_on_the_order_of_the_files() {
    let mut files = all_samples();
    let print = |files: &[String]| {
        let args: Vec<&str> = ["traces", "--format", "ndjson"]
            .into_iter()
            .chain(files.iter().map(String::as_str))
            .collect();
        run(&args).stdout
    };
    let forward = print(&files);
    files.reverse();
    assert_eq!(forward, print(&files));
    assert!(forward.len() > 10_000);
}

#[test]
fn usage_mistakes_end_with_2_and_help_with_0() {
    for args in [
        &[][..],
        &["trace"],
        &["trace", "--nonsense"],
        &["trace", "x.json", "--id", "12g4"],
        &["trace", "x.json", "--id", "123"],
        &["traces", "x.json", "--format", "xml"],
        &["traces", "x.json", "--width", "3"],
        &["traces", "-", "-"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(!stderr(&output).is_empty(), "{args:?}");
    }
    for command in ["trace", "traces", "convert", "serve"] {
        let output = run(&[command, "--help"]);
        assert_eq!(code(&output), 0);
        assert!(
            stdout(&output).contains(&format!("  dwindle {command} ")),
            "{command}"
        );
        assert!(stdout(&output).contains("Examples:"), "{command}");
        assert_eq!(stderr(&output), "");
    }
}

#[test]
fn a_bad_line_costs_itself_only() {
    let folder = tempfile::tempdir().unwrap();
    let text = [
        one_line("01-fixed-timeouts.json"),
        "{\"resourceSpans\": [oops".to_owned(),
        one_line("12-no-reserve.json"),
    ]
    .join("\n");
    let path = write(folder.path(), "mixed.ndjson", &text);
    let path = path.to_str().unwrap();
    for command in ["trace", "traces"] {
        let output = run(&[command, path, "--format", "json"]);
        assert_eq!(code(&output), 2, "{command}");
        assert!(
            stdout(&output).contains("\"service\":\"client\""),
            "{command}"
        );
        assert!(
            stdout(&output).contains("\"service\":\"edge\""),
            "{command}"
        );
        let problem = stderr(&output);
        assert!(problem.starts_with(&format!("{path}:2:")), "{problem}");
        assert_eq!(problem.lines().count(), 1, "{problem}");
    }
}

#[test]
fn a_missing_file_costs_itself_only() {
    let output = run(&["traces", "no-such-file.json", &sample("12-no-reserve.json")]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("edge"));
    assert!(
        stderr(&output).starts_with("no-such-file.json: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn metrics_are_skipped_and_no_error() {
    let metrics = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":"1"}]}}]}]}]}"#;
    let output = piped(&["traces", "-", "--format", "json"], metrics.as_bytes());
    assert_eq!((code(&output), stdout(&output)), (0, "[]\n"));
    assert!(stderr(&output).contains("metrics"), "{}", stderr(&output));
}

#[test]
fn stdin_is_a_file_like_any() {
    let path = sample("03-checkout-fan-out.json");
    let bytes = std::fs::read(&path).unwrap();
    let read = run(&["trace", &path, "--format", "json"]);
    assert_eq!(
        piped(&["trace", "-", "--format", "json"], &bytes).stdout,
        read.stdout
    );
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let files = all_samples();
    for format in ["text", "json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = dwindle()
            .args(["trace", "--format", format])
            .args(&files)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!((code(&output), stderr(&output)), (0, ""), "{format}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = dwindle().arg("--help").stdout(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_full_disk_is_a_failure() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return println!("skipped: no /dev/full");
    };
    let output = dwindle()
        .args(["trace", &sample("12-no-reserve.json")])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).starts_with("error: cannot write to stdout: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn colours_follow_the_option_then_the_environment() {
    let path = sample("12-no-reserve.json");
    let colored = |args: &[&str], env: &[(&str, &str)]| {
        let output = dwindle()
            .args(["trace", &path])
            .args(args)
            .envs(env.iter().copied())
            .output()
            .unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!colored(&[], &[]));
    assert!(colored(&["--color", "always"], &[]));
    assert!(colored(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(colored(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!colored(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    // JSON has no colours, whatever is asked.
    assert!(!colored(&["--color", "always", "--format", "json"], &[]));
}

#[test]
fn ascii_is_ascii() {
    let files = all_samples();
    for command in ["trace", "traces"] {
        let output = dwindle()
            .args([command, "--ascii"])
            .args(&files)
            .output()
            .unwrap();
        assert!(output.stdout.is_ascii(), "{command}");
        assert!(output.stdout.len() > 1000);
    }
}

#[test]
fn an_id_is_a_unique_prefix() {
    let files = all_samples();
    let ask = |id: &str| {
        dwindle()
            .args(["trace", "--format", "json", "--id", id])
            .args(&files)
            .output()
            .unwrap()
    };
    let list = dwindle()
        .args(["traces", "--format", "ndjson"])
        .args(&files)
        .output()
        .unwrap();
    let ids: BTreeSet<String> = stdout(&list)
        .lines()
        .map(|line| {
            let request: Value = serde_json::from_str(line).unwrap();
            request["trace_id"].as_str().unwrap().to_owned()
        })
        .collect();
    let id = ids.first().unwrap();
    let short: String = id.chars().take(8).collect();
    for prefix in [id.as_str(), &short, &short.to_uppercase()] {
        let output = ask(prefix);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains(id));
    }
    let nothing = ask("ffff0000ffff");
    assert_eq!((code(&nothing), stdout(&nothing)), (2, ""));
    assert!(
        stderr(&nothing).contains("no trace id begins with `ffff0000ffff`"),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn an_ambiguous_id_names_the_candidates() {
    let folder = tempfile::tempdir().unwrap();
    let document = one_line("12-no-reserve.json");
    let id = {
        let (_, rest) = document.split_once("\"traceId\":\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let same = id.get(..6).unwrap();
    let other = format!("{same}{}", "0".repeat(26));
    let text = format!("{document}\n{}\n", document.replace(&id, &other));
    let path = write(folder.path(), "two.ndjson", &text);
    let output = run(&["trace", path.to_str().unwrap(), "--id", same]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    for candidate in [&id, &other] {
        assert!(
            stderr(&output).contains(candidate.as_str()),
            "{}",
            stderr(&output)
        );
    }
    assert!(
        stderr(&output).starts_with("error: 2 trace ids begin with"),
        "{}",
        stderr(&output)
    );
}

/// Keys are stable; new ones may be added.
fn assert_keys(value: &Value, keys: &str) {
    let object = value.as_object().unwrap();
    for key in keys.split_whitespace() {
        assert!(object.contains_key(key), "no `{key}` in {value}");
    }
}

#[test]
fn the_json_has_the_documented_keys() {
    let output = run(&[
        "trace",
        &sample("03-checkout-fan-out.json"),
        "--format",
        "json",
    ]);
    assert_eq!(stdout(&output).lines().count(), 1);
    let request: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_keys(
        &request,
        "trace_id request revision complete notes service operation start spans elapsed_ms \
         budget_ms budget_source outcome wasted_ms surfaced culprit hops path ledger findings",
    );
    assert_keys(&request["budget_source"], "how key span_id");
    assert_keys(&request["surfaced"], "service operation verdict");
    assert_keys(
        &request["culprit"],
        "service operation part to consumed_ms share typical_ms excess_ms",
    );
    let hop = &request["hops"][2];
    assert_keys(
        hop,
        "id parent depth service operation span_id start_ms elapsed_ms remaining_in_ms \
         remaining_in_source deadline_ms deadline_from own_deadline_ms local_ms local_source \
         clock_offset_ms verdict reason evidence reported wasted_ms handed_over calls",
    );
    assert_keys(&hop["remaining_in_source"], "how key");
    assert_keys(
        &hop["calls"][0],
        "span_id to operation kind hop attempt attempts start_ms elapsed_ms remaining_out_ms \
         remaining_out_source timeout_ms timeout_source transit_out_ms transit_back_ms verdict",
    );
    assert_keys(&hop["calls"][0]["timeout_source"], "how key span_id value");
    assert_keys(&request["path"][0], "hop part to start_ms end_ms");
    assert_keys(
        &request["ledger"][0],
        "hop service part to ms after_deadline_ms",
    );
    assert_keys(
        &request["findings"][0],
        "rule severity hop service to evidence message",
    );
    assert!(request["findings"][0]["evidence"]["count"].is_u64());
}

#[test]
fn every_list_format_holds_the_same_requests() {
    let files = all_samples();
    let print = |format: &str| {
        let output = dwindle()
            .args(["traces", "--format", format])
            .args(&files)
            .output()
            .unwrap();
        assert_eq!(code(&output), 0);
        String::from_utf8(output.stdout).unwrap()
    };
    let array: Vec<Value> = serde_json::from_str(&print("json")).unwrap();
    let lines: Vec<Value> = print("ndjson")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(array, lines);
    assert!(array.len() > 20);
    let starts: Vec<&str> = array
        .iter()
        .map(|one| one["start"].as_str().unwrap())
        .collect();
    assert!(starts.is_sorted());
    assert!(array[0].get("hops").is_none() && array[0].get("ledger").is_none());

    let text = print("csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), array.len());
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    for (record, one) in records.iter().zip(&array) {
        assert_eq!(
            &record[column("trace_id")],
            one["trace_id"].as_str().unwrap()
        );
        let elapsed: f64 = record[column("elapsed_ms")].parse().unwrap();
        assert_eq!(Some(elapsed), one["elapsed_ms"].as_f64());
        let share = &record[column("culprit_share")];
        assert_eq!(share.parse::<f64>().ok(), one["culprit"]["share"].as_f64());
    }
    assert_eq!(print("table").lines().count(), 1 + array.len());
}

#[test]
fn hostile_names_reach_no_terminal_and_no_spreadsheet() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "=1+1\u{1b}]0;x\u{7}\u{202e}\nnext";
    let text =
        one_line("12-no-reserve.json").replace("\"edge\"", &Value::from(hostile).to_string());
    let path = write(folder.path(), "hostile.json", &text);
    let path = path.to_str().unwrap();
    for args in [
        &["trace", path][..],
        &["traces", path],
        &["trace", path, "--ascii"],
    ] {
        let output = run(args);
        let text = stdout(&output);
        assert!(text.contains("=1+1"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("next")), "{text}");
    }
    let output = run(&["traces", path, "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(stdout(&output).as_bytes());
    let record = reader.records().next().unwrap().unwrap();
    assert!(
        record.iter().any(|cell| cell == format!("'{hostile}")),
        "{record:?}"
    );
    // JSON keeps what came, escaped.
    let output = run(&["trace", path, "--format", "json"]);
    let request: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(request["service"], hostile);

    // A name of a file is as foreign as a name in it.
    let output = run(&["traces", "no\u{1b}[2Jfile"]);
    assert!(!stderr(&output).contains('\u{1b}'), "{}", stderr(&output));
}
