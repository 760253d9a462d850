//! The built-in rules.

use super::{Convention, Field, Grammar, Place};

/// Prefixes under which instrumentations record request headers and RPC metadata. The empty one
/// is a proxy's custom tag, which bears the header's bare name.
pub(super) const HEADER_PREFIXES: &[&str] = &[
    "http.request.header.",
    "rpc.request.metadata.",
    "rpc.grpc.request.metadata.",
    "rpc.connect_rpc.request.metadata.",
    "rpc.request.headers.",
    "messaging.header.",
    "http.request.headers.",
    "grpc.request.metadata.",
    "grpc.metadata.",
    "",
];

const fn attribute(key: &'static str, field: Field, grammar: Grammar) -> Convention {
    Convention {
        key,
        place: Place::Attribute,
        inbound: field,
        outbound: field,
        grammar,
    }
}

const fn header(key: &'static str, grammar: Grammar) -> Convention {
    Convention {
        key,
        place: Place::Header,
        inbound: Field::RemainingIn,
        outbound: Field::RemainingOut,
        grammar,
    }
}

/// Every built-in rule.
pub(super) const TABLE: &[Convention] = &[
    // Dwindle's own attributes, those of per-hop budget telemetry.
    attribute(
        "deadline.remaining_in_ms",
        Field::RemainingIn,
        Grammar::Millis,
    ),
    attribute("deadline.local_ms", Field::Local, Grammar::Millis),
    attribute(
        "deadline.remaining_out_ms",
        Field::RemainingOut,
        Grammar::Millis,
    ),
    attribute("deadline.outcome", Field::Outcome, Grammar::Word),
    attribute("deadline.timeout_ms", Field::Timeout, Grammar::Millis),
    attribute("deadline.queue_ms", Field::Queue, Grammar::Millis),
    // Headers that teams use.
    header("x-deadline-remaining-ms", Grammar::Millis),
    header("x-team-deadline-ms", Grammar::Millis),
    header("x-request-budget-ms", Grammar::Millis),
    Convention {
        key: "x-deadline",
        place: Place::Header,
        inbound: Field::Deadline,
        outbound: Field::Deadline,
        grammar: Grammar::Instant,
    },
    // gRPC: the header itself, and Envoy's copy of it.
    header("grpc-timeout", Grammar::GrpcTimeout),
    Convention {
        key: "grpc.timeout",
        place: Place::Attribute,
        inbound: Field::RemainingIn,
        outbound: Field::RemainingOut,
        grammar: Grammar::GrpcTimeout,
    },
    // Retry markers: OpenTelemetry HTTP, gRPC A72, gRPC A6, Envoy.
    attribute("http.request.resend_count", Field::Resend, Grammar::Count),
    attribute("previous-rpc-attempts", Field::Resend, Grammar::Count),
    Convention {
        key: "grpc-previous-rpc-attempts",
        place: Place::Header,
        inbound: Field::Resend,
        outbound: Field::Resend,
        grammar: Grammar::Count,
    },
    Convention {
        key: "x-envoy-attempt-count",
        place: Place::Header,
        inbound: Field::Attempt,
        outbound: Field::Attempt,
        grammar: Grammar::Count,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_headers_are_normalised() {
        let mut keys: Vec<_> = TABLE.iter().map(|rule| rule.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), TABLE.len());
        for rule in TABLE.iter().filter(|rule| rule.place == Place::Header) {
            assert!(
                !rule.key.contains('_') && rule.key == rule.key.to_lowercase(),
                "{}",
                rule.key
            );
        }
    }
}
