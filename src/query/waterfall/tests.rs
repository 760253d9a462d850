use proptest::prelude::*;

use super::*;
use crate::query::fixtures::{call, chain, fan_out, hop, ms, request};

fn row<'a>(waterfall: &'a Waterfall, name: &str, nth: usize) -> &'a Row {
    waterfall
        .rows
        .iter()
        .filter(|row| row.name == name)
        .nth(nth)
        .unwrap()
}

fn kinds(row: &Row) -> Vec<(StretchKind, i64, i64)> {
    row.stretches
        .iter()
        .map(|stretch| {
            (
                stretch.kind,
                stretch.start.0 / 1_000_000,
                stretch.end.0 / 1_000_000,
            )
        })
        .collect()
}

#[test]
fn the_chain_is_drawn_as_in_the_reference() {
    use StretchKind::{Held, Late, LateWaiting, Transit, Waiting};
    let drawn = waterfall(&chain());
    let names: Vec<_> = drawn.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["client", "orders", "inventory", "pricing"]);

    let orders = row(&drawn, "orders", 0);
    assert_eq!(
        kinds(orders),
        [
            (Held, 1, 201),
            (Transit, 201, 202),
            (Waiting, 202, 1000),
            (LateWaiting, 1000, 1306),
            (Late, 1306, 1307)
        ]
    );
    assert_eq!(
        (orders.own, orders.own_late, orders.late),
        (ms(200), ms(1), ms(307))
    );
    assert_eq!((orders.left, orders.sent), (Some(ms(999)), Sent::Nothing));
    assert!(!orders.propagated && orders.told.is_none());
    assert_eq!(orders.overhang, None);

    let inventory = row(&drawn, "inventory", 0);
    assert_eq!(inventory.overhang, Some((ms(1000), ms(1201))));
    assert_eq!(inventory.expected, Some((ms(202), ms(1000))));

    let pricing = row(&drawn, "pricing", 0);
    assert_eq!(kinds(pricing), [(Held, 503, 1000), (Late, 1000, 1303)]);
    assert_eq!((pricing.own, pricing.own_late), (ms(497), ms(303)));
    assert_eq!(pricing.times_typical, Some(121));
    assert!(pricing.culprit && !pricing.surfaced);
    assert_eq!((pricing.left, pricing.sent), (Some(ms(497)), Sent::Leaf));

    let client = row(&drawn, "client", 0);
    assert_eq!(kinds(client), [(Transit, 0, 1), (Waiting, 1, 1000)]);
    assert_eq!(client.given_up, [ms(1000)]);
    assert!(client.surfaced);
    assert_eq!(drawn.deadline, Some(ms(1000)));
    assert_eq!(drawn.ticks, [ms(0), ms(250), ms(500), ms(750), ms(1250)]);
}

