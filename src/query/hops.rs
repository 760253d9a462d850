//! Hops over many requests: a row for each service and operation (semantics, section 8).

use polars::prelude::{DataFrame, col, lit};

use super::aggregate::{Aggregate, Distinct, OverStore, Total, Verdicts, merged};
use super::error::QueryError;
use super::groups::{self, Groups};
use super::rows::{Cells, there};
use super::samples::Samples;
use super::scan::{Selection, collect};
use super::sheet::{Cell, Column, Sheet};
use super::sums::sums;
use crate::model::{Hop, How, Nanos, Outcome, Request, Text, Verdict};
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
    Column::machine(
        "queue_p50_ms",
        "wait before work where that is known, median",
    ),
    Column::machine("queue_p95_ms", "the same, 95th percentile"),
    Column::machine("queue_p99_ms", "the same, 99th percentile"),
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
        "missed requests of which it took the most of the budget",
    ),
    Column::shown("culprit_ms", "took", "what it took of them"),
    Column::shown("wasted_ms", "wasted", "run time for nobody, of all runs"),
];

/// Hops, added up.
#[derive(Debug, Default)]
pub struct Hops {
    seen: u64,
    groups: Groups<2, Group>,
    /// The number of the last one, of those that are read from the store.
    last: Option<i64>,
}

#[derive(Debug, Default)]
struct Group {
    requests: Distinct,
    runs: u64,
    propagated: u64,
    remaining: Samples,
    local: Samples,
    elapsed: Samples,
    queue: Samples,
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
    queue: Option<Nanos>,
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
            queue: hop.queue,
            verdict: hop.verdict,
            wasted: hop.wasted,
        }
    }
}

impl Aggregate for Hops {
    fn add(&mut self, request: &Request) {
        self.seen += 1;
        let seen = self.seen;
        for hop in &request.hops {
            let names = [hop.service.as_str(), hop.operation.as_str()];
            let run = Run::of(hop);
            self.groups.with(names, |group| group.add(&run, seen));
        }
        if let Some(culprit) = &request.culprit
            && request.outcome == Outcome::Missed
        {
            let names = [culprit.service.as_str(), culprit.operation.as_str()];
            self.groups
                .with(names, |group| group.blame(culprit.consumed));
        }
    }

    fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.groups.merge(other.groups);
    }

    /// The most wasted first, then the most taken, then the slowest.
    fn sheet(self) -> Sheet {
        Sheet {
            columns: COLUMNS,
            rows: self.groups.rows(|names, group| group.row(names)),
        }
    }
}

impl groups::Group for Group {
    fn merge(&mut self, other: Self) {
        self.requests.merge(other.requests);
        self.runs += other.runs;
        self.propagated += other.propagated;
        self.remaining.merge(other.remaining);
        self.local.merge(other.local);
        self.elapsed.merge(other.elapsed);
        self.queue.merge(other.queue);
        self.verdicts.merge(&other.verdicts);
        self.culprit += other.culprit;
        self.taken.merge(other.taken);
        self.wasted.merge(other.wasted);
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
        if let Some(queue) = run.queue {
            self.queue.push(queue);
        }
        self.verdicts.add(run.verdict);
        self.wasted.add(run.wasted);
    }

    fn blame(&mut self, consumed: Nanos) {
        self.culprit += 1;
        self.taken.add(consumed);
    }

    fn row(self, [service, operation]: [Text; 2]) -> ((i64, i64, i64), Vec<Cell>) {
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
        row.extend(self.queue.percentiles([50, 95, 99]).map(Cell::from));
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
            "queue_ms",
            "verdict",
            "wasted_ms",
        ];
        let blamed = [
            "culprit_service",
            "culprit_operation",
            "culprit_consumed_ms",
        ];
        let sums = sums(snapshot, selection, |sum: &mut Self, portion| {
            portion.each(Table::Hops, &columns, |rows| {
                portion.keeps(rows.height())?;
                sum.read(rows)
            })?;
            let rows = portion.requests()?;
            let missed = col("outcome").eq(lit(Outcome::Missed.as_str()));
            let rows = rows.filter(missed.and(col("culprit_service").is_not_null()));
            sum.read_blamed(&collect(rows.select(blamed.map(col)))?)
        })?;
        Ok(merged(sums))
    }
}

impl Hops {
    fn read(&mut self, rows: &DataFrame) -> Result<(), QueryError> {
        let cells = Cells(rows);
        let texts = |column| cells.texts(column);
        let (service, operation) = (texts("service")?, texts("operation")?);
        let mut how = cells.words("remaining_in_source_how", &How::ALL, How::as_str)?;
        let mut verdict = cells.words("verdict", &Verdict::ALL, Verdict::as_str)?;
        let times = |column| cells.times(column);
        let (remaining, local) = (times("remaining_in_ms")?, times("local_ms")?);
        let (elapsed, wasted) = (times("elapsed_ms")?, times("wasted_ms")?);
        let queue = times("queue_ms")?;
        let names = service.iter().zip(operation.iter());
        let left = remaining.iter().zip(queue.iter());
        let times = (left.zip(local.iter())).zip(elapsed.iter().zip(wasted.iter()));
        for ((id, names), (((remaining, queue), local), (elapsed, wasted))) in
            cells.wholes("id")?.iter().zip(names).zip(times)
        {
            let run = Run {
                how: how.next()?,
                remaining: remaining.map(nanos),
                local: nanos(there("local_ms", local)?),
                elapsed: nanos(there("elapsed_ms", elapsed)?),
                queue: queue.map(nanos),
                verdict: verdict.next()?,
                wasted: nanos(there("wasted_ms", wasted)?),
            };
            self.follow(there("id", id)?)?;
            let seen = self.seen;
            let names = [there("service", names.0)?, there("operation", names.1)?];
            self.groups.with(names, |group| group.add(&run, seen));
        }
        Ok(())
    }

    fn read_blamed(&mut self, rows: &DataFrame) -> Result<(), QueryError> {
        let cells = Cells(rows);
        for row in 0..rows.height() {
            let row = cells.row(row);
            let service = there("culprit_service", row.text("culprit_service")?)?;
            let operation = there("culprit_operation", row.text("culprit_operation")?)?;
            let consumed = there("culprit_consumed_ms", row.time("culprit_consumed_ms")?)?;
            self.groups
                .with([service, operation], |group| group.blame(consumed));
        }
        Ok(())
    }

    /// The hops of a request stand together, in order and numbered from 0: its first begins it.
    fn follow(&mut self, id: i64) -> Result<(), QueryError> {
        if id == 0 {
            self.seen += 1;
        } else if self.last != Some(id - 1) {
            let what = "the hops of a request do not stand together";
            return Err(QueryError::Engine(what.to_owned()));
        }
        self.last = Some(id);
        Ok(())
    }
}
