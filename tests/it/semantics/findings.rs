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

#[test]
fn an_attempt_after_a_hedge_is_held_to_what_is_left() {
    let spans = "
        a - edge S 0..505 in=500 http=504 err
        c a edge:Get C 0..300 peer=s grpc=1 timeout=400
        d a edge:Get C 100..300 peer=s grpc=14 err timeout=400
        e a edge:Get C 499..505 peer=s grpc=4 err timeout=400";
    let has = "
        edge > s 3/3 timeout 400
        ! doomed_retry edge > s left_ms:1.0 count:1
        ! retry_reset edge > s timeout_ms:400.0 left_ms:1.0 count:1
        row edge backoff > s 199";
    check(spans, has, &[]);
    // The attempt that overlaps the first is a hedge: it may be given all that the first was.
    let lacks = ["! retry_reset", "! doomed_retry"];
    let hedge = spans.lines().take(4).collect::<Vec<_>>().join("\n");
    check(&hedge, "edge > s 2/2 timeout 400", &lacks);
}

#[test]
fn a_hedge_is_found_beside_calls_that_are_none() {
    let spans = "
        a - edge S 0..400 in=1000
        c a edge:G C 0..200 peer=be
        d a edge:G C 20..40 peer=be
        e a edge:G C 50..300 peer=be grpc=1";
    let has = "
        edge > be 1/2 waited true
        edge > be 2/2 waited true
        edge > be 1/1 waited true
        ! hedge_not_cancelled edge > be ran_on_ms:100.0 count:1";
    check(spans, has, &[]);
    // One that began after all had ended lost to nobody.
    let after = "
        a - edge S 0..900 in=1000
        c a edge:G C 0..100 peer=be grpc=1
        d a edge:G C 50..100 peer=be grpc=14 err
        b c be:G S 1..700 in=900
        e a edge:G C 120..600 peer=be";
    check(
        after,
        "edge > be 3/3 waited true",
        &["! hedge_not_cancelled"],
    );
}

#[test]
fn of_layers_that_retry_alike_the_first_is_named() {
    let spans = "
        a - edge S 0..900 in=1000
        c a edge C 0..400 peer=mid grpc=14 err
        d a edge C 410..800 peer=mid
        b d mid S 411..790
        e b mid C 420..500 peer=zebra grpc=14 err
        f b mid C 510..600 peer=zebra
        g b mid C 610..700 peer=ant grpc=14 err
        h b mid C 710..780 peer=ant";
    let has = "! retry_amplification edge > mid attempts:4 layers:2 innermost:zebra count:1";
    check(spans, has, &[]);
}

#[test]
fn what_is_long_overdue_has_no_more_slack_than_nothing() {
    let spans = "
        a - edge S 0..200 in=-10000 http=504 err
        c a edge C 10..190 peer=be out=90
        b c be S 11..189 in=89";
    let has = "! budget_reset edge > be told_ms:89.0 left_ms:-10010.0 count:1";
    check(spans, has, &[]);
}

#[test]
fn a_call_that_was_never_sent_wrote_nothing() {
    let spans = "
        a - edge S 0..100 in=1000 grpc=4 err
        c a edge C 99..99.5 peer=be rpc.system=grpc method=POST grpc=4 err=WHY";
    let unsent =
        "ClientCall_started_after_CallOptions_deadline_was_exceeded_-6.390000000_seconds_ago";
    let has = "edge > be 1/1 unreported expired_before_send";
    check(&spans.replace("WHY", unsent), has, &["! ambiguous_write"]);
    let sent = spans.replace("WHY", "deadline_exceeded");
    let has = "! ambiguous_write edge > be gave_up_ms:99.5 method:POST count:1";
    check(&sent, has, &[]);
}

#[test]
fn a_word_against_a_budget_that_was_read_is_a_mismatch() {
    let spans = "
        r - client C 0..444 peer=be error.type=timeout err
        b r be S 1..443 in=500 outcome=expired_on_arrival";
    let has = "
        be exceeded_here
        ! outcome_mismatch be reported:expired_on_arrival verdict:exceeded_here count:1";
    check(spans, has, &["! started_expired"]);
    let nothing_known = spans.replace("in=500 ", "");
    check(
        &nothing_known,
        "be expired_on_arrival",
        &["! started_expired", "! outcome_mismatch"],
    );
}
