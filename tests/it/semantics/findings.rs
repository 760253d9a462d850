//! Section 7: each rule where it fires, and beside it where it must not.

use super::check;

#[test]
fn budget_reset_blames_whoever_made_more_of_it() {
    let spans = "
        a - edge S 0..1000 in=2000
        c a edge C 10..990 out=1500
        b c mid S 11..989 in=1500
        d b mid C 20..980 out=1480
        e d end S 21..979 in=3000";
    // mid's own deadline is 1,511.
    let has = "! budget_reset end told_ms:3000.0 left_ms:1491.0 count:1";
    check(spans, has, &["! budget_reset mid", "! budget_reset edge"]);
    let by_the_caller = spans.replace("out=1480", "out=3000");
    let has = "! budget_reset mid > end told_ms:3000.0 left_ms:1491.0 count:1";
    check(&by_the_caller, has, &["! budget_reset end"]);
    let rounded = "
        a - edge S 0..900 in=1000
        c a edge C 0..890
        b c be S 1..889 in=1010";
    check(rounded, "be in 1010 observed", &["! budget_reset"]);
    check(
        &rounded.replace("1010", "1011"),
        "be in 1011 observed",
        &["! not_propagated"],
    );
}

#[test]
fn no_reserve_needs_to_know_what_was_given() {
    let spans = "
        a - edge S 0..1010 in=1000
        c a edge C 10..990 peer=db timeout=990";
    let has =
        "! no_reserve edge > db given_ms:990.0 left_ms:990.0 after_ms:20.0 late_ms:10.0 count:1";
    check(spans, has, &[]);
    check(
        &spans.replace("timeout=990", ""),
        "edge finished_late",
        &["! no_reserve"],
    );
    check(
        &spans.replace("=990", "=900"),
        "edge finished_late",
        &["! no_reserve"],
    );
    check(
        &spans.replace("..1010", "..1001"),
        "edge ok",
        &["! no_reserve"],
    );
}

#[test]
fn later_attempts_are_held_to_what_is_left() {
    let spans = "
        a - edge S 0..500 in=400 http=504
        c a edge:x C 10..390 peer=db timeout=1000 grpc=4 err
        d a edge:x C 398..498 peer=db timeout=1000 grpc=4 err";
    let has = "
        ! doomed_retry edge > db left_ms:2.0 count:1
        ! retry_reset edge > db timeout_ms:1000.0 left_ms:2.0 count:1
        ! inverted_timeout edge > db timeout_ms:1000.0 left_ms:2.0 count:2
        ! started_expired edge > db left_ms:2.0 min_useful_ms:20.0 count:1";
    check(spans, has, &[]);
    let counted = "
        a - edge S 0..100 in=50
        c a edge C 49..99 resent=1 peer=db err";
    check(counted, "! doomed_retry edge > db left_ms:1.0 count:1", &[]);
    check(
        &counted.replace("resent=1", ""),
        "edge finished_late",
        &["! doomed_retry"],
    );
}

#[test]
fn retries_at_two_layers_multiply() {
    let spans = "
        a - web S 0..1000
        c a web:g C 10..300 http=503
        b c api S 11..299 http=503
        d b api:q C 20..100 peer=db http=503
        e b api:q C 110..200 peer=db http=503
        f b api:q C 210..290 peer=db http=503
        g a web:g C 400..900
        h g api S 401..899
        i h api:q C 410..500 peer=db http=503
        j h api:q C 510..890 peer=db";
    let has = "
        ! retry_amplification web > api attempts:6 layers:2 innermost:db count:1
        row web backoff > api 100
        row api backoff > db 20";
    check(spans, has, &["! retry_amplification api"]);
    // One call each, side by side: no retries.
    let fan_out = "
        a - web S 0..1000
        c a web:g C 10..300 peer=db http=503
        d a web:g C 20..310 peer=db
        e a web:g C 30..320 peer=db";
    check(fan_out, "web > db 1/1 dependency failed", &["! "]);
}

