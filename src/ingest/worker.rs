//! The threads that analyse: seal what is due, take some traces, put their verdicts into the store.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::assembly::{Assembly, Load, Sealed, Why};
use super::merge::{Merged, merge};
use super::shared::Shared;
use super::verdict;
use crate::budget::contained;
use crate::model::{Nanos, Trace, TraceId, UnixNanos};
use crate::store::{Former, Put, StoreError, Stored};

/// The longest nap of a thread; nothing depends on it but how soon a clock that was set forward
/// by a test is noticed.
const NAP: Nanos = Nanos::from_millis(200);

/// Traces that a thread takes at once, and spans: their locks are taken once, and what several of
/// them have in one part is read once.
const AT_ONCE: (usize, usize) = (64, 4096);

/// The waits after look-ups that failed, from and to.
const BACK_OFF: (Nanos, Nanos) = (Nanos::from_millis(100), Nanos::from_secs(30));

/// A trace that was taken.
struct Done {
    id: TraceId,
    load: Load,
    why: Why,
    outcome: Outcome,
}

/// What became of it.
enum Outcome {
    /// It is in the store.
    Stored(Spans),
    /// Log records whose spans never came.
    NoSpans,
    /// What is known of it cannot be read now.
    PutOff(Box<Sealed>),
}

/// The spans of a stored trace that are not merely new.
#[derive(Debug, Clone, Copy, Default)]
struct Spans {
    /// Spans that made room for it.
    expired: u64,
    /// Its own that were there already.
    duplicates: u64,
    /// Its own that are over the ceilings of one trace.
    over: u64,
}

