//! Reads the rows of a part that a summary is made from.

use polars::prelude::{
    BooleanChunked, DataFrame, Expr, Float64Chunked, Int64Chunked, LazyFrame, StringChunked, col,
    lit,
};

use super::Rollup;
use super::build::{
    Builder, CallRow, CulpritRow, FindingRow, HopRow, LedgerRow, RequestRow, Rows, transit,
};
use crate::model::{
    CallKind, How, Nanos, Outcome, Part as LedgerPart, Rule, TraceId, UnixNanos, Verdict,
};
use crate::store::error::StoreError;
use crate::store::parts::{Part, collect, without};
use crate::store::tables::{Table, nanos};

/// Hops that are read at once.
const AT_ONCE: u64 = 1 << 20;

const REQUESTS: &[&str] = &[
    "trace_id",
    "request",
    "start",
    "elapsed_ms",
    "budget_ms",
    "outcome",
    "wasted_ms",
    "surfaced_service",
    "surfaced_operation",
    "surfaced_verdict",
    "culprit_service",
    "culprit_operation",
    "culprit_part",
    "culprit_to",
    "culprit_consumed_ms",
];
const HOPS: &[&str] = &[
    "trace_id",
    "request",
    "parent",
    "service",
    "operation",
    "elapsed_ms",
    "remaining_in_ms",
    "remaining_in_source_how",
    "deadline_ms",
    "own_deadline_ms",
    "local_ms",
    "queue_ms",
    "verdict",
    "wasted_ms",
];
const CALLS: &[&str] = &[
    "trace_id",
    "request",
    "hop",
    "to",
    "operation",
    "kind",
    "to_hop",
    "attempt",
    "start_ms",
    "elapsed_ms",
    "remaining_out_ms",
    "timeout_ms",
    "transit_out_ms",
    "transit_back_ms",
    "waited",
    "verdict",
];
const LEDGER: &[&str] = &[
    "trace_id",
    "request",
    "service",
    "operation",
    "part",
    "to",
    "ms",
    "after_deadline_ms",
];
const FINDINGS: &[&str] = &[
    "trace_id",
    "request",
    "rule",
    "service",
    "to",
    "count",
    "weight_ms",
    "message",
    "hint",
];

