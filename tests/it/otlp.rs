//! OTLP both ways: what is read, what is rejected, and that nothing is lost on the way round.

use std::sync::Arc;

use dwindle::model::{
    Attributes, Event, Kind, Link, Resource, Scope, Span, SpanId, Status, StatusCode, Text,
    TraceId, UnixNanos, Value,
};
use dwindle::otlp::{
    DecodeError, Decoded, Limits, Reject, logs_from_json, logs_from_proto, logs_from_request,
    logs_to_proto, metrics_count_from_json, metrics_count_from_proto, metrics_count_from_request,
    traces_from_json, traces_from_proto, traces_from_request, traces_to_json, traces_to_proto,
};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics,
    metric,
};
use proptest::prelude::*;
use prost::Message;

const TRACE: &str = "5b8efff798038103d269b633813fc60c";
const SPAN: &str = "eee19b7ec3c1b174";

/// A request of one span with these fields after its ids.
fn one(fields: &str) -> String {
    spans(&format!(
        r#"{{"traceId":"{TRACE}","spanId":"{SPAN}",{fields}}}"#
    ))
}

fn spans(list: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{list}]}}]}}]}}"#)
}

fn read(json: &str) -> Decoded {
    traces_from_json(json.as_bytes(), &Limits::default()).unwrap()
}

/// The only span of a request.
fn only(json: &str) -> Span {
    let decoded = read(json);
    assert_eq!(decoded.rejected, [], "{json}: {:?}", decoded.first_error);
    assert_eq!(decoded.spans.len(), 1, "{json}");
    decoded.spans.into_iter().next().unwrap()
}

fn value(json: &str) -> Value {
    let span = only(&one(&format!(
        r#""attributes":[{{"key":"k","value":{json}}}]"#
    )));
    span.attributes.get("k").cloned().unwrap()
}

#[test]
fn every_field_of_a_span_is_read_in_either_case() {
    let camel = format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"cart"}}}}],"droppedAttributesCount":1}},
        "scopeSpans":[{{"scope":{{"name":"lib","version":"2","attributes":[],"droppedAttributesCount":3}},"spans":[{{
        "traceId":"{TRACE}","spanId":"{SPAN}","parentSpanId":"eee19b7ec3c1b173","traceState":"a=b","flags":257,"name":"GET /",
        "kind":"SPAN_KIND_SERVER","startTimeUnixNano":"1544712660000000001","endTimeUnixNano":1544712661000000002,
        "attributes":[{{"key":"a","value":{{"boolValue":true}}}}],"droppedAttributesCount":4,
        "events":[{{"timeUnixNano":"7","name":"e","attributes":[],"droppedAttributesCount":5}}],"droppedEventsCount":6,
        "links":[{{"traceId":"{TRACE}","spanId":"{SPAN}","traceState":"c=d","flags":1,"attributes":[],"droppedAttributesCount":8}}],"droppedLinksCount":9,
        "status":{{"code":2,"message":"no"}}}}],"schemaUrl":"scope-schema"}}],"schemaUrl":"resource-schema"}}]}}"#
    );
    let snake = [
        ("resourceSpans", "resource_spans"),
        ("scopeSpans", "scope_spans"),
        ("stringValue", "string_value"),
        ("boolValue", "bool_value"),
        ("droppedAttributesCount", "dropped_attributes_count"),
        ("droppedEventsCount", "dropped_events_count"),
        ("droppedLinksCount", "dropped_links_count"),
        ("traceId", "trace_id"),
        ("parentSpanId", "parent_span_id"),
        ("spanId", "span_id"),
        ("traceState", "trace_state"),
        ("startTimeUnixNano", "start_time_unix_nano"),
        ("endTimeUnixNano", "end_time_unix_nano"),
        ("timeUnixNano", "time_unix_nano"),
        ("schemaUrl", "schema_url"),
    ]
    .iter()
    .fold(camel.clone(), |json, (from, to)| json.replace(from, to));

    let span = only(&camel);
    let mut resource = Resource::new(
        [("service.name", Value::Str("cart".into()))]
            .into_iter()
            .collect(),
    );
    resource.dropped_attributes = 1;
    resource.schema_url = "resource-schema".into();
    let expected = Span {
        trace_id: TRACE.parse().unwrap(),
        span_id: SPAN.parse().unwrap(),
        parent_id: Some("eee19b7ec3c1b173".parse().unwrap()),
        trace_state: "a=b".into(),
        flags: 257,
        name: "GET /".into(),
        kind: Kind::Server,
        start: UnixNanos(1_544_712_660_000_000_001),
        end: UnixNanos(1_544_712_661_000_000_002),
        attributes: [("a", Value::Bool(true))].into_iter().collect(),
        dropped_attributes: 4,
        events: vec![Event {
            time: UnixNanos(7),
            name: "e".into(),
            attributes: Attributes::default(),
            dropped_attributes: 5,
        }],
        dropped_events: 6,
        links: vec![Link {
            trace_id: TRACE.parse().unwrap(),
            span_id: SPAN.parse().unwrap(),
            trace_state: "c=d".into(),
            flags: 1,
            attributes: Attributes::default(),
            dropped_attributes: 8,
        }],
        dropped_links: 9,
        status: Status {
            code: StatusCode::Error,
            message: "no".into(),
        },
        resource: Arc::new(resource),
        scope: Arc::new(Scope {
            name: "lib".into(),
            version: "2".into(),
            attributes: Attributes::default(),
            dropped_attributes: 3,
            schema_url: "scope-schema".into(),
        }),
    };
    assert_eq!(span, expected);
    assert_eq!(only(&snake), expected);
}

