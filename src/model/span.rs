//! Spans as they came: every field of OTLP's `Span`, so that OTLP → OTLP loses nothing.

use std::sync::Arc;

use super::{Attributes, SpanId, Text, TraceId, UnixNanos, Value};

/// One span.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Span {
    /// The trace it belongs to; never zero.
    pub trace_id: TraceId,
    /// Its own id; never zero.
    pub span_id: SpanId,
    /// The id of its parent as it came; `None` when absent or all zero.
    pub parent_id: Option<SpanId>,
    /// W3C `tracestate`, as it came.
    pub trace_state: Text,
    /// OTLP span flags, as they came.
    pub flags: u32,
    /// The operation.
    pub name: Text,
    /// Its role in a call.
    pub kind: Kind,
    /// When it began, on its own host's clock.
    pub start: UnixNanos,
    /// When it ended, on its own host's clock; may lie before `start`, as it came.
    pub end: UnixNanos,
    /// Its attributes.
    pub attributes: Attributes,
    /// How many attributes the sender dropped.
    pub dropped_attributes: u32,
    /// Its events.
    pub events: Vec<Event>,
    /// How many events the sender dropped.
    pub dropped_events: u32,
    /// Its links; never parents.
    pub links: Vec<Link>,
    /// How many links the sender dropped.
    pub dropped_links: u32,
    /// Its status.
    pub status: Status,
    /// Who made it; shared by all spans of one batch.
    pub resource: Arc<Resource>,
    /// Which library made it; shared likewise.
    pub scope: Arc<Scope>,
}

impl Span {
    /// The service: see [`Resource::service`].
    pub fn service(&self) -> &str {
        &self.resource.service
    }
}

/// OTLP `SpanKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Kind {
    /// Not said (0).
    #[default]
    Unspecified,
    /// Work inside a service (1).
    Internal,
    /// Handles an inbound call (2).
    Server,
    /// Makes an outbound call and waits for it (3).
    Client,
    /// Publishes a message (4).
    Producer,
    /// Handles a message (5).
    Consumer,
    /// A kind that the protocol got later, kept as it came.
    Other(i32),
}

impl Kind {
    /// True for the side that makes a call or sends a message, not the one that handles it.
    pub fn is_outbound(self) -> bool {
        matches!(self, Self::Client | Self::Producer)
    }
}

/// OTLP `Status`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Unset, ok or error.
    pub code: StatusCode,
    /// The description, often the only place of an error's text.
    pub message: Text,
}

/// OTLP `Status.StatusCode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum StatusCode {
    /// Not said (0).
    #[default]
    Unset,
    /// Explicitly fine (1).
    Ok,
    /// An error (2).
    Error,
    /// A code that the protocol got later, kept as it came.
    Other(i32),
}

/// Something that happened during a span.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// When, on the span's host.
    pub time: UnixNanos,
    /// What.
    pub name: Text,
    /// With what.
    pub attributes: Attributes,
    /// How many attributes the sender dropped.
    pub dropped_attributes: u32,
}

/// A relation to a span that is not the parent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Link {
    /// The other span's trace.
    pub trace_id: TraceId,
    /// The other span.
    pub span_id: SpanId,
    /// Its `tracestate`.
    pub trace_state: Text,
    /// OTLP link flags.
    pub flags: u32,
    /// What the link says.
    pub attributes: Attributes,
    /// How many attributes the sender dropped.
    pub dropped_attributes: u32,
}

/// The entity that made spans (OTLP `Resource`).
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// `service.namespace`/`service.name`; without a namespace the bare name, without a name
    /// `unknown_service` (semantics, section 2.1).
    pub service: Text,
    /// Its attributes.
    pub attributes: Attributes,
    /// How many attributes the sender dropped.
    pub dropped_attributes: u32,
    /// Schema of the resource's attributes.
    pub schema_url: Text,
}

