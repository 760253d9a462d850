//! Calls over many requests: a row for each edge (semantics, section 8).

use polars::prelude::DataFrame;

use super::aggregate::{Aggregate, Distinct, OverStore, Total, Verdicts, merged};
use super::error::QueryError;
use super::groups::{self, Groups};
use super::rows::{Cells, there};
use super::samples::Samples;
use super::scan::Selection;
use super::sheet::{Cell, Column, Sheet};
use super::sums::sums;
use crate::model::{Call, CallKind, Nanos, Request, Text, Verdict};
use crate::store::Snapshot;
use crate::store::tables::{Table, nanos};

/// Verdicts of a call that a deadline or a timeout ended.
const TIMED_OUT: [Verdict; 5] = [
    Verdict::ExceededHere,
    Verdict::ExceededDownstream,
    Verdict::TimedOutEarly,
    Verdict::ExpiredOnArrival,
    Verdict::ExpiredBeforeSend,
];

/// What is known of each edge.
pub const COLUMNS: &[Column] = &[
    Column::shown("service", "service", "the caller"),
    Column::shown(
        "to",
        "to",
        "the callee: a service, or the name of a dependency",
    ),
    Column::shown("operation", "operation", "what was asked of it"),
    Column::wide(9, "requests", "reqs", "requests in which it was called"),
    Column::shown("calls", "calls", "calls, each attempt for itself"),
    Column::wide(
        5,
        "retries_per_call",
        "retries",
        "attempts after the first, per call",
    ),
    Column::machine(
        "sent",
        "calls of which the budget that was passed on is known",
    ),
    Column::wide(
        6,
        "sent_share",
        "told",
        "share of calls to which a budget was passed on",
    ),
    Column::wide(4, "sent_p50_ms", "sent p50", "budget passed on, median"),
    Column::machine("sent_p95_ms", "budget passed on, 95th percentile"),
    Column::machine("sent_p99_ms", "budget passed on, 99th percentile"),
    Column::wide(
        7,
        "timeout_p50_ms",
        "timeout",
        "the timeout that the caller chose, median",
    ),
    Column::machine(
        "timeout_p95_ms",
        "the timeout that the caller chose, 95th percentile",
    ),
    Column::machine(
        "timeout_p99_ms",
        "the timeout that the caller chose, 99th percentile",
    ),
    Column::wide(
        2,
        "elapsed_p50_ms",
        "p50",
        "how long the caller was in it, median",
    ),
    Column::wide(
        8,
        "elapsed_p95_ms",
        "p95",
        "how long the caller was in it, 95th percentile",
    ),
    Column::wide(
        1,
        "elapsed_p99_ms",
        "p99",
        "how long the caller was in it, 99th percentile",
    ),
    Column::wide(
        3,
        "transit_p50_ms",
        "net p50",
        "transit both ways, as far as known, median",
    ),
    Column::machine("transit_p95_ms", "transit both ways, 95th percentile"),
    Column::wide(
        3,
        "transit_p99_ms",
        "net p99",
        "transit both ways, 99th percentile",
    ),
    Column::shown(
        "timed_out",
        "timed out",
        "calls that a deadline or a timeout ended",
    ),
    Column::wide(
        6,
        "unreported",
        "unreported",
        "calls whose far side should have left spans and did not",
    ),
    Column::wide(2, "not_ok", "not ok", "calls with another verdict than ok"),
    Column::machine("exceeded_here", "calls with this verdict"),
    Column::machine("expired_on_arrival", "calls with this verdict"),
    Column::machine("expired_before_send", "calls with this verdict"),
    Column::machine("timed_out_early", "calls with this verdict"),
    Column::machine("exceeded_downstream", "calls with this verdict"),
    Column::machine("finished_late", "calls with this verdict"),
    Column::machine("cancelled_by_caller", "calls with this verdict"),
    Column::machine("failed", "calls with this verdict"),
    Column::machine("ok", "calls with this verdict"),
    Column::wide(
        4,
        "total_ms",
        "in all",
        "how long callers were in it, all calls together",
    ),
];

/// Calls, added up.
#[derive(Debug, Default)]
pub struct Calls {
    seen: u64,
    groups: Groups<3, Group>,
    /// Trace and request of the last one, of those that are read from the store.
    last: (String, String),
}

#[derive(Debug, Default)]
struct Group {
    requests: Distinct,
    calls: u64,
    retries: u64,
    unreported: u64,
    sent: Samples,
    timeout: Samples,
    elapsed: Samples,
    transit: Samples,
    verdicts: Verdicts,
    total: Total,
}

/// What is added up of a call.
struct Attempt {
    number: i64,
    unreported: bool,
    sent: Option<Nanos>,
    timeout: Option<Nanos>,
    transit_out: Option<Nanos>,
    transit_back: Option<Nanos>,
    elapsed: Nanos,
    verdict: Verdict,
}

impl Attempt {
    fn of(call: &Call) -> Self {
        Self {
            number: call.attempt.into(),
            unreported: call.kind == CallKind::Unreported,
            sent: call.remaining_out,
            timeout: call.timeout,
            transit_out: call.transit_out,
            transit_back: call.transit_back,
            elapsed: call.elapsed,
            verdict: call.verdict,
        }
    }
}