#[test]
fn a_hedges_loser_is_told_only_over_fifty_milliseconds() {
    let spans = "
        a - web S 0..200 in=1000
        c a web:g C 10..100 grpc=1
        b c r S 11..151
        d a web:g C 60..100
        e d r S 61..99";
    let has = "
        web > r 1/2 hop cancelled_by_caller
        ! hedge_not_cancelled web > r ran_on_ms:51.0 count:1
        ! cancel_not_propagated r ran_on_ms:51.0 count:1";
    check(spans, has, &["! doomed_retry", "! retry_reset"]);
    let in_time = spans.replace("11..151", "11..150");
    check(&in_time, "web > r 2/2 hop ok", &["! hedge", "! cancel"]);
}

/// Report 119.
#[test]
fn a_write_is_ambiguous_where_its_end_is_unknown_or_good() {
    let spans = "
        a - edge S 0..505 in=500 http=504
        c a edge:library C 10..500 grpc=4 err
        e c edge:transport C 12..490 method=POST err=timeout_of_480ms_exceeded
        b e pay S 13..700";
    let has = "! ambiguous_write edge > pay gave_up_ms:500.0 finished_ms:700.0 method:POST count:1";
    check(spans, has, &[]);
    check(
        &spans.replace("POST", "PUT"),
        "pay finished_late",
        &["! ambiguous"],
    );
    check(
        &spans.replace("13..700", "13..700 http=500"),
        "edge: missed of 500",
        &["! ambiguous"],
    );
    let publish = "
        a - edge S 0..900
        p a edge P 1..800 messaging.system=kafka messaging.destination.name=t err=request_timed_out";
    check(
        publish,
        "! ambiguous_write edge > kafka t gave_up_ms:800.0 method:publish count:1",
        &[],
    );
    let insert = "
        a - edge S 0..900
        c a edge C 1..800 db.system.name=postgresql db.operation.name=INSERT err=timed_out";
    check(
        insert,
        "! ambiguous_write edge > postgresql gave_up_ms:800.0 method:INSERT count:1",
        &[],
    );
    // The server itself says that it stopped the statement: nothing of it stands.
    let undone = insert.replace("err=", "db.response.status_code=57014 err=");
    check(
        &undone,
        "edge > postgresql 1/1 dependency exceeded_here",
        &["! ambiguous"],
    );
    let by_name_only = "
        a - edge S 0..900
        c a edge:POST C 1..800 peer=pay grpc=4 err";
    check(
        by_name_only,
        "edge > pay 1/1 unreported exceeded_here",
        &["! ambiguous"],
    );
}

#[test]
fn a_failure_that_was_survived_could_have_had_less() {
    let spans = "
        a - edge S 0..1000 in=2000
        c a edge C 10..500 peer=ads http=503 out=1990";
    let has =
        "! noncritical_full_budget edge > ads given_ms:1990.0 left_ms:1990.0 took_ms:490.0 count:1";
    check(spans, has, &[]);
    check(&spans.replace("1990", "500"), "edge ok", &["! noncritical"]);
    check(
        &spans.replace("in=2000", "in=2000 http=500"),
        "edge failed",
        &["! noncritical"],
    );
}

#[test]
fn telemetry_that_contradicts_itself_is_told() {
    let spans = "
        a - edge S 0..400 in=1000 outcome=exceeded_here local=100
        c a edge C 100..200 peer=db";
    let has = "
        edge timed_out_early
        edge local 100
        ! outcome_mismatch edge reported:exceeded_here verdict:timed_out_early count:1
        ! accounting_mismatch edge reported_ms:100.0 computed_ms:300.0 count:1";
    check(spans, has, &[]);
    // 10 % of 300 are 30.
    check(
        &spans.replace("local=100", "local=270"),
        "edge local 270",
        &["! accounting"],
    );
}
