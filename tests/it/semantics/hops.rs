//! Sections 2 and 3: from spans to hops and calls, and their clocks.

use super::check;

#[test]
fn nested_client_spans_are_one_call_with_its_attempts() {
    // 1,000 ms less the 800 of the call, backoff included.
    let spans = "
        a - edge S 0..1000
        s a edge:Sent C 100..900
        t s edge:Attempt C 110..300 peer=be grpc=14 err
        u s edge:Attempt C 500..890 peer=be
        v u be S 501..889";
    let has = "
        edge local 200
        edge > be 1/2 dependency failed
        edge > be 2/2 hop ok
        row edge local 200
        row edge transit_out > be 11
        row edge dependency > be 190
        row edge backoff > be 200
        row be local 388
        row edge transit_back > be 11";
    check(spans, has, &[]);
}

#[test]
fn an_attempt_without_a_far_side_is_retried_at_the_service_behind_its_peer() {
    let spans = "
        a - edge S 0..900
        c a edge:Get C 10..310 peer=geo-1 grpc=4 err
        d a edge:Get C 400..890 peer=geo-1
        b d geo S 401..889";
    let has = "
        edge > geo-1 1/2 unreported exceeded_here
        edge > geo 2/2 hop ok
        row edge backoff > geo 90";
    check(spans, has, &[]);
}

/// Report 85.
#[test]
fn two_first_spans_with_one_id_are_of_one_request() {
    let spans = "
        a - edge S 0..100 in=500
        a - other S 10..40
        a - third S 20..30";
    let has = "
        requests 1
        edge > other 1/1 hop ok
        other in 490 inherited
        edge: complete true";
    check(spans, has, &[]);
    let orphans = spans.replace("a - ", "a q ");
    check(&orphans, "requests 1\nedge: complete false", &[]);
}

#[test]
fn a_shared_id_is_two_spans_the_server_below_the_client() {
    let spans = "
        a - edge S 0..100 in=1000
        b a edge C 10..90
        b a be S 11..89 in=980
        c b be C 20..80 peer=db";
    let has = "
        requests 1
        edge > be 1/1 hop ok
        edge > be 1/1 out 980
        be in 980 observed
        row edge transit_out > be 1
        row be dependency > db 60";
    check(spans, has, &["! "]);
}

#[test]
fn each_of_several_callees_is_named() {
    let spans = "
        a - edge S 0..1000 in=1100
        c a edge C 10..995
        b c x S 11..500 in=1089
        d c y S 600..990";
    let has = "
        edge > x 1/1 hop ok
        edge > y 1/1 hop ok
        ! not_propagated edge > y left_ms:1090.0 ran_on_ms:0.0 count:1";
    check(spans, has, &["! not_propagated edge > x"]);
}

#[test]
fn a_client_span_between_two_servers_of_a_service_makes_a_new_hop() {
    let spans = "
        a - edge S 0..100
        b a edge S 5..95
        c b edge C 10..90
        d c edge S 11..89";
    check(
        spans,
        "edge local 20\nedge > edge 1/1 hop ok\nedge local 78",
        &[],
    );
}

#[test]
fn dependencies_are_named_in_order_and_only_rpc_and_http_are_unreported() {
    let spans = "
        a - edge S 0..900
        c a edge:q C 1..100 db.system=postgresql db.namespace=shop peer.service=x grpc=4 err
        d a edge:q C 101..200 peer.service=tax peer=tax-1 http=504 err
        e a edge:q C 201..300 peer=geo-1 rpc.service=Geo grpc=1
        f a edge:q C 301..400 rpc.service=Geo grpc=14 err";
    let has = "
        edge > postgresql shop 1/1 dependency exceeded_here
        edge > tax 1/1 unreported exceeded_here
        edge > geo-1 1/1 unreported cancelled_by_caller
        edge > Geo 1/1 dependency failed";
    check(spans, has, &[]);
}

#[test]
fn cycles_are_cut_and_orphans_stay() {
    let cycle = "
        a c edge S 0..100
        b a edge I 10..90
        c b edge I 20..80";
    check(cycle, "requests 1\nedge: complete true", &[]);
    let orphans = "
        a z edge S 0..100
        b a edge S 50..90";
    check(orphans, "requests 1\nedge: complete false", &[]);
}

#[test]
fn a_message_starts_its_own_request_by_parent_or_by_link() {
    // Both work until 1,000, the deadline of the producer.
    for relation in ["p", "- link=p"] {
        let (parent, link) = relation.split_once(' ').unwrap_or((relation, ""));
        let spans = format!(
            "a - edge S 0..100 in=1000
            p a edge:publish P 10..12 messaging.system=kafka messaging.destination.name=orders
            k {parent} worker Q 300..400 in=700 {link}"
        );
        let has = "
            requests 2
            edge handed over 1
            edge > kafka orders 1/1 producer ok
            worker in 700 observed
            ! async_inherits_deadline worker told_ms:700.0 producer_left_ms:990.0 kind:message count:1";
        check(&spans, has, &[]);
        check(
            &spans.replace("in=700", "in=5000"),
            "requests 2",
            &["! async"],
        );
    }
}

