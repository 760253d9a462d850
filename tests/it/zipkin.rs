//! Zipkin's JSON of both versions: every shape of file, every field, and what may be missing.

use dwindle::model::{Kind, Span, StatusCode, Value};

use crate::support::{one, read, spans};

fn text<'s>(span: &'s Span, key: &str) -> Option<&'s str> {
    span.attributes.text(key)
}

/// A span with all that version 2 has.
const CLIENT: &str = r#"{
    "traceId": "5af7183fb1d4cf5f", "parentId": "6b221d5bc9e6496c", "id": "352bff9a74ca9ad2",
    "kind": "CLIENT", "name": "get /api", "timestamp": 1556604172355737, "duration": 1431,
    "localEndpoint": {"serviceName": "backend", "ipv4": "192.168.99.1", "port": 3306},
    "remoteEndpoint": {"serviceName": "mysql", "ipv4": "172.19.0.2", "port": 58648},
    "annotations": [{"timestamp": 1556604172356000, "value": "wire sent"}],
    "tags": {"http.method": "GET", "retries": 2, "cached": false, "ratio": 0.5},
    "shared": true, "debug": true
}"#;

#[test]
fn every_field_of_version_2_has_its_place() {
    let span = one(CLIENT);
    assert_eq!(
        span.trace_id.to_string(),
        "00000000000000005af7183fb1d4cf5f"
    );
    assert_eq!(span.span_id.to_string(), "352bff9a74ca9ad2");
    assert_eq!(span.parent_id.unwrap().to_string(), "6b221d5bc9e6496c");
    assert_eq!((span.kind, span.name.as_str()), (Kind::Client, "get /api"));
    assert_eq!(span.start.0, 1_556_604_172_355_737_000);
    assert_eq!(span.end.0 - span.start.0, 1_431_000);
    assert_eq!(span.service(), "backend");
    let resource = &span.resource.attributes;
    assert_eq!(
        resource.get("host.ip"),
        Some(&Value::Array(vec![Value::Str("192.168.99.1".into())]))
    );
    assert_eq!(resource.get("network.local.port"), Some(&Value::Int(3306)));
    assert_eq!(text(&span, "peer.service"), Some("mysql"));
    assert_eq!(text(&span, "server.address"), Some("172.19.0.2"));
    assert_eq!(span.attributes.get("server.port"), Some(&Value::Int(58648)));
    assert_eq!(text(&span, "http.method"), Some("GET"));
    // Values that are no text keep the batch (reports, row 46) and their type.
    assert_eq!(span.attributes.get("retries"), Some(&Value::Int(2)));
    assert_eq!(span.attributes.get("cached"), Some(&Value::Bool(false)));
    assert_eq!(span.attributes.get("ratio"), Some(&Value::Double(0.5)));
    assert_eq!(
        span.attributes.get("zipkin.shared"),
        Some(&Value::Bool(true))
    );
    assert_eq!(
        span.attributes.get("zipkin.debug"),
        Some(&Value::Bool(true))
    );
    assert_eq!(span.attributes.get("dwindle.missing"), None);
    let [event] = &span.events[..] else {
        panic!("{:?}", span.events)
    };
    assert_eq!(event.name, "wire sent");
    assert_eq!(event.time.0, 1_556_604_172_356_000_000);
    assert_eq!(span.status.code, StatusCode::Unset);
}

