//! OTLP/gRPC from the socket to the finished analysis, in spans per second of CPU time, beside
//! plain `prost` decoding of the same bytes in the same run; without a log, and with one in both
//! of its modes.
//!
//! Server and client share the process and not their threads: only what the server's threads
//! (connections, decoding, log, analysis) used is counted, from the scheduler's own books.
//!
//! `cargo bench --bench receive`; Linux only.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dwindle::budget::Policy;
use dwindle::ingest::log::{self, Durability};
use dwindle::ingest::{Config as Assembly, Durable, Ingest, Pace, Setup};
use dwindle::model::{
    Attributes, Kind, Nanos, Resource, Scope, Span, SpanId, TraceId, UnixNanos, Value,
};
use dwindle::otlp::{Limits, traces_to_proto};
use dwindle::receive::{Config, Connections, Receiver, serve};
use dwindle::store::Store;
use dwindle::telemetry::{Telemetry, clock};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, trace_service_client::TraceServiceClient,
};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tonic::codec::CompressionEncoding;

/// Services in a chain; each has a SERVER span, and all but the last a CLIENT span.
const CHAIN: usize = 10;
const SPANS_PER_TRACE: usize = 2 * CHAIN - 1;
/// About 500 spans a message, as exporters send them.
const TRACES_PER_MESSAGE: usize = 27;
const MESSAGES: usize = 400;
const CLIENTS: usize = 4;

fn main() {
    let messages: Vec<ExportTraceServiceRequest> = (0..MESSAGES).map(message).collect();
    let spans = (MESSAGES * TRACES_PER_MESSAGE * SPANS_PER_TRACE) as u64;
    let bytes: Vec<Vec<u8>> = messages.iter().map(prost::Message::encode_to_vec).collect();
    let size: usize = bytes.iter().map(Vec::len).sum();
    println!("{spans} spans, {} bytes each", size as u64 / spans);

    let before = cpu(|name| name.starts_with("receive"));
    for bytes in &bytes {
        let decoded = ExportTraceServiceRequest::decode(bytes.as_slice()).unwrap();
        std::hint::black_box(decoded);
    }
    let decode = cpu(|name| name.starts_with("receive")).saturating_sub(before);
    report("prost decode", spans, decode, None);

    let gzip = Some(CompressionEncoding::Gzip);
    for (name, compression, durability) in [
        ("receive, analyse", None, None),
        ("the same, gzip", gzip, None),
        ("with a log, os", None, Some(Durability::Os)),
        ("with a log, sync", None, Some(Durability::Sync)),
        ("receive, analyse", None, None),
    ] {
        let started = Instant::now();
        let used = run(&messages, compression, durability, spans);
        let all = used.taking + used.logging + used.analysing;
        report(name, spans, all, Some((decode, started.elapsed())));
        report("  taking it in", spans, used.taking, None);
        if durability.is_some() {
            report("  the log", spans, used.logging, None);
        }
        report("  analysing it", spans, used.analysing, None);
    }
}

/// CPU time.
struct Used {
    /// Connections and decoding; without a log, putting spans to their traces.
    taking: Duration,
    /// The log's thread, which then puts spans to their traces.
    logging: Duration,
    /// Analysis.
    analysing: Duration,
}

fn report(name: &str, spans: u64, used: Duration, beside: Option<(Duration, Duration)>) {
    let rate = spans as f64 / used.as_secs_f64();
    print!("{name:<17} {rate:>10.0} spans per CPU second");
    if let Some((decode, wall)) = beside {
        let times = used.as_secs_f64() / decode.as_secs_f64();
        print!(", {times:.1} x prost decode, {:.2} s", wall.as_secs_f64());
    }
    println!();
}

/// Sends every message over gRPC until all is analysed.
fn run(
    messages: &[ExportTraceServiceRequest],
    compression: Option<CompressionEncoding>,
    durability: Option<Durability>,
    spans: u64,
) -> Used {
    let folder = tempfile::tempdir().unwrap();
    let config = Assembly {
        // Whole traces come in one message: analyse at once, so that the run has no tail.
        quiet: Nanos::from_millis(1),
        ..Assembly::default()
    };
    let ingest = Ingest::start(Setup {
        config,
        policy: Policy::default(),
        store: Arc::new(Store::in_memory(20_000, usize::MAX)),
        telemetry: Arc::new(Telemetry::new()),
        clock: || Nanos(clock::monotonic_nanos()),
        analyse: dwindle::budget::analyse,
        threads: 2,
        log: durability.map(|durability| Durable {
            dir: folder.path().join("log"),
            options: log::Options {
                durability,
                ..log::Options::default()
            },
            pace: Pace::default(),
        }),
    });
    let ingest = Arc::new(ingest.unwrap());
    while !ingest.has_replayed() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let receiver = Receiver::new(
        Arc::clone(&ingest),
        Config {
            limits: Limits::default(),
            max_inflight_bytes: 256 << 20,
            body_timeout: Duration::from_secs(10),
            threads: 2,
            cors_origins: Vec::new(),
        },
    );
    let server = runtime("serve");
    let clients = runtime("client");
    let listener = server.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopping) = watch::channel(false);
    let connections = Connections {
        max: 100,
        header_timeout: Duration::from_secs(10),
        drain_timeout: Duration::from_secs(1),
    };
    server.spawn(serve(listener, receiver.grpc(), connections, stopping));

    let taking = |name: &str| name.starts_with("serve");
    let analysing = |name: &str| name.starts_with("analyse");
    let logging = |name: &str| name == "log\n" || name.starts_with("flush");
    let before = (cpu(taking), cpu(logging), cpu(analysing));
    let sending: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let mine: Vec<_> = messages
                .iter()
                .skip(client)
                .step_by(CLIENTS)
                .cloned()
                .collect();
            clients.spawn(send(address.clone(), mine, compression))
        })
        .collect();
    for client in sending {
        clients.block_on(client).unwrap();
    }
    while ingest.account().open > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let taking = cpu(taking).saturating_sub(before.0);
    let logging = cpu(logging).saturating_sub(before.1);
    let analysing = cpu(analysing).saturating_sub(before.2);
    assert_eq!(ingest.account().stored, spans);
    drop(stop);
    ingest.close(Duration::from_secs(1));
    Used {
        taking,
        logging,
        analysing,
    }
}

