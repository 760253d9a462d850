//! Spans and log records out of OTLP/JSON.

use std::sync::Arc;

use super::fields::{self, Field};
use super::reader::{Read, Reader, Scalar, Shape};
use super::value;
use crate::model::{
    Event, Link, Resource, Scope, Span, SpanId, SpanLog, Status, Text, TraceId, UnixNanos,
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

/// Which signal a list of resources holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Logs,
    Metrics,
}

/// The signal that this key of a request holds.
pub(super) fn signal(key: &str) -> Option<Signal> {
    match key {
        "resourceSpans" | "resource_spans" => Some(Signal::Traces),
        "resourceLogs" | "resource_logs" => Some(Signal::Logs),
        "resourceMetrics" | "resource_metrics" => Some(Signal::Metrics),
        _ => None,
    }
}

/// The signal that this key of a resource's list holds.
pub(super) fn scope_signal(key: &str) -> Option<Signal> {
    match key {
        "scopeSpans"
        | "scope_spans"
        | "instrumentationLibrarySpans"
        | "instrumentation_library_spans"
        | "ilSpans" => Some(Signal::Traces),
        "scopeLogs"
        | "scope_logs"
        | "instrumentationLibraryLogs"
        | "instrumentation_library_logs" => Some(Signal::Logs),
        "scopeMetrics"
        | "scope_metrics"
        | "instrumentationLibraryMetrics"
        | "instrumentation_library_metrics" => Some(Signal::Metrics),
        _ => None,
    }
}

/// An export request of any signal; other keys are passed over.
pub(super) fn request(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    reader.object(|reader, key| {
        match signal(key) {
            Some(_) => resources(reader, batch)?,
            None => {
                reader.skip()?;
            }
        }
        Ok(())
    })
}

/// A list of `ResourceSpans`, `ResourceLogs` or `ResourceMetrics`, or one alone.
pub(super) fn resources(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    match reader.shape()? {
        Shape::Object => resource_entry(reader, batch),
        // What is no list holds nothing.
        _ => fields::list(reader, |reader| match reader.shape()? {
            Shape::Object => resource_entry(reader, batch),
            _ => reader.skip().map(drop),
        })
        .map(drop),
    }
}

fn resource_entry(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    let mut entry = Entry::begin(batch);
    reader.object(|reader, key| entry.field(reader, batch, key))?;
    entry.finish(batch)
}

/// One `ResourceSpans` under way: the resource may come before the spans or behind them.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    first_span: usize,
    resource_text: Option<&'a str>,
    schema_url: Text,
    guess: Arc<Resource>,
    bad: bool,
    has_scopes: bool,
}

impl<'a> Entry<'a> {
    pub(super) fn begin(batch: &Batch<'_>) -> Self {
        Self {
            first_span: batch.spans.len(),
            resource_text: None,
            schema_url: Text::default(),
            guess: batch.no_resource(),
            bad: false,
            has_scopes: false,
        }
    }

    /// Reads the value of `key`.
    pub(super) fn field(
        &mut self,
        reader: &mut Reader<'a>,
        batch: &mut Batch<'_>,
        key: &str,
    ) -> Read<()> {
        match key {
            "resource" => {
                self.resource_text = Some(reader.skip()?);
            }
            "schemaUrl" | "schema_url" => {
                self.schema_url = fields::text(reader)?.unwrap_or_default();
            }
            _ => match scope_signal(key) {
                Some(signal) => {
                    self.settle(batch)?;
                    self.has_scopes = true;
                    scopes(reader, batch, signal, &self.guess)?;
                }
                None => {
                    reader.skip()?;
                }
            },
        }
        Ok(())
    }

