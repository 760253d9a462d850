//! The analysis alone: spans per second of CPU time on small traces, and time and memory on huge
//! ones, wide and deep, at doubling sizes (what is linear doubles).
//!
//! `cargo bench --bench analyse`; Linux only.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "resets the process's peak memory through /proc"
)]

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{
    Attributes, Kind, Resource, Span, SpanId, Text, Trace, TraceId, UnixNanos, Value,
};

const START: u64 = 1_791_364_500_000_000_000;

fn main() {
    let shapes = [("flat", flat as fn(usize) -> Trace), ("20,000 deep", deep)];
    // Each size in a process of its own: memory that another one freed would hide what it takes.
    let mut arguments = std::env::args().skip(1);
    if let (Some(name), Some(spans)) = (arguments.next(), arguments.next()) {
        if let Some((_, make)) = shapes.iter().find(|(shape, _)| *shape == name) {
            large(&name, &make(spans.parse().unwrap()));
        }
        return;
    }
    small();
    for (name, _) in shapes {
        for spans in ["25000", "50000", "100000"] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            assert!(child.args([name, spans]).status().unwrap().success());
        }
    }
}

/// Chains of four services with 7 spans and a deadline that one of them overruns.
fn small() {
    let traces: Vec<Trace> = (0..2000).map(chain).collect();
    let spans: usize = traces.iter().map(|trace| trace.spans.len()).sum();
    let (policy, typical) = (Policy::default(), Typical::default());
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let before = cpu();
        for trace in &traces {
            std::hint::black_box(analyse(trace, &policy, &typical));
        }
        best = best.min(cpu().saturating_sub(before));
    }
    let rate = spans as f64 / best.as_secs_f64();
    println!("traces of 7 spans: {rate:.0} spans per CPU second (best of 10)");
}

fn large(name: &str, trace: &Trace) {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let (resident, before) = (memory("VmRSS"), cpu());
    let analysis = analyse(trace, &Policy::default(), &Typical::default());
    let (used, peak) = (cpu().saturating_sub(before), memory("VmHWM"));
    let [request] = &analysis.requests[..] else {
        panic!("one request")
    };
    let spans = trace.spans.len();
    println!(
        "{name}, {spans} spans, {} hops: {:.0} ms CPU, {} bytes a span at the peak",
        request.hops.len(),
        used.as_secs_f64() * 1e3,
        peak.saturating_sub(resident) * 1024 / spans as u64,
    );
}

fn chain(n: usize) -> Trace {
    let mut trace = Trace {
        id: TraceId((n as u128 + 1).to_be_bytes()),
        ..Trace::default()
    };
    for i in 0..7_usize {
        let ms = |at: usize| UnixNanos(START + 1_000_000 * at as u64);
        let mut span = span(i, i.checked_sub(1), i / 2 + i % 2);
        (span.start, span.end) = (ms(100 * i), ms(1300 - 10 * i));
        if i % 2 == 0 {
            span.kind = Kind::Client;
            span.resource = resource(i / 2);
            span.attributes
                .0
                .push(("deadline.timeout_ms".into(), Value::Int(1000)));
        } else {
            span.kind = Kind::Server;
            span.attributes
                .0
                .push(("deadline.remaining_in_ms".into(), Value::Int(900)));
        }
        trace.spans.push(span);
    }
    trace
}

/// A root with as many calls as fit, each answered.
fn flat(spans: usize) -> Trace {
    let mut trace = Trace {
        id: TraceId([7; 16]),
        ..Trace::default()
    };
    for i in 0..spans {
        let parent = if i % 2 == 0 {
            i.checked_sub(1)
        } else {
            Some(0)
        };
        let owner = if i % 2 == 1 || i == 0 {
            0
        } else {
            1 + i / 2 % 49
        };
        let mut span = span(i, parent, owner);
        span.kind = if i % 2 == 0 {
            Kind::Server
        } else {
            Kind::Client
        };
        span.start = UnixNanos(START + 1000 * i as u64);
        span.end = UnixNanos(START + 1000 * (i + 900) as u64);
        trace.spans.push(span);
    }
    finish(trace)
}

/// A chain of 20,000 spans with the others as leaves along it.
fn deep(spans: usize) -> Trace {
    const DEPTH: usize = 20_000;
    let mut trace = Trace {
        id: TraceId([7; 16]),
        ..Trace::default()
    };
    for i in 0..spans {
        let on_chain = i < DEPTH;
        let parent = if on_chain {
            i.checked_sub(1)
        } else {
            Some(((i * 2 + 1) % DEPTH) & !1)
        };
        let owner = if on_chain { i / 2 } else { i % DEPTH / 2 };
        let mut span = span(i, parent, owner % 50);
        span.kind = match (on_chain, i % 2) {
            (true, 0) => Kind::Server,
            (true, _) => Kind::Client,
            (false, _) => Kind::Internal,
        };
        if let (false, Some(parent)) = (on_chain, parent) {
            span.resource = trace.spans[parent].resource.clone();
        }
        span.start = UnixNanos(START + 1000 * i as u64);
        span.end = UnixNanos(START + 1000 * (3 * spans - i) as u64);
        trace.spans.push(span);
    }
    finish(trace)
}

fn finish(mut trace: Trace) -> Trace {
    let root = &mut trace.spans[0];
    root.end = UnixNanos(START + 1_000_000_000);
    root.attributes
        .0
        .push(("deadline.remaining_in_ms".into(), Value::Int(100)));
    trace
}

fn resource(service: usize) -> Arc<Resource> {
    let name = Value::Str(compact(&format!("service-{service}")));
    Arc::new(Resource::new(Attributes::from_iter([(
        "service.name",
        name,
    )])))
}

fn compact(text: &str) -> Text {
    Text::from(text)
}

fn span(index: usize, parent: Option<usize>, service: usize) -> Span {
    let id = |n: usize| SpanId((n as u64 + 1).to_be_bytes());
    Span {
        trace_id: TraceId([7; 16]),
        span_id: id(index),
        parent_id: parent.map(id),
        name: compact("GET /orders/{id}"),
        kind: Kind::Internal,
        start: UnixNanos(START),
        end: UnixNanos(START),
        attributes: Attributes::from_iter([
            ("http.request.method", Value::Str(compact("GET"))),
            ("url.path", Value::Str(compact("/orders/4711/positions"))),
            ("http.response.status_code", Value::Int(200)),
            ("server.address", Value::Str(compact("orders.internal"))),
        ]),
        resource: resource(service),
        ..Span::default()
    }
}

/// Time on a processor of this thread so far.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// A line of the process's status, in KiB.
fn memory(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