/// Works until the handle says stop.
pub(super) fn run(shared: &Shared) {
    let mut assembly = shared.lock();
    while !shared.stopped.load(Ordering::Acquire) {
        let now = (shared.clock)();
        assembly.seal_due(now);
        // While nothing can be flushed the store must not grow: what is sealed waits.
        let full = shared.is_fresh_full();
        if full {
            shared.flush.kick();
        }
        let taken = if full {
            Vec::new()
        } else {
            assembly.take_some(now, AT_ONCE.0, AT_ONCE.1)
        };
        if !taken.is_empty() {
            if assembly.has_work() {
                shared.changed.notify_one();
            }
            drop(assembly);
            let all = work(shared, taken);
            assembly = shared.lock();
            for done in all {
                settle(shared, &mut assembly, done);
            }
            shared.recount_fresh(&mut assembly);
            let telemetry = &shared.telemetry;
            telemetry.traces_open.set(assembly.open().traces as i64);
            telemetry
                .traces_put_off
                .set(assembly.put_off_count() as i64);
            // Whoever waits for room or for the end looks again.
            shared.changed.notify_all();
            continue;
        }
        let nap = assembly.next_due().map_or(NAP, |due| due - now).min(NAP);
        let nap = Duration::from_nanos(nap.0.max(1_000_000) as u64);
        assembly = shared
            .changed
            .wait_timeout(assembly, nap)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}

/// Counts what became of a trace. Under the lock.
fn settle(shared: &Shared, assembly: &mut Assembly, done: Done) {
    let Done {
        id,
        load,
        why,
        outcome,
    } = done;
    let telemetry = &shared.telemetry;
    match outcome {
        Outcome::PutOff(sealed) => {
            let tries = sealed.tries.min(16);
            let wait = Nanos(BACK_OFF.0.0 << tries).min(BACK_OFF.1);
            assembly.put_off(*sealed, (shared.clock)() + wait);
            return;
        }
        Outcome::Stored(spans) => {
            let stored = load.spans as u64 - spans.over;
            telemetry.spans_stored.inc_by(stored);
            telemetry.spans_duplicate.inc_by(spans.duplicates);
            telemetry.spans_rejected.add("trace_full", spans.over);
            telemetry.spans_expired.inc_by(spans.expired);
        }
        Outcome::NoSpans => telemetry.logs_rejected.add("no_span", load.logs as u64),
    }
    assembly.done(id, load);
    assembly.learn(id, &|id| shared.known(id));
    telemetry.spans_open.dec_by(load.spans as i64);
    telemetry.traces_sealed.add(why.as_str(), 1);
}

fn work(shared: &Shared, taken: Vec<Sealed>) -> Vec<Done> {
    let asked = taken
        .iter()
        .map(|sealed| (sealed.trace.id, around(&sealed.trace)));
    let formers = shared.store.formers(&asked.collect::<Vec<_>>());
    let started = (shared.clock)();
    let each = taken.into_iter().zip(formers);
    let done = each.map(|(sealed, former)| {
        let (id, load, why) = (sealed.trace.id, sealed.load(), sealed.why);
        let outcome = one(shared, sealed, former);
        Done {
            id,
            load,
            why,
            outcome,
        }
    });
    let done = done.collect();
    shared.flush.something_fresh((shared.clock)());
    let (memory, telemetry) = (shared.store.memory(), &shared.telemetry);
    telemetry.requests_held.set(memory.len() as i64);
    telemetry.bytes_held.set(memory.bytes() as i64);
    let took = ((shared.clock)() - started).at_least_zero();
    telemetry.analysis_nanos.inc_by(took.0 as u64);
    done
}

/// The first start and the last end of what came of a trace.
fn around(trace: &Trace) -> (UnixNanos, UnixNanos) {
    let spans = trace.spans.iter().map(|span| (span.start, span.end));
    let times = spans.chain(trace.logs.iter().map(|log| (log.time, log.time)));
    let around = times.fold(
        None,
        |around: Option<(UnixNanos, UnixNanos)>, (start, end)| {
            let (first, last) = around.unwrap_or((start, start));
            Some((first.min(start), last.max(start).max(end)))
        },
    );
    around.unwrap_or_default()
}

fn one(shared: &Shared, sealed: Sealed, mut former: Former) -> Outcome {
    if let Some(error) = former.error.as_ref() {
        if is_put_off(shared, &sealed, error) {
            return Outcome::PutOff(Box::new(sealed));
        }
        shared.telemetry.lookups_given_up.inc();
        if former.is_unknown() {
            // The part is asked no more; what others have of it is taken over.
            let around = around(&sealed.trace);
            former = shared.store.former_at_last(sealed.trace.id, around);
        }
    }
    if former.stored.is_none() && sealed.trace.spans.is_empty() {
        return Outcome::NoSpans;
    }
    let from = sealed.log_from;
    // Without parts the former state may leave the store meanwhile.
    let spare = (former.stored.is_some() && !shared.durable).then(|| sealed.trace.clone());
    let merged = merge(former.stored.as_ref(), sealed.trace, &shared.config);
    let spans = Spans {
        duplicates: merged.duplicates as u64,
        over: merged.over as u64,
        expired: 0,
    };
    // What was cut off a trace that came again was cut off before.
    let again = merged.duplicates > 0 && merged.added == 0;
    let dropped = if again { 0 } else { sealed.dropped } + merged.over;
    if former.stored.is_some() && merged.added == 0 && dropped == 0 {
        return Outcome::Stored(spans);
    }
    let mut put = put(shared, merged, &former, dropped, from);
    if put.is_none()
        && let Some(alone) = spare
    {
        // What is left of the trace stands alone.
        if alone.spans.is_empty() {
            return Outcome::NoSpans;
        }
        former.stored = None;
        let alone = merge(None, alone, &shared.config);
        put = self::put(shared, alone, &former, sealed.dropped, from);
    }
    let expired = put.iter().flat_map(|put| &put.expired);
    let expired = expired.filter(|stored| !stored.sample);
    Outcome::Stored(Spans {
        expired: expired.map(|stored| stored.trace.spans.len() as u64).sum(),
        ..spans
    })
}

/// Whether a trace waits until its parts can be read. What is damaged is not mended by waiting:
/// those who know its trace alone had it, and what came stands beside it.
fn is_put_off(shared: &Shared, sealed: &Sealed, error: &StoreError) -> bool {
    let wait = !sealed.last_try && !error.is_damage();
    let what: &dyn std::error::Error = error;
    let id = sealed.trace.id;
    if wait {
        shared.telemetry.lookup_failures.inc();
        if sealed.tries == 0 {
            tracing::warn!(trace.id = %id, error = what, "cannot look up a trace; tried again");
        }
    } else {
        tracing::error!(
            trace.id = %id, error = what,
            "cannot look up a trace; its new spans are stored by themselves"
        );
    }
    wait
}

/// Analyses a trace and puts it into the store; `None` if its former state has left it meanwhile.
fn put(
    shared: &Shared,
    merged: Merged,
    former: &Former,
    dropped: usize,
    log_from: u64,
) -> Option<Put> {
    let trace = merged.trace;
    let (policy, typical) = (&shared.policy, shared.store.typical());
    let mut analysis = contained(&trace, || (shared.analyse)(&trace, policy, &typical));
    let telemetry = &shared.telemetry;
    if analysis.failed {
        telemetry.analysis_failures.inc();
        let spans = trace.spans.len();
        tracing::error!(
            trace.id = %trace.id, trace.spans = spans,
            "the analysis of a trace failed; its spans are kept, and belong to no request"
        );
    }
    let known = former.stored.as_ref();
    let changed = verdict::revise(&mut analysis, known, dropped);
    telemetry.revisions.inc_by(u64::from(changed));
    let stored = Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: known.map_or(log_from, |known| known.log_from.min(log_from)),
    };
    match known {
        Some(_) if !shared.durable => shared.store.put_revision(stored),
        _ => Some(shared.store.put_after(stored, former)),
    }
}
