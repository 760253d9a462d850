//! Clocks, asynchronous work, odd durations, the path.

use super::{check, notation, requests};

/// Report 92: raw times stay as they came; what was shifted says by how much.
#[test]
fn a_shift_is_told_and_raw_times_stay() {
    let spans = "
        a - edge S 0..1000
        c a edge C 100..900
        b c be S 1050..1700";
    let has = "
        be shifted -800
        ! clock_skew edge > be offset_ms:-800.0 least_ms:-950.0 greatest_ms:-800.0 count:1";
    check(spans, has, &[]);
    let trace = notation::trace(spans);
    let before = trace.clone();
    let _ = super::analysed(&trace);
    assert_eq!(trace, before);
    check(
        &spans.replace("1050..1700", "150..800"),
        "be shifted 0",
        &["! clock_skew"],
    );
}

/// Report 94: work that nobody waits for may last longer than what started it.
#[test]
fn an_async_child_that_outlives_its_parent_is_no_skew() {
    let spans = "
        a - edge S 0..100
        p a edge P 10..12
        k p worker Q 50..900";
    check(
        spans,
        "requests 2\nworker shifted 0\nedge local 98\nworker local 850",
        &["! clock_skew", "edge: 1 stretch"],
    );
}

/// Report 95: only across hosts, by no more than what the calls prove, with everything below; the
/// spans of one host stay where they are.
#[test]
fn what_is_below_a_shifted_hop_moves_along() {
    let spans = "
        a - edge S 0..1000 @host.name=h1
        c a edge C 100..900 @host.name=h1
        b c be S 50..700 @host.name=h2
        d b be C 60..600 @host.name=h2
        e d db S 70..590 @host.name=h2
        f a cache S 910..950 @host.name=h1";
    let has = "
        be shifted 50
        db shifted 50
        cache shifted 0";
    check(spans, has, &[]);
}

/// Reports 97 and 98: of siblings side by side the one that ends last was waited for; of touching
/// ones both were.
#[test]
fn siblings_that_touch_both_count_and_parallel_ones_do_not() {
    let spans = "
        a - edge S 0..300
        b a x S 100..150
        c a y S 150..200
        d a z S 160..190";
    let has = "
        row x local 50
        row y local 50
        row edge local 200";
    check(spans, has, &["row z"]);
}

/// Report 100: a request lasts as long as its root; what it handed over stands beside it with its
/// own time.
#[test]
fn a_request_and_what_it_handed_over_have_their_own_times() {
    let spans = "
        a - edge S 0..100
        p a edge P 10..12
        k p worker Q 50..900";
    let analysis = requests(spans);
    let lasts: Vec<_> = analysis
        .requests
        .iter()
        .map(|request| (request.service.as_str(), request.elapsed.0 / 1_000_000))
        .collect();
    assert_eq!(lasts, [("edge", 100), ("worker", 850)]);
    let over = &analysis.requests[0].hops[0].handed_over;
    assert_eq!(over.len(), 1);
    assert_eq!(over[0].request, analysis.requests[1].request);
}

/// Report 101: a callee that ends after its caller (a streamed answer) is legal, and told.
#[test]
fn a_callee_that_ends_after_its_caller_is_legal_and_told() {
    let spans = "
        a - edge S 0..100 @host.name=h
        c a edge C 10..90 @host.name=h
        b c be S 20..400 @host.name=h";
    let has = "
        edge ok
        be ok
        row be local 70
        ! cancel_not_propagated be ran_on_ms:310.0 count:1";
    check(spans, has, &[]);
}

/// Report 103: a span that ends before it starts has no length, and that is told.
#[test]
fn a_negative_duration_is_none_and_told() {
    let spans = "
        a - edge S 0..100
        c a edge C 50..40 peer=x";
    let has = "
        edge: 1 span ends before it starts (negative_duration); taken as of no length
        edge local 100
        edge: spans 2";
    check(spans, has, &[]);
}

/// A child that starts before its parent although one clock timed both: no skew of hosts.
#[test]
fn a_child_that_starts_before_its_parent_on_one_clock_is_told() {
    let spans = "
        a - edge S 1..101
        b a edge I 0.992..50
        c b edge I 10..50";
    check(
        spans,
        "edge: 1 span starts before its parent (clock or instrumentation)\nedge local 100",
        &["! clock_skew"],
    );
    let two_hosts = "
        a - edge S 10..100 @host.name=h1
        b a be S 5..50 @host.name=h2";
    check(two_hosts, "be shifted 5", &["edge: 1 span starts"]);
    let two = "
        a - edge S 10..100
        b a edge I 5..50
        c a edge I 6..50";
    check(
        two,
        "edge: 2 spans start before their parents (clock or instrumentation)",
        &[],
    );
}
