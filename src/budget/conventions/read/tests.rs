use std::sync::Arc;

use super::super::{CustomRule, Place as Where};
use super::*;
use crate::model::{Scope, Status, StatusCode};

fn text(s: &str) -> Value {
    Value::Str(s.into())
}

fn read_with(rules: &Rules, span: &Span, side: Side) -> Facts {
    let mut facts = Facts::default();
    Place { rules, span, side }.read_span(&mut facts);
    facts
}

fn span(kind: Kind, pairs: &[(&str, Value)]) -> Span {
    Span {
        name: "x".into(),
        kind,
        attributes: pairs.iter().cloned().collect(),
        ..Span::default()
    }
}

fn facts(kind: Kind, pairs: &[(&str, Value)]) -> Facts {
    read_with(&Rules::builtin(), &span(kind, pairs), Side::of(kind, false))
}

fn failed(kind: Kind, message: &str) -> Facts {
    let span = Span {
        status: Status {
            code: StatusCode::Error,
            message: message.into(),
        },
        ..span(kind, &[])
    };
    read_with(&Rules::builtin(), &span, Side::of(kind, false))
}

/// The fields and milliseconds of readings.
fn times(readings: &[Reading]) -> Vec<(Field, f64)> {
    let ms = |reading: &Reading| reading.time.0 as f64 / 1e6;
    readings.iter().map(|r| (r.field, ms(r))).collect()
}

#[test]
fn a_response_header_is_never_a_budget() {
    let response = facts(
        Kind::Server,
        &[("http.response.header.grpc-timeout", text("1S"))],
    );
    assert!(response.is_empty());
}

#[test]
fn a_callers_header_is_what_it_sent() {
    let key = "rpc.grpc.request.metadata.grpc-timeout";
    let on = |kind| times(&facts(kind, &[(key, text("250m"))]).readings);
    assert_eq!(on(Kind::Client), [(Field::RemainingOut, 250.0)]);
    assert_eq!(on(Kind::Producer), [(Field::RemainingOut, 250.0)]);
    assert_eq!(on(Kind::Server), [(Field::RemainingIn, 250.0)]);
    assert_eq!(on(Kind::Consumer), [(Field::RemainingIn, 250.0)]);
    assert_eq!(on(Kind::Internal), [(Field::Timeout, 250.0)]);
    let root = span(Kind::Internal, &[(key, text("250m"))]);
    let root = read_with(&Rules::builtin(), &root, Side::Entry);
    assert_eq!(times(&root.readings), [(Field::RemainingIn, 250.0)]);
}

#[test]
fn the_strictest_of_several_values_counts_and_all_are_kept() {
    for both in [
        Value::Array(vec![Value::Int(300), text("200")]),
        text("[300, \"200\"]"),
    ] {
        let found = facts(
            Kind::Server,
            &[("http.request.header.x-request-budget-ms", both)],
        );
        assert_eq!(found.readings.len(), 2);
        let least = found.least(Field::RemainingIn).unwrap();
        assert_eq!(least.time, Nanos::from_millis(200));
    }
    let one = facts(Kind::Server, &[("grpc.timeout", text("[\"1S\"]"))]);
    assert_eq!(times(&one.readings), [(Field::RemainingIn, 1000.0)]);
}

#[test]
fn what_cannot_be_read_is_kept_apart_and_never_zero() {
    let found = facts(
        Kind::Server,
        &[
            ("deadline.remaining_in_ms", text("soon")),
            ("grpc.timeout", text("123456789m")),
        ],
    );
    assert!(found.readings.is_empty());
    assert_eq!(found.bad.len(), 2);
    assert_eq!(found.bad[0].raw, "soon");
    assert!(facts(Kind::Server, &[("deadline.timeout_ms", Value::Empty)]).is_empty());
    // A header with other uses is no bad deadline.
    let prefer = [("http.request.header.prefer", text("return=minimal"))];
    assert!(facts(Kind::Server, &prefer).is_empty());
}

