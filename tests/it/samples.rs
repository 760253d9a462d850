//! The sample traces: valid OTLP/JSON, and each yields what `tests/samples/expected.txt` says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use dwindle::budget::{self, Policy, Typical};
use dwindle::files::{self, Input};
use dwindle::model::{Outcome, Verdict};
use dwindle::otlp::Limits;
use dwindle::report;
use serde_json::Value;

use crate::support;

const EXPECTED: &str = include_str!("../samples/expected.txt");

#[test]
fn each_sample_yields_what_was_worked_out_by_hand() {
    let expected = expectations();
    let mut faults = String::new();
    for sample in support::samples() {
        let name = stem(&sample);
        let found: String = requests(&sample).iter().map(told).collect();
        let wanted = expected.get(name).map_or("", String::as_str);
        if found != wanted {
            write!(faults, "\n## {name}\n{}", difference(wanted, &found)).unwrap();
        }
    }
    assert!(faults.is_empty(), "- expected, + found:\n{faults}");
}

#[test]
fn the_samples_cover_every_outcome_and_verdict() {
    let words: BTreeSet<&str> = EXPECTED.split_whitespace().collect();
    let outcomes = Outcome::ALL.map(Outcome::as_str);
    let verdicts = Verdict::ALL.map(Verdict::as_str);
    for word in outcomes.iter().chain(&verdicts) {
        assert!(words.contains(word), "no sample shows `{word}`");
    }
}

#[test]
fn the_index_has_a_line_on_each_sample() {
    let index = std::fs::read_to_string(support::root().join("sample-traces/INDEX.md")).unwrap();
    let listed: Vec<&str> = index
        .lines()
        .filter_map(|line| line.strip_prefix("- [`")?.split_once(".json`]"))
        .map(|(name, _)| name)
        .collect();
    let samples = support::samples();
    let names: Vec<&str> = samples.iter().map(|path| stem(path)).collect();
    assert_eq!(listed, names);
    assert_eq!(expectations().into_keys().collect::<Vec<_>>(), names);
}

#[test]
fn the_samples_are_strict_otlp_json() {
    for sample in support::samples() {
        let document = json(&std::fs::read_to_string(&sample).unwrap());
        let mut ids = BTreeSet::new();
        for span in spans(&document) {
            let at = format!("{}: {}", sample.display(), span["name"]);
            let id = |key: &str| span[key].as_str().unwrap_or_default();
            let hex = |text: &str, length| {
                text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            };
            assert!(hex(id("traceId"), 32) && hex(id("spanId"), 16), "{at}");
            assert!(ids.insert(id("spanId").to_owned()), "{at}: id used twice");
            assert!(
                span.get("parentSpanId").is_none() || hex(id("parentSpanId"), 16),
                "{at}"
            );
            for key in ["startTimeUnixNano", "endTimeUnixNano"] {
                assert!(id(key).parse::<u64>().is_ok(), "{at}: `{key}`");
            }
            assert!(
                span["kind"].as_u64().is_some_and(|kind| kind <= 5),
                "{at}: `kind`"
            );
            for attribute in list(&span["attributes"]) {
                let int = &attribute["value"]["intValue"];
                assert!(int.is_null() || int.is_string(), "{at}: {attribute}");
            }
        }
    }
}

/// The requests of a sample, as JSON tells them.
fn requests(sample: &Path) -> Vec<Value> {
    let input = Input::from_argument(sample);
    let loaded = files::load(&[input], &Limits::default(), &mut |_, _| {});
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let analyses = loaded
        .traces
        .iter()
        .map(|trace| budget::analyse(trace, &Policy::default(), &Typical::default()));
    let requests = analyses.flat_map(|analysis| analysis.requests);
    requests
        .map(|request| json(&report::json::one(&request)))
        .collect()
}

