//! The configuration as people meet it: files, variables, `dwindle config`, completions, pages.

use std::path::Path;
use std::process::Command;

use clap::CommandFactory as _;
use dwindle::budget::{Typical, TypicalTime, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Attributes, Nanos, Trace, Value};
use dwindle::otlp::Limits;
use dwindle::settings::DEFINITIONS;
use serde_json::Value as Json;

use crate::spans::span;
use crate::support::{code, dwindle, root, run, samples, stderr, stdout};

/// The command in a folder of its own, which is also where the user's configuration is.
fn within(folder: &Path) -> Command {
    let mut command = dwindle();
    command
        .current_dir(folder)
        .env("XDG_CONFIG_HOME", folder.join("xdg"));
    command
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn shown(command: &mut Command) -> Json {
    let output = command
        .args(["config", "show", "--format", "json"])
        .output()
        .unwrap();
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn setting<'a>(shown: &'a Json, name: &str) -> &'a Json {
    let settings = shown["settings"].as_array().unwrap();
    settings.iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn the_file_is_found_by_flag_variable_folder_and_home_in_that_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let found = |command: &mut Command| shown(command)["file"].clone();
    assert_eq!(found(&mut within(folder)), Json::Null);
    let home = write(folder, "xdg/dwindle/dwindle.toml", "");
    assert_eq!(found(&mut within(folder)), home);
    write(folder, "dwindle.toml", "");
    assert_eq!(found(&mut within(folder)), "dwindle.toml");
    let named = write(folder, "a.toml", "");
    let variable = |command: &mut Command| found(command.env("DWINDLE_CONFIG", &named));
    assert_eq!(variable(&mut within(folder)), named);
    write(folder, "b.toml", "");
    let mut flag = within(folder);
    assert_eq!(variable(flag.args(["--config", "b.toml"])), "b.toml");
    // Without XDG_CONFIG_HOME, or with a relative one, it is ~/.config.
    let own = write(folder, "home/.config/dwindle/dwindle.toml", "");
    std::fs::remove_file(folder.join("dwindle.toml")).unwrap();
    let mut at_home = within(folder);
    at_home
        .env("XDG_CONFIG_HOME", "xdg")
        .env("HOME", folder.join("home"));
    assert_eq!(found(&mut at_home), own);
}

#[test]
fn each_value_is_shown_with_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[assembly]\nquiet = \"3s\"\nlongest = \"60s\"\n\n[[route]]\nservice = \"edge\"\nslo = \"1s\"\n";
    write(folder.path(), "dwindle.toml", text);
    let mut command = within(folder.path());
    command
        .env("DWINDLE_LONGEST", "90s")
        .env("DWINDLE_FINDINGS_QUEUED", "");
    let json = shown(&mut command);
    let row = |name| {
        let row = setting(&json, name);
        (
            row["value"].clone(),
            row["source"].clone(),
            row["line"].clone(),
        )
    };
    let wanted = |value: Json, source: &str, line: Json| (value, Json::from(source), line);
    assert_eq!(row("assembly.quiet"), wanted("3s".into(), "file", 2.into()));
    assert_eq!(
        row("assembly.longest"),
        wanted("90s".into(), "environment", Json::Null)
    );
    assert_eq!(
        row("findings.queued"),
        wanted("20%".into(), "default", Json::Null)
    );
    assert_eq!(row("limits.max_connections").0, 1024);
    assert_eq!(row("serve.no_samples").0, false);
    assert_eq!(json["route"][0]["slo"], "1s");
    assert_eq!(json["route"][0]["line"], 5);
    assert_eq!(json["detach"], serde_json::json!([]));

    let mut command = within(folder.path());
    let output = command
        .env("DWINDLE_LONGEST", "90s")
        .args(["config", "show"])
        .output()
        .unwrap();
    let lines = |name: &str| -> Vec<String> {
        let lines = stdout(&output)
            .lines()
            .filter(|line| line.starts_with(name));
        lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(
        lines("assembly.quiet "),
        ["assembly.quiet dwindle.toml:2 \"3s\""]
    );
    assert_eq!(
        lines("assembly.longest"),
        ["assembly.longest environment DWINDLE_LONGEST \"90s\""]
    );
    // Values stand below each other, however long those above them are.
    let table: Vec<&str> = stdout(&output).lines().collect();
    let at = table[0].find("value").unwrap();
    let before = |line: &&str| line.get(at - 2..at) == Some("  ");
    assert!(table.iter().all(before), "{table:#?}");
    assert_eq!(
        lines("limits.max_kept"),
        ["limits.max_kept_bytes default \"1GiB\""]
    );
    assert_eq!(
        lines("[[route]]"),
        ["[[route]] dwindle.toml:5 service = \"edge\", slo = \"1s\""]
    );
}

