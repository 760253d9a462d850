//! How fast OTLP is decoded: protobuf in spans a second, beside `prost` alone on the same bytes;
//! JSON in bytes a second. Both in CPU time of the thread, which other work on the machine does
//! not stretch; whole files in wall time.

#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot decode its own data has to stop"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dwindle::files::load_bytes;
use dwindle::model::{
    Attributes, Kind, Resource, Scope, Span, SpanId, Status, StatusCode, TraceId, UnixNanos, Value,
};
use dwindle::otlp::{
    Limits, traces_from_json, traces_from_proto, traces_from_request, traces_to_json,
    traces_to_proto,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

const SERVICES: [&str; 4] = ["storefront", "checkout", "pricing", "inventory"];
const TRACES: u64 = 1_000;

/// A chain of four services: seven spans, a CLIENT and a SERVER for each call, about 300 bytes
/// each in protobuf, with the deadline on every one.
fn trace(number: u64, resources: &[Arc<Resource>], scope: &Arc<Scope>) -> Vec<Span> {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    id[8..].copy_from_slice(&(number + 1).to_be_bytes());
    let start = 1_791_364_500_000_000_000 + number * 1_000_000;
    let text = |text: &str| Value::Str(text.into());
    (0..7_u64)
        .map(|i| {
            let server = i % 2 == 0;
            let remaining = 1000.0 - 40.5 * i as f64;
            let service = (i.div_ceil(2) as usize).min(3);
            Span {
                trace_id: TraceId(id),
                span_id: SpanId((number * 8 + i + 1).to_be_bytes()),
                parent_id: (i > 0).then(|| SpanId((number * 8 + i).to_be_bytes())),
                flags: 257,
                name: if server {
                    "POST /v1/orders/{id}".into()
                } else {
                    "POST".into()
                },
                kind: if server { Kind::Server } else { Kind::Client },
                start: UnixNanos(start + i * 40_000_000),
                end: UnixNanos(start + 1_000_000_000 - i * 10_000_000),
                attributes: [
                    ("http.request.method", text("POST")),
                    ("server.address", text("orders.shop.svc.cluster.local")),
                    ("http.response.status_code", Value::Int(504)),
                    ("network.protocol.version", text("1.1")),
                    ("deadline.remaining_in_ms", Value::Double(remaining)),
                    ("deadline.local_ms", Value::Double(12.25)),
                    (
                        "deadline.remaining_out_ms",
                        Value::Double(remaining - 12.25),
                    ),
                ]
                .into_iter()
                .collect(),
                status: Status {
                    code: if i == 6 {
                        StatusCode::Error
                    } else {
                        StatusCode::Unset
                    },
                    message: if i == 6 {
                        "deadline exceeded".into()
                    } else {
                        "".into()
                    },
                },
                resource: Arc::clone(&resources[service]),
                scope: Arc::clone(scope),
                ..Span::default()
            }
        })
        .collect()
}

fn spans() -> Vec<Span> {
    let text = |text: &str| Value::Str(text.into());
    let resources: Vec<Arc<Resource>> = SERVICES
        .iter()
        .map(|name| {
            let attributes: Attributes = [
                ("service.name", text(name)),
                ("service.version", text("1.4.2")),
                ("telemetry.sdk.name", text("opentelemetry")),
                ("telemetry.sdk.language", text("go")),
                ("telemetry.sdk.version", text("1.38.0")),
                (
                    "host.name",
                    text("ip-10-0-3-78.eu-central-1.compute.internal"),
                ),
                ("process.pid", Value::Int(4711)),
            ]
            .into_iter()
            .collect();
            Arc::new(Resource::new(attributes))
        })
        .collect();
    let scope = Arc::new(Scope {
        name: "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp".into(),
        version: "0.63.0".into(),
        ..Scope::default()
    });
    (0..TRACES)
        .flat_map(|number| trace(number, &resources, &scope))
        .collect()
}

/// CPU time of the thread that measures, as the kernel counts it in nanoseconds.
struct CpuTime;

impl CpuTime {
    fn now() -> Duration {
        let counted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanos = counted.split(' ').next().and_then(|text| text.parse().ok());
        Duration::from_nanos(nanos.expect("the kernel counts CPU time of threads"))
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        Self::now()
    }

    fn end(&self, start: Duration) -> Duration {
        Self::now().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn protobuf(c: &mut Criterion<CpuTime>) {
    let spans = spans();
    let limits = Limits::default();
    // As an SDK's batch: 512 spans of one service, its resource once.
    let mut by_service = spans.clone();
    by_service.sort_by(|a, b| a.service().cmp(b.service()));
    let batches: Vec<Vec<u8>> = by_service
        .chunks(512)
        .map(|batch| traces_to_proto(batch).encode_to_vec())
        .collect();
    let bytes: usize = batches.iter().map(Vec::len).sum();
    assert!(
        (250..400).contains(&(bytes / spans.len())),
        "{} bytes a span",
        bytes / spans.len()
    );

    let mut group = c.benchmark_group("protobuf");
    group.throughput(Throughput::Elements(spans.len() as u64));
    group.bench_function("prost alone", |b| {
        b.iter(|| {
            for batch in &batches {
                black_box(ExportTraceServiceRequest::decode(batch.as_slice()).unwrap());
            }
        });
    });
    group.bench_function("to the model", |b| {
        b.iter(|| {
            for batch in &batches {
                black_box(traces_from_proto(batch, &limits).unwrap());
            }
        });
    });
    group.bench_function("prost, then to the model", |b| {
        b.iter(|| {
            for batch in &batches {
                let request = ExportTraceServiceRequest::decode(batch.as_slice()).unwrap();
                black_box(traces_from_request(request, &limits));
            }
        });
    });
    group.finish();
}

/// The same spans as one document and as a trace per line.
fn texts() -> [(&'static str, String); 2] {
    let spans = spans();
    let lines = spans
        .chunks(7)
        .map(|trace| traces_to_json(trace) + "\n")
        .collect();
    [
        ("one document", traces_to_json(&spans)),
        ("a trace per line", lines),
    ]
}

fn json(c: &mut Criterion<CpuTime>) {
    let limits = Limits::default();
    let mut group = c.benchmark_group("json");
    for (name, text) in &texts() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("to the model", name), text, |b, text| {
            b.iter(|| match *name {
                "one document" => {
                    black_box(traces_from_json(text.as_bytes(), &limits).unwrap());
                }
                _ => {
                    for line in text.lines() {
                        black_box(traces_from_json(line.as_bytes(), &limits).unwrap());
                    }
                }
            });
        });
    }
    group.finish();
}

/// Whole files: lines are decoded by all cores, so only wall time tells.
fn files(c: &mut Criterion) {
    let limits = Limits::default();
    let mut group = c.benchmark_group("file, wall time");
    for (name, text) in &texts() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), text, |b, text| {
            b.iter(|| black_box(load_bytes("bench", text.as_bytes(), &limits)));
        });
    }
    group.finish();
}

criterion_group! {
    name = decode;
    config = Criterion::default().with_measurement(CpuTime).sample_size(20);
    targets = protobuf, json
}
criterion_group! {
    name = whole_files;
    config = Criterion::default().sample_size(20);
    targets = files
}
criterion_main!(decode, whole_files);
