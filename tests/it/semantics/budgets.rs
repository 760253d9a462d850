//! Section 4: what each hop had, and who set its deadline.

use super::{check, notation::trace};
use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::Nanos;

#[test]
fn what_an_inner_span_sent_is_what_the_callee_got() {
    let spans = "
        a - edge S 0..1000 in=5000
        s a edge:library C 100..900
        t s edge:transport C 105..895 out=300
        v t be S 106..200";
    let has = "
        edge > be 1/1 out 300
        be in 300 sent
        be deadline 406 by be";
    check(spans, has, &["! not_propagated"]);
}

#[test]
fn an_instant_that_was_sent_is_nearer_on_arrival() {
    let spans = "
        a - edge S 0..1000 in=2000
        c a edge C 10..990 deadline=1500
        b c be S 200..980";
    let has = "
        edge > be 1/1 out 1490
        be in 1300 sent
        be deadline 1500 by be";
    check(spans, has, &["! "]);
}

#[test]
fn attempts_share_the_timeout_of_the_call_around_them() {
    let spans = "
        a - edge S 0..1000 in=5000
        s a edge:Sent C 0..800 timeout=800 grpc=4 err
        t s edge:Attempt C 0..500 timeout=500 grpc=4 err
        x t be S 1..700
        u s edge:Attempt C 500..800 timeout=500 grpc=4 err
        y u be S 501..900";
    let has = "
        edge > be 1/2 timeout 500
        be in 499 inherited
        be deadline 500 by edge
        edge > be 2/2 timeout 300
        be in 299 inherited
        be deadline 800 by edge";
    check(spans, has, &[]);
}

#[test]
fn a_budget_is_inherited_up_to_the_earlier_of_deadline_and_timeout() {
    let spans = "
        a - edge S 0..500 in=1000
        c a edge C 100..350 timeout=300
        b c be S 105..340";
    check(spans, "be in 295 inherited\nbe deadline 400 by edge", &[]);
    let longer = spans.replace("timeout=300", "timeout=3000");
    check(
        &longer,
        "be in 895 inherited\nbe deadline 1000 by edge",
        &[],
    );
}

#[test]
fn a_deadline_that_is_known_counts_beside_one_that_is_inferred() {
    // The client's 1,000 ms are its length; edge was told until 1,001.
    let spans = "
        a - app C 0..1000 grpc=4 err
        b a edge S 1..1200 in=1000
        c b edge C 10..1100 timeout=2000
        d c be S 11..1099";
    let has = "
        app in 1000 inferred
        edge deadline 1000 by app
        ! not_propagated edge > be left_ms:991.0 ran_on_ms:0.0 count:1
        ! inverted_timeout edge > be timeout_ms:2000.0 left_ms:991.0 count:1";
    check(spans, has, &["! not_propagated app", "! budget_reset"]);
}

#[test]
fn a_call_that_timed_out_tells_its_callees_budget_unless_the_failure_came_back() {
    let spans = "
        a - edge S 0..500
        c a edge C 10..410 grpc=4 err
        b c be S 12..600";
    let has = "be in 398 inferred\nedge: no_budget of none";
    check(spans, has, &["! not_propagated", "! worked_after_deadline"]);
    let back = spans.replace("12..600", "12..405 grpc=4 err");
    check(&back, "be in none none", &[]);
}

#[test]
fn of_values_that_disagree_the_strictest_binds() {
    let headers = "a - edge S 0..400 in=500 x-request-budget-ms=300";
    check(headers, "edge in 300 observed\nedge finished_late", &[]);
    let absolute = "a - edge S 100..500 in=500 deadline=450";
    check(absolute, "edge in 350 observed", &[]);
}

#[test]
fn an_inner_layers_reading_is_moved_back_by_its_lag() {
    let spans = "
        a - edge S 0..600 http=504 err
        q a edge S 150..595 in=350";
    let has = "
        edge: missed of 500
        edge exceeded_here
        ! queued edge queue_ms:150.0 budget_ms:500.0 count:1";
    check(spans, has, &[]);
}

