//! Spans as OTLP/JSON, to the letter: hex ids, camel case, 64-bit integers as strings, enums as
//! numbers, and nothing that has its default value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::out::Out;
use crate::model::{Attributes, Event, Link, Resource, Scope, Span, SpanLog, Status, Trace, Value};
use crate::otlp::proto::{kind_number, runs, status_number};

/// The spans as one `ExportTraceServiceRequest` in OTLP/JSON, in their order.
pub fn traces_to_json(spans: &[Span]) -> String {
    let mut out = Out::with_capacity(spans.len() * 512);
    out.object(|out| resource_spans(out, spans));
    out.finish()
}

/// A trace as one document: `TracesData` with what is kept of its log records beside the spans, as
/// in `LogsData`. Whoever wants one of the two passes over the other.
pub fn trace_to_json(trace: &Trace) -> String {
    let mut out = Out::with_capacity(trace.spans.len() * 512 + trace.logs.len() * 256);
    out.object(|out| {
        resource_spans(out, &trace.spans);
        if !trace.logs.is_empty() {
            resource_logs(out, &trace.logs);
        }
    });
    out.finish()
}

fn resource_spans(out: &mut Out, spans: &[Span]) {
    out.list(
        "resourceSpans",
        runs(spans, Span::same_resource),
        |out, spans| {
            out.object(|out| {
                let Some(first) = spans.first() else { return };
                resource(out, &first.resource);
                out.list("scopeSpans", runs(spans, Span::same_scope), |out, spans| {
                    out.object(|out| {
                        let Some(first) = spans.first() else { return };
                        scope(out, &first.scope);
                        out.list("spans", spans, |out, one| out.object(|out| span(out, one)));
                        out.text("schemaUrl", &first.scope.schema_url);
                    });
                });
                out.text("schemaUrl", &first.resource.schema_url);
            });
        },
    );
}

/// The log records as one `ExportLogsServiceRequest` in OTLP/JSON, in their order: what is kept of
/// them, under no resource and no scope.
pub fn logs_to_json(logs: &[SpanLog]) -> String {
    let mut out = Out::with_capacity(logs.len() * 256);
    out.object(|out| resource_logs(out, logs));
    out.finish()
}

fn resource_logs(out: &mut Out, logs: &[SpanLog]) {
    out.list("resourceLogs", [logs], |out, logs| {
        out.object(|out| {
            out.list("scopeLogs", [logs], |out, logs| {
                out.object(|out| {
                    out.list("logRecords", logs, |out, one| {
                        out.object(|out| log(out, one));
                    });
                });
            });
        });
    });
}

fn log(out: &mut Out, log: &SpanLog) {
    out.text("timeUnixNano", &log.time.0.to_string());
    if !log.body.is_empty() {
        out.key("body");
        out.object(|out| out.text("stringValue", &log.body));
    }
    attributes(out, &log.attributes);
    out.text("traceId", &log.trace_id.to_string());
    out.text("spanId", &log.span_id.to_string());
}

fn resource(out: &mut Out, resource: &Resource) {
    if !resource.attributes.is_empty() || resource.dropped_attributes > 0 {
        out.key("resource");
        out.object(|out| {
            attributes(out, &resource.attributes);
            out.count("droppedAttributesCount", resource.dropped_attributes);
        });
    }
}

fn scope(out: &mut Out, scope: &Scope) {
    out.key("scope");
    out.object(|out| {
        out.text("name", &scope.name);
        out.text("version", &scope.version);
        attributes(out, &scope.attributes);
        out.count("droppedAttributesCount", scope.dropped_attributes);
    });
}

fn span(out: &mut Out, span: &Span) {
    out.text("traceId", &span.trace_id.to_string());
    out.text("spanId", &span.span_id.to_string());
    out.text("traceState", &span.trace_state);
    if let Some(parent) = span.parent_id {
        out.text("parentSpanId", &parent.to_string());
    }
    out.count("flags", span.flags);
    out.text("name", &span.name);
    out.number("kind", kind_number(span.kind));
    out.text("startTimeUnixNano", &span.start.0.to_string());
    out.text("endTimeUnixNano", &span.end.0.to_string());
    attributes(out, &span.attributes);
    out.count("droppedAttributesCount", span.dropped_attributes);
    out.list("events", &span.events, |out, one| {
        out.object(|out| event(out, one));
    });
    out.count("droppedEventsCount", span.dropped_events);
    out.list("links", &span.links, |out, one| {
        out.object(|out| link(out, one));
    });
    out.count("droppedLinksCount", span.dropped_links);
    if span.status != Status::default() {
        out.key("status");
        out.object(|out| {
            out.text("message", &span.status.message);
            out.number("code", status_number(span.status.code));
        });
    }
}

fn event(out: &mut Out, event: &Event) {
    out.text("timeUnixNano", &event.time.0.to_string());
    out.text("name", &event.name);
    attributes(out, &event.attributes);
    out.count("droppedAttributesCount", event.dropped_attributes);
}

fn link(out: &mut Out, link: &Link) {
    out.text("traceId", &link.trace_id.to_string());
    out.text("spanId", &link.span_id.to_string());
    out.text("traceState", &link.trace_state);
    attributes(out, &link.attributes);
    out.count("droppedAttributesCount", link.dropped_attributes);
    out.count("flags", link.flags);
}

fn attributes(out: &mut Out, attributes: &Attributes) {
    out.list("attributes", &attributes.0, |out, (key, value)| {
        pair(out, key, value);
    });
}

fn pair(out: &mut Out, key: &str, value: &Value) {
    out.object(|out| {
        // An empty key is a key.
        out.key("key");
        out.string(key);
        out.key("value");
        any(out, value);
    });
}

/// As deep as the value is, which the decoder has capped.
fn any(out: &mut Out, value: &Value) {
    out.object(|out| match value {
        Value::Empty => {}
        Value::Str(text) => {
            out.key("stringValue");
            out.string(text);
        }
        Value::Bool(flag) => {
            out.key("boolValue");
            out.raw(if *flag { "true" } else { "false" });
        }
        Value::Int(int) => {
            out.key("intValue");
            out.string(&int.to_string());
        }
        Value::Double(double) => {
            out.key("doubleValue");
            out.double(*double);
        }
        Value::Bytes(bytes) => {
            out.key("bytesValue");
            out.string(&STANDARD.encode(bytes));
        }
        Value::Array(values) => {
            out.key("arrayValue");
            out.object(|out| out.list("values", values, any));
        }
        Value::Map(map) => {
            out.key("kvlistValue");
            out.object(|out| out.list("values", &map.0, |out, (key, value)| pair(out, key, value)));
        }
    });
}
