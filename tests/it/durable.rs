//! The ingest with its log: what was acknowledged survives, once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dwindle::budget::Policy;
use dwindle::ingest::{Accepted, Batch, Clock, Config, Durable, Ingest, Pace, Refused, Setup, log};
use dwindle::model::{Nanos, Note, Span, Value};
use dwindle::store::{self, Store};
use dwindle::telemetry::{Telemetry, clock};

use crate::spans::{log as log_record, span, trace_id};

pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "never came: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn real() -> Nanos {
    Nanos(clock::monotonic_nanos())
}

/// A time that stands still: nothing is quiet, nothing due.
fn still() -> Nanos {
    Nanos(1)
}

pub(crate) fn quick() -> Config {
    Config {
        quiet: Nanos::from_millis(1),
        quiet_incomplete: Nanos::from_millis(1),
        ..Config::default()
    }
}

fn start(dir: &Path, store: &Arc<Store>, config: Config, clock: Clock) -> Ingest {
    let setup = Setup {
        config,
        policy: Policy::default(),
        store: Arc::clone(store),
        telemetry: Arc::new(Telemetry::new()),
        clock,
        analyse: dwindle::budget::analyse,
        threads: 2,
        log: Some(Durable {
            dir: dir.join("log"),
            options: log::Options {
                segment_bytes: 10_000,
                ..log::Options::default()
            },
            pace: Pace::default(),
        }),
    };
    Ingest::start(setup).unwrap()
}

fn replayed(ingest: Ingest) -> Ingest {
    eventually("the replay", || ingest.has_replayed());
    ingest
}

fn memory() -> Arc<Store> {
    Arc::new(Store::in_memory(1_000_000, usize::MAX))
}

pub(crate) fn offer(ingest: &Ingest, batch: Batch) -> Result<Accepted, Refused> {
    ingest.offer(batch)?.wait()
}

pub(crate) fn batch(spans: Vec<Span>) -> Batch {
    Batch {
        spans,
        ..Batch::default()
    }
}

pub(crate) fn pair(trace: u64) -> Vec<Span> {
    vec![span(trace, 1, None), span(trace, 2, Some(1))]
}

pub(crate) fn spans_of(store: &Store, trace: u64) -> Vec<Span> {
    let stored = store.get(trace_id(trace)).unwrap();
    let mut spans = stored.map_or_else(Vec::new, |stored| stored.trace.spans.clone());
    spans.sort_by_key(|span| span.span_id);
    spans
}

pub(crate) fn identity(ingest: &Ingest) {
    let account = ingest.account();
    assert_eq!(
        account.received,
        account.stored + account.rejected + account.shed + account.open,
        "{account:?}"
    );
}

pub(crate) fn quiet(ingest: &Ingest) {
    eventually("quiet", || {
        identity(ingest);
        ingest.account().open == 0
    });
}

#[test]
fn what_was_acknowledged_is_there_after_an_end_without_a_close() {
    let folder = tempfile::tempdir().unwrap();
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, Config::default(), still));
    for trace in 0..50 {
        let accepted = offer(&ingest, batch(pair(trace))).unwrap();
        assert_eq!(accepted, Accepted::default());
    }
    let logs = Batch {
        logs: vec![log_record(7, 1)],
        ..Batch::default()
    };
    offer(&ingest, logs).unwrap();
    // Nothing was analysed, nothing flushed.
    assert_eq!(ingest.account().open, 100);
    assert!(store.get(trace_id(0)).unwrap().is_none());
    drop(ingest);

    let store = memory();
    let ingest = replayed(start(folder.path(), &store, quick(), real));
    quiet(&ingest);
    for trace in 0..50 {
        assert_eq!(spans_of(&store, trace), pair(trace));
    }
    let logs = || store.get(trace_id(7)).unwrap().unwrap().trace.logs.clone();
    eventually("the log record", || logs() == [log_record(7, 1)]);
    let telemetry = ingest.telemetry();
    assert_eq!(telemetry.spans_replayed.get(), 100);
    assert_eq!(telemetry.spans_stored.get(), 100);
    assert_eq!(telemetry.spans_duplicate.get(), 0);
    identity(&ingest);
}

#[test]
fn a_replay_changes_nothing_in_what_is_there_already() {
    let folder = tempfile::tempdir().unwrap();
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, quick(), real));
    for trace in 0..20 {
        offer(&ingest, batch(pair(trace))).unwrap();
    }
    quiet(&ingest);
    // A value that equals nothing, itself included, is a copy all the same.
    let mut odd = span(3, 9, Some(1));
    let nan = Value::Double(f64::NAN);
    odd.attributes = [("load", nan)].into_iter().collect();
    offer(&ingest, batch(vec![odd])).unwrap();
    quiet(&ingest);
    let before: Vec<_> = (0..20)
        .map(|n| store.get(trace_id(n)).unwrap().unwrap())
        .collect();
    drop(ingest);

    for _ in 0..2 {
        let ingest = replayed(start(folder.path(), &store, quick(), real));
        quiet(&ingest);
        assert_eq!(ingest.telemetry().spans_replayed.get(), 41);
        assert_eq!(ingest.telemetry().spans_duplicate.get(), 41);
        assert_eq!(ingest.telemetry().revisions.get(), 0);
        for (n, before) in (0..).zip(&before) {
            let after = store.get(trace_id(n)).unwrap().unwrap();
            assert!(Arc::ptr_eq(&before.analysis, &after.analysis), "{n}");
            assert!(Arc::ptr_eq(&before.trace, &after.trace), "{n}");
        }
    }
}

