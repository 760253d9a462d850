//! Pages, cursors and places over a store that fills.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::model::{Analysis, Nanos, Request, SpanId, Trace, TraceId, UnixNanos};
use crate::query::filter::Filter;
use crate::query::fixtures::{chain, fan_out, ms};
use crate::store::{Store, Stored, Window};

pub(super) fn put_request(store: &Store, request: Request) {
    store.put(Stored {
        trace: Arc::new(Trace::default()),
        analysis: Arc::new(Analysis {
            trace_id: request.trace_id,
            requests: vec![request],
            failed: false,
        }),
        sample: false,
        log_from: u64::MAX,
    });
}

pub(super) fn put(store: &Store, n: u8, start: u64, wasted: i64, outcome: Outcome) {
    let mut request = chain();
    request.trace_id = TraceId([n; 16]);
    request.start = UnixNanos(start);
    request.wasted = ms(wasted);
    request.outcome = outcome;
    put_request(store, request);
}

fn ids(page: &Page) -> Vec<u8> {
    page.rows.iter().map(|row| row.trace_id.0[0]).collect()
}

fn all(count: usize) -> Matching {
    Matching {
        count,
        is_all: true,
    }
}

/// Hours apart, so that pages go from one to the next.
const HOUR: u64 = 3_600_000_000_000;

fn store() -> Store {
    let store = Store::in_memory(1000, usize::MAX);
    put(&store, 1, HOUR, 5, Outcome::Missed);
    put(&store, 2, 3 * HOUR, 0, Outcome::Met);
    put(&store, 3, 2 * HOUR, 9, Outcome::Missed);
    put(&store, 4, 2 * HOUR, 0, Outcome::Met);
    store
}

fn asked(store: &Store, query: &Query) -> Page {
    page(&store.snapshot(), query).unwrap()
}

fn by(text: &str) -> Query {
    Query {
        sort: text.parse().unwrap(),
        ..Query::default()
    }
}

fn matching(text: &str) -> Query {
    Query {
        selection: Selection {
            filter: Some(Filter::parse(text).unwrap()),
            window: Window::ALL,
        },
        ..Query::default()
    }
}

#[test]
fn lists_are_in_their_order_and_filtered() {
    let store = store();
    let list = |query: Query| ids(&asked(&store, &query));
    assert_eq!(list(Query::default()), [2, 4, 3, 1]);
    for (order, wanted) in [
        ("worst", [3, 1, 2, 4]),
        ("-start", [2, 4, 3, 1]),
        ("start", [1, 3, 4, 2]),
        ("-wasted", [3, 1, 4, 2]),
        ("wasted:asc", [4, 2, 1, 3]),
        ("outcome", [1, 3, 4, 2]),
        ("-trace_id", [4, 3, 2, 1]),
        ("service", [1, 3, 4, 2]),
    ] {
        assert_eq!(list(by(order)), wanted, "{order}");
    }
    let missed = Query {
        outcome: Some(Outcome::Missed),
        ..Query::default()
    };
    let missed = asked(&store, &missed);
    assert_eq!((ids(&missed), missed.matching), (vec![3, 1], all(2)));
    assert_eq!(missed.counts.of(Outcome::Met), 2);
    assert_eq!(missed.counts.total(), 4);
    let wasteful = asked(&store, &matching("wasted > 4ms and not trace_id=03"));
    assert_eq!((ids(&wasteful), wasteful.counts.total()), (vec![1], 1));
    assert_eq!(wasteful.held, 4);
    assert_eq!(list(matching("hop.service=pricing and trace_id=0404")), [4]);
    let window = Query {
        selection: Selection {
            filter: None,
            window: Window {
                since: Some(UnixNanos(2 * HOUR)),
                until: Some(UnixNanos(3 * HOUR)),
            },
        },
        ..Query::default()
    };
    let window = asked(&store, &window);
    assert_eq!((ids(&window), window.counts.total()), (vec![4, 3], 2));
}

#[test]
fn pages_neither_repeat_nor_skip_while_rows_arrive() {
    // The new row stands before the first in each of these orders.
    for (order, want) in [
        ("newest", [2, 4, 3, 1]),
        ("worst", [3, 1, 2, 4]),
        ("-elapsed", [1, 3, 4, 2]),
        ("-culprit.typical", [1, 3, 4, 2]),
    ] {
        let store = store();
        let mut query = Query {
            limit: 1,
            ..by(order)
        };
        let mut seen = Vec::new();
        loop {
            let page = asked(&store, &query);
            seen.extend(ids(&page));
            let Some(next) = page.next else { break };
            query.cursor = Some(next.to_string().parse().unwrap());
            let mut early = chain();
            early.trace_id = TraceId([100 + seen.len() as u8; 16]);
            early.start = UnixNanos(99 * HOUR);
            early.wasted = ms(99);
            early.elapsed = ms(99_999);
            early.culprit.as_mut().unwrap().typical = Some(ms(99_999));
            put_request(&store, early);
        }
        assert_eq!(seen, want, "{order}");
    }
}

#[test]
fn a_request_knows_its_neighbours_with_the_same_outcome() {
    let store = store();
    put(&store, 5, 2 * HOUR + 7, 0, Outcome::Met);
    let found = asked(&store, &Query::default());
    assert_eq!(ids(&found), [2, 5, 4, 3, 1]);
    let place = |row: usize| {
        let row = &found.rows[row];
        let this = (row.trace_id, row.request);
        place(&store.snapshot(), row.outcome, row.start, this)
            .unwrap()
            .unwrap()
    };
    let neighbours = |row| {
        let Place {
            position,
            of,
            before,
            after,
        } = place(row);
        let first = |one: Option<(TraceId, SpanId)>| one.map_or(0, |(trace, _)| trace.0[0]);
        (position, of, first(before), first(after))
    };
    assert_eq!(neighbours(0), (1, 3, 0, 5));
    assert_eq!(neighbours(1), (2, 3, 2, 4));
    assert_eq!(neighbours(2), (3, 3, 5, 0));
    assert_eq!(neighbours(3), (1, 2, 0, 1));
    assert_eq!(neighbours(4), (2, 2, 3, 0));
    let nobody = (TraceId([9; 16]), SpanId([9; 8]));
    let snapshot = store.snapshot();
    let none = super::place(&snapshot, Outcome::Met, UnixNanos(HOUR), nobody);
    assert_eq!(none.unwrap(), None);
}