#[test]
fn a_file_that_is_no_toml_is_wrong_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let sample = std::fs::read_to_string(&samples()[0]).unwrap();
    std::fs::write(&file, sample).unwrap();
    let mut command = within(folder.path());
    let output = command
        .args(["config", "check", "trace.json"])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!((code(&output), said.lines().count()), (2, 1), "{said}");
    assert!(
        said.contains("trace.json:1:") && said.contains("config example"),
        "{said}"
    );
}

#[test]
fn data_is_kept_in_the_users_folder_unless_another_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let data = |command: &mut Command| {
        let shown = shown(command.env("HOME", &home));
        let row = setting(&shown, "store.data");
        (
            row["value"].as_str().unwrap().to_owned(),
            row["source"].as_str().unwrap().to_owned(),
        )
    };
    let is = |path: &Path, source: &str| (path.to_str().unwrap().to_owned(), source.to_owned());
    let with = |name: &str, value: &Path| {
        let mut command = within(folder.path());
        command.env(name, value);
        data(&mut command)
    };
    let own = folder.path().join("own");
    assert_eq!(
        with("XDG_DATA_HOME", &own),
        is(&own.join("dwindle"), "default")
    );
    // A relative one is ignored.
    let usual = home.join(".local/share/dwindle");
    assert_eq!(
        with("XDG_DATA_HOME", Path::new("own")),
        is(&usual, "default")
    );
    assert_eq!(with("DWINDLE_DATA", &own), is(&own, "environment"));
    let below = Path::new("~/spans");
    assert_eq!(
        with("DWINDLE_DATA", below),
        is(&home.join("spans"), "environment")
    );
    write(
        folder.path(),
        "dwindle.toml",
        "[store]\ndata = \"~/spans\"\n",
    );
    assert_eq!(
        data(&mut within(folder.path())),
        is(&home.join("spans"), "file")
    );
}

#[test]
fn a_variable_that_sets_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = within(folder.path());
    command.env("DWINDLE_QUITE", "5s").args(["config", "show"]);
    let output = command.output().unwrap();
    assert_eq!(code(&output), 0);
    let note = "note: DWINDLE_QUITE is set and sets nothing; did you mean DWINDLE_QUIET?\n";
    assert!(stderr(&output).starts_with(note), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_named_has_to_be_there_and_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = |path: &str, wanted: &str| {
        let output = within(folder)
            .args(["config", "check", path])
            .output()
            .unwrap();
        assert_eq!((code(&output), stdout(&output)), (2, ""));
        let wanted = format!("error: {path}{wanted}");
        assert!(stderr(&output).starts_with(&wanted), "{}", stderr(&output));
    };
    refused("no.toml", ": there is no such file");
    refused(".", ": this is a directory");
    write(folder, "big.toml", "# large\n".repeat(200_000));
    refused("big.toml", ": this is larger than 1 MiB");
    write(folder, "latin.toml", b"[serve]\nlog = \"\xe9\"\n");
    refused("latin.toml", ":2:8: the file is not UTF-8");
    // The same wherever it is named, and for a command that only needs it by the way.
    for args in [
        ["--config", "no.toml", "traces", "x"],
        ["traces", "x", "--config", "no.toml"],
    ] {
        let output = within(folder).args(args).output().unwrap();
        assert_eq!(code(&output), 2);
        assert_eq!(
            stderr(&output),
            "error: no.toml: there is no such file; --config names it\n"
        );
    }
    let mut command = within(folder);
    let output = command
        .env("DWINDLE_CONFIG", "no.toml")
        .args(["traces", "x"])
        .output()
        .unwrap();
    assert_eq!(
        stderr(&output),
        "error: no.toml: there is no such file; DWINDLE_CONFIG names it\n"
    );
    // What is not right there is not passed over, though nobody named it.
    write(folder, "dwindle.toml", "quite = 1");
    let output = within(folder).args(["traces", "x"]).output().unwrap();
    assert!(stderr(&output).starts_with("error: dwindle.toml:1:1: there is no `quite`"));
    // But it keeps nobody from mending it.
    for args in [
        &["config", "example"][..],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ] {
        assert_eq!(
            code(&within(folder).args(args).output().unwrap()),
            0,
            "{args:?}"
        );
    }
}

