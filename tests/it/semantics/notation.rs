//! A notation for traces, a span a line: `id parent service:operation kind start..end words…`.
//!
//! `-` is no parent, kinds are S(erver), C(lient), P(roducer), Q (consumer), I(nternal) and U (none said), times
//! are milliseconds. Words: `err`, `err=the_message`, `link=id`, `event=name@ms`, `log=the_text@ms`,
//! `@resource.key=value`, `deadline=ms` (the absolute header), else attributes, the usual ones
//! by the short names of [`SHORT`]; `~` in a value is a blank.

use std::collections::BTreeMap;
use std::sync::Arc;

use dwindle::model::{
    Event, Kind, Link, Resource, Span, SpanId, SpanLog, StatusCode, Trace, TraceId, UnixNanos,
    Value,
};

const START: f64 = 1_791_364_500_000.0;

const SHORT: &[(&str, &str)] = &[
    ("in", "deadline.remaining_in_ms"),
    ("out", "deadline.remaining_out_ms"),
    ("timeout", "deadline.timeout_ms"),
    ("local", "deadline.local_ms"),
    ("queue", "deadline.queue_ms"),
    ("outcome", "deadline.outcome"),
    ("grpc", "rpc.grpc.status_code"),
    ("http", "http.response.status_code"),
    ("method", "http.request.method"),
    ("peer", "server.address"),
    ("resent", "http.request.resend_count"),
];

/// The trace that the lines tell.
pub(crate) fn trace(lines: &str) -> Trace {
    let lines = lines.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty());
    Trace {
        id: TraceId([7; 16]),
        spans: lines.clone().map(span).collect(),
        logs: lines.flat_map(logs).collect(),
    }
}

/// The log records that a line's `log=the_text@ms` tell.
fn logs(line: &str) -> impl Iterator<Item = SpanLog> {
    let id = line.split_whitespace().next().expect(line);
    let texts = line
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("log="));
    texts.map(move |log| {
        let (text, time) = log.split_once('@').expect(line);
        SpanLog {
            trace_id: TraceId([7; 16]),
            span_id: span_id(id),
            time: at(time),
            body: text.replace('_', " ").into(),
            ..SpanLog::default()
        }
    })
}

fn span(line: &str) -> Span {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [id, parent, name, kind, times, ref rest @ ..] = words[..] else {
        panic!("too short: {line}");
    };
    let (service, operation) = name.split_once(':').unwrap_or((name, name));
    let (start, end) = times.split_once("..").expect(line);
    let mut made = Span {
        trace_id: TraceId([7; 16]),
        span_id: span_id(id),
        parent_id: (parent != "-").then(|| span_id(parent)),
        name: operation.into(),
        kind: match kind {
            "S" => Kind::Server,
            "C" => Kind::Client,
            "P" => Kind::Producer,
            "Q" => Kind::Consumer,
            "I" => Kind::Internal,
            "U" => Kind::Unspecified,
            other => panic!("kind {other}: {line}"),
        },
        start: at(start),
        end: at(end),
        resource: Arc::default(),
        ..Span::default()
    };
    let mut own = BTreeMap::new();
    let mut of_resource = BTreeMap::from([("service.name", Value::Str(service.into()))]);
    for word in rest {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "err" => {
                made.status.code = StatusCode::Error;
                made.status.message = value.replace('_', " ").into();
            }
            "link" => made.links.push(Link {
                trace_id: made.trace_id,
                span_id: span_id(value),
                ..Link::default()
            }),
            "event" => {
                let (name, time) = value.split_once('@').expect(line);
                made.events.push(Event {
                    time: at(time),
                    name: name.into(),
                    ..Event::default()
                });
            }
            "log" => {}
            "deadline" => {
                let instant = Value::Str(at(value).0.to_string().into());
                own.insert("http.request.header.x-deadline", instant);
            }
            _ => {
                if let Some(key) = key.strip_prefix('@') {
                    of_resource.insert(key, read(value));
                } else {
                    let long = SHORT.iter().find(|(short, _)| *short == key);
                    own.insert(long.map_or(key, |(_, long)| *long), read(value));
                }
            }
        }
    }
    made.attributes = own.into_iter().collect();
    made.resource = Arc::new(Resource::new(of_resource.into_iter().collect()));
    made
}

fn read(value: &str) -> Value {
    match (value.parse(), value.parse()) {
        (Ok(int), _) => Value::Int(int),
        (_, Ok(double)) => Value::Double(double),
        _ => Value::Str(value.replace('~', " ").into()),
    }
}

fn at(ms: &str) -> UnixNanos {
    let since: f64 = ms.parse().expect(ms);
    UnixNanos(START as u64 * 1_000_000 + (since * 1e6).round() as u64)
}

fn span_id(name: &str) -> SpanId {
    let mut id = [0; 8];
    id[8 - name.len()..].copy_from_slice(name.as_bytes());
    SpanId(id)
}
