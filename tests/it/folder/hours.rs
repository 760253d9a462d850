//! Starts at any time: few partitions and few parts at once, and every question about time is
//! answered by the starts that came.

use std::collections::BTreeMap;

use dwindle::model::{Trace, UnixNanos};
use dwindle::store::tables::Table;
use dwindle::store::{Retention, Snapshot, Store, Stored, Window};

use super::{HOUR, chain, expected, files, open, options, requests, stored};
use crate::spans::{START, span, trace_id};

/// A trace of one span that starts in this hour after 1970.
fn at_hour(trace: u64, hour: u64) -> Stored {
    let mut only = span(trace, 1, None);
    only.start = UnixNanos(hour * HOUR + 1_000_000_000);
    only.end = UnixNanos(only.start.0 + 5_000_000);
    let trace = Trace {
        id: trace_id(trace),
        spans: vec![only],
        logs: Vec::new(),
    };
    stored(trace, 1)
}

/// The partition of what has no plausible start.
const CLAMP: &str = "date=1970-01-01/hour=00";

fn partitions(folder: &std::path::Path) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for file in files(&folder.join("requests"), "parquet") {
        let hour = file.parent().unwrap();
        let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let partition = format!("{}/{}", name(hour.parent().unwrap()), name(hour));
        *found.entry(partition).or_default() += 1;
    }
    found
}

fn by_hour<'a>(all: impl IntoIterator<Item = &'a Stored>) -> BTreeMap<UnixNanos, u64> {
    let mut hours = BTreeMap::new();
    for request in all.into_iter().flat_map(|stored| &stored.analysis.requests) {
        // The tables end in 2262.
        let start = request.start.0.min(i64::MAX as u64);
        *hours.entry(UnixNanos(start - start % HOUR)).or_default() += 1;
    }
    hours
}

fn hours(snapshot: &Snapshot) -> BTreeMap<UnixNanos, u64> {
    let hours = snapshot.hours().into_iter();
    hours.map(|(hour, of)| (hour, of.total())).collect()
}

fn in_window(snapshot: &Snapshot, since: u64, until: u64) -> usize {
    let window = Window {
        since: Some(UnixNanos(since)),
        until: Some(UnixNanos(until)),
    };
    let rows = snapshot.scan(Table::Requests, &window).unwrap();
    rows.collect().unwrap().height()
}

#[test]
fn spans_of_a_thousand_hours_make_few_parts_at_once_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    // Clocks that were never set, one that is in another unit, and hours that may be.
    let past = (0..300).map(|n| at_hour(n, n * 500));
    let future = (300..600).map(|n| at_hour(n, 1_139_568 + n * 3_000));
    let plausible = (600..680).map(|n| at_hour(n, 262_968 + n * 100));
    let today = (680..980).map(|n| stored(chain(n, 0, 3), 1));
    let all: Vec<Stored> = past.chain(future).chain(plausible).chain(today).collect();
    for one in &all {
        store.put(one.clone());
    }
    let before = (requests(&store.snapshot()), hours(&store.snapshot()));
    assert_eq!(before.0, expected(&all));
    assert_eq!(before.1, by_hour(&all));

    let first = store.flush_some().unwrap();
    assert_eq!(first.parts, 32);
    assert!(
        first.left > 0 && first.traces + first.left == 980,
        "{first:?}"
    );
    // The fullest hours do not wait: what is clamped, and today.
    assert!(first.traces >= 900, "{first:?}");
    assert_eq!(
        (requests(&store.snapshot()), hours(&store.snapshot())),
        before
    );
    let rest = store.flush().unwrap();
    assert_eq!((rest.left, rest.traces), (0, first.left));
    assert_eq!(store.fresh().traces, 0);
    assert_eq!(
        (requests(&store.snapshot()), hours(&store.snapshot())),
        before
    );
    let of_hours = partitions(folder.path());
    assert_eq!(of_hours.len(), 82);
    assert_eq!(of_hours[CLAMP], 1);

    // By window: an hour of 1985, one of 2150, today, all.
    let snapshot = store.snapshot();
    let year = |hour: u64| in_window(&snapshot, hour * HOUR, (hour + 1) * HOUR);
    assert_eq!(year(500 * 263), 1);
    assert_eq!(year(500 * 263 + 1), 0);
    assert_eq!(year(1_139_568 + 310 * 3_000), 1);
    assert_eq!(in_window(&snapshot, START, START + HOUR), 300);
    drop(snapshot);

    // More of a clamped one supersedes it, and the hours know.
    let more = at_hour(7, 7 * 500 + 1);
    store.put(Stored {
        analysis: more.analysis.clone(),
        ..more.clone()
    });
    let newer: Vec<Stored> = all
        .iter()
        .enumerate()
        .map(|(n, one)| if n == 7 { more.clone() } else { one.clone() })
        .collect();
    assert_eq!(hours(&store.snapshot()), by_hour(&newer));
    assert_eq!(store.flush().unwrap().superseded, 1);
    assert_eq!(hours(&store.snapshot()), by_hour(&newer));
    store.compact(None).unwrap();
    assert_eq!(hours(&store.snapshot()), by_hour(&newer));
    assert_eq!(requests(&store.snapshot()), expected(&newer));
    assert!(store.verify().unwrap().is_clean());
    drop(store);
    let store = open(folder.path());
    assert_eq!(hours(&store.snapshot()), by_hour(&newer));
    let found = store.get(trace_id(450)).unwrap().unwrap();
    assert_eq!(found.trace.spans, newer[450].trace.spans);
}