/// Which rows of a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    /// All, the superseded ones included.
    All,
    /// Those of these traces, which are in order.
    Only(&'a [TraceId]),
    /// Those of all other traces.
    Without(&'a [TraceId]),
}

/// The summary of some rows of a part.
pub(super) fn summary(part: &Part, which: Which<'_>) -> Result<Rollup, StoreError> {
    let mut builder = Builder::default();
    let scan = |table| -> Result<Option<LazyFrame>, StoreError> {
        let Some(rows) = part.scan(table)? else {
            return Ok(None);
        };
        Ok(Some(match which {
            Which::All | Which::Only(_) => rows,
            Which::Without(ids) => without(rows, ids.iter().copied())?,
        }))
    };
    if let Which::Only(ids) = which {
        add(&mut builder, &|table, columns| {
            let rows = part.rows_of(table, ids, Some(columns))?;
            Ok(rows.unwrap_or_default())
        })?;
        return Ok(builder.finish());
    }
    // Ids are spread evenly; each piece has whole traces.
    let pieces = part.meta.rows(Table::Hops).div_ceil(AT_ONCE).clamp(1, 256);
    let bound = |piece: u64| format!("{:02x}", (piece * 256).div_ceil(pieces));
    for piece in 0..pieces {
        add(&mut builder, &|table, columns| {
            let id = || col("trace_id");
            let from = id().gt_eq(lit(bound(piece)));
            let Some(rows) = scan(table)? else {
                return Ok(DataFrame::default());
            };
            let rows = match piece + 1 {
                _ if pieces == 1 => rows,
                next if next == pieces => rows.filter(from),
                next => rows.filter(from.and(id().lt(lit(bound(next))))),
            };
            let columns: Vec<Expr> = columns.iter().map(|column| col(*column)).collect();
            collect(rows.select(columns))
        })?;
    }
    Ok(builder.finish())
}

/// Reads columns of a table.
type Scan<'a> = &'a dyn Fn(Table, &[&str]) -> Result<DataFrame, StoreError>;

fn add(builder: &mut Builder, scan: Scan<'_>) -> Result<(), StoreError> {
    let read = |table, columns: &[&str]| -> Result<DataFrame, StoreError> {
        let mut frame = scan(table, columns)?;
        frame.rechunk_mut();
        Ok(frame)
    };
    let requests = read(Table::Requests, REQUESTS)?;
    if requests.height() == 0 {
        return Ok(());
    }
    let hops = read(Table::Hops, HOPS)?;
    let calls = read(Table::Calls, CALLS)?;
    let ledger = read(Table::Ledger, LEDGER)?;
    let findings = read(Table::Findings, FINDINGS)?;
    let requests = Requests::of(&requests)?;
    let (hops, calls) = (Hops::of(&hops)?, Calls::of(&calls)?);
    let (ledger, findings) = (Ledger::of(&ledger)?, Findings::of(&findings)?);
    let tables = [hops.ids, calls.ids, ledger.ids, findings.ids];
    let mut ranges = [(0, 0); 4];
    for at in 0..requests.ids.len() {
        let this = (requests.ids.id(at), requests.ids.request(at));
        for (range, ids) in ranges.iter_mut().zip(tables) {
            let first = range.1;
            let mut end = first;
            while end < ids.len() && (ids.id(end), ids.request(end)) == this {
                end += 1;
            }
            *range = (first, end);
        }
        // What is no word of this version is left out, as by every query.
        if let Some(row) = requests.read(at) {
            builder.add(&Read {
                row,
                hops: &hops,
                calls: &calls,
                ledger: &ledger,
                findings: &findings,
                ranges,
            });
        }
    }
    if ranges.map(|(_, end)| end) != tables.map(|ids| ids.len()) {
        let what = "the rows of a part's requests do not stand in one order";
        return Err(StoreError::Engine(what.to_owned()));
    }
    Ok(())
}

/// The two columns that tell whose a row is.
#[derive(Debug, Clone, Copy)]
struct Ids<'a>(Option<(&'a StringChunked, &'a StringChunked)>);

impl<'a> Ids<'a> {
    fn len(&self) -> usize {
        self.0.map_or(0, |(ids, _)| ids.len())
    }

    fn id(&self, row: usize) -> Option<&'a str> {
        self.0?.0.get(row)
    }

    fn request(&self, row: usize) -> Option<&'a str> {
        self.0?.1.get(row)
    }
}

/// The columns of one table of which rows are read.
macro_rules! columns {
    ($(
        $table:ident { $( $column:ident: $kind:ident = $name:literal; )+ }
    )+) => {$(
        #[derive(Debug)]
        struct $table<'a> {
            ids: Ids<'a>,
            $( $column: Option<&'a $kind>, )+
        }

        impl<'a> $table<'a> {
            fn of(frame: &'a DataFrame) -> Result<Self, StoreError> {
                if frame.height() == 0 {
                    return Ok(Self { ids: Ids(None), $( $column: None, )+ });
                }
                let ids = (frame.column("trace_id")?.str()?, frame.column("request")?.str()?);
                Ok(Self {
                    ids: Ids(Some(ids)),
                    $( $column: Some($kind::of(frame, $name)?), )+
                })
            }
        }
    )+};
}

trait Typed: Sized {
    fn of<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a Self, StoreError>;
}

impl Typed for StringChunked {
    fn of<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a Self, StoreError> {
        Ok(frame.column(name)?.str()?)
    }
}

impl Typed for Float64Chunked {
    fn of<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a Self, StoreError> {
        Ok(frame.column(name)?.f64()?)
    }
}

impl Typed for Int64Chunked {
    fn of<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a Self, StoreError> {
        let column = frame.column(name)?;
        match column.datetime() {
            Ok(instants) => Ok(instants.physical()),
            Err(_) => Ok(column.i64()?),
        }
    }
}

impl Typed for BooleanChunked {
    fn of<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a Self, StoreError> {
        Ok(frame.column(name)?.bool()?)
    }
}

