//! Model types into generated types.

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource as ProtoResource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span as ProtoSpan, Status as ProtoStatus, span,
};

use super::convert::{kind_number, status_number};
use crate::model::{Attributes, Event, Link, Resource, Scope, Span, SpanLog, Status, Value};

/// The spans as one request, in their order: neighbours with one resource share its entry.
pub fn traces_to_proto(spans: &[Span]) -> ExportTraceServiceRequest {
    let resource_spans = runs(spans, Span::same_resource)
        .filter_map(|spans| {
            let first = spans.first()?;
            Some(ResourceSpans {
                resource: Some(resource(&first.resource)),
                scope_spans: runs(spans, Span::same_scope)
                    .filter_map(scope_spans)
                    .collect(),
                schema_url: first.resource.schema_url.to_string(),
            })
        })
        .collect();
    ExportTraceServiceRequest { resource_spans }
}

/// The log records as one request; of a record no more is known than its span, time, attributes
/// and text.
pub fn logs_to_proto(logs: &[SpanLog]) -> ExportLogsServiceRequest {
    let record = |log: &SpanLog| LogRecord {
        time_unix_nano: log.time.0,
        trace_id: log.trace_id.0.to_vec(),
        span_id: log.span_id.0.to_vec(),
        attributes: attributes(&log.attributes),
        body: (!log.body.is_empty()).then(|| any(&Value::Str(log.body.clone()))),
        ..LogRecord::default()
    };
    let scope_logs = vec![ScopeLogs {
        log_records: logs.iter().map(record).collect(),
        ..ScopeLogs::default()
    }];
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs,
            ..ResourceLogs::default()
        }],
    }
}

/// The longest stretches of neighbours that are alike.
pub(in crate::otlp) fn runs(
    spans: &[Span],
    alike: impl Fn(&Span, &Span) -> bool,
) -> impl Iterator<Item = &[Span]> {
    spans.chunk_by(alike)
}

impl Span {
    /// True if both were made by one entity.
    pub(in crate::otlp) fn same_resource(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.resource, &other.resource) || self.resource == other.resource
    }

    /// True if both were made by one library.
    pub(in crate::otlp) fn same_scope(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.scope, &other.scope) || self.scope == other.scope
    }
}

fn scope_spans(spans: &[Span]) -> Option<ScopeSpans> {
    let scope = &spans.first()?.scope;
    Some(ScopeSpans {
        scope: Some(self::scope(scope)),
        spans: spans.iter().map(span).collect(),
        schema_url: scope.schema_url.to_string(),
    })
}

fn resource(resource: &Resource) -> ProtoResource {
    ProtoResource {
        attributes: attributes(&resource.attributes),
        dropped_attributes_count: resource.dropped_attributes,
        entity_refs: Vec::new(),
    }
}

fn scope(scope: &Scope) -> InstrumentationScope {
    InstrumentationScope {
        name: scope.name.to_string(),
        version: scope.version.to_string(),
        attributes: attributes(&scope.attributes),
        dropped_attributes_count: scope.dropped_attributes,
    }
}

fn span(span: &Span) -> ProtoSpan {
    let status = (span.status != Status::default()).then(|| ProtoStatus {
        message: span.status.message.to_string(),
        code: status_number(span.status.code),
    });
    ProtoSpan {
        trace_id: span.trace_id.0.to_vec(),
        span_id: span.span_id.0.to_vec(),
        trace_state: span.trace_state.to_string(),
        parent_span_id: span.parent_id.map_or_else(Vec::new, |id| id.0.to_vec()),
        flags: span.flags,
        name: span.name.to_string(),
        kind: kind_number(span.kind),
        start_time_unix_nano: span.start.0,
        end_time_unix_nano: span.end.0,
        attributes: attributes(&span.attributes),
        dropped_attributes_count: span.dropped_attributes,
        events: span.events.iter().map(event).collect(),
        dropped_events_count: span.dropped_events,
        links: span.links.iter().map(link).collect(),
        dropped_links_count: span.dropped_links,
        status,
    }
}

fn event(event: &Event) -> span::Event {
    span::Event {
        time_unix_nano: event.time.0,
        name: event.name.to_string(),
        attributes: attributes(&event.attributes),
        dropped_attributes_count: event.dropped_attributes,
    }
}

fn link(link: &Link) -> span::Link {
    span::Link {
        trace_id: link.trace_id.0.to_vec(),
        span_id: link.span_id.0.to_vec(),
        trace_state: link.trace_state.to_string(),
        attributes: attributes(&link.attributes),
        dropped_attributes_count: link.dropped_attributes,
        flags: link.flags,
    }
}

fn attributes(attributes: &Attributes) -> Vec<KeyValue> {
    attributes
        .iter()
        .map(|(key, value)| KeyValue {
            key: key.to_owned(),
            value: Some(any(value)),
            key_strindex: 0,
        })
        .collect()
}

/// As deep as the value is, which the decoder has capped.
fn any(value: &Value) -> AnyValue {
    let value = match value {
        Value::Empty => None,
        Value::Str(text) => Some(any_value::Value::StringValue(text.to_string())),
        Value::Bool(flag) => Some(any_value::Value::BoolValue(*flag)),
        Value::Int(int) => Some(any_value::Value::IntValue(*int)),
        Value::Double(double) => Some(any_value::Value::DoubleValue(*double)),
        Value::Bytes(bytes) => Some(any_value::Value::BytesValue(bytes.clone())),
        Value::Array(values) => Some(any_value::Value::ArrayValue(ArrayValue {
            values: values.iter().map(any).collect(),
        })),
        Value::Map(map) => Some(any_value::Value::KvlistValue(KeyValueList {
            values: attributes(map),
        })),
    };
    AnyValue { value }
}