impl Aggregate for Calls {
    fn add(&mut self, request: &Request) {
        self.seen += 1;
        let seen = self.seen;
        for hop in &request.hops {
            for call in &hop.calls {
                let names = [&hop.service, &call.to, &call.operation].map(Text::as_str);
                let attempt = Attempt::of(call);
                self.groups.with(names, |group| group.add(&attempt, seen));
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.groups.merge(other.groups);
    }

    /// The most timeouts first, then the most time in all.
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
        self.calls += other.calls;
        self.retries += other.retries;
        self.unreported += other.unreported;
        self.sent.merge(other.sent);
        self.timeout.merge(other.timeout);
        self.elapsed.merge(other.elapsed);
        self.transit.merge(other.transit);
        self.verdicts.merge(&other.verdicts);
        self.total.merge(other.total);
    }
}

impl Group {
    fn add(&mut self, call: &Attempt, request: u64) {
        self.requests.in_request(request);
        self.calls += 1;
        self.retries += u64::from(call.number > 1);
        self.unreported += u64::from(call.unreported);
        if let Some(sent) = call.sent {
            self.sent.push(sent);
        }
        if let Some(timeout) = call.timeout {
            self.timeout.push(timeout);
        }
        if call.transit_out.or(call.transit_back).is_some() {
            let known = [call.transit_out, call.transit_back].into_iter().flatten();
            self.transit.push(known.sum::<Nanos>());
        }
        self.elapsed.push(call.elapsed);
        self.total.add(call.elapsed);
        self.verdicts.add(call.verdict);
    }

    fn row(self, [service, to, operation]: [Text; 3]) -> ((u64, i64), Vec<Cell>) {
        let timed_out = self.verdicts.of(&TIMED_OUT);
        let total = self.total.time();
        let sent_count = self.sent.len() as u64;
        let mut row = vec![
            Cell::Text(service),
            Cell::Text(to),
            Cell::Text(operation),
            Cell::Count(self.requests.count()),
            Cell::Count(self.calls),
            Cell::per(self.retries, self.calls - self.retries),
            Cell::Count(sent_count),
            Cell::share(sent_count, self.calls),
        ];
        for samples in [self.sent, self.timeout, self.elapsed, self.transit] {
            row.extend(samples.percentiles([50, 95, 99]).map(Cell::from));
        }
        row.extend([
            Cell::Count(timed_out),
            Cell::Count(self.unreported),
            Cell::Count(self.calls - self.verdicts.of(&[Verdict::Ok])),
        ]);
        row.extend(self.verdicts.cells());
        row.push(Cell::Time(total));
        ((timed_out, total.0), row)
    }
}

impl OverStore for Calls {
    fn over(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError> {
        let columns = [
            "trace_id",
            "request",
            "service",
            "to",
            "operation",
            "kind",
            "attempt",
            "remaining_out_ms",
            "timeout_ms",
            "transit_out_ms",
            "transit_back_ms",
            "elapsed_ms",
            "verdict",
        ];
        let sums = sums(snapshot, selection, |sum: &mut Self, portion| {
            portion.each(Table::Calls, &columns, |rows| {
                portion.keeps(rows.height())?;
                sum.read(rows)
            })
        })?;
        Ok(merged(sums))
    }
}

impl Calls {
    fn read(&mut self, rows: &DataFrame) -> Result<(), QueryError> {
        let cells = Cells(rows);
        let texts = |column| cells.texts(column);
        let (trace, request) = (texts("trace_id")?, texts("request")?);
        let names = [texts("service")?, texts("to")?, texts("operation")?];
        let kind = texts("kind")?;
        let mut verdict = cells.words("verdict", &Verdict::ALL, Verdict::as_str)?;
        let attempt = cells.wholes("attempt")?;
        let times = |column| cells.times(column);
        let (sent, timeout) = (times("remaining_out_ms")?, times("timeout_ms")?);
        let (out, back) = (times("transit_out_ms")?, times("transit_back_ms")?);
        let elapsed = times("elapsed_ms")?;
        for row in 0..rows.height() {
            let of = (
                there("trace_id", trace.get(row))?,
                there("request", request.get(row))?,
            );
            if of != (self.last.0.as_str(), self.last.1.as_str()) {
                // The calls of a request stand together.
                self.last = (of.0.to_owned(), of.1.to_owned());
                self.seen += 1;
            }
            let attempt = Attempt {
                number: there("attempt", attempt.get(row))?,
                unreported: kind.get(row) == Some(CallKind::Unreported.as_str()),
                sent: sent.get(row).map(nanos),
                timeout: timeout.get(row).map(nanos),
                transit_out: out.get(row).map(nanos),
                transit_back: back.get(row).map(nanos),
                elapsed: nanos(there("elapsed_ms", elapsed.get(row))?),
                verdict: verdict.next()?,
            };
            let [service, to, operation] = names.map(|column| column.get(row));
            let names = [
                there("service", service)?,
                there("to", to)?,
                there("operation", operation)?,
            ];
            let seen = self.seen;
            self.groups.with(names, |group| group.add(&attempt, seen));
        }
        Ok(())
    }
}
