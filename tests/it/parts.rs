//! The ingest over a store with a folder: flushes, cuts of the log, and starts after them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dwindle::budget::{Policy, analyse};
use dwindle::ingest::{Analyse, Closed, Config, Durable, Ingest, Pace, Refused, Setup, log};
use dwindle::model::Nanos;
use dwindle::store::{Fate, Options, Probe, Step, Store};
use dwindle::telemetry::{Telemetry, clock};

use crate::durable::{LONG, batch, eventually, identity, offer, pair, quick, quiet, spans_of};
use crate::spans::{span, trace_id};

fn open(dir: &Path, options: &Options) -> Arc<Store> {
    // The threads of an ingest that was dropped may take a moment to let go of the folder.
    let mut store = None;
    eventually("the folder", || {
        store = Store::open(dir, options.clone()).ok();
        store.is_some()
    });
    Arc::new(store.unwrap())
}

fn start(dir: &Path, options: &Options, config: Config, pace: Pace) -> Ingest {
    start_with(dir, options, config, pace, analyse)
}

fn start_with(
    dir: &Path,
    options: &Options,
    config: Config,
    pace: Pace,
    analyse: Analyse,
) -> Ingest {
    let setup = Setup {
        config,
        policy: Policy::default(),
        store: open(dir, options),
        telemetry: Arc::new(Telemetry::new()),
        clock: || Nanos(clock::monotonic_nanos()),
        analyse,
        threads: 2,
        log: Some(Durable {
            dir: dir.join("log"),
            options: log::Options {
                segment_bytes: 2_000,
                ..log::Options::default()
            },
            pace,
        }),
    };
    Ingest::start(setup).unwrap()
}

fn replayed(ingest: Ingest) -> Ingest {
    eventually("the replay", || ingest.has_replayed());
    ingest
}

/// Flushes as soon as anything is fresh, or never by itself.
fn pace(soon: bool) -> Pace {
    Pace {
        after: Nanos::from_secs(if soon { 0 } else { 100_000 }),
        ..Pace::default()
    }
}

fn flushed(ingest: &Ingest) {
    eventually("a flush of everything", || {
        ingest.flush_soon();
        ingest.store().oldest_fresh().is_none() && ingest.log_size().unwrap().records == 0
    });
}

fn log_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("log")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_log_is_cut_below_what_is_in_parts_and_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let config = Config {
        quiet_incomplete: Nanos::from_secs(1_000),
        ..quick()
    };
    let ingest = replayed(start(dir, &Options::default(), config, pace(true)));
    for trace in 0..30 {
        offer(&ingest, batch(pair(trace))).unwrap();
    }
    flushed(&ingest);
    eventually("few segments", || log_files(dir).len() < 3);
    // One without its root stays open, and keeps the log from there on.
    offer(&ingest, batch(vec![span(99, 2, Some(1))])).unwrap();
    for trace in 30..60 {
        offer(&ingest, batch(pair(trace))).unwrap();
    }
    // What is open is not fresh yet.
    eventually("the others in parts", || {
        ingest.account().open == 1 && ingest.store().oldest_fresh().is_none()
    });
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(ingest.log_size().unwrap().records, 31);
    assert_eq!(ingest.account().open, 1);
    drop(ingest);
    let ingest = replayed(start(dir, &Options::default(), quick(), pace(true)));
    quiet(&ingest);
    assert_eq!(spans_of(ingest.store(), 99).len(), 1);
    for trace in 0..60 {
        assert_eq!(spans_of(ingest.store(), trace), pair(trace), "{trace}");
        let stored = ingest.store().get(trace_id(trace)).unwrap().unwrap();
        assert_eq!(stored.analysis.requests[0].revision, 1);
    }
    assert_eq!(ingest.telemetry().spans_duplicate.get(), 60);
    assert_eq!(ingest.telemetry().spans_replayed.get(), 61);
    flushed(&ingest);
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 61);
}

