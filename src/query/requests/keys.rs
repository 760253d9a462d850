//! What orders a list, as columns of `requests`.

use polars::prelude::{DataType, Expr as Plan, TimeUnit, col, lit, when};

use super::cursor::{Cursor, CursorError, KeyValue};
use super::{Row, Sort};
use crate::model::{Nanos, UnixNanos};
use crate::query::error::QueryError;
use crate::query::order::{KeyColumn, KeyKind};
use crate::query::rows::RowCells;

/// The columns that order a list, the first before the second.
#[derive(Clone)]
pub(super) struct Keys {
    sort: Sort,
    /// What stands before the start.
    first: Vec<KeyColumn>,
    /// The latest start first, and the greatest ids.
    latest: bool,
}

impl Keys {
    pub(super) fn of(sort: Sort) -> Self {
        let (first, latest) = match sort {
            Sort::Newest => (Vec::new(), true),
            Sort::Worst => (worst(), true),
            Sort::By(by) => match by.column() {
                Some(key) => (vec![key], false),
                // By the start alone.
                None => (Vec::new(), by.descending),
            },
        };
        Self {
            sort,
            first,
            latest,
        }
    }

    /// The name under which the key of this number is selected.
    fn name(number: usize) -> String {
        format!("key {number}")
    }

    /// The keys, named, and the start.
    pub(super) fn columns(&self) -> Vec<Plan> {
        let keys = self.first.iter().enumerate();
        let keys = keys.map(|(number, key)| key.value.clone().alias(Self::name(number)));
        keys.collect()
    }

    /// What [`columns`](Self::columns) gave, the start and the ids, as far as they are there: by
    /// name, each with whether the greatest comes first.
    pub(super) fn order(&self, ids: bool) -> (Vec<Plan>, Vec<bool>) {
        let mut by: Vec<(Plan, bool)> = Vec::new();
        for (number, key) in self.first.iter().enumerate() {
            by.push((col(Self::name(number)), key.descending));
        }
        by.push((col("start"), self.latest));
        if ids {
            by.extend(["trace_id", "request"].map(|id| (col(id), self.latest)));
        }
        by.into_iter().unzip()
    }

    /// If it is the start alone, whether the latest comes first.
    pub(super) fn is_by_start(&self) -> Option<bool> {
        self.first.is_empty().then_some(self.latest)
    }

    /// Whether a row stands after the cursor, or at it as far as its ids are not looked at.
    pub(super) fn from(&self, cursor: &Cursor) -> Result<Plan, CursorError> {
        self.nested(cursor, true, at_or_beyond(cursor, self.latest))
    }

    /// Whether a row stands before the cursor, or at it as far as its ids are not looked at.
    pub(super) fn up_to(&self, cursor: &Cursor) -> Result<Plan, CursorError> {
        self.nested(cursor, false, at_or_beyond(cursor, !self.latest))
    }

    /// The same of rows of what [`columns`](Self::columns) gave.
    pub(super) fn named_up_to(&self, cursor: &Cursor) -> Result<Plan, CursorError> {
        let named = self
            .first
            .iter()
            .enumerate()
            .map(|(number, key)| KeyColumn {
                value: col(Self::name(number)),
                ..key.clone()
            });
        let named = Self {
            sort: self.sort,
            first: named.collect(),
            latest: self.latest,
        };
        named.up_to(cursor)
    }

    /// Whether a row stands after the cursor.
    pub(super) fn after(&self, cursor: &Cursor) -> Result<Plan, CursorError> {
        let latest = self.latest;
        let trace = lit(cursor.trace.to_string());
        let request = lit(cursor.request.to_string());
        let later = beyond(&col("request"), request, latest);
        let later = col("trace_id").eq(trace.clone()).and(later);
        let later = beyond(&col("trace_id"), trace, latest).or(later);
        let start = instant(cursor.start);
        let later = col("start").eq(start.clone()).and(later);
        self.nested(cursor, true, beyond(&col("start"), start, latest).or(later))
    }

