//! `dwindle serve`: the receivers, the assembly and the pages in one process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Exit, Printer, samples};
use crate::budget::Policy;
use crate::ingest::{self, Ingest};
use crate::model::{Nanos, UnixNanos};
use crate::otlp::Limits;
use crate::receive::{self, Connections, Receiver};
use crate::settings::{self, Settings};
use crate::store::Memory;
use crate::telemetry::{Telemetry, clock};
use crate::web;

/// How long pages may take to finish once everything else has stopped.
const WEB_DRAIN: Duration = Duration::from_secs(1);

/// `dwindle serve`. Everything is a text here; `settings` knows what it means.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Each option can be set by an environment variable, too: --grpc-addr by \
DWINDLE_GRPC_ADDR, and so on. An option wins.

Examples:
  dwindle serve
  dwindle serve --grpc-addr 0.0.0.0:4317 --no-samples
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 your-service"
)]
pub struct ServeArgs {
    /// Where OTLP/gRPC listens [default: 127.0.0.1:4317]
    #[arg(long, value_name = "HOST:PORT")]
    grpc_addr: Option<String>,
    /// Where OTLP/HTTP listens [default: 127.0.0.1:4318]
    #[arg(long, value_name = "HOST:PORT")]
    http_addr: Option<String>,
    /// Where the pages and the API listen [default: 127.0.0.1:4319]
    #[arg(long, value_name = "HOST:PORT")]
    web_addr: Option<String>,
    /// Start empty, without the sample traces
    #[arg(long)]
    no_samples: bool,
    /// Web origins whose pages may export over HTTP; `*` is any [default: none]
    #[arg(long, value_name = "ORIGINS")]
    cors_origins: Option<String>,
    /// Wait so long after the last span of a trace that seems whole [default: 2s]
    #[arg(long, value_name = "TIME", help_heading = "Assembly")]
    quiet: Option<String>,
    /// Wait so long after the last span of a trace with something missing [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Assembly")]
    quiet_incomplete: Option<String>,
    /// Wait so long after the first span of a trace at most [default: 120s]
    #[arg(long, value_name = "TIME", help_heading = "Assembly")]
    longest: Option<String>,
    /// The most bytes of one message, decompressed [default: 64MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_message_bytes: Option<String>,
    /// The most bytes of messages being received at once [default: 256MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_inflight_bytes: Option<String>,
    /// The most connections per port [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_connections: Option<String>,
    /// The longest time for a message to arrive [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    body_timeout: Option<String>,
    /// The most traces being assembled [default: 200000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_open_traces: Option<String>,
    /// The most spans being assembled [default: 1000000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_open_spans: Option<String>,
    /// About the most bytes being assembled [default: 1GiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_open_bytes: Option<String>,
    /// The most spans of one trace [default: 200000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_trace_spans: Option<String>,
    /// The most finished requests kept [default: 20000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_requests: Option<String>,
    /// About the most bytes of finished requests kept [default: 1GiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_kept_bytes: Option<String>,
    /// The longest time that stopping may take [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    drain_timeout: Option<String>,
}

impl ServeArgs {
    /// What was typed for a setting.
    fn get(&self, name: &str) -> Option<String> {
        match name {
            "grpc_addr" => self.grpc_addr.clone(),
            "http_addr" => self.http_addr.clone(),
            "web_addr" => self.web_addr.clone(),
            "no_samples" => self.no_samples.then(|| "true".to_owned()),
            "cors_origins" => self.cors_origins.clone(),
            "quiet" => self.quiet.clone(),
            "quiet_incomplete" => self.quiet_incomplete.clone(),
            "longest" => self.longest.clone(),
            "max_message_bytes" => self.max_message_bytes.clone(),
            "max_inflight_bytes" => self.max_inflight_bytes.clone(),
            "max_connections" => self.max_connections.clone(),
            "body_timeout" => self.body_timeout.clone(),
            "max_open_traces" => self.max_open_traces.clone(),
            "max_open_spans" => self.max_open_spans.clone(),
            "max_open_bytes" => self.max_open_bytes.clone(),
            "max_trace_spans" => self.max_trace_spans.clone(),
            "max_requests" => self.max_requests.clone(),
            "max_kept_bytes" => self.max_kept_bytes.clone(),
            "drain_timeout" => self.drain_timeout.clone(),
            _ => None,
        }
    }
}

