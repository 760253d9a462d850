//! What the Go and Python SDKs print.

use dwindle::model::{Kind, StatusCode, Value};

use crate::support::{one, read, spans};

const GO: &str = r#"{
    "Name": "GET /orders",
    "SpanContext": {"TraceID": "0102030405060708090a0b0c0d0e0f10", "SpanID": "0102030405060708", "TraceFlags": "01", "TraceState": "a=b", "Remote": false},
    "Parent": {"TraceID": "0102030405060708090a0b0c0d0e0f10", "SpanID": "1112131415161718", "TraceFlags": "01", "TraceState": "", "Remote": true},
    "SpanKind": 2,
    "StartTime": "2024-01-12T15:57:40.147265775+01:00",
    "EndTime": "2024-01-12T14:57:40.147265999Z",
    "Attributes": [
        {"Key": "text", "Value": {"Type": "STRING", "Value": "x"}},
        {"Key": "int", "Value": {"Type": "INT64", "Value": 4}},
        {"Key": "float", "Value": {"Type": "FLOAT64", "Value": 4}},
        {"Key": "flag", "Value": {"Type": "BOOL", "Value": true}},
        {"Key": "floats", "Value": {"Type": "FLOAT64SLICE", "Value": [1, 0.5]}},
        {"Key": "texts", "Value": {"Type": "STRINGSLICE", "Value": ["x", "y"]}}
    ],
    "Events": [{"Name": "retry", "Attributes": [{"Key": "n", "Value": {"Type": "INT64", "Value": 1}}], "DroppedAttributeCount": 2, "Time": "2024-01-12T14:57:40.147265800Z"}],
    "Links": [{"SpanContext": {"TraceID": "f102030405060708090a0b0c0d0e0f10", "SpanID": "f102030405060708", "TraceFlags": "00", "TraceState": "", "Remote": true}, "Attributes": null, "DroppedAttributeCount": 1}],
    "Status": {"Code": "Error", "Description": "deadline"},
    "DroppedAttributes": 3, "DroppedEvents": 4, "DroppedLinks": 5, "ChildSpanCount": 6,
    "Resource": [{"Key": "service.name", "Value": {"Type": "STRING", "Value": "shop"}}],
    "InstrumentationLibrary": {"Name": "lib", "Version": "v1", "SchemaURL": "s"}
}"#;

#[test]
fn every_field_of_a_go_stub_has_its_place() {
    let span = one(GO);
    assert_eq!(
        span.trace_id.to_string(),
        "0102030405060708090a0b0c0d0e0f10"
    );
    assert_eq!(span.span_id.to_string(), "0102030405060708");
    assert_eq!(span.parent_id.unwrap().to_string(), "1112131415161718");
    assert_eq!((span.flags, span.trace_state.as_str()), (0x301, "a=b"));
    assert_eq!(
        (span.kind, span.name.as_str()),
        (Kind::Server, "GET /orders")
    );
    assert_eq!(
        (span.start.0, span.end.0),
        (1_705_071_460_147_265_775, 1_705_071_460_147_265_999)
    );
    let value = |key: &str| span.attributes.get(key).cloned().unwrap();
    assert_eq!(value("int"), Value::Int(4));
    assert_eq!(value("float"), Value::Double(4.0));
    assert_eq!(value("flag"), Value::Bool(true));
    assert_eq!(
        value("floats"),
        Value::Array(vec![Value::Double(1.0), Value::Double(0.5)])
    );
    assert_eq!(
        value("texts"),
        Value::Array(vec![Value::Str("x".into()), Value::Str("y".into())])
    );
    assert_eq!(
        (
            span.dropped_attributes,
            span.dropped_events,
            span.dropped_links
        ),
        (3, 4, 5)
    );
    let event = &span.events[0];
    assert_eq!(
        (event.name.as_str(), event.time.0, event.dropped_attributes),
        ("retry", 1_705_071_460_147_265_800, 2)
    );
    assert_eq!(event.attributes.get("n"), Some(&Value::Int(1)));
    let link = &span.links[0];
    assert_eq!(link.span_id.to_string(), "f102030405060708");
    assert_eq!(link.dropped_attributes, 1);
    assert_eq!(
        (span.status.code, span.status.message.as_str()),
        (StatusCode::Error, "deadline")
    );
    assert_eq!(span.service(), "shop");
    assert_eq!(
        (
            span.scope.name.as_str(),
            span.scope.version.as_str(),
            span.scope.schema_url.as_str()
        ),
        ("lib", "v1", "s")
    );
}

#[test]
fn a_root_has_no_parent_and_older_codes_are_gos_own_numbers() {
    let root = one(&GO.replace("1112131415161718", "0000000000000000"));
    assert_eq!((root.parent_id, root.flags), (None, 1));
    for (code, expected) in [
        ("\"Unset\"", StatusCode::Unset),
        ("\"Ok\"", StatusCode::Ok),
        ("1", StatusCode::Error),
        ("2", StatusCode::Ok),
    ] {
        assert_eq!(
            one(&GO.replace("\"Error\"", code)).status.code,
            expected,
            "{code}"
        );
    }
    let scope = GO.replace("InstrumentationLibrary", "InstrumentationScope");
    assert_eq!(one(&scope).scope.name, "lib");
}

