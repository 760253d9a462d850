//! A process that ends between any two steps of a commit.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use dwindle::model::{Trace, UnixNanos};
use dwindle::store::tables::Table;
use dwindle::store::{Fate, Options, Probe, Step, Store, StoreError, Stored};

use super::format::copy;
use super::{HOUR, chain, expected, files, height, open, options, requests, stored};
use crate::spans::{START, span, trace_id};

/// Decides the fate of step number `at`, and tells how many steps there were.
fn probed(folder: &Path, at: usize, fate: fn() -> Fate) -> (Store, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let steps = Arc::clone(&count);
    let probe = Probe::new(move |_| {
        if steps.fetch_add(1, Ordering::SeqCst) == at {
            fate()
        } else {
            Fate::Go
        }
    });
    let options = Options { probe, ..options() };
    (Store::open(folder, options).unwrap(), count)
}

fn full() -> Fate {
    Fate::Fail(std::io::ErrorKind::StorageFull.into())
}

fn first(n: u64) -> Stored {
    stored(chain(n, 0, 3), 1)
}

fn second(n: u64) -> Stored {
    stored(chain(n, 0, 4), 2)
}

/// Ten traces in a part.
fn prepared() -> (tempfile::TempDir, Vec<Stored>) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let all: Vec<Stored> = (0..10).map(first).collect();
    for stored in &all {
        store.put(stored.clone());
    }
    store.flush().unwrap();
    (folder, all)
}

fn nothing_is_left_over(folder: &Path) {
    let store = open(folder);
    let verified = store.verify().unwrap();
    assert!(
        verified.is_clean() && verified.strays.is_empty(),
        "{verified:?}"
    );
    drop(store);
    assert!(files(folder, "part").is_empty());
}

#[test]
fn a_flush_that_ends_at_any_step_is_made_or_not_made() {
    for at in 0.. {
        let (folder, all) = prepared();
        let (store, steps) = probed(folder.path(), at, || Fate::Die);
        // Revises three traces and adds two.
        let new: Vec<Stored> = (7..12).map(second).collect();
        for stored in &new {
            store.put(stored.clone());
        }
        let result = store.flush();
        let done = steps.load(Ordering::SeqCst) <= at;
        assert_eq!(result.is_ok(), done, "step {at}");
        drop(store);
        let after: Vec<Stored> = all[..7].iter().chain(&new).cloned().collect();
        let store = open(folder.path());
        let found = requests(&store.snapshot());
        assert!(
            found == expected(&all) || found == expected(&after),
            "step {at}: {found:?}"
        );
        // The log brings them again.
        for stored in &new {
            store.put(stored.clone());
        }
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        store.flush().unwrap();
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        drop(store);
        nothing_is_left_over(folder.path());
        if done {
            assert!(at > 8, "{at} steps");
            return;
        }
    }
}

#[test]
fn a_merge_that_ends_at_any_step_changes_nothing_that_is_seen() {
    for at in 0.. {
        let (folder, all) = prepared();
        let new: Vec<Stored> = (7..12).map(second).collect();
        let store = open(folder.path());
        for stored in &new {
            store.put(stored.clone());
        }
        store.flush().unwrap();
        drop(store);
        let after: Vec<Stored> = all[..7].iter().chain(&new).cloned().collect();
        let (store, steps) = probed(folder.path(), at, || Fate::Die);
        let result = store.compact(None);
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        let done = steps.load(Ordering::SeqCst) <= at;
        drop(store);
        let store = open(folder.path());
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        for n in [0, 8, 11] {
            let spans = if n < 7 { 3 } else { 4 };
            let found = store.get(second(n).trace.id).unwrap().unwrap();
            assert_eq!(found.trace.spans.len(), spans);
        }
        drop(store);
        nothing_is_left_over(folder.path());
        if done {
            result.unwrap();
            assert!(at > 15, "{at} steps");
            return;
        }
    }
}

#[test]
fn a_full_disk_at_any_step_loses_nothing_and_leaves_nothing() {
    for at in 0.. {
        let (folder, all) = prepared();
        let (store, steps) = probed(folder.path(), at, full);
        let new: Vec<Stored> = (7..12).map(second).collect();
        for stored in &new {
            store.put(stored.clone());
        }
        let after: Vec<Stored> = all[..7].iter().chain(&new).cloned().collect();
        let before = files(folder.path(), "parquet");
        let result = store.flush();
        if let Err(error) = &result {
            assert!(matches!(error, StoreError::Io { .. }), "{error}");
            assert!(error.to_string().contains("--retain-bytes"), "{error}");
            assert_eq!(files(folder.path(), "parquet"), before, "step {at}");
            assert_eq!(store.oldest_fresh(), Some(7));
        }
        let done = steps.load(Ordering::SeqCst) <= at;
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        // There is room again.
        store.flush().unwrap();
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        assert_eq!(height(&store.snapshot(), Table::Spans), 7 * 3 + 5 * 4);
        drop(store);
        nothing_is_left_over(folder.path());
        if done {
            return;
        }
    }
}

