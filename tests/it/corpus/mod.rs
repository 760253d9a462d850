//! Real files: each is read as their log says, or refused with words that help.
//!
//! `traces/LOG.md` of the corpus is the expectation: a table with a row per file. What its answers
//! say in uniform words is read from there ([`log`]); what they say in prose stands in [`table`].

mod answer;
mod check;
mod log;
mod table;

use std::collections::BTreeMap;

use crate::support::corpus;
use answer::Answer;
use check::Check;
use log::Row;

/// What is held of each file: what the log says in uniform words, and what our table has.
fn expected(rows: &[Row]) -> BTreeMap<&str, Vec<(Check, Option<&'static str>)>> {
    let mut prose = BTreeMap::new();
    for (name, checks) in table::prose() {
        let full = match name.parse::<u32>() {
            Ok(number) => format!("jaeger/crisp-{number}.json"),
            Err(_) => name.to_owned(),
        };
        assert!(prose.insert(full, checks).is_none(), "{name} stands twice");
    }
    let mut expected = BTreeMap::new();
    for row in rows {
        let said = row.said().into_iter().map(|check| {
            let reason = table::unless(&row.name, &check);
            (check, reason)
        });
        let own = prose.remove(&row.name).unwrap_or_default();
        let all = said.chain(own.into_iter().map(|check| (check, None)));
        expected.insert(row.name.as_str(), all.collect());
    }
    assert_eq!(prose.keys().next(), None, "the log has no such file");
    expected
}

#[test]
fn every_file_of_the_log_gives_the_answer_that_the_log_has() {
    let Some(corpus) = corpus() else { return };
    let rows = log::rows(&corpus);
    let mut faults = Vec::new();
    let mut held = 0;
    let expected = expected(&rows);
    for row in &rows {
        let name = &row.name;
        let answer = Answer::of(&[row]);
        if let Err(ours) = answer.adds_up() {
            faults.push(format!("{name}: does not add up: {ours}"));
        }
        let checks = &expected[name.as_str()];
        let mut own = 0;
        for (check, reason) in checks {
            match (check.hold(&answer), reason) {
                (Ok(()), None) => own += 1,
                (Err(_), Some(reason)) => println!("{name}: not {check:?}: {reason}"),
                (Ok(()), Some(reason)) => {
                    faults.push(format!("{name}: {check:?} holds, though {reason}"));
                }
                (Err(ours), None) => faults.push(format!("{name}: {check:?}: {ours}")),
            }
        }
        if own == 0 {
            faults.push(format!("{name}: nothing was checked: {}", row.answer));
        }
        println!("{name}: {own} checks hold");
        held += own;
    }
    assert!(
        faults.is_empty(),
        "{}\n{} of {held}",
        faults.join("\n"),
        faults.len()
    );
    assert!(held > 590, "{held} checks");
}

/// What the log says of two files together.
fn rows_named<'r>(rows: &'r [Row], names: &[&str]) -> Vec<&'r Row> {
    let find = |name: &&str| rows.iter().find(|row| row.name == *name).unwrap();
    names.iter().map(find).collect()
}

#[test]
fn one_trace_in_lines_and_in_one_document_is_the_same() {
    let Some(corpus) = corpus() else { return };
    let rows = log::rows(&corpus);
    let [document, lines] = ["combined.json", "ndjson.json.txt"].map(|end| {
        let name = format!("otlp/jaegerui-multi-in-{end}");
        Answer::of(&rows_named(&rows, &[&name]))
    });
    assert_eq!(document.loaded.traces, lines.loaded.traces);
    // The trace that Docker's tool printed both ways; Jaeger's times end at the microsecond.
    let [go, jaeger] = [
        "sdk-dump/buildx-buildkit-otlp-array.json",
        "jaeger/buildx-buildkit-jaeger.json",
    ]
    .map(|name| Answer::of(&rows_named(&rows, &[name])));
    let names = |answer: &Answer| {
        let mut all: Vec<_> = answer
            .spans()
            .map(|s| (s.span_id, s.parent_id, s.name.clone(), s.start.0 / 1000))
            .collect();
        all.sort();
        all
    };
    assert_eq!(names(&go), names(&jaeger));
}

#[test]
fn rejected_files_say_where() {
    let Some(corpus) = corpus() else { return };
    for row in log::rows(&corpus) {
        let answer = Answer::of(&[&row]);
        let path = row.path.to_string_lossy();
        for problem in &answer.loaded.problems {
            assert!(problem.to_string().starts_with(&*path), "{problem}");
        }
    }
}
