//! From batches of spans to analysed traces.
//!
//! [`Ingest`] is the handle that the receivers hold. A batch is taken whole or refused whole
//! ([`Refused`]). The order, with a durable log:
//!
//! 1. room for it is reserved in the [`Assembly`], else it is refused as [`Full`];
//! 2. it is appended to the [`log`] and waits for the group commit, else it is `Unavailable`;
//! 3. the log's thread pushes it into the assembly, whether the sender still waits or not, and
//!    only then is it acknowledged ([`Ticket`]);
//! 4. when its trace is quiet, a few threads put it together with what is known of it, without
//!    exact copies, analyse it and put it into the store. What is known of it and cannot be read
//!    now is asked for again, later each time, as long as there is room for what waits; a trace
//!    whose analysis panics is kept with its spans in no request;
//! 5. a thread flushes the store's fresh rows into parts and then cuts the log below everything
//!    that is in no part yet; another merges parts and removes what is too old; a third learns
//!    typical times for the next analyses.
//!
//! There is no queue besides the log's and the assembly: while something is behind, batches stay
//! in these, and their ceilings push back. Without a log (`--memory-only`) steps 2 and 5 fall away
//! and what is open is lost with the process.
//!
//! **Invariant**: received = stored + rejected + shed + open, at every instant (see
//! [`Ingest::account`]). All of these change under the assembly's lock alone. What a replay brings
//! back counts as received anew.

mod add;
mod assembly;
mod batch;
mod flush;
pub mod log;
mod merge;
mod rejoin;
mod replay;
mod shared;
mod typical;
mod upkeep;
mod verdict;
mod worker;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use add::{Added, add};
pub use assembly::{Assembly, Config, Full, Load, Pushed, Room, Sealed, Why};
pub use batch::{Accepted, Batch, Refused, Ticket};
pub use flush::Pace;
pub use rejoin::rejoin;

use self::batch::Pending;
use self::log::{Log, LogError};
use self::shared::Shared;
use crate::budget::{Policy, Typical};
use crate::model::{Analysis, Nanos, Trace};
use crate::store::Store;
use crate::telemetry::Telemetry;

/// A monotonic clock: nanoseconds since any fixed instant.
pub type Clock = fn() -> Nanos;

/// What analyses a trace: [`analyse`](crate::budget::analyse).
pub type Analyse = fn(&Trace, &Policy, &Typical) -> Analysis;

/// Takes batches, assembles and analyses them. Share it in an `Arc`; [`Ingest::close`] it at the
/// end: what is still being assembled then is lost without a log, and replayed with one.
#[derive(Debug)]
pub struct Ingest {
    shared: Arc<Shared>,
    log: Option<Arc<Log<Pending>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What an ingest needs.
#[derive(Debug)]
pub struct Setup {
    /// Ceilings and waits.
    pub config: Config,
    /// How traces are analysed.
    pub policy: Policy,
    /// Where they go.
    pub store: Arc<Store>,
    /// What is counted.
    pub telemetry: Arc<Telemetry>,
    /// The time.
    pub clock: Clock,
    /// What analyses.
    pub analyse: Analyse,
    /// How many threads analyse, at least one.
    pub threads: usize,
    /// The durable log, for a store that has a folder.
    pub log: Option<Durable>,
}

/// A durable log and how the store behind it is flushed.
#[derive(Debug, Clone)]
pub struct Durable {
    /// The log's folder.
    pub dir: PathBuf,
    /// How it is kept.
    pub options: log::Options,
    /// When rows are flushed.
    pub pace: Pace,
}

/// Why it cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A thread.
    #[error("cannot start a thread of the assembly")]
    Thread(#[from] std::io::Error),
}

/// Where every span that came has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// All that came.
    pub received: u64,
    /// Analysed and put into the store.
    pub stored: u64,
    /// Can never be taken.
    pub rejected: u64,
    /// There was no room.
    pub shed: u64,
    /// Waiting for the log, being assembled or analysed.
    pub open: u64,
}

/// What the end left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Closed {
    /// Spans that were not analysed in time and are gone; none if there is a log.
    pub lost: u64,
    /// Spans that are in the log and not in the tables: the next start replays them.
    pub kept: u64,
}

impl Ingest {
    /// Starts the threads. With a log, batches are refused until it has been replayed.
    pub fn start(setup: Setup) -> Result<Self, StartError> {
        let threads = setup.threads.max(1);
        let durable = setup.log.clone();
        let shared = Arc::new(Shared::new(setup));
        typical::learn(&shared, false, &mut false);
        // Before anything else is put.
        shared.rejoin();
        let mut running = Vec::new();
        let mut spawn = |name: String, work: Box<dyn FnOnce() + Send>| -> std::io::Result<()> {
            running.push(std::thread::Builder::new().name(name).spawn(work)?);
            Ok(())
        };
        let mut log = None;
        if let Some(durable) = durable {
            let deliver = {
                let shared = Arc::clone(&shared);
                move |commit| shared.deliver(commit)
            };
            let telemetry = Arc::clone(&shared.telemetry);
            let (opened, replay) = Log::open(&durable.dir, durable.options, telemetry, deliver)?;
            let opened = Arc::new(opened);
            let end = opened.next_seq();
            shared.begin_replay();
            let (replaying, flushing) = (Arc::clone(&shared), Arc::clone(&shared));
            let work = move || replay::run(&replaying, replay, end);
            spawn("replay".into(), Box::new(work))?;
            let flushed = Arc::clone(&opened);
            let every = durable.pace.upkeep;
            let work = move || flush::run(&flushing, &flushed, &durable.pace);
            spawn("flush".into(), Box::new(work))?;
            let kept = Arc::clone(&shared);
            spawn("upkeep".into(), Box::new(move || upkeep::run(&kept, every)))?;
            log = Some(opened);
        }
        let learning = Arc::clone(&shared);
        spawn("typical".into(), Box::new(move || typical::run(&learning)))?;
        for n in 0..threads {
            let shared = Arc::clone(&shared);
            spawn(
                format!("analyse-{n}"),
                Box::new(move || worker::run(&shared)),
            )?;
        }
        Ok(Self {
            shared,
            log,
            threads: Mutex::new(running),
        })
    }

