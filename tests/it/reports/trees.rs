//! Trees with missing, circular, doubled and late spans.

use std::fmt::Write as _;

use dwindle::model::{Link, Note, Trace, TraceId};

use super::{analysed, check, notation, requests};

/// Reports 70 and 71: no span of a cycle vanishes, and where it was cut is told.
#[test]
fn a_cycle_is_cut_and_every_span_stays() {
    let cycle = "
        a c edge S 0..100
        b a edge I 10..90
        c b edge I 20..80
        d c edge I 30..40
        x x other S 0..5";
    let has = "
        requests 2
        edge: spans 4
        edge: 1 parent cycle cut at the earliest span
        edge: complete true
        other: spans 1";
    check(cycle, has, &[]);
}

/// Report 74: thousands of roots in one trace are as many requests. (Report 73, depth, and report
/// 83, no silent cap: `a_trace_of_a_hundred_thousand_spans_is_analysed_deep_or_flat`.)
#[test]
fn thousands_of_roots_are_listed() {
    let mut spans = String::new();
    for root in 0..20_000 {
        writeln!(spans, "{root:x} - edge S {root}..{}", root + 1).unwrap();
    }
    let analysis = requests(&spans);
    assert_eq!(analysis.requests.len(), 20_000);
    let total: usize = analysis.requests.iter().map(|request| request.spans).sum();
    assert_eq!(total, 20_000);
}

/// Report 76: a link is never a parent (semantics, 2.3), not one that says `child_of` either: what
/// it names has handed over to the span, and does not wait for it.
#[test]
fn a_link_is_a_hand_over_whatever_it_says() {
    let spans = "
        a - edge S 0..100
        b - worker S 10..50 link=a
        c - worker S 20..60 link=a";
    check(
        spans,
        "requests 3\nedge handed over 2\nworker: spans 1\nedge local 100",
        &[],
    );
}

/// Report 112: a consumer that has only a link to its producer, which is in another trace.
#[test]
fn a_consumer_says_from_which_trace_it_was_linked() {
    let mut trace = notation::trace("a - worker Q 10..50 link=p in=30");
    let trace_id = TraceId([9; 16]);
    trace.spans[0].links[0].trace_id = trace_id;
    let told = |trace: &Trace| -> Vec<String> {
        let notes = &analysed(trace).requests[0].notes;
        notes.iter().map(ToString::to_string).collect()
    };
    let note = format!("linked from trace {trace_id}: what began there may have handed this over");
    assert_eq!(told(&trace), [note]);
    // A batch of messages: a few are named, all are counted.
    let batch = (0..40_u8).map(|n| Link {
        trace_id: TraceId([n % 20 + 10; 16]),
        ..Link::default()
    });
    trace.spans[0].links = batch.collect();
    let told = told(&trace);
    assert_eq!(told.len(), 4);
    assert_eq!(told[3], "linked from 17 more traces");
}

/// Reports 77, 80 and 82: a trace without its root is usable, nothing below the gap is lost, and
/// the gap is told.
#[test]
fn a_trace_without_its_root_keeps_all_of_its_spans() {
    let spans = "
        b z edge S 0..400 in=300 http=504
        c b edge C 10..390
        d c be S 11..389
        e y other S 100..200";
    let has = "
        requests 2
        edge: spans 3
        edge: complete false
        edge: 2 spans of the trace name a parent that never came
        edge: missed of 300
        edge: culprit be local 289
        other: spans 1
        other: complete false";
    check(spans, has, &[]);
}

/// Report 82, in the middle: the span above the gap and the ones below it are apart, and both say
/// that something is missing.
#[test]
fn a_gap_in_the_middle_is_told_on_both_sides() {
    let spans = "
        a - edge S 0..400
        c a edge C 10..390
        e d be S 20..380";
    check(
        spans,
        "requests 2\nedge: complete false\nbe: complete false",
        &[],
    );
}

/// Report 79: what stood in for a missing root is gone when the root comes. (While it runs:
/// `an_arriving_parent_absorbs_the_requests_below_it`; report 89: `a_late_span_revises_the_verdict`.)
#[test]
fn a_late_root_leaves_nothing_behind() {
    let early = "
        b a be S 11..89
        d a other S 20..30";
    check(early, "requests 2\nbe: complete false", &[]);
    let all = format!("a - edge S 0..100\n{early}");
    check(
        &all,
        "requests 1\nedge: complete true\nedge: spans 3",
        &["edge: 1 span", "edge: 2 spans"],
    );
}

/// Report 85: `a_shared_id_is_two_spans_the_server_below_the_client`; here, that children go to
/// the server.
#[test]
fn children_of_a_shared_id_hang_below_the_server() {
    let spans = "
        a - edge S 0..100
        b a edge C 10..90
        b a be S 11..89
        e b be I 20..30
        d b db S 40..60";
    let has = "
        requests 1
        edge: spans 5
        edge > be 1/1 hop ok
        be > db 1/1 hop ok
        be local 58";
    check(spans, has, &[]);
}

/// Report 86: attempts that share one id: the last one tells how the call ended, and that there
/// were others is told.
#[test]
fn of_attempts_with_one_id_the_last_one_counts() {
    let spans = "
        a - edge S 0..200 in=1000
        c a edge C 10..50 http=499 err peer=x
        c a edge C 60..190 http=200 peer=x";
    let has = "
        edge > x 1/1 dependency ok
        edge: spans 2
        edge: 1 span id came with different contents (conflicting_duplicate); the later end counts";
    check(spans, has, &[]);
}

/// Report 88: one id hours apart is two spans of which one is told to be dropped; they are not
/// mixed into one that lasts for hours.
#[test]
fn spans_with_one_id_are_not_mixed() {
    let spans = "
        a - app S 0..100 http=500
        a - app S 7200000..7200050 http=200";
    let has = "
        app: no_budget of none
        app local 50
        app: 1 span id came with different contents (conflicting_duplicate); the later end counts";
    check(spans, has, &["app failed"]);
}

/// Report 91: replicas give one span several times.
#[test]
fn copies_of_a_span_are_one() {
    let one = "
        a - edge S 0..100
        c a edge C 10..90 peer=x";
    let analysis = requests(&format!("{one}\n{one}\n{one}"));
    let request = &analysis.requests[0];
    assert_eq!((analysis.requests.len(), request.spans), (1, 2));
    assert_eq!(request.notes, [Note::Duplicate(4)]);
    assert_eq!(request.hops[0].calls.len(), 1);
}
