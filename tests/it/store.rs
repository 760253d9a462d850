//! The table of finished requests.

use std::sync::Arc;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::Outcome;
use dwindle::model::{Trace, UnixNanos};
use dwindle::store::tables::Table;
use dwindle::store::{Memory, Snapshot, Store, Stored, Window};

use crate::spans::{START, span, trace_id};

/// A trace of `roots` requests, the first starting at `start` seconds.
fn stored(trace: u64, roots: u64, start: u64) -> Stored {
    let spans = (1..=roots).map(|id| {
        let mut span = span(trace, id, None);
        span.start = UnixNanos(START + start * 1_000_000_000 + id);
        span.end = UnixNanos(span.start.0 + 1000);
        span
    });
    let trace = Trace {
        id: trace_id(trace),
        spans: spans.collect(),
        logs: Vec::new(),
    };
    let analysis = analyse(&trace, &Policy::default(), &Typical::default());
    Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: u64::MAX,
    }
}

fn sample(trace: u64) -> Stored {
    Stored {
        sample: true,
        ..stored(trace, 1, 0)
    }
}

#[test]
fn requests_are_listed_by_start_the_latest_first() {
    let memory = Memory::new(10);
    for (trace, start) in [(1, 20), (2, 30), (3, 10)] {
        memory.put(stored(trace, 1, start));
    }
    memory.put(stored(4, 2, 15));
    let listed: Vec<_> = memory
        .requests()
        .iter()
        .map(|(analysis, index, sample)| {
            assert!(!sample);
            (analysis.trace_id, analysis.requests[*index].start)
        })
        .collect();
    let ids: Vec<_> = listed.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [2, 1, 4, 4, 3].map(trace_id));
    assert!(listed.is_sorted_by_key(|(_, start)| std::cmp::Reverse(*start)));
    assert_eq!(memory.len(), 5);
}

#[test]
fn a_new_state_replaces_the_former_and_keeps_its_place() {
    let memory = Memory::new(3);
    memory.put(stored(1, 2, 0));
    memory.put(stored(2, 1, 0));
    let put = memory.put(stored(1, 1, 0));
    assert_eq!(put.replaced.unwrap().analysis.requests.len(), 2);
    assert!(put.expired.is_empty());
    assert_eq!(memory.len(), 2);
    // Trace 1 came first and leaves first, though it was revised last.
    memory.put(stored(3, 1, 0));
    let put = memory.put(stored(4, 1, 0));
    let gone: Vec<_> = put.expired.iter().map(|s| s.trace.id).collect();
    assert_eq!(gone, [trace_id(1)]);
    assert!(memory.put_revision(stored(1, 1, 0)).is_none());
    assert!(memory.get(trace_id(1)).is_none());
}

#[test]
fn whole_traces_leave_and_the_newest_never_does() {
    let memory = Memory::new(4);
    memory.put(stored(1, 3, 0));
    memory.put(stored(2, 1, 0));
    let put = memory.put(stored(3, 1, 0));
    let gone: Vec<_> = put.expired.iter().map(|s| s.trace.id).collect();
    assert_eq!(gone, [trace_id(1)]);
    assert_eq!(memory.len(), 2);
    let put = memory.put(stored(4, 9, 0));
    assert_eq!(put.expired.len(), 2);
    assert_eq!(memory.len(), 9);
}

#[test]
fn the_ceiling_in_bytes_holds_too() {
    let one = Memory::new(100);
    one.put(stored(1, 1, 0));
    let bytes = one.bytes();
    assert!(bytes > 0);
    let memory = Memory::with_ceilings(100, 3 * bytes);
    for trace in 0..10 {
        memory.put(stored(trace, 1, 0));
        assert!(memory.bytes() <= 3 * bytes);
    }
    assert_eq!(memory.len(), 3);
    assert!(memory.get(trace_id(9)).is_some());
}

#[test]
fn a_prefix_of_hex_digits_finds_traces() {
    let memory = Memory::new(10);
    for trace in [0x10, 0x11, 0x20] {
        memory.put(stored(trace, 1, 0));
    }
    let common = "abababababababab00000000000000";
    assert_eq!(
        memory.find_prefix(&format!("{common}1")),
        [trace_id(0x10), trace_id(0x11)]
    );
    assert_eq!(
        memory.find_prefix(&format!("{common}20").to_uppercase()),
        [trace_id(0x20)]
    );
    assert_eq!(memory.find_prefix("").len(), 3);
    for none in ["ff", "xyz", "\u{e9}", &"a".repeat(33)] {
        assert_eq!(memory.find_prefix(none), [], "{none}");
    }
}

