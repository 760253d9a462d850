//! Questions to a store of many requests: a trace by its id, pages of the list, sums over all hops,
//! SQL; on as many threads as Polars takes.
//!
//! `cargo bench --bench query`; `DWINDLE_BENCH_REQUESTS` sets how many requests of 7 spans there are
//! (300,000), `DWINDLE_BENCH_DATA` a folder that is filled once and kept, `DWINDLE_DUCKDB` a Python
//! with `DuckDB`, which then answers the SQL over the same files in the same run. Linux only.

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

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{Outcome, TraceId};
use dwindle::query::aggregate::OverStore;
use dwindle::query::calls::Calls;
use dwindle::query::filter::Filter;
use dwindle::query::hops::Hops;
use dwindle::query::requests::{self, Query};
use dwindle::query::rules::Findings;
use dwindle::query::scan::Selection;
use dwindle::query::sql::Plan;
use dwindle::store::{Options, Snapshot, Store, Stored, Window};

use self::chain::{chain, memory, trace_id};

/// Traces that are flushed at once.
const FLUSH: usize = 50_000;

const SQL: &str = "SELECT service, operation, verdict, count(*) AS n, avg(local_ms) AS mean, \
     max(elapsed_ms) AS longest FROM hops GROUP BY service, operation, verdict ORDER BY n DESC, service, operation, verdict";

fn main() {
    let requests = std::env::var("DWINDLE_BENCH_REQUESTS").ok();
    let requests: usize = requests.map_or(300_000, |text| text.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("DWINDLE_BENCH_DATA").map(PathBuf::from);
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    let store = Store::open(&folder, Options::default()).unwrap();
    if store.snapshot().counts().requests.total() == 0 {
        fill(&store, requests);
    }
    let snapshot = store.snapshot();
    let counts = snapshot.counts();
    println!("{} requests", counts.requests.total());
    by_id(&store, requests);
    let worst = |query: &Query| page(&snapshot, query);
    let query = Query::default;
    best("newest page of 50", || {
        worst(&Query {
            limit: 50,
            ..query()
        })
    });
    best("newest page of 100 with findings", || {
        worst(&Query {
            findings: true,
            ..query()
        })
    });
    best("newest page of one outcome", || {
        worst(&Query {
            outcome: Some(Outcome::Missed),
            ..query()
        })
    });
    best("worst page", || {
        worst(&Query {
            sort: "worst".parse().unwrap(),
            ..query()
        })
    });
    for text in [
        "outcome=missed and wasted > 200ms",
        "culprit.service=service-2 and elapsed > 1.2s",
        "service ~ ^serv and budget=null",
        "hop.verdict=finished_late",
        "call.to=service-3 and call.elapsed > 900ms",
        "trace_id=0000000000",
    ] {
        best(&format!("filtered page: {text}"), || {
            worst(&Query {
                selection: matching(text),
                ..query()
            })
        });
    }
    best("worst page of hop.verdict=finished_late", || {
        worst(&Query {
            selection: matching("hop.verdict=finished_late"),
            sort: "worst".parse().unwrap(),
            ..query()
        })
    });
    place(&snapshot);
    let all = Selection::default();
    best("sum over hops", || sum::<Hops>(&snapshot, &all));
    best("sum over calls", || sum::<Calls>(&snapshot, &all));
    best("sum over findings", || sum::<Findings>(&snapshot, &all));
    for text in ["outcome=missed", "hop.verdict=finished_late"] {
        let selection = matching(text);
        best(&format!("sum over hops: {text}"), || {
            sum::<Hops>(&snapshot, &selection)
        });
    }
    let plan = Plan::parse(SQL).unwrap();
    best("SQL group by", || {
        plan.over(&snapshot, &all, 1000).unwrap().len()
    });
    beside_duckdb(&folder);
    println!("resident at the peak: {} MB", memory("VmHWM") / 1024);
}

fn matching(text: &str) -> Selection {
    Selection {
        filter: Some(Filter::parse(text).unwrap()),
        window: Window::ALL,
    }
}

fn sum<T: OverStore>(snapshot: &Snapshot, selection: &Selection) -> usize {
    T::over(snapshot, selection).unwrap().sheet().rows.len()
}

fn page(snapshot: &Snapshot, query: &Query) -> usize {
    requests::page(snapshot, query).unwrap().matching.count
}

/// The best and the median of some rounds.
fn best(what: &str, mut work: impl FnMut() -> usize) {
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..5 {
        let began = Instant::now();
        found = work();
        times.push(began.elapsed());
    }
    told(what, times, found);
}

fn told(what: &str, mut times: Vec<Duration>, found: usize) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (least, median) = (ms(times[0]), ms(times[times.len() / 2]));
    println!("{what}: {median:.1} ms (least {least:.1}), {found} found");
}

fn by_id(store: &Store, requests: usize) {
    let mut times = Vec::new();
    let mut found = 0;
    for n in 0..50 {
        let id = trace_id(n * (requests / 50));
        let began = Instant::now();
        found += usize::from(store.get(id).unwrap().is_some());
        times.push(began.elapsed());
    }
    told("a trace by its id", times, found);
    let began = Instant::now();
    let none = store.get(TraceId([0xfe; 16])).unwrap().is_some();
    told(
        "an id that is not there",
        vec![began.elapsed()],
        none.into(),
    );
}

fn place(snapshot: &Snapshot) {
    let page = requests::page(snapshot, &Query::default()).unwrap();
    let row = page.rows.last().unwrap();
    let this = (row.trace_id, row.request);
    best("a request's place", || {
        let place = requests::place(snapshot, row.outcome, row.start, this);
        place.unwrap().unwrap().position
    });
}

fn beside_duckdb(folder: &Path) {
    let Some(python) = std::env::var_os("DWINDLE_DUCKDB") else {
        return;
    };
    let script = "import duckdb, sys, time
db = duckdb.connect()
sql = sys.argv[2].replace('FROM hops', f\"FROM read_parquet('{sys.argv[1]}/hops/*/*/*.parquet')\")
times = []
for _ in range(5):
    began = time.monotonic()
    found = len(db.execute(sql).fetchall())
    times.append((time.monotonic() - began) * 1e3)
times.sort()
print(f'DuckDB, the same SQL: {times[2]:.1f} ms (least {times[0]:.1f}), {found} found')";
    let mut command = Command::new(python);
    let status = command.args(["-c", script]).arg(folder).arg(SQL).status();
    assert!(status.unwrap().success());
}

fn fill(store: &Store, requests: usize) {
    let began = Instant::now();
    let (policy, typical) = (Policy::default(), Typical::default());
    for n in 0..requests {
        let trace = chain(n, requests);
        let analysis = analyse(&trace, &policy, &typical);
        store.put(Stored {
            trace: Arc::new(trace),
            analysis: Arc::new(analysis),
            sample: false,
            log_from: u64::MAX,
        });
        if n % FLUSH == FLUSH - 1 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
    println!("filled in {:.1} s", began.elapsed().as_secs_f64());
}
