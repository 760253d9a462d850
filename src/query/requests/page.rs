//! Pages.

use std::collections::BTreeMap;

use polars::prelude::{
    DataFrame, DataType, Expr as Plan, IntoLazy as _, LazyFrame, NamedFrom as _, Series,
    SortMultipleOptions, TimeUnit, col, lit,
};

use super::cursor::Cursor;
use super::keys::Keys;
use super::listed::Found;
use super::{Counts, Page, Query, Row};
use crate::model::{Outcome, SpanId, TraceId, UnixNanos};
use crate::query::error::QueryError;
use crate::query::rows::{Cells, there};
use crate::query::scan::{HOUR, Selection, collect, fold, hours};
use crate::store::tables::Table;
use crate::store::{Snapshot, Window};

/// The page that a query asks for.
///
/// # Errors
/// The store cannot be read, or the cursor is of another list.
pub fn page(snapshot: &Snapshot, query: &Query) -> Result<Page, QueryError> {
    let counted = Counted::of(snapshot, &query.selection)?;
    let limit = query.limit.max(1);
    let mut chosen = chosen(snapshot, query, limit.saturating_add(1), &counted)?;
    let more = chosen.len() > limit;
    chosen.truncate(limit);
    let next = chosen.last().filter(|_| more).map(|(cursor, _)| cursor);
    let next = next.cloned();
    let mut rows: Vec<Row> = chosen.into_iter().map(|(_, row)| row).collect();
    if query.findings {
        add_findings(snapshot, &mut rows)?;
    }
    Ok(Page {
        rows,
        next,
        matching: counted.all.asked(query.outcome),
        counts: counted.all,
        held: usize::try_from(snapshot.counts().requests.total()).unwrap_or(usize::MAX),
    })
}

/// How many requests a selection has of each outcome.
pub(super) struct Counted {
    pub(super) all: Counts,
    /// By the hour in which they start; so many at most.
    pub(super) hours: BTreeMap<UnixNanos, Counts>,
}