#[test]
fn values_of_every_type_are_read_as_string_and_as_number() {
    for (json, expected) in [
        (r#"{"stringValue":"x"}"#, Value::Str("x".into())),
        (
            r#"{"intValue":"-9223372036854775808"}"#,
            Value::Int(i64::MIN),
        ),
        (r#"{"intValue":5}"#, Value::Int(5)),
        (
            r#"{"intValue":1.587e15}"#,
            Value::Int(1_587_000_000_000_000),
        ),
        (r#"{"int_value":"7"}"#, Value::Int(7)),
        (r#"{"intValue":"seven"}"#, Value::Str("seven".into())),
        (r#"{"doubleValue":2}"#, Value::Double(2.0)),
        (
            r#"{"doubleValue":"-Infinity"}"#,
            Value::Double(f64::NEG_INFINITY),
        ),
        (r#"{"boolValue":"TRUE"}"#, Value::Bool(true)),
        (r#"{"bytesValue":"AQID"}"#, Value::Bytes(vec![1, 2, 3])),
        (r#"{"bytesValue":""}"#, Value::Bytes(vec![])),
        (r#"{"bytesValue":"-_8"}"#, Value::Bytes(vec![0xfb, 0xff])),
        ("{}", Value::Empty),
        ("null", Value::Empty),
        (r#"{"stringValue":null}"#, Value::Empty),
        (r#"{"futureValue":{"a":[1]}}"#, Value::Empty),
        (r#""bare""#, Value::Str("bare".into())),
        ("12", Value::Int(12)),
        (r#"{"arrayValue":{}}"#, Value::Array(vec![])),
        (r#"{"arrayValue":{"values":null}}"#, Value::Array(vec![])),
        (
            r#"{"arrayValue":{"values":[{"intValue":"1"},{},{"arrayValue":{"values":[{"boolValue":false}]}}]}}"#,
            Value::Array(vec![
                Value::Int(1),
                Value::Empty,
                Value::Array(vec![Value::Bool(false)]),
            ]),
        ),
        (
            r#"{"kvlistValue":{"values":[{"key":"a","value":{"kvlistValue":{"values":[{"key":"b"}]}}}]}}"#,
            Value::Map(
                [("a", Value::Map([("b", Value::Empty)].into_iter().collect()))]
                    .into_iter()
                    .collect(),
            ),
        ),
    ] {
        assert_eq!(value(json), expected, "{json}");
    }
    assert!(matches!(value(r#"{"doubleValue":"NaN"}"#), Value::Double(nan) if nan.is_nan()));
}

#[test]
fn what_is_left_out_null_or_unknown_costs_nothing() {
    let span = only(&one(
        r#""parentSpanId":"","name":null,"kind":null,"attributes":null,"events":null,"links":null,"status":null,
        "droppedAttributesCount":-1,"droppedEventsCount":null,"future":[{"a":"\ud83d"}]"#,
    ));
    assert_eq!(span.parent_id, None);
    assert_eq!(span.kind, Kind::Unspecified);
    assert_eq!(span.dropped_attributes, 0);
    assert_eq!(
        only(&one(r#""parentSpanId":"0000000000000000""#)).parent_id,
        None
    );
    for nothing in [
        "{}",
        r#"{"resourceSpans":null}"#,
        r#"{"resourceSpans":[{}]}"#,
        r#"{"resourceSpans":[null,1,{"scopeSpans":[{"scope":{},"spans":null}]}]}"#,
        r#"{"resourceSpans":{}}"#,
    ] {
        assert_eq!(read(nothing), Decoded::default(), "{nothing}");
    }
}

#[test]
fn the_names_of_2021_are_read_beside_todays() {
    let span = |id: u32| format!(r#"{{"traceId":"{TRACE}","spanId":"00000000000000{id:02x}"}}"#);
    let json = format!(
        r#"{{"resourceSpans":[{{"instrumentationLibrarySpans":[{{"instrumentationLibrary":{{"name":"old"}},"spans":[{}]}}],
        "scopeSpans":[{{"spans":[{}],"scope":{{"name":"new"}}}}],
        "resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"late"}}}}]}}}}]}}"#,
        span(1),
        span(2)
    );
    let decoded = read(&json);
    let seen: Vec<_> = decoded
        .spans
        .iter()
        .map(|span| (span.scope.name.as_str(), span.service()))
        .collect();
    assert_eq!(seen, [("old", "late"), ("new", "late")]);
}

#[test]
fn one_bad_span_is_rejected_with_its_reason_and_the_rest_kept() {
    let good = format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}"}}"#);
    let deep = format!(
        "{}1{}",
        r#"{"arrayValue":{"values":["#.repeat(40),
        "]}}".repeat(40)
    );
    for (bad, why) in [
        (format!(r#"{{"spanId":"{SPAN}"}}"#), Reject::ZeroTraceId),
        (
            format!(r#"{{"traceId":"00000000000000000000000000000000","spanId":"{SPAN}"}}"#),
            Reject::ZeroTraceId,
        ),
        (format!(r#"{{"traceId":"{TRACE}"}}"#), Reject::ZeroSpanId),
        (
            format!(r#"{{"traceId":"zzz","spanId":"{SPAN}"}}"#),
            Reject::TraceId,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":"child-span-001"}}"#),
            Reject::SpanId,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":{{}}}}"#),
            Reject::SpanId,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}","parentSpanId":"!"}}"#),
            Reject::ParentId,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}","startTimeUnixNano":"noon"}}"#),
            Reject::Field,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}","startTimeUnixNano":-5}}"#),
            Reject::Field,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}","attributes":7}}"#),
            Reject::Field,
        ),
        (
            format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}","name":["x"]}}"#),
            Reject::Field,
        ),
        ("17".to_owned(), Reject::Field),
        (
            format!(
                r#"{{"traceId":"{TRACE}","spanId":"{SPAN}","attributes":[{{"key":"k","value":{deep}}}]}}"#
            ),
            Reject::TooDeep,
        ),
    ] {
        let decoded = read(&spans(&format!("{good},{bad},{good}")));
        assert_eq!(decoded.spans.len(), 2, "{bad}");
        assert_eq!(decoded.rejected, [(why, 1)], "{bad}");
        assert_eq!(decoded.received, 3);
        assert!(decoded.first_error.is_some(), "{bad}");
    }
}

#[test]
fn a_link_without_ids_is_counted_as_dropped() {
    let span = only(&one(
        r#""links":[{"traceId":"zzz","spanId":"1"},{}],"droppedLinksCount":2"#,
    ));
    assert_eq!((span.links.len(), span.dropped_links), (1, 3));
}

#[test]
fn bytes_that_are_no_message_are_an_error_with_its_place() {
    let limits = Limits::default();
    let error = |json: &str| {
        traces_from_json(json.as_bytes(), &limits)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("{\"resourceSpans\":\n  [}"),
        "not JSON: expected a value at line 2, column 4"
    );
    assert_eq!(
        error("{} {}"),
        "not JSON: something stands behind the message at line 1, column 4"
    );
    assert_eq!(error("[]"), "not an OTLP message: expected a JSON object");
    assert_eq!(
        error(""),
        "not JSON: the document is cut off at line 1, column 1"
    );
    let small = Limits {
        max_message_bytes: 10,
        ..limits
    };
    let large = traces_from_json(b"{          }", &small);
    assert_eq!(large, Err(DecodeError::TooLarge { got: 12, limit: 10 }));
    assert!(matches!(
        traces_from_proto(&[0; 12], &small),
        Err(DecodeError::TooLarge { .. })
    ));
    assert!(matches!(
        traces_from_proto(b"\x0a\xff", &Limits::default()),
        Err(DecodeError::Proto(_))
    ));
}

#[test]
fn text_that_is_no_utf_8_becomes_replacement_characters() {
    let json = one(r#""name":"a?b""#).replace('?', "\u{1}").into_bytes();
    let json: Vec<u8> = json
        .into_iter()
        .map(|b| if b == 1 { 0xff } else { b })
        .collect();
    let decoded = traces_from_json(&json, &Limits::default()).unwrap();
    assert_eq!(decoded.spans[0].name, "a\u{fffd}b");
}

#[test]
fn deep_values_are_read_up_to_the_limit_in_both_encodings() {
    let nested = |levels: usize| {
        (0..levels).fold(Value::Int(1), |inner, level| match level % 2 {
            0 => Value::Array(vec![inner]),
            _ => Value::Map([("k", inner)].into_iter().collect()),
        })
    };
    let limits = Limits::default();
    for (levels, good) in [(limits.max_depth, true), (limits.max_depth + 1, false)] {
        let mut span = only(&one(r#""name":"deep""#));
        span.attributes = [("v", nested(levels))].into_iter().collect();
        let spans = [span];
        let json = traces_from_json(traces_to_json(&spans).as_bytes(), &limits).unwrap();
        let proto = traces_from_proto(&traces_to_proto(&spans).encode_to_vec(), &limits).unwrap();
        let request = traces_from_request(traces_to_proto(&spans), &limits);
        for decoded in [json, proto, request] {
            if good {
                assert_eq!(decoded.spans, spans);
            } else {
                assert_eq!(decoded.rejected, [(Reject::TooDeep, 1)]);
            }
        }
    }
    // Far beyond any limit: no stack is harmed, and the neighbours live.
    let deep = format!(
        r#"{{"attributes":[{{"key":"k","value":{}{}}}]}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let good = format!(r#"{{"traceId":"{TRACE}","spanId":"{SPAN}"}}"#);
    let decoded = read(&spans(&format!("{deep},{good}")));
    assert_eq!(
        (decoded.spans.len(), decoded.rejected),
        (1, vec![(Reject::TooDeep, 1)])
    );
}

#[test]
fn a_span_whose_bytes_are_broken_does_not_cost_its_batch() {
    let good = only(&one(r#""name":"MARKED""#));
    let bytes = traces_to_proto(&[good.clone(), good.clone(), good.clone()]).encode_to_vec();
    let place = bytes
        .windows(6)
        .position(|window| window == b"MARKED")
        .unwrap();
    let mut broken = bytes.clone();
    broken[place] = 0xff; // No UTF-8 begins like this.
    let decoded = traces_from_proto(&broken, &Limits::default()).unwrap();
    assert_eq!(decoded.spans.len(), 2);
    assert_eq!(decoded.rejected, [(Reject::Malformed, 1)]);

    let mut request = traces_to_proto(&[good.clone(), good.clone()]);
    request.resource_spans[0].scope_spans[0].spans[0].span_id = vec![1; 7];
    let decoded = traces_from_request(request, &Limits::default());
    assert_eq!(decoded.spans, [good]);
    assert_eq!(decoded.rejected, [(Reject::SpanId, 1)]);
}

#[test]
fn equal_resources_are_kept_once() {
    let span = |id: u8| {
        let mut span = only(&one(r#""name":"x""#));
        span.span_id = SpanId([id; 8]);
        span.resource = Arc::new(Resource::new(
            [("service.name", Value::Int(1))].into_iter().collect(),
        ));
        span.scope = Arc::new(Scope {
            name: id.to_string().into(),
            ..Scope::default()
        });
        span
    };
    let spans = [span(1), span(2), span(1)];
    let entries: Vec<String> = spans
        .iter()
        .map(|span| {
            let json = traces_to_json(std::slice::from_ref(span));
            json.strip_prefix(r#"{"resourceSpans":["#)
                .unwrap()
                .strip_suffix("]}")
                .unwrap()
                .to_owned()
        })
        .collect();
    let json = read(&format!(r#"{{"resourceSpans":[{}]}}"#, entries.join(",")));
    let bytes: Vec<u8> = spans
        .iter()
        .flat_map(|span| traces_to_proto(std::slice::from_ref(span)).encode_to_vec())
        .collect();
    let proto = traces_from_proto(&bytes, &Limits::default()).unwrap();
    for decoded in [json, proto] {
        assert_eq!(decoded.spans, spans);
        let [a, b, c] = &decoded.spans[..] else {
            panic!()
        };
        assert!(Arc::ptr_eq(&a.resource, &b.resource) && Arc::ptr_eq(&a.scope, &c.scope));
        assert!(!Arc::ptr_eq(&a.scope, &b.scope));
    }
}

#[test]
fn log_records_of_spans_are_kept_and_others_counted() {
    let json = format!(
        r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[
        {{"traceId":"{TRACE}","spanId":"{SPAN}","observedTimeUnixNano":"9","body":{{"stringValue":"x"}},"attributes":[{{"key":"deadline.local_ms","value":{{"intValue":5}}}}]}},
        {{"traceId":"{TRACE}","spanId":"{SPAN}","body":{{"intValue":"1"}}}},
        {{"attributes":[{{"key":"a","value":{{}}}}]}},
        {{"traceId":"xx","spanId":"{SPAN}"}}]}}]}}]}}"#
    );
    let expected = [
        (Reject::LogWithoutSpan, 1),
        (Reject::LogWithoutAttributes, 1),
        (Reject::LogUnreadable, 1),
    ];
    let limits = Limits::default();
    let json = logs_from_json(json.as_bytes(), &limits).unwrap();

    let id = |bytes: &[u8]| bytes.to_vec();
    let attribute = KeyValue {
        key: "deadline.local_ms".to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::IntValue(5)),
        }),
        ..KeyValue::default()
    };
    let trace_id = id(&TRACE.parse::<TraceId>().unwrap().0);
    let span_id = id(&SPAN.parse::<SpanId>().unwrap().0);
    let kept = LogRecord {
        trace_id: trace_id.clone(),
        span_id: span_id.clone(),
        observed_time_unix_nano: 9,
        attributes: vec![attribute],
        ..LogRecord::default()
    };
    let request = ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs: vec![ScopeLogs {
                log_records: vec![
                    kept.clone(),
                    LogRecord {
                        attributes: vec![],
                        ..kept.clone()
                    },
                    LogRecord {
                        trace_id: vec![],
                        ..kept.clone()
                    },
                    LogRecord {
                        trace_id: vec![1],
                        ..kept
                    },
                ],
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    };
    let proto = logs_from_proto(&request.encode_to_vec(), &limits).unwrap();
    let request = logs_from_request(request, &limits);
    for decoded in [json, proto, request] {
        assert_eq!(decoded.rejected, expected);
        assert_eq!(decoded.received, 4);
        let [log] = &decoded.logs[..] else {
            panic!("{decoded:?}")
        };
        assert_eq!(
            (log.span_id, log.time),
            (SPAN.parse().unwrap(), UnixNanos(9))
        );
        assert_eq!(
            log.attributes.get("deadline.local_ms"),
            Some(&Value::Int(5))
        );
    }
}

#[test]
fn the_text_of_a_log_record_is_kept_whatever_it_stands_in() {
    let record = |body: &str| {
        format!(
            r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"traceId":"{TRACE}","spanId":"{SPAN}","body":{body}}}]}}]}}]}}"#
        )
    };
    let limits = Limits::default();
    let text = "Task timed out after 3.00 seconds";
    let part = r#"{"key":"message","value":{"stringValue":"Task timed out after 3.00 seconds"}}"#;
    for body in [
        format!(r#"{{"stringValue":"{text}"}}"#),
        format!(r#"{{"kvlistValue":{{"values":[{part}]}}}}"#),
        format!(r#""{text}""#),
    ] {
        let decoded = logs_from_json(record(&body).as_bytes(), &limits).unwrap();
        assert_eq!(decoded.logs[0].body, text, "{body}");
        let again = logs_from_request(logs_to_proto(&decoded.logs), &limits);
        assert_eq!(again.logs, decoded.logs);
    }
    let long = format!(r#"{{"stringValue":"{}"}}"#, "é".repeat(5000));
    let decoded = logs_from_json(record(&long).as_bytes(), &limits).unwrap();
    assert_eq!(decoded.logs[0].body.len(), 2048);
    // A body that is no text, or nested too deep, costs the record nothing but itself.
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for body in ["{}", "5", &deep] {
        let decoded = logs_from_json(record(body).as_bytes(), &limits).unwrap();
        let expected = [(Reject::LogWithoutAttributes, 1)];
        assert_eq!(decoded.rejected, expected, "{body}");
    }
}

#[test]
fn data_points_of_metrics_are_counted() {
    let point = NumberDataPoint::default();
    let metric = |data| Metric {
        data: Some(data),
        ..Metric::default()
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![ScopeMetrics {
                metrics: vec![
                    metric(metric::Data::Gauge(Gauge {
                        data_points: vec![point.clone(), point],
                    })),
                    metric(metric::Data::Histogram(Histogram {
                        data_points: vec![HistogramDataPoint::default()],
                        ..Histogram::default()
                    })),
                ],
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    };
    let limits = Limits::default();
    assert_eq!(metrics_count_from_request(&request), 3);
    assert_eq!(
        metrics_count_from_proto(&request.encode_to_vec(), &limits),
        Ok(3)
    );
    let json = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{},{}]}},{"histogram":{"dataPoints":[{}],"aggregationTemporality":1}}]}]}]}"#;
    assert_eq!(metrics_count_from_json(json.as_bytes(), &limits), Ok(3));
}

/// The parser takes what `serde_json` takes and refuses what it refuses.
#[test]
fn json_is_read_as_serde_json_reads_it() {
    let seeds = [
        one(
            r#""name":"q\"\\\/\b\u00e9\ud83d\ude00 é","attributes":[{"key":"k","value":{"doubleValue":-1.5e-3}}],"x":[true,false,null,{},[]]"#,
        ),
        r#"{"a":[0,-0,10,1.0,1e5,1E+5,-1.25e-7],"b":"\u0041","c":{"d":{"e":[[],[[]]]}}}"#
            .to_owned(),
    ];
    let limits = Limits::default();
    let mut random = crate::support::Random::new(7);
    let mut both = [0; 2];
    for round in 0..60_000 {
        let mut bytes = seeds[round % seeds.len()].clone().into_bytes();
        for _ in 0..=random.below(2) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at + 1),
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.insert(at, b"{}[]\",:0e-.\\u tn"[random.below(16)]),
                _ => bytes[at] = random.below(128) as u8,
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let ours = !matches!(
            traces_from_json(text.as_bytes(), &limits),
            Err(DecodeError::Json { .. })
        );
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        assert_eq!(ours, theirs, "{text}");
        both[usize::from(ours)] += 1;
    }
    assert!(both.iter().all(|count| *count > 5_000), "{both:?}");
}

fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        4 => "[a-z._]{0,12}",
        2 => "\\PC{0,30}",
        1 => Just("quote \" backslash \\ tab \t newline \n nul \0 del \u{7f} \u{2028} \u{1f600}".to_owned()),
    ]
    .prop_map(Text::from)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Empty),
        text().prop_map(Value::Str),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("NaN is not itself", |double| !double.is_nan())
            .prop_map(Value::Double),
        prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)]
            .prop_map(Value::Double),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|pairs| Value::Map(pairs.into_iter().collect())),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    prop::collection::vec((text(), any_value()), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unspecified),
        Just(Kind::Internal),
        Just(Kind::Server),
        Just(Kind::Client),
        Just(Kind::Producer),
        Just(Kind::Consumer),
        (6..i32::MAX).prop_map(Kind::Other),
        (i32::MIN..0).prop_map(Kind::Other),
    ]
}

