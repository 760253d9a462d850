//! Jaeger's JSON, as its API and UI have it.
//!
//! The mapping is OpenTelemetry's (specification, "Jaeger exporter" and "mapping to non-OTLP
//! formats"), so that other tools understand it, and [`formats::jaeger`] reads back what it holds.
//! What it cannot hold:
//!
//! - nanoseconds below the microsecond, and durations below zero;
//! - lists and maps (their JSON text is kept, and those of captured headers are lists again when
//!   they are read), values without a value, a service name of another
//!   type than text;
//! - what a link says beyond the span that it goes to (but for `opentracing.ref_type`);
//! - kinds and status codes that came later than Jaeger's words for them;
//! - schema URLs, and a scope's attributes.
//!
//! A resource's attributes come back with `service.name` first, and `hostname` as `host.name`. An
//! attribute that has a name to which Jaeger gives a meaning ([`formats::jaeger::has_meaning`])
//! comes back as what it means. Log records become logs of their spans.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Loss, Losses};
use crate::files::formats;
use crate::files::formats::jaeger::{NO_SERVICE, REF_TYPE, WARNINGS};
use crate::model::{
    Attributes, Event, Kind, Resource, Scope, Span, SpanId, SpanLog, StatusCode, Trace, UnixNanos,
    Value,
};
use crate::otlp::json::Out;

/// The largest integer that every reader of JSON numbers has; larger ones are texts, as Jaeger
/// writes them.
const EXACT: u64 = (1 << 53) - 1;

/// A trace as one element of `data`.
pub(super) fn trace(trace: &Trace, losses: &mut Losses) -> String {
    let mut logs: HashMap<SpanId, Vec<&SpanLog>> = HashMap::new();
    for log in &trace.logs {
        logs.entry(log.span_id).or_default().push(log);
    }
    let mut processes = Processes::default();
    let mut out = Out::with_capacity(trace.spans.len() * 768);
    out.object(|out| {
        out.text("traceID", &trace.id.to_string());
        out.key("spans");
        out.array(&trace.spans, |out, one| {
            let process = processes.number(&one.resource);
            // Of several records of one span the first has its logs.
            let logs = logs.remove(&one.span_id).unwrap_or_default();
            out.object(|out| span(out, one, process, &logs, losses));
        });
        out.key("processes");
        out.object(|out| {
            for (number, resource) in processes.known.iter().enumerate() {
                out.key(&format!("p{}", number + 1));
                out.object(|out| process(out, resource, losses));
            }
        });
        out.key("warnings");
        out.raw("null");
    });
    // Those of spans that are not there.
    losses.add(Loss::Log, logs.values().map(Vec::len).sum());
    out.finish()
}

/// Resources in the order in which they come, each once.
#[derive(Default)]
struct Processes {
    known: Vec<Arc<Resource>>,
    /// By the address of the shared ones, which most are found by.
    places: HashMap<*const Resource, usize>,
}

impl Processes {
    /// The number of a resource, from 1.
    fn number(&mut self, resource: &Arc<Resource>) -> usize {
        let known = &mut self.known;
        let place = self.places.entry(Arc::as_ptr(resource)).or_insert_with(|| {
            let same = known.iter().position(|other| other == resource);
            same.unwrap_or_else(|| {
                known.push(Arc::clone(resource));
                known.len() - 1
            })
        });
        *place + 1
    }
}

fn span(out: &mut Out, span: &Span, process: usize, logs: &[&SpanLog], losses: &mut Losses) {
    out.text("traceID", &span.trace_id.to_string());
    out.text("spanID", &span.span_id.to_string());
    out.count("flags", span.flags);
    out.key("operationName");
    out.string(&span.name);
    out.key("references");
    references(out, span, losses);
    // Both ends are cut: spans that touched or lay within one another still do.
    let (start, end) = (micros(span.start), micros(span.end));
    out.key("startTime");
    out.raw(&start.to_string());
    out.key("duration");
    out.raw(&end.saturating_sub(start).to_string());
    let times = span.events.iter().map(|event| event.time);
    let mut times = times.chain([span.start, span.end]);
    losses.note(Loss::Nanoseconds, times.any(|time| time.0 % 1000 != 0));
    losses.note(Loss::NegativeDuration, span.end < span.start);

    let (tags, warnings) = span_tags(span, losses);
    out.key("tags");
    out.array(tags, |out, (key, value)| tag(out, key, &value, losses));
    out.key("logs");
    let events = span.events.iter().map(|event| event_log(event, losses));
    let events: Vec<Log<'_>> = events.collect();
    losses.add(Loss::LogOfSpan, logs.len());
    let logs = logs.iter().map(|log| Log {
        time: log.time,
        fields: text("message", &log.body)
            .into_iter()
            .chain(plain(&log.attributes))
            .collect(),
    });
    out.array(events.into_iter().chain(logs), |out, log| {
        out.object(|out| {
            out.key("timestamp");
            out.raw(&micros(log.time).to_string());
            out.key("fields");
            out.array(log.fields, |out, (key, value)| {
                tag(out, key, &value, losses);
            });
        });
    });
    out.text("processID", &format!("p{process}"));
    out.key("warnings");
    match warnings {
        Some(said) => out.array(said, |out, one| {
            out.string(one.as_str().unwrap_or_default());
        }),
        None => out.raw("null"),
    }
}