#[test]
fn a_close_brings_all_into_parts_and_leaves_nothing_to_replay() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let slow = Config {
        quiet: Nanos::from_secs(1_000),
        ..Config::default()
    };
    let ingest = replayed(start(dir, &Options::default(), slow, pace(false)));
    for trace in 0..10 {
        offer(&ingest, batch(pair(trace))).unwrap();
    }
    assert_eq!(ingest.close(LONG), Closed::default());
    assert_eq!(ingest.account().stored, 20);
    assert_eq!(ingest.log_size().unwrap().records, 0);
    let refused = offer(&ingest, batch(pair(11))).unwrap_err();
    assert!(
        matches!(refused, Refused::Unavailable { .. }),
        "{refused:?}"
    );
    drop(ingest);
    let ingest = replayed(start(dir, &Options::default(), quick(), pace(false)));
    assert_eq!(ingest.telemetry().spans_replayed.get(), 0);
    for trace in 0..10 {
        assert_eq!(spans_of(ingest.store(), trace), pair(trace));
    }
}

#[test]
fn a_span_that_comes_after_the_flush_revises_and_its_copy_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let ingest = replayed(start(dir, &Options::default(), quick(), pace(true)));
    offer(&ingest, batch(vec![span(1, 1, None)])).unwrap();
    quiet(&ingest);
    flushed(&ingest);
    let revision = |ingest: &Ingest| {
        let stored = ingest.store().get(trace_id(1)).unwrap().unwrap();
        stored.analysis.requests[0].revision
    };
    offer(&ingest, batch(vec![span(1, 2, Some(1))])).unwrap();
    quiet(&ingest);
    assert_eq!(revision(&ingest), 2);
    flushed(&ingest);
    offer(&ingest, batch(pair(1))).unwrap();
    quiet(&ingest);
    assert_eq!(revision(&ingest), 2);
    assert_eq!(ingest.telemetry().spans_duplicate.get(), 2);
    assert!(ingest.store().oldest_fresh().is_none());
    assert_eq!(spans_of(ingest.store(), 1), pair(1));
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 1);
    // A copy needs no flush for the log to let go of it.
    eventually("a cut", || ingest.log_size().unwrap().records == 0);
}

#[test]
fn a_flush_that_fails_is_tried_again_and_pushes_back_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let failing = Arc::new(AtomicBool::new(true));
    let probe = {
        let failing = Arc::clone(&failing);
        Probe::new(move |step| {
            if step == Step::Manifest && failing.load(Ordering::SeqCst) {
                Fate::Fail(io::ErrorKind::StorageFull.into())
            } else {
                Fate::Go
            }
        })
    };
    let options = Options {
        probe,
        ..Options::default()
    };
    let config = Config {
        max_spans: 40,
        ..quick()
    };
    // The list of parts is written at the first opening, too.
    failing.store(false, Ordering::SeqCst);
    let ingest = start(dir, &options, config, pace(true));
    let ingest = replayed(ingest);
    failing.store(true, Ordering::SeqCst);
    let mut taken = 0;
    let refused = loop {
        match offer(&ingest, batch(pair(taken))) {
            Ok(_) => taken += 1,
            Err(refused) => break refused,
        }
        quiet(&ingest);
    };
    assert!(matches!(refused, Refused::Full(_)), "{refused:?}");
    assert_eq!(taken, 20);
    eventually("failures", || ingest.telemetry().flush_failures.get() > 1);
    assert_eq!(ingest.log_size().unwrap().records, 20);
    for trace in 0..taken {
        assert_eq!(spans_of(ingest.store(), trace), pair(trace));
    }
    failing.store(false, Ordering::SeqCst);
    eventually("room", || offer(&ingest, batch(pair(100))).is_ok());
    quiet(&ingest);
    flushed(&ingest);
    identity(&ingest);
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 21);
}

#[test]
fn a_replay_larger_than_memory_is_flushed_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let slow = Config {
        quiet: Nanos::from_secs(1_000),
        ..Config::default()
    };
    let ingest = replayed(start(dir, &Options::default(), slow, pace(false)));
    for trace in 0..80 {
        let late = (trace + 40) % 80;
        let spans = vec![span(trace, 1, None), span(late, 2, Some(1))];
        offer(&ingest, batch(spans)).unwrap();
    }
    drop(ingest);
    let config = Config {
        max_spans: 60,
        ..quick()
    };
    let ingest = replayed(start(dir, &Options::default(), config, pace(false)));
    assert_eq!(ingest.telemetry().spans_replayed.get(), 160);
    assert!(ingest.store().fresh().spans <= 60 + 15);
    quiet(&ingest);
    for trace in 0..80 {
        assert_eq!(spans_of(ingest.store(), trace), pair(trace), "{trace}");
    }
    assert_eq!(ingest.close(LONG), Closed::default());
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 80);
    identity(&ingest);
}

