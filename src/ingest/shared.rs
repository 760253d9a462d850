//! What the handle and its threads share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::assembly::{Assembly, Config, Load, Pushed, Room};
use super::batch::{Batch, Pending, Refused};
use super::flush::Flush;
use super::log::Commit;
use super::rejoin::rejoin;
use super::{Analyse, Clock, Setup};
use crate::budget::Policy;
use crate::model::{Nanos, Span, SpanLog, Trace, TraceId};
use crate::store::Store;
use crate::telemetry::Telemetry;

#[derive(Debug)]
pub(super) struct Shared {
    assembly: Mutex<Assembly>,
    /// Told when there is something to analyse, when a trace is done, and at the end.
    pub(super) changed: Condvar,
    /// No batch is taken any more.
    pub(super) closing: AtomicBool,
    /// The threads go home, whatever is left.
    pub(super) stopped: AtomicBool,
    /// What the log held is being brought back.
    pub(super) replaying: AtomicBool,
    pub(super) flush: Flush,
    /// Whether there is a log, and parts behind the store.
    pub(super) durable: bool,
    pub(super) config: Config,
    pub(super) store: Arc<Store>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) policy: Policy,
    pub(super) clock: Clock,
    pub(super) analyse: Analyse,
}

impl Shared {
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            assembly: Mutex::new(Assembly::new(setup.config.clone())),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            replaying: AtomicBool::new(false),
            flush: Flush::default(),
            durable: setup.log.is_some(),
            config: setup.config,
            store: setup.store,
            telemetry: setup.telemetry,
            policy: setup.policy,
            clock: setup.clock,
            analyse: setup.analyse,
        }
    }

    // A panic under the lock would be a fault in the assembly alone; serving on is better than
    // failing every later batch.
    pub(super) fn lock(&self) -> MutexGuard<'_, Assembly> {
        self.assembly.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on until all of the log is brought back nothing else is taken, and nothing cut.
    pub(super) fn begin_replay(&self) {
        self.lock().pushed_below(0);
        self.replaying.store(true, Ordering::Release);
        self.telemetry.set_replaying(true);
    }

    /// Puts together what came apart while files were missing that are there again.
    pub(super) fn rejoin(&self) {
        match rejoin(&self.store, &self.policy, &self.config) {
            Ok(0) => {}
            Ok(traces) => tracing::info!(traces, "put together what was left out before"),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    error,
                    "what was left out before stays apart until the next start"
                );
            }
        }
    }

    /// Why no batch is taken now, for the sender and for the counters.
    pub(super) fn refuses(&self) -> Option<(&'static str, &'static str)> {
        if self.closing.load(Ordering::Acquire) {
            Some(("the server stops", "shutdown"))
        } else if self.replaying.load(Ordering::Acquire) {
            Some(("the server starts; try again later", "starting"))
        } else {
            None
        }
    }

    /// Counts what came, and of it what is bad; returns how many spans it was. Under the lock.
    pub(super) fn count(&self, batch: &Batch) -> u64 {
        let telemetry = &self.telemetry;
        let sum = |rejected: &[(&'static str, u64)]| -> u64 {
            rejected.iter().map(|(_, count)| count).sum()
        };
        let logs = batch.logs.len() as u64 + sum(&batch.rejected_logs);
        telemetry.logs_received.inc_by(logs);
        for (reason, count) in &batch.rejected_logs {
            telemetry.logs_rejected.add(reason, *count);
        }
        let spans = batch.spans.len() as u64 + sum(&batch.rejected_spans);
        telemetry.spans_received.inc_by(spans);
        for (reason, count) in &batch.rejected_spans {
            telemetry.spans_rejected.add(reason, *count);
        }
        spans
    }

    /// Counts what was received and is refused. Under the lock.
    pub(super) fn shed(&self, reason: &'static str, spans: u64, logs: u64) {
        self.telemetry.spans_shed.add(reason, spans);
        self.telemetry.logs_rejected.add(reason, logs);
    }

    /// What is known of a trace that is in no part yet.
    pub(super) fn known(&self, id: TraceId) -> Option<Arc<Trace>> {
        let stored = self.store.memory().get(id)?;
        (!stored.sample).then_some(stored.trace)
    }

    /// Puts spans and log records, which count as open already, into the assembly.
    pub(super) fn push(
        &self,
        assembly: &mut Assembly,
        room: Room,
        what: (Vec<Span>, Vec<SpanLog>, &[usize]),
        from: u64,
    ) -> Pushed {
        let logs = what.1.len() as u64;
        let now = (self.clock)();
        let due = assembly.next_due();
        let pushed = assembly.push(room, what, from, now, &|id| self.known(id));
        let telemetry = &self.telemetry;
        let over = pushed.spans_over as u64;
        telemetry.spans_rejected.add("trace_full", over);
        telemetry.spans_open.dec_by(over as i64);
        telemetry
            .logs_rejected
            .add("trace_full", pushed.logs_over as u64);
        telemetry.logs_kept.inc_by(logs - pushed.logs_over as u64);
        telemetry.traces_open.set(assembly.open().traces as i64);
        // A thread may be asleep until later than what is due first now.
        let sooner = assembly
            .next_due()
            .is_some_and(|new| due.is_none_or(|old| new < old));
        if sooner || assembly.has_work() {
            self.changed.notify_one();
        }
        pushed
    }

    /// Takes a group from the log: into the assembly and answered, or refused.
    pub(super) fn deliver(&self, commit: Commit<Pending>) {
        let mut answers = Vec::with_capacity(commit.tickets.len());
        let mut assembly = self.lock();
        match commit.result {
            Ok(seqs) => {
                let mut seq = seqs.start;
                for (pending, records) in commit.tickets {
                    let what = (pending.spans, pending.logs, &*pending.sizes);
                    let pushed = self.push(&mut assembly, pending.room, what, seq);
                    let most = self.config.max_trace_spans;
                    let accepted = pending.accepted.with_over(&pushed, most);
                    answers.push((pending.reply, Ok(accepted)));
                    seq += records;
                }
                if !self.replaying.load(Ordering::Acquire) {
                    assembly.pushed_below(seqs.end);
                }
            }
            Err(why) => {
                for (pending, _) in commit.tickets {
                    let (spans, logs) = (pending.spans.len(), pending.logs.len());
                    assembly.release(pending.room);
                    self.telemetry.spans_open.dec_by(spans as i64);
                    self.shed("log", spans as u64, logs as u64);
                    answers.push((pending.reply, Err(Refused::from(why))));
                }
            }
        }
        drop(assembly);
        for (reply, answer) in answers {
            // A sender that left does not change what became of its batch.
            drop(reply.send(answer));
        }
    }

    /// How much is stored and in no part yet, which takes of the assembly's room. Nothing does
    /// without parts: there the store has ceilings of its own.
    pub(super) fn recount_fresh(&self, assembly: &mut Assembly) {
        if !self.durable {
            return;
        }
        let fresh = self.store.fresh();
        self.telemetry.fresh_spans.set(fresh.spans as i64);
        self.telemetry.fresh_bytes.set(fresh.bytes as i64);
        assembly.set_fresh(Load {
            traces: 0,
            spans: fresh.spans,
            logs: 0,
            bytes: fresh.bytes,
        });
    }

    /// Whether so much is stored and in no part that nothing may be added.
    pub(super) fn is_fresh_full(&self) -> bool {
        self.durable && {
            let fresh = self.store.fresh();
            fresh.spans >= self.config.max_spans || fresh.bytes >= self.config.max_bytes
        }
    }

    /// The instant after this time.
    pub(super) fn after(&self, within: Duration) -> Nanos {
        (self.clock)() + Nanos(i64::try_from(within.as_nanos()).unwrap_or(i64::MAX / 2))
    }

    /// How long it is until then.
    pub(super) fn left(&self, until: Nanos) -> Duration {
        Duration::from_nanos((until - (self.clock)()).at_least_zero().0 as u64)
    }
}