#[test]
fn a_check_tells_everything_and_heeds_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[assembly]\nquite = \"1s\"\nlongest = \"soon\"\n[[detach]]\n";
    write(folder.path(), "bad.toml", text);
    let check = |name: &str| {
        let mut command = within(folder.path());
        command.env("DWINDLE_QUIET", "nonsense");
        command.args(["config", "check", name]).output().unwrap()
    };
    let output = check("bad.toml");
    assert_eq!(code(&output), 2);
    insta::assert_snapshot!(stderr(&output), @r"
    error: 3 things are wrong with the configuration:
      bad.toml:2:1: [assembly] has no key `quite`; did you mean `quiet`?
      bad.toml:3:11: `longest`: `soon` is not a duration such as 500ms, 10s or 2m
      bad.toml:4:1: [[detach]] needs `service` or `operation`
    ");
    let example = run(&["config", "example"]);
    write(folder.path(), "good.toml", &example.stdout);
    let output = check("good.toml");
    assert_eq!(
        (code(&output), stdout(&output)),
        (0, "good.toml is right\n")
    );
}

#[test]
fn commands_over_files_take_their_policy_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = |name: &str| {
        root()
            .join("sample-traces")
            .join(name)
            .display()
            .to_string()
    };
    let file = sample("01-fixed-timeouts.json");
    let findings = |config: &str| -> Vec<(String, String)> {
        write(folder, "dwindle.toml", config);
        let output = within(folder)
            .args(["trace", &file, "--format", "json"])
            .output()
            .unwrap();
        assert_eq!(stderr(&output), "");
        let request: Json = serde_json::from_slice(&output.stdout).unwrap();
        let findings = request["findings"].as_array().unwrap().iter();
        let word = |finding: &Json, key: &str| finding[key].as_str().unwrap().to_owned();
        findings
            .map(|finding| (word(finding, "rule"), word(finding, "severity")))
            .collect()
    };
    let has = |found: &[(String, String)], rule: &str| found.iter().any(|(of, _)| of == rule);
    let plain = findings("");
    assert!(has(&plain, "worked_after_deadline") && has(&plain, "inverted_timeout"));
    let late = findings("[findings]\nworked_after_deadline = \"400ms\"\n");
    assert!(!has(&late, "worked_after_deadline") && has(&late, "inverted_timeout"));
    let off = findings("[findings]\ndisabled = [\"inverted_timeout\", \"not_propagated\"]\n");
    assert!(!has(&off, "inverted_timeout") && !has(&off, "not_propagated"));
    let severe = findings("[findings.severity]\nworked_after_deadline = \"error\"\n");
    let at = |rule: &str| severe.iter().position(|(of, _)| of == rule).unwrap();
    assert_eq!(severe[at("worked_after_deadline")].1, "error");
    assert!(
        at("worked_after_deadline") < at("cancel_not_propagated"),
        "{severe:?}"
    );
    assert_eq!(severe.len(), plain.len());

    // A route's budget counts for a request that brings none.
    write(folder, "dwindle.toml", "");
    let files: Vec<String> = samples()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let list = || -> Vec<Json> {
        let mut command = within(folder);
        command.args(["traces", "--format", "ndjson"]).args(&files);
        let output = command.output().unwrap();
        let lines = stdout(&output).lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let before = list();
    let without: Vec<&Json> = before
        .iter()
        .filter(|request| request["outcome"] == "no_budget")
        .collect();
    assert!(!without.is_empty(), "no sample is without a budget");
    let config = "[[route]]\nservice = \"*\"\nslo = \"90s\"\nheadroom = \"500ms\"\n";
    write(folder, "dwindle.toml", config);
    let after = list();
    for request in without {
        let same = |other: &&Json| {
            other["trace_id"] == request["trace_id"] && other["request"] == request["request"]
        };
        let now = after.iter().find(same).unwrap();
        assert_eq!(now["budget_ms"], 89_500.0, "{now}");
        assert_eq!(now["budget_source"]["how"], "configured");
    }
}

