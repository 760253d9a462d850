//! Assembly and accounting, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use dwindle::budget::Policy;
use dwindle::ingest::{
    Accepted, Account, Assembly, Batch, Clock, Closed, Config, Ingest, Load, Pushed, Refused,
    Setup, Why,
};
use dwindle::model::{Nanos, Note, Span, SpanLog, Trace, TraceId};
use dwindle::store::Store;
use dwindle::telemetry::Telemetry;
use proptest::prelude::*;

use crate::spans::{log, span, trace_id};

const fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

fn push(assembly: &mut Assembly, spans: Vec<Span>, now: Nanos) -> Pushed {
    push_known(assembly, spans, Vec::new(), now, None).unwrap()
}

fn push_known(
    assembly: &mut Assembly,
    spans: Vec<Span>,
    logs: Vec<SpanLog>,
    now: Nanos,
    known: Option<Trace>,
) -> Result<Pushed, Nanos> {
    let sizes = vec![500; spans.len() + logs.len()];
    let known = known.map(Arc::new);
    let find = |id: TraceId| known.clone().filter(|trace| trace.id == id);
    let room = assembly.reserve(&spans, &logs, sizes.iter().sum(), now);
    let room = room.map_err(|full| full.retry_after)?;
    Ok(assembly.push(room, (spans, logs, &sizes), u64::MAX, now, &find))
}

/// The traces that are sealed at `now`, and why.
fn sealed(assembly: &mut Assembly, now: Nanos) -> Vec<(TraceId, usize, Why)> {
    assembly.seal_due(now);
    let mut all = Vec::new();
    while let Some(sealed) = assembly.take(Nanos::MAX) {
        all.push((sealed.trace.id, sealed.trace.spans.len(), sealed.why));
        assembly.done(sealed.trace.id, sealed.load());
    }
    all
}

#[test]
fn a_whole_trace_is_sealed_two_seconds_after_its_last_span() {
    let mut assembly = Assembly::new(Config::default());
    push(&mut assembly, vec![span(1, 2, Some(1))], ms(0));
    push(&mut assembly, vec![span(1, 1, None)], ms(1500));
    assert_eq!(sealed(&mut assembly, ms(3499)), []);
    assert_eq!(
        sealed(&mut assembly, ms(3500)),
        [(trace_id(1), 2, Why::Complete)]
    );
    assert!(assembly.is_idle());
}

#[test]
fn a_trace_with_something_missing_waits_ten_seconds() {
    let mut assembly = Assembly::new(Config::default());
    // No root; and a root beside an orphan.
    push(&mut assembly, vec![span(1, 2, Some(1))], ms(0));
    push(
        &mut assembly,
        vec![span(2, 1, None), span(2, 3, Some(2))],
        ms(0),
    );
    assert_eq!(sealed(&mut assembly, ms(9_999)), []);
    assert_eq!(
        sealed(&mut assembly, ms(10_000)),
        [
            (trace_id(1), 1, Why::Incomplete),
            (trace_id(2), 2, Why::Incomplete)
        ]
    );
}

#[test]
fn the_missing_span_shortens_the_wait() {
    let mut assembly = Assembly::new(Config::default());
    push(&mut assembly, vec![span(1, 2, Some(1))], ms(0));
    assert_eq!(sealed(&mut assembly, ms(5_000)), []);
    push(&mut assembly, vec![span(1, 1, None)], ms(6_000));
    assert_eq!(sealed(&mut assembly, ms(7_999)), []);
    assert_eq!(
        sealed(&mut assembly, ms(8_000)),
        [(trace_id(1), 2, Why::Complete)]
    );
}

#[test]
fn a_trace_that_never_rests_is_sealed_after_two_minutes() {
    let mut assembly = Assembly::new(Config::default());
    for second in 0..120 {
        let now = ms(second * 1000);
        push(
            &mut assembly,
            vec![span(1, second as u64 + 2, Some(1))],
            now,
        );
        assert_eq!(sealed(&mut assembly, now), []);
    }
    assert_eq!(
        sealed(&mut assembly, ms(120_000)),
        [(trace_id(1), 120, Why::Longest)]
    );
}