#[test]
fn a_span_alone_lists_lists_of_traces_lines_and_wrappers_are_one() {
    let other = CLIENT.replace("352bff9a74ca9ad2", "352bff9a74ca9ad3");
    let flat = |text: &str| text.replace('\n', " ");
    let expected = spans(&format!("[{CLIENT},{other}]"));
    assert_eq!(expected.len(), 2);
    for shape in [
        format!("{CLIENT}\n{other}"),
        format!("{}\n{}\n", flat(CLIENT), flat(&other)),
        format!("[[{CLIENT}],[{other}]]"),
        format!("[[{CLIENT},{other}],[]]"),
        format!(r#"{{"traces":[[{CLIENT},{other}]]}}"#),
        format!(r#"{{"id":"export 7","spans":[{CLIENT},{other}]}}"#),
        format!("\u{feff}[{CLIENT},{other}]"),
    ] {
        assert_eq!(spans(&shape), expected, "{shape}");
    }
}

#[test]
fn kinds_come_as_they_are_named() {
    for (name, kind) in [
        ("\"CLIENT\"", Kind::Client),
        ("\"SERVER\"", Kind::Server),
        ("\"PRODUCER\"", Kind::Producer),
        ("\"consumer\"", Kind::Consumer),
        ("null", Kind::Unspecified),
        ("\"\"", Kind::Unspecified),
    ] {
        assert_eq!(
            one(&CLIENT.replace("\"CLIENT\"", name)).kind,
            kind,
            "{name}"
        );
    }
}

#[test]
fn the_far_side_of_a_server_is_a_client() {
    let span = one(&CLIENT.replace("\"CLIENT\"", "\"SERVER\""));
    assert_eq!(text(&span, "client.address"), Some("172.19.0.2"));
    assert_eq!(text(&span, "server.address"), None);
    // What a tag says itself stands.
    let tagged = CLIENT.replace(
        "\"http.method\"",
        "\"server.address\": \"db.example\", \"http.method\"",
    );
    assert_eq!(text(&one(&tagged), "server.address"), Some("db.example"));
}

#[test]
fn an_error_tag_is_the_status() {
    let with = |tag: &str| one(&CLIENT.replace("\"retries\": 2", tag)).status;
    let failed = with(r#""error": "connection refused""#);
    assert_eq!(
        (failed.code, failed.message.as_str()),
        (StatusCode::Error, "connection refused")
    );
    for bare in [r#""error": "true""#, r#""error": true"#, r#""error": """#] {
        let status = with(bare);
        assert_eq!(
            (status.code, status.message.as_str()),
            (StatusCode::Error, ""),
            "{bare}"
        );
    }
    assert_eq!(with(r#""error": "false""#).code, StatusCode::Unset);
    assert_eq!(with(r#""otel.status_code": "OK""#).code, StatusCode::Ok);
    let told = with(r#""otel.status_code": "ERROR", "otel.status_description": "late""#);
    assert_eq!(
        (told.code, told.message.as_str()),
        (StatusCode::Error, "late")
    );
}

#[test]
fn times_may_be_floats_and_strings_and_may_be_missing() {
    let with = |times: &str| {
        one(&CLIENT.replace(r#""timestamp": 1556604172355737, "duration": 1431"#, times))
    };
    let missing = |span: &Span| text(span, "dwindle.missing").map(str::to_owned);
    let span = with(r#""timestamp": 1.556604172355737e+15, "duration": "1431""#);
    assert_eq!(
        (span.start.0, span.end.0),
        (1_556_604_172_355_737_000, 1_556_604_172_357_168_000)
    );
    assert_eq!(missing(&span), None);
    let span = with(r#""timestamp": "1556604172355737", "duration": 0.25"#);
    assert_eq!(span.end.0 - span.start.0, 250);
    let span = with(r#""timestamp": 1556604172355737"#);
    assert_eq!(span.end, span.start);
    assert_eq!(missing(&span).as_deref(), Some("end"));
    // The first thing that happened is the earliest that is known.
    let span = with(r#""duration": 1000"#);
    assert_eq!(
        (span.start.0, span.end.0 - span.start.0),
        (1_556_604_172_356_000_000, 1_000_000)
    );
    assert_eq!(missing(&span).as_deref(), Some("start"));
    // Reports, row 17: hardly anything is said, and the trace is there.
    let span = one(r#"{"traceId":"a","id":"b","name":"kong","tags":{}}"#);
    assert_eq!((span.start.0, span.service()), (0, "unknown_service"));
    assert_eq!(missing(&span).as_deref(), Some("start, end"));
}

#[test]
fn a_time_that_is_none_costs_the_span_and_no_other() {
    let bad = CLIENT.replace("1431", "\"a while\"");
    let loaded = read(&format!("[{bad},{CLIENT}]"));
    assert_eq!((loaded.spans, loaded.rejected), (1, 1));
    let reason = loaded.problems[0].to_string();
    assert!(reason.contains("span `get /api`, `duration`"), "{reason}");
    let loaded = read(
        r#"[{"traceId":"","id":"1","kind":"CLIENT"},{"traceId":"1","id":"0","kind":"CLIENT"}]"#,
    );
    assert_eq!((loaded.spans, loaded.rejected), (0, 2));
    assert!(loaded.problems[0].reason.contains("no trace id"));
}

#[test]
fn what_one_record_leaves_out_another_with_its_id_says() {
    // Neither time nor service: the caller's record of the same id has both.
    let client = r#"{"traceId":"1","id":"2","kind":"CLIENT","timestamp":50,"duration":9,"localEndpoint":{"serviceName":"a"}}"#;
    let server = r#"{"traceId":"1","id":"2","kind":"SERVER","localEndpoint":{"serviceName":"b"},"shared":true}"#;
    let nobody = r#"{"traceId":"1","id":"2","tags":{"k":"v"}}"#;
    for order in [[client, server, nobody], [nobody, server, client]] {
        let spans = spans(&format!("[{}]", order.join(",")));
        assert_eq!(spans.len(), 3);
        for span in &spans {
            assert_eq!(span.start.0, 50_000, "{span:?}");
            let service = if span.kind == Kind::Server { "b" } else { "a" };
            assert_eq!(span.service(), service);
        }
    }
    // A child, a parent, or the trace says when, in this order.
    let child = r#"{"traceId":"1","id":"3","parentId":"2","timestamp":70,"duration":1}"#;
    let parent = r#"{"traceId":"1","id":"9","timestamp":60,"duration":30}"#;
    let first = r#"{"traceId":"1","id":"8","timestamp":40,"duration":2}"#;
    let lost = r#"{"traceId":"1","id":"2","parentId":"9","duration":5}"#;
    for (others, start) in [
        (vec![child, parent, first], 70_000),
        (vec![parent, first], 60_000),
        (vec![first], 40_000),
    ] {
        let spans = spans(&format!("[{lost},{}]", others.join(",")));
        assert_eq!((spans[0].start.0, spans[0].end.0), (start, start + 5_000));
    }
}

#[test]
fn both_sides_of_one_id_stay_two_spans_and_hang_together() {
    let client = r#"{"traceId":"1","id":"2","kind":"CLIENT","timestamp":50,"duration":90,"localEndpoint":{"serviceName":"a"}}"#;
    let server = r#"{"traceId":"1","id":"2","kind":"SERVER","timestamp":60,"duration":70,"localEndpoint":{"serviceName":"b"},"shared":true}"#;
    let loaded = read(&format!("[{server},{client}]"));
    assert_eq!(loaded.spans, 2);
    let policy = dwindle::budget::Policy::default();
    let analysis = dwindle::budget::analyse(
        &loaded.traces[0],
        &policy,
        &dwindle::budget::Typical::default(),
    );
    let [request] = &analysis.requests[..] else {
        panic!("{:?}", analysis.requests)
    };
    let services: Vec<&str> = request
        .hops
        .iter()
        .map(|hop| hop.service.as_str())
        .collect();
    assert_eq!(services, ["a", "b"]);
}

#[test]
fn ids_that_are_no_hex_are_made_kept_and_counted() {
    let odd = CLIENT.replace("352bff9a74ca9ad2", "352bff9a74ca9adg");
    let child = CLIENT
        .replace("352bff9a74ca9ad2", "7")
        .replace("6b221d5bc9e6496c", "352bff9a74ca9adg");
    let loaded = read(&format!("[{odd},{child}]"));
    assert_eq!((loaded.spans, loaded.replaced_ids), (2, 2));
    let [a, b] = &loaded.traces[0].spans[..] else {
        panic!()
    };
    assert_eq!(
        text(a, "dwindle.original_span_id"),
        Some("352bff9a74ca9adg")
    );
    assert_eq!(b.parent_id, Some(a.span_id), "the same text is the same id");
    assert_eq!(
        text(b, "dwindle.original_parent_id"),
        Some("352bff9a74ca9adg")
    );
    // Reports, row 109: shorter hex is padded on the left.
    assert_eq!(b.span_id.to_string(), "0000000000000007");
    let long = one(&CLIENT.replace("5af7183fb1d4cf5f", "463AC35C9F6413AD48485A3953BB6124"));
    assert_eq!(
        long.trace_id.to_string(),
        "463ac35c9f6413ad48485a3953bb6124"
    );
}

/// An annotation of version 1.
fn at(time: u64, value: &str, service: &str) -> String {
    format!(
        r#"{{"timestamp":{time},"value":"{value}","endpoint":{{"serviceName":"{service}","ipv4":"10.0.0.1","port":80}}}}"#
    )
}

fn version_1(annotations: &[String], more: &str) -> Span {
    one(&format!(
        r#"[{{"traceId":"1","id":"2","name":"get","annotations":[{}]{more}}}]"#,
        annotations.join(",")
    ))
}

#[test]
fn version_1_says_sides_and_times_in_annotations() {
    for (from, to, kind) in [("cs", "cr", Kind::Client), ("sr", "ss", Kind::Server)] {
        let span = version_1(
            &[at(10, from, "a"), at(14, "half", "a"), at(30, to, "a")],
            "",
        );
        assert_eq!((span.kind, span.service()), (kind, "a"));
        assert_eq!((span.start.0, span.end.0), (10_000, 30_000));
        let events: Vec<&str> = span
            .events
            .iter()
            .map(|event| event.name.as_str())
            .collect();
        assert_eq!(events, ["half"], "the edges are the times");
        assert_eq!(text(&span, "dwindle.missing"), None);
    }
    for (edge, kind) in [("ms", Kind::Producer), ("mr", Kind::Consumer)] {
        let span = version_1(&[at(10, edge, "a")], r#","timestamp":10,"duration":3"#);
        assert_eq!((span.kind, span.end.0), (kind, 13_000));
    }
    // Only one edge came: it is known when, not how long.
    let span = version_1(&[at(10, "cs", "a")], "");
    assert_eq!((span.start, span.kind), (span.end, Kind::Client));
    assert_eq!(text(&span, "dwindle.missing"), Some("end"));
}

#[test]
fn a_version_1_record_of_both_sides_is_the_callers_span() {
    let edges = [
        at(10, "cs", "a"),
        at(13, "sr", "b"),
        at(25, "ss", "b"),
        at(30, "cr", "a"),
    ];
    let span = version_1(&edges, r#","timestamp":10,"duration":20"#);
    assert_eq!((span.kind, span.service()), (Kind::Client, "a"));
    assert_eq!((span.start.0, span.end.0), (10_000, 30_000));
    assert_eq!(text(&span, "peer.service"), Some("b"));
    let events: Vec<(&str, u64, Option<&str>)> = span
        .events
        .iter()
        .map(|event| {
            let by = event.attributes.text("service.name");
            (event.name.as_str(), event.time.0, by)
        })
        .collect();
    assert_eq!(
        events,
        [("sr", 13_000, Some("b")), ("ss", 25_000, Some("b"))]
    );
}

#[test]
fn binary_annotations_are_tags_with_types_and_addresses() {
    let span = version_1(
        &[at(10, "cs", "a")],
        r#","binaryAnnotations":[
            {"key":"http.path","value":"/x","endpoint":{"serviceName":"a"}},
            {"key":"tries","value":"3","type":"I32"},
            {"key":"ok","value":true},
            {"key":"load","value":"0.5","type":"DOUBLE"},
            {"key":"raw","value":"AQI=","type":"BYTES"},
            {"key":"sa","value":true,"endpoint":{"serviceName":"db","ipv4":"10.0.0.9","port":5432}},
            7]"#,
    );
    assert_eq!(text(&span, "http.path"), Some("/x"));
    assert_eq!(span.attributes.get("tries"), Some(&Value::Int(3)));
    assert_eq!(span.attributes.get("ok"), Some(&Value::Bool(true)));
    assert_eq!(span.attributes.get("load"), Some(&Value::Double(0.5)));
    assert_eq!(span.attributes.get("raw"), Some(&Value::Bytes(vec![1, 2])));
    assert_eq!(text(&span, "peer.service"), Some("db"));
    assert_eq!(text(&span, "server.address"), Some("10.0.0.9"));
    assert_eq!(span.attributes.get("sa"), None);
    assert_eq!(
        span.dropped_attributes, 1,
        "what is no annotation is counted"
    );
    let local = version_1(
        &[],
        r#","timestamp":5,"duration":1,"binaryAnnotations":[{"key":"lc","value":"cron","endpoint":{"serviceName":"jobs"}}]"#,
    );
    assert_eq!((local.kind, local.service()), (Kind::Internal, "jobs"));
    assert_eq!(text(&local, "lc"), Some("cron"));
}

#[test]
fn fields_of_the_wrong_kind_are_passed_over_or_reject_the_span() {
    for (from, to) in [
        (r#""tags": {"#, r#""tags": null, "x": {"#),
        (
            r#"{"timestamp": 1556604172356000, "value": "wire sent"}"#,
            "null, 3, \"x\"",
        ),
        (
            r#"{"serviceName": "mysql", "ipv4": "172.19.0.2", "port": 58648}"#,
            "\"mysql\"",
        ),
        (r#""port": 3306"#, r#""port": "many""#),
    ] {
        assert!(CLIENT.contains(from), "{from}");
        assert_eq!(spans(&CLIENT.replace(from, to)).len(), 1, "{to}");
    }
    let bad = CLIENT.replace(r#""annotations": ["#, r#""annotations": 7, "x": ["#);
    assert_eq!(read(&bad).rejected, 1);
}

#[test]
fn services_share_their_resource() {
    let other = CLIENT.replace("352bff9a74ca9ad2", "352bff9a74ca9ad3");
    let spans = spans(&format!("[{CLIENT},{other}]"));
    assert!(std::sync::Arc::ptr_eq(
        &spans[0].resource,
        &spans[1].resource
    ));
}