fn status() -> impl Strategy<Value = Status> {
    let code = prop_oneof![
        Just(StatusCode::Unset),
        Just(StatusCode::Ok),
        Just(StatusCode::Error),
        (3..i32::MAX).prop_map(StatusCode::Other),
    ];
    (code, text()).prop_map(|(code, message)| Status { code, message })
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u64>(), text(), attributes(), any::<u32>()).prop_map(
        |(time, name, attributes, dropped_attributes)| Event {
            time: UnixNanos(time),
            name,
            attributes,
            dropped_attributes,
        },
    )
}

fn link() -> impl Strategy<Value = Link> {
    (
        any::<[u8; 16]>(),
        any::<[u8; 8]>(),
        text(),
        any::<u32>(),
        attributes(),
        any::<u32>(),
    )
        .prop_map(
            |(trace_id, span_id, trace_state, flags, attributes, dropped_attributes)| Link {
                trace_id: TraceId(trace_id),
                span_id: SpanId(span_id),
                trace_state,
                flags,
                attributes,
                dropped_attributes,
            },
        )
}

fn resource() -> impl Strategy<Value = Arc<Resource>> {
    (attributes(), any::<u32>(), text()).prop_map(|(attributes, dropped, schema_url)| {
        let mut resource = Resource::new(attributes);
        resource.dropped_attributes = dropped;
        resource.schema_url = schema_url;
        Arc::new(resource)
    })
}

