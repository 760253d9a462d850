//! Jaeger's spans in all JSON that they come in.
//!
//! - The API and the UI's download (v1): traces with `spans` and `processes`, in `data` or bare.
//! - What the UI makes of them: spans with their process inside, references with whole spans
//!   inside. A span is counted where it stands in a list of spans, never where it is referred to.
//! - A list of spans without anything around, as the anonymizer writes.
//! - Elasticsearch documents, bare, a line each, or in the `hits` of a reply, with `tags` as a list
//!   or `tag` as an object.
//! - The protobuf types as JSON: ids in base64, times as RFC 3339, `vType` and `vStr`.
//!
//! API v3 answers in OTLP and needs nothing of this. How fields map is OpenTelemetry's own
//! translation (specification, "Jaeger exporter", and the Collector's `translator/jaeger`), with
//! one exception: a `FOLLOWS_FROM` reference is a link and never a parent, also where it is the only
//! reference, because the span before does not wait for this one.

mod span;
mod tags;
mod time;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{Attributes, Resource, Text, Value};
use crate::otlp::json::fields;
use crate::otlp::json::reader::{Read, Reader, Scalar, Shape};
use crate::otlp::{Batch, Reject};
pub(crate) use span::{REF_TYPE, WARNINGS, has_meaning};

/// What documents of these formats have; a span always names its operation.
pub(super) const KEYS: &[&[&str]] = &[
    &["spanID", "operationName"],
    &["spanId", "operationName"],
    &["span_id", "operation_name"],
    &["spans", "processes"],
    &["spans", "processMap"],
    &["spans", "process"],
    // A reply of the API without traces.
    &["data", "total", "limit", "offset", "errors"],
];

/// How many wrappers are opened.
const LEVELS: usize = 6;

/// The service that OpenTelemetry's exporters write where there is none.
pub(crate) const NO_SERVICE: &str = "OTLPResourceNoServiceName";

/// Reads the spans of a document.
pub(super) fn read(text: &str, batch: &mut Batch<'_>) -> Read<()> {
    visit(&mut Reader::new(text), batch, LEVELS)
}

fn visit(reader: &mut Reader<'_>, batch: &mut Batch<'_>, levels: usize) -> Read<()> {
    match reader.shape()? {
        Shape::Array if levels > 0 => reader.array(|reader| visit(reader, batch, levels - 1)),
        Shape::Object if levels > 0 => {
            let parts = Parts::of(reader)?;
            if parts.is_span {
                let reader = &mut Reader::new(parts.text);
                span::read(reader, batch, &Around::default())
            } else if let Some(spans) = parts.spans {
                let around = parts.around(batch)?;
                list(&mut Reader::new(spans), batch, &around)
            } else {
                parts
                    .others
                    .into_iter()
                    .try_for_each(|other| visit(&mut Reader::new(other), batch, levels - 1))
            }
        }
        _ => reader.skip().map(drop),
    }
}

/// The members of an object, not yet looked into: what holds for the spans may stand behind them.
#[derive(Default)]
struct Parts<'a> {
    text: &'a str,
    is_span: bool,
    spans: Option<&'a str>,
    trace: Option<Cow<'a, str>>,
    process: Option<&'a str>,
    processes: Option<&'a str>,
    others: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(reader: &mut Reader<'a>) -> Read<Self> {
        let mut parts = Self::default();
        let mut whole = reader.clone();
        reader.object(|reader, key| {
            let shape = reader.shape()?;
            match key {
                "operationName" | "operation_name" => parts.is_span = true,
                "traceID" | "traceId" | "trace_id" => {
                    parts.trace = word(reader)?;
                    return Ok(());
                }
                _ => {}
            }
            let value = reader.skip()?;
            match key {
                "spans" if shape == Shape::Array => parts.spans = Some(value),
                "process" => parts.process = Some(value),
                "processes" | "processMap" | "process_map" => parts.processes = Some(value),
                _ if shape == Shape::Other => {}
                _ => parts.others.push(value),
            }
            Ok(())
        })?;
        if parts.is_span {
            parts.text = whole.skip()?;
        }
        Ok(parts)
    }

    fn around(self, batch: &mut Batch<'_>) -> Read<Around<'a>> {
        Ok(Around {
            trace: self.trace,
            process: self.process.map(|text| process(text, batch)).transpose()?,
            processes: match self.processes {
                Some(text) => processes(text, batch)?,
                None => HashMap::new(),
            },
        })
    }
}

