//! The store in a folder: what was put is there once, in its newest state, whatever is flushed,
//! merged, removed, stopped or broken meanwhile.

mod crash;
mod format;
mod hours;
mod readers;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{
    Kind, Nanos, Note, Outcome, Span, Surfaced, Trace, TraceId, UnixNanos, Verdict,
};
use dwindle::store::tables::Table;
use dwindle::store::{
    OpenError, Options, Passed, Snapshot, Store, StoreError, Stored, Wanted, Window,
};

use crate::spans::{START, log, span, trace_id};

pub(crate) const HOUR: u64 = 3_600_000_000_000;

/// A trace whose requests start in hour `hour`, of `spans` spans in one chain of calls.
pub(crate) fn chain(trace: u64, hour: u64, spans: u64) -> Trace {
    let start = START + hour * HOUR + trace * 1_000;
    let spans = (1..=spans).map(|id| {
        let mut span = span(trace, id, (id > 1).then(|| id - 1));
        span.kind = if id % 2 == 0 {
            Kind::Client
        } else {
            Kind::Server
        };
        span.start = UnixNanos(start + id * 1_000_000);
        span.end = UnixNanos(start + 1_000_000_000 - id * 1_000_000);
        span
    });
    Trace {
        id: trace_id(trace),
        spans: spans.collect(),
        logs: vec![log(trace, 1)],
    }
}

pub(crate) fn stored(trace: Trace, revision: u32) -> Stored {
    let mut analysis = analyse(&trace, &Policy::default(), &Typical::default());
    for request in &mut analysis.requests {
        request.revision = revision;
    }
    Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: 7,
    }
}

pub(crate) fn options() -> Options {
    Options {
        grace: Duration::ZERO,
        ..Options::default()
    }
}

pub(crate) fn open(folder: &Path) -> Store {
    Store::open(folder, options()).unwrap()
}

/// Every request's revision and number of spans.
pub(crate) type Rows = BTreeMap<(String, String), (i64, i64)>;

pub(crate) fn requests(snapshot: &Snapshot) -> Rows {
    let rows = snapshot.scan(Table::Requests, &Window::ALL).unwrap();
    let frame = rows.collect().unwrap();
    let texts = |name: &str| {
        let texts = frame.column(name).unwrap().str().unwrap().iter();
        texts
            .map(|text| text.unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let ints = |name: &str| {
        let ints = frame.column(name).unwrap().i64().unwrap().iter();
        ints.map(Option::unwrap).collect::<Vec<_>>()
    };
    let ids = texts("trace_id").into_iter().zip(texts("request"));
    let rows: Vec<_> = ids
        .zip(ints("revision").into_iter().zip(ints("spans")))
        .collect();
    let found: Rows = rows.iter().cloned().collect();
    assert_eq!(found.len(), rows.len(), "a request is there twice");
    assert_eq!(snapshot.counts().requests.total(), rows.len() as u64);
    found
}

pub(crate) fn expected<'a>(all: impl IntoIterator<Item = &'a Stored>) -> Rows {
    let all = all.into_iter().flat_map(|stored| &stored.analysis.requests);
    all.map(|request| {
        let id = (request.trace_id.to_string(), request.request.to_string());
        (id, (i64::from(request.revision), request.spans as i64))
    })
    .collect()
}

pub(crate) fn height(snapshot: &Snapshot, table: Table) -> usize {
    let rows = snapshot.scan(table, &Window::ALL).unwrap();
    rows.collect().unwrap().height()
}

/// Every trace that the store hands over, each once.
pub(crate) fn each(
    store: &Store,
    window: Window,
    wanted: Option<&Wanted<'_>>,
) -> BTreeMap<TraceId, Trace> {
    let mut found = BTreeMap::new();
    let mut last = Passed::default();
    let faults = store.each(&window, wanted, &mut |kept, passed| {
        last = passed;
        for kept in kept {
            assert!(kept.is_known());
            let trace = kept.into_trace();
            assert!(found.insert(trace.id, trace).is_none());
        }
        true
    });
    assert_eq!(faults.unwrap(), Vec::<String>::new());
    assert_eq!(last.traces, last.of);
    found
}

/// Files below a folder with this extension.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn same(found: Option<Stored>, put: &Stored) {
    let found = found.expect("the trace is there");
    assert_eq!(found.trace.spans, put.trace.spans);
    assert_eq!(found.trace.logs, put.trace.logs);
    assert_eq!(found.analysis, put.analysis);
}

