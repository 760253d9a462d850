//! Section 4 where budgets come from other people's telemetry: numbers in errors, limits of a
//! hop's own, keys that are off.

use super::check;

#[test]
fn a_number_in_an_error_is_how_long_the_call_would_wait() {
    let spans = "
        a - edge S 0..5100 err
        c a edge C 50..5052 err=timeout_of_5000ms_exceeded
        b c be S 60..7000";
    let has = "
        edge > be 1/1 timeout 5000
        be in 4990 inherited
        be by status.message: timeout of 5000ms exceeded
        be deadline 5050 by edge";
    check(spans, has, &["be in 4992 inferred"]);
    let root = "a - app C 0..5003 err=timeout_of_5000ms_exceeded";
    let has = "
        app: missed of 5000
        app in 5000 observed
        app by status.message: timeout of 5000ms exceeded";
    check(root, has, &[]);
}

#[test]
fn a_text_that_went_up_with_the_error_is_given_to_its_call() {
    let spans = "
        a - edge S 0..5100 err=timeout_of_5000ms_exceeded
        x a edge C 1..40 err
        c a edge C 50..5052 err
        b c be S 60..7000";
    let has = "
        edge in none none
        edge > be 1/1 timeout 5000
        be deadline 5050 by edge";
    check(spans, has, &["edge > x 1/1 timeout 5"]);
    // A timer never fires early: no call here had this one.
    let short = "
        a - edge S 0..900 err=timeout_of_5000ms_exceeded
        c a edge C 10..890 err
        b c be S 20..880 err";
    check(short, "edge > be 1/1 timeout none", &[]);
}

#[test]
fn a_text_that_came_back_from_the_callee_is_not_the_callers() {
    let spans = "
        a - edge S 0..900 err
        c a edge C 10..890 err=Deadline_exceeded_after_5.001s
        b c be S 20..880 err";
    check(spans, "edge > be 1/1 out none", &["be in 4", "be in 5"]);
    let own = "
        a - edge S 0..900 err
        c a edge C 10..512 err=Deadline_exceeded_after_0.501s,LB_pick:_0.001s
        b c be S 20..880 err";
    let has = "
        edge > be 1/1 out 501
        be in 501 sent
        be by status.message: Deadline exceeded after 0.501s";
    check(own, has, &[]);
}

#[test]
fn an_inherited_deadline_tells_what_the_hop_itself_had() {
    let spans = "
        a - edge S 0..2200 http=504 err
        c a edge C 100..2101 grpc=4 err=Context_deadline_exceeded_after_2.000000000s.
        b c be S 101..2500";
    let has = "
        edge in 2100 observed
        edge by status.message: Context deadline exceeded after 2.000000000s
        edge > be 1/1 out 2000
        be in 2000 sent";
    check(spans, has, &["! budget_reset", "! not_propagated"]);
    // What the call chose itself says nothing of the hop.
    let chosen = spans.replace("Context", "CallOptions");
    let has = "
        edge in none none
        edge > be 1/1 timeout 2000
        edge > be 1/1 out 2000
        be in 2000 sent";
    check(&chosen, has, &[]);
}

#[test]
fn a_deadline_that_was_over_before_the_call_began_is_told_of_the_call() {
    let late =
        "ClientCall_started_after_CallOptions_deadline_was_exceeded_-6.390000000_seconds_ago.";
    let spans = format!(
        "
        a - edge S 0..100 in=1000 err
        c a edge C 10..11 grpc=4 err={late} peer=be"
    );
    let has = "
        edge > be 1/1 out -6390
        edge > be 1/1 unreported expired_before_send";
    check(&spans, has, &[]);
}

#[test]
fn a_limit_of_its_own_ends_a_hops_deadline_but_was_not_passed_on() {
    let spans = "
        a - edge S 0..6000 in=10000
        c a edge C 10..5990 timeout=8000
        b c fn S 20..3030 err=Task_timed_out_after_3.00_seconds";
    let has = "
        fn in 7990 inherited
        fn deadline 3020 by fn
        ! not_propagated edge > fn left_ms:9990.0 ran_on_ms:0.0 count:1";
    check(spans, has, &[]);
    let longer = spans.replace("3.00", "30.00");
    check(&longer, "fn deadline 8010 by edge", &[]);
    let root = "a - worker Q 0..5020 celery.timelimit=[300,4]";
    let has = "
        worker: missed of 4000
        worker by celery.timelimit: [300,4]";
    check(root, has, &[]);
}

