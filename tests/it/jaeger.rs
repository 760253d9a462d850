//! Jaeger's JSON in all its shapes: what becomes of each field, and that a span counts once.

use std::path::Path;

use dwindle::files::{Input, Loaded, load, load_bytes};
use dwindle::model::{Kind, Link, Span, StatusCode, UnixNanos, Value};
use dwindle::otlp::Limits;

use crate::support::corpus;

const TRACE: &str = "5b8efff798038103d269b633813fc60c";

fn read(json: &str) -> Loaded {
    load_bytes("f", json.as_bytes(), &Limits::default())
}

/// Spans of a document without faults, in their order.
fn spans(json: &str) -> Vec<Span> {
    let loaded = read(json);
    assert_eq!(loaded.problems, [], "{json}");
    loaded
        .traces
        .into_iter()
        .flat_map(|trace| trace.spans)
        .collect()
}

fn one(fields: &str) -> Span {
    let json = format!(
        r#"{{"data":[{{"traceID":"{TRACE}","spans":[{{"traceID":"{TRACE}","spanID":"2","operationName":"o","startTime":5,"duration":3,{fields}}}],"processes":{{"p1":{{"serviceName":"cart"}}}}}}]}}"#
    );
    let mut spans = spans(&json);
    assert_eq!(spans.len(), 1, "{json}");
    spans.remove(0)
}

fn text(text: &str) -> Value {
    Value::Str(text.into())
}

