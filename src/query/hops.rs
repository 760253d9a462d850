//! Hops over many requests: a row for each service and operation (semantics, section 8).

use std::collections::BTreeMap;

use super::aggregate::{Aggregate, Distinct, Total, Verdicts};
use super::samples::Samples;
use super::sheet::{Cell, Column, Sheet};
use crate::model::{Hop, Request, Text, Verdict};

/// What is known of each service and operation.
pub const COLUMNS: &[Column] = &[
    Column::shown("service", "service", "the service"),
    Column::shown("operation", "operation", "its entry span's name"),
    Column::wide(8, "requests", "reqs", "requests in which it ran"),
    Column::shown("runs", "runs", "runs of the hop"),
    Column::wide(
        6,
        "propagated_share",
        "told",
        "share of runs whose budget was passed on to it",
    ),
    Column::machine(
        "budgets",
        "runs whose budget on arrival is known; the percentiles are over them",
    ),
    Column::machine(
        "remaining_in_p5_ms",
        "budget on arrival, 5th percentile: what the worst off had",
    ),
    Column::wide(
        3,
        "remaining_in_p50_ms",
        "left p50",
        "budget on arrival, median",
    ),
    Column::machine("remaining_in_p95_ms", "budget on arrival, 95th percentile"),
    Column::machine("remaining_in_p99_ms", "budget on arrival, 99th percentile"),
    Column::wide(
        2,
        "local_p50_ms",
        "own p50",
        "time that it spent itself, median",
    ),
    Column::wide(
        7,
        "local_p95_ms",
        "own p95",
        "time that it spent itself, 95th percentile",
    ),
    Column::wide(
        1,
        "local_p99_ms",
        "own p99",
        "time that it spent itself, 99th percentile",
    ),
    Column::wide(
        4,
        "elapsed_p50_ms",
        "all p50",
        "from arrival to answer, median",
    ),
    Column::wide(
        9,
        "elapsed_p95_ms",
        "all p95",
        "from arrival to answer, 95th percentile",
    ),
    Column::wide(
        5,
        "elapsed_p99_ms",
        "all p99",
        "from arrival to answer, 99th percentile",
    ),
    Column::wide(1, "not_ok", "not ok", "runs with another verdict than ok"),
    Column::machine("exceeded_here", "runs with this verdict"),
    Column::machine("expired_on_arrival", "runs with this verdict"),
    Column::machine("expired_before_send", "runs with this verdict"),
    Column::machine("timed_out_early", "runs with this verdict"),
    Column::machine("exceeded_downstream", "runs with this verdict"),
    Column::machine("finished_late", "runs with this verdict"),
    Column::machine("cancelled_by_caller", "runs with this verdict"),
    Column::machine("failed", "runs with this verdict"),
    Column::machine("ok", "runs with this verdict"),
    Column::shown(
        "culprit",
        "culprit",
        "requests of which it took the most of the budget",
    ),
    Column::shown("culprit_ms", "took", "what it took of them"),
    Column::shown("wasted_ms", "wasted", "run time for nobody, of all runs"),
];

/// Hops, added up.
#[derive(Debug, Default)]
pub struct Hops {
    seen: u64,
    groups: BTreeMap<(Text, Text), Group>,
}

#[derive(Debug, Default)]
struct Group {
    requests: Distinct,
    runs: u64,
    propagated: u64,
    remaining: Samples,
    local: Samples,
    elapsed: Samples,
    verdicts: Verdicts,
    culprit: u64,
    taken: Total,
    wasted: Total,
}

impl Aggregate for Hops {
    fn add(&mut self, request: &Request) {
        self.seen += 1;
        for hop in &request.hops {
            let key = (hop.service.clone(), hop.operation.clone());
            self.groups.entry(key).or_default().add(hop, self.seen);
        }
        if let Some(culprit) = &request.culprit {
            let key = (culprit.service.clone(), culprit.operation.clone());
            let group = self.groups.entry(key).or_default();
            group.culprit += 1;
            group.taken.add(culprit.consumed);
        }
    }

    fn merge(&mut self, other: Self) {
        for (key, group) in other.groups {
            self.groups.entry(key).or_default().merge(group);
        }
    }

    /// The most wasted first, then the most taken, then the slowest.
    fn sheet(self) -> Sheet {
        let mut rows: Vec<_> = self
            .groups
            .into_iter()
            .map(|((service, operation), group)| group.row(service, operation))
            .collect();
        // They come by name; equal ones keep that order.
        rows.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        Sheet {
            columns: COLUMNS,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
        }
    }
}

impl Group {
    fn add(&mut self, hop: &Hop, request: u64) {
        self.requests.in_request(request);
        self.runs += 1;
        self.propagated += u64::from(hop.remaining_in_source.how.is_propagated());
        if let Some(remaining) = hop.remaining_in {
            self.remaining.push(remaining);
        }
        self.local.push(hop.local);
        self.elapsed.push(hop.elapsed);
        self.verdicts.add(hop.verdict);
        self.wasted.add(hop.wasted);
    }

    fn merge(&mut self, other: Self) {
        self.requests.merge(other.requests);
        self.runs += other.runs;
        self.propagated += other.propagated;
        self.remaining.merge(other.remaining);
        self.local.merge(other.local);
        self.elapsed.merge(other.elapsed);
        self.verdicts.merge(&other.verdicts);
        self.culprit += other.culprit;
        self.taken.merge(other.taken);
        self.wasted.merge(other.wasted);
    }

    fn row(self, service: Text, operation: Text) -> ((i64, i64, i64), Vec<Cell>) {
        let (wasted, taken) = (self.wasted.time(), self.taken.time());
        let budgets = self.remaining.len() as u64;
        let remaining = self.remaining.sorted();
        let local = self.local.sorted();
        let elapsed = self.elapsed.sorted();
        let slowest = local.percentile(99).map_or(0, |time| time.0);
        let mut row = vec![
            Cell::Text(service),
            Cell::Text(operation),
            Cell::Count(self.requests.count()),
            Cell::Count(self.runs),
            Cell::share(self.propagated, self.runs),
            Cell::Count(budgets),
        ];
        row.extend([5, 50, 95, 99].map(|percent| Cell::from(remaining.percentile(percent))));
        row.extend([50, 95, 99].map(|percent| Cell::from(local.percentile(percent))));
        row.extend([50, 95, 99].map(|percent| Cell::from(elapsed.percentile(percent))));
        row.push(Cell::Count(self.runs - self.verdicts.of(&[Verdict::Ok])));
        row.extend(self.verdicts.cells());
        row.extend([
            Cell::Count(self.culprit),
            Cell::Time(taken),
            Cell::Time(wasted),
        ]);
        ((wasted.0, taken.0, slowest), row)
    }
}