#[test]
fn a_late_span_is_judged_together_with_what_is_known() {
    let known = Trace {
        id: trace_id(1),
        spans: vec![span(1, 1, None)],
        logs: Vec::new(),
    };
    let mut assembly = Assembly::new(Config::default());
    let late = vec![span(1, 2, Some(1))];
    push_known(&mut assembly, late, Vec::new(), ms(0), Some(known)).unwrap();
    assert_eq!(
        sealed(&mut assembly, ms(2_000)),
        [(trace_id(1), 1, Why::Complete)]
    );
}

#[test]
fn a_log_record_waits_for_its_span_as_long_as_a_trace_may() {
    let mut assembly = Assembly::new(Config::default());
    push_known(&mut assembly, Vec::new(), vec![log(1, 1)], ms(0), None).unwrap();
    assert_eq!(sealed(&mut assembly, ms(119_999)), []);
    assert_eq!(
        sealed(&mut assembly, ms(120_000)),
        [(trace_id(1), 0, Why::Longest)]
    );

    push_known(&mut assembly, Vec::new(), vec![log(1, 1)], ms(0), None).unwrap();
    push(&mut assembly, vec![span(1, 1, None)], ms(50_000));
    assembly.seal_due(ms(52_000));
    let whole = assembly.take(Nanos::MAX).unwrap();
    assert_eq!((whole.trace.spans.len(), whole.trace.logs.len()), (1, 1));
}

#[test]
fn a_huge_trace_is_capped_and_the_rest_counted() {
    let mut assembly = Assembly::new(Config {
        max_trace_spans: 10,
        ..Config::default()
    });
    let spans = (1..=25).map(|id| span(1, id, Some(id - 1).filter(|p| *p > 0)));
    let pushed = push(&mut assembly, spans.collect(), ms(0));
    assert_eq!(pushed.spans_over, 15);
    assembly.seal_due(ms(2000));
    let trace = assembly.take(Nanos::MAX).unwrap();
    assert_eq!((trace.trace.spans.len(), trace.dropped), (10, 15));
}

#[test]
fn a_full_assembly_seals_the_oldest_quiet_traces_first() {
    let mut assembly = Assembly::new(Config {
        max_spans: 40,
        ..Config::default()
    });
    for trace in 0..40 {
        push(
            &mut assembly,
            vec![span(trace, 1, None)],
            ms(trace as i64 * 10),
        );
    }
    // At 700 ms, traces up to the one of 200 ms have been quiet for 500.
    push(&mut assembly, vec![span(99, 1, None)], ms(700));
    let early: Vec<_> = std::iter::from_fn(|| assembly.take(Nanos::MAX))
        .map(|sealed| (sealed.trace.id, sealed.why))
        .collect();
    let oldest: Vec<_> = (0..5).map(|n| (trace_id(n), Why::Pressure)).collect();
    assert_eq!(early, oldest);
}

#[test]
fn without_a_quiet_trace_a_full_assembly_takes_nothing() {
    let mut assembly = Assembly::new(Config {
        max_traces: 3,
        ..Config::default()
    });
    for trace in 0..3 {
        push(&mut assembly, vec![span(trace, 1, None)], ms(100));
    }
    let before = assembly.open();
    let batch = vec![span(1, 2, Some(1)), span(7, 1, None)];
    let refused = push_known(&mut assembly, batch.clone(), Vec::new(), ms(200), None);
    assert_eq!(refused, Err(ms(500)));
    assert_eq!(assembly.open(), before);
    // More of a trace that is open needs no place of its own.
    push(&mut assembly, vec![span(1, 2, Some(1))], ms(200));
    // Half a second later the first is quiet enough to make room.
    assert_eq!(
        push_known(&mut assembly, batch, Vec::new(), ms(600), None),
        Ok(Pushed::default())
    );
}

#[test]
fn what_is_sealed_and_not_analysed_pushes_back() {
    let mut assembly = Assembly::new(Config {
        max_spans: 8,
        ..Config::default()
    });
    for trace in 0..8 {
        push(&mut assembly, vec![span(trace, 1, None)], ms(0));
    }
    // Nobody takes them: two of eight may wait, the others stay where they are.
    assembly.seal_due(ms(60_000));
    assert_eq!((assembly.sealed().traces, assembly.open().traces), (2, 6));
    let more: Vec<Span> = (10..13).map(|trace| span(trace, 1, None)).collect();
    assert!(push_known(&mut assembly, more, Vec::new(), ms(60_000), None).is_err());
    let first = assembly.take(Nanos::MAX).unwrap();
    assembly.done(first.trace.id, first.load());
    assembly.seal_due(ms(60_000));
    assert_eq!((assembly.sealed().traces, assembly.open().traces), (2, 5));
}

