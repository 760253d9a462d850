//! `dwindle serve`: the receivers, the assembly and the pages in one process.

mod args;
pub(super) mod keep;
mod samples;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use args::ServeArgs;

use self::keep::Kept;
use super::{Exit, Printer, nanos, size, typical_window, warn_of_variables};
use crate::budget::analyse;
use crate::cli::signals::Signals;
use crate::ingest::{self, Closed, Ingest};
use crate::model::{Nanos, UnixNanos};
use crate::otlp::Limits;
use crate::receive::{self, Connections, Receiver};
use crate::settings::{self, Settings, Values};
use crate::telemetry::{Telemetry, clock};
use crate::web;

/// The folder of the log, in that of the store.
pub(super) const LOG: &str = "log";

/// How long pages may take to finish once everything else has stopped.
const PAGES_DRAIN: Duration = Duration::from_secs(1);

/// Runs the server until it is told to stop.
pub(super) fn run(
    args: &ServeArgs,
    config: Option<&Path>,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let settings = settings::load(config, &|key| args.get(key), &settings::environment)?;
    warn_of_variables(printer);
    start_log(&settings.values.serve.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the server's threads")?;
    let result = runtime.block_on(serve(&settings, printer));
    // What still runs then did not end in its time.
    runtime.shutdown_background();
    result
}

async fn serve(settings: &Settings, printer: &Printer) -> anyhow::Result<Exit> {
    let policy = settings.policy.clone();
    let sockets = Sockets::bind(&settings.values).await?;
    let kept = Kept::open(settings)?;
    let settings = &settings.values;
    let at_once = match kept.log {
        Some(_) => "stopped at once; what was acknowledged is in the log",
        None => "stopped at once; spans may be lost",
    };
    let telemetry = Arc::new(Telemetry::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let ingest = Arc::new(Ingest::start(ingest::Setup {
        config: assembly(settings),
        policy: policy.clone(),
        store: Arc::clone(&kept.store),
        telemetry: Arc::clone(&telemetry),
        clock: || Nanos(clock::monotonic_nanos()),
        analyse,
        threads,
        log: kept.log.clone(),
    })?);
    let mut samples = 0;
    if !*settings.serve.no_samples && kept.is_empty(&ingest) {
        let memory = kept.store.memory();
        samples = samples::load(memory, &policy, UnixNanos(clock::unix_nanos()));
    }
    let receiver = Receiver::new(Arc::clone(&ingest), intake(settings, threads));
    let pages = web::router(web::State {
        store: Arc::clone(&kept.store),
        keeping: kept.keeping(settings),
        telemetry: Arc::clone(&telemetry),
        grpc_addr: sockets.grpc_addr.clone(),
        http_addr: sockets.http_addr.clone(),
        web_addr: sockets.web_addr.clone(),
        trace_url: settings.web.trace_url.value.clone(),
    });

    let mut signals = Signals::new()?;
    sockets.announce(printer);
    if let Err(error) = kept.store.announce(&sockets.pages()) {
        tracing::warn!(%error, "the lock does not say where the pages are");
    }
    kept.announce(&ingest, printer);
    if samples > 0 {
        printer.say(&format!(
            "{samples} sample requests are shown until the first span comes; --no-samples starts \
             empty"
        ));
    }
    let running = Running::start(sockets, &receiver, pages, settings);
    tokio::select! {
        () = keep::replayed(&ingest) => {
            telemetry.set_ready(true);
            signals.next().await;
        }
        _ = signals.next() => {}
    }
    telemetry.set_ready(false);
    printer.say("stopping; another signal stops at once");
    tokio::select! {
        closed = running.stop(ingest, *settings.limits.drain_timeout) => {
            let closed = closed?;
            if closed.kept > 0 {
                printer.say(&format!(
                    "{} spans were not brought into the tables in time; they are in the log, and \
                     the next start takes them from there",
                    closed.kept
                ));
            }
            if closed.lost > 0 {
                printer.say(&format!("{} spans were not analysed in time", closed.lost));
                return Ok(Exit::Partial);
            }
            Ok(Exit::Done)
        }
        _ = signals.next() => {
            printer.say(at_once);
            Ok(Exit::Partial)
        }
    }
}

/// The three ports, bound before anything else starts, and where each came to be: that differs
/// from what was asked for with port 0 or a host name.
struct Sockets {
    grpc: TcpListener,
    http: TcpListener,
    web: TcpListener,
    grpc_addr: String,
    http_addr: String,
    web_addr: String,
}

impl Sockets {
    async fn bind(settings: &Values) -> anyhow::Result<Self> {
        let grpc = bind(&settings.serve.grpc_addr, "OTLP/gRPC", "--grpc-addr").await?;
        let http = bind(&settings.serve.http_addr, "OTLP/HTTP", "--http-addr").await?;
        let web = bind(&settings.serve.web_addr, "the pages", "--web-addr").await?;
        let address = |listener: &TcpListener| -> anyhow::Result<String> {
            let address = listener.local_addr();
            Ok(address.context("a listener has no address")?.to_string())
        };
        Ok(Self {
            grpc_addr: address(&grpc)?,
            http_addr: address(&http)?,
            web_addr: address(&web)?,
            grpc,
            http,
            web,
        })
    }

    fn pages(&self) -> String {
        format!("http://{}/", self.web_addr)
    }

    fn announce(&self, printer: &Printer) {
        printer.say(&format!("dashboard  {}", self.pages()));
        printer.say(&format!("OTLP/gRPC  http://{}", self.grpc_addr));
        printer.say(&format!("OTLP/HTTP  http://{}/v1/traces", self.http_addr));
    }
}

/// What serves.
struct Running {
    stop_receivers: watch::Sender<bool>,
    stop_pages: watch::Sender<bool>,
    receivers: [JoinHandle<()>; 2],
    pages: JoinHandle<()>,
}

impl Running {
    fn start(
        sockets: Sockets,
        receiver: &Arc<Receiver>,
        pages: axum::Router,
        settings: &Values,
    ) -> Self {
        let (stop_receivers, stopping) = watch::channel(false);
        let (stop_pages, pages_stopping) = watch::channel(false);
        let connections = |drain_timeout| Connections {
            max: size(*settings.limits.max_connections),
            header_timeout: Duration::from_mins(1),
            drain_timeout,
        };
        let half = *settings.limits.drain_timeout / 2;
        let start = |listener, router| {
            let serving = receive::serve(listener, router, connections(half), stopping.clone());
            tokio::spawn(serving)
        };
        let receivers = [
            start(sockets.grpc, receiver.grpc()),
            start(sockets.http, receiver.http()),
        ];
        let pages = receive::serve(sockets.web, pages, connections(PAGES_DRAIN), pages_stopping);
        Self {
            stop_receivers,
            stop_pages,
            receivers,
            pages: tokio::spawn(pages),
        }
    }

    /// Stops accepting and lets open exports finish, then analyses and flushes what came, then ends
    /// the pages; all that within `within` and a second.
    async fn stop(self, ingest: Arc<Ingest>, within: Duration) -> anyhow::Result<Closed> {
        let began = clock::monotonic_nanos();
        self.stop_receivers.send_replace(true);
        for receiver in self.receivers {
            receiver.await.context("a receiver failed")?;
        }
        let took = u64::try_from(clock::monotonic_nanos() - began).unwrap_or(0);
        let left = within.saturating_sub(Duration::from_nanos(took));
        let closing = tokio::task::spawn_blocking(move || ingest.close(left));
        let closed = closing.await.context("the assembly failed")?;
        self.stop_pages.send_replace(true);
        self.pages.await.context("the pages failed")?;
        Ok(closed)
    }
}

async fn bind(addr: &str, what: &str, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(addr).await.with_context(|| {
        format!("cannot listen on `{addr}` for {what}; choose another address with {flag}")
    })
}

pub(super) fn assembly(settings: &Values) -> ingest::Config {
    ingest::Config {
        quiet: nanos(*settings.assembly.quiet),
        quiet_incomplete: nanos(*settings.assembly.quiet_incomplete),
        longest: nanos(*settings.assembly.longest),
        max_traces: size(*settings.limits.max_open_traces),
        max_spans: size(*settings.limits.max_open_spans),
        max_bytes: size(*settings.limits.max_open_bytes),
        max_trace_spans: size(*settings.limits.max_trace_spans),
        typical_window: typical_window(settings),
        ..ingest::Config::default()
    }
}

fn intake(settings: &Values, threads: usize) -> receive::Config {
    receive::Config {
        limits: Limits {
            max_message_bytes: size(*settings.limits.max_message_bytes),
            ..Limits::default()
        },
        max_inflight_bytes: size(*settings.limits.max_inflight_bytes),
        body_timeout: *settings.limits.body_timeout,
        threads,
        cors_origins: settings.serve.cors_origins.value.clone(),
    }
}

/// Logs go to stderr; `filter` says which (`info`, `dwindle=debug`).
fn start_log(filter: &str) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .with_context(|| format!("`{filter}` is not a filter such as `info`"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start the log: {error}"))
}
