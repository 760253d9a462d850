//! Damage, retention, export, and a model of it all.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use dwindle::budget::Policy;
use dwindle::ingest::Config;
use dwindle::model::{Trace, TraceId, UnixNanos};
use dwindle::query::filter::Filter;
use dwindle::query::scan::Selection;
use dwindle::store::rollup::Wanted;
use dwindle::store::tables::Table;
use dwindle::store::{Piece, Retention, Store, StoreError, Stored, Window};
use proptest::prelude::*;

use super::{HOUR, chain, each, expected, files, open, options, requests, same, stored};
use crate::spans::{START, span, trace_id};

/// Thirty traces in parts of three hours.
fn three_hours() -> (tempfile::TempDir, Vec<Stored>) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let all: Vec<Stored> = (0..30).map(|n| stored(chain(n, n % 3, 3), 1)).collect();
    for stored in &all {
        store.put(stored.clone());
    }
    store.flush().unwrap();
    (folder, all)
}

fn flip(path: &Path) {
    let mut file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    let mut byte = [0];
    file.seek(SeekFrom::Start(middle)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(middle)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
}

#[test]
fn a_damaged_part_is_named_and_left_out_and_the_rest_is_served() {
    let (folder, all) = three_hours();
    let damaged = files(&folder.path().join("requests"), "parquet").remove(1);
    flip(&damaged);
    let store = open(folder.path());
    let snapshot = store.snapshot();
    let rows = snapshot.scan(Table::Requests, &Window::ALL);
    assert_eq!(rows.unwrap().collect().unwrap().height(), 20);
    let faults = snapshot.faults();
    let name = damaged.display().to_string();
    assert!(faults.len() == 1 && faults[0].contains(&name), "{faults:?}");
    same(store.get(trace_id(3)).unwrap(), &all[3]);
    let error = store.get(trace_id(4)).unwrap_err();
    assert!(error.to_string().contains(&name), "{error}");
    let verified = store.verify().unwrap();
    assert!(
        verified.faults.len() == 1 && verified.faults[0].contains(&name),
        "{verified:?}"
    );
    // What cannot be read is not superseded, and is there again when it is put right.
    store.put(stored(chain(4, 1, 1), 1));
    assert_eq!(store.flush().unwrap().superseded, 0);
    flip(&damaged);
    assert!(
        store.verify().unwrap().faults.len() == 1,
        "trace 4 is there twice"
    );
    assert!(matches!(store.get(trace_id(5)), Ok(Some(_))));
    std::fs::remove_file(&damaged).unwrap();
    drop(store);
    let store = open(folder.path());
    assert!(matches!(
        store.get(trace_id(7)),
        Err(StoreError::Damaged { .. })
    ));
    same(store.get(trace_id(3)).unwrap(), &all[3]);
}

/// What came of a trace while a file of its part was away stands by itself, and both are one state
/// again when the file is there again: a copy of what was there, and what is new.
#[test]
fn what_came_while_a_part_was_missing_is_put_together_when_it_is_there_again() {
    for table in ["spans", "requests"] {
        let (folder, all) = three_hours();
        let away = files(&folder.path().join(table), "parquet").remove(1);
        let kept = folder.path().join("kept");
        std::fs::rename(&away, &kept).unwrap();
        let rejoin = |store: &Store| {
            let (policy, config) = (Policy::default(), Config::default());
            dwindle::ingest::rejoin(store, &policy, &config).unwrap()
        };
        let store = open(folder.path());
        let more = [chain(4, 1, 3), chain(7, 1, 5)];
        for trace in &more {
            let around = (trace.spans[0].start, trace.spans[0].end);
            let former = store.formers(&[(trace.id, around)]).remove(0);
            assert!(former.error.is_some() && former.stored.is_none(), "{table}");
            store.put_after(stored(trace.clone(), 1), &former);
        }
        assert_eq!(store.flush().unwrap().superseded, 0);
        assert_eq!(rejoin(&store), 0);
        drop(store);
        std::fs::rename(&kept, &away).unwrap();

        let store = open(folder.path());
        assert!(!store.verify().unwrap().is_clean());
        // Not before it is one state again.
        assert_eq!(store.compact(None).unwrap().merged, 0);
        assert_eq!(rejoin(&store), 2, "{table}");
        let state = |store: &Store, id: u64| {
            let stored = store.get(trace_id(id)).unwrap().unwrap();
            let requests = &stored.analysis.requests;
            (
                stored.trace.spans.len(),
                requests.len(),
                requests[0].revision,
            )
        };
        assert_eq!(state(&store, 4), (3, 1, 2));
        assert_eq!(state(&store, 7), (5, 1, 2));
        assert_eq!(rejoin(&store), 0);
        let verified = store.verify().unwrap();
        assert!(verified.is_clean(), "{verified:?}");
        assert_eq!(store.snapshot().counts().requests.total(), 30);
        store.compact(None).unwrap();
        assert!(store.verify().unwrap().is_clean());
        assert_eq!(state(&store, 7), (5, 1, 2));
        same(store.get(trace_id(10)).unwrap(), &all[10]);
    }
}

/// A trace of which one part can be read and another cannot: what comes takes over the one and
/// leaves the other as it is, however often more comes before it is flushed.
#[test]
fn what_came_of_a_damaged_part_is_never_taken_for_known() {
    let folder = tempfile::tempdir().unwrap();
    let requests_at = |hours: &[u64]| {
        let spans = hours.iter().map(|hour| {
            let mut root = span(4, hour + 1, None);
            root.start = UnixNanos(START + hour * HOUR / 4);
            root.end = UnixNanos(root.start.0 + 1_000_000);
            root
        });
        Trace {
            id: trace_id(4),
            spans: spans.collect(),
            logs: Vec::new(),
        }
    };
    let store = open(folder.path());
    // In two hours, so in two parts.
    store.put(stored(requests_at(&[0, 4]), 1));
    assert_eq!(store.flush().unwrap().parts, 2);
    drop(store);
    let away = files(&folder.path().join("spans"), "parquet").remove(0);
    let kept = folder.path().join("kept");
    std::fs::rename(&away, &kept).unwrap();
    let (policy, config) = (Policy::default(), Config::default());
    let store = open(folder.path());
    for hour in [1, 2, 3] {
        let new = requests_at(&[hour]);
        let around = (new.spans[0].start, new.spans[0].end);
        let former = store.formers(&[(new.id, around)]).remove(0);
        let mut all = former
            .stored
            .as_ref()
            .map(|known| known.trace.spans.clone());
        all.get_or_insert_default().extend(new.spans.clone());
        let spans = all.unwrap_or_default();
        store.put_after(stored(Trace { spans, ..new }, 1), &former);
        if hour == 2 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
    // What can be read is there once, the other waits.
    let there = |store: &Store| requests(&store.snapshot()).len();
    assert_eq!(there(&store), 5);
    assert_eq!(store.snapshot().counts().requests.total(), 5);
    drop(store);
    std::fs::rename(&kept, &away).unwrap();
    let store = open(folder.path());
    assert_eq!(
        dwindle::ingest::rejoin(&store, &policy, &config).unwrap(),
        1
    );
    let verified = store.verify().unwrap();
    assert!(verified.is_clean(), "{verified:?}");
    let found = store.get(trace_id(4)).unwrap().unwrap();
    assert_eq!(found.trace.spans.len(), 5);
    assert_eq!(store.snapshot().counts().requests.total(), 5);
}

#[test]
fn the_oldest_hours_go_whole_and_the_newest_stays() {
    let (folder, all) = three_hours();
    let store = open(folder.path());
    let bytes = store.stats().bytes();
    let keep = |max_past, max_bytes| Retention {
        max_past,
        max_bytes,
        ..Retention::default()
    };
    // The last hour of the parts ends 45 minutes after START + 2 hours.
    let now = UnixNanos(START + 3 * HOUR);
    let kept = store.prune_to(now, &keep(Some(Duration::from_hours(9)), Some(bytes)));
    assert_eq!(kept.unwrap().parts, 0);
    let gone = store
        .prune_to(now, &keep(Some(Duration::from_hours(2)), None))
        .unwrap();
    assert_eq!(
        (gone.hours, gone.traces, gone.requests, gone.spans),
        (1, 10, 10, 30)
    );
    let left = |hours: &[u64]| {
        let left = all.iter().enumerate();
        let left = left.filter(|(n, _)| hours.contains(&(*n as u64 % 3)));
        expected(left.map(|(_, stored)| stored))
    };
    assert_eq!(requests(&store.snapshot()), left(&[1, 2]));
    let gone = store.prune_to(now, &keep(None, Some(1))).unwrap();
    assert_eq!(gone.hours, 1);
    assert_eq!(gone.over, store.stats().bytes() - 1);
    assert_eq!(requests(&store.snapshot()), left(&[2]));
    let verified = store.verify().unwrap();
    assert!(
        verified.is_clean() && verified.strays.is_empty(),
        "{verified:?}"
    );
    assert_eq!(store.stats().hours, 1);
}

#[test]
fn each_trace_is_handed_over_once_as_it_came() {
    let (folder, all) = three_hours();
    let store = open(folder.path());
    let newer = [stored(chain(5, 2, 4), 2), stored(chain(40, 0, 2), 1)];
    for stored in &newer {
        store.put(stored.clone());
    }
    store.flush().unwrap();
    let whole = each(&store, Window::ALL, None);
    assert_eq!(whole.len(), 31);
    for put in all
        .iter()
        .filter(|put| put.trace.id != trace_id(5))
        .chain(&newer)
    {
        assert_eq!(whole[&put.trace.id], *put.trace);
    }
    let window = Window {
        since: Some(UnixNanos(START + HOUR / 2)),
        until: None,
    };
    let of_hours: BTreeMap<_, _> = each(&store, window, None);
    assert!(of_hours.len() < 31 && of_hours.iter().all(|(id, trace)| whole[id] == *trace));
    for (text, ids) in [
        ("spans > 3", vec![trace_id(5)]),
        ("spans > 1000", vec![]),
        (
            "hop.id = 0 and spans > 3 or trace_id=abab",
            whole.keys().copied().collect(),
        ),
    ] {
        let asked = Selection {
            filter: Some(Filter::parse(text).unwrap()),
            window: Window::ALL,
        };
        let wanted = |piece: &Piece<'_>| Ok(asked.traces(piece).unwrap());
        let found = each(&store, Window::ALL, Some(&wanted));
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), ids, "{text}");
        assert!(found.iter().all(|(id, trace)| whole[id] == *trace));
    }
    let asked = Selection {
        filter: None,
        window,
    };
    let wanted = |piece: &Piece<'_>| Ok(asked.traces(piece).unwrap());
    assert_eq!(each(&store, window, Some(&wanted)).len(), 20);
}

