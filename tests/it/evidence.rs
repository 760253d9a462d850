//! The list of outcome rules in the corpus, held against what the analysis says: a span with a
//! rule's value must be judged as the rule states.

use std::sync::Arc;

use dwindle::budget::{Policy, Rules, Typical, analyse};
use dwindle::model::{
    Attributes, Event, Hop, Kind, Reason, Resource, Span, SpanId, Status, StatusCode, Trace,
    TraceId, UnixNanos, Value,
};
use serde_json::Value as Json;

use crate::support::corpus;

/// Where the analysis says something else than the list, by the rule's id and the value.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    // Refused far more often than too slow: its text must say so.
    ("out.type.dep", "java.net.ConnectException", "failed"),
    // A client whose callee broke off was not cancelled by anybody.
    ("out.type.cancel", "BrokenPipeError", "failed"),
    ("out.type.cancel", "ConnectionResetError", "failed"),
    // Only a server's client can have aborted.
    ("out.type.cancel", "ClientAbortException", "failed"),
    (
        "out.type.cancel",
        "org.apache.catalina.connector.ClientAbortException",
        "failed",
    ),
    // Tokio says it of a timer of its own.
    ("out.msg.timedout", "deadline has elapsed", "own_deadline"),
    // A Go type that is no more than its text, and that tells more (both sides).
    ("out.type.cancel", "*errors.errorString", "caller_gone"),
    // A number that is many things: read only when a user asks for it.
    ("out.jsonrpc.-32001", "-32001", "failed"),
    // Without a text the code is the same for both.
    ("app.deadline.exceeded", "true", "nothing"),
    ("app.deadline.exceeded_by_ms", "12", "nothing"),
    // Served all the same in Finagle's default mode: counts on a span that failed.
    ("finagle.rejected", "true", "nothing"),
];

/// What a rule of the list says must be there besides the value.
fn requirements(id: &str, value: &str, span: &mut Span) {
    let mut add = |key: &str, value: &str| {
        let value = Value::Str(value.into());
        span.attributes.0.push((key.into(), value));
    };
    match id {
        "out.pg.57014.timeout" => fail(span, "canceling statement due to statement timeout"),
        "out.pg.57014.user" => fail(span, "canceling statement due to user request"),
        "out.mongo.50" => add("db.system.name", "mongodb"),
        "out.mssql.-2" => add("db.system", "mssql"),
        "out.mysql.3024" | "out.mysql.1317" => {
            add("db.system", "mysql");
            if value == "1028" {
                fail(span, "maximum statement execution time exceeded");
            }
        }
        "out.ora.1013" => add("db.system", "oracle"),
        "out.cassandra.1200" => add("db.system", "cassandra"),
        "out.dubbo.status" => add("rpc.system", "apache_dubbo"),
        "out.type.cancel" if value == "*errors.errorString" => fail(span, "context canceled"),
        _ => {}
    }
}

fn fail(span: &mut Span, text: &str) {
    span.status = Status {
        code: StatusCode::Error,
        message: text.into(),
    };
}

/// What the list calls a class, in the words of the analysis.
fn expected(class: &str) -> &'static str {
    match class {
        "own_deadline" => "own_deadline",
        "caller_gone" => "caller_gone",
        "dependency_timeout" => "dependency_timeout",
        "expired_on_arrival" => "expired_on_arrival",
        "expired_before_send" => "expired_before_send",
        "cancelled_ambiguous" => "ambiguous",
        "ambiguous_timeout" | "dependency_failure" | "retry_limit" | "protocol_error"
        | "overload" => "failed",
        "deadline_reduced" | "ignore" => "nothing",
        other => panic!("the list has a class {other}"),
    }
}

/// The one hop of a trace of one span.
fn judged(span: Span) -> Hop {
    let trace = Trace {
        id: span.trace_id,
        spans: vec![span],
        logs: vec![],
    };
    let analysis = analyse(&trace, &Policy::default(), &Typical::default());
    analysis.requests[0].hops[0].clone()
}

fn said(hop: &Hop) -> &'static str {
    match (hop.reason, hop.verdict.as_str()) {
        (Some(reason), _) => Reason::as_str(reason),
        (None, "failed") => "failed",
        (None, _) => "nothing",
    }
}

fn blank(kind: Kind) -> Span {
    Span {
        trace_id: TraceId([3; 16]),
        span_id: SpanId([3; 8]),
        name: "call".into(),
        kind,
        start: UnixNanos(1_000_000_000),
        end: UnixNanos(2_000_000_000),
        resource: Arc::new(Resource::default()),
        ..Span::default()
    }
}

fn strings(json: &Json) -> Vec<String> {
    match json {
        Json::String(one) => vec![one.clone()],
        Json::Array(all) => all.iter().flat_map(strings).collect(),
        _ => vec![],
    }
}

