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

/// The sample's numbers by hand: what `trace` prints is added up again.
#[test]
fn hops_sum_up_what_each_request_says() {
    let requests = whole();
    let hops = rows("hops", &[]);
    let all: Vec<&Value> = each(&requests, "hops").collect();
    let runs: u64 = hops.iter().map(|row| row["runs"].as_u64().unwrap()).sum();
    assert_eq!(runs as usize, all.len());
    for row in &hops {
        let name = |one: &Value| (one["service"].clone(), one["operation"].clone());
        let own: Vec<&&Value> = all.iter().filter(|hop| name(hop) == name(row)).collect();
        assert_eq!(row["runs"].as_u64(), Some(own.len() as u64), "{row}");
        let told = own.iter().filter(|hop| {
            let how = hop["remaining_in_source"]["how"].as_str();
            how == Some("observed") || how == Some("sent")
        });
        close(
            &row["propagated_share"],
            told.count() as f64 / own.len() as f64,
            row,
        );
        let mut local: Vec<f64> = own
            .iter()
            .map(|hop| hop["local_ms"].as_f64().unwrap())
            .collect();
        local.sort_by(f64::total_cmp);
        for (key, percent) in [
            ("local_p50_ms", 50),
            ("local_p95_ms", 95),
            ("local_p99_ms", 99),
        ] {
            let rank = (local.len() * percent).div_ceil(100);
            close(&row[key], local[rank - 1], row);
        }
        close(
            &row["wasted_ms"],
            sum(own.iter().map(|hop| &hop["wasted_ms"])),
            row,
        );
        let mut verdicts = 0;
        for verdict in dwindle::model::Verdict::ALL {
            let with = own
                .iter()
                .filter(|hop| hop["verdict"] == verdict.as_str())
                .count();
            assert_eq!(row[verdict.as_str()].as_u64(), Some(with as u64), "{row}");
            verdicts += with;
        }
        assert_eq!(verdicts, own.len());
        let missed = requests.iter().filter(|one| one["outcome"] == "missed");
        let culprit = missed
            .map(|one| &one["culprit"])
            .filter(|one| name(one) == name(row));
        let culprit: Vec<&Value> = culprit.collect();
        assert_eq!(row["culprit"].as_u64(), Some(culprit.len() as u64), "{row}");
        close(
            &row["culprit_ms"],
            sum(culprit.iter().map(|one| &one["consumed_ms"])),
            row,
        );
    }
    let wasted: Vec<f64> = hops
        .iter()
        .map(|row| row["wasted_ms"].as_f64().unwrap())
        .collect();
    assert!(wasted.is_sorted_by(|a, b| a >= b) && wasted[0] > 0.0);
}

#[test]
fn calls_sum_up_what_each_request_says() {
    let requests = whole();
    let edges = rows("calls", &[]);
    let mut all = Vec::new();
    for hop in each(&requests, "hops") {
        for call in hop["calls"].as_array().unwrap() {
            all.push((hop["service"].clone(), call));
        }
    }
    assert!(
        all.len() > 20
            && edges
                .iter()
                .any(|row| row["retries_per_call"].as_f64() > Some(0.0))
    );
    let mut counted = 0;
    for row in &edges {
        let own: Vec<&Value> = all
            .iter()
            .filter(|(service, call)| {
                (service, &call["to"], &call["operation"])
                    == (&row["service"], &row["to"], &row["operation"])
            })
            .map(|(_, call)| *call)
            .collect();
        counted += own.len();
        assert_eq!(row["calls"].as_u64(), Some(own.len() as u64), "{row}");
        let later = own
            .iter()
            .filter(|call| call["attempt"].as_u64() > Some(1))
            .count();
        close(
            &row["retries_per_call"],
            later as f64 / (own.len() - later) as f64,
            row,
        );
        close(
            &row["total_ms"],
            sum(own.iter().map(|call| &call["elapsed_ms"])),
            row,
        );
        let mut transit: Vec<f64> = own
            .iter()
            .filter(|call| !(call["transit_out_ms"].is_null() && call["transit_back_ms"].is_null()))
            .map(|call| sum([&call["transit_out_ms"], &call["transit_back_ms"]].into_iter()))
            .collect();
        transit.sort_by(f64::total_cmp);
        match transit.len() {
            0 => assert!(row["transit_p50_ms"].is_null(), "{row}"),
            len => close(&row["transit_p50_ms"], transit[len.div_ceil(2) - 1], row),
        }
    }
    assert_eq!(counted, all.len());
}

