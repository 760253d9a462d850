//! The whole durable path: gRPC → log → assembly → analysis → Parquet, in CPU seconds per million
//! spans of a real `dwindle serve` that is pinned to one core, beside plain `prost` decoding of
//! the same bytes and beside the same receiver that drops what it has decoded, in one run. Then
//! how many traces that are in parts a CPU second revises for late spans, and what a span takes in
//! memory while its trace is open.
//!
//! `cargo bench --bench durable`; Linux only, with `taskset`. `DWINDLE_BENCH_SPANS` sets how many
//! spans are sent [1000000], `DWINDLE_BENCH_BIN` another server to measure, and
//! `DWINDLE_BENCH_ONLY` a part of it: `durable`, `late` or `open`.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench is told by variables, and its spans are of now"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, trace_service_client::TraceServiceClient,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

/// Services in a chain: a SERVER span each, and a CLIENT span of all but the last.
const CHAIN: usize = 4;
const SPANS_PER_TRACE: usize = 2 * CHAIN - 1;
/// About 500 spans a message, as exporters send them.
const TRACES_PER_MESSAGE: usize = 73;
const CLIENTS: usize = 4;
/// Messages with a late span for each of their traces.
const LATE: usize = 30;
/// Ticks of `/proc/PID/stat` a second.
const TICKS: f64 = 100.0;

fn main() {
    let spans: usize =
        std::env::var("DWINDLE_BENCH_SPANS").map_or(1_000_000, |text| text.parse().unwrap());
    let messages = spans.div_ceil(TRACES_PER_MESSAGE * SPANS_PER_TRACE);
    let spans = messages * TRACES_PER_MESSAGE * SPANS_PER_TRACE;
    let one = message(0);
    let size = one.encoded_len() / (TRACES_PER_MESSAGE * SPANS_PER_TRACE);
    println!("{spans} spans in traces of {SPANS_PER_TRACE}, {size} bytes each");

    let only = std::env::var("DWINDLE_BENCH_ONLY").ok();
    let has = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let folder = || tempfile::tempdir().unwrap();
    if has("durable") {
        durable(messages, spans);
    }
    if has("late") {
        let folder = folder();
        late(messages, folder.path().join("data").to_str().unwrap());
    }
    if has("open") {
        let folder = folder();
        open(messages / 2, folder.path().join("data").to_str().unwrap());
    }
}

fn durable(messages: usize, spans: usize) {
    let million = spans as f64 / 1e6;
    let bytes: Vec<Vec<u8>> = (0..200).map(|n| message(n).encode_to_vec()).collect();
    let before = ticks(std::process::id());
    for n in 0..messages {
        let decoded = ExportTraceServiceRequest::decode(bytes[n % bytes.len()].as_slice()).unwrap();
        std::hint::black_box(decoded);
    }
    let decode = (ticks(std::process::id()) - before) / million;
    println!("prost decode          {decode:>6.2} CPU s per million spans");

    // There is no room for any batch: all is decoded, and refused.
    let dropped = run(messages, &["--memory-only", "--max-open-spans", "2"], false);
    report("receive and drop", &dropped, million, None);
    for mode in ["os", "sync"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let used = run(
            messages,
            &["--data", data.to_str().unwrap(), "--log-mode", mode],
            true,
        );
        report(
            &format!("durable, {mode}"),
            &used,
            million,
            Some(dropped.cpu),
        );
        println!(
            "  {:.0} bytes a span on the disk",
            size_of(&data) as f64 / spans as f64
        );
        assert!((used.stored - spans as f64).abs() < 0.5, "{}", used.stored);
    }
}

struct Used {
    /// Seconds of the server.
    cpu: f64,
    wall: Duration,
    /// Bytes resident at most.
    peak: u64,
    stored: f64,
    /// Spans of batches that were decoded and refused, for the sender to send again.
    refused: f64,
}

