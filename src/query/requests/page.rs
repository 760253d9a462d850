//! Pages.

use std::collections::BTreeMap;

use polars::prelude::{
    DataFrame, Expr as Plan, IntoLazy as _, LazyFrame, SortMultipleOptions, col, lit,
};

use super::count::Counted;
use super::cursor::Cursor;
use super::keys::Keys;
use super::listed::Found;
use super::stretches::Stretches;
use super::{Page, Query, Row};
use crate::model::{SpanId, TraceId, UnixNanos};
use crate::query::error::QueryError;
use crate::query::rows::{Cells, there};
use crate::query::scan::{Within, collect, fold, hours, narrowed};
use crate::store::tables::Table;
use crate::store::{Snapshot, Window};

/// The page that a query asks for.
///
/// # Errors
/// The store cannot be read, or the cursor is of another list.
pub fn page(snapshot: &Snapshot, query: &Query) -> Result<Page, QueryError> {
    let limit = query.limit.max(1);
    let mut chosen = chosen(snapshot, query, limit.saturating_add(1))?;
    let more = chosen.len() > limit;
    chosen.truncate(limit);
    let next = chosen.last().filter(|_| more).map(|(cursor, _)| cursor);
    let next = next.cloned();
    let mut rows: Vec<Row> = chosen.into_iter().map(|(_, row)| row).collect();
    if query.findings {
        add_findings(snapshot, &mut rows)?;
    }
    let counted = Counted::of(snapshot, &query.selection)?;
    let place = (query.cursor.is_none(), more);
    Ok(Page {
        matching: counted.matching(query.outcome, rows.len(), place),
        rows,
        next,
        counts: counted.counts,
        counts_all: counted.is_all,
        held: usize::try_from(snapshot.counts().requests.total()).unwrap_or(usize::MAX),
    })
}

/// How many times as many requests are looked at as are shown, at first and from then on: a filter
/// may take few of them.
const GROWTH: usize = 4;

/// The first rows after the cursor, at most `limit`, each with its place.
fn chosen(
    snapshot: &Snapshot,
    query: &Query,
    limit: usize,
) -> Result<Vec<(Cursor, Row)>, QueryError> {
    let keys = Keys::of(query.sort);
    let cursor = query.cursor.as_ref();
    let from = cursor.map(|cursor| keys.from(cursor)).transpose()?;
    let after = cursor.map(|cursor| keys.after(cursor)).transpose()?;
    let ends = |within: &Within, room: usize| {
        let mut rows = of_query(snapshot, query, within)?;
        if let Some(from) = &from {
            rows = rows.filter(from.clone());
        }
        let mut columns = keys.columns();
        columns.push(col("start"));
        top(rows.select(columns), &keys, room)
    };
    // By what is cheap to read it is found where the page ends; ids only break ties. Rows at the
    // cursor's place that were shown may take some of the room, so it may have to be larger.
    let mut room = limit.saturating_add(1);
    loop {
        let end = match keys.is_by_start() {
            Some(latest) => nearest(snapshot, query, latest, room, ends)?,
            None => ends(&Within::default(), room)?,
        };
        let Some(last) = end.height().checked_sub(1) else {
            return Ok(Vec::new());
        };
        let is_last = end.height() < room;
        let starts = Cells(&end).instants("start")?.iter().flatten();
        let starts = starts.map(|start| UnixNanos(u64::try_from(start).unwrap_or(0)));
        let mut rows = of_query(snapshot, query, &Within::starts(starts.collect())?)?;
        if !is_last {
            let place = keys.place(Cells(&end).row(last))?;
            rows = rows.filter(keys.up_to(&place)?);
        }
        if let Some(after) = &after {
            rows = rows.filter(after.clone());
        }
        let found = whole(rows, &keys, limit)?;
        if found.len() >= limit || is_last {
            return Ok(found);
        }
        room = room.saturating_mul(2);
    }
}

/// The requests that a query asks for, on all pages.
fn of_query(snapshot: &Snapshot, query: &Query, within: &Within) -> Result<LazyFrame, QueryError> {
    let rows = query.selection.requests(snapshot, within)?;
    Ok(match query.outcome {
        Some(outcome) => rows.filter(col("outcome").eq(lit(outcome.as_str()))),
        None => rows,
    })
}

