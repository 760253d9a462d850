//! Plain data: spans as they came, and what an analysis says of them.
//!
//! Two halves. What came in: [`Span`], [`SpanLog`], [`Trace`], with ids, times and attributes.
//! What comes out: [`Analysis`], a list of [`Request`]s with their hops, calls, path, ledger and
//! findings; its `Serialize` form is the JSON that every machine-readable output returns.
//!
//! **Invariant**: no IO, no clock, no protobuf, no arithmetic beyond saturating time.

#![deny(clippy::disallowed_types)]

mod analysis;
mod finding;
mod id;
mod key;
mod note;
pub mod number;
mod reason;
pub mod size;
mod span;
mod time;
mod value;

pub(crate) use analysis::share;
pub use analysis::{
    Analysis, Call, CallKind, Culprit, HandedOver, Hop, How, LedgerRow, LocalSource, Outcome, Part,
    PathSegment, Request, Source, Surfaced, Verdict,
};
pub use finding::{Evidence, Finding, Rule, Severity};
pub use id::{IdError, SpanId, TraceId};
pub use key::key;
pub use note::Note;
pub use reason::Reason;
pub use span::{Event, Kind, Link, Resource, Scope, Span, SpanLog, Status, StatusCode, Trace};
pub use time::{Nanos, UnixNanos};
pub use value::{Attributes, Text, Value};
