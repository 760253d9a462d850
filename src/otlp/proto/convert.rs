//! Generated types into model types.

use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::resource::v1::Resource as ProtoResource;
use opentelemetry_proto::tonic::trace::v1::{Span as ProtoSpan, span};
use std::sync::Arc;

use crate::model::{
    Attributes, Event, Kind, Link, Resource, Scope, Span, SpanId, SpanLog, Status, StatusCode,
    Text, TraceId, UnixNanos, Value, key,
};
use crate::otlp::Reject;

/// The kind of that number.
pub(crate) fn kind(number: i32) -> Kind {
    match number {
        0 => Kind::Unspecified,
        1 => Kind::Internal,
        2 => Kind::Server,
        3 => Kind::Client,
        4 => Kind::Producer,
        5 => Kind::Consumer,
        other => Kind::Other(other),
    }
}

/// The number of that kind.
pub(crate) fn kind_number(kind: Kind) -> i32 {
    match kind {
        Kind::Unspecified => 0,
        Kind::Internal => 1,
        Kind::Server => 2,
        Kind::Client => 3,
        Kind::Producer => 4,
        Kind::Consumer => 5,
        Kind::Other(number) => number,
    }
}

/// The status code of that number.
pub(crate) fn status_code(number: i32) -> StatusCode {
    match number {
        0 => StatusCode::Unset,
        1 => StatusCode::Ok,
        2 => StatusCode::Error,
        other => StatusCode::Other(other),
    }
}

/// The number of that status code.
pub(crate) fn status_number(code: StatusCode) -> i32 {
    match code {
        StatusCode::Unset => 0,
        StatusCode::Ok => 1,
        StatusCode::Error => 2,
        StatusCode::Other(number) => number,
    }
}

/// A span, or why it is none and its name.
pub(super) fn span(
    mut span: ProtoSpan,
    resource: &Arc<Resource>,
    scope: &Arc<Scope>,
    max_depth: usize,
) -> Result<Span, (Reject, Text)> {
    let name = Text::from(std::mem::take(&mut span.name));
    match unnamed(span, resource, scope, max_depth) {
        Ok(span) => Ok(Span { name, ..span }),
        Err(why) => Err((why, name)),
    }
}

fn unnamed(
    span: ProtoSpan,
    resource: &Arc<Resource>,
    scope: &Arc<Scope>,
    max_depth: usize,
) -> Result<Span, Reject> {
    let trace_id = id(&span.trace_id, Reject::ZeroTraceId, Reject::TraceId)?;
    let span_id = id(&span.span_id, Reject::ZeroSpanId, Reject::SpanId)?;
    let parent_id = match span.parent_span_id.as_slice() {
        [] | [0, 0, 0, 0, 0, 0, 0, 0] => None,
        bytes => Some(SpanId::from_bytes(bytes).ok_or(Reject::ParentId)?),
    };
    let status = span.status.map_or_else(Status::default, |status| Status {
        code: status_code(status.code),
        message: status.message.into(),
    });
    let mut dropped_links = span.dropped_links_count;
    let mut links = Vec::with_capacity(span.links.len());
    for one in span.links {
        match link(one, max_depth)? {
            Some(link) => links.push(link),
            None => dropped_links = dropped_links.saturating_add(1),
        }
    }
    Ok(Span {
        trace_id: TraceId(trace_id),
        span_id: SpanId(span_id),
        parent_id,
        trace_state: span.trace_state.into(),
        flags: span.flags,
        name: Text::default(),
        kind: kind(span.kind),
        start: UnixNanos(span.start_time_unix_nano),
        end: UnixNanos(span.end_time_unix_nano),
        attributes: attributes(span.attributes, max_depth)?,
        dropped_attributes: span.dropped_attributes_count,
        events: all(span.events, |one| event(one, max_depth))?,
        dropped_events: span.dropped_events_count,
        links,
        dropped_links,
        status,
        resource: Arc::clone(resource),
        scope: Arc::clone(scope),
    })
}