/// What `ends` gives of a list by the start alone: stretch by stretch until there are enough, so
/// that the others are not opened.
fn nearest(
    snapshot: &Snapshot,
    query: &Query,
    latest: bool,
    room: usize,
    ends: impl Fn(&Within, usize) -> Result<DataFrame, QueryError>,
) -> Result<DataFrame, QueryError> {
    let cursor = query.cursor.as_ref().map(|cursor| cursor.start);
    let left = match cursor {
        Some(start) if latest => Window {
            since: None,
            until: Some(UnixNanos(start.0.saturating_add(1))),
        },
        since => Window { since, until: None },
    };
    let hours = hours(snapshot).into_iter();
    let hours = hours.map(|(hour, counts)| (hour, counts.asked(query.outcome)));
    let mut stretches = Stretches::new(hours, latest, narrowed(query.selection.stretch(), left));
    let mut wanted = room.saturating_mul(GROWTH);
    let mut found: Option<DataFrame> = None;
    let height = |found: &Option<DataFrame>| found.as_ref().map_or(0, DataFrame::height);
    while height(&found) < room
        && let Some(window) = stretches.next(wanted)
    {
        let more = ends(&Within::from(window), room - height(&found))?;
        found = Some(match found {
            Some(found) => found.vstack(&more)?,
            None => more,
        });
        wanted = wanted.saturating_mul(GROWTH);
    }
    Ok(found.unwrap_or_default())
}

/// The first of these rows, whole.
fn whole(rows: LazyFrame, keys: &Keys, limit: usize) -> Result<Vec<(Cursor, Row)>, QueryError> {
    let columns = keys.columns().into_iter();
    let columns: Vec<Plan> = columns.chain(Row::COLUMNS.map(col)).collect();
    let (by, options) = sorted(keys, true);
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let rows = rows.select(columns).sort_by_exprs(by, options).limit(limit);
    let frame = collect(rows)?;
    let cells = Cells(&frame);
    let each = (0..frame.height()).map(|number| {
        let row = Row::of(cells.row(number))?;
        Ok((keys.cursor(cells.row(number), &row)?, row))
    });
    each.collect()
}

/// The first `limit` rows by the keys and the start.
fn top(rows: LazyFrame, keys: &Keys, limit: usize) -> Result<DataFrame, QueryError> {
    let (by, options) = sorted(keys, false);
    let limited = u32::try_from(limit).unwrap_or(u32::MAX);
    let first = move |rows: LazyFrame| {
        let rows = rows.sort_by_exprs(by.clone(), options.clone());
        rows.limit(limited).collect()
    };
    fold(
        rows,
        false,
        None,
        move |kept: &mut Option<DataFrame>, batch| {
            let all = match kept.take() {
                Some(kept) => kept.vstack(batch)?,
                None => batch.clone(),
            };
            *kept = Some(first(all.lazy())?);
            Ok(())
        },
    )
    .map(Option::unwrap_or_default)
}

fn sorted(keys: &Keys, ids: bool) -> (Vec<Plan>, SortMultipleOptions) {
    let (by, descending) = keys.order(ids);
    let options = SortMultipleOptions::default()
        .with_order_descending_multi(descending)
        .with_nulls_last(true);
    (by, options)
}

/// Reads the findings of these rows.
fn add_findings(snapshot: &Snapshot, rows: &mut [Row]) -> Result<(), QueryError> {
    if rows.is_empty() {
        return Ok(());
    }
    let within = Within::starts(rows.iter().map(|row| row.start).collect())?;
    let found = within.rows(snapshot, Table::Findings)?;
    let found = collect(found.select(Found::COLUMNS.map(col)))?;
    let places: BTreeMap<(TraceId, SpanId), usize> = rows
        .iter()
        .enumerate()
        .map(|(place, row)| ((row.trace_id, row.request), place))
        .collect();
    let cells = Cells(&found);
    for number in 0..found.height() {
        let row = cells.row(number);
        let trace = there("trace_id", row.parsed("trace_id")?)?;
        let request = there("request", row.parsed("request")?)?;
        let place = places.get(&(trace, request));
        if let Some(row_of) = place.and_then(|place| rows.get_mut(*place)) {
            row_of.findings.push(Found::of(row)?);
        }
    }
    Ok(())
}