/// How many findings of a rule all samples have, where each hop typically takes 1 ms, and
/// whether the worst of one has this number.
fn findings(config: &str, rule: &str, evidence: &str) -> usize {
    let file = Some(("dwindle.toml", config));
    let policy = dwindle::settings::resolve(file, &|_| None, &|_| None);
    let policy = policy.unwrap().policy;
    let inputs: Vec<Input> = samples().into_iter().map(Input::Path).collect();
    let mut traces = files::load(&inputs, &Limits::default(), &mut |_, _| ()).traces;
    // No sample is less than 100 % off in what it reports of itself.
    let mut off = span(1, 1, None);
    off.attributes = Attributes::from_iter([("deadline.local_ms", Value::Int(90))]);
    traces.push(Trace {
        id: off.trace_id,
        spans: vec![off],
        ..Trace::default()
    });
    let mut typical = Typical::default();
    let often = TypicalTime {
        median: Nanos::from_millis(1),
        runs: 20,
    };
    for span in traces.iter().flat_map(|trace| &trace.spans) {
        let hop = (span.service().into(), span.name.clone());
        typical.hops.insert(hop, often);
    }
    let analyses = traces.iter().map(|trace| analyse(trace, &policy, &typical));
    let requests = analyses.flat_map(|analysis| analysis.requests);
    let found = requests.flat_map(|request| request.findings);
    let found = found.filter(|finding| finding.rule.as_str() == rule);
    found
        .filter(|finding| finding.evidence.time(evidence).is_some())
        .count()
}

