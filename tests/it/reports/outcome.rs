//! Timeouts and cancellations.

use super::check;

/// Report 113: a proxy's timeout is 504 and a flag on the caller's span, and a status of 0 and
/// another flag on the callee's: one timeout.
#[test]
fn a_proxys_timeout_and_its_callees_disconnect_are_one_failure() {
    let spans = "
        a - edge S 0..1003 http=504
        c a edge C 1..1001 http=504 response_flags=UT err
        b c be S 2..1000 http=0 response_flags=DC";
    let has = "
        edge: missed of none
        edge: surfaced at edge
        edge exceeded_downstream
        edge because dependency_timeout
        edge says http.response.status_code 504
        edge > be 1/1 hop exceeded_downstream
        be cancelled_by_caller
        be because caller_deadline
        be says response_flags DC";
    check(spans, has, &["be failed", "be exceeded"]);
}

/// Report 115: which word a callee uses for its caller's deadline is a matter of a race.
#[test]
fn both_words_on_one_call_are_one_deadline() {
    for (client, server) in [(4, 1), (4, 4), (1, 4)] {
        let spans = format!(
            "a - edge S 0..1000 http=504
            c a edge C 1..998 grpc={client} err out=997
            b c be S 2..997 grpc={server} in=997"
        );
        let has = "
            edge: missed of none
            edge exceeded_downstream
            edge > be 1/1 hop exceeded_downstream";
        check(&spans, has, &["edge > be 1/1 hop cancelled", "be failed"]);
    }
    // Some clients say "cancelled" when their own timer fired.
    let old_client = "
        a - edge S 0..505 http=500
        c a edge C 1..501 grpc=1 err timeout=500 peer=x";
    let has = "
        edge: missed of none
        edge exceeded_downstream
        edge because dependency_timeout
        edge > x 1/1 unreported exceeded_here";
    check(old_client, has, &[]);
    let root = "c - app C 0..500.5 grpc=1 err timeout=500 peer=x";
    check(
        root,
        "app: missed of 500\napp exceeded_downstream\napp because own_deadline",
        &[],
    );
    check(
        &root.replace("500.5", "300"),
        "app: cancelled of 500\napp because ambiguous",
        &[],
    );
}

/// Report 115: whose deadline it was that a cancelled callee met.
#[test]
fn a_cancelled_callee_is_told_why() {
    let with = |client: &str, server: &str| {
        format!(
            "a - edge S 0..1010
            c a edge C 1..1000 {client}
            b c be S 2..999 {server}"
        )
    };
    for (client, server, reason) in [
        ("grpc=4 err", "grpc=1", "caller_deadline"),
        ("grpc=1 err", "grpc=1", "caller_gone"),
        ("grpc=1 err timeout=999", "grpc=1", "caller_deadline"),
        ("", "grpc=1", "caller_gone"),
        ("grpc=1 err", "grpc=1 in=998", "own_deadline"),
        ("grpc=4 err", "error.type=CancelledError", "caller_deadline"),
    ] {
        check(&with(client, server), &format!("be because {reason}"), &[]);
    }
    check("b - be S 2..999 grpc=1", "be because caller_gone", &[]);
}

/// A server that was cancelled inside and could still answer was not left by its caller.
#[test]
fn a_caller_that_got_its_answer_did_not_leave() {
    let spans = "
        a - edge S 0..100 in=1000
        c a edge C 1..90 http=500 err
        b c be S 2..80 http=500 err error.type=CancelledError";
    check(spans, "be failed", &[]);
    check(
        &spans.replace("C 1..90 http=500", "C 1..70 grpc=1"),
        "be cancelled_by_caller",
        &[],
    );
}

/// Report 116: a callee that fails long before its own limit fails by the deadline it inherited,
/// and what spent that is what came before the call.
#[test]
fn an_inherited_deadline_is_charged_to_what_spent_it() {
    let spans = "
        r - a C 0..1500 grpc=4 err timeout=1500
        b r b S 1..1502 grpc=4 in=1499
        d b b:query C 10..1210 db.system.name=mysql db.namespace=shop
        c b b C 1220..1501 grpc=4 err timeout=3000
        e c c S 1221..1501.5 grpc=1";
    let has = "
        a: missed of 1500
        a: culprit b dependency > mysql shop 1200
        b exceeded_downstream
        b because own_deadline
        c because caller_deadline
        c cancelled_by_caller
        ! inverted_timeout b > c timeout_ms:3000.0 left_ms:280.0 count:1";
    check(spans, has, &["c exceeded", "c failed"]);
}

