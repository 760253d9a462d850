//! What a program can put on its spans, and how it does so in each language.

/// An attribute that Dwindle reads and a program can emit.
#[derive(Debug)]
pub(super) struct Emitted {
    pub(super) key: &'static str,
    pub(super) on: &'static str,
    pub(super) words: &'static str,
}

/// The attributes of one's own, those that tell the most first.
pub(super) const ATTRIBUTES: &[Emitted] = &[
    Emitted {
        key: "deadline.remaining_in_ms",
        on: "a hop's entry span",
        words: "what was left when the request arrived, in milliseconds; negative when late. Alone it already makes the waterfall.",
    },
    Emitted {
        key: "deadline.remaining_out_ms",
        on: "a CLIENT span",
        words: "what was passed on with this call. Without it the callee's remaining_in stands for it.",
    },
    Emitted {
        key: "deadline.timeout_ms",
        on: "a root or CLIENT span",
        words: "how long the caller chose to wait for this call.",
    },
    Emitted {
        key: "deadline.local_ms",
        on: "a hop's entry span",
        words: "time that the hop spent itself, if it measures that; it is compared with what the spans say.",
    },
    Emitted {
        key: "deadline.queue_ms",
        on: "a hop's entry span",
        words: "how long the request waited before work on it began.",
    },
    Emitted {
        key: "deadline.outcome",
        on: "a hop's entry span",
        words: "how the hop itself saw it end: a verdict's word, such as expired_on_arrival.",
    },
];

/// How a language's SDK says it.
#[derive(Debug)]
pub(super) struct Sdk {
    pub(super) language: &'static str,
    pub(super) words: &'static str,
    pub(super) code: &'static str,
}

/// One for each SDK, by name.
pub(super) const SDKS: &[Sdk] = &[
    Sdk {
        language: "Go",
        words: "The context's deadline is on both sides of gRPC and of anything that takes a context.",
        code: "\
if d, ok := ctx.Deadline(); ok {
    trace.SpanFromContext(ctx).SetAttributes(
        attribute.Int64(\"deadline.remaining_in_ms\", time.Until(d).Milliseconds()))
}",
    },
    Sdk {
        language: "Java",
        words: "In a gRPC server, from an interceptor behind the one of OpenTelemetry.",
        code: "\
Deadline deadline = io.grpc.Context.current().getDeadline();
if (deadline != null) {
    Span.current().setAttribute(\"deadline.remaining_in_ms\",
        deadline.timeRemaining(TimeUnit.MILLISECONDS));
}",
    },
    Sdk {
        language: "Node.js",
        words: "With @grpc/grpc-js, where the deadline of a call without one is Infinity.",
        code: "\
const left = Number(call.getDeadline()) - Date.now();
if (Number.isFinite(left)) {
  trace.getActiveSpan()?.setAttribute('deadline.remaining_in_ms', Math.round(left));
}",
    },
    Sdk {
        language: "Python",
        words: "In a servicer of grpcio; without a deadline time_remaining() is None.",
        code: "\
left = context.time_remaining()
if left is not None:
    trace.get_current_span().set_attribute('deadline.remaining_in_ms', round(left * 1000))",
    },
    Sdk {
        language: "Rust",
        words: "With an instant of your own that the request carries, such as tonic's parsed grpc-timeout.",
        code: "\
let left = deadline.saturating_duration_since(Instant::now());
let millis = i64::try_from(left.as_millis()).unwrap_or(i64::MAX);
Context::current()
    .span()
    .set_attribute(KeyValue::new(\"deadline.remaining_in_ms\", millis));",
    },
];

/// A key and what it does, for the table of keys.
pub(super) const KEYS: &[(&str, &[&str], &str)] = &[
    ("everywhere", &["?"], "this table"),
    (
        "everywhere",
        &["g", "o"],
        "go to the overview; r requests, s services, m map, f findings, c coverage, h help",
    ),
    ("everywhere", &["p"], "pause the refresh, and go on"),
    (
        "everywhere",
        &["/"],
        "find on the page; where there is nothing to find, the search field",
    ),
    ("overview", &["c"], "the top culprit"),
    ("overview", &["w"], "the worst miss"),
    ("list", &["j", "k"], "next, previous row"),
    ("list", &["Enter"], "open the request"),
    ("list", &["f"], "the filter"),
    ("list", &["n"], "next page"),
    (
        "list",
        &["1", "9"],
        "sort by the first, …, ninth column; again: the other way round",
    ),
    ("request", &["j", "k"], "next, previous hop"),
    ("request", &["Enter"], "open the row"),
    (
        "request",
        &["\u{2192}", "\u{2190}"],
        "unfold, fold or go to the caller",
    ),
    ("request", &["c"], "go to the culprit"),
    ("request", &["s"], "go to where the error surfaced"),
    ("request", &["+", "\u{2212}"], "zoom in, out"),
    ("request", &["0"], "the whole time again"),
    ("request", &["d"], "zoom to a tenth around the deadline"),
    ("request", &["a"], "raw or aligned clocks"),
    (
        "request",
        &["[", "]"],
        "the request before, after in the list, of the same outcome",
    ),
    ("request", &["y"], "copy the JSON"),
];

/// A word and its meaning, after the semantics that every number follows.
pub(super) const GLOSSARY: &[(&str, &str)] = &[
    (
        "deadline",
        "the instant after which nobody waits for the answer",
    ),
    (
        "budget, left",
        "time until the deadline; negative when late, unknown when nobody said, never 0 for unknown",
    ),
    (
        "timeout",
        "how long one caller chose to wait for one call; not a deadline",
    ),
    (
        "request",
        "one root of a trace and all that the root waits for",
    ),
    ("hop", "one service handling one inbound request"),
    ("call", "one outbound attempt of a hop"),
    (
        "dependency",
        "the far side of a call that left no spans: a database, a third party",
    ),
    (
        "own time, local",
        "what a hop spent itself, not waiting for a call",
    ),
    (
        "transit",
        "between a call\u{2019}s start and the callee\u{2019}s arrival, or the answer and the call\u{2019}s end",
    ),
    (
        "reserve",
        "what a hop keeps back to answer after its last call",
    ),
    (
        "min useful",
        "the budget under which nothing can succeed; 20 ms unless configured",
    ),
    (
        "typical",
        "the median of 20 or more successful runs of the same hop or call within the last day",
    ),
    ("excess", "what was taken beyond typical"),
    (
        "held the clock",
        "what the request waited for at that instant: one owner at a time",
    ),
    ("culprit", "who held the clock for the most of the budget"),
    (
        "surfaced",
        "where the error came to light, as opposed to where the time went",
    ),
    (
        "wasted",
        "run time after the deadline, or after the caller had left",
    ),
    (
        "slots",
        "wasted time per time: how many workers on average were busy for nobody",
    ),
    (
        "passed on",
        "the callee was told the deadline, by a header, metadata or its own telemetry",
    ),
    ("reset", "the callee was told more than its caller had left"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Rules;

    #[test]
    fn every_attribute_that_is_advised_is_read() {
        let rules = Rules::listed();
        for one in ATTRIBUTES {
            let read = rules
                .iter()
                .any(|rule| rule.on && rule.keys.contains(&one.key));
            assert!(read, "{}", one.key);
        }
        for sdk in SDKS {
            assert!(
                ATTRIBUTES.iter().any(|one| sdk.code.contains(one.key)),
                "{}",
                sdk.language
            );
        }
    }
}
