//! One span.

use std::borrow::Cow;
use std::sync::Arc;

use super::tags::{self, Binary};
use super::time::{self, Time};
use super::{Around, process, word};
use crate::files::formats::draft::Draft;
use crate::model::{
    Attributes, Event, Kind, Link, Resource, Scope, SpanId, StatusCode, Text, TraceId, Value,
};
use crate::otlp::Batch;
use crate::otlp::json::fields;
use crate::otlp::json::reader::{Read, Reader, Scalar};

/// Where Jaeger keeps what it has to say about a span, as it names it in OTLP.
pub(crate) const WARNINGS: &str = "@jaeger@warnings";
/// What a link was, where it was no `FOLLOWS_FROM`.
pub(crate) const REF_TYPE: &str = "opentracing.ref_type";

/// True for an attribute that is not taken for one, but for what it says of the span.
pub(crate) fn has_meaning(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("error", Value::Bool(flag)) => *flag,
        ("error", Value::Str(text)) => text.eq_ignore_ascii_case("true"),
        ("span.kind", Value::Str(name)) => kind(name).is_some(),
        ("otel.status_code", Value::Str(name)) => status_code(name).is_some(),
        (
            "otel.status_description"
            | "w3c.tracestate"
            | "otel.scope.name"
            | "otel.scope.version"
            | "otel.library.name"
            | "otel.library.version",
            Value::Str(_),
        ) => true,
        (
            "otel.dropped_attributes_count"
            | "otel.dropped_events_count"
            | "otel.dropped_links_count",
            _,
        ) => value
            .as_int()
            .is_some_and(|count| u32::try_from(count).is_ok()),
        _ => false,
    }
}

/// Reads one span and keeps it, or rejects it.
pub(super) fn read(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    around: &Around<'_>,
) -> Read<()> {
    let mut parts = Parts::default();
    let mut draft = Draft::new(batch);
    reader.object(|reader, key| parts.field(reader, batch, &mut draft, key))?;
    parts.finish(draft, batch, around);
    Ok(())
}

/// What is read of a span before all of it is known.
#[derive(Default)]
struct Parts<'a> {
    trace: Option<Cow<'a, str>>,
    span: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
    /// True for the protobuf types, whose ids are base64.
    is_proto: bool,
    /// True for an Elasticsearch document, whose bytes are hex.
    is_document: bool,
    process_id: Option<Cow<'a, str>>,
    process: Option<Arc<Resource>>,
    start: Time,
    start_millis: Time,
    duration: Time,
    tags: Vec<(Text, Value)>,
    references: Vec<Reference<'a>>,
}

#[derive(Default)]
struct Reference<'a> {
    follows: bool,
    trace: Option<Cow<'a, str>>,
    span: Option<Cow<'a, str>>,
}