#[test]
fn a_limit_inside_a_hop_bounds_the_calls_below_it() {
    let spans = "
        a - edge S 0..1000 in=5000
        i a edge:guard I 100..410 timeout=300
        c i edge C 120..390
        b c be S 130..380
        d a edge C 500..600 peer=db";
    let has = "
        edge in 5000 observed
        edge > be 1/1 timeout 280
        be in 270 inherited
        be deadline 400 by edge
        edge > db 1/1 timeout none";
    check(spans, has, &[]);
}

#[test]
fn what_each_try_has_counts_from_its_own_start() {
    let spans = "
        a - edge S 0..1000 in=5000
        s a edge:call C 0..900 x-envoy-upstream-rq-per-try-timeout-ms=200
        t s edge:try C 0..201 err=timed_out
        u s edge:try C 300..450
        x t be S 1..400
        y u be S 301..449";
    let has = "
        edge > be 1/2 timeout 200
        edge > be 2/2 timeout 200
        be deadline 200 by edge
        be deadline 500 by edge";
    check(spans, has, &[]);
}

#[test]
fn a_tighter_deadline_inside_a_hop_is_not_the_hops() {
    let spans = "
        a - store S 0..900 in=5000
        p a store:persistence.Shard/Get I 100..800 timeout=1s
        q p store C 110..790 peer=db";
    let spans = spans.replace("timeout=", "persistence.store=Shard timeout=");
    // `timeout` is short for Dwindle's own key in this notation.
    let spans = spans.replace(" timeout=1s", " rpc.deadline=2026-10-07T09:15:01.100Z");
    check(
        &spans,
        "store in 5000 observed\nstore > db 1/1 timeout 990",
        &[],
    );
    let alone = spans.replace("in=5000", "");
    check(&alone, "store in 1100 observed", &[]);
}

#[test]
fn keys_that_are_off_are_named_once() {
    let spans = "
        a - edge S 0..100 http.request.header.x-request-timeout=30
        c a edge C 10..90
        b c be S 20..80 http.request.header.x-request-timeout=29 app.budget_ms=5";
    let has = "
        edge: http.request.header.x-request-timeout looks like a deadline and no rule reads it: if it is one, add a rule to the configuration that says its unit
        edge: app.budget_ms looks like a deadline and no rule reads it: if it is one, add a rule to the configuration that says its unit
        edge: no_budget of none";
    check(
        spans,
        has,
        &["edge: http.request.header.x-request-timeout2"],
    );
}

#[test]
fn a_statements_own_timeout_and_a_queries_are_read() {
    let spans = "
        a - api S 0..700 url.query=timeout=500ms
        d a api C 10..600 db.system.name=mysql db.query.text=SELECT/*+MAX_EXECUTION_TIME(400)*/1";
    let has = "
        api: missed of 500
        api by url.query: timeout=500ms
        api > mysql 1/1 timeout 400";
    check(spans, has, &[]);
}

/// The spans of a handler that sets a timeout on its connection, with more statements.
fn after_setting(statements: &str) -> String {
    let mut spans = "
        a - api S 0..3000 in=1000
        s a api C 10..12 db.system.name=postgresql db.statement=SET~statement_timeout=300"
        .to_owned();
    for line in statements.lines() {
        spans = format!("{spans}\n{line} db.system.name=postgresql");
    }
    spans
}

