//! How fast each format is read: megabytes of the file and spans, in a second of CPU time of all
//! threads, and in a second of wall time. The same spans in every format.
//!
//! `cargo bench --bench formats`; Linux only.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dwindle::files::write::Format;
use dwindle::files::{Content, Input, Problem, Stored, Take, Unread, gather, load_bytes};
use dwindle::model::{
    Attributes, Kind, Resource, Scope, Span, SpanId, Trace, TraceId, UnixNanos, Value,
};
use dwindle::otlp::{Limits, traces_to_json, traces_to_proto};
use dwindle::store::parquet::{self, SpanWriter};
use prost::Message as _;

const TRACES: u64 = 6_000;
const SPANS: u64 = 7;
const ROUNDS: usize = 5;
const SERVICES: [&str; 4] = ["storefront", "checkout", "pricing", "inventory"];
const START: u64 = 1_791_364_500_000_000_000;

fn main() {
    // `cargo test --benches` asks every bench for its tests.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let traces = traces();
    let files: [(&str, Vec<u8>); 8] = [
        ("OTLP JSON", whole_json(&traces)),
        ("OTLP NDJSON", lines(&traces).into_bytes()),
        ("OTLP NDJSON, gzip", gzip(lines(&traces).as_bytes())),
        ("OTLP protobuf", whole_proto(&traces)),
        ("with lengths, zstd", framed(&traces)),
        ("Jaeger JSON", written(Format::Jaeger, &traces)),
        ("Zipkin v2", zipkin(&traces).into_bytes()),
        ("Go stdouttrace", sdk(&traces).into_bytes()),
    ];
    println!(
        "{:20} {:>8} {:>10} {:>14} {:>10}",
        "", "MB", "MB/CPU s", "spans/CPU s", "MB/s"
    );
    let limits = Limits::default();
    for (name, bytes) in &files {
        measure(name, bytes.len(), || {
            let loaded = load_bytes("bench", bytes, &limits);
            (loaded.problems, loaded.spans)
        });
    }
    let stored = tempfile::NamedTempFile::new().unwrap();
    let mut writer = SpanWriter::new(stored.as_file()).unwrap();
    for trace in &traces {
        writer.add(trace, None).unwrap();
    }
    writer.finish().unwrap();
    let size = stored.as_file().metadata().unwrap().len() as usize;
    measure("Parquet", size, || of_parquet(stored.path(), &limits));
}

/// What reading a file of the store gives, as every command reads it.
fn of_parquet(path: &Path, limits: &Limits) -> (Vec<Problem>, u64) {
    let read = |content: Content, take: Take<'_>| {
        let source = match content {
            Content::File(file) => parquet::Source::File(file),
            Content::Bytes(bytes) => parquet::Source::Bytes(bytes),
        };
        parquet::read_spans(source, take).map_err(|error| Unread::Broken(error.to_string()))
    };
    let stored = Stored {
        is_stored: parquet::is_parquet,
        read: &read,
    };
    let input = Input::Path(path.to_owned());
    let gathered = gather(&[input], limits, None, Some(stored), &mut |_, _| {}).unwrap();
    let report = gathered.report();
    (report.problems.clone(), report.spans)
}

/// Measures what `load` takes of all cores; it gives problems and a count of spans.
fn measure(name: &str, size: usize, load: impl Fn() -> (Vec<Problem>, u64)) {
    let mut runs: Vec<(Duration, Duration)> = (0..ROUNDS)
        .map(|_| {
            let (cpu, wall) = (cpu(), Instant::now());
            let (problems, spans) = load();
            let took = (cpu_since(cpu), wall.elapsed());
            assert_eq!(problems, [], "{name}");
            assert_eq!(spans, TRACES * SPANS, "{name}");
            took
        })
        .collect();
    runs.sort();
    let (cpu, wall) = runs.get(ROUNDS / 2).copied().unwrap();
    let megabytes = size as f64 / 1e6;
    println!(
        "{name:20} {megabytes:8.1} {:10.0} {:14.0} {:10.0}",
        megabytes / cpu.as_secs_f64(),
        (TRACES * SPANS) as f64 / cpu.as_secs_f64(),
        megabytes / wall.as_secs_f64(),
    );
}

/// CPU time of the process with all its threads, also those that have ended, in clock ticks.
fn cpu() -> u64 {
    let counted = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which may hold anything, user and system time are the 12th and 13th.
    let fields = counted.rsplit(')').next().unwrap().split_whitespace();
    fields
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum()
}

fn cpu_since(before: u64) -> Duration {
    // The kernel shows hundredths of a second, whatever it counts in.
    Duration::from_millis(10 * (cpu() - before).max(1))
}

fn traces() -> Vec<Trace> {
    let text = |text: &str| Value::Str(text.into());
    let resources: Vec<Arc<Resource>> = SERVICES
        .iter()
        .map(|name| {
            let attributes: Attributes = [
                ("service.name", text(name)),
                ("telemetry.sdk.language", text("go")),
                ("host.name", text(&format!("{name}-7d9f"))),
            ]
            .into_iter()
            .collect();
            Arc::new(Resource::new(attributes))
        })
        .collect();
    let scope = Arc::new(Scope {
        name: "otelhttp".into(),
        version: "0.63.0".into(),
        ..Scope::default()
    });
    let span = |number: u64, i: u64| Span {
        trace_id: trace_id(number),
        span_id: span_id(number, i),
        parent_id: i.checked_sub(1).map(|i| span_id(number, i)),
        name: "POST /v1/orders/{id}".into(),
        kind: if i.is_multiple_of(2) {
            Kind::Server
        } else {
            Kind::Client
        },
        start: UnixNanos(START + number * 1_000_000 + i * 40_000_000),
        end: UnixNanos(START + number * 1_000_000 + 900_000_000 - i * 10_000_000),
        attributes: [
            ("http.request.method", text("POST")),
            ("http.response.status_code", Value::Int(200)),
            (
                "deadline.remaining_in_ms",
                Value::Double(1000.0 - 40.5 * i as f64),
            ),
        ]
        .into_iter()
        .collect(),
        resource: Arc::clone(resources.get(i as usize / 2).unwrap()),
        scope: Arc::clone(&scope),
        ..Span::default()
    };
    (0..TRACES)
        .map(|number| Trace {
            id: trace_id(number),
            spans: (0..SPANS).map(|i| span(number, i)).collect(),
            logs: Vec::new(),
        })
        .collect()
}