#[test]
fn samples_are_marked_and_go_together() {
    let memory = Memory::new(10);
    assert!(!memory.has_samples());
    memory.put(sample(1));
    memory.put(sample(2));
    memory.put(stored(3, 1, 5));
    let marks: Vec<bool> = memory.requests().iter().map(|(_, _, s)| *s).collect();
    assert_eq!(marks, [false, true, true]);
    assert!(memory.has_samples());
    memory.clear_samples();
    assert!(!memory.has_samples());
    assert_eq!(memory.find_prefix(""), [trace_id(3)]);
    memory.put(sample(4));
    assert!(memory.has_samples());
    memory.put(stored(4, 1, 0));
    assert!(!memory.has_samples());
    assert!(memory.get(trace_id(4)).is_some_and(|stored| !stored.sample));
}

fn ids(snapshot: &Snapshot, table: Table, window: &Window) -> Vec<String> {
    let frame = snapshot.scan(table, window).unwrap().collect().unwrap();
    let ids = frame.column("trace_id").unwrap().str().unwrap().iter();
    let mut ids: Vec<String> = ids.map(|id| id.unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let store = Store::in_memory(2000, usize::MAX);
    for trace in 0..1500 {
        store.put(stored(trace, 1, 0));
    }
    let before = store.snapshot();
    store.put(stored(1, 3, 0));
    store.put(stored(1500, 2, 0));
    let after = store.snapshot();
    for table in Table::ALL {
        let rows = |snapshot| ids(snapshot, table, &Window::ALL).len();
        let empty = matches!(table, Table::Calls | Table::Findings);
        let expected = if empty { (0, 0) } else { (1500, 1504) };
        assert_eq!((rows(&before), rows(&after)), expected, "{table}");
    }
    assert_eq!(before.counts().requests.total(), 1500);
    assert_eq!(after.counts().requests.get(Outcome::NoBudget), 1504);
    assert_eq!(after.counts().traces, 1501);
}

#[test]
fn a_window_has_its_first_instant_and_not_its_last() {
    let store = Store::in_memory(100, usize::MAX);
    for trace in 0..10 {
        store.put(stored(trace, 1, trace));
    }
    let at = |trace: u64| Some(UnixNanos(START + trace * 1_000_000_000 + 1));
    let window = Window {
        since: at(3),
        until: at(6),
    };
    let expected = [3, 4, 5].map(|trace| trace_id(trace).to_string());
    assert_eq!(ids(&store.snapshot(), Table::Requests, &window), expected);
}

#[test]
fn samples_are_scanned_only_while_there_is_nothing_else() {
    let store = Store::in_memory(100, usize::MAX);
    store.put(sample(1));
    let samples = store.snapshot();
    assert!(samples.is_sample());
    assert_eq!(ids(&samples, Table::Hops, &Window::ALL).len(), 1);
    assert_eq!(samples.counts().requests.total(), 1);
    store.put(stored(2, 1, 0));
    let snapshot = store.snapshot();
    assert!(!snapshot.is_sample());
    let expected = [trace_id(2).to_string()];
    assert_eq!(ids(&snapshot, Table::Hops, &Window::ALL), expected);
    assert_eq!(snapshot.counts().requests.total(), 1);
}

#[test]
fn the_log_is_needed_from_the_oldest_fresh_trace_on() {
    let store = Store::in_memory(2, usize::MAX);
    let put = |trace, log_from| {
        store.put(Stored {
            log_from,
            ..stored(trace, 1, 0)
        })
    };
    assert_eq!(store.oldest_fresh(), None);
    put(1, 30);
    put(2, 20);
    assert_eq!(store.oldest_fresh(), Some(20));
    // A newer state still rests on the older records.
    put(2, 40);
    assert_eq!(store.oldest_fresh(), Some(20));
    put(1, u64::MAX);
    put(3, 50);
    assert_eq!(store.oldest_fresh(), Some(20));
    put(4, 60);
    assert_eq!(store.oldest_fresh(), Some(50));
}