    /// Takes a batch, or refuses all of it. A bad span is counted and costs nobody else. When the
    /// ticket says `Ok`, the sender may forget the batch. Never blocks for long.
    pub fn offer(&self, mut batch: Batch) -> Result<Ticket, Refused> {
        let shared = &*self.shared;
        let sizes = batch.cut(&shared.config);
        let records = match &self.log {
            Some(_) => batch.records(),
            None => Vec::new(),
        };
        let (spans, logs) = (batch.spans.len() as u64, batch.logs.len() as u64);
        if spans > 0 {
            shared.store.clear_samples();
        }
        let telemetry = &shared.telemetry;
        let accepted = batch.rejected();
        let mut assembly = shared.lock();
        shared.count(&batch);
        if let Some((why, reason)) = shared.refuses() {
            shared.shed(reason, spans, logs);
            return Err(Refused::unavailable(why));
        }
        let now = (shared.clock)();
        let bytes = sizes.iter().sum();
        let room = match assembly.reserve(&batch.spans, &batch.logs, bytes, now) {
            Ok(room) => room,
            Err(full) => {
                shared.changed.notify_all();
                shared.flush.kick();
                shared.shed("full", spans, logs);
                return Err(full.into());
            }
        };
        telemetry.spans_open.inc_by(spans as i64);
        let Some(log) = self.log.as_ref().filter(|_| !records.is_empty()) else {
            let what = (batch.spans, batch.logs, &*sizes);
            let pushed = shared.push(&mut assembly, room, what, u64::MAX);
            let most = shared.config.max_trace_spans;
            return Ok(Ticket::known(accepted.with_over(&pushed, most)));
        };
        drop(assembly);
        let (reply, answer) = oneshot::channel();
        let pending = Pending {
            spans: batch.spans,
            logs: batch.logs,
            sizes,
            room,
            accepted,
            reply,
        };
        match log.append(records, pending) {
            Ok(()) => Ok(Ticket::waiting(answer)),
            Err((why, pending)) => {
                let mut assembly = shared.lock();
                assembly.release(pending.room);
                telemetry.spans_open.dec_by(spans as i64);
                shared.shed("log", spans, logs);
                Err(why.into())
            }
        }
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

    /// Whether what the log held at the start has been brought back.
    pub fn has_replayed(&self) -> bool {
        !self.shared.replaying.load(Ordering::Acquire)
    }

    /// Brings everything fresh into parts as soon as the thread for it gets to it.
    pub fn flush_soon(&self) {
        self.shared.flush.kick();
    }

    /// The store that it fills.
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// The counters that it keeps.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.shared.telemetry
    }

    /// How much is in the durable log, if there is one.
    pub fn log_size(&self) -> Option<log::Size> {
        self.log.as_ref().map(|log| log.size())
    }

    /// Takes no more, commits what waits for the log, seals everything, waits until it is analysed
    /// and flushed, and cuts the log; but not longer than `within`. Without a log, what is left
    /// then is counted as shed. Blocks.
    pub fn close(&self, within: Duration) -> Closed {
        let shared = &*self.shared;
        let until = shared.after(within);
        shared.closing.store(true, Ordering::Release);
        shared.changed.notify_all();
        if let Some(log) = &self.log {
            log.close(shared.left(until));
        }
        let mut assembly = shared.lock();
        assembly.seal_all();
        shared.changed.notify_all();
        // A third of the time is for the flush.
        let analysed_by = match &self.log {
            Some(_) => shared.after(shared.left(until) * 2 / 3),
            None => until,
        };
        while !assembly.is_idle() && !shared.left(analysed_by).is_zero() {
            let wait = shared.left(analysed_by).min(Duration::from_millis(50));
            assembly = shared
                .changed
                .wait_timeout(assembly, wait)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        let idle = assembly.is_idle();
        let telemetry = &shared.telemetry;
        let mut closed = Closed::default();
        if self.log.is_none() {
            closed.lost = assembly.discard_ready() as u64;
            telemetry.spans_shed.add("shutdown", closed.lost);
            telemetry.spans_open.dec_by(closed.lost as i64);
            telemetry.traces_open.set(0);
        }
        drop(assembly);
        let mut flushed = true;
        if self.log.is_some() {
            flushed = shared.flush.close(shared, until);
            let fresh = if flushed {
                0
            } else {
                shared.store.fresh().spans
            };
            closed.kept = telemetry.spans_open.get().max(0) as u64 + fresh as u64;
        }
        shared.stopped.store(true, Ordering::Release);
        shared.flush.stop();
        shared.changed.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread in the middle of its work cannot be stopped; the process ends without it.
        for thread in threads.into_iter().filter(|_| idle && flushed) {
            if thread.join().is_err() {
                tracing::error!("a thread of the assembly panicked");
            }
        }
        closed
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.changed.notify_all();
        self.shared.flush.stop();
    }
}