#[test]
fn the_fan_out_is_drawn_as_in_the_reference() {
    use StretchKind::{Beside, Held, HeldDependency, Late, LateDependency, LateWaiting, Transit};
    let drawn = waterfall(&fan_out());
    let names: Vec<_> = drawn
        .rows
        .iter()
        .map(|row| (row.depth, row.name.as_str(), row.last))
        .collect();
    assert_eq!(
        names,
        [
            (0, "edge", true),
            (1, "limiter", false),
            (1, "checkout", true),
            (2, "identity", false),
            (2, "cart", false),
            (3, "redis carts", false),
            (3, "catalog", true),
            (2, "inventory", false),
            (3, "postgresql stock", true),
            (2, "inventory", false),
            (3, "postgresql stock", true),
            (2, "payments", true),
            (3, "fraud", false),
            (3, "postgresql payments", true),
        ]
    );
    assert_eq!(kinds(row(&drawn, "identity", 0)), [(Beside, 24, 59)]);

    let stock = row(&drawn, "postgresql stock", 0);
    assert_eq!(
        kinds(stock),
        [(HeldDependency, 440, 934), (LateDependency, 934, 1240)]
    );
    assert_eq!(
        (stock.own, stock.late, stock.left),
        (ms(494), ms(306), Some(ms(494)))
    );
    assert!(stock.culprit && stock.stretches[0].culprit && !stock.stretches[1].culprit);
    assert_eq!(stock.guides, [false, true]);

    let edge = row(&drawn, "edge", 0);
    assert_eq!(
        (edge.own, edge.own_late, edge.sent),
        (ms(4), ms(4), Sent::Budget(ms(1492)))
    );
    assert_eq!(edge.stretches.last().unwrap().part, Some(Part::Local));
    assert!(!row(&drawn, "limiter", 0).propagated);

    let checkout = row(&drawn, "checkout", 0);
    assert_eq!(checkout.given_up, [ms(934), ms(1500)]);
    assert_eq!(row(&drawn, "inventory", 1).attempt, Some((2, 2)));

    let payments = row(&drawn, "payments", 0);
    assert_eq!(
        (payments.left, payments.sent),
        (Some(ms(17)), Sent::Budget(ms(250)))
    );
    assert_eq!(
        kinds(payments),
        [
            (Held, 1483, 1488),
            (Transit, 1488, 1490),
            (StretchKind::Waiting, 1490, 1500),
            (LateWaiting, 1500, 1670),
            (Late, 1670, 1672),
            (LateWaiting, 1672, 1702),
            (Late, 1702, 1704)
        ]
    );
    let fraud = row(&drawn, "fraud", 0);
    assert_eq!((fraud.left, fraud.told), (Some(ms(10)), Some(ms(250))));
    assert_eq!(fraud.overhang, Some((ms(1500), ms(1740))));
    let insert = row(&drawn, "postgresql payments", 0);
    assert_eq!(
        (insert.own, insert.late, insert.left),
        (ms(0), ms(30), Some(ms(-172)))
    );
    assert_eq!(insert.expected, None);
}

#[test]
fn the_strip_is_the_path_with_slivers_merged() {
    let drawn = waterfall(&fan_out());
    let strip = &drawn.strip;
    assert_eq!(strip.first().unwrap().start, ms(0));
    assert_eq!(strip.last().unwrap().end, ms(1504));
    assert!(strip.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!(strip.last().unwrap().kind, StretchKind::Late);

    let mut slivers = chain();
    slivers.path = (0..1_000_000 / 50)
        .map(|i| crate::model::PathSegment {
            hop: i as usize % 2,
            part: Part::Local,
            to: None,
            start: Nanos(i * 50_000),
            end: Nanos(i * 50_000 + 50_000),
        })
        .collect();
    let strip = waterfall(&slivers).strip;
    assert!(strip.len() <= 2_100, "{}", strip.len());
    assert!(strip.windows(2).all(|pair| pair[0].end == pair[1].start));
}

#[test]
fn a_far_deadline_leaves_the_axis_to_the_bars() {
    let mut request = chain();
    request.budget = Some(ms(60_000));
    assert_eq!(waterfall(&request).axis_end, ms(1307).scaled(110, 100));
    request.budget = Some(ms(2_000));
    assert_eq!(waterfall(&request).axis_end, ms(2_200));
}

#[test]
fn ticks_are_round_at_every_scale() {
    for (elapsed, step) in [
        (1_000, 200),
        (7_000, 2_000),
        (60_000_000, 20_000_000),
        (1_307_000_000, 250_000_000),
        (i64::MAX, 2_000_000_000_000_000_000),
    ] {
        let mut one = request(vec![hop(0, None, "a", "b", (0, 0))], None, &[]);
        one.elapsed = Nanos(elapsed);
        let drawn = waterfall(&one);
        assert_eq!(drawn.ticks[1], Nanos(step));
        assert!(drawn.ticks.len() <= 8);
    }
}

#[test]
fn a_large_request_folds_what_is_quiet() {
    let mut hops = vec![hop(0, None, "root", "op", (0, 1000))];
    for id in 1..=60 {
        let mut child = hop(
            id,
            Some(0),
            &format!("s{id}"),
            "op",
            (id as i64 * 10, id as i64 * 10 + 5),
        );
        if id == 30 {
            child.verdict = Verdict::FinishedLate;
        }
        hops[0].calls.push(call(
            &child.service,
            "op",
            Some(id),
            (id as i64 * 10, id as i64 * 10 + 5),
        ));
        hops.push(child);
    }
    let drawn = waterfall(&request(hops, Some(2000), &[]));
    let lines = fold(&drawn);
    let shown: Vec<_> = lines
        .iter()
        .map(|line| match line {
            Line::Row(row) => (*row, 1, 0),
            Line::Folded(folded) => (folded.first, folded.rows, folded.hops),
            Line::HandOver(_) => panic!("nothing was handed over"),
        })
        .collect();
    assert_eq!(shown, [(0, 1, 0), (1, 29, 29), (30, 1, 0), (31, 30, 30)]);
    assert!(matches!(&lines[3], Line::Folded(folded) if folded.last));
    assert_eq!(fold(&waterfall(&chain())).len(), 4);
}

#[test]
fn many_dependency_calls_are_folded_too() {
    let mut root = hop(0, None, "root", "op", (0, 1000));
    root.calls = (0..300)
        .map(|n| call("db", "get", None, (n, n + 1)))
        .collect();
    root.calls[200].verdict = Verdict::Failed;
    let lines = fold(&waterfall(&request(vec![root], Some(2000), &[])));
    let folded: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Row(_) | Line::HandOver(_) => None,
            Line::Folded(folded) => Some((folded.rows, folded.hops)),
        })
        .collect();
    assert_eq!(folded, [(200, 0), (99, 0)]);
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_trace_of_many_rows_and_levels_is_linear() {
    // 20,000 deep: with guides of that length each, this would need gigabytes.
    let hops: Vec<_> = (0..20_000)
        .map(|id| {
            let mut hop = hop(id, id.checked_sub(1), "s", "op", (0, 1000));
            hop.calls = vec![call("s", "op", Some(id + 1), (0, 1000))];
            hop
        })
        .collect();
    let drawn = waterfall(&request(hops, Some(1000), &[]));
    assert_eq!(drawn.rows.len(), 20_000 + 1);
    assert_eq!(drawn.rows[19_999].depth, 19_999);
    assert!(drawn.rows.iter().all(|row| row.guides.len() <= MAX_INDENT));
}