#[test]
fn what_waits_goes_with_the_next_flush_however_much_comes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let strange: Vec<Stored> = (0..40).map(|n| at_hour(n, 300_000 + n)).collect();
    for one in &strange {
        store.put(one.clone());
    }
    let mut flushes = 0;
    while strange
        .iter()
        .any(|one| store.memory().get(one.trace.id).is_some())
    {
        // Forty fuller hours each time.
        for n in 0..80 {
            store.put(at_hour(1_000 + flushes * 80 + n, 500_000 + n / 2));
        }
        assert!(store.flush_some().unwrap().parts <= 32);
        flushes += 1;
        assert!(flushes < 6, "the oldest wait for ever");
    }
}

#[test]
fn a_trace_of_many_hours_stays_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    // 100 roots in 100 hours, and one in 10.
    let of = |id: u64, hours: u64| {
        let spans = (0..hours).map(|n| {
            let mut root = span(id, n + 1, None);
            root.start = UnixNanos(START + n * HOUR);
            root.end = UnixNanos(root.start.0 + 1_000_000);
            root
        });
        let trace = Trace {
            id: trace_id(id),
            spans: spans.collect(),
            logs: Vec::new(),
        };
        stored(trace, 1)
    };
    let all = [of(1, 100), of(2, 10)];
    for one in &all {
        store.put(one.clone());
    }
    let flushed = store.flush_some().unwrap();
    assert_eq!((flushed.parts, flushed.left), (11, 0));
    assert_eq!(partitions(folder.path())[CLAMP], 1);
    assert_eq!(requests(&store.snapshot()), expected(&all));
    assert_eq!(hours(&store.snapshot()), by_hour(&all));
    for one in &all {
        let found = store.get(one.trace.id).unwrap().unwrap();
        assert_eq!(found.analysis, one.analysis);
    }
}

const DAY: u64 = 24 * HOUR;

/// By the clock that the store goes by when something comes.
fn now() -> u64 {
    dwindle::telemetry::clock::unix_nanos()
}

fn days(days: u64) -> std::time::Duration {
    std::time::Duration::from_hours(24 * days)
}

#[test]
fn what_has_no_plausible_start_is_as_old_as_it_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options()).unwrap();
    // 1970, 2198, and a plausible year to come.
    let strange = [40, 2_000_000, 1_130_000];
    for (n, hour) in strange.into_iter().enumerate() {
        store.put(at_hour(n as u64 + 1, hour));
        store.flush().unwrap();
    }
    let there = || {
        let there = |trace: u64| store.get(trace_id(trace)).unwrap().is_some();
        [1, 2, 3].map(there)
    };
    for limits in [
        Retention {
            max_age: Some(days(30)),
            ..Retention::default()
        },
        Retention {
            max_past: Some(days(30)),
            ..Retention::default()
        },
    ] {
        let later = UnixNanos(now() + 29 * DAY);
        assert_eq!(store.prune_to(later, &limits).unwrap().parts, 0);
        assert_eq!(there(), [true; 3]);
        let later = UnixNanos(now() + 31 * DAY);
        let would = store.would_prune(later, &limits);
        assert_eq!((would.hours, would.parts, would.traces), (2, 3, 3));
    }
    // What comes later keeps nobody: lots of one hour alone are merged.
    store.compact(None).unwrap();
    assert_eq!(partitions(folder.path())[CLAMP], 1);
    assert!(store.verify().unwrap().is_clean());
    let limits = Retention {
        max_age: Some(days(30)),
        ..Retention::default()
    };
    let pruned = store.prune_to(UnixNanos(now() + 31 * DAY), &limits);
    assert_eq!(pruned.unwrap().traces, 3);
    assert_eq!(there(), [false; 3]);
}

#[test]
fn what_was_old_when_it_came_is_kept_as_long_as_anything() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options()).unwrap();
    let hour = now() / HOUR;
    store.put(at_hour(1, hour - 60 * 24));
    store.put(at_hour(2, hour - 24));
    store.flush().unwrap();
    let since = Retention {
        max_age: Some(days(30)),
        ..Retention::default()
    };
    let past = Retention {
        max_past: Some(days(30)),
        ..Retention::default()
    };
    assert_eq!(store.prune_to(UnixNanos(now()), &since).unwrap().traces, 0);
    // Merged, it is as old as before.
    store.put(at_hour(3, hour - 60 * 24));
    store.flush().unwrap();
    assert_eq!(store.compact(None).unwrap().made, 1);
    let later = UnixNanos(now() + 29 * DAY);
    assert_eq!(store.would_prune(later, &since).traces, 0);
    let later = UnixNanos(now() + 31 * DAY);
    assert_eq!(store.would_prune(later, &since).traces, 3);
    // Whoever says how old requests may be means when they were.
    assert_eq!(store.prune_to(UnixNanos(now()), &past).unwrap().traces, 2);
    // The oldest hours make room first, whenever they came.
    store.put(at_hour(4, hour - 60 * 24));
    store.flush().unwrap();
    let room = Retention {
        max_bytes: Some(1),
        ..Retention::default()
    };
    assert_eq!(store.prune_to(UnixNanos(now()), &room).unwrap().traces, 1);
    let there = |trace: u64| store.get(trace_id(trace)).unwrap().is_some();
    assert_eq!([1, 2, 3, 4].map(there), [false, true, false, false]);
}
