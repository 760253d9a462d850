//! One span.

use std::sync::Arc;

use super::fields::{self, Field};
use super::reader::{Read, Reader, Scalar};
use super::value;
use crate::model::{
    Attributes, Event, Kind, Link, Resource, Scope, Span, SpanId, Status, Text, TraceId, UnixNanos,
};
use crate::otlp::ids::{self, Id};
use crate::otlp::proto::{kind, status_code};
use crate::otlp::{Batch, Reject};

const KINDS: [(&str, i32); 6] = [
    ("UNSPECIFIED", 0),
    ("INTERNAL", 1),
    ("SERVER", 2),
    ("CLIENT", 3),
    ("PRODUCER", 4),
    ("CONSUMER", 5),
];
const CODES: [(&str, i32); 3] = [("UNSET", 0), ("OK", 1), ("ERROR", 2)];

/// Reads one span and keeps it, or rejects it.
pub(super) fn span(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    resource: &Arc<Resource>,
    scope: &Arc<Scope>,
) -> Read<()> {
    let mut draft = Draft::new(Arc::clone(resource), Arc::clone(scope));
    let read = fields::object(reader, |reader, key| draft.field(reader, batch, key))?;
    draft.faults.field(read, "spans");
    draft.finish(batch);
    Ok(())
}

/// A span under way.
struct Draft {
    span: Span,
    faults: Faults,
    /// True when one of its ids was a word.
    made: bool,
    bad_links: u32,
}

impl Draft {
    fn new(resource: Arc<Resource>, scope: Arc<Scope>) -> Self {
        let span = Span {
            trace_id: TraceId::default(),
            span_id: SpanId::default(),
            parent_id: None,
            trace_state: Text::default(),
            flags: 0,
            name: Text::default(),
            kind: Kind::default(),
            start: UnixNanos::default(),
            end: UnixNanos::default(),
            attributes: Attributes::default(),
            dropped_attributes: 0,
            events: Vec::new(),
            dropped_events: 0,
            links: Vec::new(),
            dropped_links: 0,
            status: Status::default(),
            resource,
            scope,
        };
        Self {
            span,
            faults: Faults::default(),
            made: false,
            bad_links: 0,
        }
    }

    fn field(&mut self, reader: &mut Reader<'_>, batch: &mut Batch<'_>, key: &str) -> Read<()> {
        let Self {
            span, faults, made, ..
        } = self;
        match key {
            "traceId" | "trace_id" => {
                let id = id(reader, batch, made)?;
                span.trace_id = TraceId(faults.take(id, Reject::TraceId, key));
            }
            "spanId" | "span_id" => {
                let id = id(reader, batch, made)?;
                span.span_id = SpanId(faults.take(id, Reject::SpanId, key));
            }
            "parentSpanId" | "parent_span_id" => {
                let id = id(reader, batch, made)?;
                let id = SpanId(faults.take(id, Reject::ParentId, key));
                span.parent_id = (!id.is_zero()).then_some(id);
            }
            "name" => span.name = faults.field(fields::text(reader)?, key),
            "kind" => {
                let number = fields::choice(reader, "SPAN_KIND_", &KINDS)?;
                span.kind = kind(faults.field(number, key));
            }
            "startTimeUnixNano" | "start_time_unix_nano" => {
                span.start = UnixNanos(faults.field(fields::nanos(reader)?, key));
            }
            "endTimeUnixNano" | "end_time_unix_nano" => {
                span.end = UnixNanos(faults.field(fields::nanos(reader)?, key));
            }
            "attributes" => {
                span.attributes = faults.field(value::attributes(reader, batch, 0)?, key);
            }
            "status" => faults.field(status(reader, &mut span.status)?, key),
            "flags" => span.flags = fields::count(reader)?,
            "traceState" | "trace_state" => {
                span.trace_state = faults.field(fields::text(reader)?, key);
            }
            _ => return self.rare_field(reader, batch, key),
        }
        Ok(())
    }