#[test]
fn findings_are_grouped_with_their_newest_example() {
    let requests = whole();
    let groups = rows("findings", &[]);
    assert!(groups.len() > 10);
    for row in &groups {
        let same = |finding: &&Value| {
            (&finding["rule"], &finding["service"], &finding["to"])
                == (&row["rule"], &row["service"], &row["to"])
        };
        let with: Vec<&Value> = requests
            .iter()
            .filter(|one| {
                one["findings"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|finding| same(&finding))
            })
            .collect();
        assert_eq!(row["requests"].as_u64(), Some(with.len() as u64), "{row}");
        let count: u64 = each(&requests, "findings")
            .filter(same)
            .map(|finding| finding["evidence"]["count"].as_u64().unwrap())
            .sum();
        assert_eq!(row["count"].as_u64(), Some(count), "{row}");
        let newest = with
            .iter()
            .max_by_key(|one| one["start"].as_str().unwrap().to_owned())
            .unwrap();
        assert_eq!(row["example_start"], newest["start"], "{row}");
        assert!(
            each(&requests, "findings")
                .filter(same)
                .any(|finding| finding["message"] == row["message"])
        );
    }
    let rank = |row: &Value| {
        let severity = ["error", "warning", "info"]
            .iter()
            .position(|word| row["severity"] == *word);
        (severity.unwrap(), std::cmp::Reverse(row["count"].as_u64()))
    };
    assert!(groups.is_sorted_by_key(rank));
}

#[test]
fn overviews_look_right() {
    for command in ["hops", "calls", "findings"] {
        let output = over_samples(command, &["--width", "140", "--limit", "8"]);
        insta::assert_snapshot!(command, format!("{}\n{}", out(&output), err(&output)));
    }
}

#[test]
fn overviews_do_not_depend_on_the_order_of_the_files() {
    let mut files = support::samples();
    let print = |files: &[std::path::PathBuf], command: &str| {
        let output = support::dwindle()
            .arg(command)
            .args(["--format", "csv"])
            .args(files)
            .output();
        output.unwrap().stdout
    };
    let before = ["hops", "calls", "findings"].map(|command| print(&files, command));
    files.reverse();
    let after = ["hops", "calls", "findings"].map(|command| print(&files, command));
    assert_eq!(before, after);
    assert!(before.iter().all(|text| text.len() > 1_000));
}