/// Spans that show a rule, each with the value that it stands for.
fn shown(rule: &Json) -> Vec<(String, Span)> {
    let id = rule["id"].as_str().unwrap();
    let kinds: &[Kind] = match rule["side"].as_str() {
        Some("client") => &[Kind::Client],
        Some("server" | "proxy") => &[Kind::Server],
        _ => &[Kind::Client, Kind::Server],
    };
    let keys = strings(&rule["key"]);
    let mut values = strings(&rule["value_equals"]);
    values.extend(strings(&rule["examples"]));
    let mut out = Vec::new();
    for &kind in kinds {
        match rule["where"].as_str().unwrap() {
            "message" => {
                for text in &values {
                    let mut by_status = blank(kind);
                    fail(&mut by_status, text);
                    out.push((text.clone(), by_status));
                    let mut by_event = blank(kind);
                    by_event.events.push(Event {
                        name: "exception".into(),
                        time: by_event.end,
                        attributes: Attributes::from_iter([(
                            "exception.message",
                            Value::Str(text.as_str().into()),
                        )]),
                        ..Event::default()
                    });
                    out.push((text.clone(), by_event));
                }
            }
            "event" => {
                for name in &values {
                    let mut span = blank(kind);
                    span.events.push(Event {
                        name: name.as_str().into(),
                        ..Event::default()
                    });
                    out.push((name.clone(), span));
                }
            }
            place => {
                // A pattern without a key is the pattern of the key, with examples of it.
                let (keys, values) = match (keys.is_empty(), values.is_empty()) {
                    (true, _) => (values.clone(), vec![flag(rule)]),
                    (false, true) => (keys.clone(), vec![flag(rule)]),
                    _ => (keys.clone(), values.clone()),
                };
                for key in &keys {
                    let key = if place == "header" {
                        format!("http.response.header.{key}")
                    } else {
                        key.clone()
                    };
                    for value in &values {
                        let mut span = blank(kind);
                        let held = Value::Str(value.as_str().into());
                        span.attributes.0.push((key.as_str().into(), held));
                        requirements(id, value, &mut span);
                        out.push((value.clone(), span));
                    }
                }
            }
        }
    }
    out
}

/// A value of a rule that only names a key.
fn flag(rule: &Json) -> String {
    match rule["grammar"].as_str() {
        Some("int_ms") => "12".to_owned(),
        _ => "true".to_owned(),
    }
}

#[test]
fn every_outcome_rule_of_the_list_is_judged_as_it_states() {
    let Some(corpus) = corpus() else { return };
    let list = std::fs::read_to_string(corpus.join("deadline-rules.json")).unwrap();
    let list: Json = serde_json::from_str(&list).unwrap();
    let mut faults = Vec::new();
    let (mut rules, mut spans) = (0, 0);
    for rule in list["rules"].as_array().unwrap() {
        let of_outcome = rule["field"] == "outcome";
        // Numbers in texts come with an outcome, too, and so does the one timer of servlets.
        let with_outcome = rule["outcome"].is_string()
            && (rule["where"] == "message" || rule["id"] == "servlet.timeout");
        if !of_outcome && !with_outcome {
            continue;
        }
        rules += 1;
        let id = rule["id"].as_str().unwrap();
        let class = expected(rule["outcome"].as_str().unwrap());
        for (value, span) in shown(rule) {
            spans += 1;
            let exception = EXCEPTIONS.iter().find(|(of, is, what)| {
                // The exceptions for types speak of clients.
                let both = !of.starts_with("out.type") || is.starts_with('*');
                let side = both || span.kind == Kind::Client;
                *of == id && *is == value && side && *what != class
            });
            let class = exception.map_or(class, |(_, _, what)| *what);
            let kind = span.kind;
            let hop = judged(span);
            let said = said(&hop);
            if said != class {
                faults.push(format!("{id} {kind:?} {value:?}: {said}, not {class}"));
            } else if !matches!(class, "nothing" | "failed") && hop.evidence.is_none() {
                faults.push(format!("{id} {kind:?} {value:?}: no evidence is named"));
            }
        }
    }
    assert!(rules > 85 && spans > 400, "{rules} rules, {spans} spans");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    println!("{rules} rules, {spans} spans");
}

/// A rule that is off by itself is read when a configuration asks for it.
#[test]
fn a_rule_that_is_off_can_be_turned_on_by_its_id() {
    let mut span = blank(Kind::Client);
    let code = ("rpc.status_code".into(), Value::Int(-32001));
    span.attributes.0.push(code);
    let trace = Trace {
        id: span.trace_id,
        spans: vec![span],
        logs: vec![],
    };
    let reason = |enabled: &[&str]| {
        let ids: Vec<_> = enabled.iter().map(|id| (*id).into()).collect();
        let policy = Policy {
            rules: Rules::new(&[], &ids).unwrap(),
            ..Policy::default()
        };
        let analysis = analyse(&trace, &policy, &Typical::default());
        analysis.requests[0].hops[0].reason
    };
    assert_eq!(reason(&[]), None);
    assert_eq!(reason(&["jsonrpc.timeout"]), Some(Reason::OwnDeadline));
    let unknown = Rules::new(&[], &["jsonrpc.timeot".into()]).unwrap_err();
    assert!(
        unknown.to_string().contains("`jsonrpc.timeout`"),
        "{unknown}"
    );
}

#[test]
fn texts_that_only_look_like_timeouts_are_none() {
    let Some(corpus) = corpus() else { return };
    let log = std::fs::read_to_string(corpus.join("traces/LOG.md")).unwrap();
    let mut read = 0;
    for row in log.lines() {
        let says = [
            "decoy",
            "DECOY",
            "not timeouts",
            "NOT timeout",
            "no timeout",
        ];
        if !says.iter().any(|says| row.contains(says)) {
            continue;
        }
        let Some(name) = row.trim_matches('|').split('|').next() else {
            continue;
        };
        let path = corpus.join("traces").join(name.trim());
        let input = [dwindle::files::Input::Path(path)];
        let loaded =
            dwindle::files::load(&input, &dwindle::otlp::Limits::default(), &mut |_, _| {});
        for trace in &loaded.traces {
            read += 1;
            let analysis = analyse(trace, &Policy::default(), &Typical::default());
            for request in &analysis.requests {
                for hop in &request.hops {
                    assert_eq!(
                        (hop.reason, hop.evidence.as_deref()),
                        (None, None),
                        "{name}: {} {}",
                        hop.service,
                        hop.operation
                    );
                }
            }
        }
    }
    assert!(read > 5, "{read} traces");
    println!("{read} traces without a timeout");
}