    fn rare_field(
        &mut self,
        reader: &mut Reader<'_>,
        batch: &mut Batch<'_>,
        key: &str,
    ) -> Read<()> {
        let Self {
            span,
            faults,
            made,
            bad_links,
        } = self;
        match key {
            "events" => {
                let read = fields::list(reader, |reader| event(reader, batch, &mut span.events))?;
                faults.field(read, key);
            }
            "links" => {
                let read = fields::list(reader, |reader| {
                    match link(reader, batch, made)? {
                        Some(link) => span.links.push(link),
                        None => *bad_links += 1,
                    }
                    Ok(())
                })?;
                faults.field(read, key);
            }
            "droppedAttributesCount" | "dropped_attributes_count" => {
                span.dropped_attributes = fields::count(reader)?;
            }
            "droppedEventsCount" | "dropped_events_count" => {
                span.dropped_events = fields::count(reader)?;
            }
            "droppedLinksCount" | "dropped_links_count" => {
                span.dropped_links = fields::count(reader)?;
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    }

    fn finish(self, batch: &mut Batch<'_>) {
        let Self {
            mut span,
            mut faults,
            made,
            bad_links,
        } = self;
        if std::mem::take(&mut batch.too_deep) {
            faults.found(Reject::TooDeep, "attributes");
        }
        if span.trace_id.is_zero() {
            span.trace_id = batch.outer_trace;
        }
        if span.trace_id.is_zero() {
            faults.found(Reject::ZeroTraceId, "traceId");
        } else if span.span_id.is_zero() {
            faults.found(Reject::ZeroSpanId, "spanId");
        }
        if let Some((why, key)) = faults.first {
            return batch.reject(why, || {
                format!("span `{}`, `{key}`: {}", span.name, why.words())
            });
        }
        span.dropped_links = span.dropped_links.saturating_add(bad_links);
        span.events.shrink_to_fit();
        span.links.shrink_to_fit();
        batch.replaced_ids += u64::from(made);
        batch.spans.push(span);
    }
}

/// What is wrong with one span: the first thing counts.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) first: Option<(Reject, Text)>,
}

impl Faults {
    pub(crate) fn found(&mut self, why: Reject, key: &str) {
        if self.first.is_none() {
            self.first = Some((why, Text::from(key)));
        }
    }

    pub(crate) fn field<T: Default>(&mut self, field: Field<T>, key: &str) -> T {
        field.unwrap_or_else(|()| {
            self.found(Reject::Field, key);
            T::default()
        })
    }

    pub(crate) fn take<T: Default>(&mut self, id: Option<T>, why: Reject, key: &str) -> T {
        id.unwrap_or_else(|| {
            self.found(why, key);
            T::default()
        })
    }
}

/// The trace that an object around spans names.
pub(super) fn outer_trace(reader: &mut Reader<'_>, batch: &Batch<'_>) -> Read<TraceId> {
    Ok(TraceId(id(reader, batch, &mut false)?.unwrap_or_default()))
}

/// An id: zeros for none, `None` for what is no id.
pub(super) fn id<const N: usize>(
    reader: &mut Reader<'_>,
    batch: &Batch<'_>,
    made: &mut bool,
) -> Read<Option<[u8; N]>> {
    let scalar = reader.scalar()?;
    let text = match &scalar {
        Scalar::Str(text) => text,
        Scalar::Number(digits) => *digits,
        Scalar::Null => "",
        Scalar::Bool(_) | Scalar::Compound => return Ok(None),
    };
    Ok(match ids::read(text, batch.limits.words_as_ids) {
        Some(Id::Zero) => Some([0; N]),
        Some(Id::Known(id)) => Some(id),
        Some(Id::Made(id)) => {
            *made = true;
            Some(id)
        }
        None => None,
    })
}

fn event(reader: &mut Reader<'_>, batch: &mut Batch<'_>, events: &mut Vec<Event>) -> Read<()> {
    let mut event = Event::default();
    let read = fields::object(reader, |reader, key| {
        match key {
            "timeUnixNano" | "time_unix_nano" => {
                event.time = UnixNanos(fields::nanos(reader)?.unwrap_or_default());
            }
            "name" => event.name = fields::text(reader)?.unwrap_or_default(),
            "attributes" => {
                event.attributes = value::attributes(reader, batch, 0)?.unwrap_or_default();
            }
            "droppedAttributesCount" | "dropped_attributes_count" => {
                event.dropped_attributes = fields::count(reader)?;
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if read.is_ok() {
        events.push(event);
    }
    Ok(())
}

/// A link; `None` when its ids are none, which is no reason to lose the span.
fn link(reader: &mut Reader<'_>, batch: &mut Batch<'_>, made: &mut bool) -> Read<Option<Link>> {
    let mut link = Link::default();
    let mut good = true;
    let read = fields::object(reader, |reader, key| {
        match key {
            "traceId" | "trace_id" => match id(reader, batch, made)? {
                Some(id) => link.trace_id = TraceId(id),
                None => good = false,
            },
            "spanId" | "span_id" => match id(reader, batch, made)? {
                Some(id) => link.span_id = SpanId(id),
                None => good = false,
            },
            "traceState" | "trace_state" => {
                link.trace_state = fields::text(reader)?.unwrap_or_default();
            }
            "flags" => link.flags = fields::count(reader)?,
            "attributes" => {
                link.attributes = value::attributes(reader, batch, 0)?.unwrap_or_default();
            }
            "droppedAttributesCount" | "dropped_attributes_count" => {
                link.dropped_attributes = fields::count(reader)?;
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    Ok((read.is_ok() && good).then_some(link))
}

fn status(reader: &mut Reader<'_>, status: &mut Status) -> Read<Field<()>> {
    let mut bad = false;
    let read = fields::object(reader, |reader, key| {
        match key {
            "code" => match fields::choice(reader, "STATUS_CODE_", &CODES)? {
                Ok(code) => status.code = status_code(code),
                Err(()) => bad = true,
            },
            "message" => status.message = fields::text(reader)?.unwrap_or_default(),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(if bad { Err(()) } else { read })
}
