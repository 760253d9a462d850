//! Spans as OTLP/JSON, to the letter: hex ids, camel case, 64-bit integers as strings, enums as
//! numbers, and nothing that has its default value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::{Attributes, Event, Link, Resource, Scope, Span, Status, Value};
use crate::otlp::proto::{kind_number, runs, status_number};

/// The spans as one `ExportTraceServiceRequest` in OTLP/JSON, in their order.
pub fn traces_to_json(spans: &[Span]) -> String {
    let mut out = Out(String::with_capacity(spans.len() * 512));
    out.object(|out| {
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
    });
    out.0
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

/// JSON text that grows.
#[derive(Debug)]
struct Out(String);

impl Out {
    fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.0.push('{');
        fields(self);
        self.0.push('}');
    }

    fn comma(&mut self) {
        if !self.0.ends_with(['{', '[']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }

    fn key(&mut self, key: &str) {
        self.comma();
        self.string(key);
        self.0.push(':');
    }

    /// A text, unless it is empty.
    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.key(key);
            self.string(text);
        }
    }

    /// A count, unless it is 0.
    fn count(&mut self, key: &str, count: u32) {
        if count > 0 {
            self.key(key);
            self.raw(&count.to_string());
        }
    }

    /// An enum, unless it is 0.
    fn number(&mut self, key: &str, number: i32) {
        if number != 0 {
            self.key(key);
            self.raw(&number.to_string());
        }
    }

    /// A list, unless it is empty.
    fn list<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.key(key);
        self.0.push('[');
        for one in items {
            self.comma();
            item(self, one);
        }
        self.0.push(']');
    }

    /// A double; what JSON has no number for is a string, as protobuf's JSON mapping has it.
    fn double(&mut self, double: f64) {
        if double.is_finite() {
            self.raw(&format!("{double:?}"));
        } else if double.is_nan() {
            self.raw("\"NaN\"");
        } else {
            self.raw(if double > 0.0 {
                "\"Infinity\""
            } else {
                "\"-Infinity\""
            });
        }
    }

    fn string(&mut self, text: &str) {
        self.0.push('"');
        let mut rest = text;
        while let Some(at) = rest.find(|char| matches!(char, '"' | '\\' | '\0'..='\u{1f}')) {
            let (plain, special) = rest.split_at(at);
            self.0.push_str(plain);
            let mut special = special.chars();
            match special.next() {
                Some('\n') => self.0.push_str("\\n"),
                Some('\r') => self.0.push_str("\\r"),
                Some('\t') => self.0.push_str("\\t"),
                Some(control @ '\0'..='\u{1f}') => {
                    let hex = |nibble| char::from_digit(nibble, 16).unwrap_or('0');
                    self.0.push_str("\\u00");
                    self.0.push(hex(u32::from(control) >> 4));
                    self.0.push(hex(u32::from(control) & 15));
                }
                Some(other) => {
                    self.0.push('\\');
                    self.0.push(other);
                }
                None => {}
            }
            rest = special.as_str();
        }
        self.0.push_str(rest);
        self.0.push('"');
    }
}
