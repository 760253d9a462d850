//! Where a request stands in the list.

use polars::prelude::{DataType, LazyFrame, col, lit};

use super::Counts;
use super::keys::instant;
use crate::model::{Outcome, SpanId, TraceId, UnixNanos};
use crate::query::error::QueryError;
use crate::query::rows::{Cells, IDENTITY, there};
use crate::query::scan::{HOUR, collect, hours};
use crate::store::tables::Table;
use crate::store::{Snapshot, Window};

/// Where a request stands among those with its outcome, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub position: usize,
    /// How many there are.
    pub of: usize,
    /// The next newer one.
    pub before: Option<(TraceId, SpanId)>,
    /// The next older one.
    pub after: Option<(TraceId, SpanId)>,
}

/// The place of a request that starts at `start`; `None` if the store does not list it. Opens the
/// request's own hour, and those of its neighbours where they lie in others.
///
/// # Errors
/// The store cannot be read.
pub fn place(
    snapshot: &Snapshot,
    outcome: Outcome,
    start: UnixNanos,
    this: (TraceId, SpanId),
) -> Result<Option<Place>, QueryError> {
    let known = hours(snapshot);
    let hour = UnixNanos(start.0 - start.0 % HOUR);
    let own = Near::of(snapshot, outcome, hour, start)?;
    let same = at(snapshot, outcome, start)?;
    let Some(index) = same.iter().position(|one| *one == this) else {
        return Ok(None);
    };
    let with_any = |hours: &(&UnixNanos, &Counts)| hours.1.of(outcome) > 0;
    let newer = known.range(UnixNanos(hour.0 + 1)..).filter(with_any);
    let newer_hours: usize = newer.clone().map(|(_, counts)| counts.of(outcome)).sum();
    let before = match (index.checked_sub(1), own.newer) {
        (Some(before), _) => same.get(before).copied(),
        (None, Some(newer)) => at(snapshot, outcome, newer)?.pop(),
        (None, None) => {
            let hours = newer.map(|(hour, _)| *hour);
            let newest = nearest(snapshot, outcome, start, hours, |near| near.newer)?;
            newest.and_then(|mut alike| alike.pop())
        }
    };
    let after = match (same.get(index + 1), own.older) {
        (Some(after), _) => Some(*after),
        (None, Some(older)) => at(snapshot, outcome, older)?.first().copied(),
        (None, None) => {
            let hours = known.range(..hour).rev().filter(with_any);
            let hours = hours.map(|(hour, _)| *hour);
            let older = nearest(snapshot, outcome, start, hours, |near| near.older)?;
            older.and_then(|alike| alike.first().copied())
        }
    };
    Ok(Some(Place {
        position: newer_hours + own.count_newer + index + 1,
        of: known.values().map(|counts| counts.of(outcome)).sum(),
        before,
        after,
    }))
}

/// The requests at the nearest start that any of the hours has, the nearest hour first: mostly the
/// first of them has one.
fn nearest(
    snapshot: &Snapshot,
    outcome: Outcome,
    start: UnixNanos,
    hours: impl Iterator<Item = UnixNanos>,
    side: fn(&Near) -> Option<UnixNanos>,
) -> Result<Option<Vec<(TraceId, SpanId)>>, QueryError> {
    for hour in hours {
        if let Some(found) = side(&Near::of(snapshot, outcome, hour, start)?) {
            return at(snapshot, outcome, found).map(Some);
        }
    }
    Ok(None)
}

/// What of an hour lies around an instant.
struct Near {
    /// Requests that start after it.
    count_newer: usize,
    /// The first start after it.
    newer: Option<UnixNanos>,
    /// The last start before it.
    older: Option<UnixNanos>,
}

impl Near {
    fn of(
        snapshot: &Snapshot,
        outcome: Outcome,
        hour: UnixNanos,
        at: UnixNanos,
    ) -> Result<Self, QueryError> {
        let rows = alike(
            snapshot,
            outcome,
            hour,
            UnixNanos(hour.0.saturating_add(HOUR)),
        )?;
        let newer = || col("start").filter(col("start").gt(instant(at)));
        let older = col("start").filter(col("start").lt(instant(at)));
        let rows = rows.select([
            newer().count().cast(DataType::Int64).alias("newer"),
            newer().min().alias("first"),
            older.max().alias("last"),
        ]);
        let near = collect(rows)?;
        let cells = Cells(&near);
        let start = |column| {
            let start = cells.instants(column)?.get(0);
            let start = start.and_then(|start| u64::try_from(start).ok());
            Ok::<_, QueryError>(start.map(UnixNanos))
        };
        let count = there("newer", cells.wholes("newer")?.get(0))?;
        Ok(Self {
            count_newer: usize::try_from(count).unwrap_or(0),
            newer: start("first")?,
            older: start("last")?,
        })
    }
}

/// The requests that start at one instant with this outcome, the greatest id first.
fn at(
    snapshot: &Snapshot,
    outcome: Outcome,
    start: UnixNanos,
) -> Result<Vec<(TraceId, SpanId)>, QueryError> {
    let rows = alike(
        snapshot,
        outcome,
        start,
        UnixNanos(start.0.saturating_add(1)),
    )?;
    let rows = collect(rows.select(IDENTITY.map(col)))?;
    let cells = Cells(&rows);
    let [trace, request] = IDENTITY;
    let ids = (0..rows.height()).map(|row| {
        let row = cells.row(row);
        let trace_id = there(trace, row.parsed(trace)?)?;
        Ok((trace_id, there(request, row.parsed(request)?)?))
    });
    let mut ids: Vec<(TraceId, SpanId)> = ids.collect::<Result<_, QueryError>>()?;
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids)
}

fn alike(
    snapshot: &Snapshot,
    outcome: Outcome,
    since: UnixNanos,
    until: UnixNanos,
) -> Result<LazyFrame, QueryError> {
    let window = Window {
        since: Some(since),
        until: Some(until),
    };
    let rows = snapshot.scan(Table::Requests, &window)?;
    Ok(rows.filter(col("outcome").eq(lit(outcome.as_str()))))
}