#[test]
fn where_the_tables_cannot_tell_what_is_wanted_every_trace_comes() {
    let (folder, _) = three_hours();
    flip(&files(&folder.path().join("requests"), "parquet")[1]);
    let store = open(folder.path());
    let asked = Selection {
        filter: Some(Filter::parse("spans > 1000").unwrap()),
        window: Window::ALL,
    };
    let wanted = |piece: &Piece<'_>| Ok(asked.traces(piece).unwrap());
    let mut found = Vec::new();
    let faults = store.each(&Window::ALL, Some(&wanted), &mut |kept, _| {
        found.extend(kept);
        true
    });
    assert_eq!(faults.unwrap(), Vec::<String>::new());
    assert_eq!(found.len(), 10);
    assert!(found.iter().all(|kept| !kept.is_known()));
}

#[derive(Debug, Clone)]
enum Act {
    Put(u64, u64),
    Flush,
    Compact(bool),
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0_u64..12, 1_u64..5).prop_map(|(trace, spans)| Act::Put(trace, spans)),
        3 => Just(Act::Flush),
        1 => any::<bool>().prop_map(Act::Compact),
        1 => Just(Act::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_each_trace_is_there_once_in_its_newest_state(acts in prop::collection::vec(act(), 1..25)) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path());
        let mut model: BTreeMap<TraceId, Stored> = BTreeMap::new();
        for act in acts {
            match act {
                Act::Put(trace, spans) => {
                    let revision = model.get(&trace_id(trace));
                    let revision = revision.map_or(1, |known| known.analysis.requests[0].revision + 1);
                    let put = stored(chain(trace, trace % 2, spans), revision);
                    model.insert(put.trace.id, put.clone());
                    store.put(put);
                }
                Act::Flush => drop(store.flush().unwrap()),
                Act::Compact(all) => {
                    let now = UnixNanos(START + 1_000 * HOUR);
                    store.compact((!all).then_some(now)).unwrap();
                }
                Act::Reopen => {
                    store.flush().unwrap();
                    drop(store);
                    store = open(folder.path());
                }
            }
            prop_assert_eq!(requests(&store.snapshot()), expected(model.values()));
        }
        for put in model.values() {
            same(store.get(put.trace.id).unwrap(), put);
        }
        store.flush().unwrap();
        let verified = store.verify().unwrap();
        prop_assert!(verified.is_clean(), "{:?}", verified);
        drop(store);
        let reader = Store::open_to_read(folder.path(), options()).unwrap();
        prop_assert_eq!(requests(&reader.snapshot()), expected(model.values()));
    }
}

