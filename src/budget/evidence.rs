//! What a span says of how it ended: a deadline failure, a cancellation, another error
//! (semantics, section 5). Tables, not code: each list is what systems are known to write.

use super::names::db_system;
use crate::model::{Attributes, Kind, Span, StatusCode, Value};

/// How a span ended, by its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Evidence {
    /// A timeout or a deadline ended it.
    pub deadline: bool,
    /// Somebody cancelled it.
    pub cancelled: bool,
    /// It failed, for whatever reason, the two above included.
    pub error: bool,
}

impl Evidence {
    /// It did not end well, in whatever way.
    pub(super) fn failed(self) -> bool {
        self.error || self.cancelled || self.deadline
    }

    /// What both say together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            deadline: self.deadline || other.deadline,
            cancelled: self.cancelled || other.cancelled,
            error: self.error || other.error,
        }
    }
}

/// gRPC status, under its names over the years (OpenTelemetry, Envoy, Micrometer, Datadog).
const GRPC_STATUS: &[&str] = &[
    "rpc.grpc.status_code",
    "rpc.response.status_code",
    "rpc.status_code",
    "rpc.connect_rpc.error_code",
    "grpc.status_code",
    "grpc.status.code",
    "grpc.code",
];
const HTTP_STATUS: &[&str] = &["http.response.status_code", "http.status_code"];
const DB_STATUS: &[&str] = &["db.response.status_code", "error.type"];

/// Last words of error and exception types that tell of a timeout.
const TIMEOUT_TYPES: &[&str] = &[
    "timeout",
    "timedout",
    "timed_out",
    "deadlineexceeded",
    "deadline_exceeded",
    "maxtimemsexpired",
    "timelimitexceeded",
    "etimedout",
];
const CANCEL_TYPES: &[&str] = &["cancel", "aborterror", "clientabort"];

/// Phrases in status descriptions and exception messages that tell of a timeout. Whole phrases:
/// the bare word stands in too many texts that tell of none.
const TIMEOUT_TEXTS: &[&str] = &[
    "deadline exceeded",
    "deadline_exceeded",
    "deadlineexceeded",
    "deadline has elapsed",
    "deadline was exceeded",
    "deadline expired",
    "timed out",
    "timed-out",
    "timeout exceeded",
    "timeout expired",
    "timeout elapsed",
    "timeout of ",
    "request timeout",
    "response timeout",
    "read timeout",
    "connect timeout",
    "i/o timeout",
    "statement timeout",
    "transaction timeout",
    "lock timeout",
    "rpc timeout",
    "reached timeout",
    "recorded a timeout",
    "exceeded request deadline",
    "gateway timeout",
    "did not observe any item or terminal signal within",
    "didn't complete within the allowed timeout",
    "httpclient.timeout",
    "maximum statement execution time exceeded",
];
const CANCEL_TEXTS: &[&str] = &[
    "context canceled",
    "context cancelled",
    "request canceled",
    "request cancelled",
    "operation was canceled",
    "operation was cancelled",
];

/// A database's own code for "took too long", with the system that it belongs to (any if empty).
const DB_TIMEOUT_CODES: &[(&str, &str)] = &[
    ("", "57014"), // PostgreSQL's, and of all that speak its protocol
    ("postgres", "55p03"),
    ("mysql", "3024"),
    ("mariadb", "1969"),
    ("mongo", "50"),
    ("mongo", "262"),
    ("mssql", "-2"),
    ("microsoft.sql_server", "-2"),
    ("cassandra", "0x1100"),
    ("cassandra", "0x1200"),
];

/// Of these, codes by which the server itself says that it stopped the statement and undid it.
const ROLLED_BACK_CODES: &[&str] = &["57014", "55p03", "3024", "1969"];

/// Words of `deadline.outcome` that tell of a deadline failure.
const FAILED_OUTCOMES: &[&str] = &[
    "expired_on_arrival",
    "expired_before_send",
    "exceeded_here",
    "exceeded_downstream",
    "timed_out_early",
    "deadline_exceeded",
];

/// True if a database said that it stopped this statement: then nothing of it stands.
pub(super) fn is_rolled_back(attributes: &Attributes) -> bool {
    db_code(attributes).is_some_and(|(_, code)| ROLLED_BACK_CODES.contains(&code.as_str()))
}

/// A database's name and what it says of how a statement ended, both in lower case.
fn db_code(attributes: &Attributes) -> Option<(String, String)> {
    let system = db_system(attributes)?;
    let code = first(attributes, DB_STATUS)?;
    Some((system.to_lowercase(), code.to_string().to_lowercase()))
}

