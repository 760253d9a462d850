//! The threads that analyse: seal what is due, take one trace, put its verdict into the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::assembly::Sealed;
use super::merge::{Merged, merge};
use super::shared::Shared;
use super::verdict;
use crate::budget::analyse;
use crate::model::{Nanos, Trace, UnixNanos};
use crate::store::{Put, Stored};

/// The longest nap of a thread; nothing depends on it but how soon a clock that was set forward
/// by a test is noticed.
const NAP: Nanos = Nanos::from_millis(200);

/// How often a look-up in the parts is tried when it fails.
const TRIES: u32 = 4;

/// What became of a sealed trace.
enum Outcome {
    /// It is in the store.
    Stored(Spans),
    /// Its analysis failed: a fault of ours.
    Failed,
    /// Log records whose spans never came.
    NoSpans,
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
        if let Some(sealed) = (!full).then(|| assembly.take()).flatten() {
            if assembly.has_work() {
                shared.changed.notify_one();
            }
            drop(assembly);
            let (id, load, why) = (sealed.trace.id, sealed.load(), sealed.why);
            let outcome = work(shared, sealed);
            assembly = shared.lock();
            assembly.done(id, load);
            assembly.learn(id, &|id| shared.known(id));
            shared.recount_fresh(&mut assembly);
            let telemetry = &shared.telemetry;
            telemetry.spans_open.dec_by(load.spans as i64);
            telemetry.traces_sealed.add(why.as_str(), 1);
            telemetry.traces_open.set(assembly.open().traces as i64);
            match outcome {
                Outcome::Stored(spans) => {
                    telemetry
                        .spans_stored
                        .inc_by(load.spans as u64 - spans.over);
                    telemetry.spans_duplicate.inc_by(spans.duplicates);
                    telemetry.spans_rejected.add("trace_full", spans.over);
                    telemetry.spans_expired.inc_by(spans.expired);
                }
                Outcome::Failed => telemetry
                    .spans_rejected
                    .add("analysis_failed", load.spans as u64),
                Outcome::NoSpans => telemetry.logs_rejected.add("no_span", load.logs as u64),
            }
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

fn work(shared: &Shared, sealed: Sealed) -> Outcome {
    let former = former(shared, &sealed.trace);
    if former.is_none() && sealed.trace.spans.is_empty() {
        return Outcome::NoSpans;
    }
    let from = sealed.log_from;
    // Without parts the former state may leave the store meanwhile.
    let spare = (former.is_some() && !shared.durable).then(|| sealed.trace.clone());
    let merged = merge(former.as_ref(), sealed.trace, &shared.config);
    let spans = Spans {
        duplicates: merged.duplicates as u64,
        over: merged.over as u64,
        expired: 0,
    };
    // What was cut off a trace that came again was cut off before.
    let again = merged.duplicates > 0 && merged.added == 0;
    let dropped = if again { 0 } else { sealed.dropped } + merged.over;
    if former.is_some() && merged.added == 0 && dropped == 0 {
        return Outcome::Stored(spans);
    }
    let put = match (put(shared, merged, former.as_ref(), dropped, from), spare) {
        // What is left of the trace stands alone.
        (Ok(None), Some(alone)) if alone.spans.is_empty() => return Outcome::NoSpans,
        (Ok(None), Some(alone)) => {
            let alone = merge(None, alone, &shared.config);
            put(shared, alone, None, sealed.dropped, from)
        }
        (result, _) => result,
    };
    match put {
        Ok(Some(put)) => {
            let expired = put.expired.iter().filter(|stored| !stored.sample);
            Outcome::Stored(Spans {
                expired: expired.map(|stored| stored.trace.spans.len() as u64).sum(),
                ..spans
            })
        }
        Ok(None) | Err(Panicked) => Outcome::Failed,
    }
}

/// What is known of a trace. A look-up that fails is tried again; when it goes on failing, the
/// parts that it needs cannot be read by anybody, and what came stands alone.
fn former(shared: &Shared, trace: &Trace) -> Option<Stored> {
    let times = || {
        let spans = trace.spans.iter().map(|span| (span.start, span.end));
        spans.chain(trace.logs.iter().map(|log| (log.time, log.time)))
    };
    let around = (
        times()
            .map(|(start, _)| start)
            .min()
            .unwrap_or(UnixNanos(0)),
        times()
            .map(|(start, end)| start.max(end))
            .max()
            .unwrap_or(UnixNanos(0)),
    );
    for attempt in 1..=TRIES {
        match shared.store.former(trace.id, around) {
            Ok(former) => return former.filter(|stored| !stored.sample),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(trace.id = %trace.id, attempt, error, "cannot look up a trace");
                std::thread::sleep(Duration::from_millis(50 << attempt));
            }
        }
    }
    None
}

/// The analysis panicked.
struct Panicked;

/// Analyses a trace and puts it into the store; `None` if `former` has left it meanwhile.
fn put(
    shared: &Shared,
    merged: Merged,
    former: Option<&Stored>,
    dropped: usize,
    log_from: u64,
) -> Result<Option<Put>, Panicked> {
    let trace = merged.trace;
    let started = (shared.clock)();
    let (policy, typical) = (&shared.policy, &shared.typical);
    // The analysis is total by contract; one trace that shows otherwise must not end the server.
    let analysis = catch_unwind(AssertUnwindSafe(|| analyse(&trace, policy, typical)));
    let Ok(mut analysis) = analysis else {
        tracing::error!(trace.id = %trace.id, trace.spans = trace.spans.len(), "analysis failed");
        return Err(Panicked);
    };
    let changed = verdict::revise(&mut analysis, former, dropped);
    let telemetry = &shared.telemetry;
    telemetry.revisions.inc_by(u64::from(changed));
    let stored = Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: former.map_or(log_from, |former| former.log_from.min(log_from)),
    };
    let put = match former {
        Some(_) if !shared.durable => shared.store.put_revision(stored),
        _ => Some(shared.store.put(stored)),
    };
    shared.flush.something_fresh((shared.clock)());
    let memory = shared.store.memory();
    telemetry.requests_held.set(memory.len() as i64);
    telemetry.bytes_held.set(memory.bytes() as i64);
    let took = ((shared.clock)() - started).at_least_zero();
    telemetry.analysis_nanos.inc_by(took.0 as u64);
    Ok(put)
}
