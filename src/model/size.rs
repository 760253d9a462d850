//! About how many bytes what came in takes in memory; what the ceilings in bytes count with.

use std::mem::size_of;

use super::{Attributes, Resource, Scope, Span, SpanLog, Text, Value};

/// A span without its resource and scope, which it shares with its batch.
pub fn of_span(span: &Span) -> usize {
    let events: usize = span
        .events
        .iter()
        .map(|event| size_of_val(event) + of_text(&event.name) + of_attributes(&event.attributes))
        .sum();
    let links: usize = span
        .links
        .iter()
        .map(|link| {
            size_of_val(link) + of_text(&link.trace_state) + of_attributes(&link.attributes)
        })
        .sum();
    size_of::<Span>()
        + of_text(&span.name)
        + of_text(&span.trace_state)
        + of_text(&span.status.message)
        + of_attributes(&span.attributes)
        + events
        + links
}

/// A log record.
pub fn of_log(log: &SpanLog) -> usize {
    size_of::<SpanLog>() + of_attributes(&log.attributes) + of_text(&log.body)
}

/// A resource.
pub fn of_resource(resource: &Resource) -> usize {
    size_of::<Resource>()
        + of_text(&resource.service)
        + of_text(&resource.schema_url)
        + of_attributes(&resource.attributes)
}

/// A scope.
pub fn of_scope(scope: &Scope) -> usize {
    size_of::<Scope>()
        + of_text(&scope.name)
        + of_text(&scope.version)
        + of_text(&scope.schema_url)
        + of_attributes(&scope.attributes)
}

/// Values nest as deep as the decoder allows, which bounds this recursion.
fn of_attributes(attributes: &Attributes) -> usize {
    attributes
        .0
        .iter()
        .map(|(key, value)| size_of::<(Text, Value)>() + of_text(key) + of_value(value))
        .sum()
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::Str(text) => of_text(text),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(values) => values
            .iter()
            .map(|value| size_of::<Value>() + of_value(value))
            .sum(),
        Value::Map(attributes) => of_attributes(attributes),
        Value::Empty | Value::Bool(_) | Value::Int(_) | Value::Double(_) => 0,
    }
}

fn of_text(text: &Text) -> usize {
    if text.is_heap_allocated() {
        text.capacity()
    } else {
        0
    }
}