    /// Whether a row's keys stand after the cursor's (or before), or are the same and `rest` holds.
    fn nested(&self, cursor: &Cursor, after: bool, rest: Plan) -> Result<Plan, CursorError> {
        if cursor.sort != self.sort || cursor.keys.len() != self.first.len() {
            return Err(CursorError);
        }
        let mut plan = rest;
        for (key, value) in self.first.iter().zip(&cursor.keys).rev() {
            let is_null = key.value.clone().is_null();
            plan = match (literal(key.kind, value.as_ref())?, after) {
                // What is unknown comes last.
                (None, true) => is_null.and(plan),
                (None, false) => is_null.not().or(plan),
                (Some(value), after) => {
                    let same = key.value.clone().eq(value.clone()).and(plan);
                    let known = beyond(&key.value, value, key.descending == after).or(same);
                    if after { known.or(is_null) } else { known }
                }
            };
        }
        Ok(plan)
    }

    /// The place of the last of the rows that were chosen by their keys and their start alone.
    pub(super) fn place(&self, row: RowCells<'_>) -> Result<Cursor, QueryError> {
        let keys = self.first.iter().enumerate().map(|(number, key)| {
            let name = Self::name(number);
            Ok(match key.kind {
                KeyKind::Time => row.time(&name)?.map(|Nanos(time)| KeyValue::Number(time)),
                KeyKind::Whole => row.whole(&name)?.map(KeyValue::Number),
                KeyKind::Text => {
                    let text = row.text(&name)?;
                    text.map(|text| KeyValue::Text(text.to_owned()))
                }
            })
        });
        Ok(Cursor {
            sort: self.sort,
            keys: keys.collect::<Result<_, QueryError>>()?,
            start: row.instant("start")?,
            trace: crate::model::TraceId::default(),
            request: crate::model::SpanId::default(),
        })
    }

    /// The place of a row.
    pub(super) fn cursor(&self, cells: RowCells<'_>, row: &Row) -> Result<Cursor, QueryError> {
        Ok(Cursor {
            trace: row.trace_id,
            request: row.request,
            ..self.place(cells)?
        })
    }
}

/// Wasted time, then time over the budget. That is the difference of whole nanoseconds, so that it
/// is the same wherever it is computed; no budget is none over.
fn worst() -> Vec<KeyColumn> {
    // The products are whole but for their last bits. To round them so, and to stay with doubles,
    // is an instruction for several of them; Polars' own rounding is a call for each.
    let nanos = |column: &str| (col(column) * lit(1e6) + lit(0.5)).floor();
    let over = (nanos("elapsed_ms") - nanos("budget_ms")) / lit(1e6);
    let over = when(over.clone().gt(lit(0.0)))
        .then(over)
        .otherwise(lit(0.0));
    [col("wasted_ms"), over]
        .map(|value| KeyColumn {
            value,
            kind: KeyKind::Time,
            descending: true,
        })
        .into()
}

fn literal(kind: KeyKind, value: Option<&KeyValue>) -> Result<Option<Plan>, CursorError> {
    match (kind, value) {
        (_, None) => Ok(None),
        (KeyKind::Time, Some(KeyValue::Number(time))) => Ok(Some(lit(*time as f64 / 1e6))),
        (KeyKind::Whole, Some(KeyValue::Number(number))) => Ok(Some(lit(*number))),
        (KeyKind::Text, Some(KeyValue::Text(text))) => Ok(Some(lit(text.as_str()))),
        _ => Err(CursorError),
    }
}

fn beyond(value: &Plan, other: Plan, descending: bool) -> Plan {
    if descending {
        value.clone().lt(other)
    } else {
        value.clone().gt(other)
    }
}

fn at_or_beyond(cursor: &Cursor, latest: bool) -> Plan {
    let start = instant(cursor.start);
    if latest {
        col("start").lt_eq(start)
    } else {
        col("start").gt_eq(start)
    }
}

/// An instant, as columns hold it.
pub(super) fn instant(at: UnixNanos) -> Plan {
    let nanos = i64::try_from(at.0).unwrap_or(i64::MAX);
    lit(nanos).cast(DataType::Datetime(TimeUnit::Nanoseconds, None))
}