/// The blocks of `expected.txt` by sample.
fn expectations() -> BTreeMap<&'static str, String> {
    let blocks = EXPECTED.split("\n## ").skip(1);
    blocks
        .map(|block| {
            let (name, body) = block.split_once('\n').unwrap();
            (name, format!("{}\n", body.trim_end()))
        })
        .collect()
}

/// A request in the words of `expected.txt`.
fn told(request: &Value) -> String {
    let budget = request["budget_ms"]
        .as_f64()
        .map_or("-".to_owned(), |ms| ms.to_string());
    let mut out = format!(
        "{} {} {} {}/{budget} wasted {}",
        word(&request["outcome"]),
        word(&request["service"]),
        word(&request["operation"]),
        request["elapsed_ms"].as_f64().unwrap(),
        request["wasted_ms"].as_f64().unwrap(),
    );
    if request["complete"] == false {
        out.push_str(" incomplete");
    }
    out.push_str("\nculprit ");
    let culprit = &request["culprit"];
    if culprit.is_null() {
        out.push_str("none");
    } else {
        out.push_str(word(&culprit["service"]));
        write!(out, " {}{}", word(&culprit["part"]), to(culprit)).unwrap();
        write!(out, " {}", culprit["consumed_ms"].as_f64().unwrap()).unwrap();
    }
    let surfaced = &request["surfaced"];
    if surfaced.is_null() {
        out.push_str("\nsurfaced none\n");
    } else {
        let (service, verdict) = (word(&surfaced["service"]), word(&surfaced["verdict"]));
        writeln!(out, "\nsurfaced {service} {verdict}").unwrap();
    }
    for hop in list(&request["hops"]) {
        let indent = " ".repeat(1 + usize::try_from(hop["depth"].as_u64().unwrap()).unwrap());
        let left = hop["remaining_in_ms"]
            .as_f64()
            .map_or("-".to_owned(), |ms| ms.to_string());
        let (service, verdict) = (word(&hop["service"]), word(&hop["verdict"]));
        let how = word(&hop["remaining_in_source"]["how"]);
        writeln!(out, "{indent}{service} {verdict} {left} {how}").unwrap();
        for call in list(&hop["calls"]).iter().filter(|call| is_special(call)) {
            let attempts = format!("{}/{}", call["attempt"], call["attempts"]);
            let (target, kind) = (word(&call["to"]), word(&call["kind"]));
            writeln!(
                out,
                "{indent}> {target} {kind} {attempts} {}",
                word(&call["verdict"])
            )
            .unwrap();
        }
    }
    let mut findings: Vec<String> = list(&request["findings"])
        .iter()
        .map(|f| format!("! {} {}{}\n", word(&f["rule"]), word(&f["service"]), to(f)))
        .collect();
    findings.sort();
    out.extend(findings);
    out
}

/// A call that the hops above and below do not tell all about.
fn is_special(call: &Value) -> bool {
    let own = [
        "expired_before_send",
        "timed_out_early",
        "cancelled_by_caller",
    ];
    call["kind"] != "hop" || own.contains(&word(&call["verdict"]))
}

fn to(value: &Value) -> String {
    value["to"]
        .as_str()
        .map_or(String::new(), |to| format!(" > {to}"))
}

/// Lines of one and not of the other, around those that both have.
fn difference(wanted: &str, found: &str) -> String {
    let only = |of: &str, other: &str, sign: &'static str| -> String {
        let others: Vec<&str> = other.lines().collect();
        let lines = of.lines().filter(|line| !others.contains(line));
        lines.flat_map(|line| [sign, " ", line, "\n"]).collect()
    };
    let lines = only(wanted, found, "-") + &only(found, wanted, "+");
    if lines.is_empty() {
        format!("another order:\n{found}")
    } else {
        lines
    }
}

fn spans(document: &Value) -> Vec<&Value> {
    let resources = list(&document["resourceSpans"]).iter();
    let scopes = resources.flat_map(|resource| list(&resource["scopeSpans"]));
    scopes.flat_map(|scope| list(&scope["spans"])).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("null")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}