#[test]
fn what_was_flushed_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let traces: Vec<Stored> = (0..300)
        .map(|n| stored(chain(n, n % 3, 1 + n % 7), 1))
        .collect();
    let store = open(folder.path());
    for trace in &traces {
        store.put(trace.clone());
    }
    let fresh: Vec<usize> = Table::ALL
        .map(|table| height(&store.snapshot(), table))
        .into();
    assert_eq!(store.oldest_fresh(), Some(7));
    let before = store.snapshot();
    let flushed = store.flush().unwrap();
    assert_eq!((flushed.traces, flushed.parts), (300, 3));
    assert_eq!(store.oldest_fresh(), None);
    assert_eq!(store.fresh().traces, 0);
    let check = |store: &Store| {
        let snapshot = store.snapshot();
        assert_eq!(requests(&snapshot), expected(&traces));
        for (table, rows) in Table::ALL.into_iter().zip(&fresh) {
            assert_eq!(height(&snapshot, table), *rows, "{table}");
        }
        for put in traces.iter().step_by(7) {
            same(store.get(put.trace.id).unwrap(), put);
        }
        assert!(store.get(trace_id(9999)).unwrap().is_none());
        assert_eq!(store.find_prefix("abab", 10).unwrap().len(), 10);
        let one = trace_id(5).to_string();
        assert_eq!(store.find_prefix(&one, 10).unwrap(), [trace_id(5)]);
    };
    assert_eq!(requests(&before), expected(&traces));
    check(&store);
    drop((store, before));
    check(&Store::open_to_read(folder.path(), options()).unwrap());
    let store = open(folder.path());
    check(&store);
    let compacted = store.compact(None).unwrap();
    assert_eq!((compacted.merged, compacted.made), (0, 0));
    check(&store);
}

#[test]
fn a_newer_state_takes_the_place_of_the_one_in_a_part() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for n in 0..50 {
        store.put(stored(chain(n, 0, 3), 1));
    }
    store.flush().unwrap();
    let late = chain(7, 0, 5);
    let ends = |trace: &Trace| {
        let ends = trace.spans.iter().map(|span| span.end).max().unwrap();
        (trace.spans[0].start, ends)
    };
    let former = store.former(late.id, ends(&late)).unwrap().unwrap();
    assert_eq!(former.trace.spans, chain(7, 0, 3).spans);
    assert!(store.former(trace_id(99), ends(&late)).unwrap().is_none());
    let far = (UnixNanos(START + 9 * HOUR), UnixNanos(START + 9 * HOUR));
    assert!(store.former(late.id, far).unwrap().is_none());

    let put = stored(late, 2);
    let mut all: BTreeMap<_, _> = (0..50)
        .map(|n| (trace_id(n), stored(chain(n, 0, 3), 1)))
        .collect();
    all.insert(put.trace.id, put.clone());
    let check = |store: &Store| {
        assert_eq!(requests(&store.snapshot()), expected(all.values()));
        assert_eq!(height(&store.snapshot(), Table::Spans), 49 * 3 + 5);
        same(store.get(put.trace.id).unwrap(), &put);
    };
    store.put(put.clone());
    check(&store);
    assert_eq!(store.flush().unwrap().superseded, 1);
    check(&store);
    drop(store);
    let store = open(folder.path());
    check(&store);
    let done = store.compact(None).unwrap();
    assert_eq!((done.merged, done.made, done.dropped), (2, 1, 1));
    check(&store);
    drop(store);
    check(&open(folder.path()));
    let names = files(folder.path(), "parquet").into_iter();
    let names: BTreeSet<_> = names
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 1);
    assert!(files(folder.path(), "dead").is_empty());
}

#[test]
fn a_trace_over_two_hours_has_its_rows_in_both_and_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut trace = chain(1, 0, 4);
    let mut second = chain(1, 1, 4).spans;
    for span in &mut second {
        span.span_id.0[0] = 9;
        if let Some(parent) = &mut span.parent_id {
            parent.0[0] = 9;
        }
    }
    trace.spans.extend(second);
    let copy: Span = trace.spans[2].clone();
    trace.spans.push(copy);
    let put = stored(trace, 1);
    assert_eq!(put.analysis.requests.len(), 2);
    store.put(put.clone());
    assert_eq!(store.flush().unwrap().parts, 2);
    let check = |store: &Store, revision: u32| {
        let found = store.get(put.trace.id).unwrap().unwrap();
        let sorted = |spans: &[Span]| {
            let mut ids: Vec<_> = spans.iter().map(|s| (s.span_id, s.start)).collect();
            ids.sort();
            ids
        };
        assert_eq!(sorted(&found.trace.spans), sorted(&put.trace.spans));
        assert_eq!(found.trace.logs, put.trace.logs);
        assert_eq!(found.analysis.requests.len(), 2);
        assert_eq!(found.analysis.requests[0].revision, revision);
        assert_eq!(height(&store.snapshot(), Table::Spans), 9);
        assert_eq!(requests(&store.snapshot()).len(), 2);
    };
    check(&store, 1);
    store.put(stored(put.trace.as_ref().clone(), 2));
    check(&store, 2);
    store.flush().unwrap();
    check(&store, 2);
    store.compact(None).unwrap();
    check(&store, 2);
}

