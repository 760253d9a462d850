//! How long the pages about many requests take in the server, while spans come in.
//!
//! `cargo bench --bench pages`; `DWINDLE_BENCH_REQUESTS` sets how many requests of 7 spans are
//! stored (1,000,000), `DWINDLE_BENCH_DATA` a folder that is filled once and kept, and
//! `cargo bench --bench pages -- TEXT` takes only pages with this text in their name. Meanwhile
//! three threads do what the server does with spans once they are read: one analyses and puts, as
//! fast as it can, or with `DWINDLE_BENCH_RATE` so many traces a second, and lets a hundredth come
//! in two states; one flushes, one merges parts. Linux only.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench is told by variables, and by no settings"
)]

#[path = "chain.rs"]
mod chain;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::ingest::Pace;
use dwindle::model::{Nanos, Trace, UnixNanos};
use dwindle::query::filter::Filter;
use dwindle::query::fleet::findings::Which;
use dwindle::query::fleet::{self, Ask, Stretch};
use dwindle::query::requests::{self, Query};
use dwindle::query::scan::Selection;
use dwindle::store::{Options, Snapshot, Store, Stored, Window};

use self::chain::{DAY, HOUR, HOURS, chain, memory};

const MINUTE: u64 = 60_000_000_000;
/// Traces of which the filling makes a part.
const FLUSH: usize = 50_000;
/// The longest time that a row stays fresh, as in [`Pace`].
const LONGEST: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(100);
const ROUNDS: usize = 9;

/// Makes a page and tells its size.
type Page = fn(&Snapshot, &Ask) -> usize;

fn main() {
    let number = |name| {
        let text = std::env::var(name).ok();
        text.map(|text| text.parse::<usize>().unwrap())
    };
    let requests = number("DWINDLE_BENCH_REQUESTS").unwrap_or(1_000_000);
    let rate = number("DWINDLE_BENCH_RATE");
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
        scope.spawn(|| ingest(&store, (requests, rate), &stop, &came));
        scope.spawn(|| flush(&store, &stop));
        scope.spawn(|| merge(&store, &stop));
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

/// A page of the list with its histogram, or with the findings of each, as the API has it.
fn list(snapshot: &Snapshot, ask: &Ask, filter: &str, sort: &str, findings: bool) -> usize {
    let query = Query {
        selection: Selection {
            filter: (!filter.is_empty()).then(|| Filter::parse(filter).unwrap()),
            window: Window {
                since: Some(ask.window.since),
                until: Some(ask.window.until),
            },
        },
        sort: sort.parse().unwrap(),
        limit: ask.rows,
        findings,
        ..Query::default()
    };
    let page = requests::page(snapshot, &query).unwrap();
    if !findings {
        requests::used(snapshot, &query).unwrap();
    }
    page.matching.count
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
        let each: [(&str, Page); 10] = [
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
            ("requests", |snapshot, ask| {
                list(snapshot, ask, "", "newest", false)
            }),
            ("requests, missed, the worst first", |snapshot, ask| {
                list(snapshot, ask, "outcome=missed", "worst", false)
            }),
            (
                "requests, missed, the worst first, as JSON",
                |snapshot, ask| list(snapshot, ask, "outcome=missed", "worst", true),
            ),
            ("requests with a late hop", |snapshot, ask| {
                list(snapshot, ask, "hop.verdict=finished_late", "newest", false)
            }),
        ];
        let asked = std::env::args()
            .skip(1)
            .find(|text| !text.starts_with("--"));
        let named = |page: &str| {
            asked
                .as_ref()
                .is_none_or(|text| page.contains(text.as_str()))
        };
        for (page, make) in each.into_iter().filter(|(page, _)| named(page)) {
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
        if n % FLUSH == FLUSH - 1 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
    store.compact(None).unwrap();
    println!("filled in {:.1} s", began.elapsed().as_secs_f64());
}

/// Puts traces of the last hour until it is told to stop; what comes faster than it is flushed
/// waits, as it does in the server. Of every hundredth the last span comes when the rest is in a
/// part.
fn ingest(
    store: &Store,
    (requests, rate): (usize, Option<usize>),
    stop: &AtomicBool,
    came: &AtomicU64,
) {
    let (policy, most) = (Policy::default(), 2 * Pace::default().spans);
    // A kept folder has what came the last time, too.
    let first = store.snapshot().counts().traces as usize;
    let (began, mut n) = (Instant::now(), first);
    let mut late = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        if let Some(rate) = rate {
            let due = Duration::from_secs_f64((n - first) as f64 / rate as f64);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
        while store.fresh().spans > most && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        let mut trace = chain(n, requests);
        let behind = trace.spans[0].start.0 - (DAY + (HOURS - 1) * HOUR);
        for span in &mut trace.spans {
            span.start.0 -= behind / HOUR * HOUR;
            span.end.0 -= behind / HOUR * HOUR;
        }
        let put = |trace| store.put(stored(trace, &store.typical(), &policy));
        if n.is_multiple_of(100) {
            let mut begun = trace.clone();
            begun.spans.pop();
            put(begun);
            late.push_back((Instant::now() + 2 * LONGEST, trace));
        } else {
            put(trace);
        }
        while late.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            let (_, whole) = late.pop_front().unwrap();
            put(whole);
        }
        came.fetch_add(1, Ordering::Relaxed);
        n += 1;
    }
}

/// Flushes as the server does, until it is told to stop.
fn flush(store: &Store, stop: &AtomicBool) {
    let (most, mut last) = (Pace::default().spans, Instant::now());
    while !stop.load(Ordering::Relaxed) {
        if store.fresh().spans >= most || last.elapsed() >= LONGEST {
            last = Instant::now();
            store.flush_some().unwrap();
        }
        std::thread::sleep(TICK);
    }
}

/// Merges parts as the server does, until it is told to stop.
fn merge(store: &Store, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        store.compact(Some(UnixNanos(DAY + HOURS * HOUR))).unwrap();
        std::thread::sleep(TICK);
    }
}
