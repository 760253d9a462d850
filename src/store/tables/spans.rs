//! `spans`: the spans as they came, so that OTLP → table → OTLP loses nothing.
//!
//! Readable columns hold what fits them; attributes, events, links and log records are JSON text
//! that keeps types and order (see [`exact`]). The rare value that fits no column (an instant
//! beyond the year 2262) stands in `beyond` as well.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use polars::prelude::{DataFrame, PolarsError, StringChunked};

use super::columns::{Rows, table};
use super::exact::{self, Exact, ExactError};
use super::texts::OneShot;
use crate::model::{
    Kind, Request, Resource, Scope, Span, SpanId, SpanLog, Status, StatusCode, Text, Trace,
    TraceId, UnixNanos,
};

table! {
    push(row: &Row<'_>);

    /// The trace.
    trace_id: Id = row.span.trace_id;
    /// The span.
    span_id: Id = row.span.span_id;
    /// Its parent; null when it names none.
    parent_span_id: Id or null = row.span.parent_id;
    /// The request that it belongs to; null in files that were converted without analysis, and of
    /// copies that were dropped.
    request: Id or null = row.place.map(|(request, _)| request);
    /// The hop of that request.
    hop: Number or null = row.place.map(|(_, hop)| hop);
    /// service.namespace/service.name, or unknown_service.
    service: Text = &row.span.resource.service;
    /// The operation.
    name: Text = &row.span.name;
    /// unspecified, internal, server, client, producer, consumer, or the number of a later kind.
    kind: Text = kind(row.span.kind);
    /// When it began, on its own host's clock.
    start: Time = row.span.start;
    /// When it ended, on its own host's clock.
    end_time: Time = row.span.end;
    /// From start to end; negative if it ended before it began.
    elapsed_ms: Ms = row.span.end.since(row.span.start);
    /// unset, ok, error, or the number of a later code.
    status: Text = status(row.span.status.code);
    /// The status description.
    status_message: Text or null = text(&row.span.status.message);
    /// Its attributes: an object, with types kept.
    attributes: Json or null = Exact::Attributes(&row.span.attributes);
    /// Its events: a list of time_unix_nano, name, attributes, dropped_attributes.
    events: Json or null = Exact::Events(&row.span.events);
    /// Its links: a list of trace_id, span_id, trace_state, flags, attributes, dropped_attributes.
    links: Json or null = Exact::Links(&row.span.links);
    /// Log records of its trace that name it: a list of span_id, time_unix_nano,
    /// body, attributes.
    logs: Json or null = Exact::Logs(row.logs);
    /// W3C tracestate.
    trace_state: Text or null = text(&row.span.trace_state);
    /// OTLP flags.
    flags: Number = row.span.flags;
    /// Attributes that the sender dropped.
    dropped_attributes: Count = row.span.dropped_attributes;
    /// Events that the sender dropped.
    dropped_events: Count = row.span.dropped_events;
    /// Links that the sender dropped.
    dropped_links: Count = row.span.dropped_links;
    /// Who made it: the resource's attributes.
    resource_attributes: Text or null = row.resource;
    /// Resource attributes that the sender dropped.
    resource_dropped_attributes: Count = row.span.resource.dropped_attributes;
    /// The schema of the resource's attributes.
    resource_schema_url: Text or null = text(&row.span.resource.schema_url);
    /// The instrumentation library.
    scope_name: Text or null = text(&row.span.scope.name);
    /// Its version.
    scope_version: Text or null = text(&row.span.scope.version);
    /// Its attributes.
    scope_attributes: Json or null = Exact::Attributes(&row.span.scope.attributes);
    /// Scope attributes that the sender dropped.
    scope_dropped_attributes: Count = row.span.scope.dropped_attributes;
    /// The schema of the spans' attributes.
    scope_schema_url: Text or null = text(&row.span.scope.schema_url);
    /// start_unix_nano and end_unix_nano where they lie beyond the year 2262.
    beyond: Json or null = beyond(row.span);
}

/// What a row is made of.
pub(super) struct Row<'a> {
    span: &'a Span,
    place: Option<(SpanId, usize)>,
    logs: &'a [&'a SpanLog],
    resource: Option<&'a str>,
}

/// The attributes of resources as text. They are the same for thousands of spans, which share
/// them; each is held, so that its address stays its own.
#[derive(Debug, Default)]
pub(super) struct Resources {
    known: HashMap<usize, (Arc<Resource>, Option<String>), BuildHasherDefault<OneShot>>,
}