    /// Gives the spans the resource that is now wholly known.
    pub(super) fn finish(mut self, batch: &mut Batch<'_>) -> Read<()> {
        if !self.has_scopes {
            return Ok(());
        }
        let guess = Arc::clone(&self.guess);
        self.settle(batch)?;
        if self.bad {
            let lost = batch.spans.len().saturating_sub(self.first_span);
            batch.spans.truncate(self.first_span);
            for _ in 0..lost {
                batch.reject(Reject::Surroundings, || {
                    "the resource of these spans cannot be read".to_owned()
                });
            }
        } else if !Arc::ptr_eq(&guess, &self.guess) {
            for span in batch.spans.iter_mut().skip(self.first_span) {
                span.resource = Arc::clone(&self.guess);
            }
        }
        Ok(())
    }

    fn settle(&mut self, batch: &mut Batch<'_>) -> Read<()> {
        let text = self.resource_text.unwrap_or_default();
        if text.is_empty() && self.schema_url.is_empty() {
            return Ok(());
        }
        // Where the schema comes behind the spans, as it does in most, this is done twice; the
        // second time costs a look-up.
        let key = [text.as_bytes(), b"\n", self.schema_url.as_bytes()].concat();
        if let Some(known) = batch.resources.get(&key) {
            self.guess = known;
            return Ok(());
        }
        match resource(text, batch)? {
            Ok(mut resource) => {
                resource.schema_url = self.schema_url.clone();
                self.guess = Arc::new(resource);
                batch.resources.put(&key, Arc::clone(&self.guess));
            }
            Err(()) => self.bad = true,
        }
        Ok(())
    }
}

