//! One span under way, whatever its format.

use std::sync::Arc;

use crate::model::{Attributes, Link, Resource, Span, SpanId, Text, TraceId, UnixNanos, Value};
use crate::otlp::ids::{self, Id};
use crate::otlp::json::Faults;
use crate::otlp::json::fields::Field;
use crate::otlp::json::reader::Read;
use crate::otlp::{Batch, Reject};

/// The attributes that keep ids which are no hex as they were written.
const ORIGINAL_TRACE_ID: &str = "dwindle.original_trace_id";
const ORIGINAL_SPAN_ID: &str = "dwindle.original_span_id";
const ORIGINAL_PARENT_ID: &str = "dwindle.original_parent_id";

/// The attribute that tells what was not said of a span's time.
const MISSING: &str = "dwindle.missing";

/// A span under way: its reader fills `span`, ids go through here, and [`Draft::finish`] keeps or
/// rejects it.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) span: Span,
    /// True where ids are base64, and hex only if they are none.
    pub(super) base64: bool,
    faults: Faults,
    /// Ids that are words, with the attribute that keeps them.
    originals: Vec<(&'static str, Text)>,
}

impl Draft {
    /// A span of which nothing is known yet.
    pub(super) fn new(batch: &Batch<'_>) -> Self {
        Self {
            span: Span {
                resource: batch.no_resource(),
                scope: batch.no_scope(),
                ..Span::default()
            },
            base64: false,
            faults: Faults::default(),
            originals: Vec::new(),
        }
    }

    /// The trace's id as it is written: hex of any length, or a word that gets an id made for it.
    pub(super) fn trace_id(&mut self, text: &str) {
        self.span.trace_id = TraceId(self.id(text, ORIGINAL_TRACE_ID));
    }

    /// The span's own id, likewise.
    pub(super) fn span_id(&mut self, text: &str) {
        self.span.span_id = SpanId(self.id(text, ORIGINAL_SPAN_ID));
    }

    /// The parent's id, likewise; empty or zero is none.
    pub(super) fn parent_id(&mut self, text: &str) {
        let id = SpanId(self.id(text, ORIGINAL_PARENT_ID));
        self.span.parent_id = (!id.is_zero()).then_some(id);
    }

    /// Names the span that a link goes to; an empty text leaves what is there.
    pub(super) fn link(&self, link: &mut Link, trace: &str, span: &str) {
        if !trace.is_empty() {
            let (id, made) = self.read(trace);
            link.trace_id = TraceId(id);
            keep(
                &mut link.attributes,
                ORIGINAL_TRACE_ID,
                made.then_some(trace),
            );
        }
        if !span.is_empty() {
            let (id, made) = self.read(span);
            link.span_id = SpanId(id);
            keep(&mut link.attributes, ORIGINAL_SPAN_ID, made.then_some(span));
        }
    }

    fn id<const N: usize>(&mut self, text: &str, original: &'static str) -> [u8; N] {
        let (id, made) = self.read(text);
        if made {
            self.originals.push((original, Text::from(text)));
        }
        id
    }

    /// The id, zeros for none, and whether it is made.
    fn read<const N: usize>(&self, text: &str) -> ([u8; N], bool) {
        let id = if self.base64 {
            ids::base64_or_made(text)
        } else {
            ids::hex_or_made(text)
        };
        match id {
            Id::Zero => ([0; N], false),
            Id::Known(id) => (id, false),
            Id::Made(id) => (id, true),
        }
    }

    /// The value of the field `key`; of one that holds what it cannot hold nothing, and the span
    /// will be rejected.
    pub(super) fn take<T: Default>(&mut self, field: Field<T>, key: &str) -> T {
        self.faults.field(field, key)
    }

    /// The field `key` holds what it cannot hold: the span will be rejected.
    pub(super) fn fault(&mut self, key: &str) {
        self.faults.found(Reject::Field, key);
    }

    /// Adds an attribute.
    pub(super) fn attribute(&mut self, key: impl Into<Text>, value: Value) {
        self.span.attributes.0.push((key.into(), value));
    }

    /// When it began and ended, as far as that is said. A span of which one is not known has no
    /// length; an attribute tells.
    pub(super) fn times(&mut self, start: Option<UnixNanos>, end: Option<UnixNanos>) {
        self.span.start = start.or(end).unwrap_or_default();
        self.span.end = end.or(start).unwrap_or_default();
        self.missing(start.is_some(), end.is_some());
    }

    /// Notes whether the start and the end are known.
    pub(super) fn missing(&mut self, has_start: bool, has_end: bool) {
        let missing = match (has_start, has_end) {
            (true, true) => return,
            (true, false) => "end",
            (false, true) => "start",
            (false, false) => "start, end",
        };
        self.attribute(MISSING, Value::Str(Text::const_new(missing)));
    }

    /// Keeps the span, or rejects and counts it.
    pub(super) fn finish(self, batch: &mut Batch<'_>) {
        let Self {
            mut span,
            mut faults,
            originals,
            base64: _,
        } = self;
        if std::mem::take(&mut batch.too_deep) {
            faults.found(Reject::TooDeep, "attributes");
        }
        if span.trace_id.is_zero() {
            faults.found(Reject::ZeroTraceId, "trace id");
        } else if span.span_id.is_zero() {
            faults.found(Reject::ZeroSpanId, "span id");
        }
        if let Some((why, key)) = faults.first {
            return batch.reject(why, || {
                format!("span `{}`, `{key}`: {}", span.name, why.words())
            });
        }
        batch.replaced_ids += u64::from(!originals.is_empty());
        let originals = originals.into_iter();
        span.attributes
            .0
            .extend(originals.map(|(key, text)| (Text::const_new(key), Value::Str(text))));
        span.attributes.0.shrink_to_fit();
        span.events.shrink_to_fit();
        span.links.shrink_to_fit();
        batch.spans.push(span);
    }
}

fn keep(attributes: &mut Attributes, key: &'static str, text: Option<&str>) {
    let pair = text.map(|text| (Text::const_new(key), Value::Str(Text::from(text))));
    attributes.0.extend(pair);
}

/// The resource with these attributes, one for all spans that share `key`.
pub(super) fn resource(
    batch: &mut Batch<'_>,
    key: &[u8],
    attributes: impl FnOnce(&mut Batch<'_>) -> Read<Attributes>,
) -> Read<Arc<Resource>> {
    if let Some(known) = batch.resources.get(key) {
        return Ok(known);
    }
    let resource = Arc::new(Resource::new(attributes(batch)?));
    batch.resources.put(key, Arc::clone(&resource));
    Ok(resource)
}
