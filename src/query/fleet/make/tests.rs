//! The answers over a few requests of which every number is known.

use std::sync::Arc;

use super::*;
use crate::model::{Analysis, Outcome, Part, Request, Rule, SpanId, Text, Trace, TraceId, Verdict};
use crate::query::fixtures::{chain, fan_out, ms};
use crate::query::fleet::findings::Which;
use crate::query::fleet::services::Edge;
use crate::store::{Store, Stored};

/// 2026-10-07 09:00 UTC.
const NINE: u64 = 1_791_363_600_000_000_000;

fn put(store: &Store, number: u64, minute: u64, mut request: Request) {
    let trace_id = TraceId(u128::from(number + 1).to_be_bytes());
    request.trace_id = trace_id;
    request.request = SpanId((number + 1).to_be_bytes());
    request.start = UnixNanos(NINE + minute * MINUTE + number);
    let trace = Trace {
        id: trace_id,
        ..Trace::default()
    };
    store.put(Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(Analysis {
            trace_id,
            requests: vec![request],
            ..Analysis::default()
        }),
        sample: false,
        log_from: u64::MAX,
    });
}

fn met() -> Request {
    let mut request = chain();
    request.outcome = Outcome::Met;
    (request.culprit, request.surfaced) = (None, None);
    request.wasted = ms(0);
    request
}

fn ask(from: u64, until: u64) -> Ask {
    let at = |minute: u64| UnixNanos(NINE + minute * MINUTE);
    Ask {
        window: Stretch {
            since: at(from),
            until: at(until),
        },
        now: at(until),
        buckets: 60,
        rows: 10,
    }
}

/// An hour: thirty met requests a minute, and from 09:40 on one in three of them missed.
fn store() -> Store {
    let store = Store::in_memory(usize::MAX, usize::MAX);
    let mut number = 0;
    for minute in 0..60 {
        for one in 0..30 {
            let missed = minute >= 40 && one % 3 == 0;
            let request = if missed { chain() } else { met() };
            put(&store, number, minute, request);
            number += 1;
        }
    }
    store
}

#[test]
fn the_overview_adds_up() {
    let store = store();
    let page = overview(&store.snapshot(), &ask(30, 60)).unwrap();
    assert_eq!((page.now.requests, page.now.budgeted), (900, 900));
    assert_eq!(
        page.now.missed(),
        Share {
            part: 200,
            whole: 900
        }
    );
    assert_eq!(
        page.before.missed(),
        Share {
            part: 0,
            whole: 900
        }
    );
    assert_eq!(page.now.wasted, chain().wasted.scaled(200, 1));
    let slots = page.now.wasted.0 / (30 * MINUTE as i64 / 1000);
    assert!((page.now.wasted_slots.0 - slots).abs() <= 1);
    // Every request took all of its budget.
    assert!((page.now.used_p99.unwrap().0 - 1000).abs() < 8);
    assert_eq!((page.step, page.series.len()), (Nanos(MINUTE as i64), 30));
    let sum: u64 = page
        .series
        .iter()
        .map(|bucket| bucket.totals.requests)
        .sum();
    assert_eq!(sum, 900);
    assert!(page.series.iter().all(|bucket| !bucket.partial));
    let change = page.change.unwrap();
    assert_eq!(change.at, UnixNanos(NINE + 40 * MINUTE));
    assert_eq!(
        (change.before.part, change.after),
        (
            0,
            Share {
                part: 200,
                whole: 600
            }
        )
    );

    // The ledger of each missed request, up to its deadline.
    let spent = &page.spent;
    assert_eq!((spent.requests, spent.held), (200, ms(1000).scaled(200, 1)));
    let held: Nanos = spent.rows.iter().map(|row| row.held).sum();
    assert_eq!(held + spent.others_held, spent.held);
    let first = &spent.rows[0];
    assert_eq!(
        (first.service.as_str(), first.part, first.requests),
        ("pricing", Part::Local, 200)
    );
    assert_eq!(first.held, ms(497).scaled(200, 1));
    assert_eq!((first.typical, first.trend), (None, None));

    let matrix = &page.matrix;
    assert_eq!(
        (matrix.all, matrix.same, matrix.cells.clone()),
        (200, 0, vec![vec![200]])
    );
    assert_eq!(matrix.surfaced[0].service, "client");
    assert_eq!(matrix.spent[0].service, "pricing");
    assert_eq!((page.worst.len(), page.newest.len()), (5, 5));
    assert_eq!(page.newest[0].start.0, NINE + 59 * MINUTE + 59 * 30 + 27);
    assert!(
        page.newest
            .is_sorted_by_key(|row| std::cmp::Reverse(row.start))
    );
    let words = page.sentence.to_string().replace('\u{a0}', " ");
    assert_eq!(
        words,
        "Since 09:40, 33.3 % of requests miss their deadline, none before. \u{25c6} pricing held \
         49.7 % of the budget lost."
    );
    let words = page.second.to_string().replace('\u{a0}', " ");
    assert!(
        words.starts_with("\u{2691} 100 % of the misses surface at client"),
        "{words}"
    );
}

