//! `dwindle import`: trace files into a store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args as ClapArgs;

use super::input::{self, Analysed};
use super::store::{self, DataArgs};
use super::{Exit, InputArgs, Printer, SelectArgs, Setup, size};
use crate::ingest::{self, Added};
use crate::model::{Trace, UnixNanos};
use crate::settings::Settings;
use crate::store::{OpenError, Store, StoreError};
use crate::telemetry::clock;

/// `dwindle import`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Every file that the other commands read can be imported. What is there already \
changes nothing, so that a file may be imported again.

A server that runs keeps the folder to itself: send it the spans by OTLP, or stop it for the time.

Examples:
  dwindle import spans.ndjson.zst
  dwindle import exports/*.json.gz --data /var/lib/dwindle
  kubectl exec deploy/collector -- cat /data/traces.json | dwindle import -"
)]
pub struct ImportArgs {
    /// Trace files; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Which folder.
    #[command(flatten)]
    data: DataArgs,
}

/// About the most bytes that wait in memory until they are written into files.
const WAITING: usize = 256 << 20;

pub(super) fn run(
    args: &ImportArgs,
    named: Option<&Path>,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let settings = store::load(&args.data, named)?;
    let folder = &settings.values.store.data;
    let into = open(folder, &settings)?;
    let config = super::serve::assembly(&settings.values);
    ingest::rejoin(&into, &settings.policy, &config)?;
    let import = Import {
        store: &into,
        settings: &settings,
        config,
        traces: AtomicU64::default(),
        new: AtomicU64::default(),
        spans: AtomicU64::default(),
        copies: AtomicU64::default(),
        over: AtomicU64::default(),
        flushing: Mutex::default(),
        stopped: AtomicBool::default(),
    };
    let input = InputArgs {
        files: args.files.clone(),
        id: None,
        select: SelectArgs::default(),
    };
    let setup = Setup::of(&settings);
    let Analysed { exit, .. } = input::each(&input, &setup, printer, |trace| {
        import.take(trace);
        Vec::<()>::new()
    })?;
    let again = "; what is imported so far stays, and importing again adds the rest";
    let failed = |error: StoreError| anyhow::anyhow!("{error}{again}");
    import.failed().map_err(failed)?;
    into.flush().map_err(failed)?;
    // A file of many hours comes in many small parts.
    into.compact(None).map_err(failed)?;
    import.say(folder, printer);
    let now = UnixNanos(clock::unix_nanos());
    let old = into.would_prune(now, &store::retention(&settings.values));
    if old.requests > 0 {
        printer.say(&format!(
            "note: a server with these settings soon removes {} of the store, which are older or \
             more than it keeps; retain_for = 0 and retain_bytes = 0 keep all",
            store::counted(old.requests, "request", "requests"),
        ));
    }
    Ok(exit)
}

fn open(folder: &Path, settings: &Settings) -> anyhow::Result<Store> {
    Store::open(folder, store::alone(settings)).map_err(|error| match error {
        OpenError::Locked { .. } => anyhow::Error::new(error).context(
            "cannot import while a server has the folder; send it the spans by OTLP, or stop it",
        ),
        other => other.into(),
    })
}

/// An import under way.
struct Import<'a> {
    store: &'a Store,
    settings: &'a Settings,
    config: ingest::Config,
    traces: AtomicU64,
    /// Traces with spans that were not there.
    new: AtomicU64,
    spans: AtomicU64,
    copies: AtomicU64,
    over: AtomicU64,
    /// Held by whoever flushes; what went wrong first.
    flushing: Mutex<Option<StoreError>>,
    stopped: AtomicBool,
}

impl Import<'_> {
    fn take(&self, trace: Trace) {
        if self.stopped.load(Ordering::Acquire) {
            return;
        }
        match ingest::add(self.store, &self.settings.policy, &self.config, trace) {
            Ok(added) => {
                self.count(added);
                self.make_room();
            }
            Err(error) => self.stop(error),
        }
    }

    fn count(&self, added: Added) {
        let add = |to: &AtomicU64, count: usize| to.fetch_add(count as u64, Ordering::Relaxed);
        add(&self.traces, 1);
        add(&self.new, usize::from(added.spans > 0));
        add(&self.spans, added.spans);
        add(&self.copies, added.copies);
        add(&self.over, added.over);
    }

    /// Flushes when enough waits; others wait meanwhile, so that no more comes.
    fn make_room(&self) {
        let full = || {
            let fresh = self.store.fresh();
            fresh.bytes >= WAITING || fresh.spans >= size(*self.settings.values.store.flush_spans)
        };
        if !full() {
            return;
        }
        let mut fault = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.is_none()
            && full()
            && let Err(error) = self.store.flush()
        {
            *fault = Some(error);
            self.stopped.store(true, Ordering::Release);
        }
    }

    fn stop(&self, error: StoreError) {
        let mut fault = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(error);
        self.stopped.store(true, Ordering::Release);
    }

    fn failed(&self) -> Result<(), StoreError> {
        let mut fault = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take().map_or(Ok(()), Err)
    }

    fn say(&self, folder: &Path, printer: &Printer) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (traces, new) = (get(&self.traces), get(&self.new));
        let name = folder.display();
        if traces == 0 {
            printer.say(&format!("no traces in what was read; {name} is as it was"));
            return;
        }
        let spans = |count| store::counted(count, "span", "spans");
        printer.say(&format!(
            "{name}: {} of {} imported, {}",
            store::number(new),
            store::counted(traces, "trace", "traces"),
            spans(get(&self.spans)),
        ));
        let copies = get(&self.copies);
        if copies > 0 {
            printer.say(&format!("{} were there already", spans(copies)));
        }
        let over = get(&self.over);
        if over > 0 {
            let most = *self.settings.values.limits.max_trace_spans;
            printer.say(&format!(
                "note: {} left out: more than {} in one trace (max_trace_spans)",
                spans(over),
                store::number(most),
            ));
        }
    }
}