/// Reads a span. `outcome` is its `deadline.outcome`, in lower case.
pub(super) fn of_span(span: &Span, outcome: Option<&str>) -> Evidence {
    let attributes = &span.attributes;
    let mut found = Evidence {
        error: span.status.code == StatusCode::Error,
        ..Evidence::default()
    };
    let mut succeeded = span.status.code == StatusCode::Ok;
    if let Some(code) = first(attributes, GRPC_STATUS).and_then(grpc_code) {
        found.deadline |= code == 4;
        found.cancelled |= code == 1;
        // A server's own faults are errors; a caller takes every refusal for one.
        found.error |= matches!(code, 2 | 4 | 12..=15) || (code != 0 && span.kind == Kind::Client);
        succeeded |= code == 0;
    }
    if let Some(code) = first(attributes, HTTP_STATUS).and_then(Value::as_int) {
        found.deadline |= matches!(code, 504 | 408);
        found.cancelled |= code == 499;
        found.error |= code >= 500 || (code >= 400 && code != 499 && span.kind == Kind::Client);
        succeeded |= (200..400).contains(&code);
    }
    if let Some(kind) = attributes.text("error.type") {
        found.error = true;
        found = found.and(of_type(kind));
    }
    if found.error {
        found = found.and(of_text(&span.status.message));
    }
    if found.failed() || !succeeded {
        for event in span.events.iter().filter(|event| event.name == "exception") {
            if let Some(kind) = event.attributes.text("exception.type") {
                found = found.and(of_type(kind));
            }
            if let Some(text) = event.attributes.text("exception.message") {
                found = found.and(of_text(text));
            }
        }
    }
    found = found.and(of_database(attributes, &span.status.message));
    if let Some(word) = outcome {
        found = found.and(of_outcome(word));
    }
    // A timeout often ends what it hits by cancelling it: then the timeout is the reason.
    found.cancelled &= !found.deadline;
    found.error |= found.deadline;
    found
}

/// Reads a `deadline.outcome`, in lower case.
pub(super) fn of_outcome(word: &str) -> Evidence {
    let deadline = FAILED_OUTCOMES.contains(&word);
    Evidence {
        deadline,
        cancelled: matches!(word, "cancelled_by_caller" | "cancelled" | "canceled"),
        error: deadline,
    }
}

fn first<'a>(attributes: &'a Attributes, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| attributes.get(key))
}

fn grpc_code(value: &Value) -> Option<i64> {
    const NAMES: [&str; 17] = [
        "ok",
        "cancelled",
        "unknown",
        "invalidargument",
        "deadlineexceeded",
        "notfound",
        "alreadyexists",
        "permissiondenied",
        "resourceexhausted",
        "failedprecondition",
        "aborted",
        "outofrange",
        "unimplemented",
        "internal",
        "unavailable",
        "dataloss",
        "unauthenticated",
    ];
    value.as_int().or_else(|| {
        let name = value.as_str()?.to_lowercase().replace(['_', '-', ' '], "");
        let name = if name == "canceled" {
            "cancelled"
        } else {
            name.as_str()
        };
        NAMES
            .iter()
            .position(|known| *known == name)
            .map(|code| code as i64)
    })
}

fn of_type(kind: &str) -> Evidence {
    let kind = kind.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    Evidence {
        deadline: has(TIMEOUT_TYPES),
        cancelled: has(CANCEL_TYPES),
        error: false,
    }
}

fn of_text(text: &str) -> Evidence {
    if text.is_empty() {
        return Evidence::default();
    }
    let text = text.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    Evidence {
        deadline: has(TIMEOUT_TEXTS),
        cancelled: has(CANCEL_TEXTS),
        error: false,
    }
}