#[test]
fn attempts_are_counted_from_either_end() {
    let resend = |pairs: &[(&str, Value)]| facts(Kind::Client, pairs).resend;
    assert_eq!(
        resend(&[("http.request.resend_count", Value::Int(2))]),
        Some(2)
    );
    assert_eq!(resend(&[("clnt/retry_attempt", Value::Int(1))]), Some(1));
    assert_eq!(resend(&[("celery.retries", Value::Int(3))]), Some(3));
    assert_eq!(resend(&[("retry.count", text("1"))]), Some(1));
    assert_eq!(resend(&[("x-envoy-attempt-count", text("3"))]), Some(2));
    assert_eq!(
        resend(&[("http.request.header.x-retry-attempty", text("1"))]),
        Some(1)
    );
    assert_eq!(resend(&[("transparent-retry", Value::Bool(true))]), Some(1));
    assert_eq!(
        resend(&[("transparent-retry", Value::Bool(false))]),
        Some(0)
    );
    let amazon = [(
        "http.request.header.amz-sdk-request",
        text("attempt=2; max=3"),
    )];
    assert_eq!(resend(&amazon), Some(1));
    assert_eq!(resend(&[("attempts", Value::Int(3))]), None);
    let both = [("attempts", Value::Int(3)), ("max_attempts", Value::Int(5))];
    assert_eq!(resend(&both), Some(2));
    let userver = Span {
        scope: Arc::new(Scope {
            name: "userver".into(),
            ..Scope::default()
        }),
        ..span(Kind::Client, &[("attempts", Value::Int(2))])
    };
    let found = read_with(&Rules::builtin(), &userver, Side::Outbound);
    assert_eq!(found.resend, Some(1));
}

#[test]
fn zero_is_no_timeout_where_its_system_says_so() {
    let none = [
        "x-envoy-upstream-rq-timeout-ms",
        "x-envoy-upstream-stream-duration-ms",
        "x-envoy-upstream-rq-per-try-timeout-ms",
    ];
    for key in none {
        assert!(facts(Kind::Client, &[(key, text("0"))]).is_empty(), "{key}");
    }
    let spent = [
        "context-ttl-ms",
        "pulse-timeout-ms",
        "propagated_timeout_ms",
    ];
    for key in spent {
        let found = facts(Kind::Client, &[(key, text("0"))]);
        assert_eq!(
            times(&found.readings),
            [(Field::RemainingOut, 0.0)],
            "{key}"
        );
    }
    let grpc = facts(Kind::Server, &[("grpc.timeout", text("0n"))]);
    assert_eq!(times(&grpc.readings), [(Field::RemainingIn, 0.0)]);
    let url = [("url.full", text("http://k/api?timeout=0s"))];
    assert!(facts(Kind::Client, &url).is_empty());
}

#[test]
fn finagle_speaks_of_the_side_that_its_key_names() {
    let on = |kind, key: &str| times(&facts(kind, &[(key, Value::Int(40))]).readings);
    let left = "request_deadline_remaining_ms";
    assert_eq!(on(Kind::Server, left), [(Field::RemainingIn, 40.0)]);
    assert_eq!(on(Kind::Client, left), [(Field::RemainingOut, 40.0)]);
    assert_eq!(
        on(Kind::Internal, &format!("srv/{left}")),
        [(Field::RemainingIn, 40.0)]
    );
    assert_eq!(
        on(Kind::Internal, &format!("clnt/{left}")),
        [(Field::RemainingOut, 40.0)]
    );
    let late = on(Kind::Server, "srv/request_deadline_exceeded_ms");
    assert_eq!(late, [(Field::RemainingIn, -40.0)]);
}

#[test]
fn a_key_that_is_too_common_needs_its_system_beside_it() {
    let at = text("2030-01-01T00:00:00Z");
    let pairs = [("deadline", at.clone()), ("timeout", text("1.5s"))];
    let alone = facts(Kind::Internal, &pairs);
    assert!(alone.readings.is_empty() && alone.bad.is_empty());
    let mut with_store = pairs.to_vec();
    with_store.push(("persistence.store", text("Shard")));
    let found = facts(Kind::Internal, &with_store);
    let fields: Vec<Field> = found.readings.iter().map(|r| r.field).collect();
    assert_eq!(fields, [Field::Deadline, Field::Left]);
    let message = [("expiration", text("5000"))];
    assert!(facts(Kind::Server, &message).readings.is_empty());
    let queue = [("messaging.header.expiration", text("5000"))];
    let consumed = facts(Kind::Consumer, &queue);
    assert_eq!(times(&consumed.readings), [(Field::Limit, 5000.0)]);
    // How long the message may live is not how long its sender waits.
    assert!(facts(Kind::Producer, &queue).readings.is_empty());
}