const PYTHON: &str = r#"{
    "name": "GET /orders",
    "context": {"trace_id": "0x0102030405060708090a0b0c0d0e0f10", "span_id": "0x0102030405060708", "trace_state": "['{key=a, value=b}', '{key=c, value=d}']"},
    "kind": "SpanKind.SERVER",
    "parent_id": "0x1112131415161718",
    "start_time": "2024-01-12T14:57:40.147265Z",
    "end_time": "2024-01-12T14:57:40.147999Z",
    "status": {"status_code": "ERROR", "description": "TimeoutError: late"},
    "attributes": {"text": "x", "int": 4, "float": 4.0, "flag": true, "texts": ["x", "y"], "none": null},
    "events": [{"name": "exception", "timestamp": "2024-01-12T14:57:40.147500Z", "attributes": {"exception.type": "TimeoutError"}}],
    "links": [{"context": {"trace_id": "0xf102030405060708090a0b0c0d0e0f10", "span_id": "0xf102030405060708", "trace_state": "[]"}, "attributes": {"k": 1}}],
    "resource": {"attributes": {"service.name": "shop", "service.namespace": "eu"}, "schema_url": ""}
}"#;

#[test]
fn every_field_of_pythons_to_json_has_its_place() {
    let span = one(PYTHON);
    assert_eq!(
        span.trace_id.to_string(),
        "0102030405060708090a0b0c0d0e0f10"
    );
    assert_eq!(span.span_id.to_string(), "0102030405060708");
    assert_eq!(span.parent_id.unwrap().to_string(), "1112131415161718");
    assert_eq!(span.trace_state, "a=b,c=d");
    assert_eq!(
        (span.kind, span.name.as_str()),
        (Kind::Server, "GET /orders")
    );
    assert_eq!(
        (span.start.0, span.end.0),
        (1_705_071_460_147_265_000, 1_705_071_460_147_999_000)
    );
    let value = |key: &str| span.attributes.get(key).cloned().unwrap();
    assert_eq!(value("int"), Value::Int(4));
    assert_eq!(value("float"), Value::Double(4.0));
    assert_eq!(value("flag"), Value::Bool(true));
    assert_eq!(
        value("texts"),
        Value::Array(vec![Value::Str("x".into()), Value::Str("y".into())])
    );
    assert_eq!(
        span.events[0].attributes.text("exception.type"),
        Some("TimeoutError")
    );
    assert_eq!(span.events[0].time.0, 1_705_071_460_147_500_000);
    assert_eq!(
        span.links[0].trace_id.to_string(),
        "f102030405060708090a0b0c0d0e0f10"
    );
    assert_eq!(span.links[0].attributes.get("k"), Some(&Value::Int(1)));
    assert_eq!(
        (span.status.code, span.status.message.as_str()),
        (StatusCode::Error, "TimeoutError: late")
    );
    assert_eq!(span.service(), "eu/shop");
}

#[test]
fn older_pythons_print_the_resource_bare_and_roots_have_no_parent() {
    let old = PYTHON
        .replace(r#"{"attributes": {"service.name": "shop", "service.namespace": "eu"}, "schema_url": ""}"#, r#"{"service.name": "shop"}"#)
        .replace(r#""0x1112131415161718""#, "null");
    let span = one(&old);
    assert_eq!((span.service(), span.parent_id), ("shop", None));
}

#[test]
fn dumps_come_as_lists_one_behind_another_and_in_lines() {
    for dump in [GO, PYTHON] {
        let other = dump.replacen("0102030405060708\"", "2102030405060708\"", 1);
        let flat = |text: &str| text.replace('\n', " ");
        let expected = spans(&format!("[{dump},{other}]"));
        assert_eq!(expected.len(), 2);
        assert!(std::sync::Arc::ptr_eq(
            &expected[0].resource,
            &expected[1].resource
        ));
        for shape in [
            format!("{dump}\n{other}\n"),
            format!("{}\n{}\n", flat(dump), flat(&other)),
            format!("{}{}", flat(dump), flat(&other)),
            format!(r#"{{"spans":[{dump},{other}]}}"#),
        ] {
            assert_eq!(spans(&shape), expected, "{shape}");
        }
    }
}

#[test]
fn a_span_that_had_not_ended_has_no_length() {
    let open = PYTHON.replace(r#""2024-01-12T14:57:40.147999Z""#, "null");
    let never = GO.replace("2024-01-12T14:57:40.147265999Z", "0001-01-01T00:00:00Z");
    for dump in [open, never] {
        let span = one(&dump);
        assert!(span.start.0 > 0 && span.end == span.start, "{span:?}");
        assert_eq!(span.attributes.text("dwindle.missing"), Some("end"));
    }
}

#[test]
fn ids_that_are_words_are_made_kept_and_counted() {
    let words = PYTHON.replace("0x0102030405060708090a0b0c0d0e0f10", "job_7_trace");
    let loaded = read(&words);
    assert_eq!(
        (loaded.spans, loaded.replaced_ids, &loaded.problems[..]),
        (1, 1, &[][..])
    );
    let span = &loaded.traces[0].spans[0];
    assert_eq!(
        span.attributes.text("dwindle.original_trace_id"),
        Some("job_7_trace")
    );
}

#[test]
fn what_is_wrong_with_one_span_costs_that_one() {
    for (dump, from, to, field) in [
        (
            GO,
            "\"2024-01-12T14:57:40.147265999Z\"",
            "\"soon\"",
            "EndTime",
        ),
        (GO, "\"SpanKind\": 2", "\"SpanKind\": []", "SpanKind"),
        (
            PYTHON,
            "\"2024-01-12T14:57:40.147265Z\"",
            "17",
            "start_time",
        ),
        (
            PYTHON,
            "\"attributes\": {\"text\"",
            "\"attributes\": 3, \"x\": {\"text\"",
            "attributes",
        ),
    ] {
        assert!(dump.contains(from), "{from}");
        let loaded = read(&format!("[{},{dump}]", dump.replacen(from, to, 1)));
        assert_eq!((loaded.spans, loaded.rejected), (1, 1), "{to}");
        let reason = loaded.problems[0].to_string();
        assert!(reason.contains(&format!("`{field}`")), "{reason}");
    }
}
