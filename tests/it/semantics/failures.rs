//! Sections 5 and 6: verdicts, outcomes, where a failure surfaced, where the time went.

use super::check;

#[test]
fn comparisons_have_two_milliseconds_of_tolerance() {
    check("a - edge S 0..102 in=100", "edge: met of 100\nedge ok", &[]);
    check(
        "a - edge S 0..102.5 in=100",
        "edge: missed of 100\nedge finished_late",
        &[],
    );
}

#[test]
fn the_first_verdict_that_holds_counts() {
    check(
        "a - edge S 0..90 in=100 http=500",
        "edge: failed of 100\nedge failed",
        &[],
    );
    check(
        "a - edge S 0..90 in=15 http=500",
        "edge: missed of 15\nedge expired_on_arrival",
        &[],
    );
    check(
        "a - edge S 0..90 in=110 http=504",
        "edge timed_out_early",
        &[],
    );
    check(
        "a - edge S 0..91 in=110 http=504",
        "edge exceeded_here",
        &[],
    );
    check(
        "a - edge S 0..90 http=504",
        "edge: missed of none\nedge exceeded_here",
        &[],
    );
    check(
        "a - edge S 0..90 http=499",
        "edge: cancelled of none\nedge cancelled_by_caller",
        &[],
    );
    check("a - edge S 0..90", "edge: no_budget of none\nedge ok", &[]);
}

#[test]
fn cancelled_before_its_own_deadline_is_cancelled_by_the_caller() {
    let spans = "
        a - edge S 0..1003 in=1000 grpc=4
        c a edge C 5..1000 grpc=4 err out=5000
        b c be S 6..1005 in=5000 grpc=1";
    let has = "
        edge exceeded_downstream
        be cancelled_by_caller
        be deadline 1000 by edge
        be wasted 5
        edge: surfaced at edge";
    check(spans, has, &[]);
    let propagated = spans.replace("5000", "994");
    check(&propagated, "be exceeded_here", &[]);
}

#[test]
fn an_error_right_after_a_calls_timeout_is_that_timeout() {
    let spans = "
        a - edge S 0..400 in=1000 http=500
        c a edge C 10..390 peer=x grpc=4 err";
    check(spans, "edge: missed of 1000\nedge timed_out_early", &[]);
    check(
        &spans.replace("0..400", "0..401"),
        "edge: failed of 1000\nedge failed",
        &[],
    );
    let of_the_callee = "
        a - edge S 0..400 in=1000 http=500
        c a edge C 10..391 grpc=14 err
        b c be S 11..390 grpc=4";
    check(
        of_the_callee,
        "edge timed_out_early\nedge: surfaced at be",
        &[],
    );
    let of_the_span_around = "
        a - edge S 0..1003 in=5000 http=500
        s a edge:Sent C 0..1000 grpc=4 err
        t s edge:Attempt C 0..300 grpc=14 err
        u s edge:Attempt C 500..600 grpc=14 err";
    check(
        of_the_span_around,
        "edge: missed of 5000\nedge timed_out_early",
        &[],
    );
}

#[test]
fn a_call_that_began_with_nothing_left_says_so() {
    let spans = "
        a - edge S 0..200 in=100 http=504
        c a edge C 98..190 peer=db
        d a edge C 90..95 peer=kv";
    let has = "
        edge > db 1/1 dependency expired_before_send
        edge > kv 1/1 dependency ok
        ! started_expired edge > db left_ms:2.0 min_useful_ms:20.0 count:1
        ! started_expired edge > kv left_ms:10.0 min_useful_ms:20.0 count:1
        ! worked_after_deadline edge > db after_ms:90.0 count:1";
    check(spans, has, &["! worked_after_deadline edge > kv"]);
}

#[test]
fn a_failure_does_not_surface_where_nobody_waited() {
    let spans = "
        a - edge S 0..100 in=1000 http=500
        c a edge C 10..400
        b c audit S 11..390 http=500";
    check(
        spans,
        "edge: failed of 1000\nedge: surfaced at edge\naudit failed",
        &[],
    );
}

#[test]
fn a_callee_that_begins_after_its_call_leaves_all_of_it_to_the_way_out() {
    let spans = "
        a - edge S 0..500 in=1000 http=504
        c a edge C 10..498 timeout=488 grpc=4 err
        b c be S 600..700";
    let has = "
        row edge local 12
        row edge transit_out > be 488
        edge: culprit edge transit_out > be 488
        be in -102 inherited
        be expired_on_arrival
        be wasted 100
        edge: wasted 100";
    check(spans, has, &["row be"]);
}

#[test]
fn a_call_that_outlives_a_hop_was_waited_for_if_that_failed_by_deadline() {
    let spans = "
        a - edge S 0..300 in=250 http=504
        c a edge C 10..400 grpc=1
        b c be S 11..390";
    let has = "
        edge > be 1/1 waited true
        row edge local 10
        row edge transit_out > be 1
        row be local 289
        edge: culprit be local 239
        be wasted 140";
    check(spans, has, &[]);
    let other = spans.replace("in=250 http=504", "in=900 http=500");
    check(
        &other,
        "edge > be 1/1 waited false\nrow edge local 300",
        &["row be"],
    );
}

#[test]
fn of_equal_shares_the_first_on_the_path_is_the_culprit() {
    let spans = "
        a - edge S 0..600 in=500 http=504
        c a y S 250..500
        b a x S 0..250";
    let has = "
        edge: culprit x local 250
        edge exceeded_downstream
        row edge local 100";
    check(spans, has, &[]);
    let no_budget = "
        a - edge S 0..100
        c a edge C 10..90 peer=db";
    check(no_budget, "edge: culprit edge dependency > db 80", &[]);
}

#[test]
fn a_text_tells_of_a_timeout_wherever_it_stands() {
    let status = "a - fn S 0..3010 err=Task_timed_out_after_3.00_seconds";
    let log = "a - fn S 0..3010 err log=Task_timed_out_after_3.00_seconds@3010";
    let has = "
        fn: missed of 3000
        fn exceeded_here
        fn because own_deadline";
    check(status, has, &[]);
    let said = "fn says log.body Task timed out after 3.00 seconds";
    check(log, &format!("{has}\n{said}"), &[]);
    // Read away, and got over: neither what it waited nor that it waited.
    let early = log.replace("@3010", "@2000");
    check(&early, "fn because own_deadline\nfn says nothing", &[]);
    let well = "a - fn S 0..3010 http=200 log=timeout_of_500ms_exceeded@3005";
    check(well, "fn: no_budget of none\nfn says nothing", &[]);
    // One that failed for another reason.
    let other = "a - fn S 0..900 http=500 err log=lease.timeout_is_3s@895";
    check(other, "fn: failed of none\nfn failed", &[]);
}
