//! A reader in another process, while a server merges and removes what it reads.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use dwindle::store::tables::Table;
use dwindle::store::{Store, StoreError, Stored, Window};

use super::{chain, each, expected, files, open, options, requests, same, stored};
use crate::spans::trace_id;

/// Parts of two hours, three of each, some of it superseded.
fn filled(store: &Store) -> Vec<Stored> {
    let mut all = Vec::new();
    for round in 0..3 {
        for n in 0..4 {
            let trace = round * 4 + n;
            all.push(stored(chain(trace, trace % 2, 3), 1));
            store.put(all[trace as usize].clone());
        }
        if round == 2 {
            all[0] = stored(chain(0, 0, 5), 2);
            store.put(all[0].clone());
        }
        store.flush().unwrap();
    }
    all
}

#[test]
fn a_reader_is_told_that_parts_were_merged_and_misses_nothing() {
    for looked in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let writer = open(folder.path());
        let all = filled(&writer);
        let readers = [(); 3].map(|()| Store::open_to_read(folder.path(), options()).unwrap());
        let [reader, of_trace, of_prefix] = &readers;
        let before = reader.snapshot();
        if looked {
            assert_eq!(requests(&before), expected(&all));
            same(reader.get(trace_id(1)).unwrap(), &all[1]);
        }
        writer.compact(None).unwrap();
        for table in Table::ALL {
            let error = before.scan(table, &Window::ALL).err();
            // A table without rows has no file that could be gone.
            let rows = writer
                .stats()
                .tables
                .get(&table)
                .map_or(0, |size| size.rows);
            assert!(
                rows == 0 || matches!(error, Some(StoreError::Changed)),
                "{table}: {error:?}"
            );
        }
        let changed = |error| assert!(matches!(error, StoreError::Changed), "{error}");
        changed(before.get(trace_id(1)).unwrap_err());
        changed(before.get(trace_id(0)).unwrap_err());
        changed(before.find_prefix("abab", 20).unwrap_err());
        assert_eq!(before.faults(), Vec::<String>::new(), "nothing is damaged");
        // The store itself asks again.
        same(of_trace.get(trace_id(0)).unwrap(), &all[0]);
        assert_eq!(of_prefix.find_prefix("abab", 20).unwrap().len(), all.len());
        assert!(reader.refresh().unwrap());
        assert_eq!(requests(&reader.snapshot()), expected(&all));
    }
}

#[test]
fn verify_does_not_name_what_another_process_merged_away() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path());
    filled(&writer);
    let reader = Store::open_to_read(folder.path(), options()).unwrap();
    let parts = reader.verify().unwrap().parts;
    assert_eq!(parts, 6);
    writer.compact(None).unwrap();
    let verified = reader.verify().unwrap();
    assert!(verified.is_clean(), "{verified:?}");
    // What the parts became is looked at instead.
    assert_eq!((verified.parts, verified.rows > 0), (2, true));
    // What belongs there and is gone is told all the same.
    let gone = files(&folder.path().join("hops"), "parquet").remove(0);
    std::fs::remove_file(&gone).unwrap();
    let verified = reader.verify().unwrap();
    let name = gone.display().to_string();
    assert!(
        verified.faults.len() == 1 && verified.faults[0].contains(&name),
        "{verified:?}"
    );
}

#[test]
fn a_file_that_is_gone_but_belongs_there_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path());
    let all = filled(&writer);
    let reader = Store::open_to_read(folder.path(), options()).unwrap();
    std::fs::remove_file(&files(&folder.path().join("requests"), "parquet")[0]).unwrap();
    let snapshot = reader.snapshot();
    let rows = snapshot.scan(Table::Requests, &Window::ALL).unwrap();
    assert!(rows.collect().unwrap().height() < all.len());
    assert_eq!(snapshot.faults().len(), 1);
}