/// A tag before it is written.
type Tag<'a> = (&'a str, Cow<'a, Value>);

/// A log of a span.
struct Log<'a> {
    time: UnixNanos,
    fields: Vec<Tag<'a>>,
}

fn plain(attributes: &Attributes) -> impl Iterator<Item = Tag<'_>> {
    attributes
        .iter()
        .map(|(key, value)| (key, Cow::Borrowed(value)))
}

fn text<'a>(key: &'a str, text: &str) -> Option<Tag<'a>> {
    (!text.is_empty()).then(|| (key, Cow::Owned(Value::Str(text.into()))))
}

fn count(key: &str, count: u32) -> Option<Tag<'_>> {
    (count > 0).then(|| (key, Cow::Owned(Value::Int(count.into()))))
}

/// The attributes and what else of a span becomes a tag; Jaeger's own warnings stand apart.
fn span_tags<'a>(span: &'a Span, losses: &mut Losses) -> (Vec<Tag<'a>>, Option<&'a [Value]>) {
    let mut warnings = None;
    let mut tags = Vec::with_capacity(span.attributes.len() + 8);
    for (key, value) in span.attributes.iter() {
        match value {
            Value::Array(said)
                if key == WARNINGS
                    && warnings.is_none()
                    && !said.is_empty()
                    && said.iter().all(|one| one.as_str().is_some()) =>
            {
                warnings = Some(said.as_slice());
            }
            _ => {
                losses.note(Loss::Reserved, formats::jaeger::has_meaning(key, value));
                tags.push((key, Cow::Borrowed(value)));
            }
        }
    }
    let (kind, code) = (kind(span.kind), status_code(span.status.code));
    let unknown = kind.is_none() || code.is_none();
    losses.note(Loss::Unknown, unknown);
    let failed = span.status.code == StatusCode::Error;
    let Scope {
        name,
        version,
        attributes,
        dropped_attributes,
        schema_url,
    } = &*span.scope;
    let around = !attributes.is_empty()
        || *dropped_attributes > 0
        || !schema_url.is_empty()
        || !span.resource.schema_url.is_empty();
    losses.note(Loss::Around, around);
    let own = [
        text("otel.scope.name", name),
        text("otel.scope.version", version),
        text("span.kind", kind.unwrap_or_default()),
        text("otel.status_code", code.unwrap_or_default()),
        failed.then_some(("error", Cow::Owned(Value::Bool(true)))),
        text("otel.status_description", &span.status.message),
        text("w3c.tracestate", &span.trace_state),
        count("otel.dropped_attributes_count", span.dropped_attributes),
        count("otel.dropped_events_count", span.dropped_events),
        count("otel.dropped_links_count", span.dropped_links),
    ];
    tags.extend(own.into_iter().flatten());
    (tags, warnings)
}

fn kind(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Unspecified => "",
        Kind::Internal => "internal",
        Kind::Server => "server",
        Kind::Client => "client",
        Kind::Producer => "producer",
        Kind::Consumer => "consumer",
        Kind::Other(_) => return None,
    })
}

fn status_code(code: StatusCode) -> Option<&'static str> {
    Some(match code {
        StatusCode::Unset => "",
        StatusCode::Ok => "OK",
        StatusCode::Error => "ERROR",
        StatusCode::Other(_) => return None,
    })
}

fn event_log<'a>(event: &'a Event, losses: &mut Losses) -> Log<'a> {
    let dropped = "otel.dropped_attributes_count";
    let reserved = event.attributes.iter().filter(|(key, value)| {
        let is_name = *key == "event" && event.name.is_empty() && value.as_str().is_some();
        is_name || *key == dropped && value.as_int().is_some()
    });
    losses.add(Loss::Reserved, reserved.count());
    let fields = text("event", &event.name).into_iter();
    Log {
        time: event.time,
        fields: fields
            .chain(plain(&event.attributes))
            .chain(count(dropped, event.dropped_attributes))
            .collect(),
    }
}

