//! Section 6: what a hop waited for, where its path is cut, and who worked for nobody.

use std::fmt::Write as _;

use super::check;

#[test]
fn whoever_runs_on_after_any_span_of_its_call_has_ended_runs_for_nobody() {
    let transport = "
        a - edge S 0..400 in=1000
        c a edge:lib C 10..50 peer=be error.type=timeout err
        d c edge:http C 12..300 peer=be
        b d be S 14..299 in=900";
    let has = "
        be wasted 249
        edge: wasted 249
        ! cancel_not_propagated be ran_on_ms:249.0 count:1";
    check(transport, has, &[]);
    let attempts = "
        a - edge S 0..400 in=1000
        s a edge:Sent C 10..50 peer=be grpc=4 err
        t s edge:Attempt C 10..20 peer=be grpc=14 err
        u s edge:Attempt C 30..300 peer=be
        b u be S 31..299 in=900";
    check(attempts, has, &[]);
    // The inner span may be the one that gave up first.
    let library = transport
        .replace("10..50", "10..320")
        .replace("12..300", "12..50");
    check(&library, has, &[]);
}

#[test]
fn what_a_hop_that_failed_by_deadline_still_waited_for_holds_its_clock() {
    // May be a timeout, and came when the deadline did.
    let at_the_deadline = "
        a - edge S 0..300 in=300 http=503 err
        c a edge C 10..600 peer=be
        b c be S 11..599";
    let has = "
        row edge local 10
        row edge transit_out > be 1
        row be local 289";
    check(at_the_deadline, has, &[]);
    // Its other call says cancelled at its own timeout, which is a deadline failure.
    let because_of_a_call = "
        a - edge S 0..262 in=500 http=500 err
        k a edge C 10..260 peer=kv grpc=1 timeout=250
        c a edge C 10..600 peer=be
        b c be S 11..599";
    let has = "
        edge: missed of 500
        edge: culprit be local 251
        edge > be 1/1 waited true
        be deadline 500 by edge
        be wasted 99
        ! not_propagated edge > be left_ms:490.0 ran_on_ms:0.0 count:1";
    check(because_of_a_call, has, &[]);
    // What is waited for passes the deadline on, by which the next hop is late, and so on.
    let down_the_chain = "
        a - edge S 0..262 in=500 http=500 err
        k a edge C 10..260 peer=kv grpc=1 timeout=250
        c a edge C 10..900 peer=be
        b c be S 11..600 http=503 err
        d b be C 20..800 peer=far
        e d far S 21..799";
    let has = "
        edge > be 1/1 waited true
        be > far 1/1 waited true
        far deadline 500 by edge";
    check(down_the_chain, has, &[]);
    // Each hop fails because its own look-up was cancelled at the deadline that it has only if its
    // caller waited, however many there are.
    let mut chain = String::from("h0 - s0 S 0..502 in=500 http=500 err\n");
    for n in 0..30 {
        let (from, next) = (n * 2 + 1, n + 1);
        let starts = from + 1;
        writeln!(chain, "k{n} h{n} s{n} C {from}..500 peer=kv grpc=1").unwrap();
        writeln!(chain, "c{n} h{n} s{n} C {from}..700 peer=x").unwrap();
        writeln!(chain, "h{next} c{n} s{next} S {starts}..502 http=500 err").unwrap();
    }
    check(
        &chain,
        "s30 deadline 500 by s0\ns29 > s30 1/1 waited true",
        &[],
    );
    // A hop that failed because its callee was late knows so only then.
    let because_of_a_late_callee = "
        a - edge S 0..305 in=1000 http=500 err
        c a edge C 5..303 peer=be
        b c be S 10..302 in=280 http=500 err
        d a edge C 10..600 peer=far
        e d far S 11..599";
    let has = "
        be exceeded_here
        edge > far 1/1 waited true
        far deadline 1000 by edge";
    check(because_of_a_late_callee, has, &[]);
}

#[test]
fn a_call_that_nobody_waited_for_is_off_the_path_with_all_its_attempts() {
    let spans = "
        a - edge S 0..100 in=300
        o a edge:audit C 10..500 peer=be
        t o edge:audit C 10..50 peer=be http=503 err
        u o edge:audit C 60..500 peer=be
        b u be:audit S 65..495";
    let has = "
        row edge local 100
        edge local 100
        be in none none";
    check(spans, has, &["edge > be 1/2 waited true", "row be"]);
}

#[test]
fn a_cut_between_two_attempts_cuts_the_backoff() {
    let by_the_deadline = "
        a - edge S 0..300 in=300 http=504 err
        o a edge:A C 5..405 peer=x
        t o edge:A C 10..100 peer=x http=503 err
        b t x:A S 12..98 http=503 err
        u o edge:A C 350..400 peer=x
        d u x:A S 352..398";
    let has = "
        row edge transit_back > x 2
        row edge backoff > x 200
        edge: culprit edge backoff > x 200";
    check(by_the_deadline, has, &[]);
    let by_a_sibling = "
        a - edge S 0..510 in=1000
        o a edge:A C 5..405 peer=x
        t o edge:A C 10..100 peer=x http=503 err
        b t x:A S 12..98 http=503 err
        u o edge:A C 350..400 peer=x
        d u x:A S 352..398
        e a edge:B C 300..500 peer=y
        f e y:B S 302..498";
    check(
        by_a_sibling,
        "row edge backoff > x 200\nrow edge transit_back > x 2",
        &[],
    );
    // Attempts that are calls of their own, in a hop that is cut at its caller's timeout.
    let of_a_callee = "
        r - client C 0..300 peer=edge timeout=300 grpc=4 err
        a r edge S 1..420
        c a edge C 10..100 peer=x http=503 err
        d a edge C 350..400 peer=x";
    check(
        of_a_callee,
        "row edge backoff > x 200\nrow edge local 9",
        &[],
    );
    let other = of_a_callee.replace("350..400 peer=x", "350..400 peer=y");
    check(&other, "row edge local 209", &["row edge backoff"]);
}
