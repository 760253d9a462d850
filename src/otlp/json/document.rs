//! OTLP in whatever stands around it.
//!
//! People's files wrap it: `{"result": …}` (Jaeger's API v3), `{"trace": …}`, `{"batches": …}`
//! (Tempo), `{"data": …}`, an array of requests, a `ResourceSpans` on its own. So every object and
//! array down to a few levels is looked into, and the keys that are not OTLP's are remembered: if
//! nothing is found they tell what the document is instead.

use super::decode::{self, Entry, Signal};
use super::reader::{Read, Reader, Shape, Syntax};
use super::span::outer_trace;
use crate::model::{Text, TraceId};
use crate::otlp::Batch;

/// How many wrappers are opened.
const LEVELS: usize = 6;
/// How many different keys are remembered.
const KEYS: usize = 96;

/// What a document held.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// A list of spans, maybe an empty one.
    pub(crate) traces: bool,
    /// A list of log records.
    pub(crate) logs: bool,
    /// A list of metrics.
    pub(crate) metrics: bool,
    /// Keys that are not OTLP's, each once, in the order they came.
    pub(crate) keys: Vec<Text>,
    /// What the document is.
    pub(crate) shape: Shape,
}

impl Found {
    /// True when the document holds anything of OTLP.
    pub(crate) fn any(&self) -> bool {
        self.traces || self.logs || self.metrics
    }

    fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Traces => self.traces = true,
            Signal::Logs => self.logs = true,
            Signal::Metrics => self.metrics = true,
        }
    }

    fn key(&mut self, key: &str) {
        if self.keys.len() < KEYS && !self.keys.iter().any(|known| known == key) {
            self.keys.push(Text::from(key));
        }
    }
}

/// Reads one document of any shape; its spans, logs and points go to `batch`. When the text is at
/// fault, what was found before that stands beside the fault.
pub(crate) fn document(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
) -> Result<Found, (Found, Syntax)> {
    batch.outer_trace = TraceId::default();
    let mut found = Found {
        traces: false,
        logs: false,
        metrics: false,
        keys: Vec::new(),
        shape: Shape::Other,
    };
    let read = reader.shape().and_then(|shape| {
        found.shape = shape;
        visit(reader, batch, &mut found, LEVELS)
    });
    match read {
        Ok(()) => Ok(found),
        Err(fault) => Err((found, fault)),
    }
}

fn visit(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    found: &mut Found,
    levels: usize,
) -> Read<()> {
    match reader.shape()? {
        Shape::Object if levels > 0 => {
            let around = batch.outer_trace;
            let mut entry = Entry::begin(batch);
            reader.object(|reader, key| {
                if let Some(signal) = decode::signal(key) {
                    found.signal(signal);
                    return decode::resources(reader, batch);
                }
                if let Some(signal) = decode::scope_signal(key) {
                    found.signal(signal);
                    return entry.field(reader, batch, key);
                }
                found.key(key);
                match key {
                    "resource" | "schemaUrl" | "schema_url" => entry.field(reader, batch, key),
                    "traceId" | "trace_id" | "traceID" => {
                        batch.outer_trace = outer_trace(reader, batch)?;
                        Ok(())
                    }
                    // People choose these keys: they say nothing of the format.
                    "tags" | "attributes" | "Attributes" => {
                        let known = found.keys.len();
                        visit(reader, batch, found, levels - 1)?;
                        found.keys.truncate(known);
                        Ok(())
                    }
                    _ => visit(reader, batch, found, levels - 1),
                }
            })?;
            batch.outer_trace = around;
            entry.finish(batch)
        }
        Shape::Array if levels > 0 => {
            reader.array(|reader| visit(reader, batch, found, levels - 1))
        }
        _ => reader.skip().map(drop),
    }
}