#[test]
fn a_client_that_sends_again_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, quick(), real));
    // Both before and after the verdict.
    let twice = [pair(1), pair(1)].concat();
    offer(&ingest, batch(twice)).unwrap();
    quiet(&ingest);
    offer(&ingest, batch(pair(1))).unwrap();
    quiet(&ingest);
    assert_eq!(spans_of(&store, 1), pair(1));
    let stored = store.get(trace_id(1)).unwrap().unwrap();
    assert_eq!(stored.analysis.requests[0].revision, 1);
    assert_eq!(ingest.telemetry().spans_duplicate.get(), 4);
    assert_eq!(ingest.account().stored, 6);
    // One that only shares the id is not a copy.
    let mut other = span(1, 2, Some(1));
    other.name = "GET /other".into();
    offer(&ingest, batch(vec![other.clone()])).unwrap();
    quiet(&ingest);
    let spans = spans_of(&store, 1);
    assert_eq!(spans.len(), 3);
    assert!(spans.contains(&other));
}

#[test]
fn a_late_span_is_kept_whether_its_sender_waits_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, quick(), real));
    drop(ingest.offer(batch(vec![span(1, 1, None)])).unwrap());
    eventually("the verdict", || spans_of(&store, 1).len() == 1);
    drop(ingest.offer(batch(vec![span(1, 2, Some(1))])).unwrap());
    eventually("the revision", || spans_of(&store, 1).len() == 2);
    let stored = store.get(trace_id(1)).unwrap().unwrap();
    assert_eq!(stored.analysis.requests[0].revision, 2);
    quiet(&ingest);
}

#[test]
fn a_replay_needs_no_more_memory_than_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let ingest = replayed(start(folder.path(), &memory(), Config::default(), still));
    for trace in 0..200 {
        // Each trace comes in two parts, far from each other.
        let (early, late) = (trace, (trace + 100) % 200);
        let spans = vec![span(early, 1, None), span(late, 2, Some(1))];
        offer(&ingest, batch(spans)).unwrap();
    }
    drop(ingest);
    let store = memory();
    let config = Config {
        max_traces: 8,
        ..Config::default()
    };
    let ingest = replayed(start(folder.path(), &store, config, still));
    assert_eq!(ingest.telemetry().spans_replayed.get(), 400);
    identity(&ingest);
    assert!(ingest.telemetry().traces_open.get() <= 8);
    assert_eq!(ingest.close(LONG).lost, 0);
    for trace in 0..200 {
        assert_eq!(spans_of(&store, trace), pair(trace), "{trace}");
    }
}

#[test]
fn a_replay_under_lower_ceilings_rejects_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ingest = replayed(start(folder.path(), &memory(), Config::default(), still));
    // A message with more than the ceilings that come later hold at once.
    let spans: Vec<Span> = (0..40).flat_map(pair).collect();
    offer(&ingest, batch(spans)).unwrap();
    drop(ingest);
    // One that flushes: what is in no part takes of the same room.
    let parts = tempfile::tempdir().unwrap();
    let store = Store::open(parts.path(), store::Options::default()).unwrap();
    let store = Arc::new(store);
    let config = Config {
        max_traces: 8,
        max_spans: 16,
        ..Config::default()
    };
    let ingest = replayed(start(folder.path(), &store, config, real));
    assert_eq!(ingest.telemetry().spans_replayed.get(), 80);
    identity(&ingest);
    assert_eq!(ingest.account().rejected, 0);
    assert_eq!(ingest.close(LONG).lost, 0);
    for trace in 0..40 {
        assert_eq!(spans_of(&store, trace), pair(trace), "{trace}");
    }
}

#[test]
fn nothing_is_taken_before_the_replay_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let ingest = replayed(start(folder.path(), &memory(), Config::default(), still));
    for trace in 0..10 {
        offer(&ingest, batch(pair(trace))).unwrap();
    }
    drop(ingest);
    // The store cannot be flushed, so that the replay gets no further than memory goes.
    let config = Config {
        max_spans: 8,
        ..Config::default()
    };
    let store = memory();
    let ingest = start(folder.path(), &store, config, real);
    let telemetry = Arc::clone(ingest.telemetry());
    telemetry.set_ready(true);
    eventually("a full memory", || store.fresh().spans >= 4);
    let refused = offer(&ingest, batch(pair(99))).unwrap_err();
    assert!(
        matches!(refused, Refused::Unavailable { .. }),
        "{refused:?}"
    );
    assert!(refused.retry_after() > Nanos::ZERO);
    assert_eq!(telemetry.not_ready(), Some("the log is being replayed"));
    assert_eq!(telemetry.spans_shed.get("starting"), 2);
    identity(&ingest);
    // Stopping does not wait for it, and loses nothing.
    let closed = ingest.close(Duration::from_millis(300));
    assert_eq!(closed.lost, 0);
    drop(ingest);
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, quick(), real));
    quiet(&ingest);
    for trace in 0..10 {
        assert_eq!(spans_of(&store, trace), pair(trace));
    }
    assert!(spans_of(&store, 99).is_empty());
}