async fn send(
    address: String,
    messages: Vec<ExportTraceServiceRequest>,
    compression: Option<CompressionEncoding>,
) {
    let client = TraceServiceClient::connect(address).await.unwrap();
    let mut client = match compression {
        Some(encoding) => client.send_compressed(encoding),
        None => client,
    };
    for message in messages {
        let response = client.export(message).await.unwrap();
        assert_eq!(response.into_inner().partial_success, None);
    }
}

fn runtime(name: &'static str) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    let threads = builder.worker_threads(2).thread_name(name);
    threads.enable_all().build().unwrap()
}

/// The CPU time of this process's threads with such names.
fn cpu(counts: impl Fn(&str) -> bool) -> Duration {
    let mut used = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if counts(&read("comm")) {
            let books = read("schedstat");
            used += books.split(' ').next().unwrap().parse::<u64>().unwrap();
        }
    }
    Duration::from_nanos(used)
}

/// A message of whole traces, its spans grouped by service as a collector's batches are.
fn message(number: usize) -> ExportTraceServiceRequest {
    let mut by_service: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
    let services: Vec<_> = (0..CHAIN).map(resource).collect();
    for trace in 0..TRACES_PER_MESSAGE {
        let id = (number * TRACES_PER_MESSAGE + trace + 1) as u128;
        // Ids as random as they are in life, so that no map is luckier than it would be.
        let id =
            TraceId((id.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).to_be_bytes());
        for (hop, service) in services.iter().enumerate() {
            let spans = by_service.entry(hop).or_default();
            spans.push(one(id, hop, Kind::Server, service));
            if hop + 1 < CHAIN {
                spans.push(one(id, hop, Kind::Client, service));
            }
        }
    }
    let spans: Vec<Span> = by_service.into_values().flatten().collect();
    traces_to_proto(&spans)
}

fn resource(service: usize) -> Arc<Resource> {
    let text = |text: String| Value::Str(text.into());
    Arc::new(Resource::new(Attributes::from_iter([
        ("service.name", text(format!("service-{service}"))),
        ("service.namespace", text("shop".into())),
        ("service.version", text("2026.11.3".into())),
        (
            "host.name",
            text(format!("node-{service}.example.internal")),
        ),
        (
            "k8s.pod.name",
            text(format!("service-{service}-7d9c5b6f4-x2x{service}q")),
        ),
        ("telemetry.sdk.name", text("opentelemetry".into())),
        ("telemetry.sdk.language", text("java".into())),
    ])))
}

fn one(trace_id: TraceId, hop: usize, kind: Kind, resource: &Arc<Resource>) -> Span {
    let text = |text: &str| Value::Str(text.into());
    let id = |hop: usize, kind| {
        SpanId((2 * hop as u64 + 1 + u64::from(kind == Kind::Client)).to_be_bytes())
    };
    let left = 1000 - 40 * hop as i64;
    let (parent, key, shift) = match kind {
        Kind::Server => (
            hop.checked_sub(1).map(|up| id(up, Kind::Client)),
            "deadline.remaining_in_ms",
            0,
        ),
        _ => (Some(id(hop, Kind::Server)), "deadline.remaining_out_ms", 5),
    };
    let start = 1_791_364_500_000_000_000 + (20 * hop as u64 + shift) * 1_000_000;
    let attributes = Attributes::from_iter([
        ("http.request.method", text("POST")),
        ("http.route", text("/v1/orders/{order}")),
        ("url.path", text("/v1/orders/4711-0815-2342")),
        ("url.scheme", text("http")),
        ("server.address", text("orders.shop.svc.cluster.local")),
        ("server.port", Value::Int(8080)),
        ("network.protocol.version", text("1.1")),
        ("http.response.status_code", Value::Int(200)),
        (key, Value::Int(left - shift as i64)),
    ]);
    Span {
        trace_id,
        span_id: id(hop, kind),
        parent_id: parent,
        flags: 0x101,
        name: "POST /v1/orders/{order}".into(),
        kind,
        start: UnixNanos(start),
        end: UnixNanos(start + (20 * (CHAIN - hop) as u64 + 100 - shift) * 1_000_000),
        attributes,
        resource: Arc::clone(resource),
        scope: Arc::new(Scope {
            name: "io.opentelemetry.http".into(),
            version: "2.9.0".into(),
            ..Scope::default()
        }),
        ..Span::default()
    }
}