fn of_database(attributes: &Attributes, message: &str) -> Evidence {
    let Some((system, code)) = db_code(attributes) else {
        return Evidence::default();
    };
    let known = DB_TIMEOUT_CODES
        .iter()
        .any(|(of, is)| *is == code && system.contains(of));
    // 57014 is also what a cancelled statement ends with.
    let by_user = message.to_lowercase().contains("user request");
    Evidence {
        deadline: known && !by_user,
        cancelled: known && by_user,
        error: known,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Event, Resource, SpanId, Status, TraceId, UnixNanos};

    fn span(kind: Kind, code: StatusCode, message: &str, pairs: &[(&str, Value)]) -> Span {
        Span {
            trace_id: TraceId([1; 16]),
            span_id: SpanId([1; 8]),
            name: "x".into(),
            kind,
            start: UnixNanos(0),
            end: UnixNanos(1),
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

    fn read(pairs: &[(&str, Value)]) -> (bool, bool, bool) {
        let found = of_span(&span(Kind::Client, StatusCode::Unset, "", pairs), None);
        (found.deadline, found.cancelled, found.error)
    }

    #[test]
    fn codes_tell_by_number_or_name() {
        let (deadline, cancelled, fine) = (
            (true, false, true),
            (false, true, true),
            (false, false, false),
        );
        assert_eq!(read(&[("rpc.grpc.status_code", Value::Int(4))]), deadline);
        assert_eq!(
            read(&[("rpc.response.status_code", text("DEADLINE_EXCEEDED"))]),
            deadline
        );
        assert_eq!(read(&[("grpc.code", text("DeadlineExceeded"))]), deadline);
        assert_eq!(read(&[("rpc.status_code", text("CANCELED"))]), cancelled);
        assert_eq!(read(&[("rpc.grpc.status_code", Value::Int(0))]), fine);
        assert_eq!(
            read(&[("http.response.status_code", Value::Int(504))]),
            deadline
        );
        assert_eq!(read(&[("http.status_code", text("408"))]), deadline);
        assert_eq!(
            read(&[("http.response.status_code", Value::Int(499))]),
            (false, true, false)
        );
        assert_eq!(
            read(&[("http.response.status_code", Value::Int(503))]),
            (false, false, true)
        );
        assert_eq!(
            read(&[("http.response.status_code", Value::Int(200))]),
            fine
        );
    }

    #[test]
    fn types_of_many_languages_tell() {
        for kind in [
            "timeout",
            "java.util.concurrent.TimeoutException",
            "context.deadlineExceededError",
            "System.TimeoutException",
            "ReadTimeout",
            "com.linecorp.armeria.client.ResponseTimeoutException",
            "ETIMEDOUT",
        ] {
            assert_eq!(
                read(&[("error.type", text(kind))]),
                (true, false, true),
                "{kind}"
            );
        }
        for kind in [
            "java.util.concurrent.CancellationException",
            "CancelledError",
            "AbortError",
        ] {
            assert_eq!(
                read(&[("error.type", text(kind))]),
                (false, true, true),
                "{kind}"
            );
        }
        assert_eq!(
            read(&[("error.type", text("connection_refused"))]),
            (false, false, true)
        );
    }

    #[test]
    fn texts_tell_only_where_something_failed() {
        let of = |code, message| of_span(&span(Kind::Server, code, message, &[]), None).deadline;
        assert!(of(StatusCode::Error, "timeout of 1000ms exceeded"));
        assert!(of(StatusCode::Error, "context deadline exceeded"));
        assert!(!of(StatusCode::Error, "bad value for --timeout"));
        assert!(!of(StatusCode::Unset, "context deadline exceeded"));
    }

    #[test]
    fn a_handled_exception_is_no_failure() {
        let exception = Event {
            name: "exception".into(),
            attributes: [("exception.type", text("TimeoutError"))]
                .into_iter()
                .collect(),
            ..Event::default()
        };
        let mut handled = span(
            Kind::Server,
            StatusCode::Unset,
            "",
            &[("http.response.status_code", Value::Int(200))],
        );
        handled.events.push(exception.clone());
        assert!(!of_span(&handled, None).deadline);
        let mut fatal = span(Kind::Server, StatusCode::Error, "", &[]);
        fatal.events.push(exception);
        assert!(of_span(&fatal, None).deadline);
    }

    #[test]
    fn database_codes_tell_with_their_system() {
        let pg = |message| {
            let pairs = [
                ("db.system.name", text("postgresql")),
                ("db.response.status_code", text("57014")),
            ];
            of_span(
                &span(Kind::Client, StatusCode::Error, message, &pairs),
                None,
            )
        };
        assert!(pg("canceling statement due to statement timeout").deadline);
        assert!(pg("").deadline);
        assert!(pg("canceling statement due to user request").cancelled);
        assert_eq!(
            read(&[("db.system", text("redis")), ("error.type", text("50"))]),
            (false, false, true)
        );
    }

    #[test]
    fn the_hops_own_word_counts() {
        let ok = span(Kind::Server, StatusCode::Unset, "", &[]);
        assert!(of_span(&ok, Some("exceeded_here")).deadline);
        assert!(of_span(&ok, Some("cancelled_by_caller")).cancelled);
        assert_eq!(of_span(&ok, Some("ok")), Evidence::default());
    }
}