/// A threshold, a value with which many findings are raised and one with which few are, the
/// rule, and a number that its findings have.
type Threshold = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const THRESHOLDS: [Threshold; 11] = [
    ("tolerance", r#""0ms""#, r#""1h""#, "budget_reset", "told_ms"),
    ("tolerance", r#""0ms""#, r#""1h""#, "inverted_timeout", "timeout_ms"),
    ("tolerance", r#""0ms""#, r#""1h""#, "retry_reset", "timeout_ms"),
    ("worked_after_deadline", r#""0ms""#, r#""1h""#, "worked_after_deadline", "after_ms"),
    ("started_expired", r#""0ms""#, r#""1h""#, "started_expired", "ran_ms"),
    ("doomed_retry", r#""1h""#, r#""0ms""#, "doomed_retry", "left_ms"),
    ("hedge_not_cancelled", r#""0ms""#, r#""1h""#, "hedge_not_cancelled", "ran_on_ms"),
    ("cancel_not_propagated", r#""0ms""#, r#""1h""#, "cancel_not_propagated", "ran_on_ms"),
    ("over_provisioned", "1", "1000000", "over_provisioned", "budget_ms"),
    ("queued", r#""0%""#, r#""100%""#, "queued", "queue_ms"),
    ("accounting_mismatch", r#""0ms""#, r#""1h""#, "accounting_mismatch", "reported_ms"),
];

#[test]
fn every_threshold_of_findings_is_heeded() {
    let mut tried = std::collections::BTreeSet::new();
    for (key, strict, lax, rule, evidence) in THRESHOLDS {
        tried.insert(key);
        let count = |value: &str| {
            // Shares stand aside: the larger of the two counts.
            let others = [
                "tolerance_share",
                "worked_after_deadline_share",
                "accounting_mismatch_share",
            ];
            let others = others.map(|share| format!("{share} = \"0%\"\n")).concat();
            findings(
                &format!("[findings]\n{others}{key} = {value}\n"),
                rule,
                evidence,
            )
        };
        let (many, few) = (count(strict), count(lax));
        assert!(many > few, "{key} for {rule}: {many} and {few}");
        assert!(few == 0 || key == "doomed_retry", "{key} for {rule}: {few}");
    }
    for (key, rule, evidence) in [
        ("tolerance", "inverted_timeout", "timeout_ms"),
        ("worked_after_deadline", "worked_after_deadline", "after_ms"),
        ("accounting_mismatch", "accounting_mismatch", "reported_ms"),
    ] {
        tried.insert(key);
        let count = |share: &str| {
            let config = format!("[findings]\n{key} = \"0ms\"\n{key}_share = \"{share}\"\n");
            findings(&config, rule, evidence)
        };
        let (many, few) = (count("0%"), count("100%"));
        assert!(many > few, "{key}_share for {rule}: {many} and {few}");
    }
    let thresholds = DEFINITIONS
        .iter()
        .filter(|setting| setting.section == "findings");
    for setting in thresholds {
        let key = setting.key.trim_end_matches("_share");
        let other = ["disabled", "severity"].contains(&key);
        assert!(other || tried.contains(key), "{key} is not tried");
    }
}

#[test]
fn rules_of_ones_own_read_budgets() {
    let folder = tempfile::tempdir().unwrap();
    let mut root = span(1, 1, None);
    let own = [
        ("acme.left", Value::Str("1.5s".into())),
        ("deadline.at", Value::Str("2026-10-07T09:15:03Z".into())),
    ];
    root.attributes = Attributes::from_iter(own);
    write(
        folder.path(),
        "t.json",
        dwindle::otlp::traces_to_json(&[root]),
    );
    let budget = |config: &str| -> Json {
        write(folder.path(), "dwindle.toml", config);
        let mut command = within(folder.path());
        let output = command
            .args(["trace", "t.json", "--format", "json"])
            .output()
            .unwrap();
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        let request: Json = serde_json::from_slice(&output.stdout).unwrap();
        serde_json::json!([request["budget_ms"], request["budget_source"]["key"]])
    };
    let own = "[[rule]]\nkey = \"acme.left\"\ngrammar = \"go_duration\"\nmeaning = \"remaining\"\n";
    assert_eq!(budget(""), serde_json::json!([null, null]));
    assert_eq!(budget(own), serde_json::json!([1500.0, "acme.left"]));
    let enabled = budget("[analysis]\nenable_rules = [\"app.deadline.at\"]\n");
    assert_eq!(enabled[1], "deadline.at");
    assert!(enabled[0].as_f64().unwrap() > 2_999.0, "{enabled}");
}

#[test]
fn limits_of_reading_files_are_heeded() {
    let folder = tempfile::tempdir().unwrap();
    let sample = root().join("sample-traces/03-checkout-fan-out.json");
    let traces = || {
        let mut command = within(folder.path());
        command.arg("traces").arg(&sample);
        command
    };
    assert_eq!(code(&traces().output().unwrap()), 0);
    let small = traces()
        .env("DWINDLE_FILES_MAX_DOCUMENT_BYTES", "1kB")
        .output()
        .unwrap();
    assert_eq!(code(&small), 2, "{}", stderr(&small));
}

#[test]
fn every_command_has_an_example_and_tells_the_configuration() {
    let mut left = vec![(dwindle::cli::Args::command(), String::new())];
    let mut leaves = 0;
    while let Some((command, above)) = left.pop() {
        let name = format!("{above}{} ", command.get_name());
        let after = command.get_after_help().map(ToString::to_string);
        let after = after.unwrap_or_default();
        assert!(
            after.contains("Examples:\n"),
            "`{name}--help` has no example"
        );
        assert!(
            after.contains(&format!("  {name}"))
                || after.contains(&format!(" {}", name.trim_end())),
            "{name}: {after}"
        );
        leaves += usize::from(command.get_subcommands().next().is_none());
        let below = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help");
        left.extend(below.cloned().map(|below| (below, name.clone())));
    }
    assert!(leaves >= 8, "{leaves}");
}

#[test]
fn completions_name_every_command_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(&["completions", shell]);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        for word in [
            "traces",
            "completions",
            "config",
            "no-samples",
            "max-kept-bytes",
            "import",
            "older-than",
            "retain-for",
        ] {
            assert!(stdout(&output).contains(word), "{shell}: {word}");
        }
    }
    let output = run(&["completions", "tcsh"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("[possible values: bash,"),
        "{}",
        stderr(&output)
    );
    // What bash is told, bash can read.
    if let Ok(mut bash) = Command::new("bash")
        .arg("-n")
        .stdin(std::process::Stdio::piped())
        .spawn()
    {
        let script = run(&["completions", "bash"]).stdout;
        std::io::Write::write_all(&mut bash.stdin.take().unwrap(), &script).unwrap();
        assert!(bash.wait().unwrap().success());
    }
}

#[test]
fn there_is_a_page_for_each_command() {
    let output = run(&["man"]);
    assert!(
        stdout(&output).contains(".TH dwindle 1"),
        "{}",
        stdout(&output)
    );
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let output = run(&["man", "--dir", pages.to_str().unwrap()]);
    assert_eq!(
        (code(&output), stdout(&output), stderr(&output)),
        (0, "", "")
    );
    for (page, words) in [
        ("dwindle.1", "budget"),
        ("dwindle-serve.1", "quiet\\-incomplete"),
        ("dwindle-config-check.1", "dwindle config check"),
        ("dwindle-traces.1", "Examples"),
        ("dwindle-import.1", "changes nothing"),
        ("dwindle-store-export.1", "since"),
        ("dwindle-store-prune.1", "dry\\-run"),
    ] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(words), "{page}: {text}");
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = run(&["man", "--dir", file.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("choose another folder"),
        "{}",
        stderr(&output)
    );
}
