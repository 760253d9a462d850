//! How long the pages about many requests take in the server, while spans come in.
//!
//! `cargo bench --bench pages`; `DWINDLE_BENCH_REQUESTS` sets how many requests of 7 spans are
//! stored (1,000,000), `DWINDLE_BENCH_DATA` a folder that is filled once and kept. Meanwhile one
//! thread takes traces as ingest does: it analyses, puts, flushes every 10,000 traces, lets a
//! hundredth come in two states, and merges parts. Linux only.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench is told by variables, and by no settings"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{
    Attributes, Kind, Nanos, Resource, Span, SpanId, Text, Trace, TraceId, UnixNanos, Value,
};
use dwindle::query::fleet::findings::Which;
use dwindle::query::fleet::{self, Ask, Stretch};
use dwindle::store::{Options, Snapshot, Store, Stored};

/// 2026-10-07 00:00 UTC.
const DAY: u64 = 1_791_331_200_000_000_000;
const HOUR: u64 = 3_600_000_000_000;
const MINUTE: u64 = 60_000_000_000;
/// The requests lie in so many hours.
const HOURS: u64 = 24;
/// Traces that are flushed at once.
const FLUSH: usize = 10_000;
const ROUNDS: usize = 9;

/// Makes a page and tells its size.
type Page = fn(&Snapshot, &Ask) -> usize;

fn main() {
    let requests = std::env::var("DWINDLE_BENCH_REQUESTS").ok();
    let requests: usize = requests.map_or(1_000_000, |text| text.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("DWINDLE_BENCH_DATA").map(PathBuf::from);
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    let store = Arc::new(Store::open(&folder, Options::default()).unwrap());
    if store.snapshot().counts().requests.total() == 0 {
        fill(&store, requests);
    }
    println!("{} requests", store.snapshot().counts().requests.total());
    let began = Instant::now();
    let end = UnixNanos(DAY + HOURS * HOUR);
    store.learn(end, Nanos::from_secs(86_400), true).unwrap();
    println!(
        "typical times from all summaries, first: {:.1} ms, of {} hops",
        began.elapsed().as_secs_f64() * 1e3,
        store.typical().hops.len()
    );
    println!("nothing comes in:");
    pages(&store);
    let (stop, came) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| ingest(&store, requests, &stop, &came));
        std::thread::sleep(Duration::from_secs(3));
        let began = (Instant::now(), came.load(Ordering::Relaxed));
        println!("while spans come in:");
        pages(&store);
        let came = came.load(Ordering::Relaxed) - began.1;
        let seconds = began.0.elapsed().as_secs_f64();
        println!("came meanwhile: {:.0} spans/s", came as f64 * 7.0 / seconds);
        stop.store(true, Ordering::Relaxed);
    });
    println!("resident at the peak: {} MB", memory("VmHWM") / 1024);
}

fn pages(store: &Store) {
    for (name, length, shift) in [
        ("15 min", 15 * MINUTE, 0),
        ("1 h", HOUR, 0),
        ("24 h", HOURS * HOUR, 0),
        ("1 h, not on the hour", HOUR, 7 * HOUR + 13 * MINUTE),
    ] {
        let until = DAY + HOURS * HOUR - shift;
        let ask = Ask {
            window: Stretch {
                since: UnixNanos(until - length),
                until: UnixNanos(until),
            },
            now: UnixNanos(until),
            buckets: 60,
            rows: 50,
        };
        let each: [(&str, Page); 6] = [
            ("overview", |snapshot, ask| {
                fleet::overview(snapshot, ask).unwrap().series.len()
            }),
            ("services", |snapshot, ask| {
                fleet::services(snapshot, ask).unwrap().rows.len()
            }),
            ("service", |snapshot, ask| {
                let page = fleet::service(snapshot, ask, "service-2", None).unwrap();
                page.map_or(0, |page| page.series.len())
            }),
            ("map", |snapshot, ask| {
                fleet::map(snapshot, ask).unwrap().edges.len()
            }),
            ("findings", |snapshot, ask| {
                let which = Which::default();
                fleet::findings(snapshot, ask, &which).unwrap().groups.len()
            }),
            ("coverage", |snapshot, ask| {
                fleet::coverage(snapshot, ask).unwrap().edges.len()
            }),
        ];
        for (page, make) in each {
            let mut times = Vec::new();
            let mut found = 0;
            for _ in 0..ROUNDS {
                let began = Instant::now();
                found = make(&store.snapshot(), &ask);
                times.push(began.elapsed());
            }
            let first = times[0];
            times.sort_unstable();
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "  {name}, {page}: {:.1} ms at the median (first {:.1}, most {:.1}), {found} found",
                ms(times[ROUNDS / 2]),
                ms(first),
                ms(times[ROUNDS - 1])
            );
        }
    }
}

