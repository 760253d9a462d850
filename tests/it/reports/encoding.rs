//! Section 2, the encoding of OTLP/JSON. Held elsewhere too: 26 to 31 by `otlp::ids`, 35's lengths
//! by `files::protobuf_is_read_with_and_without_lengths`, 46 by `zipkin`.

use dwindle::files::load_bytes;
use dwindle::model::{Kind, Span, Value};
use dwindle::otlp::{Decoded, Limits, traces_from_json, traces_to_json};

fn decode(fields: &str) -> Decoded {
    let json = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{fields}}}]}}]}}]}}"#);
    traces_from_json(json.as_bytes(), &Limits::default()).unwrap()
}

fn span(fields: &str) -> Span {
    let decoded = decode(fields);
    assert_eq!(decoded.rejected, [], "{fields}");
    decoded.spans.into_iter().next().unwrap()
}

const IDS: &str = r#""traceId":"efbf3ca75b0f94ba86e5cf579bc58181","spanId":"b7ad6b7169203331""#;

#[test]
fn rows_26_28_31_and_32_an_id_is_the_same_in_hex_of_any_case_and_in_base64() {
    let hex = span(IDS);
    for other in [
        IDS.to_uppercase()
            .replace("TRACEID", "traceId")
            .replace("SPANID", "spanId"),
        r#""traceId":"7788p1sPlLqG5c9Xm8WBgQ==","spanId":"t61rcWkgMzE=""#.to_owned(),
        r#""traceId":"7788p1sPlLqG5c9Xm8WBgQ","spanId":"t61rcWkgMzE""#.to_owned(),
    ] {
        let other = span(&other);
        assert_eq!((other.trace_id, other.span_id), (hex.trace_id, hex.span_id));
    }
}

#[test]
fn row_28_an_id_that_is_none_is_named_with_the_length_that_it_needs() {
    let decoded = decode(r#""traceId":"abcdefgh","spanId":"b7ad6b7169203331","name":"n""#);
    let told = decoded.first_error.unwrap();
    assert!(
        told.contains("`traceId`") && told.contains("16 bytes"),
        "{told}"
    );
}

#[test]
fn row_29_hex_is_never_read_as_base64() {
    // Every hex text of full length is base64 of another one.
    let one = span(IDS);
    assert_eq!(one.trace_id.to_string(), "efbf3ca75b0f94ba86e5cf579bc58181");
    assert_eq!(one.span_id.to_string(), "b7ad6b7169203331");
}

#[test]
fn rows_34_and_41_numbers_come_as_numbers_and_strings_and_kinds_count_from_unspecified() {
    assert_eq!(span(&format!(r#"{IDS},"kind":2"#)).kind, Kind::Server);
    assert_eq!(span(&format!(r#"{IDS},"kind":3"#)).kind, Kind::Client);
    for int in ["42", "\"42\""] {
        let attributes = format!(r#""attributes":[{{"key":"k","value":{{"intValue":{int}}}}}]"#);
        let one = span(&format!("{IDS},{attributes}"));
        assert_eq!(one.attributes.get("k"), Some(&Value::Int(42)));
    }
}

#[test]
fn row_35_times_are_strings_or_numbers() {
    for time in ["1713000000000000001", "\"1713000000000000001\""] {
        let one = span(&format!(r#"{IDS},"startTimeUnixNano":{time}"#));
        assert_eq!(one.start.0, 1_713_000_000_000_000_001);
    }
}

#[test]
fn row_37_an_empty_request_holds_nothing_and_is_no_error() {
    for json in ["{}", r#"{"resourceSpans":[]}"#, r#"{"resourceSpans":null}"#] {
        let decoded = traces_from_json(json.as_bytes(), &Limits::default()).unwrap();
        assert_eq!((decoded.received, decoded.spans.len()), (0, 0), "{json}");
    }
}

#[test]
fn rows_38_and_44_values_of_every_kind_are_kept() {
    let list = r#"{"arrayValue":{"values":[{"boolValue":true},{"doubleValue":0.5}]}}"#;
    let map = format!(r#"{{"kvlistValue":{{"values":[{{"key":"in","value":{list}}}]}}}}"#);
    let one = span(&format!(
        r#"{IDS},"attributes":[{{"key":"map","value":{map}}},{{"key":"raw","value":{{"bytesValue":"AQI="}}}}]"#
    ));
    assert_eq!(
        one.attributes.get("map").unwrap().to_string(),
        "{in: [true, 0.5]}"
    );
    assert_eq!(one.attributes.get("raw"), Some(&Value::Bytes(vec![1, 2])));
}

#[test]
fn row_40_flags_are_kept() {
    let one = span(&format!(
        r#"{IDS},"flags":257,"links":[{{{IDS},"flags":"769"}}]"#
    ));
    assert_eq!((one.flags, one.links[0].flags), (257, 769));
}

#[test]
fn row_43_control_characters_are_escaped_and_a_span_is_not_its_own_parent() {
    let one = span(&format!(
        r#"{IDS},"name":"\u0001","parentSpanId":"b7ad6b7169203331""#
    ));
    assert_eq!(one.name, "\u{1}");
    let json = traces_to_json(std::slice::from_ref(&one));
    assert!(
        json.contains(r"\u0001") && !json.contains('\u{1}'),
        "{json}"
    );
    let loaded = load_bytes("f", json.as_bytes(), &Limits::default());
    let analysis = dwindle::budget::analyse(
        &loaded.traces[0],
        &dwindle::budget::Policy::default(),
        &dwindle::budget::Typical::default(),
    );
    let [request] = &analysis.requests[..] else {
        panic!("{:?}", analysis.requests);
    };
    assert!(request.complete, "its own id is no missing parent");
}

#[test]
fn row_46_a_tag_that_is_a_number_keeps_the_batch() {
    let zipkin = r#"[{"traceId":"1","id":"2","tags":{"response_size":37276}}]"#;
    let loaded = load_bytes("f", zipkin.as_bytes(), &Limits::default());
    let size = loaded.traces[0].spans[0].attributes.get("response_size");
    assert_eq!(size, Some(&Value::Int(37_276)));
}