#[test]
fn a_limit_of_its_own_is_not_what_a_hop_was_told() {
    let limits = Value::Array(vec![Value::Int(300), Value::Int(240)]);
    let found = facts(Kind::Consumer, &[("celery.timelimit", limits)]);
    assert_eq!(
        times(&found.readings),
        [(Field::Limit, 300_000.0), (Field::Limit, 240_000.0)]
    );
    let least = found.least(Field::Limit).unwrap();
    assert_eq!(
        (least.time.0, shortened(&least.raw).as_str()),
        (240_000_000_000, "[300, 240]")
    );
}

#[test]
fn what_is_off_is_named_and_read_once_it_is_turned_on() {
    let pairs = [
        ("http.request.header.x-request-timeout", text("30s")),
        ("http.request.header.x-deadline-ms", text("250")),
        ("servlet.timeout", Value::Int(9)),
    ];
    let found = facts(Kind::Server, &pairs);
    assert!(found.readings.is_empty());
    let named: Vec<_> = found
        .unread
        .iter()
        .filter_map(|u| u.rule.as_deref())
        .collect();
    assert_eq!(
        named,
        [
            "hdr.x-request-timeout",
            "hdr.x-deadline-ms",
            "servlet.timeout"
        ]
    );
    let on = Rules::new(
        &[],
        &["hdr.x-request-timeout".into(), "hdr.x-deadline-ms".into()],
    );
    let found = read_with(&on.unwrap(), &span(Kind::Server, &pairs), Side::Inbound);
    assert_eq!(
        times(&found.readings),
        [(Field::RemainingIn, 30_000.0), (Field::RemainingIn, 250.0)]
    );
    assert_eq!(found.unread.len(), 1);
    // Without a unit even a rule that is on says nothing.
    let bare = [("http.request.header.x-request-timeout", text("30"))];
    let on = Rules::new(&[], &["hdr.x-request-timeout".into()]).unwrap();
    let found = read_with(&on, &span(Kind::Server, &bare), Side::Inbound);
    assert_eq!((found.readings.len(), found.bad.len()), (0, 1));
}

#[test]
fn a_key_that_looks_like_a_budget_is_named_if_its_value_could_be_one() {
    let unread = |key, value| facts(Kind::Server, &[(key, value)]).unread;
    assert_eq!(
        unread("myco.time_budget_ms", Value::Int(250)),
        [Unread {
            key: "myco.time_budget_ms".into(),
            rule: None
        }]
    );
    assert!(unread("myco.time_budget_ms", text("none")).is_empty());
    assert!(unread("pool.idle.timeout", Value::Int(9)).is_empty());
}

#[test]
fn an_own_rule_has_its_own_unit() {
    let rule = CustomRule {
        key: "X-Request-Timeout".into(),
        place: Where::Header,
        grammar: Grammar::Seconds,
        field: Field::Remaining,
    };
    let rules = Rules::new(&[rule], &[]).unwrap();
    let pairs = [("http.request.header.x_request_timeout", text("30"))];
    let found = read_with(&rules, &span(Kind::Server, &pairs), Side::Inbound);
    assert_eq!(times(&found.readings), [(Field::RemainingIn, 30_000.0)]);
    assert!(found.unread.is_empty());
}

#[test]
fn a_decoy_says_nothing() {
    let decoys = [
        ("db.postgresql.idle.timeout.millis", Value::Int(30_000)),
        ("messaging.gcp_pubsub.message.ack_deadline", Value::Int(60)),
        ("clnt/backup_request_threshold_ms", Value::Int(9)),
        ("http.request.header.x-request-budget", text("100")),
        ("http.request.header.x-envoy-max-retries", text("3")),
        ("lock_timeout", Value::Int(100)),
        ("lease.timeout", text("30s")),
        ("aws.sqs.visibility_timeout", Value::Int(30)),
        ("subscription.ack_deadline_s", Value::Int(30)),
        (
            "gen_ai.prompt",
            text("what does timeout of 5000ms exceeded mean?"),
        ),
        ("message", text("timeout of 5000ms exceeded")),
        (
            "http.url",
            text("https://shop/help?topic=timeout&timeout=30"),
        ),
        (
            "db.statement",
            text("select timeout, max_statement_time from settings"),
        ),
    ];
    for (key, value) in decoys {
        for kind in [Kind::Server, Kind::Client, Kind::Internal] {
            let found = facts(kind, &[(key, value.clone())]);
            assert!(found.is_empty(), "{key}: {found:?}");
        }
    }
    // Too common a word to be read; named, for it could be one.
    let tag = facts(Kind::Server, &[("timeout", text("12.3"))]);
    assert!(tag.readings.is_empty() && tag.bad.is_empty() && tag.unread.len() == 1);
    assert!(failed(Kind::Client, "bad value for --timeout 5000ms").is_empty());
}