#[test]
fn without_its_list_of_superseded_traces_a_part_is_left_out_and_the_rest_is_served() {
    let (folder, all) = three_hours();
    let store = open(folder.path());
    // A revision of a trace of the second hour, in a part of its own.
    let revised = stored(chain(4, 1, 4), 2);
    store.put(revised.clone());
    assert_eq!(store.flush().unwrap().superseded, 1);
    drop(store);
    let list = files(folder.path(), "dead").remove(0);
    let bytes = std::fs::read(&list).unwrap();
    let name = list.display().to_string();
    let rows = |store: &Store| {
        let snapshot = store.snapshot();
        let rows = snapshot.scan(Table::Requests, &Window::ALL);
        rows.unwrap().collect().unwrap().height()
    };
    let mut more = 0;
    for damage in [Some(&bytes[..10]), None] {
        match damage {
            Some(bytes) => std::fs::write(&list, bytes).unwrap(),
            None => std::fs::remove_file(&list).unwrap(),
        }
        for store in [
            Store::open(folder.path(), options()).unwrap(),
            Store::open_to_read(folder.path(), options()).unwrap(),
        ] {
            // The two other hours, and the revision.
            assert_eq!(rows(&store) as u64, 21 + more, "{damage:?}");
            same(store.get(trace_id(3)).unwrap(), &all[3]);
            let faults = store.snapshot().faults();
            assert!(faults.len() == 1 && faults[0].contains(&name), "{faults:?}");
            assert_eq!(store.stats().faults, faults);
            let verified = store.verify().unwrap();
            assert!(
                verified.faults.len() == 1 && verified.faults[0].contains(&name),
                "{verified:?}"
            );
            let wanted = Wanted {
                requests: true,
                ..Wanted::default()
            };
            let sums = store.snapshot().sums(&(0..u64::MAX), &wanted);
            assert_eq!(sums.unwrap().all().all, 21 + more);
        }
        // Nothing is merged with it, and what comes is kept.
        let store = open(folder.path());
        let new = stored(chain(100 + more, 1, 2), 1);
        store.put(new.clone());
        store.flush().unwrap();
        store.compact(None).unwrap();
        same(store.get(trace_id(100 + more)).unwrap(), &new);
        more += 1;
    }
    std::fs::write(&list, &bytes).unwrap();
    let store = open(folder.path());
    assert!(store.verify().unwrap().is_clean());
    assert_eq!(rows(&store) as u64, 30 + more);
    same(store.get(trace_id(4)).unwrap(), &revised);
}