/// A request whose hops, calls and path are whatever they are: only the shape of the types holds.
fn wild() -> impl Strategy<Value = Request> {
    let time = prop_oneof![
        -50_i64..1500,
        Just(i64::MIN / 1_000_000),
        Just(i64::MAX / 1_000_000)
    ];
    let calls = prop::collection::vec(
        (
            prop::option::of(0_usize..8),
            time.clone(),
            -10_i64..900,
            prop::option::of(0_i64..900),
            any::<bool>(),
        ),
        0..5,
    );
    let hops = prop::collection::vec(
        (
            prop::option::of(0_usize..8),
            time.clone(),
            -5_i64..1200,
            prop::option::of(-50_i64..1500),
            0_i64..400,
            calls,
        ),
        1..8,
    );
    let path = prop::collection::vec((0_usize..9, 0_usize..6, time, 0_i64..500), 0..12);
    (hops, path, prop::option::of(-10_i64..1500)).prop_map(|(hops, path, budget)| {
        let hops = hops
            .into_iter()
            .enumerate()
            .map(|(id, (parent, start, elapsed, deadline, wasted, calls))| {
                let mut made = hop(id, parent.filter(|&p| p < id), "s", "op", (0, 0));
                made.start = ms(start);
                made.elapsed = ms(elapsed);
                made.deadline = deadline.map(ms);
                made.own_deadline = deadline.map(ms);
                made.wasted = ms(wasted);
                made.calls = calls
                    .into_iter()
                    .map(|(to, start, elapsed, timeout, waited)| {
                        let mut made = call("dep", "op", to, (0, 0));
                        made.start = ms(start);
                        made.elapsed = ms(elapsed);
                        made.timeout = timeout.map(ms);
                        made.waited = waited;
                        made
                    })
                    .collect();
                made
            })
            .collect();
        let mut made = request(hops, budget, &[]);
        made.path = path
            .into_iter()
            .map(|(hop, part, start, length)| crate::model::PathSegment {
                hop,
                part: [
                    Part::Local,
                    Part::TransitOut,
                    Part::TransitBack,
                    Part::Dependency,
                    Part::Unreported,
                    Part::Backoff,
                ][part],
                to: Some("dep".into()),
                start: ms(start),
                end: ms(start) + ms(length),
            })
            .collect();
        made
    })
}