/// The parent first, where readers look for it; links are `FOLLOWS_FROM`, unless they say that
/// they are not and cannot be taken for the parent.
fn references(out: &mut Out, span: &Span, losses: &mut Losses) {
    let parent = span.parent_id.map(|id| ("CHILD_OF", span.trace_id, id));
    let links = span.links.iter().map(|link| {
        let is_child = link.attributes.text(REF_TYPE) == Some("child_of");
        let kind = if is_child && parent.is_some() {
            "CHILD_OF"
        } else {
            "FOLLOWS_FROM"
        };
        let kept = link.attributes.is_empty() || link.attributes.len() == 1 && kind == "CHILD_OF";
        let lost = !kept
            || !link.trace_state.is_empty()
            || link.flags != 0
            || link.dropped_attributes > 0
            || link.trace_id.is_zero()
            || link.span_id.is_zero();
        losses.note(Loss::Link, lost);
        (kind, link.trace_id, link.span_id)
    });
    out.array(parent.into_iter().chain(links), |out, (kind, trace, id)| {
        out.object(|out| {
            out.text("refType", kind);
            out.text("traceID", &trace.to_string());
            out.text("spanID", &id.to_string());
        });
    });
}

fn process(out: &mut Out, resource: &Resource, losses: &mut Losses) {
    let place = resource
        .attributes
        .iter()
        .position(|(key, _)| key == "service.name");
    let name = place.and_then(|place| resource.attributes.0.get(place));
    losses.note(
        Loss::Service,
        name.is_some_and(|(_, name)| name.as_str().is_none()),
    );
    out.key("serviceName");
    match name {
        Some((_, Value::Str(name))) => out.string(name),
        Some((_, other)) => out.string(&other.to_string()),
        None => out.string(NO_SERVICE),
    }
    let has_host = resource.attributes.get("host.name").is_some();
    let others = plain(&resource.attributes).enumerate();
    let tags = others
        .filter(|(at, _)| Some(*at) != place)
        .map(|(_, tag)| tag);
    let dropped = "otel.dropped_attributes_count";
    let tags: Vec<Tag<'_>> = tags
        .inspect(|(key, value)| {
            let is_host = *key == "hostname" && !has_host;
            let is_count = *key == dropped && value.as_int().is_some();
            losses.note(Loss::Reserved, is_host || is_count);
        })
        .chain(count(dropped, resource.dropped_attributes))
        .collect();
    out.key("tags");
    out.array(tags, |out, (key, value)| tag(out, key, &value, losses));
}

fn tag(out: &mut Out, key: &str, value: &Value, losses: &mut Losses) {
    out.object(|out| {
        out.key("key");
        out.string(key);
        let (kind, loss) = match value {
            Value::Str(_) => ("string", None),
            Value::Bool(_) => ("bool", None),
            Value::Int(_) => ("int64", None),
            Value::Double(_) => ("float64", None),
            Value::Bytes(_) => ("binary", None),
            Value::Empty => ("string", Some(Loss::Empty)),
            Value::Array(values) if formats::lists::is_kept(key, values) => ("string", None),
            Value::Array(_) => ("string", Some(Loss::Array)),
            Value::Map(_) => ("string", Some(Loss::Map)),
        };
        if let Some(loss) = loss {
            losses.add(loss, 1);
        }
        out.text("type", kind);
        out.key("value");
        match value {
            Value::Array(_) | Value::Map(_) => {
                let mut json = Out::with_capacity(64);
                self::json(&mut json, value);
                out.string(&json.finish());
            }
            Value::Empty => out.string(""),
            Value::Int(int) if int.unsigned_abs() > EXACT => out.string(&int.to_string()),
            _ => json(out, value),
        }
    });
}

/// A value as plain JSON; as deep as the value is, which the reader has capped.
fn json(out: &mut Out, value: &Value) {
    match value {
        Value::Empty => out.raw("null"),
        Value::Str(text) => out.string(text),
        Value::Bool(flag) => out.raw(if *flag { "true" } else { "false" }),
        Value::Int(int) => out.raw(&int.to_string()),
        Value::Double(double) => out.double(*double),
        Value::Bytes(bytes) => out.string(&STANDARD.encode(bytes)),
        Value::Array(values) => out.array(values, json),
        Value::Map(map) => out.object(|out| {
            for (key, value) in map.iter() {
                out.key(key);
                json(out, value);
            }
        }),
    }
}

/// Microseconds, rounded down.
fn micros(time: UnixNanos) -> u64 {
    time.0 / 1000
}