impl<'a> Parts<'a> {
    fn field(
        &mut self,
        reader: &mut Reader<'a>,
        batch: &mut Batch<'_>,
        draft: &mut Draft,
        key: &str,
    ) -> Read<()> {
        match key {
            "traceID" => self.trace = word(reader)?,
            "spanID" => self.span = word(reader)?,
            "parentSpanID" => self.parent = word(reader)?,
            "traceId" | "trace_id" => {
                self.is_proto = true;
                self.trace = proto_id(reader)?;
            }
            "spanId" | "span_id" => {
                self.is_proto = true;
                self.span = proto_id(reader)?;
            }
            "parentSpanId" | "parent_span_id" => self.parent = proto_id(reader)?,
            "operationName" | "operation_name" => {
                draft.span.name = draft.take(fields::text(reader)?, key);
            }
            "flags" => draft.span.flags = fields::count(reader)?,
            "startTime" | "start_time" => {
                self.start = draft.take(time::instant(reader)?, key);
            }
            "startTimeMillis" => {
                self.is_document = true;
                self.start_millis = draft.take(time::millis(reader)?, key);
            }
            "duration" => self.duration = draft.take(time::duration(reader)?, key),
            "tags" => tags::list(reader, self.binary(), &mut self.tags)?,
            "tag" => tags::object(reader, &mut self.tags)?,
            "logs" => {
                let binary = self.binary();
                let read = fields::list(reader, |reader| event(reader, binary, draft))?;
                draft.take(read, key);
            }
            "references" => {
                let read = fields::list(reader, |reader| self.reference(reader))?;
                draft.take(read, key);
            }
            "processID" | "processId" | "process_id" => self.process_id = word(reader)?,
            "process" => {
                let text = reader.skip()?;
                if text != "null" {
                    self.process = Some(process(text, batch)?);
                }
            }
            "warnings" => warnings(reader, &mut self.tags)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    }

    /// Elasticsearch's `startTimeMillis` stands before all tags: Jaeger writes it so, and so does
    /// who sorts keys.
    fn binary(&self) -> Binary {
        if self.is_document {
            Binary::Hex
        } else {
            Binary::Base64
        }
    }

    /// A reference; the span that may stand in it is passed over.
    fn reference(&mut self, reader: &mut Reader<'a>) -> Read<()> {
        let mut reference = Reference::default();
        let read = fields::object(reader, |reader, key| {
            match key {
                "refType" | "ref_type" => {
                    reference.follows = match reader.scalar()? {
                        Scalar::Str(name) => name.eq_ignore_ascii_case("FOLLOWS_FROM"),
                        Scalar::Number(number) => number == "1",
                        _ => false,
                    };
                }
                "traceID" => reference.trace = word(reader)?,
                "spanID" => reference.span = word(reader)?,
                "traceId" | "trace_id" => reference.trace = proto_id(reader)?,
                "spanId" | "span_id" => reference.span = proto_id(reader)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        if read.is_ok() {
            self.references.push(reference);
        }
        Ok(())
    }

    fn finish(self, mut draft: Draft, batch: &mut Batch<'_>, around: &Around<'_>) {
        draft.base64 = self.is_proto;
        let own = self.trace.as_deref().filter(|text| !text.is_empty());
        draft.trace_id(own.or(around.trace.as_deref()).unwrap_or_default());
        draft.span_id(self.span.as_deref().unwrap_or_default());
        relatives(&self.references, self.parent.as_deref(), &mut draft);

        let start = match self.start {
            Time::None => self.start_millis,
            start => start,
        };
        draft.span.start = draft.take(start.instant(), "startTime");
        draft.span.end = self.duration.end(start).unwrap_or_default();

        let named = self.process_id.as_deref();
        let listed = || {
            named
                .and_then(|id| around.processes.get(id))
                .map(Arc::clone)
        };
        let process = self
            .process
            .or_else(listed)
            .or_else(|| around.process.clone());
        if let Some(process) = process {
            draft.span.resource = process;
        }
        draft.span.attributes.0 = Meanings::default().take(self.tags, &mut draft, batch);
        draft.finish(batch);
    }
}

/// Parent and links. The parent is who `parentSpanID` names, else the first `CHILD_OF` reference
/// into the same trace; a span is no parent of itself. All other references are links.
fn relatives(references: &[Reference<'_>], parent: Option<&str>, draft: &mut Draft) {
    let mut links = Vec::with_capacity(references.len());
    for reference in references {
        let mut link = Link::default();
        let trace = reference.trace.as_deref().unwrap_or_default();
        let span = reference.span.as_deref().unwrap_or_default();
        if trace.is_empty() {
            link.trace_id = draft.span.trace_id;
        }
        draft.link(&mut link, trace, span);
        links.push(link);
    }
    let (trace, own) = (draft.span.trace_id, draft.span.span_id);
    let is_parent = |(reference, link): (&Reference<'_>, &Link)| {
        !reference.follows
            && link.trace_id == trace
            && link.span_id != own
            && !link.span_id.is_zero()
    };
    if let Some(named) = parent {
        draft.parent_id(named);
        if draft.span.parent_id == Some(own) {
            draft.span.parent_id = None;
        }
    }
    let named = draft.span.parent_id;
    let place = references
        .iter()
        .zip(&links)
        .position(|pair| is_parent(pair) && named.is_none_or(|named| named == pair.1.span_id));
    if let (Some(place), None) = (place, named) {
        let text = references
            .get(place)
            .and_then(|reference| reference.span.as_deref());
        draft.parent_id(text.unwrap_or_default());
    }
    let all = references.iter().zip(links).enumerate();
    draft.span.links = all
        .filter(|(at, _)| Some(*at) != place)
        .filter(|(_, (_, link))| {
            link.trace_id != TraceId::default() && link.span_id != SpanId::default()
        })
        .map(|(_, (reference, mut link))| {
            if !reference.follows {
                link.attributes
                    .0
                    .push((REF_TYPE.into(), Value::Str("child_of".into())));
            }
            link
        })
        .collect();
}

/// What tags with a meaning of their own say.
#[derive(Default)]
struct Meanings {
    failed: bool,
    scope: [Option<Text>; 2],
    library: [Option<Text>; 2],
}

impl Meanings {
    /// Gives the span what its tags say; returns the others.
    fn take(
        mut self,
        mut tags: Vec<(Text, Value)>,
        draft: &mut Draft,
        batch: &mut Batch<'_>,
    ) -> Vec<(Text, Value)> {
        tags.retain(|(key, value)| !self.has_taken(key, value, draft));
        if self.failed {
            // The `error` tag has the last word, as in Jaeger itself.
            draft.span.status.code = StatusCode::Error;
        }
        // Exporters write both spellings; of two that differ the old one stays an attribute.
        for (at, key) in ["otel.library.name", "otel.library.version"]
            .iter()
            .enumerate()
        {
            let (Some(old), Some(new)) = (self.library.get_mut(at), self.scope.get_mut(at)) else {
                continue;
            };
            match (old.take(), &new) {
                (Some(old), None) => *new = Some(old),
                (Some(old), Some(known)) if old != *known => {
                    tags.push(((*key).into(), Value::Str(old)));
                }
                _ => {}
            }
        }
        let [name, version] = self.scope;
        if name.is_some() || version.is_some() {
            draft.span.scope = scope(name.unwrap_or_default(), version.unwrap_or_default(), batch);
        }
        tags
    }

    fn has_taken(&mut self, key: &str, value: &Value, draft: &mut Draft) -> bool {
        if !has_meaning(key, value) {
            return false;
        }
        let span = &mut draft.span;
        let count = || {
            value
                .as_int()
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(0)
        };
        let text = || Text::from(value.as_str().unwrap_or_default());
        match key {
            "error" => self.failed = true,
            "span.kind" => span.kind = kind(&text()).unwrap_or_default(),
            "otel.status_code" => span.status.code = status_code(&text()).unwrap_or_default(),
            "otel.status_description" => span.status.message = text(),
            "w3c.tracestate" => span.trace_state = text(),
            "otel.scope.name" => self.scope[0] = Some(text()),
            "otel.scope.version" => self.scope[1] = Some(text()),
            "otel.library.name" => self.library[0] = Some(text()),
            "otel.library.version" => self.library[1] = Some(text()),
            "otel.dropped_attributes_count" => span.dropped_attributes = count(),
            "otel.dropped_events_count" => span.dropped_events = count(),
            _ => span.dropped_links = count(),
        }
        true
    }
}

fn status_code(name: &str) -> Option<StatusCode> {
    Some(match name.to_ascii_uppercase().as_str() {
        "OK" => StatusCode::Ok,
        "ERROR" => StatusCode::Error,
        "UNSET" => StatusCode::Unset,
        _ => return None,
    })
}

/// Takes a count that a value holds.
pub(super) fn count(value: &Value, into: &mut u32) -> bool {
    let count = value.as_int().and_then(|count| u32::try_from(count).ok());
    count.map(|count| *into = count).is_some()
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "internal" => Kind::Internal,
        "server" => Kind::Server,
        "client" => Kind::Client,
        "producer" => Kind::Producer,
        "consumer" => Kind::Consumer,
        _ => return None,
    })
}

fn scope(name: Text, version: Text, batch: &mut Batch<'_>) -> Arc<Scope> {
    // No scope of OTLP begins so.
    let key = [b"jaeger ", name.as_bytes(), b"\0", version.as_bytes()].concat();
    if let Some(known) = batch.scopes.get(&key) {
        return known;
    }
    let scope = Arc::new(Scope {
        name,
        version,
        ..Scope::default()
    });
    batch.scopes.put(&key, Arc::clone(&scope));
    scope
}

/// A log of a span is an event; its first `event` field is the name.
fn event(reader: &mut Reader<'_>, binary: Binary, draft: &mut Draft) -> Read<()> {
    let mut time = Time::None;
    let mut tags = Vec::new();
    let read = fields::object(reader, |reader, key| {
        match key {
            "timestamp" => time = draft.take(time::instant(reader)?, "logs.timestamp"),
            "fields" => tags::list(reader, binary, &mut tags)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if read.is_err() {
        return Ok(());
    }
    let mut event = Event {
        time: draft.take(time.instant(), "logs.timestamp"),
        ..Event::default()
    };
    let name = tags
        .iter()
        .position(|(key, value)| key == "event" && value.as_str().is_some());
    if let Some(place) = name
        && let (_, Value::Str(name)) = tags.remove(place)
    {
        event.name = name;
    }
    tags.retain(|(key, value)| {
        key != "otel.dropped_attributes_count" || !count(value, &mut event.dropped_attributes)
    });
    tags.shrink_to_fit();
    event.attributes = Attributes(tags);
    draft.span.events.push(event);
    Ok(())
}

/// What Jaeger had to say about the span; kept as Jaeger keeps it in OTLP.
fn warnings(reader: &mut Reader<'_>, tags: &mut Vec<(Text, Value)>) -> Read<()> {
    let mut said = Vec::new();
    fields::list(reader, |reader| {
        said.extend(fields::text(reader)?.ok().map(Value::Str));
        Ok(())
    })?
    .ok();
    if !said.is_empty() {
        tags.push((WARNINGS.into(), Value::Array(said)));
    }
    Ok(())
}

/// An id of the protobuf types; old ones are numbers.
fn proto_id<'a>(reader: &mut Reader<'a>) -> Read<Option<Cow<'a, str>>> {
    Ok(match reader.scalar()? {
        Scalar::Number(digits) => match digits.parse::<u64>() {
            Ok(number) => Some(Cow::Owned(format!("{number:016x}"))),
            Err(_) => Some(Cow::Borrowed(digits)),
        },
        Scalar::Str(text) => Some(text),
        Scalar::Null | Scalar::Bool(_) | Scalar::Compound => None,
    })
}