#[test]
fn answered_calls_bound_the_offset_from_both_sides() {
    // The first call: 50 to 200. The second: 50 to 60.
    let spans = "
        a - edge S 0..1000
        c a edge C 100..900
        b c be S 50..700
        d a edge C 910..990
        e d be S 860..930";
    let has = "
        be shifted 50
        ! clock_skew edge > be offset_ms:50.0 least_ms:50.0 greatest_ms:60.0 count:1";
    check(spans, has, &[]);
    let slack = "
        a - edge S 0..1000
        c a edge C 100..900
        b c be S 99.2..700";
    check(slack, "be shifted 0", &["! clock_skew"]);
}

#[test]
fn calls_without_an_answer_bound_the_offset_from_below_only() {
    let late = "
        a - edge S 0..1000
        c a edge C 100..300 grpc=4 err
        b c be S 150..900";
    check(late, "be shifted 0", &["! clock_skew"]);
    check(&late.replace("150..900", "60..900"), "be shifted 40", &[]);
    let one_host = "
        a - edge S 0..1000 @host.id=h
        c a edge C 100..300 @host.id=h
        b c be S 50..200 @host.id=h";
    check(one_host, "be shifted 0", &["! clock_skew"]);
}

#[test]
fn skew_is_named_at_the_outermost_call_whatever_the_clocks_say() {
    // be's clock is 50 behind, so its own call looks like the earlier one.
    let spans = "
        a - edge S 0..1000
        c a edge C 100..900
        b c be S 50..700
        d b be C 60..600
        e d edge S 201..400";
    let has = "! clock_skew edge > be offset_ms:50.0 least_ms:50.0 greatest_ms:141.0 count:1";
    check(spans, has, &["! clock_skew be"]);
}

#[test]
fn a_clock_that_is_behind_does_not_drag_along_what_was_not_answered() {
    // mid's clock is 60 behind; both calls were given up, so nothing bounds back from above, and
    // the root's clock fits it.
    let spans = "
        a - edge S 0..505 in=500 http=504 @host.name=h1
        c a edge C 400..500 grpc=4 err @host.name=h1
        m c mid S 342..441 in=98 grpc=4 err @host.name=h2
        d m mid C 365..440 grpc=4 err @host.name=h2
        b d back S 427..560 in=73 @host.name=h3";
    check(
        spans,
        "mid shifted 58\nback shifted 0",
        &["! clock_skew mid"],
    );
    // Where it does not fit, the caller's clock is the best guess.
    let both_behind = spans.replace("427..560", "367..500");
    check(&both_behind, "back shifted 58", &[]);
}

#[test]
fn where_no_span_says_its_kind_the_one_around_another_service_is_the_call() {
    // 20 ms in 2,000: the network between edge and be held the rest, and edge 100.
    let spans = "
        a - edge U 0..2100
        b a edge:handle U 10..2090
        c b edge:GET U 50..2050
        d c be U 1050..1070
        e d be:query U 1055..1060";
    let has = "
        edge > be 1/1 hop ok
        row edge local 100
        row edge transit_out > be 1000
        row be local 20
        row edge transit_back > be 980";
    check(spans, has, &[]);
}

#[test]
fn a_span_that_does_more_than_one_call_is_none() {
    let spans = "
        a - edge U 0..100
        b a edge:handle U 10..90
        c b be U 20..40
        d b db U 50..70
        e a edge:work I 90..99
        f e be U 91..98";
    let has = "
        edge > be 1/1 hop ok
        edge > db 1/1 hop ok
        row edge local 53";
    check(spans, has, &["row edge transit"]);
}

#[test]
fn attempts_that_grpc_traces_as_inner_work_are_attempts() {
    let spans = "
        a - edge S 0..1000 in=900
        s a edge:Sent.shop.Stock.Reserve C 10..500
        t s edge:Attempt.shop.Stock.Reserve I 11..200 grpc=14 previous-rpc-attempts=0
        u s edge:Attempt.shop.Stock.Reserve I 300..499 grpc=0 previous-rpc-attempts=1
        x t stock:Recv.shop.Stock.Reserve S 20..190 err
        y u stock:Recv.shop.Stock.Reserve S 310..490";
    let has = "
        edge > stock 1/2 hop failed
        edge > stock 2/2 hop ok
        row edge backoff > stock 100";
    check(spans, has, &["edge > stock 1/1"]);
    // One attempt is the call itself; of other work nothing is known.
    let other = spans.replace("Attempt.", "attempt.");
    check(&other, "edge > stock 1/1 hop ok", &["edge > stock 2"]);
}

#[test]
fn each_try_of_a_proxy_has_its_own_number() {
    let spans = "
        a - edge S 0..1000 in=900
        c a edge C 10..500
        x c stock S 20..190 err x-envoy-attempt-count=1
        y c stock S 310..490 x-envoy-attempt-count=2";
    let has = "
        edge > stock 1/2 hop ok
        edge > stock 2/2 hop ok";
    check(spans, has, &["edge > stock 1/1"]);
}
