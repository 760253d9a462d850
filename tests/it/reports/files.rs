//! Section 1, importing files, and section 6, size and text. Rows that are held elsewhere:
//! 5 and 22 (limits) also by `files::compressed_files_and_long_documents_are_capped`, 16 and 17 by
//! `zipkin`, 20 by `files::a_truncated_end_keeps_what_stands_before_it`, 106 by `hostile`.

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{Loaded, load_bytes};
use dwindle::model::{Kind, Note};
use dwindle::otlp::{Limits, traces_to_json};

fn read(text: &str) -> Loaded {
    load_bytes("f", text.as_bytes(), &Limits::default())
}

fn clean(text: &str) -> Loaded {
    let loaded = read(text);
    assert_eq!(loaded.problems, [], "{text}");
    loaded
}

/// A request with one span of these fields.
fn request(fields: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{fields}}}]}}]}}]}}"#)
}

const IDS: &str = r#""traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331""#;

#[test]
fn rows_1_and_2_lines_are_read_one_by_one_and_empty_ids_cost_their_span() {
    let empty = request(r#""traceId":"","spanId":"","name":"no ids""#);
    let loaded = read(&format!("{empty}\n{}\n{empty}\n", request(IDS)));
    assert_eq!((loaded.spans, loaded.rejected), (1, 2));
    let [problem] = &loaded.problems[..] else {
        panic!("{:?}", loaded.problems);
    };
    assert_eq!(problem.line, Some(1));
    assert!(problem.reason.contains("no trace id"), "{problem}");
}

#[test]
fn row_4_a_negative_count_is_none() {
    let fields = format!(r#"{IDS},"droppedAttributesCount":-1,"droppedLinksCount":"-7""#);
    let loaded = clean(&request(&fields));
    let span = &loaded.traces[0].spans[0];
    assert_eq!((span.dropped_attributes, span.dropped_links), (0, 0));
}

#[test]
fn rows_5_and_22_a_line_may_be_long_and_the_limit_is_named() {
    let long = request(&format!(r#"{IDS},"name":"{}""#, "x".repeat(3 << 20)));
    assert_eq!(clean(&format!("{long}\n{}\n", request(IDS))).spans, 2);
    let limits = Limits {
        max_document_bytes: 1 << 20,
        ..Limits::default()
    };
    let loaded = load_bytes("f", long.as_bytes(), &limits);
    let problem = loaded.problems[0].to_string();
    assert!(
        problem.contains("1048576") || problem.contains("1 MiB"),
        "{problem}"
    );
}

#[test]
fn row_7_what_holds_no_traces_says_so() {
    for (text, words) in [
        ("", "file is empty"),
        ("null", "no traces in this file"),
        ("123", "no traces in this file"),
        ("true", "no traces in this file"),
        ("\"string\"", "no traces in this file"),
        ("{}", "no spans"),
        ("[null, 123]", "no spans"),
    ] {
        let loaded = read(text);
        let [problem] = &loaded.problems[..] else {
            panic!("{text}: {:?}", loaded.problems);
        };
        assert!(problem.reason.contains(words), "{text}: {problem}");
    }
}

#[test]
fn row_10_the_content_says_what_a_file_is_and_its_name_nothing() {
    for name in ["trace.otlp.json", "trace.jsonl", "trace.txt", "trace.gz"] {
        let loaded = load_bytes(name, request(IDS).as_bytes(), &Limits::default());
        assert_eq!((loaded.spans, loaded.problems.len()), (1, 0), "{name}");
    }
}

#[test]
fn row_11_kinds_come_by_name_and_number_and_go_out_so_that_they_come_back() {
    let kinds = [
        ("INTERNAL", Kind::Internal),
        ("SERVER", Kind::Server),
        ("CLIENT", Kind::Client),
        ("PRODUCER", Kind::Producer),
        ("CONSUMER", Kind::Consumer),
    ];
    for (number, (name, kind)) in (1..).zip(kinds) {
        for json in [number.to_string(), format!("\"SPAN_KIND_{name}\"")] {
            let loaded = clean(&request(&format!(r#"{IDS},"kind":{json}"#)));
            assert_eq!(loaded.traces[0].spans[0].kind, kind, "{json}");
            let again = clean(&traces_to_json(&loaded.traces[0].spans));
            assert_eq!(again.traces, loaded.traces);
        }
    }
}

#[test]
fn rows_13_and_25_a_bad_key_is_told_and_a_bad_attribute_is_no_fault_of_the_trace() {
    let loaded = read(&request(&format!(r#"{IDS},"kind":[]"#)));
    let problem = loaded.problems[0].to_string();
    assert!(problem.contains("`kind`"), "{problem}");
    let odd = r#""events":[{"name":"e","attributes":[{"key":"k","value":{"what":{}}},7,{"key":"j","value":{"stringValue":"{\"a\":"}}]}]"#;
    let loaded = clean(&request(&format!("{IDS},{odd}")));
    let event = &loaded.traces[0].spans[0].events[0];
    assert_eq!(event.attributes.text("j"), Some("{\"a\":"));
}

#[test]
fn row_14_optional_parts_may_be_missing() {
    let loaded = clean(&request(IDS));
    assert_eq!(loaded.traces[0].spans[0].service(), "unknown_service");
}

#[test]
fn row_8_what_python_prints_is_read() {
    let loaded = clean(
        r#"{"name":"n","context":{"trace_id":"0x0af7651916cd43dd8448eb211c80319c","span_id":"0xb7ad6b7169203331","trace_state":"[]"},"parent_id":null,"start_time":"2026-01-01T00:00:00Z","end_time":"2026-01-01T00:00:01Z"}"#,
    );
    assert_eq!(loaded.spans, 1);
}

#[test]
fn row_16_a_trace_with_made_ids_goes_out_and_comes_back() {
    let loaded = clean(
        r#"[{"traceId":"efe9cb8857f68c8f","id":"efe9cb8857f68c8g","kind":"SERVER"},{"traceId":"efe9cb8857f68c8f","id":"8608dc6ce5cafe8f","parentId":"efe9cb8857f68c8g"}]"#,
    );
    assert_eq!(loaded.replaced_ids, 2);
    let again = clean(&traces_to_json(&loaded.traces[0].spans));
    assert_eq!(again.traces, loaded.traces);
    assert_eq!(again.replaced_ids, 0);
}

#[test]
fn row_17_a_span_of_ids_alone_is_read() {
    let loaded = clean(r#"[{"traceId":"1","id":"2","name":"kong","kind":"SERVER"}]"#);
    assert_eq!((loaded.spans, loaded.traces.len()), (1, 1));
}

#[test]
fn row_19_a_format_is_known_with_and_without_its_wrapper() {
    let span = r#"{"traceId":"1","id":"2","kind":"SERVER","timestamp":5,"duration":1}"#;
    for shape in [format!("[{span}]"), format!(r#"{{"data":[{span}]}}"#)] {
        assert_eq!(clean(&shape).spans, 1);
    }
    let event = r#"{"ph":"X","ts":1,"pid":2,"name":"n"}"#;
    for shape in [
        format!("[{event}]"),
        format!(r#"{{"traceEvents":[{event}]}}"#),
    ] {
        assert!(
            read(&shape).problems[0].reason.contains("Chrome trace"),
            "{shape}"
        );
    }
}

#[test]
fn row_23_a_file_of_logs_or_metrics_says_what_it_holds() {
    for (text, words) in [
        (
            r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{}}]}]}]}"#,
            "(logs)",
        ),
        (
            r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{}]}}]}]}]}"#,
            "(metrics)",
        ),
    ] {
        let loaded = clean(text);
        let told = loaded.skipped[0].to_string();
        assert!(
            told.contains("no traces in this file") && told.contains(words),
            "{told}"
        );
    }
}

