//! What spans of many makes tell of how they ended.

mod codes;
mod texts;

use std::sync::Arc;

use super::read::read;
use super::*;
use crate::model::{Event, Kind, Reason, Resource, Span, Status, StatusCode, UnixNanos, Value};

fn span(kind: Kind, code: StatusCode, message: &str, pairs: &[(&str, Value)]) -> Span {
    Span {
        name: "x".into(),
        kind,
        end: UnixNanos(1_000_000_000),
        attributes: pairs.iter().cloned().collect(),
        status: Status {
            code,
            message: message.into(),
        },
        resource: Arc::new(Resource::default()),
        ..Span::default()
    }
}

fn text(s: &str) -> Value {
    Value::Str(s.into())
}

fn of(span: &Span) -> Evidence {
    read(&Outcomes::with(&[]), span, &[], span.kind.is_outbound(), 0)
}

/// deadline, cancelled, error
type Flags = (bool, bool, bool);
const DEADLINE: Flags = (true, false, true);
const CANCELLED: Flags = (false, true, false);
const FAILED: Flags = (false, false, true);
const FINE: Flags = (false, false, false);

fn flags(found: Evidence) -> Flags {
    (found.deadline, found.cancelled, found.error)
}

/// Of a CLIENT span with an unset status.
fn client(pairs: &[(&str, Value)]) -> Flags {
    flags(of(&span(Kind::Client, StatusCode::Unset, "", pairs)))
}

fn server(pairs: &[(&str, Value)]) -> Evidence {
    of(&span(Kind::Server, StatusCode::Unset, "", pairs))
}

/// Of a CLIENT span with an error status and this text.
fn failed(message: &str, pairs: &[(&str, Value)]) -> Evidence {
    of(&span(Kind::Client, StatusCode::Error, message, pairs))
}

fn exception(pairs: &[(&str, &str)], ms: u64) -> Event {
    Event {
        name: "exception".into(),
        time: UnixNanos(ms * 1_000_000),
        attributes: pairs
            .iter()
            .map(|(key, value)| (*key, text(value)))
            .collect(),
        ..Event::default()
    }
}