#[test]
fn a_full_disk_at_any_step_of_a_merge_changes_nothing_that_is_seen() {
    let (whole, all) = prepared();
    let new: Vec<Stored> = (7..12).map(second).collect();
    let store = open(whole.path());
    for stored in &new {
        store.put(stored.clone());
    }
    store.flush().unwrap();
    drop(store);
    let after: Vec<Stored> = all[..7].iter().chain(&new).cloned().collect();
    for at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        copy(whole.path(), folder.path());
        let (store, steps) = probed(folder.path(), at, full);
        let everything = |folder: &Path| {
            let all = ["parquet", "ids", "dead", "part"].map(|name| files(folder, name));
            all.concat()
        };
        let before = everything(folder.path());
        let result = store.compact(None);
        let done = steps.load(Ordering::SeqCst) <= at;
        if let Err(error) = &result {
            assert!(matches!(error, StoreError::Io { .. }), "{error}");
            assert!(error.to_string().contains("--retain-bytes"), "{error}");
            assert_eq!(everything(folder.path()), before, "step {at}");
        }
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        if done {
            assert!(result.is_ok() && at > 15, "{at} steps");
            return;
        }
        // There is room again.
        store.compact(None).unwrap();
        assert_eq!(requests(&store.snapshot()), expected(&after), "step {at}");
        assert_eq!(store.stats().parts, 1);
        assert_eq!(store.stats().waiting_files, 0, "step {at}");
        drop(store);
        nothing_is_left_over(folder.path());
    }
}

/// What comes while parts are merged is not lost with them.
#[test]
fn a_flush_in_the_middle_of_a_merge_counts() {
    let (folder, all) = prepared();
    let store = open(folder.path());
    for n in 20..30 {
        store.put(first(n));
    }
    store.flush().unwrap();
    drop(store);
    let new = second(4);
    let slot: Arc<OnceLock<std::sync::Weak<Store>>> = Arc::default();
    let once = Arc::new(AtomicUsize::new(0));
    let probe = {
        let (slot, new) = (Arc::clone(&slot), new.clone());
        Probe::new(move |step| {
            let merging = step == Step::Table(Table::Spans);
            if merging && once.fetch_add(1, Ordering::SeqCst) == 0 {
                let store = slot.get().and_then(std::sync::Weak::upgrade).unwrap();
                store.put(new.clone());
                store.flush().unwrap();
            }
            Fate::Go
        })
    };
    let store = Arc::new(Store::open(folder.path(), Options { probe, ..options() }).unwrap());
    slot.set(Arc::downgrade(&store)).unwrap();
    // The first merge leaves a list of one trace, the second takes it away.
    let done = store.compact(None).unwrap();
    assert_eq!(done.dropped, 1);
    let mut after: Vec<Stored> = all.into_iter().chain((20..30).map(first)).collect();
    after[4] = new;
    assert_eq!(requests(&store.snapshot()), expected(&after));
    assert_eq!(height(&store.snapshot(), Table::Spans), 19 * 3 + 4);
    drop(store);
    nothing_is_left_over(folder.path());
}

/// Requests of one trace, each of one span, in these hours after [`START`].
fn over(hours: &[u64]) -> Stored {
    let spans = hours.iter().map(|hour| {
        let mut root = span(77, hour + 1, None);
        root.start = UnixNanos(START + hour * HOUR);
        root.end = UnixNanos(root.start.0 + 1_000_000);
        root
    });
    let trace = Trace {
        id: trace_id(77),
        spans: spans.collect(),
        logs: Vec::new(),
    };
    stored(trace, 1)
}

#[test]
fn what_a_trace_supersedes_that_is_put_during_a_flush_stays_until_it_is_flushed_too() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<OnceLock<Arc<Store>>> = Arc::default();
    let (during, flushes) = (Arc::clone(&store), AtomicUsize::new(0));
    let probe = Probe::new(move |step| {
        // In the middle of the second flush the two states become one.
        if step == Step::Filter && flushes.fetch_add(1, Ordering::SeqCst) == 1 {
            during.get().unwrap().put(over(&[0, 3]));
        }
        Fate::Go
    });
    let options = Options { probe, ..options() };
    let opened = Arc::new(Store::open(folder.path(), options).unwrap());
    store.set(Arc::clone(&opened)).unwrap();
    // So far apart that one does not supersede the other.
    opened.put(over(&[0]));
    opened.flush().unwrap();
    opened.put(over(&[3]));
    opened.flush_some().unwrap();
    let both = over(&[0, 3]);
    let seen = |store: &Store| {
        let snapshot = store.snapshot();
        (snapshot.counts().requests.total(), requests(&snapshot))
    };
    assert_eq!(seen(&opened), (2, expected([&both])));
    // A reader sees what is there after a kill.
    let after = Store::open_to_read(folder.path(), Options::default()).unwrap();
    assert_eq!(seen(&after).1, expected([&both]));
    assert_eq!(
        after.get(trace_id(77)).unwrap().unwrap().trace.spans.len(),
        2
    );
    opened.flush().unwrap();
    assert_eq!(seen(&opened), (2, expected([&both])));
    assert!(opened.verify().unwrap().is_clean());
}