fn trace_id(number: u64) -> TraceId {
    let spread = u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    TraceId(spread.to_be_bytes())
}

fn span_id(number: u64, i: u64) -> SpanId {
    SpanId((number * 8 + i + 1).to_be_bytes())
}

fn spans(traces: &[Trace]) -> Vec<Span> {
    traces
        .iter()
        .flat_map(|trace| trace.spans.clone())
        .collect()
}

fn whole_json(traces: &[Trace]) -> Vec<u8> {
    traces_to_json(&spans(traces)).into_bytes()
}

fn lines(traces: &[Trace]) -> String {
    let lines = traces
        .iter()
        .map(|trace| traces_to_json(&trace.spans) + "\n");
    lines.collect()
}

fn whole_proto(traces: &[Trace]) -> Vec<u8> {
    let mut spans = spans(traces);
    spans.sort_by(|a, b| a.service().cmp(b.service()));
    let batches = spans.chunks(512);
    batches
        .flat_map(|batch| traces_to_proto(batch).encode_to_vec())
        .collect()
}

fn framed(traces: &[Trace]) -> Vec<u8> {
    let mut file = Vec::new();
    for some in traces.chunks(50) {
        let message = traces_to_proto(&spans(some)).encode_to_vec();
        let packed = zstd::encode_all(message.as_slice(), 3).unwrap();
        file.extend((packed.len() as u32).to_be_bytes());
        file.extend(packed);
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What `dwindle convert` writes.
fn written(format: Format, traces: &[Trace]) -> Vec<u8> {
    let mut file = format.head().as_bytes().to_vec();
    for (place, trace) in traces.iter().enumerate() {
        if place > 0 {
            file.extend(format.between().as_bytes());
        }
        file.extend(format.encode(trace).bytes);
    }
    file.extend(format.tail().as_bytes());
    file
}

fn micros(time: UnixNanos) -> u64 {
    time.0 / 1_000
}

fn zipkin(traces: &[Trace]) -> String {
    let mut out = String::from("[");
    for span in traces.iter().flat_map(|trace| &trace.spans) {
        let comma = if out.len() > 1 { "," } else { "" };
        let parent = span
            .parent_id
            .map_or_else(String::new, |id| format!(r#""parentId":"{id}","#));
        let kind = if span.kind == Kind::Server {
            "SERVER"
        } else {
            "CLIENT"
        };
        write!(
            out,
            r#"{comma}{{"traceId":"{}","id":"{}",{parent}"kind":"{kind}","name":"{}","timestamp":{},"duration":{},"localEndpoint":{{"serviceName":"{}"}},"tags":{{"http.request.method":"POST","http.response.status_code":"200","deadline.remaining_in_ms":"{}"}}}}"#,
            span.trace_id,
            span.span_id,
            span.name,
            micros(span.start),
            micros(span.end) - micros(span.start),
            span.service(),
            span.attributes.get("deadline.remaining_in_ms").unwrap(),
        )
        .unwrap();
    }
    out + "]"
}

fn sdk(traces: &[Trace]) -> String {
    let mut out = String::new();
    for span in traces.iter().flat_map(|trace| &trace.spans) {
        let parent = span.parent_id.unwrap_or_default();
        let seconds = |time: UnixNanos| {
            let since = time.0 - START;
            let (minute, rest) = (15 + since / 60_000_000_000, since % 60_000_000_000);
            format!(
                "2026-10-07T09:{minute:02}:{:02}.{:09}Z",
                rest / 1_000_000_000,
                rest % 1_000_000_000
            )
        };
        let kind = if span.kind == Kind::Server { 2 } else { 3 };
        writeln!(
            out,
            r#"{{"Name":"{}","SpanContext":{{"TraceID":"{}","SpanID":"{}","TraceFlags":"01","TraceState":"","Remote":false}},"Parent":{{"TraceID":"{}","SpanID":"{parent}","TraceFlags":"01","TraceState":"","Remote":false}},"SpanKind":{kind},"StartTime":"{}","EndTime":"{}","Attributes":[{{"Key":"http.request.method","Value":{{"Type":"STRING","Value":"POST"}}}},{{"Key":"http.response.status_code","Value":{{"Type":"INT64","Value":200}}}},{{"Key":"deadline.remaining_in_ms","Value":{{"Type":"FLOAT64","Value":{}}}}}],"Events":null,"Links":null,"Status":{{"Code":"Unset","Description":""}},"Resource":[{{"Key":"service.name","Value":{{"Type":"STRING","Value":"{}"}}}}],"InstrumentationScope":{{"Name":"otelhttp","Version":"0.63.0"}}}}"#,
            span.name,
            span.trace_id,
            span.span_id,
            span.trace_id,
            seconds(span.start),
            seconds(span.end),
            span.attributes.get("deadline.remaining_in_ms").unwrap(),
            span.service(),
        )
        .unwrap();
    }
    out
}
