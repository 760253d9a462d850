//! From batches of spans to analysed traces.
//!
//! [`Ingest`] is the handle that the receivers hold. A batch is taken whole or refused whole
//! ([`Full`]); what is taken waits in the [`Assembly`] until its trace is quiet, and is then
//! analysed by one of a few threads and put into the table of requests. There is no queue besides
//! the assembly: while analysis is behind, traces stay in it, and its ceilings push back.
//!
//! **Invariant**: received = stored + rejected + shed + open, at every instant (see
//! [`Ingest::account`]); after [`Ingest::close`] nothing is open. All of these change under the
//! assembly's lock alone.

mod assembly;
mod batch;
mod verdict;
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use assembly::{Assembly, Config, Full, Load, Pushed, Sealed, Why};
pub use batch::{Accepted, Batch};

use crate::budget::{Policy, Typical};
use crate::model::Nanos;
use crate::store::Store;
use crate::telemetry::Telemetry;

/// A monotonic clock: nanoseconds since any fixed instant.
pub type Clock = fn() -> Nanos;

/// Takes batches, assembles and analyses them. Share it in an `Arc`; [`Ingest::close`] it at the
/// end, or what is still being assembled is lost.
#[derive(Debug)]
pub struct Ingest {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Where every span that came has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// All that came.
    pub received: u64,
    /// Analysed and put into the table.
    pub stored: u64,
    /// Can never be taken.
    pub rejected: u64,
    /// There was no room.
    pub shed: u64,
    /// Being assembled or analysed.
    pub open: u64,
}

/// What the handle and its threads share.
#[derive(Debug)]
struct Shared {
    assembly: Mutex<Assembly>,
    /// Told when there is something to analyse, when a trace is done, and at the end.
    changed: Condvar,
    /// No batch is taken any more.
    closing: AtomicBool,
    /// The threads go home, whatever is left.
    stopped: AtomicBool,
    config: Config,
    store: Arc<Store>,
    telemetry: Arc<Telemetry>,
    policy: Policy,
    typical: Typical,
    clock: Clock,
}

impl Ingest {
    /// Starts `threads` threads (at least one) that analyse what is quiet.
    pub fn start(
        config: Config,
        policy: Policy,
        store: Arc<Store>,
        telemetry: Arc<Telemetry>,
        clock: Clock,
        threads: usize,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            assembly: Mutex::new(Assembly::new(config.clone())),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            config,
            store,
            telemetry,
            policy,
            typical: Typical::default(),
            clock,
        });
        let threads = (0..threads.max(1))
            .map(|n| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("analyse-{n}"))
                    .spawn(move || worker::run(&shared))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            shared,
            threads: Mutex::new(threads),
        })
    }

    /// Takes a batch, or refuses all of it because there is no room. A bad span is counted and
    /// costs nobody else. When this returns `Ok`, the sender may forget the batch.
    pub fn offer(&self, mut batch: Batch) -> Result<Accepted, Full> {
        let shared = &*self.shared;
        let sizes = batch.cut(&shared.config);
        let counted = batch.count(&shared.telemetry);
        let (spans, logs) = (batch.spans.len() as u64, batch.logs.len() as u64);
        // THE DURABLE LOG goes here: append the batch, wait for the group commit, and only then
        // let it into the assembly; a replay after a crash enters below this line.
        if spans > 0 {
            shared.store.clear_samples();
        }
        let mut assembly = shared.lock();
        let telemetry = &shared.telemetry;
        telemetry.spans_received.inc_by(counted.received);
        for (reason, count) in &batch.rejected_spans {
            telemetry.spans_rejected.add(reason, *count);
        }
        let full = |full: Full, reason| {
            telemetry.spans_shed.add(reason, spans);
            telemetry.logs_rejected.add(reason, logs);
            Err(full)
        };
        if shared.closing.load(Ordering::Acquire) {
            return full(Full::for_a_second(), "shutdown");
        }
        let now = (shared.clock)();
        let known = |id| {
            let stored = shared.store.memory().get(id)?;
            (!stored.sample).then_some(stored.trace)
        };
        let rejected = batch.rejected();
        let due = assembly.next_due();
        let pushed = match assembly.push(batch.spans, batch.logs, &sizes, now, &known) {
            Ok(pushed) => pushed,
            Err(reason) => {
                shared.changed.notify_all();
                return full(reason, "full");
            }
        };
        telemetry
            .spans_rejected
            .add("trace_full", pushed.spans_over as u64);
        telemetry
            .logs_rejected
            .add("trace_full", pushed.logs_over as u64);
        telemetry.logs_kept.inc_by(logs - pushed.logs_over as u64);
        let kept = spans - pushed.spans_over as u64;
        telemetry.spans_open.inc_by(kept as i64);
        telemetry.traces_open.set(assembly.open().traces as i64);
        // A thread may be asleep until later than what is due first now.
        let sooner = assembly
            .next_due()
            .is_some_and(|new| due.is_none_or(|old| new < old));
        if sooner || assembly.has_work() {
            shared.changed.notify_one();
        }
        Ok(rejected.with_over(&pushed, shared.config.max_trace_spans))
    }

    /// Where every span that came has gone, at one instant.
    pub fn account(&self) -> Account {
        let _fence = self.shared.lock();
        let telemetry = &self.shared.telemetry;
        Account {
            received: telemetry.spans_received.get(),
            stored: telemetry.spans_stored.get(),
            rejected: telemetry.spans_rejected.total(),
            shed: telemetry.spans_shed.total(),
            open: telemetry.spans_open.get().max(0) as u64,
        }
    }

    /// The store that it fills.
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// The counters that it keeps.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.shared.telemetry
    }

    /// Takes no more, seals everything and waits until it is analysed, but not longer than
    /// `within`; what is left then is counted as shed. Returns how many spans that was. Blocks.
    pub fn close(&self, within: Duration) -> u64 {
        let shared = &*self.shared;
        shared.closing.store(true, Ordering::Release);
        let mut assembly = shared.lock();
        assembly.seal_all();
        shared.changed.notify_all();
        let until = (shared.clock)() + Nanos(i64::try_from(within.as_nanos()).unwrap_or(i64::MAX));
        while !assembly.is_idle() {
            let left = (until - (shared.clock)()).0;
            if left <= 0 {
                break;
            }
            let wait = Duration::from_nanos(left as u64).min(Duration::from_millis(50));
            assembly = shared
                .changed
                .wait_timeout(assembly, wait)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        let lost = assembly.discard_ready() as u64;
        shared.telemetry.spans_shed.add("shutdown", lost);
        shared.telemetry.spans_open.dec_by(lost as i64);
        shared.telemetry.traces_open.set(0);
        shared.stopped.store(true, Ordering::Release);
        let idle = assembly.is_idle();
        drop(assembly);
        shared.changed.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread in the middle of an analysis cannot be stopped; the process ends without it.
        for thread in threads.into_iter().filter(|_| idle) {
            if thread.join().is_err() {
                tracing::error!("an analysis thread panicked");
            }
        }
        lost
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    // A panic under the lock would be a fault in the assembly alone; serving on is better than
    // failing every later batch.
    fn lock(&self) -> MutexGuard<'_, Assembly> {
        self.assembly.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
