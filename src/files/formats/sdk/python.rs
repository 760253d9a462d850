//! The Python SDK's `ReadableSpan.to_json`, which its console exporter prints.

use std::sync::Arc;

use crate::model::{Attributes, Event, Link, Resource, StatusCode, Text, UnixNanos, Value};
use crate::otlp::json::fields;
use crate::otlp::json::reader::{Read, Reader};
use crate::otlp::{Batch, kind_of};

use super::super::draft::{self, Draft};
use super::super::plain;
use super::super::walk::{self, Record};
use super::{KINDS, instant};

/// Keys of a span.
pub(in super::super) const KEYS: &[&[&str]] = &[
    &["context", "parent_id", "start_time"],
    &["context", "trace_id", "start_time"],
];

/// Reads the spans of a document.
pub(in super::super) fn read(text: &str, batch: &mut Batch<'_>) -> Read<()> {
    walk::records::<Readable>(text, batch, &mut ())
}

#[derive(Debug)]
struct Readable {
    draft: Draft,
    start: Option<UnixNanos>,
    end: Option<UnixNanos>,
    has_context: bool,
}

/// A span's `context`.
#[derive(Debug, Default)]
struct Context {
    trace_id: Text,
    span_id: Text,
    state: Text,
}

impl Record for Readable {
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
            "context" => {
                let context = context(reader)?;
                draft.trace_id(&context.trace_id);
                draft.span_id(&context.span_id);
                draft.span.trace_state = context.state;
                self.has_context = true;
            }
            "parent_id" => draft.parent_id(&fields::text(reader)?.unwrap_or_default()),
            "name" => draft.span.name = fields::text(reader)?.unwrap_or_default(),
            "kind" => {
                draft.span.kind =
                    kind_of(draft.take(fields::choice(reader, "SpanKind.", &KINDS)?, key));
            }
            "start_time" => self.start = draft.take(instant(reader)?, key),
            "end_time" => self.end = draft.take(instant(reader)?, key),
            "attributes" => {
                draft.span.attributes = draft.take(plain::attributes(reader, batch, 0)?, key);
            }
            "status" => status(reader, draft)?,
            "events" => {
                let events = &mut draft.span.events;
                let read = fields::list(reader, |reader| event(reader, batch, events))?;
                draft.take(read, key);
            }
            "links" => {
                let read = fields::list(reader, |reader| link(reader, batch, draft))?;
                draft.take(read, key);
            }
            "resource" => draft.span.resource = resource(reader, batch)?,
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
            "trace_id" => context.trace_id = fields::text(reader)?.unwrap_or_default(),
            "span_id" => context.span_id = fields::text(reader)?.unwrap_or_default(),
            "trace_state" => {
                context.state = trace_state(&fields::text(reader)?.unwrap_or_default());
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(context)
}

/// `['{key=a, value=b}', …]`, as Python shows it, is `a=b,…`; `[]` is none.
fn trace_state(shown: &str) -> Text {
    let pairs = shown.split("{key=").skip(1).filter_map(|pair| {
        let (pair, _) = pair.split_once('}')?;
        pair.split_once(", value=")
    });
    let members: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    Text::from(members.join(","))
}

fn status(reader: &mut Reader<'_>, draft: &mut Draft) -> Read<()> {
    let status = &mut draft.span.status;
    let read = fields::object(reader, |reader, key| {
        match key {
            "status_code" => {
                let code = fields::text(reader)?.unwrap_or_default();
                let name = code.rsplit('.').next().unwrap_or_default();
                status.code = match name.to_ascii_uppercase().as_str() {
                    "ERROR" => StatusCode::Error,
                    "OK" => StatusCode::Ok,
                    _ => StatusCode::Unset,
                };
            }
            "description" => status.message = fields::text(reader)?.unwrap_or_default(),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if read.is_err() {
        draft.fault("status");
    }
    Ok(())
}

fn event(reader: &mut Reader<'_>, batch: &mut Batch<'_>, events: &mut Vec<Event>) -> Read<()> {
    let mut event = Event::default();
    let read = fields::object(reader, |reader, key| {
        match key {
            "name" => event.name = fields::text(reader)?.unwrap_or_default(),
            "timestamp" => event.time = instant(reader)?.ok().flatten().unwrap_or_default(),
            "attributes" => {
                event.attributes = plain::attributes(reader, batch, 0)?.unwrap_or_default();
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

fn link(reader: &mut Reader<'_>, batch: &mut Batch<'_>, draft: &mut Draft) -> Read<()> {
    let mut link = Link::default();
    let read = fields::object(reader, |reader, key| {
        match key {
            "context" => {
                let context = context(reader)?;
                draft.link(&mut link, &context.trace_id, &context.span_id);
                link.trace_state = context.state;
            }
            "attributes" => {
                link.attributes = plain::attributes(reader, batch, 0)?.unwrap_or_default();
            }
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

/// `{"attributes": {…}, "schema_url": …}`; older SDKs print the attributes alone.
fn resource(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<Arc<Resource>> {
    let text = reader.skip()?;
    draft::resource(batch, text.as_bytes(), |batch| {
        let all = plain::attributes(&mut Reader::new(text), batch, 0)?;
        let Attributes(mut pairs) = all.unwrap_or_default();
        let inner = pairs.iter_mut().find(|(key, _)| key == "attributes");
        Ok(match inner {
            Some((_, Value::Map(inner))) => std::mem::take(inner),
            _ => Attributes(pairs),
        })
    })
}