impl Resource {
    /// A resource with these attributes; the service is derived from them.
    pub fn new(attributes: Attributes) -> Self {
        let service = match (
            attributes.get("service.name"),
            attributes.text("service.namespace"),
        ) {
            (Some(Value::Str(name)), _) if name.is_empty() => Text::const_new("unknown_service"),
            (Some(Value::Empty) | None, _) => Text::const_new("unknown_service"),
            (Some(Value::Str(name)), Some(namespace)) => {
                compact_str::format_compact!("{namespace}/{name}")
            }
            (Some(Value::Str(name)), None) => name.clone(),
            (Some(other), _) => compact_str::format_compact!("{other}"),
        };
        Self {
            service,
            attributes,
            dropped_attributes: 0,
            schema_url: Text::default(),
        }
    }

    /// What tells one clock from another: the host, else the instance, else the service.
    pub fn host(&self) -> Text {
        ["host.id", "host.name", "service.instance.id"]
            .iter()
            .find_map(|key| match self.attributes.get(key) {
                Some(Value::Str(text)) if !text.is_empty() => {
                    // An instance id is unique within its service only.
                    if *key == "service.instance.id" {
                        Some(compact_str::format_compact!("{}/{text}", self.service))
                    } else {
                        Some(text.clone())
                    }
                }
                _ => None,
            })
            .unwrap_or_else(|| self.service.clone())
    }
}

impl Default for Resource {
    fn default() -> Self {
        Self::new(Attributes::default())
    }
}

/// The instrumentation library (OTLP `InstrumentationScope`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scope {
    /// Its name.
    pub name: Text,
    /// Its version.
    pub version: Text,
    /// Its attributes.
    pub attributes: Attributes,
    /// How many attributes the sender dropped.
    pub dropped_attributes: u32,
    /// Schema of the attributes of the spans in this scope.
    pub schema_url: Text,
}

/// A log record that carries a span's ids; kept for the deadlines that it reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpanLog {
    /// The span's trace; never zero.
    pub trace_id: TraceId,
    /// The span; never zero.
    pub span_id: SpanId,
    /// When it was written, on the span's host.
    pub time: UnixNanos,
    /// The record's attributes.
    pub attributes: Attributes,
    /// The text of its body, up to [`SpanLog::MAX_BODY`] bytes; of a body with named parts the
    /// part that is the message. Empty where there is none.
    pub body: Text,
}

impl SpanLog {
    /// How much of a body is kept, in bytes: what tells a deadline is short.
    pub const MAX_BODY: usize = 2048;

    /// Keeps the text of a body.
    pub fn set_body(&mut self, body: &Value) {
        let text = match body {
            Value::Str(text) => text.as_str(),
            Value::Map(parts) => ["message", "msg", "log", "body"]
                .iter()
                .find_map(|key| parts.text(key))
                .unwrap_or_default(),
            _ => "",
        };
        let most = Self::MAX_BODY.min(text.len());
        let cut = (0..=most).rev().find(|at| text.is_char_boundary(*at));
        self.body = text.get(..cut.unwrap_or(0)).unwrap_or_default().into();
    }
}

/// Everything that came of one trace, in any order, duplicates included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// The id that all of it shares.
    pub id: TraceId,
    /// The spans.
    pub spans: Vec<Span>,
    /// Log records that name one of the spans.
    pub logs: Vec<SpanLog>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(pairs: &[(&str, Value)]) -> Text {
        Resource::new(pairs.iter().cloned().collect()).service
    }

    #[test]
    fn a_service_is_named_by_namespace_and_name() {
        let text = |s: &str| Value::Str(s.into());
        assert_eq!(service(&[("service.name", text("cart"))]), "cart");
        assert_eq!(
            service(&[
                ("service.name", text("cart")),
                ("service.namespace", text("shop"))
            ]),
            "shop/cart"
        );
        assert_eq!(service(&[("service.name", text(""))]), "unknown_service");
        assert_eq!(
            service(&[("service.namespace", text("shop"))]),
            "unknown_service"
        );
        assert_eq!(service(&[("service.name", Value::Int(7))]), "7");
    }
}