#[test]
fn urls_and_statements_tell_what_they_ask_for() {
    let url = [("url.query", text("limit=5&timeout=1m30s"))];
    let asked = facts(Kind::Client, &url);
    assert_eq!(times(&asked.readings), [(Field::RemainingOut, 90_000.0)]);
    let reading = &asked.readings[0];
    assert_eq!(
        (reading.key.as_str(), shortened(&reading.raw).as_str()),
        ("url.query", "timeout=1m30s")
    );
    assert_eq!(
        times(&facts(Kind::Server, &url).readings),
        [(Field::RemainingIn, 90_000.0)]
    );
    let watch = [(
        "http.target",
        text("/api/v1/pods?watch=1&timeoutSeconds=481"),
    )];
    assert_eq!(
        times(&facts(Kind::Client, &watch).readings),
        [(Field::Timeout, 481_000.0)]
    );
    assert!(facts(Kind::Server, &watch).is_empty());
    let statements = [
        ("SELECT /*+ MAX_EXECUTION_TIME(1000) */ * FROM t", 1000.0),
        ("SET STATEMENT max_statement_time=1.5 FOR SELECT 1", 1500.0),
        ("{\"find\":\"c\",\"maxTimeMS\":500}", 500.0),
    ];
    for (statement, ms) in statements {
        for key in ["db.query.text", "db.statement"] {
            let found = facts(Kind::Client, &[(key, text(statement))]);
            assert_eq!(
                times(&found.readings),
                [(Field::Timeout, ms)],
                "{statement}"
            );
        }
    }
}

#[test]
fn a_setting_of_a_connection_bounds_what_follows_it() {
    use Field::{Session, Timeout};
    let statements: [(&str, &[(Field, f64)]); 6] = [
        ("SET LOCAL statement_timeout = '500ms'", &[(Session, 500.0)]),
        ("SET statement_timeout TO 3000;", &[(Session, 3000.0)]),
        (
            "set session statement_timeout = '2min'",
            &[(Session, 120_000.0)],
        ),
        ("SET statement_timeout = 0", &[(Session, 0.0)]),
        (
            "SET statement_timeout = '1s'; SELECT 1",
            &[(Session, 1000.0), (Timeout, 1000.0)],
        ),
        (
            "BEGIN; SET statement_timeout = 0; SELECT 1",
            &[(Session, 0.0)],
        ),
    ];
    for (statement, found) in statements {
        let read = facts(Kind::Client, &[("db.statement", text(statement))]);
        assert_eq!(times(&read.readings), found, "{statement}");
        assert!(facts(Kind::Server, &[("db.statement", text(statement))]).is_empty());
    }
}

#[test]
fn a_number_in_an_error_is_the_calls() {
    use Field::{Limit, PerTry, RemainingIn, RemainingOut, Timeout};
    let texts = [
        ("timeout of 5000ms exceeded", Timeout, 5000.0),
        ("Read timed out. (read timeout=5)", Timeout, 5000.0),
        (
            "The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing.",
            Timeout,
            100_000.0,
        ),
        (
            "The operation didn't complete within the allowed timeout of '00:00:30'.",
            Timeout,
            30_000.0,
        ),
        (
            "Did not observe any item or terminal signal within 2000ms in 'x'",
            Timeout,
            2000.0,
        ),
        (
            "exceeded 1.minutes+30.seconds to a while waiting for a response for the request",
            Timeout,
            90_000.0,
        ),
        (
            "exceeded 200.milliseconds to a while waiting for a response for an individual request",
            PerTry,
            200.0,
        ),
        ("Command timed out after 1 minute(s)", Timeout, 60_000.0),
        ("Query timed out after PT2S", Timeout, 2000.0),
        (
            "rpc timeout: timeout=1m0s, to=svc, method=M",
            Timeout,
            60_000.0,
        ),
        ("Reached timeout=500ms @10.0.0.1:8000", Timeout, 500.0),
        (
            "Ask timed out on [Actor[akka://x/user/a#1]] after [5000 ms].",
            Timeout,
            5000.0,
        ),
        (
            "Expiring 1 record(s) for t-0:120004 ms has passed since batch creation",
            Timeout,
            120_004.0,
        ),
        (
            "timed out processing response stream: response stream timeout: 1.5s",
            Timeout,
            1500.0,
        ),
        (
            "deadline exceeded after 0.399980582s. [buffered_nanos=1]",
            RemainingOut,
            399.980_582,
        ),
        (
            "deadline exceeded after 969455382ns",
            RemainingOut,
            969.455_382,
        ),
        (
            "ClientCall started after deadline exceeded: -4.614s from now",
            RemainingOut,
            -4614.0,
        ),
        (
            "4 DEADLINE_EXCEEDED: Deadline exceeded after 1.002s,name resolution: 0.004s",
            RemainingOut,
            1002.0,
        ),
    ];
    for (message, field, ms) in texts {
        let on_call = failed(Kind::Client, message);
        assert_eq!(times(&on_call.readings), [(field, ms)], "{message}");
        assert_eq!(on_call.readings[0].key, "status.message");
        // On the side that handles a request the text came up from a call.
        let above = failed(Kind::Server, message);
        assert!(above.readings.is_empty(), "{message}");
        assert_eq!(times(&above.of_calls), [(field, ms)], "{message}");
    }
    let late = "Exceeded request deadline by 12.milliseconds. Deadline expired at x";
    assert_eq!(
        times(&failed(Kind::Server, late).readings),
        [(RemainingIn, -12.0)]
    );
    assert!(failed(Kind::Client, late).is_empty());
    let lambda = "2020-06-09 7c95 Task timed out after 3.00 seconds";
    assert_eq!(
        times(&failed(Kind::Server, lambda).readings),
        [(Limit, 3000.0)]
    );
    let idle = "timed out processing response stream: idle timeout: 5s";
    assert!(failed(Kind::Client, idle).is_empty());
}