impl Counted {
    /// From the store's own counts where they tell, else by looking at each row.
    fn of(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError> {
        if selection.is_all() {
            return Ok(Self::known(snapshot));
        }
        let rows = selection.requests(snapshot, Window::ALL)?;
        let rows = rows.select([col("start"), col("outcome")]);
        let step = |hours: &mut BTreeMap<UnixNanos, Counts>, batch: &DataFrame| {
            let cells = Cells(batch);
            let pairs = cells.instants("start")?.iter();
            for (start, outcome) in pairs.zip(cells.texts("outcome")?.iter()) {
                let start = u64::try_from(there("start", start)?).unwrap_or(0);
                let word = there("outcome", outcome)?;
                let outcome = Outcome::ALL.into_iter().find(|one| one.as_str() == word);
                let hour = hours.entry(UnixNanos(start - start % HOUR)).or_default();
                hour.add(there("outcome", outcome)?, 1);
            }
            Ok(())
        };
        let hours = fold(rows, false, BTreeMap::new(), step)?;
        let mut all = Counts::default();
        for (outcome, count) in hours.values().flat_map(Counts::iter) {
            all.add(outcome, count);
        }
        Ok(Self { all, hours })
    }

    /// Every request, by what the store knows without opening a file.
    pub(super) fn known(snapshot: &Snapshot) -> Self {
        Self {
            all: Counts::from(&snapshot.counts().requests),
            hours: hours(snapshot),
        }
    }
}

/// The first rows after the cursor, at most `limit`, each with its place.
fn chosen(
    snapshot: &Snapshot,
    query: &Query,
    limit: usize,
    counted: &Counted,
) -> Result<Vec<(Cursor, Row)>, QueryError> {
    let keys = Keys::of(query.sort);
    let Some(latest) = keys.is_by_start() else {
        return best(snapshot, query, &keys, limit, Window::ALL);
    };
    // Hour by hour until the page is full: the others are not opened.
    let cursor = query.cursor.as_ref();
    let mut hours: Vec<(UnixNanos, usize)> = counted
        .hours
        .iter()
        .map(|(hour, counts)| (*hour, counts.asked(query.outcome)))
        .filter(|(hour, count)| {
            let beyond = |cursor: &Cursor| {
                if latest {
                    *hour <= cursor.start
                } else {
                    hour.0.saturating_add(HOUR) > cursor.start.0
                }
            };
            *count > 0 && cursor.is_none_or(beyond)
        })
        .collect();
    if latest {
        hours.reverse();
    }
    let mut found = Vec::new();
    let mut hours = hours.into_iter().peekable();
    while found.len() < limit && hours.peek().is_some() {
        // Of the cursor's own hour some may be shown already; then another round follows.
        let (mut window, mut expected) = (None::<(u64, u64)>, 0);
        while expected + found.len() < limit
            && let Some((hour, count)) = hours.next()
        {
            let (since, until) = window.unwrap_or((u64::MAX, 0));
            window = Some((since.min(hour.0), until.max(hour.0.saturating_add(HOUR))));
            expected += count;
        }
        let (since, until) = window.unwrap_or_default();
        let window = Window {
            since: Some(UnixNanos(since)),
            until: Some(UnixNanos(until)),
        };
        found.extend(best(snapshot, query, &keys, limit - found.len(), window)?);
    }
    Ok(found)
}

/// The first rows after the cursor among those that start in the window.
fn best(
    snapshot: &Snapshot,
    query: &Query,
    keys: &Keys,
    limit: usize,
    window: Window,
) -> Result<Vec<(Cursor, Row)>, QueryError> {
    let rows = || -> Result<LazyFrame, QueryError> {
        let rows = query.selection.requests(snapshot, window)?;
        Ok(match query.outcome {
            Some(outcome) => rows.filter(col("outcome").eq(lit(outcome.as_str()))),
            None => rows,
        })
    };
    let cursor = query.cursor.as_ref();
    let after = cursor.map(|cursor| keys.after(cursor)).transpose()?;
    let from = cursor.map(|cursor| keys.from(cursor)).transpose()?;
    // By what is cheap to read it is found where the page ends; ids only break ties. Rows at the
    // cursor's place that were shown may take some of the room, so it may have to be larger.
    let mut room = limit.saturating_add(1);
    loop {
        let narrow = match &from {
            Some(from) => rows()?.filter(from.clone()),
            None => rows()?,
        };
        let mut columns = keys.columns();
        columns.push(col("start"));
        let end = top(narrow.select(columns), keys, room)?;
        let is_last = end.height() < room;
        let mut wide = rows()?;
        if !is_last && let Some(last) = end.height().checked_sub(1) {
            let place = keys.place(Cells(&end).row(last))?;
            wide = wide.filter(keys.up_to(&place)?);
        }
        if let Some(after) = &after {
            wide = wide.filter(after.clone());
        }
        let columns = keys.columns().into_iter();
        let columns: Vec<Plan> = columns.chain(Row::COLUMNS.map(col)).collect();
        let (by, options) = sorted(keys, true);
        let limited = u32::try_from(limit).unwrap_or(u32::MAX);
        let wide = wide
            .select(columns)
            .sort_by_exprs(by, options)
            .limit(limited);
        let frame = collect(wide)?;
        if frame.height() < limit && !is_last {
            room = room.saturating_mul(2);
            continue;
        }
        let cells = Cells(&frame);
        return (0..frame.height())
            .map(|number| {
                let row = Row::of(cells.row(number))?;
                Ok((keys.cursor(cells.row(number), &row)?, row))
            })
            .collect();
    }
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
    let starts = || rows.iter().map(|row| row.start);
    let (Some(first), Some(last)) = (starts().min(), starts().max()) else {
        return Ok(());
    };
    let window = Window {
        since: Some(first),
        until: Some(UnixNanos(last.0.saturating_add(1))),
    };
    let nanos: Vec<i64> = starts()
        .map(|start| i64::try_from(start.0).unwrap_or(i64::MAX))
        .collect();
    let nanos = Series::new("start".into(), nanos);
    let nanos = nanos.cast(&DataType::Datetime(TimeUnit::Nanoseconds, None))?;
    let of_them = col("start").is_in(lit(nanos).implode(false), false);
    let found = snapshot.scan(Table::Findings, &window)?.filter(of_them);
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