#[test]
fn two_parts_of_one_trace_are_never_analysed_at_once() {
    let mut assembly = Assembly::new(Config::default());
    push(&mut assembly, vec![span(1, 1, None)], ms(0));
    assembly.seal_due(ms(2000));
    let first = assembly.take(Nanos::MAX).unwrap();
    push(&mut assembly, vec![span(1, 2, Some(1))], ms(2100));
    push(&mut assembly, vec![span(2, 1, None)], ms(2100));
    assembly.seal_due(ms(20_000));
    assert_eq!(assembly.take(Nanos::MAX).unwrap().trace.id, trace_id(2));
    assert!(!assembly.has_work());
    assert!(assembly.take(Nanos::MAX).is_none());
    assembly.done(first.trace.id, first.load());
    assert!(assembly.has_work());
    assert_eq!(assembly.take(Nanos::MAX).unwrap().trace.spans.len(), 1);
}

#[test]
fn what_comes_during_the_analysis_of_its_trace_learns_what_came_of_it() {
    let mut assembly = Assembly::new(Config::default());
    push(&mut assembly, vec![span(1, 1, None)], ms(0));
    assembly.seal_due(ms(2000));
    let first = assembly.take(Nanos::MAX).unwrap();
    // A child and a log record: alone neither is a whole trace.
    let child = vec![span(1, 2, Some(1))];
    push_known(&mut assembly, child, vec![log(1, 1)], ms(2100), None).unwrap();
    assembly.done(first.trace.id, first.load());
    assembly.learn(trace_id(1), &|_| Some(Arc::new(first.trace.clone())));
    assert_eq!(sealed(&mut assembly, ms(4099)), []);
    let why = (trace_id(1), 1, Why::Complete);
    assert_eq!(sealed(&mut assembly, ms(4100)), [why]);

    // Of log records alone the same.
    push(&mut assembly, vec![span(2, 1, None)], ms(5000));
    assembly.seal_due(ms(7000));
    let second = assembly.take(Nanos::MAX).unwrap();
    push_known(&mut assembly, Vec::new(), vec![log(2, 1)], ms(7100), None).unwrap();
    assert_eq!(sealed(&mut assembly, ms(9100)), []);
    assembly.done(second.trace.id, second.load());
    assembly.learn(trace_id(2), &|_| Some(Arc::new(second.trace.clone())));
    let why = (trace_id(2), 0, Why::Complete);
    assert_eq!(sealed(&mut assembly, ms(9100)), [why]);
}

/// What can happen to an assembly.
#[derive(Debug, Clone)]
enum Step {
    Push(Vec<(u64, u64, Option<u64>)>, bool),
    Wait(i64),
    Take,
    Done,
    SealAll,
}

fn step() -> impl Strategy<Value = Step> {
    let one = (0..6u64, 1..9u64, prop::option::of(1..9u64));
    prop_oneof![
        4 => (prop::collection::vec(one, 0..12), any::<bool>()).prop_map(|(s, l)| Step::Push(s, l)),
        3 => (0..15_000i64).prop_map(Step::Wait),
        2 => Just(Step::Take),
        2 => Just(Step::Done),
        1 => Just(Step::SealAll),
    ]
}