fn resource(text: &str, batch: &mut Batch<'_>) -> Read<Field<Resource>> {
    if text.is_empty() {
        return Ok(Ok(Resource::default()));
    }
    let mut dropped = 0;
    let mut attributes = Ok(crate::model::Attributes::default());
    let read = fields::object(&mut Reader::new(text), |reader, key| {
        match key {
            "attributes" => attributes = value::attributes(reader, batch, 0)?,
            "droppedAttributesCount" | "dropped_attributes_count" => {
                dropped = fields::count(reader)?
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    let too_deep = std::mem::take(&mut batch.too_deep);
    Ok(match (read, attributes) {
        (Ok(()), Ok(attributes)) if !too_deep => {
            let mut resource = Resource::new(attributes);
            resource.dropped_attributes = dropped;
            Ok(resource)
        }
        _ => Err(()),
    })
}

fn scopes(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    signal: Signal,
    resource: &Arc<Resource>,
) -> Read<()> {
    fields::list(reader, |reader| {
        if reader.shape()? != Shape::Object {
            return reader.skip().map(drop);
        }
        match signal {
            Signal::Traces => scope_spans(reader, batch, resource),
            Signal::Logs => scope_logs(reader, batch),
            Signal::Metrics => scope_metrics(reader, batch),
        }
    })
    .map(drop)
}

fn scope_spans(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    resource: &Arc<Resource>,
) -> Read<()> {
    let first = batch.spans.len();
    let mut text = "";
    let mut schema_url = Text::default();
    let none = batch.no_scope();
    let mut scope = Ok(Arc::clone(&none));
    reader.object(|reader, key| {
        match key {
            "scope" | "instrumentationLibrary" | "instrumentation_library" => {
                text = reader.skip()?;
                scope = self::scope(text, &schema_url, batch)?;
            }
            "schemaUrl" | "schema_url" => {
                schema_url = fields::text(reader)?.unwrap_or_default();
            }
            "spans" => {
                let guess = scope.as_ref().unwrap_or(&none);
                fields::list(reader, |reader| span(reader, batch, resource, guess))?.ok();
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    match self::scope(text, &schema_url, batch)? {
        Ok(scope) => {
            // The scope or its schema may stand behind the spans.
            let settled = batch
                .spans
                .get(first)
                .is_none_or(|span| Arc::ptr_eq(&span.scope, &scope));
            if !settled {
                for span in batch.spans.iter_mut().skip(first) {
                    span.scope = Arc::clone(&scope);
                }
            }
        }
        Err(()) => {
            let lost = batch.spans.len().saturating_sub(first);
            batch.spans.truncate(first);
            for _ in 0..lost {
                batch.reject(Reject::Surroundings, || {
                    "the scope of these spans cannot be read".to_owned()
                });
            }
        }
    }
    Ok(())
}

fn scope(text: &str, schema_url: &Text, batch: &mut Batch<'_>) -> Read<Field<Arc<Scope>>> {
    if text.is_empty() && schema_url.is_empty() {
        return Ok(Ok(batch.no_scope()));
    }
    let key = [text.as_bytes(), b"\n", schema_url.as_bytes()].concat();
    if let Some(known) = batch.scopes.get(&key) {
        return Ok(Ok(known));
    }
    let mut scope = Scope {
        schema_url: schema_url.clone(),
        ..Scope::default()
    };
    let mut bad = false;
    if !text.is_empty() {
        let read = fields::object(&mut Reader::new(text), |reader, key| {
            match key {
                "name" => scope.name = fields::text(reader)?.unwrap_or_default(),
                "version" => scope.version = fields::text(reader)?.unwrap_or_default(),
                "attributes" => match value::attributes(reader, batch, 0)? {
                    Ok(attributes) => scope.attributes = attributes,
                    Err(()) => bad = true,
                },
                "droppedAttributesCount" | "dropped_attributes_count" => {
                    scope.dropped_attributes = fields::count(reader)?;
                }
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        bad |= read.is_err() | std::mem::take(&mut batch.too_deep);
    }
    if bad {
        return Ok(Err(()));
    }
    let scope = Arc::new(scope);
    batch.scopes.put(&key, Arc::clone(&scope));
    Ok(Ok(scope))
}

fn span(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    resource: &Arc<Resource>,
    scope: &Arc<Scope>,
) -> Read<()> {
    let mut span = Span {
        trace_id: TraceId::default(),
        span_id: SpanId::default(),
        parent_id: None,
        trace_state: Text::default(),
        flags: 0,
        name: Text::default(),
        kind: crate::model::Kind::default(),
        start: UnixNanos::default(),
        end: UnixNanos::default(),
        attributes: crate::model::Attributes::default(),
        dropped_attributes: 0,
        events: Vec::new(),
        dropped_events: 0,
        links: Vec::new(),
        dropped_links: 0,
        status: Status::default(),
        resource: Arc::clone(resource),
        scope: Arc::clone(scope),
    };
    let mut faults = Faults::default();
    let mut made = false;
    let mut bad_links = 0;
    let read = fields::object(reader, |reader, key| {
        match key {
            "traceId" | "trace_id" => {
                let id = id(reader, batch, &mut made)?;
                span.trace_id = TraceId(faults.take(id, Reject::TraceId, key));
            }
            "spanId" | "span_id" => {
                let id = id(reader, batch, &mut made)?;
                span.span_id = SpanId(faults.take(id, Reject::SpanId, key));
            }
            "parentSpanId" | "parent_span_id" => {
                let id = id(reader, batch, &mut made)?;
                let id = SpanId(faults.take(id, Reject::ParentId, key));
                span.parent_id = (!id.is_zero()).then_some(id);
            }
            "traceState" | "trace_state" => {
                span.trace_state = faults.field(fields::text(reader)?, key);
            }
            "flags" => span.flags = fields::count(reader)?,
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
            "droppedAttributesCount" | "dropped_attributes_count" => {
                span.dropped_attributes = fields::count(reader)?;
            }
            "events" => {
                let read = fields::list(reader, |reader| event(reader, batch, &mut span.events))?;
                faults.field(read, key);
            }
            "droppedEventsCount" | "dropped_events_count" => {
                span.dropped_events = fields::count(reader)?;
            }
            "links" => {
                let read = fields::list(reader, |reader| {
                    match link(reader, batch, &mut made)? {
                        Some(link) => span.links.push(link),
                        None => bad_links += 1,
                    }
                    Ok(())
                })?;
                faults.field(read, key);
            }
            "droppedLinksCount" | "dropped_links_count" => {
                span.dropped_links = fields::count(reader)?;
            }
            "status" => faults.field(status(reader, &mut span.status)?, key),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if std::mem::take(&mut batch.too_deep) {
        faults.found(Reject::TooDeep, "attributes");
    }
    faults.field(read, "spans");
    if span.trace_id.is_zero() {
        span.trace_id = batch.outer_trace;
    }
    if span.trace_id.is_zero() {
        faults.found(Reject::ZeroTraceId, "traceId");
    } else if span.span_id.is_zero() {
        faults.found(Reject::ZeroSpanId, "spanId");
    }
    match faults.first {
        None => {
            span.dropped_links = span.dropped_links.saturating_add(bad_links);
            span.events.shrink_to_fit();
            span.links.shrink_to_fit();
            batch.replaced_ids += u64::from(made);
            batch.spans.push(span);
        }
        Some((why, key)) => batch.reject(why, || {
            format!("span `{}`, `{key}`: {}", span.name, why.words())
        }),
    }
    Ok(())
}

/// What is wrong with one span: the first thing counts.
#[derive(Debug, Default)]
struct Faults {
    first: Option<(Reject, Text)>,
}

impl Faults {
    fn found(&mut self, why: Reject, key: &str) {
        if self.first.is_none() {
            self.first = Some((why, Text::from(key)));
        }
    }

    fn field<T: Default>(&mut self, field: Field<T>, key: &str) -> T {
        field.unwrap_or_else(|()| {
            self.found(Reject::Field, key);
            T::default()
        })
    }

    fn take<T: Default>(&mut self, id: Option<T>, why: Reject, key: &str) -> T {
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
fn id<const N: usize>(
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

fn scope_logs(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    reader.object(|reader, key| {
        match key {
            "logRecords" | "log_records" | "logs" => {
                fields::list(reader, |reader| log(reader, batch))?.ok();
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })
}

fn log(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    let mut log = SpanLog::default();
    let mut observed = 0;
    let mut faults = Faults::default();
    let mut made = false;
    let read = fields::object(reader, |reader, key| {
        match key {
            "traceId" | "trace_id" => {
                let id = id(reader, batch, &mut made)?;
                log.trace_id = TraceId(faults.take(id, Reject::TraceId, key));
            }
            "spanId" | "span_id" => {
                let id = id(reader, batch, &mut made)?;
                log.span_id = SpanId(faults.take(id, Reject::SpanId, key));
            }
            "timeUnixNano" | "time_unix_nano" => {
                log.time = UnixNanos(fields::nanos(reader)?.unwrap_or_default());
            }
            "observedTimeUnixNano" | "observed_time_unix_nano" => {
                observed = fields::nanos(reader)?.unwrap_or_default();
            }
            "attributes" => {
                log.attributes = faults.field(value::attributes(reader, batch, 0)?, key);
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if std::mem::take(&mut batch.too_deep) {
        faults.found(Reject::TooDeep, "attributes");
    }
    faults.field(read, "logRecords");
    if log.time == UnixNanos(0) {
        log.time = UnixNanos(observed);
    }
    match faults.first {
        Some((why, key)) => batch.reject(Reject::LogUnreadable, || {
            format!("log record, `{key}`: {}", why.words())
        }),
        None => batch.keep_log(log),
    }
    Ok(())
}

fn scope_metrics(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    reader.object(|reader, key| {
        if key != "metrics" {
            return reader.skip().map(drop);
        }
        fields::list(reader, |reader| {
            // gauge, sum, histogram …: whichever the metric is, its points are under one name.
            fields::object(reader, |reader, _| match reader.shape()? {
                Shape::Object => reader.object(|reader, key| match key {
                    "dataPoints" | "data_points" => fields::list(reader, |reader| {
                        batch.points += 1;
                        reader.skip().map(drop)
                    })
                    .map(drop),
                    _ => reader.skip().map(drop),
                }),
                _ => reader.skip().map(drop),
            })
            .map(drop)
        })
        .map(drop)
    })
}