#[test]
fn rows_that_are_not_flushed_take_of_the_same_memory() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        max_spans: 40,
        ..quick()
    };
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, config, real));
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
    assert_eq!(store.fresh().spans, 40);
    assert_eq!(ingest.telemetry().fresh_spans.get(), 40);
    assert_eq!(ingest.telemetry().spans_shed.get("full"), 2);
    identity(&ingest);
}

#[test]
fn one_enormous_trace_is_capped_marked_and_leaves_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        max_bytes: 400_000,
        quiet: Nanos::from_millis(400),
        ..quick()
    };
    let store = memory();
    let ingest = replayed(start(folder.path(), &store, config, real));
    let text = "x".repeat(1_000);
    let ten = |from: u64| {
        let spans = (from..from + 10).map(|id| {
            let mut span = span(1, id, (id > 1).then_some(1));
            span.name = text.as_str().into();
            span
        });
        batch(spans.collect())
    };
    let mut rejected = 0;
    for from in (1..400).step_by(10) {
        rejected += offer(&ingest, ten(from)).unwrap().rejected_spans;
    }
    quiet(&ingest);
    assert!((300..360).contains(&rejected), "{rejected}");
    // What comes after the verdict is over what is known of the trace already.
    assert_eq!(offer(&ingest, ten(401)).unwrap().rejected_spans, 0);
    quiet(&ingest);
    let spans = spans_of(&store, 1);
    assert!((40..100).contains(&spans.len()), "{}", spans.len());
    assert_eq!(ingest.account().rejected, 410 - spans.len() as u64);
    let stored = store.get(trace_id(1)).unwrap().unwrap();
    let request = &stored.analysis.requests[0];
    let dropped = request.notes.iter().find_map(|note| match note {
        Note::Truncated(count) => Some(*count),
        _ => None,
    });
    assert_eq!(dropped, Some(410 - spans.len()));
    assert_eq!(request.spans, spans.len());
    offer(&ingest, batch(pair(2))).unwrap();
    quiet(&ingest);
    assert_eq!(spans_of(&store, 2), pair(2));
}

/// A file system of 3 MiB, where this may be made; unmounted when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"]);
        let output = command.arg(folder.path()).output().ok()?;
        if !output.status.success() {
            println!("skipped: no file system may be mounted here");
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("umount");
        command.arg("-l").arg(self.0.path()).status().ok();
    }
}

#[test]
fn a_full_disk_refuses_loses_nothing_and_recovers_by_itself() {
    let Some(small) = Small::mount() else {
        return;
    };
    let dir = small.0.path();
    let ballast = dir.join("ballast");
    std::fs::write(&ballast, vec![1; 2 << 20]).unwrap();
    let ingest = replayed(start(dir, &memory(), Config::default(), still));
    let large = |trace: u64| {
        let mut spans = pair(trace);
        spans[1].name = "x".repeat(20_000).into();
        spans
    };
    let mut kept = Vec::new();
    let mut refused = 0;
    for trace in 0..200 {
        match offer(&ingest, batch(large(trace))) {
            Ok(_) => kept.push(trace),
            Err(Refused::Unavailable { .. }) => refused += 1,
            Err(full @ Refused::Full(_)) => panic!("{full:?}"),
        }
    }
    assert!(refused > 50 && kept.len() > 50, "{refused} {}", kept.len());
    // As much as it holds is left for the tables.
    let held = ingest.log_size().unwrap().bytes as usize;
    let taken: usize = 2 << 20;
    assert!(held + taken + held <= 6 << 20, "{held}");
    identity(&ingest);
    std::fs::remove_file(&ballast).unwrap();
    ingest.telemetry().set_ready(true);
    eventually("room", || ingest.telemetry().is_ready());
    for trace in 200..220 {
        offer(&ingest, batch(large(trace))).unwrap();
        kept.push(trace);
    }
    drop(ingest);
    let store = memory();
    let ingest = replayed(start(dir, &store, quick(), real));
    assert_eq!(ingest.telemetry().log_damages.get(), 0);
    quiet(&ingest);
    for trace in 0..220 {
        let expected = if kept.contains(&trace) {
            large(trace)
        } else {
            Vec::new()
        };
        assert_eq!(spans_of(&store, trace).len(), expected.len(), "{trace}");
        assert_eq!(spans_of(&store, trace), expected);
    }
}