proptest! {
    #[test]
    fn every_span_is_accounted_for_whatever_happens(steps in prop::collection::vec(step(), 0..60)) {
        let config = Config {
            max_traces: 4,
            max_spans: 24,
            max_bytes: 10_000,
            max_trace_spans: 9,
            ..Config::default()
        };
        let mut assembly = Assembly::new(config.clone());
        let (mut came, mut shed, mut over, mut done) = (0, 0, 0, 0);
        let mut now = Nanos(0);
        let mut taken: Vec<(TraceId, Load)> = Vec::new();
        for step in steps {
            match step {
                Step::Push(spans, with_log) => {
                    let logs = if with_log { vec![log(3, 1)] } else { Vec::new() };
                    let spans: Vec<_> = spans.into_iter().map(|(t, s, p)| span(t, s, p)).collect();
                    let count = spans.len();
                    came += count;
                    match push_known(&mut assembly, spans, logs, now, None) {
                        Ok(pushed) => over += pushed.spans_over,
                        Err(_) => shed += count,
                    }
                }
                Step::Wait(by) => {
                    now += ms(by);
                    assembly.seal_due(now);
                }
                Step::Take => taken.extend(assembly.take(Nanos::MAX).map(|s| (s.trace.id, s.load()))),
                Step::Done => {
                    if let Some((id, load)) = taken.pop() {
                        assembly.done(id, load);
                        done += load.spans;
                    }
                }
                Step::SealAll => assembly.seal_all(),
            }
            let (open, sealed) = (assembly.open(), assembly.sealed());
            prop_assert_eq!(came, shed + over + done + open.spans + sealed.spans);
            prop_assert!(open.traces <= config.max_traces, "{open:?}");
            prop_assert!(open.spans + open.logs <= config.max_spans, "{open:?}");
            prop_assert!(open.bytes <= config.max_bytes, "{open:?}");
        }
        for (id, load) in taken {
            assembly.done(id, load);
            done += load.spans;
        }
        // Everything ends: two minutes later nothing is left, and nothing was lost.
        now += ms(120_000);
        loop {
            assembly.seal_due(now);
            let Some(sealed) = assembly.take(Nanos::MAX) else { break };
            done += sealed.trace.spans.len();
            assembly.done(sealed.trace.id, sealed.load());
        }
        prop_assert!(assembly.is_idle());
        prop_assert_eq!(assembly.open(), Load::default());
        prop_assert_eq!(assembly.sealed(), Load::default());
        prop_assert_eq!(came, shed + over + done);
    }
}

/// Waits for something that threads do; fails after ten seconds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "never came: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn batch(spans: Vec<Span>) -> Batch {
    Batch {
        spans,
        ..Batch::default()
    }
}

fn start(config: Config, store: Arc<Store>, telemetry: Arc<Telemetry>, clock: Clock) -> Ingest {
    let setup = Setup {
        config,
        policy: Policy::default(),
        store,
        telemetry,
        clock,
        analyse: dwindle::budget::analyse,
        threads: 2,
        log: None,
    };
    Ingest::start(setup).unwrap()
}

/// Offers a batch and waits for the answer.
fn offer(ingest: &Ingest, batch: Batch) -> Result<Accepted, Refused> {
    ingest.offer(batch)?.wait()
}

/// An ingest with a clock of its own, in milliseconds; one per test, since a clock is a function.
macro_rules! ingest {
    ($now:ident, $ingest:ident, $config:expr, $requests:expr) => {
        static $now: AtomicI64 = AtomicI64::new(0);
        let store = Arc::new(Store::in_memory($requests, usize::MAX));
        let clock = || ms($now.load(Ordering::SeqCst));
        let telemetry = Arc::new(Telemetry::new());
        let $ingest = start($config, store, telemetry, clock);
    };
}

fn identity(account: Account) {
    assert_eq!(
        account.received,
        account.stored + account.rejected + account.shed + account.open,
        "{account:?}"
    );
}

/// Report 89.
#[test]
fn a_late_span_revises_the_verdict() {
    ingest!(NOW, ingest, Config::default(), 100);
    offer(&ingest, batch(vec![span(1, 1, None)])).unwrap();
    NOW.store(2_000, Ordering::SeqCst);
    let store = Arc::clone(ingest.store());
    let memory = store.memory();
    eventually("the first verdict", || memory.get(trace_id(1)).is_some());
    let revision = || memory.get(trace_id(1)).unwrap().analysis.requests[0].revision;
    assert_eq!(revision(), 1);

    let mut late = span(1, 2, Some(1));
    late.kind = dwindle::model::Kind::Internal;
    offer(&ingest, batch(vec![late])).unwrap();
    NOW.store(4_000, Ordering::SeqCst);
    eventually("the revision", || revision() == 2);
    let stored = memory.get(trace_id(1)).unwrap();
    assert_eq!(stored.trace.spans.len(), 2);
    assert_eq!(stored.analysis.requests[0].spans, 2);
    assert_eq!(ingest.telemetry().revisions.get(), 1);
    eventually("quiet", || ingest.account().open == 0);
    assert_eq!(ingest.account().stored, 2);
    assert_eq!(memory.len(), 1);
}