/// A log record, or why it is none. A body that cannot be read is no fault of it.
pub(super) fn log(record: LogRecord, max_depth: usize) -> Result<SpanLog, Reject> {
    let (none, bad) = (Reject::LogWithoutSpan, Reject::LogUnreadable);
    let time = match record.time_unix_nano {
        0 => record.observed_time_unix_nano,
        time => time,
    };
    let body = record.body.map(|body| any(body, max_depth));
    let mut log = SpanLog {
        trace_id: TraceId(id(&record.trace_id, none, bad)?),
        span_id: SpanId(id(&record.span_id, none, bad)?),
        time: UnixNanos(time),
        attributes: attributes(record.attributes, max_depth).map_err(|_| bad)?,
        ..SpanLog::default()
    };
    if let Some(Ok(body)) = body {
        log.set_body(&body);
    }
    Ok(log)
}

pub(super) fn resource(
    resource: ProtoResource,
    schema_url: Text,
    max_depth: usize,
) -> Result<Resource, Reject> {
    let attributes = attributes(resource.attributes, max_depth)?;
    Ok(Resource {
        dropped_attributes: resource.dropped_attributes_count,
        schema_url,
        ..Resource::new(attributes)
    })
}

pub(super) fn scope(
    scope: InstrumentationScope,
    schema_url: Text,
    max_depth: usize,
) -> Result<Scope, Reject> {
    Ok(Scope {
        name: scope.name.into(),
        version: scope.version.into(),
        attributes: attributes(scope.attributes, max_depth)?,
        dropped_attributes: scope.dropped_attributes_count,
        schema_url,
    })
}

/// Exactly `N` bytes that are not all zero.
fn id<const N: usize>(bytes: &[u8], zero: Reject, bad: Reject) -> Result<[u8; N], Reject> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Err(zero);
    }
    bytes.try_into().map_err(|_| bad)
}

fn event(event: span::Event, max_depth: usize) -> Result<Event, Reject> {
    Ok(Event {
        time: UnixNanos(event.time_unix_nano),
        name: event.name.into(),
        attributes: attributes(event.attributes, max_depth)?,
        dropped_attributes: event.dropped_attributes_count,
    })
}

/// A link; `None` when its ids are none, which is no reason to lose the span.
fn link(link: span::Link, max_depth: usize) -> Result<Option<Link>, Reject> {
    let (Some(trace_id), Some(span_id)) = (link_id(&link.trace_id), link_id(&link.span_id)) else {
        return Ok(None);
    };
    Ok(Some(Link {
        trace_id: TraceId(trace_id),
        span_id: SpanId(span_id),
        trace_state: link.trace_state.into(),
        flags: link.flags,
        attributes: attributes(link.attributes, max_depth)?,
        dropped_attributes: link.dropped_attributes_count,
    }))
}

fn link_id<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    match bytes {
        [] => Some([0; N]),
        bytes => bytes.try_into().ok(),
    }
}

fn attributes(pairs: Vec<KeyValue>, depth_left: usize) -> Result<Attributes, Reject> {
    let pair = |pair: KeyValue| {
        let value = pair.value.map(|value| any(value, depth_left));
        Ok((key(&pair.key), value.transpose()?.unwrap_or(Value::Empty)))
    };
    all(pairs, pair).map(Attributes)
}

/// Converts each. To collect them would keep the room of what they are made from, often twice
/// what they need, and they stay in memory for a while.
fn all<T, U>(
    from: Vec<T>,
    mut convert: impl FnMut(T) -> Result<U, Reject>,
) -> Result<Vec<U>, Reject> {
    let mut all = Vec::with_capacity(from.len());
    for one in from {
        all.push(convert(one)?);
    }
    Ok(all)
}

fn any(value: AnyValue, depth_left: usize) -> Result<Value, Reject> {
    Ok(match value.value {
        // An index points into the table of a profile; spans have none.
        None | Some(any_value::Value::StringValueStrindex(_)) => Value::Empty,
        Some(any_value::Value::StringValue(text)) => Value::Str(text.into()),
        Some(any_value::Value::BoolValue(flag)) => Value::Bool(flag),
        Some(any_value::Value::IntValue(int)) => Value::Int(int),
        Some(any_value::Value::DoubleValue(double)) => Value::Double(double),
        Some(any_value::Value::BytesValue(bytes)) => Value::Bytes(bytes),
        Some(any_value::Value::ArrayValue(array)) => {
            let deeper = depth_left.checked_sub(1).ok_or(Reject::TooDeep)?;
            Value::Array(all(array.values, |value| any(value, deeper))?)
        }
        Some(any_value::Value::KvlistValue(list)) => {
            let deeper = depth_left.checked_sub(1).ok_or(Reject::TooDeep)?;
            Value::Map(attributes(list.values, deeper)?)
        }
    })
}
