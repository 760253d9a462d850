//! What stands around spans, log records and metrics: requests, resources, scopes.

use std::sync::Arc;

use super::fields::{self, Field};
use super::reader::{Read, Reader, Shape};
use super::records::{scope_logs, scope_metrics};
use super::span::span;
use super::value;
use crate::model::{Attributes, Resource, Scope, Span, Text};
use crate::otlp::Batch;

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
    /// Whether `guess` is made of all that was read so far.
    settled: bool,
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
            settled: false,
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
                self.resource_text = Some(batch.recent_resources.skip(reader)?);
                self.settled = false;
            }
            "schemaUrl" | "schema_url" => {
                self.schema_url = fields::text(reader)?.unwrap_or_default();
                self.settled = false;
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
            batch.reject_since(
                self.first_span,
                "the resource of these spans cannot be read",
            );
        } else if !Arc::ptr_eq(&guess, &self.guess) {
            for span in batch.spans.iter_mut().skip(self.first_span) {
                span.resource = Arc::clone(&self.guess);
            }
        }
        Ok(())
    }

    fn settle(&mut self, batch: &mut Batch<'_>) -> Read<()> {
        let text = self.resource_text.unwrap_or_default();
        if self.settled || text.is_empty() && self.schema_url.is_empty() {
            return Ok(());
        }
        self.settled = true;
        // Where the schema comes behind the spans, as it does in most, this is done twice; the
        // second time costs a look-up.
        let key = [text.as_bytes(), b"\n", self.schema_url.as_bytes()].concat();
        if let Some(known) = batch.resources.get(&key) {
            self.guess = known;
            return Ok(());
        }
        match resource(text, batch)? {
            Ok(mut resource) => {
                resource.schema_url.clone_from(&self.schema_url);
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
    let mut attributes = Ok(Attributes::default());
    let read = fields::object(&mut Reader::new(text), |reader, key| {
        match key {
            "attributes" => attributes = value::attributes(reader, batch, 0)?,
            "droppedAttributesCount" | "dropped_attributes_count" => {
                dropped = fields::count(reader)?;
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
    // Whether `scope` is made of all that was read so far.
    let mut settled = true;
    reader.object(|reader, key| {
        match key {
            "scope" | "instrumentationLibrary" | "instrumentation_library" => {
                text = batch.recent_scopes.skip(reader)?;
                scope = self::scope(text, &schema_url, batch)?;
                settled = true;
            }
            "schemaUrl" | "schema_url" => {
                schema_url = fields::text(reader)?.unwrap_or_default();
                settled = false;
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
    if !settled {
        scope = self::scope(text, &schema_url, batch)?;
    }
    let Ok(scope) = scope else {
        batch.reject_since(first, "the scope of these spans cannot be read");
        return Ok(());
    };
    // The scope or its schema may stand behind the spans.
    let has_it = |span: &Span| Arc::ptr_eq(&span.scope, &scope);
    if !batch.spans.get(first).is_none_or(has_it) {
        for span in batch.spans.iter_mut().skip(first) {
            span.scope = Arc::clone(&scope);
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