/// Report 79.
#[test]
fn an_arriving_parent_absorbs_the_requests_below_it() {
    ingest!(NOW, ingest, Config::default(), 100);
    let orphans = vec![span(1, 2, Some(1)), span(1, 3, Some(1))];
    offer(&ingest, batch(orphans)).unwrap();
    NOW.store(10_000, Ordering::SeqCst);
    let store = Arc::clone(ingest.store());
    let memory = store.memory();
    eventually("two orphans", || memory.len() == 2);
    offer(&ingest, batch(vec![span(1, 1, None)])).unwrap();
    NOW.store(12_000, Ordering::SeqCst);
    eventually("one request", || memory.len() == 1);
    let stored = memory.get(trace_id(1)).unwrap();
    assert_eq!(stored.analysis.requests.len(), 1);
    assert_eq!(stored.analysis.requests[0].revision, 2);
    assert!(stored.analysis.requests[0].complete);
}

#[test]
fn a_capped_trace_says_so_in_every_revision() {
    let config = Config {
        max_trace_spans: 2,
        ..Config::default()
    };
    ingest!(NOW, ingest, config, 100);
    let spans = vec![span(1, 1, None), span(1, 2, Some(1)), span(1, 3, Some(1))];
    let accepted = offer(&ingest, batch(spans)).unwrap();
    assert_eq!(accepted.rejected_spans, 1);
    assert!(accepted.message.unwrap().contains("more than 2 spans"));
    NOW.store(2_000, Ordering::SeqCst);
    let store = Arc::clone(ingest.store());
    let memory = store.memory();
    let notes = || {
        let stored = memory.get(trace_id(1))?;
        Some(stored.analysis.requests[0].notes.clone())
    };
    eventually("the verdict", || notes().is_some());
    assert!(notes().unwrap().contains(&Note::Truncated(1)));
    let more = vec![span(1, 4, Some(1)), span(1, 5, Some(1))];
    assert_eq!(offer(&ingest, batch(more)).unwrap().rejected_spans, 2);
    NOW.store(4_000, Ordering::SeqCst);
    eventually("the revision", || {
        notes().unwrap().contains(&Note::Truncated(3))
    });
    eventually("quiet", || ingest.account().open == 0);
    let account = ingest.account();
    assert_eq!((account.stored, account.rejected), (2, 3));
    identity(account);
}

#[test]
fn the_oldest_requests_make_room_and_are_counted_as_expired() {
    ingest!(NOW, ingest, Config::default(), 3);
    for trace in 0..5 {
        let spans = vec![span(trace, 1, None), span(trace, 2, Some(1))];
        offer(&ingest, batch(spans)).unwrap();
        NOW.fetch_add(2_000, Ordering::SeqCst);
        eventually("stored", || ingest.account().open == 0);
    }
    let memory = ingest.store().memory();
    assert_eq!(memory.len(), 3);
    assert!(memory.get(trace_id(1)).is_none());
    assert!(memory.get(trace_id(2)).is_some());
    assert_eq!(ingest.telemetry().spans_expired.get(), 4);
    let account = ingest.account();
    assert_eq!(account.stored, 10);
    identity(account);
}