#[test]
fn row_107_a_trace_over_the_limit_keeps_what_fits_and_says_how_many_were_dropped() {
    let spans: Vec<String> = (1..=20)
        .map(|i| format!(r#"{{"traceId":"1","id":"{i:x}","timestamp":{i},"duration":1}}"#))
        .collect();
    let loaded = clean(&format!("[{}]", spans.join(",")));
    let policy = Policy {
        max_spans: 15,
        ..Policy::default()
    };
    let analysis = analyse(&loaded.traces[0], &policy, &Typical::default());
    assert_eq!(analysis.requests.iter().map(|r| r.spans).sum::<usize>(), 15);
    assert!(analysis.requests[0].notes.contains(&Note::Truncated(5)));
}

#[test]
fn row_109_shorter_ids_are_padded_on_the_left_in_every_format() {
    let zipkin = r#"{"traceId":"abc","id":"def","name":"z","tags":{}}"#;
    let otlp = request(r#""traceId":"abc","spanId":"def","name":"o""#);
    let jaeger = r#"{"data":[{"traceID":"abc","spans":[{"traceID":"abc","spanID":"def","operationName":"j","startTime":1,"duration":1}],"processes":{}}]}"#;
    for text in [zipkin, &otlp, jaeger] {
        let loaded = clean(text);
        let span = &loaded.traces[0].spans[0];
        assert_eq!(
            span.trace_id.to_string(),
            format!("{:0>32}", "abc"),
            "{text}"
        );
        assert_eq!(
            span.span_id.to_string(),
            format!("{:0>16}", "def"),
            "{text}"
        );
        assert_eq!(loaded.replaced_ids, 0);
    }
}

#[test]
fn row_110_bytes_that_are_no_utf_8_are_replaced_and_the_span_is_kept() {
    let mut bytes = request(&format!(r#"{IDS},"name":"你CUT""#)).into_bytes();
    let place = bytes.windows(3).position(|three| three == b"CUT").unwrap();
    // The first two of the three bytes of another character.
    bytes.splice(place..place + 3, [0xe5, 0xa5]);
    let loaded = load_bytes("f", &bytes, &Limits::default());
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.traces[0].spans[0].name, "你\u{fffd}");
}
