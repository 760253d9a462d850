//! The threads that analyse: seal what is due, take one trace, put its verdict into the table.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::assembly::Sealed;
use super::{Shared, verdict};
use crate::budget::analyse;
use crate::model::{Nanos, Trace};
use crate::store::{Put, Stored};

/// The longest nap of a thread; nothing depends on it but how soon a clock that was set forward
/// by a test is noticed.
const NAP: Nanos = Nanos::from_millis(200);

/// What became of a sealed trace.
enum Outcome {
    /// It is in the table; these spans made room for it.
    Stored { expired: u64 },
    /// Its analysis failed: a fault of ours.
    Failed,
    /// Log records whose spans never came.
    NoSpans,
}

/// Works until the handle says stop.
pub(super) fn run(shared: &Shared) {
    let mut assembly = shared.lock();
    while !shared.stopped.load(Ordering::Acquire) {
        let now = (shared.clock)();
        assembly.seal_due(now);
        if let Some(sealed) = assembly.take() {
            if assembly.has_work() {
                shared.changed.notify_one();
            }
            drop(assembly);
            let (id, load, why) = (sealed.trace.id, sealed.load(), sealed.why);
            let outcome = work(shared, sealed);
            assembly = shared.lock();
            assembly.done(id, load);
            let telemetry = &shared.telemetry;
            telemetry.spans_open.dec_by(load.spans as i64);
            telemetry.traces_sealed.add(why.as_str(), 1);
            telemetry.traces_open.set(assembly.open().traces as i64);
            match outcome {
                Outcome::Stored { expired } => {
                    telemetry.spans_stored.inc_by(load.spans as u64);
                    telemetry.spans_expired.inc_by(expired);
                }
                Outcome::Failed => telemetry
                    .spans_rejected
                    .add("analysis_failed", load.spans as u64),
                Outcome::NoSpans => telemetry.logs_rejected.add("no_span", load.logs as u64),
            }
            if assembly.is_idle() {
                shared.changed.notify_all();
            }
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
    let former = shared
        .store
        .memory()
        .get(sealed.trace.id)
        .filter(|stored| !stored.sample);
    if former.is_none() && sealed.trace.spans.is_empty() {
        return Outcome::NoSpans;
    }
    let spare = former.is_some().then(|| sealed.trace.clone());
    let trace = verdict::merge(former.as_ref(), sealed.trace);
    let put = match (put(shared, trace, former.as_ref(), sealed.dropped), spare) {
        // The former state expired meanwhile: what is left of the trace stands alone.
        (Ok(None), Some(alone)) if alone.spans.is_empty() => return Outcome::NoSpans,
        (Ok(None), Some(alone)) => put(shared, alone, None, sealed.dropped),
        (result, _) => result,
    };
    match put {
        Ok(Some(put)) => {
            let expired = put.expired.iter().filter(|stored| !stored.sample);
            Outcome::Stored {
                expired: expired.map(|stored| stored.trace.spans.len() as u64).sum(),
            }
        }
        Ok(None) | Err(Panicked) => Outcome::Failed,
    }
}

/// The analysis panicked.
struct Panicked;

/// Analyses a trace and puts it into the table; `None` if `former` has left the table meanwhile.
fn put(
    shared: &Shared,
    trace: Trace,
    former: Option<&Stored>,
    dropped: usize,
) -> Result<Option<Put>, Panicked> {
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
        log_from: u64::MAX,
    };
    let put = match former {
        Some(_) => shared.store.put_revision(stored),
        None => Some(shared.store.put(stored)),
    };
    telemetry
        .requests_held
        .set(shared.store.memory().len() as i64);
    telemetry
        .bytes_held
        .set(shared.store.memory().bytes() as i64);
    let took = ((shared.clock)() - started).at_least_zero();
    telemetry.analysis_nanos.inc_by(took.0 as u64);
    Ok(put)
}