#[test]
fn what_comes_of_traces_of_a_part_without_its_list_is_flushed_and_put_together_later() {
    let (folder, all) = three_hours();
    let store = open(folder.path());
    store.put(stored(chain(4, 1, 4), 2));
    assert_eq!(store.flush().unwrap().superseded, 1);
    drop(store);
    let list = files(folder.path(), "dead").remove(0);
    let bytes = std::fs::read(&list).unwrap();
    std::fs::write(&list, &bytes[..10]).unwrap();
    let store = open(folder.path());
    for (hops, superseded) in [(3, 0), (5, 1)] {
        let trace = chain(7, 1, hops);
        let around = (trace.spans[0].start, trace.spans[0].end);
        let former = store.formers(&[(trace.id, around)]).remove(0);
        assert!(former.error.is_some());
        store.put_after(stored(trace, 1), &former);
        assert_eq!(store.flush().unwrap().superseded, superseded);
    }
    drop(store);
    std::fs::write(&list, &bytes).unwrap();
    let store = open(folder.path());
    let (policy, config) = (Policy::default(), Config::default());
    assert_eq!(
        dwindle::ingest::rejoin(&store, &policy, &config).unwrap(),
        1
    );
    assert!(store.verify().unwrap().is_clean());
    assert_eq!(requests(&store.snapshot()).len(), 30);
    let found = store.get(trace_id(7)).unwrap().unwrap();
    assert_eq!(found.trace.spans.len(), 5);
    same(store.get(trace_id(3)).unwrap(), &all[3]);
}

#[test]
fn a_second_writer_is_noticed_before_anything_is_overwritten() {
    let (folder, all) = three_hours();
    let first = open(folder.path());
    std::fs::remove_file(folder.path().join("LOCK")).unwrap();
    let second = open(folder.path());
    let new = stored(chain(50, 1, 2), 1);
    second.put(new.clone());
    second.flush().unwrap();
    first.put(stored(chain(51, 1, 2), 1));
    let error = first.flush().unwrap_err();
    assert!(matches!(error, StoreError::Overtaken { .. }), "{error}");
    assert!(error.to_string().contains("LOCK"), "{error}");
    drop((first, second));
    let store = open(folder.path());
    same(store.get(trace_id(50)).unwrap(), &new);
    same(store.get(trace_id(3)).unwrap(), &all[3]);
    assert!(store.verify().unwrap().is_clean());
}