fn scope() -> impl Strategy<Value = Arc<Scope>> {
    (text(), text(), attributes(), any::<u32>(), text()).prop_map(
        |(name, version, attributes, dropped_attributes, schema_url)| {
            Arc::new(Scope {
                name,
                version,
                attributes,
                dropped_attributes,
                schema_url,
            })
        },
    )
}

fn span(resources: Vec<Arc<Resource>>, scopes: Vec<Arc<Scope>>) -> impl Strategy<Value = Span> {
    let ids = (
        any::<[u8; 16]>().prop_filter("zero is no id", |id| *id != [0; 16]),
        any::<[u8; 8]>().prop_filter("zero is no id", |id| *id != [0; 8]),
        prop::option::of(any::<[u8; 8]>().prop_filter("zero is no id", |id| *id != [0; 8])),
    );
    let lists = (
        attributes(),
        prop::collection::vec(event(), 0..3),
        prop::collection::vec(link(), 0..3),
    );
    let numbers = any::<(u32, u64, u64, u32, u32, u32)>();
    let around = (
        prop::sample::select(resources),
        prop::sample::select(scopes),
    );
    (
        ids,
        text(),
        text(),
        kind(),
        status(),
        lists,
        numbers,
        around,
    )
        .prop_map(
            |(ids, trace_state, name, kind, status, lists, numbers, around)| Span {
                trace_id: TraceId(ids.0),
                span_id: SpanId(ids.1),
                parent_id: ids.2.map(SpanId),
                trace_state,
                flags: numbers.0,
                name,
                kind,
                start: UnixNanos(numbers.1),
                end: UnixNanos(numbers.2),
                attributes: lists.0,
                dropped_attributes: numbers.3,
                events: lists.1,
                dropped_events: numbers.4,
                links: lists.2,
                dropped_links: numbers.5,
                status,
                resource: around.0,
                scope: around.1,
            },
        )
}