columns! {
    Requests {
        start: Int64Chunked = "start";
        elapsed: Float64Chunked = "elapsed_ms";
        budget: Float64Chunked = "budget_ms";
        outcome: StringChunked = "outcome";
        wasted: Float64Chunked = "wasted_ms";
        surfaced_service: StringChunked = "surfaced_service";
        surfaced_operation: StringChunked = "surfaced_operation";
        surfaced_verdict: StringChunked = "surfaced_verdict";
        culprit_service: StringChunked = "culprit_service";
        culprit_operation: StringChunked = "culprit_operation";
        culprit_part: StringChunked = "culprit_part";
        culprit_to: StringChunked = "culprit_to";
        consumed: Float64Chunked = "culprit_consumed_ms";
    }
    Hops {
        parent: Int64Chunked = "parent";
        service: StringChunked = "service";
        operation: StringChunked = "operation";
        elapsed: Float64Chunked = "elapsed_ms";
        remaining: Float64Chunked = "remaining_in_ms";
        how: StringChunked = "remaining_in_source_how";
        deadline: Float64Chunked = "deadline_ms";
        own_deadline: Float64Chunked = "own_deadline_ms";
        local: Float64Chunked = "local_ms";
        queue: Float64Chunked = "queue_ms";
        verdict: StringChunked = "verdict";
        wasted: Float64Chunked = "wasted_ms";
    }
    Calls {
        hop: Int64Chunked = "hop";
        to: StringChunked = "to";
        operation: StringChunked = "operation";
        kind: StringChunked = "kind";
        to_hop: Int64Chunked = "to_hop";
        attempt: Int64Chunked = "attempt";
        start: Float64Chunked = "start_ms";
        elapsed: Float64Chunked = "elapsed_ms";
        sent: Float64Chunked = "remaining_out_ms";
        timeout: Float64Chunked = "timeout_ms";
        out: Float64Chunked = "transit_out_ms";
        back: Float64Chunked = "transit_back_ms";
        waited: BooleanChunked = "waited";
        verdict: StringChunked = "verdict";
    }
    Ledger {
        service: StringChunked = "service";
        operation: StringChunked = "operation";
        part: StringChunked = "part";
        to: StringChunked = "to";
        time: Float64Chunked = "ms";
        after_deadline: Float64Chunked = "after_deadline_ms";
    }
    Findings {
        rule: StringChunked = "rule";
        service: StringChunked = "service";
        to: StringChunked = "to";
        count: Int64Chunked = "count";
        weight: Float64Chunked = "weight_ms";
        message: StringChunked = "message";
        hint: StringChunked = "hint";
    }
}

/// The rows of one request among those that were read.
#[derive(Debug)]
struct Read<'a> {
    row: RequestRow<'a>,
    hops: &'a Hops<'a>,
    calls: &'a Calls<'a>,
    ledger: &'a Ledger<'a>,
    findings: &'a Findings<'a>,
    /// Its hops, calls, rows of the ledger and findings: the first row and the one after the last.
    ranges: [(usize, usize); 4],
}

fn text(column: Option<&StringChunked>, row: usize) -> Option<&str> {
    column?.get(row)
}

fn time(column: Option<&Float64Chunked>, row: usize) -> Option<Nanos> {
    column?.get(row).map(nanos)
}

fn whole(column: Option<&Int64Chunked>, row: usize) -> Option<usize> {
    usize::try_from(column?.get(row)?).ok()
}

/// One of the words of a kind.
fn word<T: Copy>(
    column: Option<&StringChunked>,
    row: usize,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Option<T> {
    let text = text(column, row)?;
    all.iter().copied().find(|one| word(*one) == text)
}

impl<'a> Requests<'a> {
    fn read(&self, at: usize) -> Option<RequestRow<'a>> {
        let rows = self;
        let surfaced = || {
            let verdict = word(rows.surfaced_verdict, at, &Verdict::ALL, Verdict::as_str)?;
            let service = text(rows.surfaced_service, at)?;
            Some((service, text(rows.surfaced_operation, at)?, verdict))
        };
        let culprit = || {
            let part = LedgerPart::ALL;
            Some(CulpritRow {
                service: text(rows.culprit_service, at)?,
                operation: text(rows.culprit_operation, at)?,
                part: word(rows.culprit_part, at, &part, LedgerPart::as_str)?,
                to: text(rows.culprit_to, at),
                consumed: time(rows.consumed, at)?,
            })
        };
        Some(RequestRow {
            trace_id: rows.ids.id(at)?.parse().ok()?,
            request: rows.ids.request(at)?.parse().ok()?,
            start: UnixNanos(u64::try_from(rows.start?.get(at)?).ok()?),
            elapsed: time(rows.elapsed, at)?,
            budget: time(rows.budget, at),
            outcome: word(rows.outcome, at, &Outcome::ALL, Outcome::as_str)?,
            wasted: time(rows.wasted, at)?,
            surfaced: surfaced(),
            culprit: culprit(),
        })
    }
}

