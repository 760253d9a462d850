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
    let ends = |within: &Within, room: usize, up_to: Option<Plan>| {
        let mut rows = of_query(snapshot, query, within)?;
        for bound in from.iter().chain(&up_to) {
            rows = rows.filter(bound.clone());
        }
        top(keyed(rows, &keys), &keys, room)
    };
    // By what is cheap to read it is found where the page ends; ids only break ties. Rows at the
    // cursor's place that were shown may take some of the room, so it may have to be larger.
    let mut room = limit.saturating_add(1);
    loop {
        let end = match keys.is_by_start() {
            Some(latest) => nearest(snapshot, query, latest, room, ends)?,
            None => leading(snapshot, query, &keys, (room, from.as_ref()), ends)?,
        };
        let Some(last) = end.height().checked_sub(1) else {
            return Ok(Vec::new());
        };
        let is_last = end.height() < room;
        let mut rows = of_query(snapshot, query, &starts_of(&end)?)?;
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
    Ok(asked(query, query.selection.requests(snapshot, within)?))
}

/// Those of these with the outcome that is asked for.
fn asked(query: &Query, rows: LazyFrame) -> LazyFrame {
    match query.outcome {
        Some(outcome) => rows.filter(col("outcome").eq(lit(outcome.as_str()))),
        None => rows,
    }
}

/// What orders these rows.
fn keyed(rows: LazyFrame, keys: &Keys) -> LazyFrame {
    let mut columns = keys.columns();
    columns.push(col("start"));
    rows.select(columns)
}

/// Where these rows are.
fn starts_of(rows: &DataFrame) -> Result<Within, QueryError> {
    let starts = Cells(rows).instants("start")?.iter().flatten();
    let starts = starts.map(|start| UnixNanos(u64::try_from(start).unwrap_or(0)));
    Within::starts(starts.collect())
}

/// What `ends` gives of a list by the start alone: stretch by stretch until there are enough, so
/// that the others are not opened.
fn nearest(
    snapshot: &Snapshot,
    query: &Query,
    latest: bool,
    room: usize,
    ends: impl Fn(&Within, usize, Option<Plan>) -> Result<DataFrame, QueryError>,
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
        let more = ends(&Within::from(window), room - height(&found), None)?;
        // A stretch of which nothing had to be read has no rows and no columns either.
        found = match found {
            found if more.height() == 0 => found,
            Some(found) => Some(found.vstack(&more)?),
            None => Some(more),
        };
        wanted = wanted.saturating_mul(GROWTH);
    }
    Ok(found.unwrap_or_default())
}

/// Requests of which the other tables are asked before those are read whole.
const MOST_LEADING: usize = 10_000;

/// What `ends` gives of a list by its keys. If the filter needs other tables: these are asked about
/// the requests that lead by what `requests` alone tells of the filter, and about more of them as
/// long as too few are taken.
fn leading(
    snapshot: &Snapshot,
    query: &Query,
    keys: &Keys,
    (room, from): (usize, Option<&Plan>),
    ends: impl Fn(&Within, usize, Option<Plan>) -> Result<DataFrame, QueryError>,
) -> Result<DataFrame, QueryError> {
    let mut wanted = room.saturating_mul(GROWTH);
    while query.selection.needs_others() && wanted <= MOST_LEADING {
        let mut rows = asked(query, query.selection.by_requests(snapshot)?);
        if let Some(from) = from {
            rows = rows.filter(from.clone());
        }
        let leading = top(keyed(rows, keys), keys, wanted)?;
        let is_all = leading.height() < wanted;
        let Some(last) = leading.height().checked_sub(1) else {
            return Ok(leading);
        };
        // What stands behind the last of them was not asked about.
        let last = keys.place(Cells(&leading).row(last))?;
        let up_to = (!is_all).then(|| keys.up_to(&last)).transpose()?;
        let found = ends(&starts_of(&leading)?, room, up_to)?;
        if is_all || found.height() >= room {
            return Ok(found);
        }
        wanted = wanted.saturating_mul(GROWTH * GROWTH);
    }
    ends(&Within::default(), room, None)
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

/// Rows that are taken together before all but the first of them are dropped.
const GATHERED: usize = 1 << 16;

/// The first `limit` rows by the keys and the start.
fn top(rows: LazyFrame, keys: &Keys, limit: usize) -> Result<DataFrame, QueryError> {
    let step = {
        let keys = keys.clone();
        move |top: &mut Top, batch: &DataFrame| top.add(batch, &keys, limit)
    };
    let mut top = fold(rows, false, Top::default(), step)?;
    top.cut(keys, limit)?;
    Ok(top.rows)
}

/// The first rows of those that came so far, and some more.
#[derive(Default)]
struct Top {
    rows: DataFrame,
    /// Where the last of the first rows stood when they were looked for: most rows that come later
    /// stand behind it.
    bound: Option<Cursor>,
}

impl Top {
    fn add(&mut self, batch: &DataFrame, keys: &Keys, limit: usize) -> Result<(), QueryError> {
        let filtered = match &self.bound {
            Some(last) => {
                let batch = batch.clone().lazy().filter(keys.named_up_to(last)?);
                Some(batch.collect()?)
            }
            None => None,
        };
        let batch = filtered.as_ref().unwrap_or(batch);
        if self.rows.width() == 0 {
            self.rows = batch.clone();
        } else {
            self.rows.vstack_mut(batch)?;
        }
        // As many as are looked for can be more than that.
        if self.rows.height() >= GATHERED.saturating_add(limit) {
            self.cut(keys, limit)?;
        }
        Ok(())
    }

    fn cut(&mut self, keys: &Keys, limit: usize) -> Result<(), QueryError> {
        // Of what has no rows nothing came, not even its columns.
        if self.rows.height() == 0 {
            return Ok(());
        }
        let (by, options) = sorted(keys, false);
        let rows = std::mem::take(&mut self.rows).lazy();
        let limited = u32::try_from(limit).unwrap_or(u32::MAX);
        let rows = rows.sort_by_exprs(by, options).limit(limited);
        self.rows = rows.collect()?;
        if self.rows.height() >= limit
            && let Some(last) = self.rows.height().checked_sub(1)
        {
            self.bound = Some(keys.place(Cells(&self.rows).row(last))?);
        }
        Ok(())
    }
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