/// What stands around spans and holds for those that do not say it themselves.
#[derive(Default)]
struct Around<'a> {
    trace: Option<Cow<'a, str>>,
    process: Option<Arc<Resource>>,
    processes: HashMap<Text, Arc<Resource>>,
}

fn list(reader: &mut Reader<'_>, batch: &mut Batch<'_>, around: &Around<'_>) -> Read<()> {
    reader.array(|reader| {
        if reader.shape()? == Shape::Object {
            return span::read(reader, batch, around);
        }
        if reader.scalar()? != Scalar::Null {
            batch.reject(Reject::Field, || "a span that is no object".to_owned());
        }
        Ok(())
    })
}

/// Processes by id: an object, or the list of pairs that the protobuf types have.
fn processes(text: &str, batch: &mut Batch<'_>) -> Read<HashMap<Text, Arc<Resource>>> {
    let mut known = HashMap::new();
    let mut reader = Reader::new(text);
    match reader.shape()? {
        Shape::Object => reader.object(|reader, key| {
            let one = process(reader.skip()?, batch)?;
            known.insert(Text::from(key), one);
            Ok(())
        })?,
        Shape::Array => reader.array(|reader| {
            let (mut id, mut one) = (None, None);
            fields::object(reader, |reader, key| {
                match key {
                    "processID" | "processId" | "process_id" => id = word(reader)?,
                    "process" => one = Some(process(reader.skip()?, batch)?),
                    _ => {
                        reader.skip()?;
                    }
                }
                Ok(())
            })?
            .ok();
            if let (Some(id), Some(one)) = (id, one) {
                known.insert(Text::from(id), one);
            }
            Ok(())
        })?,
        Shape::Other => {}
    }
    Ok(known)
}

/// The resource that a process is: read once, however many traces repeat it.
fn process(text: &str, batch: &mut Batch<'_>) -> Read<Arc<Resource>> {
    // No resource of OTLP begins so.
    let known = [b"jaeger ", text.as_bytes()].concat();
    if let Some(resource) = batch.resources.get(&known) {
        return Ok(resource);
    }
    let mut service = None;
    let mut attributes = Vec::new();
    fields::object(&mut Reader::new(text), |reader, key| {
        match key {
            "serviceName" | "service_name" => service = word(reader)?,
            "tags" => tags::list(reader, tags::Binary::Base64, &mut attributes)?,
            "tag" => tags::object(reader, &mut attributes)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?
    .ok();
    let mut dropped = 0;
    attributes.retain(|(key, value)| {
        key != "otel.dropped_attributes_count" || !span::count(value, &mut dropped)
    });
    let named = service.filter(|name| name != NO_SERVICE);
    let named = named.map(|name| ("service.name".into(), Value::Str(Text::from(name))));
    let has_host = attributes.iter().any(|(key, _)| key == "host.name");
    let mut attributes: Vec<(Text, Value)> = named.into_iter().chain(attributes).collect();
    if !has_host {
        // What Jaeger's clients call the host.
        let host = attributes.iter_mut().find(|(key, _)| key == "hostname");
        if let Some((key, _)) = host {
            *key = Text::const_new("host.name");
        }
    }
    let mut resource = Resource::new(Attributes(attributes));
    resource.dropped_attributes = dropped;
    let resource = Arc::new(resource);
    batch.resources.put(&known, Arc::clone(&resource));
    Ok(resource)
}

/// A text; a number as it is written, nothing for null and what is no text.
fn word<'a>(reader: &mut Reader<'a>) -> Read<Option<Cow<'a, str>>> {
    Ok(match reader.scalar()? {
        Scalar::Str(text) => Some(text),
        Scalar::Number(digits) => Some(Cow::Borrowed(digits)),
        Scalar::Null | Scalar::Bool(_) | Scalar::Compound => None,
    })
}
