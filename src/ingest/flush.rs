//! The thread that brings fresh rows into parts and cuts the log below them.
//!
//! A flush is due when enough is fresh, when the oldest of it is old enough, or when the log is half
//! full; traces that keep the log from being cut are then sealed early. One that fails is tried
//! again, later each time, and nothing is lost by it: its rows stay fresh and its records in the
//! log, both under their ceilings, which push back on the receivers.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::batch::Pending;
use super::log::Log;
use super::shared::Shared;
use super::upkeep;
use crate::model::Nanos;
use crate::telemetry::clock;

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(100);

/// How often the log is cut when nothing was flushed: what was a copy needs no flush.
const CUT: Nanos = Nanos::from_secs(1);

/// The waits after flushes that failed, from and to.
const BACK_OFF: (Nanos, Nanos) = (Nanos::from_millis(500), Nanos::from_secs(30));

/// When fresh rows are brought into parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// The longest time that a row stays fresh.
    pub after: Nanos,
    /// From so many fresh spans on at once.
    pub spans: usize,
    /// From about so many bytes of fresh rows on at once.
    pub bytes: usize,
    /// From one look at what is to be merged or too old to the next.
    pub upkeep: Nanos,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            after: Nanos::from_secs(10),
            spans: 250_000,
            bytes: 256 << 20,
            upkeep: Nanos::from_secs(15),
        }
    }
}

/// What the others say to the thread.
#[derive(Debug, Default)]
pub(super) struct Flush {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// When the oldest of what is fresh was put.
    since: Option<Nanos>,
    kicked: bool,
    /// The last flush is asked for.
    closing: bool,
    /// The threads go home without one.
    stopped: bool,
    /// It has ended: whether well.
    ended: Option<bool>,
}

impl Flush {
    /// A trace was put into the store.
    pub(super) fn something_fresh(&self, now: Nanos) {
        self.lock().since.get_or_insert(now);
    }

    /// Room is needed.
    pub(super) fn kick(&self) {
        self.lock().kicked = true;
        self.changed.notify_all();
    }

    /// Waits so long, or until the end comes.
    pub(super) fn nap(&self, time: Duration) {
        let state = self.lock();
        let open = |state: &mut State| !state.closing && !state.stopped;
        drop(self.changed.wait_timeout_while(state, time, open));
    }

    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn wake(&self) {
        self.changed.notify_all();
    }