fn stored(trace: Trace, typical: &Typical, policy: &Policy) -> Stored {
    let analysis = analyse(&trace, policy, typical);
    Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: u64::MAX,
    }
}

fn fill(store: &Store, requests: usize) {
    let began = Instant::now();
    let (policy, typical) = (Policy::default(), Typical::default());
    for n in 0..requests {
        store.put(stored(chain(n, requests), &typical, &policy));
        if n % (5 * FLUSH) == 5 * FLUSH - 1 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
    store.compact(None).unwrap();
    println!("filled in {:.1} s", began.elapsed().as_secs_f64());
}

/// Takes traces of the last hour until it is told to stop.
fn ingest(store: &Store, requests: usize, stop: &AtomicBool, came: &AtomicU64) {
    let policy = Policy::default();
    let mut n = requests;
    while !stop.load(Ordering::Relaxed) {
        let mut trace = chain(n, requests);
        let late = trace.spans[0].start.0 - (DAY + (HOURS - 1) * HOUR);
        for span in &mut trace.spans {
            span.start.0 -= late / HOUR * HOUR;
            span.end.0 -= late / HOUR * HOUR;
        }
        if n.is_multiple_of(100) {
            let mut first = trace.clone();
            first.spans.pop();
            store.put(stored(first, &store.typical(), &policy));
            store.flush().unwrap();
        }
        store.put(stored(trace, &store.typical(), &policy));
        came.fetch_add(1, Ordering::Relaxed);
        n += 1;
        if n.is_multiple_of(FLUSH) {
            store.flush().unwrap();
            store.compact(Some(UnixNanos(DAY + HOURS * HOUR))).unwrap();
        }
    }
}

/// Ids that are spread as random ones are.
fn trace_id(n: usize) -> TraceId {
    let high = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = high.rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1;
    TraceId((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// A chain of four services with 7 spans and a deadline that some overrun.
fn chain(n: usize, of: usize) -> Trace {
    let id = trace_id(n);
    let seed = u64::from_be_bytes(id.0[..8].try_into().unwrap());
    let begin = DAY + (n as u64) * (HOURS * HOUR / of as u64) + seed % 1_000_000;
    let scale = 60 + seed % 50;
    let mut trace = Trace {
        id,
        ..Trace::default()
    };
    for i in 0..7_usize {
        let at = |ms: u64| UnixNanos(begin + 10_000 * scale * ms);
        let own = 2 * (seed >> (i * 4) & 15);
        let deadline = if i % 2 == 0 {
            ("deadline.timeout_ms", Value::Int(1000))
        } else {
            ("deadline.remaining_in_ms", Value::Int(900 - 100 * i as i64))
        };
        let mut attributes = vec![("http.request.method", text("GET"))];
        // A tenth has no deadline at all.
        if seed % 10 > 0 {
            attributes.push(deadline);
        }
        trace.spans.push(Span {
            trace_id: id,
            span_id: SpanId((seed ^ (i as u64 + 1)).to_be_bytes()),
            parent_id: i
                .checked_sub(1)
                .map(|parent| SpanId((seed ^ (parent as u64 + 1)).to_be_bytes())),
            name: Text::from(["GET /orders", "POST /orders"][(seed >> 40 & 1) as usize]),
            kind: if i % 2 == 0 {
                Kind::Client
            } else {
                Kind::Server
            },
            start: at(100 * i as u64),
            end: at(1300 - 10 * i as u64 + own),
            attributes: Attributes::from_iter(attributes),
            resource: resource(i / 2 + i % 2),
            ..Span::default()
        });
    }
    trace
}

fn text(text: &str) -> Value {
    Value::Str(text.into())
}

fn resource(service: usize) -> Arc<Resource> {
    let name = text(&format!("service-{service}"));
    Arc::new(Resource::new(Attributes::from_iter([(
        "service.name",
        name,
    )])))
}

/// A line of the process's status, in KiB.
fn memory(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