#[test]
fn revision_and_dropped_spans_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut put = stored(chain(1, 0, 3), 4);
    let analysis = Arc::make_mut(&mut put.analysis);
    analysis.requests[0].notes.push(Note::Truncated(12));
    analysis.requests[0].notes.sort_unstable();
    store.put(put.clone());
    store.flush().unwrap();
    same(store.get(put.trace.id).unwrap(), &put);
}

#[test]
fn what_was_told_when_a_request_came_is_said_where_it_is_another_today() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let put = stored(chain(1, 0, 3), 1);
    let mut other = stored(chain(2, 0, 3), 1);
    let request = &mut Arc::make_mut(&mut other.analysis).requests[0];
    request.outcome = Outcome::Missed;
    request.wasted = Nanos::from_millis(1300);
    request.surfaced = Some(Surfaced {
        service: "cart".into(),
        operation: "Get".into(),
        verdict: Verdict::ExceededHere,
        hop: 0,
    });
    for stored in [&put, &other] {
        store.put(stored.clone());
    }
    let notes = |store: &Store, put: &Stored| {
        let found = store.get(put.trace.id).unwrap().unwrap();
        found.analysis.requests[0].notes.clone()
    };
    // What is in memory is as it came.
    assert_eq!(notes(&store, &other), []);
    store.flush().unwrap();
    same(store.get(put.trace.id).unwrap(), &put);
    let note = Note::AnalysedAgain("missed, surfaced at cart Get, 1,300\u{a0}ms wasted".into());
    assert_eq!(notes(&store, &other), std::slice::from_ref(&note));
    assert_eq!(
        note.to_string(),
        "analysed again with today's settings; when it came: missed, surfaced at cart Get, \
         1,300\u{a0}ms wasted"
    );
    // Whoever merges late spans into it is not told of settings.
    let around = (other.trace.spans[0].start, other.trace.spans[0].end);
    let former = store.former(other.trace.id, around).unwrap().unwrap();
    assert_eq!(former.analysis.requests[0].notes, []);
    // More spans are no other settings: the newer state is what counts.
    store.put(stored(chain(2, 0, 4), 2));
    assert_eq!(notes(&store, &other), []);
}

#[test]
fn a_folder_has_one_writer_and_any_readers() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open_to_read(folder.path(), options()).unwrap_err();
    assert!(matches!(error, OpenError::NoStore { .. }), "{error}");
    let store = open(folder.path());
    let error = Store::open(folder.path(), options())
        .unwrap_err()
        .to_string();
    let process = format!("(process {})", std::process::id());
    assert!(
        error.contains(&process) && error.contains("--data"),
        "{error}"
    );
    let reader = Store::open_to_read(folder.path(), options()).unwrap();
    store.put(stored(chain(1, 0, 2), 1));
    store.flush().unwrap();
    assert_eq!(reader.snapshot().counts().requests.total(), 0);
    assert!(reader.refresh().unwrap());
    assert!(!reader.refresh().unwrap());
    assert_eq!(reader.snapshot().counts().requests.total(), 1);
    assert!(matches!(reader.flush(), Err(StoreError::ReadOnly)));
    assert!(matches!(reader.compact(None), Err(StoreError::ReadOnly)));
    drop(store);
    open(folder.path());
}

#[test]
fn a_snapshot_keeps_its_files_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for n in 0..4 {
        store.put(stored(chain(n, 0, 3), 1));
        store.flush().unwrap();
    }
    let before = store.snapshot();
    let files_before = files(folder.path(), "parquet").len();
    store.compact(None).unwrap();
    let rows = requests(&before);
    assert_eq!(rows, requests(&store.snapshot()));
    assert!(files(folder.path(), "parquet").len() > files_before);
    drop(before);
    store.flush().unwrap();
    assert_eq!(files(folder.path(), "parquet").len(), files_before / 4);
}