/// Spans of every shape that the model has.
pub(crate) fn batch() -> impl Strategy<Value = Vec<Span>> {
    let around = (
        prop::collection::vec(resource(), 1..3),
        prop::collection::vec(scope(), 1..3),
    );
    around.prop_flat_map(|(resources, scopes)| {
        let none = (Arc::<Resource>::default(), Arc::<Scope>::default());
        let resources = resources.into_iter().chain([none.0]).collect();
        let scopes = scopes.into_iter().chain([none.1]).collect();
        prop::collection::vec(span(resources, scopes), 0..6)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back_in_both_encodings(spans in batch()) {
        let limits = Limits::default();
        let request = traces_to_proto(&spans);
        let bytes = request.encode_to_vec();
        let json = traces_to_json(&spans);
        let expected = Decoded { received: spans.len() as u64, spans, ..Decoded::default() };
        prop_assert_eq!(&traces_from_proto(&bytes, &limits).unwrap(), &expected);
        prop_assert_eq!(&traces_from_request(request, &limits), &expected);
        prop_assert_eq!(&traces_from_json(json.as_bytes(), &limits).unwrap(), &expected);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }
}

/// A value of the generated types that the model has no place for is empty, and no reason to
/// lose a span.
#[test]
fn an_index_into_a_table_of_strings_is_an_empty_value() {
    let mut request = traces_to_proto(&[only(&one(r#""name":"x""#))]);
    let index = AnyValue {
        value: Some(any_value::Value::StringValueStrindex(3)),
    };
    request.resource_spans[0].scope_spans[0].spans[0].attributes = vec![KeyValue {
        key: "k".to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::ArrayValue(ArrayValue {
                values: vec![index],
            })),
        }),
        ..KeyValue::default()
    }];
    let decoded = traces_from_request(request, &Limits::default());
    assert_eq!(
        decoded.spans[0].attributes.get("k"),
        Some(&Value::Array(vec![Value::Empty]))
    );
}