    /// Asks for the last flush and waits for it; whether it went well in time.
    pub(super) fn close(&self, shared: &Shared, until: Nanos) -> bool {
        let mut state = self.lock();
        state.closing = true;
        self.changed.notify_all();
        let within = shared.left(until);
        let ended = self
            .changed
            .wait_timeout_while(state, within, |state| state.ended.is_none());
        state = ended.unwrap_or_else(PoisonError::into_inner).0;
        state.ended == Some(true)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread knows from one look to the next.
struct Flusher<'s> {
    shared: &'s Shared,
    log: &'s Log<Pending>,
    pace: &'s Pace,
    /// No flush before this, after some that failed.
    not_before: Nanos,
    wait: Nanos,
    failing: bool,
    next_cut: Nanos,
    next_seal: Nanos,
}

/// Works until the handle says stop.
pub(super) fn run(shared: &Shared, log: &Log<Pending>, pace: &Pace) {
    let mut flusher = Flusher {
        shared,
        log,
        pace,
        not_before: Nanos(i64::MIN),
        wait: BACK_OFF.0,
        failing: false,
        next_cut: Nanos(i64::MIN),
        next_seal: Nanos(i64::MIN),
    };
    loop {
        let state = shared.flush.lock();
        let idle = |state: &mut State| !state.kicked && !state.closing && !state.stopped;
        let waited = shared.flush.changed.wait_timeout_while(state, TICK, idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.closing {
            drop(state);
            let well = loop {
                match flusher.flush() {
                    Some(0) => break true,
                    Some(_) => {}
                    None => break false,
                }
            };
            shared.flush.lock().ended = Some(well);
            shared.flush.wake();
            return;
        }
        if state.stopped {
            return;
        }
        let kicked = std::mem::take(&mut state.kicked);
        let since = state.since;
        drop(state);
        flusher.look(kicked, since);
    }
}

impl Flusher<'_> {
    fn look(&mut self, kicked: bool, since: Option<Nanos>) {
        let now = (self.shared.clock)();
        let size = self.log.size();
        let log_half_full = size.bytes > self.log.max_bytes() / 2;
        if log_half_full && size.segments > 1 && now >= self.next_seal {
            self.next_seal = now + CUT;
            let mut assembly = self.shared.lock();
            assembly.seal_behind(self.log.active_from());
            drop(assembly);
            self.shared.changed.notify_all();
        }
        let fresh = self.shared.store.fresh();
        // Well before rows alone fill the memory that they share with what is open.
        let config = &self.shared.config;
        let spans = self.pace.spans.min(config.max_spans / 4);
        let bytes = self.pace.bytes.min(config.max_bytes / 4);
        let due = since.is_some_and(|since| now >= since + self.pace.after)
            || fresh.spans >= spans.max(1)
            || fresh.bytes >= bytes.max(1)
            || (since.is_some() && (kicked || log_half_full));
        if due && now >= self.not_before {
            self.flush();
        } else if now >= self.next_cut {
            self.cut();
        }
        self.show();
    }

    /// Brings what is fresh into parts, as far as one flush may, and cuts the log. Returns how many
    /// traces wait for the next; `None` if it failed.
    fn flush(&mut self) -> Option<u64> {
        let shared = self.shared;
        // What is put while this runs is fresh again after it.
        let since = shared.flush.lock().since.take();
        let started = clock::monotonic_nanos();
        let flushed = shared.store.flush_some();
        let took = clock::monotonic_nanos() - started;
        let now = (shared.clock)();
        match flushed {
            Ok(flushed) => {
                shared.telemetry.flush_seconds.observe(took as f64 / 1e9);
                tracing::debug!(
                    flush.traces = flushed.traces,
                    flush.spans = flushed.spans,
                    flush.parts = flushed.parts,
                    flush.bytes = flushed.bytes,
                    flush.left = flushed.left,
                    "flushed"
                );
                if std::mem::take(&mut self.failing) {
                    tracing::warn!("fresh rows can be flushed again");
                }
                self.wait = BACK_OFF.0;
                self.not_before = Nanos(i64::MIN);
                let mut assembly = shared.lock();
                shared.recount_fresh(&mut assembly);
                drop(assembly);
                shared.changed.notify_all();
                self.cut();
                upkeep::show(shared);
                if flushed.left > 0 {
                    let mut state = shared.flush.lock();
                    state.since = since.or(state.since);
                    state.kicked = true;
                }
                Some(flushed.left)
            }
            Err(error) => {
                shared.telemetry.flush_failures.inc();
                if !std::mem::replace(&mut self.failing, true) {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(
                        error,
                        "fresh rows cannot be flushed; they are kept, and it is tried again"
                    );
                }
                let mut state = shared.flush.lock();
                state.since = since.or(state.since);
                drop(state);
                self.not_before = now + self.wait;
                self.wait = (self.wait + self.wait).min(BACK_OFF.1);
                None
            }
        }
    }

    /// Cuts the log below everything that is in no part.
    fn cut(&mut self) {
        self.next_cut = (self.shared.clock)() + CUT;
        // In this order: a trace that leaves the assembly meanwhile is in the store by then.
        let needed = self.shared.lock().needs_log_from();
        let fresh = self.shared.store.oldest_fresh().unwrap_or(u64::MAX);
        if let Err(error) = self.log.cut(needed.min(fresh)) {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "a part of the log that is not needed stays");
        }
    }

    fn show(&self) {
        let (size, telemetry) = (self.log.size(), &self.shared.telemetry);
        let age = match size.since {
            0 => 0,
            since => clock::unix_nanos().saturating_sub(since) / 1_000_000_000,
        };
        telemetry.log_lag_records.set(size.records as i64);
        telemetry.log_lag_bytes.set(size.bytes as i64);
        telemetry.log_lag_seconds.set(age as i64);
        telemetry.set_log_full(size.bytes >= self.log.max_bytes());
    }
}