fn report(name: &str, used: &Used, million: f64, beside: Option<f64>) {
    print!(
        "{name:<21} {:>6.2} CPU s per million spans, {:.0} spans/s, {} MiB at most",
        used.cpu / million,
        million * 1e6 / used.wall.as_secs_f64(),
        used.peak >> 20
    );
    if let Some(beside) = beside {
        print!(", {:.2} x receive and drop", used.cpu / beside);
    }
    println!();
    if beside.is_some() {
        let refused = used.refused.abs() / used.stored;
        println!("  of each span {refused:.2} were decoded and refused before, at the ceilings");
    }
}

/// A server on its own core.
struct Server {
    child: Child,
    web: String,
    grpc: String,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let bin = std::env::var("DWINDLE_BENCH_BIN");
        let bin = bin.unwrap_or_else(|_| env!("CARGO_BIN_EXE_dwindle").to_owned());
        let mut child = Command::new("taskset")
            .args(["-c", "1", bin.as_str(), "serve", "--no-samples"])
            .args(["--web-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"])
            .args(["--http-addr", "127.0.0.1:0"])
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut web, mut grpc) = (None, None);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        while web.is_none() || grpc.is_none() {
            let line = lines.next().unwrap().unwrap();
            let address = |what: &str| {
                let rest = line.strip_prefix(what)?.trim();
                let rest = rest.strip_prefix("http://")?;
                Some(rest.trim_end_matches('/').to_owned())
            };
            web = web.or_else(|| address("dashboard"));
            grpc = grpc.or_else(|| address("OTLP/gRPC"));
        }
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self {
            child,
            web: web.unwrap(),
            grpc: grpc.unwrap(),
        };
        while !server.get("/readyz").starts_with("HTTP/1.1 200") {
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.web).unwrap();
        let host = &self.web;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The sum of the series with this name.
    fn metric(&self, name: &str) -> f64 {
        let answer = self.get("/metrics");
        let series = answer.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        series
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    }

    /// Waits until all of it is in the tables (or dropped).
    fn settle(&self) {
        let some = |name: &str| self.metric(name) > 0.0;
        while some("dwindle_spans_open") || some("dwindle_fresh_spans") {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn status(&self, key: &str) -> u64 {
        let file = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        let number = line.split_whitespace().nth(1).unwrap();
        number.parse::<u64>().unwrap() << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends everything and waits until all of it is in the tables (or dropped).
fn run(messages: usize, options: &[&str], again: bool) -> Used {
    let server = Server::start(options);
    let before = ticks(server.child.id());
    let began = Instant::now();
    send(&server.grpc, messages, message, again);
    server.settle();
    Used {
        cpu: ticks(server.child.id()) - before,
        wall: began.elapsed(),
        peak: server.status("VmHWM"),
        stored: server.metric("dwindle_spans_stored_total"),
        refused: server.metric("dwindle_spans_shed_total"),
    }
}

/// A span that comes when its trace is in a part already, for each of many traces.
fn late(messages: usize, data: &str) {
    let server = Server::start(&["--data", data, "--log-mode", "os"]);
    send(&server.grpc, messages, message, true);
    server.settle();
    let before = ticks(server.child.id());
    let spans = server.metric("dwindle_spans_stored_total");
    send(&server.grpc, messages.min(LATE), late_message, true);
    server.settle();
    let cpu = ticks(server.child.id()) - before;
    let traces = server.metric("dwindle_spans_stored_total") - spans;
    assert!((server.metric("dwindle_revisions_total") - traces).abs() < 0.5);
    println!(
        "{traces} late spans, each of a trace in a part: {:.0} traces per CPU s",
        traces / cpu
    );
}

/// What a span takes while its trace is open.
fn open(messages: usize, data: &str) {
    let quiet = [
        "--quiet",
        "1h",
        "--quiet-incomplete",
        "1h",
        "--longest",
        "1h",
    ];
    let server = Server::start(&[&["--data", data, "--log-mode", "os"], &quiet[..]].concat());
    let before = server.status("VmRSS");
    send(&server.grpc, messages, message, true);
    let open = server.metric("dwindle_spans_open");
    let grown = server.status("VmRSS") - before;
    println!("{open} spans open: {:.0} bytes each", grown as f64 / open);
}

/// Sends everything; with `again`, what was refused is sent again, as exporters do.
fn send(
    address: &str,
    messages: usize,
    message: fn(usize) -> ExportTraceServiceRequest,
    again: bool,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let sending: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let address = format!("http://{address}");
            runtime.spawn(async move {
                let mut to = TraceServiceClient::connect(address).await.unwrap();
                for number in (client..messages).step_by(CLIENTS) {
                    loop {
                        match to.export(message(number)).await {
                            Err(_) if again => tokio::time::sleep(Duration::from_millis(50)).await,
                            _ => break,
                        }
                    }
                }
            })
        })
        .collect();
    for client in sending {
        runtime.block_on(client).unwrap();
    }
}

/// Seconds of CPU time that a process has used.
fn ticks(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields
        .skip(11)
        .take(2)
        .map(|text| text.parse::<f64>().unwrap())
        .sum::<f64>()
        / TICKS
}

fn size_of(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

/// A message of whole traces, grouped by service as a collector's batches are.
fn message(number: usize) -> ExportTraceServiceRequest {
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = started.unwrap().as_nanos() as u64;
    let resource_spans = (0..CHAIN).map(|hop| ResourceSpans {
        resource: Some(Resource {
            attributes: vec![
                text("service.name", &format!("service-{hop}")),
                text("service.version", "2026.11.3"),
                text(
                    "k8s.pod.name",
                    &format!("service-{hop}-7d9c5b6f4-x2x{hop}q"),
                ),
            ],
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans {
            spans: (0..TRACES_PER_MESSAGE)
                .flat_map(|trace| {
                    let id = (number * TRACES_PER_MESSAGE + trace + 1) as u128;
                    // Ids as random as they are in life.
                    let id = id.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                    let kinds: &[i32] = if hop + 1 < CHAIN { &[2, 3] } else { &[2] };
                    kinds.iter().map(move |kind| span(id, hop, *kind, now))
                })
                .collect(),
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    });
    ExportTraceServiceRequest {
        resource_spans: resource_spans.collect(),
    }
}

/// One more span for each trace of a message: a call of the first service.
fn late_message(number: usize) -> ExportTraceServiceRequest {
    let mut late = message(number);
    late.resource_spans.truncate(1);
    for spans in late
        .resource_spans
        .iter_mut()
        .flat_map(|one| &mut one.scope_spans)
    {
        spans.spans.retain(|span| span.kind == 3);
        for span in &mut spans.spans {
            *span.span_id.last_mut().unwrap() ^= 0x55;
            "GET /v1/late".clone_into(&mut span.name);
        }
    }
    late
}

fn span(trace: u128, hop: usize, kind: i32, now: u64) -> Span {
    let id = |hop: usize, kind: i32| {
        let place = 2 * hop as u64 + u64::from(kind == 3) + 1;
        ((trace as u64) ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .to_be_bytes()
            .to_vec()
    };
    let (parent, key, shift) = if kind == 2 {
        let parent = hop.checked_sub(1).map(|up| id(up, 3));
        (parent.unwrap_or_default(), "deadline.remaining_in_ms", 0)
    } else {
        (id(hop, 2), "deadline.remaining_out_ms", 5)
    };
    // A tenth runs late: verdicts, ledgers and findings are part of the work.
    let late = if trace.is_multiple_of(10) { 600 } else { 0 };
    let start = now + (20 * hop as u64 + shift) * 1_000_000;
    Span {
        trace_id: trace.to_be_bytes().to_vec(),
        span_id: id(hop, kind),
        parent_span_id: parent,
        name: format!("POST /v1/step-{hop}/{{id}}"),
        kind,
        start_time_unix_nano: start,
        end_time_unix_nano: start + (500 + late - 40 * hop as u64 - 2 * shift) * 1_000_000,
        attributes: vec![
            text("http.request.method", "POST"),
            text("url.path", "/v1/orders/4711-0815-2342"),
            text("server.address", "orders.shop.svc.cluster.local"),
            int(
                "http.response.status_code",
                if late > 0 { 504 } else { 200 },
            ),
            int(key, 800 - 40 * hop as i64 - shift as i64),
        ],
        ..Span::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.to_owned()))
}

fn int(key: &str, value: i64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(value))
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