/// Runs the server until it is told to stop.
pub(super) fn run(args: &ServeArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = settings::resolve(&|name| args.get(name), &settings::environment)?;
    start_log()?;
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
    let grpc = bind(&settings.grpc_addr, "OTLP/gRPC", "grpc_addr").await?;
    let http = bind(&settings.http_addr, "OTLP/HTTP", "http_addr").await?;
    let web = bind(&settings.web_addr, "the pages", "web_addr").await?;
    let (grpc_addr, http_addr) = (address(&grpc)?, address(&http)?);
    let web_addr = address(&web)?;

    let telemetry = Arc::new(Telemetry::new());
    let memory = Arc::new(Memory::with_ceilings(
        size(*settings.max_requests),
        size(*settings.max_kept_bytes),
    ));
    let policy = Policy::default();
    let now = UnixNanos(clock::unix_nanos());
    let samples = match *settings.no_samples {
        true => 0,
        false => samples::load(&memory, &policy, now),
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let ingest = Ingest::start(
        assembly(settings),
        policy,
        Arc::clone(&memory),
        Arc::clone(&telemetry),
        || Nanos(clock::monotonic_nanos()),
        threads,
    );
    let ingest = Arc::new(ingest.context("cannot start the analysis threads")?);
    let receiver = Receiver::new(Arc::clone(&ingest), intake(settings, threads));

    let mut signals = Signals::new()?;
    let (stop, stopping) = watch::channel(false);
    let (stop_web, web_stopping) = watch::channel(false);
    let connections = |drain_timeout| Connections {
        max: size(*settings.max_connections),
        header_timeout: Duration::from_secs(60),
        drain_timeout,
    };
    let drain = *settings.drain_timeout;
    let receivers = [(grpc, receiver.grpc()), (http, receiver.http())].map(|(listener, router)| {
        let serving = receive::serve(listener, router, connections(drain / 2), stopping.clone());
        tokio::spawn(serving)
    });
    let pages = web::router(web::State {
        memory: Arc::clone(&memory),
        telemetry: Arc::clone(&telemetry),
        grpc_addr: grpc_addr.to_string(),
        http_addr: http_addr.to_string(),
        web_addr: web_addr.to_string(),
    });
    let pages = receive::serve(web, pages, connections(WEB_DRAIN), web_stopping);
    let pages = tokio::spawn(pages);
    telemetry.set_ready(true);

    printer.say(&format!("dashboard  http://{web_addr}/"));
    printer.say(&format!("OTLP/gRPC  http://{grpc_addr}"));
    printer.say(&format!("OTLP/HTTP  http://{http_addr}/v1/traces"));
    if samples > 0 {
        printer.say(&format!(
            "{samples} sample requests are shown until the first span comes; --no-samples starts empty"
        ));
    }

    signals.next().await;
    printer.say("stopping; another signal stops at once");
    telemetry.set_ready(false);
    let stopped = async {
        // Stop accepting and let open exports finish, then analyse what came, then the pages.
        stop.send_replace(true);
        for receiver in receivers {
            receiver.await.context("a receiver failed")?;
        }
        let closing = tokio::task::spawn_blocking(move || ingest.close(drain / 2));
        let lost = closing.await.context("the assembly failed")?;
        stop_web.send_replace(true);
        pages.await.context("the pages failed")?;
        anyhow::Ok(lost)
    };
    tokio::select! {
        lost = stopped => match lost? {
            0 => Ok(Exit::Done),
            lost => {
                printer.say(&format!("{lost} spans were not analysed in time"));
                Ok(Exit::Partial)
            }
        },
        () = signals.next() => {
            printer.say("stopped at once; spans may be lost");
            Ok(Exit::Partial)
        }
    }
}

async fn bind(addr: &str, what: &str, setting: &str) -> anyhow::Result<TcpListener> {
    let flag = settings::flag_name(setting);
    TcpListener::bind(addr).await.with_context(|| {
        format!("cannot listen on `{addr}` for {what}; choose another address with {flag}")
    })
}

/// Where a listener came to listen; differs from what was asked for with port 0 or a host name.
fn address(listener: &TcpListener) -> anyhow::Result<String> {
    let addr = listener.local_addr().context("a listener has no address")?;
    Ok(addr.to_string())
}

fn assembly(settings: &Settings) -> ingest::Config {
    ingest::Config {
        quiet: nanos(*settings.quiet),
        quiet_incomplete: nanos(*settings.quiet_incomplete),
        longest: nanos(*settings.longest),
        max_traces: size(*settings.max_open_traces),
        max_spans: size(*settings.max_open_spans),
        max_bytes: size(*settings.max_open_bytes),
        max_trace_spans: size(*settings.max_trace_spans),
        ..ingest::Config::default()
    }
}

fn intake(settings: &Settings, threads: usize) -> receive::Config {
    receive::Config {
        limits: Limits {
            max_message_bytes: size(*settings.max_message_bytes),
            ..Limits::default()
        },
        max_inflight_bytes: size(*settings.max_inflight_bytes),
        body_timeout: *settings.body_timeout,
        threads,
        cors_origins: settings.cors_origins.value.clone(),
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Logs go to stderr; `DWINDLE_LOG` says which (`info`, `dwindle=debug`).
fn start_log() -> anyhow::Result<()> {
    let filter = settings::environment(&settings::variable("log"));
    let filter = filter.as_deref().unwrap_or("warn");
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .with_context(|| format!("DWINDLE_LOG: `{filter}` is not a filter such as `info`"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start the log: {error}"))
}

/// SIGINT and SIGTERM; elsewhere Ctrl-C.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn new() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        tokio::signal::ctrl_c().await.ok();
    }
}