impl Resources {
    /// More are forgotten at once: one list for every span would never end.
    const REMEMBERED: usize = 4096;

    fn text(&mut self, resource: &Arc<Resource>) -> Option<&str> {
        let address = Arc::as_ptr(resource) as usize;
        if self.known.len() >= Self::REMEMBERED && !self.known.contains_key(&address) {
            self.known.clear();
        }
        let known = self.known.entry(address).or_insert_with(|| {
            let text = Exact::Attributes(&resource.attributes).text();
            (Arc::clone(resource), text)
        });
        known.1.as_deref()
    }
}

/// Adds the spans of a trace that belong to these requests, in their order; with `all` those too
/// that belong to none of these and `others`.
pub(super) fn add(
    rows: &mut Rows,
    trace: &Trace,
    requests: &[&Request],
    others: &[&Request],
    all: bool,
    resources: &mut Resources,
) {
    let mut places = vec![None; trace.spans.len()];
    for request in requests {
        for hop in &request.hops {
            for span in &hop.spans {
                if let Some(place) = places.get_mut(*span as usize) {
                    *place = Some((request.request, hop.id));
                }
            }
        }
    }
    let mut elsewhere = vec![!all; trace.spans.len()];
    let hops = others.iter().flat_map(|request| &request.hops);
    for span in hops.flat_map(|hop| &hop.spans) {
        if let Some(elsewhere) = elsewhere.get_mut(*span as usize) {
            *elsewhere = true;
        }
    }
    let logs = logs_by_row(trace);
    let spans = trace.spans.iter().zip(places).zip(elsewhere);
    for (index, ((span, place), elsewhere)) in spans.enumerate() {
        if elsewhere && place.is_none() {
            continue;
        }
        push(
            rows,
            &Row {
                span,
                place,
                logs: logs.get(&index).map_or(&[], Vec::as_slice),
                resource: resources.text(&span.resource),
            },
        );
    }
}

/// The log records by the row that carries them: that of the span which they name, or the first.
fn logs_by_row(trace: &Trace) -> HashMap<usize, Vec<&SpanLog>> {
    let mut rows: HashMap<usize, Vec<&SpanLog>> = HashMap::new();
    if trace.logs.is_empty() {
        return rows;
    }
    let mut first: HashMap<SpanId, usize> = HashMap::new();
    for (index, span) in trace.spans.iter().enumerate() {
        first.entry(span.span_id).or_insert(index);
    }
    for log in &trace.logs {
        let row = first.get(&log.span_id).copied().unwrap_or(0);
        rows.entry(row).or_default().push(log);
    }
    rows
}

fn text(text: &Text) -> Option<&str> {
    (!text.is_empty()).then_some(text.as_str())
}

const KINDS: [(Kind, &str); 6] = [
    (Kind::Unspecified, "unspecified"),
    (Kind::Internal, "internal"),
    (Kind::Server, "server"),
    (Kind::Client, "client"),
    (Kind::Producer, "producer"),
    (Kind::Consumer, "consumer"),
];

const CODES: [(StatusCode, &str); 3] = [
    (StatusCode::Unset, "unset"),
    (StatusCode::Ok, "ok"),
    (StatusCode::Error, "error"),
];

fn kind(kind: Kind) -> Cow<'static, str> {
    match (KINDS.iter().find(|(known, _)| *known == kind), kind) {
        (Some((_, word)), _) => Cow::Borrowed(word),
        (None, Kind::Other(number)) => Cow::Owned(number.to_string()),
        (None, _) => Cow::Borrowed(""),
    }
}

fn status(code: StatusCode) -> Cow<'static, str> {
    match (CODES.iter().find(|(known, _)| *known == code), code) {
        (Some((_, word)), _) => Cow::Borrowed(word),
        (None, StatusCode::Other(number)) => Cow::Owned(number.to_string()),
        (None, _) => Cow::Borrowed(""),
    }
}

fn beyond(span: &Span) -> Option<String> {
    const END: u64 = i64::MAX as u64;
    (span.start.0 > END || span.end.0 > END).then(|| {
        format!(
            "{{\"start_unix_nano\":{},\"end_unix_nano\":{}}}",
            span.start.0, span.end.0
        )
    })
}