proptest! {
    #[test]
    fn stretches_lie_in_their_row_in_order_without_overlap(request in wild()) {
        let drawn = waterfall(&request);
        for row in &drawn.rows {
            let mut cursor = row.start;
            for stretch in &row.stretches {
                prop_assert!(stretch.start >= cursor && stretch.end > stretch.start);
                cursor = stretch.end;
            }
            prop_assert!(row.stretches.is_empty() || cursor <= row.end);
        }
        prop_assert!(!fold(&drawn).is_empty());
    }

    /// A nested request with a true path: hops halve their parent's time.
    #[test]
    fn the_path_tiles_the_time_over_all_rows(cuts in prop::collection::vec(1_i64..40, 1..6), deadline in 1_i64..1100) {
        let mut hops = vec![hop(0, None, "s0", "op", (0, 1000))];
        let (mut path, mut tail) = (Vec::new(), Vec::new());
        let (mut start, mut end) = (0, 1000);
        for (i, cut) in cuts.iter().enumerate() {
            let (from, to) = (start + cut, end - cut);
            hops[i].calls.push(call("dep", "op", None, (from, from + 2)));
            hops[i].calls.push(call("x", "op", Some(i + 1), (from + 2, to)));
            hops.push(hop(i + 1, Some(i), "x", "op", (from + 3, to - 1)));
            path.push((i, Part::Local, None, start, from));
            path.push((i, Part::Dependency, Some("dep"), from, from + 2));
            path.push((i, Part::TransitOut, Some("x"), from + 2, from + 3));
            tail.push((i, Part::Local, None, to, end));
            tail.push((i, Part::TransitBack, Some("x"), to - 1, to));
            (start, end) = (from + 3, to - 1);
        }
        path.push((cuts.len(), Part::Local, None, start, end));
        path.extend(tail.into_iter().rev());
        for hop in &mut hops {
            hop.deadline = Some(ms(deadline));
            hop.wasted = (hop.start + hop.elapsed - ms(deadline).max(hop.start)).at_least_zero();
        }
        let request = request(hops, Some(deadline), &path);
        let drawn = waterfall(&request);
        let mut solid: Vec<_> = drawn.rows.iter().flat_map(|row| &row.stretches)
            .filter(|stretch| stretch.part.is_some()).collect();
        solid.sort_by_key(|stretch| stretch.start);
        let mut cursor = Nanos::ZERO;
        for stretch in solid {
            prop_assert_eq!(stretch.start, cursor);
            cursor = stretch.end;
        }
        prop_assert_eq!(cursor, request.elapsed);
        for row in drawn.rows.iter().filter(|row| row.call.is_none()) {
            let late: Nanos = row.stretches.iter()
                .filter(|s| matches!(s.kind, StretchKind::Late | StretchKind::LateWaiting))
                .map(|s| s.end - s.start).sum();
            prop_assert_eq!(late, request.hops[row.hop].wasted);
            prop_assert_eq!(late, row.late);
        }
    }
}

#[test]
fn raw_clocks_move_each_row_by_what_aligned_it() {
    let mut request = chain();
    request.hops[2].clock_offset = ms(7);
    let aligned = waterfall(&request);
    let raw = aligned.on_own_clocks(&request);
    for (one, other) in aligned.rows.iter().zip(&raw.rows) {
        let by = request.hops[one.hop].clock_offset;
        assert_eq!((one.start, one.end), (other.start + by, other.end + by));
        assert_eq!(one.deadline, other.deadline.map(|deadline| deadline + by));
        assert_eq!(
            (one.left, one.own, one.late),
            (other.left, other.own, other.late)
        );
    }
    assert_eq!(aligned.strip, raw.strip);
}