#[test]
fn grpc_for_java_tells_whose_deadline_it_was() {
    let inherited = failed(
        Kind::Client,
        "Context deadline exceeded after 1.999956300s. [closed=[]]",
    );
    assert_eq!(
        times(&inherited.readings),
        [(Field::RemainingOut, 1999.9563), (Field::Left, 1999.9563)]
    );
    assert_eq!(
        shortened(&inherited.readings[0].raw),
        "Context deadline exceeded after 1.999956300s"
    );
    let late =
        "ClientCall started after CallOptions deadline was exceeded -6.390000000 seconds ago.";
    assert_eq!(
        times(&failed(Kind::Client, late).readings),
        [(Field::RemainingOut, -6390.0), (Field::Timeout, -6390.0)]
    );
    let waiting = "ClientCall started after Context deadline was exceeded. Deadline has been exceeded for 0.100000000s waiting for subchannel";
    assert_eq!(
        failed(Kind::Client, waiting).readings[0].time,
        Nanos::from_millis(-100)
    );
}

#[test]
fn an_exception_or_a_log_record_tells_it_too() {
    let rules = Rules::builtin();
    let span = span(Kind::Client, &[]);
    let place = Place {
        rules: &rules,
        span: &span,
        side: Side::Outbound,
    };
    let attributes: Attributes = [("exception.message", text("timeout of 5000ms exceeded"))]
        .into_iter()
        .collect();
    let mut facts = Facts::default();
    place.read_record(&attributes, &mut facts);
    place.read_body("Error: timeout of 700ms exceeded", &mut facts);
    let found: Vec<(&str, &str)> = facts
        .readings
        .iter()
        .map(|r| (r.key.as_str(), r.raw.as_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ("exception.message", "timeout of 5000ms exceeded"),
            ("log.body", "timeout of 700ms exceeded")
        ]
    );
}

#[test]
fn a_number_in_a_text_yields_to_a_key_and_outdoes_an_ad_hoc_one() {
    let mut one = span(Kind::Client, &[("x-timeout-ms", text("2000"))]);
    one.status.message = "deadline exceeded after 1.500000000s".into();
    let least = |span: &Span| {
        let facts = read_with(&Rules::builtin(), span, Side::Outbound);
        facts.least(Field::RemainingOut).map(|r| r.time)
    };
    assert_eq!(least(&one), Some(Nanos::from_millis(1500)));
    one.attributes.0.push(("grpc.timeout".into(), text("3S")));
    assert_eq!(least(&one), Some(Nanos::from_millis(2000)));
}

#[test]
fn a_text_of_any_length_is_read_up_to_a_bound() {
    let long = format!("{}timeout of 5000ms exceeded", "é".repeat(20_000));
    assert!(failed(Kind::Client, &long).is_empty());
    let short = format!("{}timeout of 5000ms exceeded", "é ".repeat(2_000));
    assert_eq!(failed(Kind::Client, &short).readings.len(), 1);
}
