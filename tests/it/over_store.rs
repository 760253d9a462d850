//! What the store is asked gives the numbers that adding up each request gives.

use std::sync::Arc;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Request, Trace};
use dwindle::otlp::Limits;
use dwindle::query::aggregate::OverStore;
use dwindle::query::calls::Calls;
use dwindle::query::filter::Filter;
use dwindle::query::hops::Hops;
use dwindle::query::rules::Findings;
use dwindle::query::scan::Selection;
use dwindle::query::sheet::Sheet;
use dwindle::store::{Snapshot, Store, Stored, Window};

use crate::support;

/// The samples, some of them again at other times: their ids and spans are their own then.
fn store() -> (Store, Vec<Request>) {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let store = Store::in_memory(10_000, usize::MAX);
    let mut requests = Vec::new();
    for copy in 0..5_u8 {
        let each = loaded.traces.iter().enumerate();
        for (number, trace) in each.filter(|(number, _)| number % 5 >= usize::from(copy)) {
            let trace = again(trace, copy, number as u64);
            let analysis = analyse(&trace, &Policy::default(), &Typical::default());
            requests.extend(analysis.requests.iter().cloned());
            store.put(Stored {
                trace: Arc::new(trace),
                analysis: Arc::new(analysis),
                sample: false,
                log_from: u64::MAX,
            });
        }
    }
    (store, requests)
}

fn again(trace: &Trace, copy: u8, number: u64) -> Trace {
    let mut trace = trace.clone();
    trace.id.0[0] ^= copy;
    for span in &mut trace.spans {
        span.trace_id = trace.id;
        span.start.0 += u64::from(copy) * 3_600_000_000_000;
        span.end.0 += u64::from(copy) * (3_600_000_000_000 + number * 1_234_567);
    }
    trace
}

fn same<T: OverStore>(snapshot: &Snapshot, requests: &[Request]) {
    let filters = [
        None,
        Some("outcome=missed"),
        Some("hop.verdict=finished_late or wasted > 700ms"),
        Some("spans > 100000"),
    ];
    for filter in filters {
        let filter = filter.map(|text| Filter::parse(text).unwrap());
        let newest = requests.iter().map(|request| request.start).max();
        for window in [
            Window::ALL,
            Window {
                since: None,
                until: newest,
            },
        ] {
            let mut sum = T::default();
            let of = |request: &&Request| {
                window.has(request.start)
                    && filter.as_ref().is_none_or(|filter| filter.matches(request))
            };
            requests
                .iter()
                .filter(of)
                .for_each(|request| sum.add(request));
            let selection = Selection {
                filter: filter.clone(),
                window,
            };
            let stored = T::over(snapshot, &selection).unwrap();
            let (sum, stored): (Sheet, Sheet) = (sum.sheet(), stored.sheet());
            assert_eq!(stored.rows, sum.rows, "{selection:?}");
        }
    }
}

#[test]
fn the_store_and_the_requests_give_the_same_sums() {
    let (store, requests) = store();
    assert!(requests.len() > 60);
    let snapshot = store.snapshot();
    same::<Hops>(&snapshot, &requests);
    same::<Calls>(&snapshot, &requests);
    same::<Findings>(&snapshot, &requests);
}