#[test]
fn a_timeout_set_on_a_connection_bounds_the_statements_that_follow() {
    let check = |statements: &str, has: &str, lacks: &[&str]| {
        check(&after_setting(statements), has, lacks);
    };
    let none = "api > postgresql 1/1 timeout none";
    let note = "api: `SET statement_timeout=300` is taken to bound no call: which statements went over its connection cannot be told";
    let set = "api > postgresql 1/1 timeout 300";
    // Not the one that sets it, whatever it sets.
    check("", none, &["api > postgresql 1/1 timeout 3", note]);
    check("b a api:q C 20..50 db.statement=SELECT", set, &[note]);
    // Another database, and what came before.
    let elsewhere = "b a api:q C 20..50 db.namespace=other\nc a api:r C 1..9 db.statement=SELECT";
    check(elsewhere, none, &[set, note]);
    // The transaction's end, and what is set anew.
    for end in ["COMMIT", "RESET~ALL", "SET~statement_timeout=0"] {
        let spans = format!("b a api:q C 20..50 db.statement={end}\nc a api:r C 60..99");
        check(&spans, none, &[set, note]);
    }
    let again =
        "b a api:q C 20..22 db.statement=set~local~statement_timeout~to~'2s'\nc a api:r C 60..99";
    let has = "api > postgresql 1/1 timeout 2000\n! inverted_timeout api > postgresql timeout_ms:2000.0 left_ms:940.0 count:1";
    check(again, has, &[set, note]);
    // Two at once go over two connections; one that ran on went over another.
    let at_once = "b a api:q C 20..50 db.statement=SELECT\nc a api:r C 40..99 db.statement=SELECT";
    check(at_once, &format!("{none}\n{note}"), &[set]);
    let ran_on = "b a api:q C 20..50\nc a api:r C 60..900 db.statement=SELECT";
    check(ran_on, &format!("{none}\n{note}"), &[set]);
    // It reached no connection.
    let failed = after_setting("b a api:q C 20..50").replace("timeout=300", "timeout=300 err");
    super::check(&failed, none, &[set]);
}

#[test]
fn what_userver_was_set_to_is_not_what_it_waits() {
    let spans = "
        a - api S 0..900 in=500
        c a api C 100..600 timeout_ms=2000 propagated_timeout_ms=400
        b c be S 101..590";
    let has = "
        api > be 1/1 out 400
        api > be 1/1 timeout 400
        be in 400 sent";
    check(spans, has, &["! inverted_timeout", "! budget_reset"]);
    // Alone it is what the client waits, and that may be too long.
    let alone = spans.replace(" propagated_timeout_ms=400", "");
    let has = "! inverted_timeout api > be timeout_ms:2000.0 left_ms:400.0 count:1";
    check(&alone, has, &[]);
    // 0 says that the deadline had passed: nothing is waited, and nothing given back.
    let late = "
        a - api S 0..900 in=500
        c a api C 600..601 timeout_ms=2000 propagated_timeout_ms=0 peer=be err";
    let has = "
        api > be 1/1 out 0
        api > be 1/1 timeout none";
    check(late, has, &["! inverted_timeout", "! budget_reset"]);
}

#[test]
fn what_a_header_says_that_the_caller_waits_was_not_passed_on() {
    let spans = "
        a - edge S 0..3000 in=1000
        c a edge C 10..2900
        b c llm S 20..2800 http.request.header.x-stainless-timeout=2";
    let has = "
        edge > llm 1/1 timeout 2000
        edge > llm 1/1 out none
        llm in 980 inherited
        ! not_propagated edge > llm left_ms:990.0 ran_on_ms:0.0 count:1
        ! inverted_timeout edge > llm timeout_ms:2000.0 left_ms:990.0 count:1";
    check(spans, has, &["! budget_reset"]);
    // It binds all the same, beside a deadline that was passed on too.
    let first = spans.replace("in=1000", "");
    let has = "
        llm in 1990 inherited
        llm by http.request.header.x-stainless-timeout: 2
        llm deadline 2010 by edge";
    check(&first, has, &["! not_propagated"]);
    let both = format!("{first} in=5000");
    check(&both, "llm in 5000 observed\nllm deadline 2020 by llm", &[]);
    let root = "a - llm S 0..3000 http.request.header.prefer=wait=2";
    let has = "
        llm: missed of 2000
        llm in 2000 inherited
        llm by http.request.header.prefer: wait=2";
    check(root, has, &[]);
}

#[test]
fn a_limit_of_the_callee_is_nothing_that_its_caller_sent() {
    let spans = "
        a - edge S 0..6000
        c a edge C 10..5990
        b c fn S 20..3030 err=Task_timed_out_after_3.00_seconds";
    let has = "
        edge > fn 1/1 out none
        fn in none none
        fn deadline 3020 by fn
        fn because own_deadline
        fn exceeded_here";
    check(spans, has, &[]);
}