impl<'a> Ledger<'a> {
    fn read(&self, row: usize) -> Option<LedgerRow<'a>> {
        Some(LedgerRow {
            service: text(self.service, row)?,
            operation: text(self.operation, row)?,
            part: word(self.part, row, &LedgerPart::ALL, LedgerPart::as_str)?,
            to: text(self.to, row),
            time: time(self.time, row)?,
            after_deadline: time(self.after_deadline, row)?,
        })
    }
}

impl<'a> Read<'a> {
    fn finding(&self, row: usize) -> Option<FindingRow<'a>> {
        let rows = self.findings;
        Some(FindingRow {
            rule: word(rows.rule, row, Rule::ALL, Rule::as_str)?,
            service: text(rows.service, row)?,
            to: text(rows.to, row),
            count: whole(rows.count, row).unwrap_or(0).max(1) as u64,
            weight: time(rows.weight, row)?,
            message: text(rows.message, row)?,
            hint: text(rows.hint, row)?,
        })
    }

    fn call(&self, row: usize) -> Option<CallRow<'a>> {
        let rows = self.calls;
        Some(CallRow {
            hop: whole(rows.hop, row)?,
            to: text(rows.to, row)?,
            operation: text(rows.operation, row)?,
            kind: word(rows.kind, row, &CallKind::ALL, CallKind::as_str)?,
            to_hop: whole(rows.to_hop, row),
            attempt: whole(rows.attempt, row)? as u32,
            start: time(rows.start, row)?,
            elapsed: time(rows.elapsed, row)?,
            sent: time(rows.sent, row),
            timeout: time(rows.timeout, row),
            transit: transit(time(rows.out, row), time(rows.back, row)),
            waited: rows.waited?.get(row)?,
            verdict: word(rows.verdict, row, &Verdict::ALL, Verdict::as_str)?,
        })
    }
}

impl Rows for Read<'_> {
    fn request(&self) -> RequestRow<'_> {
        self.row
    }

    fn hops(&self) -> usize {
        self.ranges[0].1 - self.ranges[0].0
    }

    fn hop(&self, id: usize) -> Option<HopRow<'_>> {
        let (first, end) = self.ranges[0];
        let row = first.checked_add(id).filter(|row| *row < end)?;
        let rows = self.hops;
        Some(HopRow {
            root: whole(rows.parent, row).is_none(),
            service: text(rows.service, row)?,
            operation: text(rows.operation, row)?,
            elapsed: time(rows.elapsed, row)?,
            remaining: time(rows.remaining, row),
            how: word(rows.how, row, &How::ALL, How::as_str)?,
            deadline: time(rows.deadline, row),
            own_deadline: time(rows.own_deadline, row),
            local: time(rows.local, row)?,
            queue: time(rows.queue, row),
            verdict: word(rows.verdict, row, &Verdict::ALL, Verdict::as_str)?,
            wasted: time(rows.wasted, row)?,
        })
    }

    fn calls(&self, take: impl FnMut(CallRow<'_>)) {
        let (first, end) = self.ranges[1];
        (first..end).filter_map(|row| self.call(row)).for_each(take);
    }

    fn ledger(&self, take: impl FnMut(LedgerRow<'_>)) {
        let (first, end) = self.ranges[2];
        let rows = (first..end).filter_map(|row| self.ledger.read(row));
        rows.for_each(take);
    }

    fn findings(&self, take: impl FnMut(FindingRow<'_>)) {
        let (first, end) = self.ranges[3];
        (first..end)
            .filter_map(|row| self.finding(row))
            .for_each(take);
    }
}