/// Why a row is no span.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A column is missing or of another type.
    #[error("the table `spans` is not as expected: {0}")]
    Shape(#[from] PolarsError),
    /// A value that the column cannot have.
    #[error("column `{column}`: {why}")]
    Value {
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

fn wrong(column: &'static str, why: impl std::fmt::Display) -> ReadError {
    ReadError::Value {
        column,
        why: why.to_string(),
    }
}

/// Reads frames of `spans` back; resources and scopes are shared across frames.
#[derive(Debug, Default)]
pub(in crate::store) struct SpanRows {
    resources: HashMap<(Text, u32, Text), Arc<Resource>>,
    scopes: HashMap<(Text, Text, Text, u32, Text), Arc<Scope>>,
}

/// The columns of a frame from which a span is made.
struct Source<'a>(&'a DataFrame);

impl<'a> Source<'a> {
    fn text(&self, name: &'static str) -> Result<&'a StringChunked, ReadError> {
        Ok(self.0.column(name)?.str()?)
    }

    fn ints(&self, name: &'static str) -> Result<Vec<i64>, ReadError> {
        let column = self.0.column(name)?.to_physical_repr();
        let ints = column.i64()?.iter();
        ints.map(|int| int.ok_or_else(|| wrong(name, "is null")))
            .collect()
    }

    fn small(&self, name: &'static str) -> Result<Vec<u32>, ReadError> {
        let ints = self.ints(name)?.into_iter();
        ints.map(|int| u32::try_from(int).map_err(|error| wrong(name, error)))
            .collect()
    }
}

impl SpanRows {
    /// The spans of a frame in its order, and the log records that stand with them.
    pub(in crate::store) fn read(
        &mut self,
        frame: &DataFrame,
    ) -> Result<(Vec<Span>, Vec<SpanLog>), ReadError> {
        let source = Source(frame);
        let texts = |name| Ok::<_, ReadError>(source.text(name)?.iter());
        let mut trace_ids = texts("trace_id")?;
        let mut span_ids = texts("span_id")?;
        let mut parents = texts("parent_span_id")?;
        let mut names = texts("name")?;
        let mut kinds = texts("kind")?;
        let mut codes = texts("status")?;
        let mut messages = texts("status_message")?;
        let mut attributes = texts("attributes")?;
        let mut events = texts("events")?;
        let mut links = texts("links")?;
        let mut all_logs = texts("logs")?;
        let mut states = texts("trace_state")?;
        let mut beyond = texts("beyond")?;
        let starts = source.ints("start")?;
        let ends = source.ints("end_time")?;
        let flags = source.small("flags")?;
        let dropped_attributes = source.small("dropped_attributes")?;
        let dropped_events = source.small("dropped_events")?;
        let dropped_links = source.small("dropped_links")?;
        let mut resources = self.resources(&source)?.into_iter();
        let mut scopes = self.scopes(&source)?.into_iter();

        let mut spans = Vec::with_capacity(frame.height());
        let mut logs = Vec::new();
        for row in 0..frame.height() {
            let trace_id: TraceId = id("trace_id", next(&mut trace_ids))?;
            if let Some(text) = next(&mut all_logs) {
                let read = exact::read_logs(text).map_err(|error| wrong("logs", error))?;
                logs.extend(read.into_iter().map(|log| SpanLog { trace_id, ..log }));
            }
            let parent = next(&mut parents);
            let mut span = Span {
                trace_id,
                span_id: id("span_id", next(&mut span_ids))?,
                parent_id: parent
                    .map(|text| id("parent_span_id", Some(text)))
                    .transpose()?,
                trace_state: next(&mut states).unwrap_or_default().into(),
                flags: at(&flags, row),
                name: next(&mut names).unwrap_or_default().into(),
                kind: read_kind(next(&mut kinds).unwrap_or_default())?,
                start: UnixNanos(at(&starts, row) as u64),
                end: UnixNanos(at(&ends, row) as u64),
                attributes: read(next(&mut attributes), "attributes", exact::read_attributes)?,
                dropped_attributes: at(&dropped_attributes, row),
                events: read(next(&mut events), "events", exact::read_events)?,
                dropped_events: at(&dropped_events, row),
                links: read(next(&mut links), "links", exact::read_links)?,
                dropped_links: at(&dropped_links, row),
                status: Status {
                    code: read_status(next(&mut codes).unwrap_or_default())?,
                    message: next(&mut messages).unwrap_or_default().into(),
                },
                resource: resources.next().unwrap_or_default(),
                scope: scopes.next().unwrap_or_default(),
            };
            if let Some(text) = next(&mut beyond) {
                read_beyond(text, &mut span)?;
            }
            spans.push(span);
        }
        Ok((spans, logs))
    }

    fn resources(&mut self, source: &Source<'_>) -> Result<Vec<Arc<Resource>>, ReadError> {
        let attributes = source.text("resource_attributes")?.iter();
        let dropped = source.small("resource_dropped_attributes")?;
        let schemas = source.text("resource_schema_url")?.iter();
        let mut list: Vec<Arc<Resource>> = Vec::with_capacity(dropped.len());
        let mut last = None;
        for ((attributes, dropped), schema) in attributes.zip(dropped).zip(schemas) {
            let same = Some((attributes, dropped, schema));
            if let (true, Some(resource)) = (last == same, list.last()) {
                list.push(Arc::clone(resource));
                continue;
            }
            last = same;
            let key = (
                Text::from(attributes.unwrap_or_default()),
                dropped,
                Text::from(schema.unwrap_or_default()),
            );
            if let Some(known) = self.resources.get(&key) {
                list.push(Arc::clone(known));
                continue;
            }
            let read = read(attributes, "resource_attributes", exact::read_attributes)?;
            let resource = Arc::new(Resource {
                dropped_attributes: dropped,
                schema_url: key.2.clone(),
                ..Resource::new(read)
            });
            self.resources.insert(key, Arc::clone(&resource));
            list.push(resource);
        }
        Ok(list)
    }

    fn scopes(&mut self, source: &Source<'_>) -> Result<Vec<Arc<Scope>>, ReadError> {
        let names = source.text("scope_name")?.iter();
        let versions = source.text("scope_version")?.iter();
        let attributes = source.text("scope_attributes")?.iter();
        let dropped = source.small("scope_dropped_attributes")?;
        let schemas = source.text("scope_schema_url")?.iter();
        let rows = names
            .zip(versions)
            .zip(attributes)
            .zip(dropped)
            .zip(schemas);
        let mut list: Vec<Arc<Scope>> = Vec::new();
        let mut last = None;
        for row in rows {
            if let (true, Some(scope)) = (last == Some(row), list.last()) {
                list.push(Arc::clone(scope));
                continue;
            }
            last = Some(row);
            let ((((name, version), attributes), dropped), schema) = row;
            let text = |text: Option<&str>| Text::from(text.unwrap_or_default());
            let key = (
                text(name),
                text(version),
                text(attributes),
                dropped,
                text(schema),
            );
            if let Some(known) = self.scopes.get(&key) {
                list.push(Arc::clone(known));
                continue;
            }
            let scope = Arc::new(Scope {
                name: key.0.clone(),
                version: key.1.clone(),
                attributes: read(attributes, "scope_attributes", exact::read_attributes)?,
                dropped_attributes: dropped,
                schema_url: key.4.clone(),
            });
            self.scopes.insert(key, Arc::clone(&scope));
            list.push(scope);
        }
        Ok(list)
    }
}

fn next<'a>(column: &mut impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    column.next().flatten()
}

fn at<T: Copy + Default>(column: &[T], row: usize) -> T {
    column.get(row).copied().unwrap_or_default()
}

fn id<T: std::str::FromStr<Err: std::fmt::Display>>(
    column: &'static str,
    text: Option<&str>,
) -> Result<T, ReadError> {
    let text = text.ok_or_else(|| wrong(column, "is null"))?;
    text.parse().map_err(|error| wrong(column, error))
}

fn read<T: Default>(
    text: Option<&str>,
    column: &'static str,
    read: impl FnOnce(&str) -> Result<T, ExactError>,
) -> Result<T, ReadError> {
    match text {
        Some(text) => read(text).map_err(|error| wrong(column, error)),
        None => Ok(T::default()),
    }
}

fn read_kind(word: &str) -> Result<Kind, ReadError> {
    match KINDS.iter().find(|(_, known)| *known == word) {
        Some((kind, _)) => Ok(*kind),
        None => word
            .parse()
            .map(Kind::Other)
            .map_err(|_| wrong("kind", format!("`{word}` is no kind"))),
    }
}

fn read_status(word: &str) -> Result<StatusCode, ReadError> {
    match CODES.iter().find(|(_, known)| *known == word) {
        Some((code, _)) => Ok(*code),
        None => word
            .parse()
            .map(StatusCode::Other)
            .map_err(|_| wrong("status", format!("`{word}` is no status"))),
    }
}

fn read_beyond(text: &str, span: &mut Span) -> Result<(), ReadError> {
    #[derive(serde::Deserialize)]
    struct Beyond {
        start_unix_nano: u64,
        end_unix_nano: u64,
    }
    let beyond: Beyond = serde_json::from_str(text).map_err(|error| wrong("beyond", error))?;
    span.start = UnixNanos(beyond.start_unix_nano);
    span.end = UnixNanos(beyond.end_unix_nano);
    Ok(())
}