#[test]
fn what_is_refused_is_shed_and_what_is_bad_is_rejected() {
    let config = Config {
        max_spans: 4,
        ..Config::default()
    };
    ingest!(NOW, ingest, config, 100);
    NOW.store(1, Ordering::SeqCst);
    offer(&ingest, batch(vec![span(1, 7, None), span(1, 8, None)])).unwrap();
    let mut first = batch(vec![span(1, 1, None)]);
    first.rejected_spans = vec![("zero_span_id", 2)];
    first.first_error = Some("no span id".into());
    let accepted = offer(&ingest, first).unwrap();
    assert_eq!(accepted.rejected_spans, 2);
    assert_eq!(accepted.message.as_deref(), Some("no span id"));
    let refused = offer(&ingest, batch(vec![span(2, 1, None), span(3, 1, None)]));
    assert!(refused.unwrap_err().retry_after() > Nanos::ZERO);
    let account = ingest.account();
    let expected = Account {
        received: 7,
        stored: 0,
        rejected: 2,
        shed: 2,
        open: 3,
    };
    assert_eq!(account, expected);
    assert_eq!(ingest.telemetry().spans_shed.get("full"), 2);
    assert_eq!(ingest.close(Duration::from_secs(10)), Closed::default());
    let account = ingest.account();
    assert_eq!((account.stored, account.open), (3, 0));
    identity(account);
    assert!(offer(&ingest, batch(vec![span(4, 1, None)])).is_err());
    assert_eq!(ingest.telemetry().spans_shed.get("shutdown"), 1);
    identity(ingest.account());
}

#[test]
fn a_batch_that_could_never_fit_is_cut_and_not_refused_for_ever() {
    let config = Config {
        max_spans: 10,
        ..Config::default()
    };
    ingest!(NOW, ingest, config, 100);
    NOW.store(1, Ordering::SeqCst);
    let spans = (1..=30).map(|id| span(1, id, None)).collect();
    let accepted = offer(&ingest, batch(spans)).unwrap();
    assert_eq!(accepted.rejected_spans, 25);
    assert!(accepted.message.unwrap().contains("larger than"));
    let account = ingest.account();
    assert_eq!((account.received, account.open), (30, 5));
    identity(account);
}

#[test]
fn a_log_record_joins_its_trace_before_and_after_the_verdict() {
    ingest!(NOW, ingest, Config::default(), 100);
    let logs = |logs| Batch {
        logs,
        ..Batch::default()
    };
    offer(&ingest, logs(vec![log(1, 1), log(9, 9)])).unwrap();
    NOW.store(30_000, Ordering::SeqCst);
    offer(&ingest, batch(vec![span(1, 1, None)])).unwrap();
    NOW.store(32_000, Ordering::SeqCst);
    let store = Arc::clone(ingest.store());
    let memory = store.memory();
    let held = || memory.get(trace_id(1)).map_or(0, |s| s.trace.logs.len());
    eventually("the verdict with its log record", || held() == 1);
    let mut late = log(1, 1);
    late.body = "answered again".into();
    offer(&ingest, logs(vec![late])).unwrap();
    NOW.store(34_000, Ordering::SeqCst);
    eventually("the late log record", || held() == 2);
    // The one whose span never comes goes in the end, and is counted.
    NOW.store(200_000, Ordering::SeqCst);
    let lost = || ingest.telemetry().logs_rejected.get("no_span");
    eventually("the lonely log record", || lost() == 1);
    assert!(memory.get(trace_id(9)).is_none());
}

#[test]
fn the_account_is_right_at_every_instant_while_many_threads_offer() {
    let config = Config {
        quiet: ms(1),
        quiet_incomplete: ms(3),
        max_spans: 600,
        quiet_under_pressure: ms(0),
        max_trace_spans: 40,
        ..Config::default()
    };
    let store = Arc::new(Store::in_memory(50, usize::MAX));
    let clock = || Nanos(dwindle::telemetry::clock::monotonic_nanos());
    let telemetry = Arc::new(Telemetry::new());
    let ingest = start(config, store, telemetry, clock);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let ingest = &ingest;
            scope.spawn(move || {
                for round in 0..200u64 {
                    let spans =
                        (1..20).map(|id| span((thread * 7 + round) % 40, id + round, Some(id)));
                    let mut batch = batch(spans.collect());
                    batch.rejected_spans = vec![("bad_field", round % 3)];
                    offer(ingest, batch).ok();
                    identity(ingest.account());
                }
            });
        }
    });
    assert_eq!(ingest.close(Duration::from_secs(20)), Closed::default());
    let account = ingest.account();
    assert_eq!(account.open, 0);
    assert_eq!(account.received, 4 * 200 * 19 + 4 * 199);
    identity(account);
    assert!(ingest.telemetry().spans_expired.get() <= account.stored);
    assert!(account.stored > 0 && account.rejected > 0, "{account:?}");
}