fn tags(list: &str) -> Span {
    let tag = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap();
        let kind = match value {
            "true" | "false" => "bool",
            _ if value.parse::<i64>().is_ok() => "int64",
            _ => "string",
        };
        format!(r#"{{"key":"{key}","type":"{kind}","value":"{value}"}}"#)
    };
    let tags: Vec<String> = list.split(' ').map(tag).collect();
    one(&format!(r#""tags":[{}]"#, tags.join(",")))
}

#[test]
fn every_field_of_the_apis_spans_has_its_place() {
    let span = one(
        r#""flags":1,"processID":"p1","references":[{"refType":"CHILD_OF","traceID":"5b8efff798038103d269b633813fc60c","spanID":"00000000000000a1"}],
        "logs":[{"timestamp":7,"fields":[{"key":"event","type":"string","value":"exception"},{"key":"exception.type","type":"string","value":"Timeout"}]},
                {"timestamp":8,"fields":[{"key":"x","type":"int64","value":1},{"key":"otel.dropped_attributes_count","type":"int64","value":2}]}],
        "tags":[{"key":"span.kind","type":"string","value":"server"},{"key":"http.status_code","type":"int64","value":504}],
        "warnings":["clock skew"]"#,
    );
    assert_eq!(span.trace_id.to_string(), TRACE);
    assert_eq!(span.span_id.to_string(), "0000000000000002");
    assert_eq!(span.parent_id.unwrap().to_string(), "00000000000000a1");
    assert_eq!((span.name.as_str(), span.service()), ("o", "cart"));
    assert_eq!((span.start, span.end), (UnixNanos(5000), UnixNanos(8000)));
    assert_eq!(
        (span.kind, span.flags, span.links.len()),
        (Kind::Server, 1, 0)
    );
    let attributes: Vec<_> = span.attributes.iter().collect();
    let warnings = Value::Array(vec![text("clock skew")]);
    let expected = [
        ("http.status_code", &Value::Int(504)),
        ("@jaeger@warnings", &warnings),
    ];
    assert_eq!(attributes, expected);
    let [exception, other] = &span.events[..] else {
        panic!("{:?}", span.events);
    };
    assert_eq!(
        (exception.name.as_str(), exception.time),
        ("exception", UnixNanos(7000))
    );
    assert_eq!(
        exception.attributes.get("exception.type"),
        Some(&text("Timeout"))
    );
    assert_eq!(exception.attributes.len(), 1);
    assert_eq!((other.name.as_str(), other.dropped_attributes), ("", 2));
    assert_eq!(other.attributes.get("x"), Some(&Value::Int(1)));
}

#[test]
fn tags_with_a_meaning_become_what_they_mean() {
    for (kind, expected) in [
        ("client", Kind::Client),
        ("SERVER", Kind::Server),
        ("producer", Kind::Producer),
        ("consumer", Kind::Consumer),
        ("internal", Kind::Internal),
    ] {
        let span = tags(&format!("span.kind={kind}"));
        assert_eq!((span.kind, span.attributes.len()), (expected, 0));
    }
    let odd = tags("span.kind=sidecar");
    assert_eq!((odd.kind, odd.attributes.len()), (Kind::Unspecified, 1));

    for (list, code, message, left) in [
        ("error=true", StatusCode::Error, "", 0),
        ("error=false", StatusCode::Unset, "", 1),
        ("error=timeout", StatusCode::Unset, "", 1),
        (
            "otel.status_code=ERROR otel.status_description=late",
            StatusCode::Error,
            "late",
            0,
        ),
        ("otel.status_code=ok", StatusCode::Ok, "", 0),
        ("otel.status_code=OK error=true", StatusCode::Error, "", 0),
        ("otel.status_code=7", StatusCode::Unset, "", 1),
        (
            "error=true otel.status_description=late",
            StatusCode::Error,
            "late",
            0,
        ),
    ] {
        let span = tags(list);
        assert_eq!(
            (span.status.code, span.status.message.as_str()),
            (code, message),
            "{list}"
        );
        assert_eq!(span.attributes.len(), left, "{list}");
    }
    let span = tags(
        "w3c.tracestate=a:b otel.scope.name=lib otel.scope.version=v2 otel.library.name=lib \
         otel.library.version=v1 otel.dropped_attributes_count=3 otel.dropped_events_count=4 \
         otel.dropped_links_count=5",
    );
    assert_eq!(span.trace_state, "a:b");
    assert_eq!(
        (span.scope.name.as_str(), span.scope.version.as_str()),
        ("lib", "v2")
    );
    let dropped = (
        span.dropped_attributes,
        span.dropped_events,
        span.dropped_links,
    );
    assert_eq!(dropped, (3, 4, 5));
    // The old spelling said something else: it is kept.
    let left: Vec<_> = span.attributes.iter().collect();
    assert_eq!(left, [("otel.library.version", &text("v1"))]);
    let old = tags("otel.library.name=lib");
    assert_eq!((old.scope.name.as_str(), old.attributes.len()), ("lib", 0));
}

#[test]
fn only_a_child_of_reference_into_the_same_trace_is_a_parent() {
    let follows = |span: &str| {
        format!(r#"{{"refType":"FOLLOWS_FROM","traceID":"{TRACE}","spanID":"{span}"}}"#)
    };
    let child = |trace: &str, span: &str| {
        format!(r#"{{"refType":"CHILD_OF","traceID":"{trace}","spanID":"{span}"}}"#)
    };
    let ids = |span: &Span| -> (Option<String>, Vec<String>) {
        let links = span.links.iter().map(|link: &Link| {
            let kind = link.attributes.text("opentracing.ref_type");
            format!("{} {}", link.span_id, kind.unwrap_or("-"))
        });
        (span.parent_id.map(|id| id.to_string()), links.collect())
    };
    let read = |list: &[String], more: &str| {
        ids(&one(&format!(r#""references":[{}]{more}"#, list.join(","))))
    };
    let id = |n: u32| format!("{n:016x}");

    assert_eq!(
        read(&[follows("3")], ""),
        (None, vec![format!("{} -", id(3))])
    );
    assert_eq!(
        read(
            &[
                follows("3"),
                child("ff", "4"),
                child(TRACE, "5"),
                child(TRACE, "6")
            ],
            ""
        ),
        (
            Some(id(5)),
            vec![
                format!("{} -", id(3)),
                format!("{} child_of", id(4)),
                format!("{} child_of", id(6))
            ]
        )
    );
    // A span is no parent of itself, and a zero reference is none at all.
    assert_eq!(
        read(&[child(TRACE, "2"), child(TRACE, "3")], ""),
        (Some(id(3)), vec![format!("{} child_of", id(2))])
    );
    assert_eq!(read(&[child("00", "00")], ""), (None, vec![]));
    // References that name no trace are of the span's own.
    assert_eq!(
        read(&[r#"{"refType":"CHILD_OF","spanID":"3"}"#.to_owned()], ""),
        (Some(id(3)), vec![])
    );
    // The old field says it outright.
    assert_eq!(
        read(&[child(TRACE, "3")], r#","parentSpanID":"3""#),
        (Some(id(3)), vec![])
    );
    assert_eq!(
        read(&[child(TRACE, "3")], r#","parentSpanID":"4""#),
        (Some(id(4)), vec![format!("{} child_of", id(3))])
    );
    assert_eq!(read(&[], r#","parentSpanID":"2""#), (None, vec![]));
    assert_eq!(read(&[], r#","parentSpanID":"""#), (None, vec![]));
}

#[test]
fn wrappers_make_no_difference() {
    let span = |n: u32| {
        format!(
            r#"{{"traceID":"{TRACE}","spanID":"{n}","operationName":"o","startTime":{n},"duration":0,"process":{{"serviceName":"cart","tags":[]}}}}"#
        )
    };
    let [a, b] = [span(1), span(2)];
    let bare = |n: u32| {
        format!(
            r#"{{"spanID":"{n}","operationName":"o","startTime":{n},"duration":0,"processID":"p"}}"#
        )
    };
    let processes = r#""processes":{"p":{"serviceName":"cart","tags":[]}}"#;
    let trace = format!(
        r#"{{"traceID":"{TRACE}","spans":[{},{}],{processes}}}"#,
        bare(1),
        bare(2)
    );
    let first = format!(
        r#"{{{processes},"spans":[{},{}],"traceID":"{TRACE}"}}"#,
        bare(1),
        bare(2)
    );
    let shapes = [
        trace.clone(),
        first,
        format!(r#"{{"data":[{trace}],"total":0,"limit":0,"offset":0,"errors":null}}"#),
        format!(r#"{{"data":{trace}}}"#),
        format!("[{trace}]"),
        format!(r#"{{"traceID":"{TRACE}","spans":[{a},null,{b}]}}"#),
        format!("[{a},{b}]"),
        format!("[{a}\n,{b}]\n"),
        format!("{a}\n{b}\n"),
        format!(
            r#"{{"hits":{{"total":2,"hits":[{{"_index":"jaeger-span-2026-10-07","_source":{a}}},{{"_source":{b}}}]}}}}"#
        ),
        format!("{{\"_source\":{a}}}\n{{\"_source\":{b}}}\n"),
        format!(r#"{{"batch":{{"spans":[{a},{b}],"process":{{"serviceName":"other"}}}}}}"#),
    ];
    let expected = spans(&shapes[0]);
    assert_eq!(expected.len(), 2);
    assert_eq!(expected[0].service(), "cart");
    for json in &shapes {
        assert_eq!(spans(json), expected, "{json}");
    }
}

#[test]
fn a_span_inside_a_reference_is_no_further_span() {
    let inner = format!(
        r#"{{"traceID":"{TRACE}","spanID":"1","operationName":"root","startTime":1,"duration":9,"processID":"p1","references":[]}}"#
    );
    let span = one(&format!(
        r#""processID":"p1","subsidiarilyReferencedBy":[{{"span":{inner}}}],"references":[{{"refType":"CHILD_OF","traceID":"{TRACE}","spanID":"1","span":{inner}}}]"#
    ));
    assert_eq!(span.parent_id.unwrap().to_string(), "0000000000000001");
}

#[test]
fn ids_of_any_text_are_kept_and_short_hex_is_padded() {
    let json = r#"{"data":[{"traceID":"test1-trace","spans":[
        {"spanID":"span-C","operationName":"c","startTime":1,"duration":100,"processID":"p"},
        {"spanID":"span-E","operationName":"e","startTime":50,"duration":10,"processID":"p","references":[{"refType":"CHILD_OF","spanID":"span-C"},{"refType":"FOLLOWS_FROM","traceID":"elsewhere","spanID":"B"}]}
    ],"processes":{"p":{"serviceName":"customers"}}}]}"#;
    let loaded = read(json);
    assert_eq!((loaded.spans, loaded.replaced_ids), (2, 2));
    let [c, e] = &loaded.traces[0].spans[..] else {
        panic!("{:?}", loaded.traces);
    };
    assert_eq!(e.parent_id, Some(c.span_id));
    for (span, key, original) in [
        (c, "dwindle.original_trace_id", "test1-trace"),
        (c, "dwindle.original_span_id", "span-C"),
        (e, "dwindle.original_span_id", "span-E"),
        (e, "dwindle.original_parent_id", "span-C"),
    ] {
        assert_eq!(span.attributes.text(key), Some(original));
    }
    let link = &e.links[0];
    assert_eq!(link.span_id.to_string(), "000000000000000b");
    assert_eq!(
        link.attributes.text("dwindle.original_trace_id"),
        Some("elsewhere")
    );
    assert_eq!(link.attributes.get("dwindle.original_span_id"), None);
    // The same text gives the same id in any file.
    assert_eq!(read(json).traces, loaded.traces);
}

#[test]
fn elasticsearch_documents_have_hex_bytes_and_tags_as_fields() {
    let json = format!(
        r#"{{"traceID":"{TRACE}","spanID":"2","flags":1,"operationName":"o","startTimeMillis":1485467191639,"duration":5,
        "tags":[{{"key":"blob","type":"binary","value":"00003039"}},{{"key":"error","type":"bool","value":"true"}}],
        "tag":{{"http@status_code":504,"span@kind":"client"}},
        "process":{{"serviceName":"cart","tag":{{"host@name":"web-1"}}}}}}"#
    );
    let span = &spans(&json)[0];
    assert_eq!(span.start, UnixNanos(1_485_467_191_639_000_000));
    assert_eq!(
        (span.kind, span.status.code),
        (Kind::Client, StatusCode::Error)
    );
    assert_eq!(
        span.attributes.get("blob"),
        Some(&Value::Bytes(vec![0, 0, 0x30, 0x39]))
    );
    assert_eq!(
        span.attributes.get("http.status_code"),
        Some(&Value::Int(504))
    );
    assert_eq!(span.resource.attributes.text("host.name"), Some("web-1"));
}

#[test]
fn the_protobuf_types_are_read_in_both_spellings() {
    let camel = r#"{"spans":[{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAI=","operationName":"o",
        "startTime":"2017-01-26T16:46:31.639875139-05:00","duration":"5000ns","references":[{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAM="}],
        "tags":[{"key":"n","vType":"INT64","vInt64":"9223372036854775222"}],"processId":"p"}],
        "processMap":[{"processId":"p","process":{"serviceName":"cart"}}]}"#;
    let snake = r#"{"process":{"service_name":"cart","tags":null},"spans":[{"trace_id":"AAAAAAAAAAAAAAAAAAAAAQ==","span_id":"AAAAAAAAAAI=","operation_name":"o",
        "start_time":"2017-01-26T21:46:31.639875139Z","duration":5000,"parent_span_id":3,
        "tags":[{"key":"n","v_type":2,"v_int64":9223372036854775222}]}]}"#;
    let [a, b] = [camel, snake].map(|json| spans(json).remove(0));
    assert_eq!(a.start, UnixNanos(1_485_467_191_639_875_139));
    assert_eq!(a.end.since(a.start).0, 5000);
    assert_eq!(a.span_id.to_string(), "0000000000000002");
    assert_eq!(a.parent_id.unwrap().to_string(), "0000000000000003");
    assert_eq!(
        a.attributes.get("n"),
        Some(&Value::Int(9_223_372_036_854_775_222))
    );
    assert_eq!(a.service(), "cart");
    assert_eq!(a, b);
}

#[test]
fn a_process_is_a_resource() {
    let process = |json: &str| one(&format!(r#""process":{json}"#)).resource;
    let named = process(
        r#"{"serviceName":"cart","tags":[{"key":"service.namespace","type":"string","value":"shop"},{"key":"hostname","type":"string","value":"web-1"}]}"#,
    );
    assert_eq!(named.service, "shop/cart");
    // What Jaeger's clients call the host is one for the clocks, too.
    assert_eq!(named.attributes.text("host.name"), Some("web-1"));
    assert_eq!(
        process(r#"{"serviceName":"OTLPResourceNoServiceName"}"#)
            .attributes
            .len(),
        0
    );
    assert_eq!(process("null").service, "unknown_service");
    assert_eq!(one(r#""processID":"p9""#).service(), "unknown_service");
}

#[test]
fn a_bad_span_costs_itself_and_says_why() {
    let spans = [
        r#"{"traceID":"1","spanID":"1","operationName":"good","startTime":1,"duration":"2"}"#,
        r#"{"traceID":"1","spanID":"0","operationName":"zero","startTime":1,"duration":1}"#,
        r#"{"traceID":"1","spanID":"2","operationName":"when","startTime":"yesterday","duration":1}"#,
        r#"{"traceID":"1","spanID":"3","operationName":"long","startTime":1,"duration":"long"}"#,
        r#"{"traceID":"1","spanID":"4","operationName":"logs","logs":7}"#,
        "7",
        r#"{"traceID":"1","spanID":"5","operationName":"also good"}"#,
    ];
    let json = format!(
        r#"{{"data":[{{"spans":[{}],"processes":{{}}}}]}}"#,
        spans.join(",")
    );
    let loaded = read(&json);
    assert_eq!((loaded.spans, loaded.rejected), (2, 5));
    let [problem] = &loaded.problems[..] else {
        panic!("{:?}", loaded.problems);
    };
    assert_eq!(
        problem.to_string(),
        "f:1: 5 spans rejected; the first: span `zero`, `span id`: no span id"
    );
    let names: Vec<&str> = loaded.traces[0]
        .spans
        .iter()
        .map(|span| span.name.as_str())
        .collect();
    assert_eq!(names, ["good", "also good"]);
}

#[test]
fn a_reply_without_traces_is_no_fault() {
    let loaded = read(r#"{"data":[],"total":0,"limit":0,"offset":0,"errors":null}"#);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.skipped.len(), 1);
    assert_eq!(
        loaded.skipped[0].to_string(),
        "f: its lists of spans are empty"
    );
}

/// Files of the corpus with the spans and traces in each: records as they stand in the files.
const CORPUS: &[(&str, u64, usize)] = &[
    ("jaeger-es/jaeger-es_01-string-tags.json", 1, 1),
    ("jaeger-proto/contrib-jaegerproto_batch_01.json", 1, 1),
    ("jaeger-proto/contrib-jaegerproto_batch_02.json", 3, 1),
    ("jaeger-proto/jaeger-ui-converter-domain_01.json", 5, 1),
    ("issues/jaeger-ui-821-self-reference.json", 1, 1),
    ("jaeger/buildx-buildkit-jaeger.json", 73, 1),
    ("jaeger/dsb-socialnetwork-compose-20traces.json", 660, 20),
    ("nezha/tt-1207-netdelay-basic.jaeger.json", 2441, 40),
    ("nezha/tt-1345-netdelay-route.jaeger.json", 3039, 44),
];

fn corpus_file(corpus: &Path, name: &str) -> Loaded {
    let input = [Input::Path(corpus.join("traces").join(name))];
    let loaded = load(&input, &Limits::default(), &mut |_, _| {});
    assert_eq!(loaded.problems, [], "{name}");
    loaded
}

#[test]
fn real_files_hold_what_their_log_counts() {
    let Some(corpus) = corpus() else { return };
    for &(name, spans, traces) in CORPUS {
        let loaded = corpus_file(&corpus, name);
        assert_eq!(
            (loaded.spans, loaded.traces.len()),
            (spans, traces),
            "{name}"
        );
    }
}

#[test]
fn the_real_spans_that_others_stumbled_over_come_out_right() {
    let Some(corpus) = corpus() else { return };
    let spans = |name: &str| -> Vec<Span> {
        let traces = corpus_file(&corpus, name).traces;
        traces.into_iter().flat_map(|trace| trace.spans).collect()
    };
    // Two CHILD_OF references, the second to the span itself.
    let own = spans("issues/jaeger-ui-821-self-reference.json").remove(0);
    assert!(own.parent_id.is_some_and(|parent| parent != own.span_id));
    assert_eq!(own.links.len(), 1);

    // The first CHILD_OF goes to another trace, the second is the parent, FOLLOWS_FROM a link.
    let all = spans("jaeger/jaeger-ui-converter-ui_01.json");
    let test = all
        .iter()
        .find(|span| span.name == "reference-test")
        .unwrap();
    assert_eq!(test.parent_id.unwrap().to_string(), "0000000000000002");
    assert_eq!(test.links.len(), 2);
    let roots = all.iter().filter(|span| span.parent_id.is_none());
    assert_eq!(roots.count(), 2);
    let values = all[1].attributes.iter().collect::<Vec<_>>();
    assert!(
        values.contains(&("blob", &Value::Bytes(vec![0, 0, 48, 57]))),
        "{values:?}"
    );
    // The same trace from the model that it was converted from: times to the nanosecond.
    let domain = spans("jaeger-proto/jaeger-ui-converter-domain_01.json");
    let shape = |span: &Span| {
        (
            span.span_id,
            span.parent_id,
            span.name.clone(),
            span.links.len(),
        )
    };
    assert!(all.iter().map(shape).eq(domain.iter().map(shape)));
    assert_eq!(domain[0].start.0 - all[0].start.0, 139);

    // A reference to the zero span is none.
    let zero = spans("jaeger/buildx-buildkit-jaeger.json");
    assert!(zero.iter().all(|span| span.links.is_empty()));
}