#[test]
fn a_text_that_is_no_cursor_is_refused() {
    for text in [
        "",
        "1.2.3",
        "a.b.c.d.e",
        "1.2.3.00.00",
        "0.0.1.2.3.4",
        "1.cec32d1bd57f4f1cb7b6a3d2c1d44f2b.00f067aa0ba902b7.xy.newest",
        "1.cec32d1bd57f4f1cb7b6a3d2c1d44f2b.00f067aa0ba902b7..oldest",
    ] {
        assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
    }
    let store = store();
    let first = Query {
        limit: 1,
        ..by("service")
    };
    let cursor = asked(&store, &first).next;
    assert!(
        cursor
            .as_ref()
            .unwrap()
            .to_string()
            .contains("x636c69656e74")
    );
    let other = Query {
        cursor,
        ..Query::default()
    };
    let refused = page(&store.snapshot(), &other).unwrap_err();
    assert!(matches!(refused, crate::query::QueryError::Cursor(_)));
}

#[test]
fn a_row_says_what_its_request_says() {
    let store = Store::in_memory(10, usize::MAX);
    let mut odd = fan_out();
    odd.trace_id = TraceId([7; 16]);
    odd.start = UnixNanos(odd.start.0 + 1);
    odd.notes = vec![crate::model::Note::MissingParent(2)];
    odd.budget = None;
    let requests = [odd, chain()];
    for request in &requests {
        put_request(&store, request.clone());
    }
    let query = Query {
        findings: true,
        ..Query::default()
    };
    let rows = asked(&store, &query).rows;
    assert_eq!(rows.len(), 2);
    for (row, request) in rows.iter().zip(&requests) {
        let text = |listed: Listed<'_>| serde_json::to_string(&listed).unwrap();
        assert_eq!(text(row.into()), text(request.into()));
        assert_eq!(Listed::from(row).rules(), Listed::from(request).rules());
        assert!(row.largest.is_some());
    }
}

proptest! {
    /// However the requests lie, whatever the order: the pages one after the other are the list,
    /// and the list is in the order that files are listed in.
    #[test]
    fn the_pages_are_the_list(
        seeds in prop::collection::vec(any::<[u8; 4]>(), 0..16),
        limit in 1_usize..5,
        filter in prop::sample::select(&["", "wasted > 0ms", "hop.service=pricing and not call.to=nobody", "complete=true or hop.verdict=ok"][..]),
        order in prop::sample::select(&["newest", "worst", "-wasted", "budget", "-culprit.share", "operation", "-used", "complete", "surfaced.verdict", "start"][..]),
    ) {
        let store = Store::in_memory(100, usize::MAX);
        let mut requests = Vec::new();
        for (n, [start, wasted, budget, word]) in seeds.into_iter().enumerate() {
            let mut request = chain();
            request.trace_id = TraceId([n as u8; 16]);
            request.start = UnixNanos(u64::from(start % 4) * HOUR / 2);
            request.wasted = Nanos(i64::from(wasted % 3) * 333_333);
            request.budget = (budget % 4 > 0).then(|| ms(i64::from(budget % 3) * 500));
            request.complete = word % 2 == 0;
            request.operation = ["a", "", "\u{e9}", "b_c.d"][usize::from(word % 4)].into();
            request.surfaced = request.surfaced.filter(|_| word % 3 > 0);
            if word % 5 == 0 {
                request.culprit = None;
            }
            put_request(&store, request.clone());
            requests.push(request);
        }
        let filter = Some(filter).filter(|text| !text.is_empty());
        let filter = filter.map(|text| Filter::parse(text).unwrap());
        requests.retain(|request| filter.as_ref().is_none_or(|filter| filter.matches(request)));
        let sort: Sort = order.parse().unwrap();
        let ids = |request: &Request| (request.start, request.trace_id, request.request);
        requests.sort_by(|a, b| match sort {
            Sort::Newest => ids(b).cmp(&ids(a)),
            Sort::Worst => {
                let over = |r: &Request| r.budget.map_or(Nanos::ZERO, |b| (r.elapsed - b).at_least_zero());
                (b.wasted, over(b), ids(b)).cmp(&(a.wasted, over(a), ids(a)))
            }
            Sort::By(by) => by.key(a).compare(&by.key(b), by.descending).then_with(|| ids(a).cmp(&ids(b))),
        });
        let wanted: Vec<TraceId> = requests.iter().map(|request| request.trace_id).collect();
        let selection = Selection { filter, window: Window::ALL };
        let mut query = Query { selection, sort, limit, ..Query::default() };
        let mut seen = Vec::new();
        loop {
            let page = asked(&store, &query);
            prop_assert!(page.rows.len() <= limit);
            prop_assert_eq!(page.matching, all(wanted.len()));
            seen.extend(page.rows.iter().map(|row| row.trace_id));
            let Some(next) = page.next else { break };
            prop_assert_eq!(page.rows.len(), limit);
            query.cursor = Some(next.to_string().parse().unwrap());
        }
        prop_assert_eq!(seen, wanted, "{}", order);
    }
}