#[test]
fn a_trace_whose_analysis_panics_keeps_its_spans() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let breaks: Analyse = |trace, policy, typical| {
        assert!(
            trace.spans.iter().all(|span| span.name != "boom"),
            "a fault"
        );
        analyse(trace, policy, typical)
    };
    let options = Options::default();
    let ingest = replayed(start_with(dir, &options, quick(), pace(false), breaks));
    let mut boom = pair(1);
    boom[1].name = "boom".into();
    let spans = boom.iter().cloned().chain(pair(2)).collect();
    offer(&ingest, batch(spans)).unwrap();
    quiet(&ingest);
    let account = ingest.account();
    assert_eq!((account.stored, account.rejected), (4, 0));
    assert_eq!(ingest.telemetry().analysis_failures.get(), 1);
    assert_eq!(spans_of(ingest.store(), 1), boom);
    flushed(&ingest);
    assert_eq!(spans_of(ingest.store(), 1), boom);
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 1);
    drop(ingest);
    // What is in parts is analysed again by whoever reads it, and more of it may come.
    let ingest = replayed(start(dir, &options, quick(), pace(true)));
    offer(&ingest, batch(vec![span(1, 3, Some(1))])).unwrap();
    quiet(&ingest);
    flushed(&ingest);
    boom.push(span(1, 3, Some(1)));
    assert_eq!(spans_of(ingest.store(), 1), boom);
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 2);
}

/// A part that has trace 1 and cannot be opened, and one more span of that trace on its way.
fn with_a_part_away(dir: &Path, config: Config) -> (Ingest, PathBuf, PathBuf) {
    let ingest = replayed(start(dir, &Options::default(), config, pace(true)));
    offer(&ingest, batch(pair(1))).unwrap();
    quiet(&ingest);
    flushed(&ingest);
    let file = crate::folder::files(&dir.join("spans"), "parquet").remove(0);
    let away = dir.join("away");
    std::fs::rename(&file, &away).unwrap();
    offer(&ingest, batch(vec![span(1, 3, Some(1))])).unwrap();
    (ingest, file, away)
}

#[test]
fn a_look_up_that_fails_is_tried_again_until_it_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let (ingest, file, away) = with_a_part_away(folder.path(), quick());
    let telemetry = Arc::clone(ingest.telemetry());
    eventually("two failures", || telemetry.lookup_failures.get() >= 2);
    assert_eq!(telemetry.traces_put_off.get(), 1);
    assert_eq!(ingest.account().open, 1);
    // Others go on.
    offer(&ingest, batch(pair(2))).unwrap();
    eventually("the other trace", || spans_of(ingest.store(), 2).len() == 2);
    identity(&ingest);
    std::fs::rename(away, file).unwrap();
    quiet(&ingest);
    assert_eq!(telemetry.lookups_given_up.get(), 0);
    assert_eq!(telemetry.traces_put_off.get(), 0);
    let stored = ingest.store().get(trace_id(1)).unwrap().unwrap();
    assert_eq!(stored.trace.spans.len(), 3);
    assert_eq!(stored.analysis.requests[0].revision, 2);
    flushed(&ingest);
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 2);
}

#[test]
fn what_cannot_wait_for_a_look_up_is_kept_beside_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    // An eighth of this may wait: less than one span.
    let config = Config {
        max_spans: 7,
        ..quick()
    };
    let (ingest, file, away) = with_a_part_away(folder.path(), config);
    quiet(&ingest);
    assert_eq!(ingest.telemetry().lookups_given_up.get(), 1);
    flushed(&ingest);
    // Its part is asked no more, and is told to be damaged, until the store is opened again.
    assert!(ingest.store().get(trace_id(1)).is_err());
    assert_eq!(ingest.store().snapshot().faults().len(), 1);
    std::fs::rename(away, file).unwrap();
    drop(ingest);
    let ingest = replayed(start(
        folder.path(),
        &Options::default(),
        quick(),
        pace(true),
    ));
    assert_eq!(spans_of(ingest.store(), 1).len(), 3);
    flushed(&ingest);
    assert_eq!(ingest.store().snapshot().counts().requests.total(), 1);
    assert!(ingest.store().verify().unwrap().is_clean());
}
