//! Spans made by hand, for the tests of the server.

use std::sync::Arc;

use dwindle::model::{
    Attributes, Kind, Resource, Span, SpanId, SpanLog, TraceId, UnixNanos, Value,
};

/// 2026-10-07T09:15:00Z.
pub(crate) const START: u64 = 1_791_364_500_000_000_000;

/// The id `n`.
pub(crate) fn trace_id(n: u64) -> TraceId {
    let mut id = [0xab; 16];
    id[8..].copy_from_slice(&n.to_be_bytes());
    TraceId(id)
}

/// The id `n`.
pub(crate) fn span_id(n: u64) -> SpanId {
    SpanId(n.to_be_bytes())
}

/// Span `id` of trace `trace`, a server's of the service `service`, 100 ms long.
pub(crate) fn span(trace: u64, id: u64, parent: Option<u64>) -> Span {
    let name = Value::Str("shop".into());
    let resource = Resource::new(Attributes::from_iter([("service.name", name)]));
    Span {
        trace_id: trace_id(trace),
        span_id: span_id(id),
        parent_id: parent.map(span_id),
        name: "GET /cart".into(),
        kind: Kind::Server,
        start: UnixNanos(START + id),
        end: UnixNanos(START + id + 100_000_000),
        resource: Arc::new(resource),
        ..Span::default()
    }
}

/// A log record of that span.
pub(crate) fn log(trace: u64, span: u64) -> SpanLog {
    SpanLog {
        trace_id: trace_id(trace),
        span_id: span_id(span),
        time: UnixNanos(START),
        attributes: Attributes::from_iter([("deadline.remaining_in_ms", Value::Int(400))]),
        body: "answered".into(),
    }
}
