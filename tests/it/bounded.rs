//! Bounded memory: traces beyond what may be held wait in a temporary file, and nothing that is
//! said of them changes by it.

use std::collections::BTreeSet;
use std::path::Path;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Span, Trace};
use dwindle::otlp::{Limits, traces_to_json};
use dwindle::report::json;

use crate::support::{self, Random};

/// Lines of one span each, of all samples several times over under other trace ids, and a log
/// record for some of them.
fn lines(copies: u8) -> Vec<String> {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let spans: Vec<Span> = loaded
        .traces
        .into_iter()
        .flat_map(|trace| trace.spans)
        .collect();
    let mut lines = Vec::new();
    for copy in 0..copies {
        for span in &spans {
            let mut span = span.clone();
            span.trace_id.0[3] ^= copy;
            if span.parent_id.is_none() {
                lines.push(format!(
                    r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"traceId":"{}","spanId":"{}","timeUnixNano":"{}","attributes":[{{"key":"deadline.local_ms","value":{{"doubleValue":1.5}}}}]}}]}}]}}]}}"#,
                    span.trace_id, span.span_id, span.start.0
                ));
            }
            lines.push(traces_to_json(&[span]));
        }
    }
    lines
}

fn shuffle(lines: &mut [String], seed: u64) {
    let mut random = Random::new(seed);
    for at in (1..lines.len()).rev() {
        lines.swap(at, random.below(at + 1));
    }
}

/// What is said of each request, in order, when no more than `bound` bytes are held.
fn answer(lines: &[String], bound: usize) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.ndjson");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let limits = Limits {
        max_held_bytes: bound,
        ..Limits::default()
    };
    let gathered =
        files::gather(&[Input::Path(path)], &limits, None, None, &mut |_, _| {}).unwrap();
    assert_eq!(gathered.report().problems, []);
    let spilled = gathered.report().traces.is_empty();
    assert_eq!(spilled, bound < usize::MAX, "{bound}");
    let (policy, typical) = (Policy::default(), Typical::default());
    let work = |trace: Trace| {
        let analysis = analyse(&trace, &policy, &typical);
        analysis.requests.iter().map(json::one).collect()
    };
    let results = gathered.each(work).unwrap();
    assert!(results.is_sorted_by_key(|(key, _)| *key));
    results.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn the_answer_does_not_depend_on_what_is_held_nor_on_the_order_of_lines() {
    let mut lines = lines(6);
    let expected = answer(&lines, usize::MAX);
    assert!(expected.len() > 100, "{}", expected.len());
    let logged = expected.iter().filter(|text| text.contains("1.5"));
    assert!(logged.count() > 100, "the log records are not heard");
    // Parts of one trace, parts that have to be divided again, and parts that fit.
    for (seed, bound) in [(1, 1), (2, 20_000), (3, 400_000), (4, usize::MAX)] {
        shuffle(&mut lines, seed);
        assert_eq!(answer(&lines, bound), expected, "at most {bound} bytes");
    }
}

#[test]
fn a_trace_that_is_larger_than_the_bound_is_held_whole() {
    let mut lines = lines(2);
    let giant = lines[1].clone();
    assert!(giant.contains("resourceSpans"));
    let span = giant.split("\"spanId\":\"").nth(1).unwrap();
    let span = span.split('"').next().unwrap().to_owned();
    for i in 0..3_000_u32 {
        lines.push(giant.replace(&span, &format!("{:016x}", 0xabc0_0000 + i)));
    }
    let expected = answer(&lines, usize::MAX);
    shuffle(&mut lines, 5);
    assert_eq!(answer(&lines, 50_000), expected);
}

#[test]
fn of_one_trace_that_is_asked_for_no_other_is_held() {
    let lines = lines(3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.ndjson");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let inputs = [Input::Path(path)];
    let all = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let ids: BTreeSet<_> = all.traces.iter().map(|trace| trace.id).collect();
    let wanted = &all.traces[7];
    let id = wanted.id.to_string();
    let gathered =
        files::gather(&inputs, &Limits::default(), Some(&id), None, &mut |_, _| {}).unwrap();
    assert_eq!(gathered.report().traces, std::slice::from_ref(wanted));
    assert_eq!(gathered.others(), ids.len() - 1);
}

#[test]
fn what_is_written_does_not_depend_on_what_is_held() {
    let mut lines = lines(3);
    shuffle(&mut lines, 6);
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("lines.ndjson");
    std::fs::write(&input, lines.join("\n")).unwrap();
    for name in ["all.ndjson", "all.pb", "all.jaeger.json", "all.parquet"] {
        let write = |bound: &str| {
            let out = folder.path().join(format!("{bound}-{name}"));
            let output = support::dwindle()
                .env("DWINDLE_MAX_HELD_BYTES", bound)
                .arg("convert")
                .args([&input, Path::new("-o"), &out])
                .output()
                .unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{said}");
            (std::fs::read(out).unwrap(), said.replace(bound, ""))
        };
        let (held, said) = write("1GiB");
        for bound in ["1kB", "50kB"] {
            let (spilled, told) = write(bound);
            assert_eq!(told, said);
            assert!(spilled == held, "{name} at most {bound}");
        }
    }
}
