//! What a row costs: the CPU time in which the traces of a flush become rows of each table, and
//! the rows a Parquet file.
//!
//! `cargo bench --bench rows`; Linux only.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run should say where"
)]

#[path = "chain.rs"]
mod chain;

use std::hint::black_box;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{Analysis, Trace};
use dwindle::store::parquet;
use dwindle::store::tables::{Builder, Table, Wanted};

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// So many that they do not fit into caches, as those of a flush do not.
const TRACES: usize = 35_000;
const ROUNDS: usize = 3;

fn main() {
    let (policy, typical) = (Policy::default(), Typical::default());
    let mut traces: Vec<(Trace, Analysis)> = Vec::new();
    let before = cpu();
    for n in 0..TRACES {
        let trace = chain::chain(n, TRACES);
        traces.push((trace, Analysis::default()));
    }
    let made = cpu();
    for (trace, analysis) in &mut traces {
        *analysis = analyse(trace, &policy, &typical);
    }
    let micros = |seconds: f64| seconds * 1e6 / TRACES as f64;
    println!("{TRACES} traces of 7 spans; us of CPU a trace:");
    println!(
        "made {:.1}, analysed {:.1}",
        micros(made - before),
        micros(cpu() - made)
    );
    traces.sort_by_key(|(trace, _)| trace.id);
    let mut all = (0.0, 0.0, 0.0);
    for table in Table::ALL {
        let mut best = (f64::MAX, f64::MAX, f64::MAX);
        let (mut rows, mut bytes) = (0, 0);
        for _ in 0..ROUNDS {
            let wanted = Wanted::tables([table]);
            let before = cpu();
            let mut builder = Builder::new(&wanted);
            for (trace, analysis) in &traces {
                builder.add(trace, analysis);
            }
            let added = cpu();
            rows = builder.rows();
            let (_, frame) = builder.finish().unwrap().pop().unwrap();
            let finished = cpu();
            bytes = parquet::write(table, &frame, Vec::new()).unwrap().len();
            let written = cpu();
            black_box(frame);
            best.0 = best.0.min(added - before);
            best.1 = best.1.min(finished - added);
            best.2 = best.2.min(written - finished);
        }
        println!(
            "{table:>8}: rows {:>5.2}, frame {:>5.2}, Parquet {:>5.2}; {:.1} rows a trace, {:.0} ns a row, {} columns, {} bytes a row",
            micros(best.0),
            micros(best.1),
            micros(best.2),
            rows as f64 / TRACES as f64,
            best.0 * 1e9 / rows as f64,
            table.columns().len(),
            bytes / rows.max(1),
        );
        all = (all.0 + best.0, all.1 + best.1, all.2 + best.2);
    }
    println!(
        "     all: rows {:>5.2}, frame {:>5.2}, Parquet {:>5.2}",
        micros(all.0),
        micros(all.1),
        micros(all.2)
    );
    println!("resident at the peak: {} MB", chain::memory("VmHWM") / 1024);
}

/// CPU seconds of this process so far.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    let nanos: f64 = text.split_whitespace().next().unwrap().parse().unwrap();
    nanos / 1e9
}