/// Report 118: a cancellation is a class of its own.
#[test]
fn a_cancellation_is_neither_a_failure_nor_a_timeout() {
    for word in ["grpc=1", "http=499", "grpc.canceled=true"] {
        check(
            &format!("a - edge S 0..50 in=1000 {word}"),
            "edge: cancelled of 1000\nedge cancelled_by_caller\nedge because caller_gone",
            &[],
        );
    }
    // A call that its hop took back, having what it wanted.
    let spans = "
        a - edge S 0..100 in=1000
        c a edge C 10..50 grpc=1 err out=990 peer=x";
    let has = "
        edge: met of 1000
        edge > x 1/1 unreported cancelled_by_caller
        edge because nothing";
    check(spans, has, &["! noncritical_full_budget"]);
}

/// Report 119: a timeout says nothing of what the far side did; see also
/// `a_write_is_ambiguous_where_its_end_is_unknown_or_good`.
#[test]
fn a_write_that_timed_out_may_have_happened() {
    let spans = "
        a - edge S 0..1000 http=504
        c a edge C 10..990 http=504 err method=POST
        b c be S 20..980 method=POST";
    check(
        spans,
        "! ambiguous_write edge > be gave_up_ms:990.0 finished_ms:980.0 method:POST count:1",
        &[],
    );
}

/// Report 121: no answer is neither success nor a timeout.
#[test]
fn a_call_without_an_answer_failed() {
    let spans = "
        a - edge S 0..100 in=1000 http=502
        c a edge C 10..90 http=0 err=connection_refused peer=x";
    let has = "
        edge: failed of 1000
        edge > x 1/1 dependency failed";
    check(spans, has, &[]);
    check(&spans.replace("http=0 ", ""), has, &[]);
}

/// Nothing was left: the words are believed where no number speaks against them.
#[test]
fn what_says_that_it_expired_is_believed_without_numbers() {
    check(
        "a - edge S 0..1 http=498",
        "edge: missed of none\nedge expired_on_arrival\nedge because expired_on_arrival",
        &[],
    );
    check(
        "a - edge S 0..400 http=498 in=400",
        "edge exceeded_here",
        &[],
    );
    let unsent = "
        a - edge S 0..20 http=500
        c a edge C 10..11 rpc.system=grpc grpc=4 peer=x err=ClientCall_started_after_CallOptions_deadline_was_exceeded_-6.390000000_seconds_ago";
    check(unsent, "edge > x 1/1 unreported expired_before_send", &[]);
}

/// A 503 is a timeout if it came when the deadline did.
#[test]
fn a_503_at_the_deadline_is_a_timeout() {
    check(
        "a - edge S 0..1001 http=503 in=1000",
        "edge: missed of 1000\nedge exceeded_here",
        &[],
    );
    check(
        "a - edge S 0..900 http=503 in=1000",
        "edge: failed of 1000\nedge failed",
        &[],
    );
    check(
        "a - edge S 0..1001 http=503 response_flags=UO in=1000",
        "edge: failed of 1000",
        &[],
    );
}

/// Who gave up is told, and by what that is known.
#[test]
fn a_timeout_that_is_passed_on_is_the_dependencys() {
    let spans = "
        a - edge S 0..400 grpc=4
        c a edge C 10..395 grpc=4 err peer=x";
    check(
        spans,
        "edge because dependency_timeout\nedge says rpc.grpc.status_code 4",
        &[],
    );
    check(
        &spans.replace("S 0..400", "S 0..450"),
        "edge because own_deadline",
        &[],
    );
    check(
        &spans.replace("S 0..400 ", "S 0..400 in=400 "),
        "edge because own_deadline",
        &[],
    );
    check(
        "a - edge S 0..900 in=500",
        "edge finished_late\nedge because nothing\nedge says nothing",
        &[],
    );
    check(
        "a - edge S 0..900 in=500 err=no_such_row",
        "edge because own_deadline\nedge says nothing",
        &[],
    );
}
