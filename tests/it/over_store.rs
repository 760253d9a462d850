//! What the store is asked gives the numbers that adding up each request gives.

use std::path::Path;
use std::sync::Arc;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Request, Trace};
use dwindle::otlp::Limits;
use dwindle::query::aggregate::OverStore;
use dwindle::query::calls::Calls;
use dwindle::query::filter::Filter;
use dwindle::query::hops::Hops;
use dwindle::query::requests;
use dwindle::query::rules::Findings;
use dwindle::query::scan::Selection;
use dwindle::query::sheet::Sheet;
use dwindle::store::{Options, Snapshot, Store, Stored, Window};

use crate::support;

/// The samples, some of them again at other times: their ids and spans are their own then.
fn traces() -> (Vec<Stored>, Vec<Request>) {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let (mut traces, mut requests) = (Vec::new(), Vec::new());
    for copy in 0..5_u8 {
        let each = loaded.traces.iter().enumerate();
        for (number, trace) in each.filter(|(number, _)| number % 5 >= usize::from(copy)) {
            let trace = again(trace, copy, number as u64);
            let analysis = analyse(&trace, &Policy::default(), &Typical::default());
            requests.extend(analysis.requests.iter().cloned());
            traces.push(Stored {
                trace: Arc::new(trace),
                analysis: Arc::new(analysis),
                sample: false,
                log_from: u64::MAX,
            });
        }
    }
    (traces, requests)
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

/// The same in a folder: the first in parts, some of them superseded, in a part and in memory.
fn in_folder(folder: &Path, traces: &[Stored]) -> Store {
    let store = Store::open(folder, Options::default()).unwrap();
    let put = |traces: &mut dyn Iterator<Item = &Stored>| {
        for stored in traces {
            store.put(stored.clone());
        }
    };
    let (first, others) = traces.split_at(traces.len() / 2);
    put(&mut first.iter());
    store.flush().unwrap();
    // The newer state is the same: what counts is that the older one is not counted too.
    put(&mut first.iter().step_by(3).chain(others));
    store.flush().unwrap();
    put(&mut first.iter().skip(1).step_by(3));
    store
}

#[test]
fn the_store_and_the_requests_give_the_same_sums() {
    let (traces, requests) = traces();
    assert!(requests.len() > 60);
    let in_memory = Store::in_memory(10_000, usize::MAX);
    traces.iter().cloned().for_each(|stored| {
        in_memory.put(stored);
    });
    let folder = tempfile::tempdir().unwrap();
    let in_folder = in_folder(folder.path(), &traces);
    assert!(in_folder.stats().parts > 2, "{:?}", in_folder.stats());
    for snapshot in [in_memory.snapshot(), in_folder.snapshot()] {
        same::<Hops>(&snapshot, &requests);
        same::<Calls>(&snapshot, &requests);
        same::<Findings>(&snapshot, &requests);
    }
}

#[test]
fn the_list_finds_every_trace_by_its_id_wherever_it_lies() {
    let (traces, requests) = traces();
    let folder = tempfile::tempdir().unwrap();
    let store = in_folder(folder.path(), &traces);
    let snapshot = store.snapshot();
    for stored in &traces {
        let id = stored.trace.id;
        for order in ["newest", "start", "-elapsed"] {
            let mut query = requests::Query {
                sort: order.parse().unwrap(),
                ..requests::Query::default()
            };
            query.selection.filter = Some(Filter::parse(&format!("trace_id={id}")).unwrap());
            let page = requests::page(&snapshot, &query).unwrap();
            let wanted = requests.iter().filter(|request| request.trace_id == id);
            assert_eq!(page.rows.len(), wanted.count(), "{id} by {order}");
            assert!(page.rows.iter().all(|row| row.trace_id == id));
        }
    }
}