#[test]
fn neither_file_nor_filter_of_a_part_is_no_word_that_it_has_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    filled(&open(folder.path()));
    for file in files(folder.path(), "ids") {
        std::fs::remove_file(file).unwrap();
    }
    let gone = &files(&folder.path().join("requests"), "parquet")[0];
    std::fs::remove_file(gone).unwrap();
    let store = open(folder.path());
    let error = store.get(trace_id(99)).unwrap_err().to_string();
    assert!(error.contains(&gone.display().to_string()), "{error}");
    assert!(store.get(trace_id(11)).unwrap().is_some());
}

#[test]
fn whatever_a_reader_sees_is_the_state_of_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path());
    for n in 0..10 {
        writer.put(stored(chain(n, 0, 2), 1));
    }
    writer.flush().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for round in 2..22 {
                for n in 0..10 {
                    writer.put(stored(chain(n, 0, 2), round));
                }
                writer.flush().unwrap();
                if round % 3 == 0 {
                    writer.compact(None).unwrap();
                }
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut seen = 0;
        let reader = Store::open_to_read(folder.path(), options()).unwrap();
        while !done.load(Ordering::SeqCst) || seen == 0 {
            reader.refresh().unwrap();
            Store::open_to_read(folder.path(), options()).unwrap();
            let snapshot = reader.snapshot();
            let rows = match snapshot.scan(Table::Requests, &Window::ALL) {
                Ok(rows) => rows.collect(),
                Err(StoreError::Changed) => continue,
                Err(error) => panic!("{error}"),
            };
            // Gone after the scan: an error, never fewer rows.
            let Ok(frame) = rows else { continue };
            assert_eq!(frame.height(), 10);
            let revisions = frame.column("revision").unwrap().i64().unwrap();
            let revisions: BTreeSet<_> = revisions.iter().collect();
            assert_eq!(revisions.len(), 1, "{revisions:?}");
            seen += 1;
        }
    });
}

/// A trace with a request in each of two hours.
fn over_two_hours(trace: u64) -> Stored {
    let mut whole = chain(trace, 0, 4);
    let mut second = chain(trace, 1, 4).spans;
    for span in &mut second {
        span.span_id.0[0] = 9;
        if let Some(parent) = &mut span.parent_id {
            parent.0[0] = 9;
        }
    }
    whole.spans.extend(second);
    stored(whole, 1)
}

#[test]
fn filters_that_are_made_again_lose_no_trace_of_several_parts() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for round in 0..2 {
        for n in 0..3 {
            store.put(over_two_hours(round * 10 + n));
            store.put(stored(chain(round * 10 + 5 + n, n % 2, 2), 1));
        }
        store.flush().unwrap();
    }
    drop(store);
    let check = |store: &Store| {
        let traces = each(store, Window::ALL, None);
        let ids = [0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17];
        assert_eq!(traces.len(), ids.len());
        for (n, (id, trace)) in ids.into_iter().zip(traces) {
            assert_eq!(id, trace_id(n));
            assert_eq!(trace.spans.len(), if n % 10 < 5 { 8 } else { 2 }, "{n}");
        }
    };
    let lose = || {
        for file in files(folder.path(), "ids") {
            std::fs::remove_file(file).unwrap();
        }
    };
    lose();
    let store = open(folder.path());
    check(&store);
    // What they became knows it too.
    assert_eq!(store.compact(None).unwrap().made, 2);
    check(&store);
    drop(store);
    check(&open(folder.path()));
    // A reader makes them again for itself, a writer for all.
    lose();
    let reader = Store::open_to_read(folder.path(), options()).unwrap();
    check(&reader);
    assert!(reader.get(trace_id(0)).unwrap().is_some());
    assert!(files(folder.path(), "ids").is_empty());
    let store = open(folder.path());
    check(&store);
    assert!(store.get(trace_id(0)).unwrap().is_some());
    assert_eq!(files(folder.path(), "ids").len(), 2);
    assert!(store.verify().unwrap().is_clean());
    drop(store);
    check(&open(folder.path()));
}
