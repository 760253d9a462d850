//! What types, texts, events and attributes tell.

use super::*;

#[test]
fn types_of_many_languages_tell() {
    let cases = [
        (Reason::OwnDeadline, "timeout"),
        (Reason::OwnDeadline, "java.util.concurrent.TimeoutException"),
        (Reason::OwnDeadline, "context.deadlineExceededError"),
        (Reason::OwnDeadline, "System.TimeoutException"),
        (Reason::OwnDeadline, "some.module.TimeoutError"),
        (Reason::OwnDeadline, "elapsed::tokio::Elapsed"),
        (Reason::OwnDeadline, "com.shop.LedgerTimeoutException"),
        (Reason::DependencyTimeout, "ReadTimeout"),
        (Reason::DependencyTimeout, "aiohttp.client.ReadTimeout"),
        (Reason::DependencyTimeout, "java.net.SocketTimeoutException"),
        (
            Reason::DependencyTimeout,
            "org.apache.kafka.common.errors.TimeoutException",
        ),
        (Reason::DependencyTimeout, "ETIMEDOUT"),
        // It extends Java's CancellationException, and is a timeout.
        (
            Reason::OwnDeadline,
            "com.linecorp.armeria.client.ResponseTimeoutException",
        ),
    ];
    for key in ["error.type", "error.kind"] {
        for (reason, kind) in cases {
            let found = of(&span(
                Kind::Client,
                StatusCode::Unset,
                "",
                &[(key, text(kind))],
            ));
            assert_eq!(
                (flags(found), found.reason),
                (DEADLINE, Some(reason)),
                "{key} {kind}"
            );
        }
    }
    for kind in [
        "java.util.concurrent.CancellationException",
        "CancelledError",
        "AbortError",
        "com.shop.OrderCancelledException",
    ] {
        assert_eq!(client(&[("error.type", text(kind))]), CANCELLED, "{kind}");
    }
    for kind in [
        "connection_refused",
        "ConnectionResetError",
        "java.net.ConnectException",
    ] {
        assert_eq!(client(&[("error.type", text(kind))]), FAILED, "{kind}");
    }
    assert!(server(&[("error.type", text("ConnectionResetError"))]).cancelled);
}

#[test]
fn some_types_tell_with_their_text_only() {
    let dotnet = [(
        "error.type",
        text("System.Threading.Tasks.TaskCanceledException"),
    )];
    let set =
        "The request was canceled due to the configured HttpClient.Timeout of 5 seconds elapsing.";
    assert_eq!(flags(failed(set, &dotnet)), DEADLINE);
    assert_eq!(flags(failed("A task was canceled.", &dotnet)), CANCELLED);
    let go = [("error.type", text("*errors.errorString"))];
    assert_eq!(flags(failed("context canceled", &go)), CANCELLED);
    assert_eq!(flags(failed("no such row", &go)), FAILED);
    assert_eq!(flags(failed("redis timeout", &go)), DEADLINE);
    let refused = [("error.type", text("java.net.ConnectException"))];
    assert_eq!(flags(failed("Connection refused", &refused)), FAILED);
    assert_eq!(flags(failed("Connection timed out", &refused)), DEADLINE);
}

#[test]
fn some_cancellations_are_timeouts_and_the_other_way_round() {
    let cancelled = [("rpc.grpc.status_code", Value::Int(1))];
    assert_eq!(flags(failed("Timeout expired", &cancelled)), DEADLINE);
    assert_eq!(flags(failed("CANCELLED", &cancelled)), CANCELLED);
    let go = "Get \"http://h/\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)";
    assert_eq!(flags(failed(go, &[])), DEADLINE);
    let kitex = "rpc timeout: timeout=1s, to=a, method=B, context canceled by business";
    assert_eq!(flags(failed(kitex, &[])), CANCELLED);
    let marked = [
        ("grpc.canceled", Value::Bool(true)),
        ("rpc.grpc.status_code", Value::Int(4)),
    ];
    assert_eq!(flags(server(&marked)), DEADLINE);
}

#[test]
fn texts_tell_only_where_something_failed() {
    let of = |code, message| flags(of(&span(Kind::Server, code, message, &[])));
    assert_eq!(
        of(StatusCode::Error, "timeout of 1000ms exceeded"),
        DEADLINE
    );
    assert_eq!(of(StatusCode::Error, "context deadline exceeded"), DEADLINE);
    assert_eq!(of(StatusCode::Unset, "context deadline exceeded"), FINE);
    for real in [
        "rpc error: code = Unknown desc = request timed out",
        "invalid connection: read tcp: i/o timeout",
    ] {
        assert_eq!(of(StatusCode::Error, real), DEADLINE, "{real}");
    }
    for decoy in [
        "bad value for --timeout",
        "invalid request timeout",
        "unknown field lock_timeout",
        "the step after the timeout was skipped",
        "retimed outer ring",
    ] {
        assert_eq!(of(StatusCode::Error, decoy), FAILED, "{decoy}");
    }
}

