//! Hops over many requests: a row for each service and operation (semantics, section 8).

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, col};

use super::aggregate::{Aggregate, Distinct, OverStore, Total, Verdicts};
use super::error::QueryError;
use super::names::Names;
use super::rows::{Cells, there, word};
use super::samples::Samples;
use super::scan::{Selection, Within, fold, within_bounds};
use super::sheet::{Cell, Column, Sheet};
use crate::model::{Hop, How, Nanos, Request, Text, Verdict};
use crate::store::Snapshot;
use crate::store::tables::{Table, nanos};

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

/// What is added up of a hop.
struct Run {
    how: How,
    remaining: Option<Nanos>,
    local: Nanos,
    elapsed: Nanos,
    verdict: Verdict,
    wasted: Nanos,
}

impl Run {
    fn of(hop: &Hop) -> Self {
        Self {
            how: hop.remaining_in_source.how,
            remaining: hop.remaining_in,
            local: hop.local,
            elapsed: hop.elapsed,
            verdict: hop.verdict,
            wasted: hop.wasted,
        }
    }
}

impl Aggregate for Hops {
    fn add(&mut self, request: &Request) {
        self.seen += 1;
        for hop in &request.hops {
            let key = (hop.service.clone(), hop.operation.clone());
            self.groups
                .entry(key)
                .or_default()
                .add(&Run::of(hop), self.seen);
        }
        if let Some(culprit) = &request.culprit {
            let key = (culprit.service.clone(), culprit.operation.clone());
            self.groups.entry(key).or_default().blame(culprit.consumed);
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
    fn add(&mut self, run: &Run, request: u64) {
        self.requests.in_request(request);
        self.runs += 1;
        self.propagated += u64::from(run.how.is_propagated());
        if let Some(remaining) = run.remaining {
            self.remaining.push(remaining);
        }
        self.local.push(run.local);
        self.elapsed.push(run.elapsed);
        self.verdicts.add(run.verdict);
        self.wasted.add(run.wasted);
    }

    fn blame(&mut self, consumed: Nanos) {
        self.culprit += 1;
        self.taken.add(consumed);
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
        let local = self.local.percentiles([50, 95, 99]);
        let [.., slowest] = local;
        let slowest = slowest.map_or(0, |time| time.0);
        let mut row = vec![
            Cell::Text(service),
            Cell::Text(operation),
            Cell::Count(self.requests.count()),
            Cell::Count(self.runs),
            Cell::share(self.propagated, self.runs),
            Cell::Count(budgets),
        ];
        row.extend(self.remaining.percentiles([5, 50, 95, 99]).map(Cell::from));
        row.extend(local.map(Cell::from));
        row.extend(self.elapsed.percentiles([50, 95, 99]).map(Cell::from));
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

/// Hops of the store, being added up.
#[derive(Default)]
struct Sum {
    names: Names<2>,
    groups: Vec<Group>,
    requests: u64,
    last: Option<i64>,
    rows: usize,
}

impl OverStore for Hops {
    fn over(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError> {
        let columns = [
            "id",
            "service",
            "operation",
            "remaining_in_source_how",
            "remaining_in_ms",
            "local_ms",
            "elapsed_ms",
            "verdict",
            "wasted_ms",
        ];
        let rows = selection
            .rows(snapshot, Table::Hops)?
            .select(columns.map(col));
        let sum = fold(rows, true, Sum::default(), Sum::add)?;
        let columns = [
            "culprit_service",
            "culprit_operation",
            "culprit_consumed_ms",
        ];
        let blamed = selection.requests(snapshot, &Within::default())?;
        let blamed = blamed
            .filter(col("culprit_service").is_not_null())
            .select(columns.map(col));
        let sum = fold(blamed, false, sum, Sum::blame)?;
        let names = sum.names.into_list().into_iter();
        Ok(Self {
            seen: sum.requests,
            groups: names
                .map(|[service, operation]| (service, operation))
                .zip(sum.groups)
                .collect(),
        })
    }
}

impl Sum {
    fn add(&mut self, batch: &DataFrame) -> Result<(), QueryError> {
        self.rows = within_bounds(self.rows + batch.height())?;
        let cells = Cells(batch);
        let (service, operation) = (cells.texts("service")?, cells.texts("operation")?);
        let (how, verdict) = (
            cells.texts("remaining_in_source_how")?,
            cells.texts("verdict")?,
        );
        let times = ["remaining_in_ms", "local_ms", "elapsed_ms", "wasted_ms"];
        let [remaining, local, elapsed, wasted] = times.map(|column| cells.times(column));
        let mut words = cells.wholes("id")?.iter().zip(
            service
                .iter()
                .zip(operation.iter())
                .zip(how.iter().zip(verdict.iter())),
        );
        let mut times =
            (remaining?.iter().zip(local?.iter())).zip(elapsed?.iter().zip(wasted?.iter()));
        while let (Some((id, (names, (how, verdict)))), Some(((remaining, local), rest))) =
            (words.next(), times.next())
        {
            let run = Run {
                how: word("remaining_in_source_how", how, &How::ALL, How::as_str)?,
                remaining: remaining.map(nanos),
                local: nanos(there("local_ms", local)?),
                elapsed: nanos(there("elapsed_ms", rest.0)?),
                verdict: word("verdict", verdict, &Verdict::ALL, Verdict::as_str)?,
                wasted: nanos(there("wasted_ms", rest.1)?),
            };
            self.next(there("id", id)?)?;
            let service = there("service", names.0)?;
            let requests = self.requests;
            let names = [service, there("operation", names.1)?];
            self.with_group(names, |group| group.add(&run, requests));
        }
        Ok(())
    }

    fn blame(&mut self, batch: &DataFrame) -> Result<(), QueryError> {
        let cells = Cells(batch);
        for row in 0..batch.height() {
            let row = cells.row(row);
            let service = there("culprit_service", row.text("culprit_service")?)?;
            let operation = there("culprit_operation", row.text("culprit_operation")?)?;
            let consumed = there("culprit_consumed_ms", row.time("culprit_consumed_ms")?)?;
            self.with_group([service, operation], |group| group.blame(consumed));
        }
        Ok(())
    }

    /// The hops of a request stand together, in order and numbered from 0: its first begins it.
    fn next(&mut self, id: i64) -> Result<(), QueryError> {
        if id == 0 {
            self.requests += 1;
        } else if self.last != Some(id - 1) {
            let what = "the hops of a request do not stand together";
            return Err(QueryError::Engine(what.to_owned()));
        }
        self.last = Some(id);
        Ok(())
    }

    fn with_group(&mut self, names: [&str; 2], work: impl FnOnce(&mut Group)) {
        let number = self.names.number(names);
        if number >= self.groups.len() {
            self.groups.resize_with(number + 1, Group::default);
        }
        if let Some(group) = self.groups.get_mut(number) {
            work(group);
        }
    }
}
