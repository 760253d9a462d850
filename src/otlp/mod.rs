//! OTLP, both ways: protobuf and JSON in and out of [`model`](crate::model) types.
//!
//! A batch is taken span by span: what is wrong with one costs that one, which is counted with the
//! reason ([`Decoded::rejected`]). Only bytes that are no message at all are an error.
//! [`inflate()`] is the crate's only decompressor.
//!
//! **Invariant**: no socket, no file. `received` = spans and logs kept + rejected. No input
//! panics, recurses past [`Limits::max_depth`] or inflates past a cap.

mod batch;
pub(crate) mod ids;
pub mod inflate;
pub(crate) mod json;
mod proto;

use crate::model::{Span, SpanLog};

pub use inflate::{Encoding, InflateError, inflate};
pub use json::{
    logs_from_json, logs_to_json, metrics_count_from_json, trace_to_json, traces_from_json,
    traces_to_json,
};
pub use proto::{
    logs_from_proto, logs_from_request, logs_to_proto, metrics_count_from_proto,
    metrics_count_from_request, traces_from_proto, traces_from_request, traces_to_proto,
};

pub(crate) use batch::{Batch, Mark};
pub(crate) use proto::{kind as kind_of, traces_into};

/// What input may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message after decompression. In memory a message is larger: about twice as
    /// large as it comes from exporters, 36 times at the worst (events that say nothing).
    pub max_message_bytes: usize,
    /// Values within values; a span with an attribute nested deeper is rejected.
    pub max_depth: usize,
    /// Bytes of one document in a file (a line of NDJSON, or a whole file of one document).
    pub max_document_bytes: usize,
    /// Bytes that one compressed file may become.
    pub max_inflated_bytes: u64,
    /// Bytes of spans, as they are estimated, that a command over files holds in memory at once
    /// where it can do with a part of them; the others wait in a temporary file.
    pub max_held_bytes: usize,
    /// Whether any word of eight or more characters may stand for an id, as in files made by
    /// hand. Such ids are replaced by made ones and counted.
    pub words_as_ids: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 << 20,
            // Protobuf readers stop at 100 messages in each other: 31 maps, with what is around.
            max_depth: 30,
            max_document_bytes: 1 << 30,
            max_inflated_bytes: 16 << 30,
            max_held_bytes: 256 << 20,
            words_as_ids: false,
        }
    }
}

/// What a batch held.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoded {
    /// The spans, in the order they came.
    pub spans: Vec<Span>,
    /// The log records that carry a span's ids and at least one attribute.
    pub logs: Vec<SpanLog>,
    /// Spans and log records in the batch, good and bad.
    pub received: u64,
    /// How many were rejected, by reason; no zeros.
    pub rejected: Vec<(Reject, u64)>,
    /// What was wrong with the first of them.
    pub first_error: Option<String>,
    /// Spans whose ids are no OTLP ids and were replaced ([`Limits::words_as_ids`]).
    pub replaced_ids: u64,
}

impl Decoded {
    /// How many were rejected, for any reason.
    pub fn rejected_total(&self) -> u64 {
        self.rejected.iter().map(|(_, count)| count).sum()
    }
}

/// Why a span or a log record is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reject {
    /// The trace id is absent or all zero.
    ZeroTraceId,
    /// The span id is absent or all zero.
    ZeroSpanId,
    /// The trace id is no 16 bytes.
    TraceId,
    /// The span id is no 8 bytes.
    SpanId,
    /// The parent's id is there and is no 8 bytes.
    ParentId,
    /// A field has a value that it cannot have.
    Field,
    /// An attribute is nested deeper than [`Limits::max_depth`].
    TooDeep,
    /// The bytes of the span are no message.
    Malformed,
    /// The resource or the scope around the span cannot be read.
    Surroundings,
    /// A log record without a span's ids.
    LogWithoutSpan,
    /// A log record without attributes and text.
    LogWithoutAttributes,
    /// A log record that cannot be read.
    LogUnreadable,
}

impl Reject {
    /// Every reason.
    pub const ALL: [Self; 12] = [
        Self::ZeroTraceId,
        Self::ZeroSpanId,
        Self::TraceId,
        Self::SpanId,
        Self::ParentId,
        Self::Field,
        Self::TooDeep,
        Self::Malformed,
        Self::Surroundings,
        Self::LogWithoutSpan,
        Self::LogWithoutAttributes,
        Self::LogUnreadable,
    ];

    /// The word for counters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ZeroTraceId => "zero_trace_id",
            Self::ZeroSpanId => "zero_span_id",
            Self::TraceId => "bad_trace_id",
            Self::SpanId => "bad_span_id",
            Self::ParentId => "bad_parent_id",
            Self::Field => "bad_field",
            Self::TooDeep => "too_deep",
            Self::Malformed => "malformed",
            Self::Surroundings => "bad_resource_or_scope",
            Self::LogWithoutSpan => "log_without_span",
            Self::LogWithoutAttributes => "log_without_attributes",
            Self::LogUnreadable => "log_unreadable",
        }
    }

    /// The words for people: what is wrong, as a fragment.
    pub fn words(self) -> &'static str {
        match self {
            Self::ZeroTraceId => "no trace id",
            Self::ZeroSpanId => "no span id",
            Self::TraceId => "the trace id is not 16 bytes of hex or base64",
            Self::SpanId => "the span id is not 8 bytes of hex or base64",
            Self::ParentId => "the parent's span id is not 8 bytes of hex or base64",
            Self::Field => "a field holds what it cannot hold",
            Self::TooDeep => "an attribute is nested too deeply",
            Self::Malformed => "the span's bytes are not a message",
            Self::Surroundings => "the resource or scope of the span cannot be read",
            Self::LogWithoutSpan => "the log record names no span",
            Self::LogWithoutAttributes => "the log record has neither attributes nor text",
            Self::LogUnreadable => "the log record cannot be read",
        }
    }

    /// True when what was rejected is a log record.
    pub fn is_log(self) -> bool {
        matches!(
            self,
            Self::LogWithoutSpan | Self::LogWithoutAttributes | Self::LogUnreadable
        )
    }
}

/// Why bytes are no batch at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no protobuf message of this kind.
    #[error("not an OTLP protobuf message: {0}")]
    Proto(String),
    /// The bytes are no JSON.
    #[error("not JSON: {what} at line {line}, column {column}")]
    Json {
        /// What is wrong.
        what: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// JSON, but nothing that OTLP sends.
    #[error("not an OTLP message: {0}")]
    Shape(&'static str),
    /// More bytes than a message may have.
    #[error("the message has {got} bytes; at most {limit} are taken")]
    TooLarge {
        /// Its size.
        got: usize,
        /// [`Limits::max_message_bytes`].
        limit: usize,
    },
}