#[test]
fn two_traces_differ_by_what_their_ledgers_say() {
    let all = rows("traces", &[]);
    let elapsed = |id: &str| {
        let of_id = all.iter().filter(|one| one["trace_id"] == id);
        sum(of_id.map(|one| &one["elapsed_ms"]))
    };
    let client: Vec<&str> = all
        .iter()
        .filter(|one| one["service"] == "client")
        .map(|one| one["trace_id"].as_str().unwrap())
        .collect();
    let [before, after] = [client[0], client[1]];
    let files: Vec<String> = support::samples()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let diff = |before: &str, after: &str| -> Vec<Value> {
        let output = support::dwindle()
            .args(["diff", before, after, "--format", "ndjson"])
            .args(&files)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let changed = diff(before, after.get(..8).unwrap());
    let change = sum(changed.iter().map(|row| &row["change_ms"]));
    assert!(
        (change - (elapsed(after) - elapsed(before))).abs() < 0.01,
        "{change}"
    );
    assert!(changed.is_sorted_by(|a, b| a["change_ms"].as_f64() >= b["change_ms"].as_f64()));
    let back = diff(after, before);
    assert!((sum(back.iter().map(|row| &row["change_ms"])) + change).abs() < 0.01);
    let same = diff(before, before);
    assert!(!same.is_empty() && same.iter().all(|row| row["change_ms"] == 0.0));
}

#[test]
fn what_is_wrong_with_a_file_is_said_once_of_two_traces() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("torn.ndjson");
    let mut text: String = ["ab", "cd"].map(|id| format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{}","spanId":"0000000000000001","name":"a","startTimeUnixNano":"1","endTimeUnixNano":"2000000"}}]}}]}}]}}"#,
        id.repeat(16)
    ) + "\n").concat();
    text.push_str("{torn\n");
    std::fs::write(&file, text).unwrap();
    let output = support::dwindle()
        .args(["diff", "abab", "cdcd"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert_eq!(
        err(&output).matches("torn.ndjson").count(),
        1,
        "{}",
        err(&output)
    );
}

#[test]
fn a_comparison_that_cannot_be_made_says_what_to_do() {
    let sample = support::samples()[0].display().to_string();
    for (args, said) in [
        (
            vec!["diff", "abcd", "abce"],
            "name the files that have the trace",
        ),
        (
            vec!["diff", &sample, &sample, &sample],
            "is no trace id; compare two ids",
        ),
        (
            vec!["diff", &sample, &sample, "-w", "service=nobody"],
            "has no request to compare",
        ),
        (
            vec!["diff", &sample, &sample, "--sort", "chnge"],
            "is it `change`?",
        ),
        (vec!["diff", &sample], "AFTER"),
    ] {
        let output = support::run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(err(&output).contains(said), "{args:?}: {}", err(&output));
    }
}

/// Faults that were injected into one service are found by comparing with a run without.
#[test]
fn the_service_that_was_slowed_is_on_top() {
    let Some(corpus) = support::corpus() else {
        return;
    };
    let folder = corpus.join("traces/nezha");
    let mut found = 0;
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in &names {
        // `system-time-fault-service.format`
        let stem = name.split('.').next().unwrap();
        let Some((_, service)) = stem
            .split_once("-netdelay-")
            .or_else(|| stem.split_once("-cpu-"))
        else {
            continue;
        };
        let system = name.split('-').next().unwrap();
        let baseline = names
            .iter()
            .find(|name| name.starts_with(&format!("{system}-baseline")))
            .unwrap();
        let output = support::dwindle()
            .arg("diff")
            .args([folder.join(baseline), folder.join(name)])
            .args(["--format", "ndjson", "--limit", "1"])
            .output()
            .unwrap();
        let top: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", err(&output)));
        // The log of the faults writes the names without their dashes and frames.
        let is_named = |key: &str| {
            let plain = top[key].as_str().unwrap_or_default().replace('-', "");
            plain.contains(service)
                || (service == "verifycode" && plain.contains("verificationcode"))
        };
        assert!(is_named("service") || is_named("to"), "{name}: {top}");
        found += 1;
    }
    assert!(found >= 10, "{found} faults");
}

/// Every request of the samples, whole.
fn whole() -> Vec<Value> {
    let output = over_samples("trace", &["--format", "json"]);
    out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What all requests have under a key.
fn each<'a>(requests: &'a [Value], key: &'static str) -> impl Iterator<Item = &'a Value> {
    requests
        .iter()
        .flat_map(move |one| one[key].as_array().unwrap())
}

fn sum<'a>(numbers: impl Iterator<Item = &'a Value>) -> f64 {
    numbers.filter_map(Value::as_f64).sum()
}

/// Printed numbers have six decimals at most.
fn close(printed: &Value, wanted: f64, row: &Value) {
    let printed = printed.as_f64().unwrap_or(f64::NAN);
    assert!(
        (printed - wanted).abs() < 0.002,
        "{printed} is not {wanted}: {row}"
    );
}