#[test]
fn a_change_counts_what_came_since_then_also_where_that_is_not_over() {
    let store = store();
    let ask = Ask {
        buckets: 4,
        now: UnixNanos(NINE + 59 * MINUTE),
        ..ask(0, 60)
    };
    let page = overview(&store.snapshot(), &ask).unwrap();
    assert!(page.series.last().unwrap().partial);
    let change = page.change.unwrap();
    assert_eq!(change.at, UnixNanos(NINE + 30 * MINUTE));
    let (before, after) = (change.before, change.after);
    assert_eq!((before.part, before.whole), (0, 900));
    assert_eq!((after.part, after.whole), (200, 900));
    // Slow requests of what is not over have yet to come: fewer misses there are no fall.
    let quiet = Store::in_memory(usize::MAX, usize::MAX);
    for number in 0..1800 {
        let minute = number / 30;
        let request = if minute < 45 { chain() } else { met() };
        put(&quiet, number, minute, request);
    }
    let page = overview(&quiet.snapshot(), &ask).unwrap();
    assert_eq!(page.change, None);
}

#[test]
fn callers_of_an_operation_are_found_whatever_they_call_it() {
    let store = Store::in_memory(usize::MAX, usize::MAX);
    let mut request = chain();
    for hop in &mut request.hops {
        for call in &mut hop.calls {
            call.operation = "GET".into();
        }
    }
    put(&store, 1, 1, request);
    let snapshot = store.snapshot();
    let callers = |operation| {
        let page = service(&snapshot, &ask(0, 60), "pricing", Some(operation)).unwrap();
        let callers = page.map(|page| page.callers).unwrap_or_default();
        let name = |edge: &Edge| {
            format!(
                "{} {}",
                edge.service,
                edge.operation.as_deref().unwrap_or_default()
            )
        };
        callers.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(callers("Quote"), ["inventory GET"]);
    assert_eq!(callers("GET"), [] as [&str; 0]);
}

#[test]
fn the_map_calls_missed_what_a_deadline_or_a_timeout_ended() {
    let store = Store::in_memory(usize::MAX, usize::MAX);
    put(&store, 1, 1, chain());
    let mut failed = met();
    for hop in &mut failed.hops {
        hop.verdict = Verdict::Failed;
        hop.calls
            .iter_mut()
            .for_each(|call| call.verdict = Verdict::CancelledByCaller);
    }
    put(&store, 2, 1, failed);
    let page = map(&store.snapshot(), &ask(0, 60)).unwrap();
    let half = Share { part: 1, whole: 2 };
    assert!(
        page.nodes.iter().all(|node| node.missed == half),
        "{:?}",
        page.nodes
    );
    assert!(
        page.edges
            .iter()
            .all(|edge| (edge.missed, edge.calls) == (1, 2))
    );
}

#[test]
fn the_sentence_of_the_findings_is_of_those_that_are_shown() {
    let store = store();
    let said = |which: Which| {
        let page = findings(&store.snapshot(), &ask(0, 60), &which).unwrap();
        page.sentence.to_string().replace('\u{a0}', " ")
    };
    let all = said(Which::default());
    assert!(all.starts_with("16,200 cases of 4 rules."), "{all}");
    let one = said(Which {
        rule: Some(Rule::InvertedTimeout),
        ..Which::default()
    });
    assert!(one.starts_with("3,600 cases of 1 rule."), "{one}");
    let nobody = said(Which {
        service: Some("nobody".into()),
        ..Which::default()
    });
    assert_eq!(
        nobody,
        "Nothing of what was asked for is found in this stretch of time."
    );
}

#[test]
fn an_empty_stretch_and_an_empty_store_say_so() {
    for store in [store(), Store::in_memory(1, usize::MAX)] {
        let snapshot = store.snapshot();
        let ask = ask(200, 230);
        let page = overview(&snapshot, &ask).unwrap();
        assert_eq!(
            page.sentence.to_string(),
            "No request started in this stretch of time."
        );
        assert_eq!(page.series.len(), 30);
        assert_eq!((page.now.missed().whole, page.change), (0, None));
        assert!(services(&snapshot, &ask).unwrap().rows.is_empty());
        assert!(service(&snapshot, &ask, "pricing", None).unwrap().is_none());
        assert!(map(&snapshot, &ask).unwrap().nodes.is_empty());
        let found = findings(&snapshot, &ask, &Which::default()).unwrap();
        assert!(found.groups.is_empty() && found.rules.is_empty());
        assert_eq!(coverage(&snapshot, &ask).unwrap().now.all, 0);
    }
}

#[test]
fn a_service_knows_its_callers_and_callees() {
    let store = store();
    let snapshot = store.snapshot();
    let page = service(&snapshot, &ask(0, 60), "inventory", None)
        .unwrap()
        .unwrap();
    assert_eq!(
        (page.now.runs, page.before.runs, page.missed),
        (1800, 0, 200)
    );
    assert_eq!(page.operations.len(), 1);
    let arrivals: u64 = page.arrivals.iter().map(|bin| bin.arrivals).sum();
    assert_eq!(arrivals, page.now.budgeted);
    assert!(page.arrivals.iter().all(|bin| bin.in_time <= bin.arrivals));
    let hop = chain()
        .hops
        .into_iter()
        .find(|hop| hop.service == "inventory")
        .unwrap();
    let left = page.now.remaining.p50.unwrap() - hop.remaining_in.unwrap();
    assert!(left.abs() <= hop.remaining_in.unwrap().scaled(1, 128));
    let callers: Vec<_> = page
        .callers
        .iter()
        .map(|edge| (&*edge.service, edge.calls))
        .collect();
    assert_eq!(callers, [("orders", 1800)]);
    let callees: Vec<_> = page
        .callees
        .iter()
        .map(|edge| (&*edge.to, edge.calls))
        .collect();
    assert_eq!(callees, [("pricing", 1800)]);
    assert!(
        page.findings
            .iter()
            .any(|group| group.rule == Rule::InvertedTimeout)
    );
    assert_eq!(
        page.series.iter().map(|bucket| bucket.runs).sum::<u64>(),
        1800
    );
    let none = service(&snapshot, &ask(0, 60), "inventory", Some("other")).unwrap();
    assert!(none.is_none());
    let list = services(&snapshot, &ask(0, 60)).unwrap();
    let names: Vec<_> = list.rows.iter().map(|row| row.service.as_str()).collect();
    assert_eq!(names[0], "pricing");
    assert_eq!(names.len(), 4);
}

#[test]
fn the_map_runs_from_the_roots_and_takes_a_cycle() {
    let store = Store::in_memory(usize::MAX, usize::MAX);
    put(&store, 0, 0, fan_out());
    put(&store, 1, 0, chain());
    // pricing calls the client that began it all.
    let mut cyclic = chain();
    let mut call = cyclic.hops[2].calls[0].clone();
    (call.to, call.hop) = (Text::from("client"), Some(0));
    cyclic.hops[3].calls.push(call);
    put(&store, 2, 0, cyclic);
    let map = map(&store.snapshot(), &ask(0, 1)).unwrap();
    let depth = |name: &str| {
        let node = map.nodes.iter().find(|node| node.name == name);
        node.map(|node| (node.depth, node.root))
    };
    assert_eq!(depth("client"), Some((0, true)));
    assert_eq!(depth("orders"), Some((1, false)));
    assert!(depth("pricing").unwrap().0 > depth("inventory").unwrap().0);
    let back = map.edges.iter().find(|edge| edge.to == "client");
    assert_eq!(
        back.map(|edge| (edge.service.as_str(), edge.calls)),
        Some(("pricing", 1))
    );
    assert!(
        map.nodes
            .iter()
            .any(|node| node.numbers.is_none() && node.runs > 0)
    );
}

#[test]
fn findings_and_coverage_have_their_counts_and_examples() {
    let store = store();
    let snapshot = store.snapshot();
    let found = findings(&snapshot, &ask(30, 60), &Which::default()).unwrap();
    let first = &found.groups[0];
    assert_eq!(
        (first.rule, first.count, first.requests),
        (Rule::NotPropagated, 900, 900)
    );
    assert_eq!((first.count_before, first.since.0), (900, NINE));
    assert!(first.since_or_before && !first.message.is_empty() && !first.hint.is_empty());
    assert_eq!(first.trend.iter().sum::<u64>(), 900);
    assert_eq!(first.newest.start.0, NINE + 59 * MINUTE + 1799);
    let which = Which {
        rule: Some(Rule::InvertedTimeout),
        service: Some("pricing".into()),
        ..Which::default()
    };
    let some = findings(&snapshot, &ask(30, 60), &which).unwrap();
    assert_eq!(some.groups.len(), 1);
    assert_eq!(some.groups[0].to.as_deref(), Some("pricing"));

    let page = coverage(&snapshot, &ask(30, 60)).unwrap();
    assert_eq!(
        (page.now.all, page.now.not_propagated, page.now.propagated),
        (2700, 2700, 0)
    );
    // Only the client has a deadline of its own; the others inherit.
    let breaks: Vec<_> = page
        .breaks
        .iter()
        .map(|one| (&*one.service, &*one.to, one.calls))
        .collect();
    assert_eq!(breaks, [("client", "orders", 900)]);
    assert!(page.breaks[0].newest.is_some());
    assert_eq!(page.edges.len(), 3);
}

#[test]
fn the_bucket_that_is_not_over_is_told() {
    let mut ask = ask(0, 63);
    ask.now = UnixNanos(ask.window.until.0 - 1);
    (ask.buckets, ask.window.since.0) = (13, NINE + 1);
    let frame = Frame::of(&ask);
    assert_eq!((frame.step, frame.window.since.0), (5, NINE));
    let partial: Vec<bool> = frame.buckets().map(|(_, partial)| partial).collect();
    assert_eq!(partial, [[false; 12].as_slice(), &[true]].concat());
    // However few buckets are asked for, there are no more.
    for buckets in 1..40 {
        ask.buckets = buckets;
        assert!(
            Frame::of(&ask).buckets().count() <= buckets.max(2),
            "{buckets}"
        );
    }
}
