//! Go's `stdouttrace`: `tracetest.SpanStub` as `encoding/json` writes it.

use crate::model::{Attributes, Event, Link, Resource, Scope, StatusCode, Text, UnixNanos, Value};
use crate::otlp::json::fields::{self, Field};
use crate::otlp::json::reader::{Read, Reader, Scalar};
use crate::otlp::{Batch, kind_of};

use super::super::draft::{self, Draft};
use super::super::plain;
use super::super::walk::{self, Record};
use super::{KINDS, instant};

use std::sync::Arc;

/// Keys of a stub.
pub(in super::super) const KEYS: &[&[&str]] =
    &[&["SpanContext", "SpanKind"], &["SpanContext", "TraceID"]];

/// OTLP's flags: whether it is known that the parent is remote, and that it is.
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// Reads the spans of a document.
pub(in super::super) fn read(text: &str, batch: &mut Batch<'_>) -> Read<()> {
    walk::records::<Stub>(text, batch, &mut ())
}

#[derive(Debug)]
struct Stub {
    draft: Draft,
    start: Option<UnixNanos>,
    end: Option<UnixNanos>,
    has_context: bool,
}

/// A `SpanContext`.
#[derive(Debug, Default)]
struct Context {
    trace_id: Text,
    span_id: Text,
    flags: u32,
    state: Text,
    remote: bool,
}

impl Record for Stub {
    type Shared = ();

    fn new(batch: &Batch<'_>) -> Self {
        Self {
            draft: Draft::new(batch),
            start: None,
            end: None,
            has_context: false,
        }
    }