#[test]
fn a_handled_exception_is_no_failure() {
    let mut handled = span(
        Kind::Server,
        StatusCode::Unset,
        "",
        &[("http.response.status_code", Value::Int(200))],
    );
    handled
        .events
        .push(exception(&[("exception.type", "TimeoutError")], 995));
    assert_eq!(flags(of(&handled)), FINE);
    handled.status.code = StatusCode::Error;
    assert_eq!(flags(of(&handled)), DEADLINE);
}

/// Some write an RPC status of 0 when they start, so that it proves nothing.
#[test]
fn attributes_and_events_that_say_just_this() {
    for key in [
        "reactor.canceled",
        "guava.canceled",
        "lettuce.command.cancelled",
    ] {
        assert_eq!(client(&[(key, Value::Bool(true))]), CANCELLED, "{key}");
        assert_eq!(client(&[(key, text("false"))]), FINE, "{key}");
    }
    assert!(server(&[("grpc.canceled", text("true"))]).cancelled);
    assert_eq!(
        client(&[("cancelled_by_deadline", Value::Int(1))]),
        DEADLINE
    );
    assert_eq!(
        client(&[("cancelled_by_deadline", Value::Bool(false))]),
        FINE
    );
    assert!(server(&[("servlet.timeout", Value::Int(30_000))]).deadline);
    for key in [
        "http.response.header.x-yataxi-deadline-expired",
        "http.response.header.x_yataxi_deadline_expired",
        "x-yataxi-deadline-expired",
    ] {
        let any = Value::Array(vec![text("sure")]);
        assert!(server(&[(key, any)]).deadline, "{key}");
    }
    for key in [
        "deadline.exceeded",
        "deadline_updated",
        "timeout",
        "lock_timeout",
    ] {
        assert_eq!(client(&[(key, Value::Bool(true))]), FINE, "{key}");
    }
    let mut fired = span(Kind::Client, StatusCode::Unset, "", &[]);
    fired.events.push(Event {
        name: "clnt/finagle_timeout_ms".into(),
        ..Event::default()
    });
    assert_eq!(flags(of(&fired)), DEADLINE);
}

/// Finagle's filter notes the rejection in its dark mode, too, and lets the request through.
#[test]
fn a_rejection_that_was_not_carried_out_is_none() {
    let rejected = ("srv/request_deadline_rejected", Value::Bool(true));
    assert_eq!(flags(server(std::slice::from_ref(&rejected))), FINE);
    let served = [rejected.clone(), ("http.status_code", Value::Int(200))];
    assert_eq!(flags(server(&served)), FINE);
    let refused = of(&span(Kind::Server, StatusCode::Error, "", &[rejected]));
    assert_eq!(
        (flags(refused), refused.reason),
        (DEADLINE, Some(Reason::ExpiredOnArrival))
    );
}

#[test]
fn texts_tell_who_gave_up() {
    for (reason, message) in [
        (
            Reason::ExpiredBeforeSend,
            "ClientCall started after CallOptions deadline was exceeded -6.390000000 seconds ago.",
        ),
        (
            Reason::ExpiredBeforeSend,
            "ClientCall started after deadline exceeded: -4.614s from now",
        ),
        (
            Reason::ExpiredOnArrival,
            "Exceeded request deadline by 12.milliseconds. Deadline expired at noon.",
        ),
        (
            Reason::OwnDeadline,
            "Deadline CallOptions was exceeded after 2.000000000s waiting for name_resolver",
        ),
        (
            Reason::OwnDeadline,
            "Did not observe any item or terminal signal within 2000ms in 'x'",
        ),
        (
            Reason::DependencyTimeout,
            "HTTPSConnectionPool(host='h', port=443): Read timed out. (read timeout=5)",
        ),
        (
            Reason::DependencyTimeout,
            "read tcp 10.0.0.1:80: i/o timeout",
        ),
    ] {
        let found = failed(message, &[]);
        assert_eq!(
            (flags(found), found.reason),
            (DEADLINE, Some(reason)),
            "{message}"
        );
    }
}

#[test]
fn the_hops_own_word_counts() {
    assert!(of_outcome("exceeded_here", 0).deadline);
    assert!(of_outcome("cancelled_by_caller", 0).cancelled);
    assert_eq!(of_outcome("ok", 0), Evidence::default());
    let both = of_outcome("cancelled", 0).and(of_outcome("timed_out_early", 0));
    assert_eq!(flags(both), DEADLINE);
}

/// Report 118.
#[test]
fn a_cancellation_alone_is_no_failure() {
    let both = of_outcome("cancelled", 0);
    assert!(!both.error && both.failed());
    let stopped = failed(
        "Cancelled on client",
        &[("rpc.grpc.status_code", Value::Int(1))],
    );
    assert_eq!(flags(stopped), CANCELLED);
    // An answer that is a failure stays one, whatever the type of the error.
    let answered = [
        ("http.response.status_code", Value::Int(500)),
        ("error.type", text("CancelledError")),
    ];
    assert_eq!(flags(server(&answered)), (false, true, true));
}