#[test]
fn nothing_left_is_not_the_same_as_nothing_known() {
    let zero = "a - edge S 0..600 in=0 http=504 err";
    let has = "
        edge: missed of 0
        edge: culprit none
        edge expired_on_arrival
        edge wasted 600";
    check(zero, has, &[]);
    check(
        "a - edge S 0..5 in=-20",
        "edge: missed of -20\nedge in -20 observed",
        &[],
    );
}

#[test]
fn what_was_sent_is_read_from_the_entry_of_a_hop_with_one_call() {
    let spans = "
        a - edge S 0..100 in=1000 out=900
        c a edge C 10..50
        b c be S 11..49";
    check(
        spans,
        "edge > be 1/1 out 900\nbe in 900 sent",
        &["! not_propagated"],
    );
    let two = format!("{spans}\nd a edge C 60..70 peer=db");
    check(&two, "edge > be 1/1 out none\nbe in 989 inherited", &[]);
}

#[test]
fn a_value_that_cannot_be_read_is_told_instead_of_a_missing_one() {
    let spans = "
        a - edge S 0..400 in=500
        c a edge C 10..300
        b c be S 11..290 grpc-timeout=123456789m";
    let has = "
        be in 489 inherited
        ! bad_deadline_value be key:grpc-timeout value:123456789m count:1";
    check(spans, has, &["! not_propagated"]);
}

#[test]
fn what_nobody_waits_for_inherits_no_deadline_and_is_no_waste() {
    for told in ["", "in=100"] {
        let spans = format!(
            "a - edge S 0..50 in=1000
            c a edge C 10..400
            b c audit S 11..399 {told}"
        );
        let has = "
            edge: met of 1000
            edge: wasted 0
            edge > audit 1/1 waited false
            row edge local 50";
        check(&spans, has, &["! not_propagated", "row audit"]);
    }
}

#[test]
fn how_long_a_hop_waited_before_work_is_told_where_something_tells() {
    let queue = |spans: &str| {
        let analysis = analyse(&trace(spans), &Policy::default(), &Typical::default());
        analysis.requests[0].hops[0].queue
    };
    let ms = |ms| Some(Nanos::from_millis(ms));
    assert_eq!(queue("a - edge S 0..600 in=500"), None);
    assert_eq!(queue("a - edge S 0..600 queue=40"), ms(40));
    assert_eq!(queue("a - edge S 0..600 event=dequeued@30"), ms(30));
    let layers = "a - edge S 0..600\nq a edge S 150..595";
    assert_eq!(queue(layers), ms(150));
    // What the hop says is better than what its layers show.
    assert_eq!(queue(&layers.replace("600", "600 queue=40")), ms(40));
}

#[test]
fn a_root_has_what_its_caller_waits_if_that_is_less() {
    let spans = "a - edge S 0..400 in=500 http.request.header.x-stainless-timeout=0.3";
    let has = "
        edge: missed of 300
        edge deadline 300 by edge
        edge: culprit edge local 300
        edge in 300 inherited";
    check(spans, has, &[]);
    let more = spans.replace("=0.3", "=0.6");
    check(&more, "edge: met of 500\nedge in 500 observed", &[]);
}

#[test]
fn values_that_disagree_are_all_shown() {
    let spans = "a - edge:Get S 0..400 in=500 rpc.request.metadata.grpc-timeout=300m";
    let has = "
        edge: missed of 300
        edge: edge Get was told its budget more than once, and the strictest binds: 300m (rpc.request.metadata.grpc-timeout), 500 (deadline.remaining_in_ms)";
    check(spans, has, &[]);
    // As near as gRPC's rounding and timers bring them.
    let near = spans.replace("300m", "499m");
    check(&near, "edge: met of 499", &["edge: edge Get was told"]);
}