    fn field(&mut self, reader: &mut Reader<'_>, batch: &mut Batch<'_>, key: &str) -> Read<bool> {
        let draft = &mut self.draft;
        match key {
            "SpanContext" => {
                let context = context(reader)?;
                draft.trace_id(&context.trace_id);
                draft.span_id(&context.span_id);
                draft.span.flags |= context.flags;
                draft.span.trace_state = context.state;
                self.has_context = true;
            }
            "Parent" => {
                let context = context(reader)?;
                draft.parent_id(&context.span_id);
                if draft.span.parent_id.is_some() {
                    let remote = if context.remote { IS_REMOTE } else { 0 };
                    draft.span.flags |= KNOWS_REMOTE | remote;
                }
            }
            "ParentSpanID" => draft.parent_id(&fields::text(reader)?.unwrap_or_default()),
            "Name" => draft.span.name = fields::text(reader)?.unwrap_or_default(),
            "SpanKind" => {
                draft.span.kind = kind_of(draft.take(fields::choice(reader, "", &KINDS)?, key));
            }
            "StartTime" => self.start = draft.take(instant(reader)?, key),
            "EndTime" => self.end = draft.take(instant(reader)?, key),
            "Attributes" => draft.span.attributes = draft.take(attributes(reader, batch)?, key),
            "Status" => status(reader, draft)?,
            "Events" | "MessageEvents" => {
                let events = &mut draft.span.events;
                let read = fields::list(reader, |reader| event(reader, batch, events))?;
                draft.take(read, key);
            }
            "Links" => {
                let read = fields::list(reader, |reader| link(reader, batch, draft))?;
                draft.take(read, key);
            }
            "DroppedAttributes" => draft.span.dropped_attributes = fields::count(reader)?,
            "DroppedEvents" => draft.span.dropped_events = fields::count(reader)?,
            "DroppedLinks" => draft.span.dropped_links = fields::count(reader)?,
            "Resource" => draft.span.resource = resource(reader, batch)?,
            "InstrumentationScope" | "InstrumentationLibrary" => {
                draft.span.scope = scope(reader, batch)?;
            }
            "ChildSpanCount" => {
                reader.skip()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn finish(mut self, batch: &mut Batch<'_>, (): &mut (), _: bool) -> Read<()> {
        if self.has_context {
            self.draft.times(self.start, self.end);
            self.draft.finish(batch);
        }
        Ok(())
    }
}

fn context(reader: &mut Reader<'_>) -> Read<Context> {
    let mut context = Context::default();
    // What is no object names nothing; the span is rejected for want of ids.
    let _nothing = fields::object(reader, |reader, key| {
        match key {
            "TraceID" => context.trace_id = fields::text(reader)?.unwrap_or_default(),
            "SpanID" => context.span_id = fields::text(reader)?.unwrap_or_default(),
            "TraceFlags" => {
                let flags = fields::text(reader)?.unwrap_or_default();
                context.flags = u32::from_str_radix(&flags, 16).unwrap_or_default() & 0xff;
            }
            "TraceState" => context.state = fields::text(reader)?.unwrap_or_default(),
            "Remote" => context.remote = reader.scalar()? == Scalar::Bool(true),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(context)
}

/// `[{"Key": …, "Value": {"Type": …, "Value": …}}]`.
fn attributes(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<Field<Attributes>> {
    let mut pairs = Vec::new();
    let read = fields::list(reader, |reader| {
        let mut name = Text::default();
        let mut value = Value::Empty;
        let read = fields::object(reader, |reader, key| {
            match key {
                "Key" => name = fields::key(reader)?,
                "Value" => value = typed(reader, batch)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        if read.is_ok() {
            pairs.push((name, value));
        }
        Ok(())
    })?;
    pairs.shrink_to_fit();
    Ok(read.map(|()| Attributes(pairs)))
}

/// A value with its type beside it: a whole number may be a float.
fn typed(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<Value> {
    let mut kind = Text::default();
    let mut value = Value::Empty;
    let _nothing = fields::object(reader, |reader, key| {
        match key {
            "Type" => kind = fields::text(reader)?.unwrap_or_default(),
            "Value" => value = plain::value(reader, batch, 0)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    let float = |value| match value {
        Value::Int(int) => Value::Double(int as f64),
        other => other,
    };
    Ok(match (kind.as_str(), value) {
        ("FLOAT64", value) => float(value),
        ("FLOAT64SLICE", Value::Array(values)) => {
            Value::Array(values.into_iter().map(float).collect())
        }
        (_, value) => value,
    })
}

/// Go's codes are numbered otherwise than OTLP's: 1 is the error.
fn status(reader: &mut Reader<'_>, draft: &mut Draft) -> Read<()> {
    let status = &mut draft.span.status;
    let read = fields::object(reader, |reader, key| {
        match key {
            "Code" => {
                status.code = match fields::text(reader)?.unwrap_or_default().as_str() {
                    "Error" | "1" => StatusCode::Error,
                    "Ok" | "OK" | "2" => StatusCode::Ok,
                    _ => StatusCode::Unset,
                };
            }
            "Description" => status.message = fields::text(reader)?.unwrap_or_default(),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if read.is_err() {
        draft.fault("Status");
    }
    Ok(())
}

fn event(reader: &mut Reader<'_>, batch: &mut Batch<'_>, events: &mut Vec<Event>) -> Read<()> {
    let mut event = Event::default();
    let read = fields::object(reader, |reader, key| {
        match key {
            "Name" => event.name = fields::text(reader)?.unwrap_or_default(),
            "Time" => event.time = instant(reader)?.ok().flatten().unwrap_or_default(),
            "Attributes" => event.attributes = attributes(reader, batch)?.unwrap_or_default(),
            "DroppedAttributeCount" => event.dropped_attributes = fields::count(reader)?,
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

fn link(reader: &mut Reader<'_>, batch: &mut Batch<'_>, draft: &mut Draft) -> Read<()> {
    let mut link = Link::default();
    let read = fields::object(reader, |reader, key| {
        match key {
            "SpanContext" => {
                let context = context(reader)?;
                draft.link(&mut link, &context.trace_id, &context.span_id);
                link.flags = context.flags;
                link.trace_state = context.state;
            }
            "Attributes" => link.attributes = attributes(reader, batch)?.unwrap_or_default(),
            "DroppedAttributeCount" => link.dropped_attributes = fields::count(reader)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if read.is_ok() {
        draft.span.links.push(link);
    }
    Ok(())
}

fn resource(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<Arc<Resource>> {
    let text = reader.skip()?;
    draft::resource(batch, text.as_bytes(), |batch| {
        Ok(attributes(&mut Reader::new(text), batch)?.unwrap_or_default())
    })
}

fn scope(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<Arc<Scope>> {
    let text = reader.skip()?;
    if let Some(known) = batch.scopes.get(text.as_bytes()) {
        return Ok(known);
    }
    let mut scope = Scope::default();
    let _nothing = fields::object(&mut Reader::new(text), |reader, key| {
        match key {
            "Name" => scope.name = fields::text(reader)?.unwrap_or_default(),
            "Version" => scope.version = fields::text(reader)?.unwrap_or_default(),
            "SchemaURL" => scope.schema_url = fields::text(reader)?.unwrap_or_default(),
            "Attributes" => scope.attributes = attributes(reader, batch)?.unwrap_or_default(),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    let scope = Arc::new(scope);
    batch.scopes.put(text.as_bytes(), Arc::clone(&scope));
    Ok(scope)
}
