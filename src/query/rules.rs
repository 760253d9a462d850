//! Findings over many requests: a row for each rule, service and callee, the worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use polars::prelude::col;

use super::aggregate::{Aggregate, OverStore};
use super::error::QueryError;
use super::rows::{Cells, RowCells, there};
use super::scan::{Selection, fold};
use super::sheet::{Cell, Column, Sheet};
use crate::model::{Finding, Nanos, Request, Rule, SpanId, Text, TraceId, UnixNanos};
use crate::store::Snapshot;
use crate::store::tables::Table;

/// What is known of each group of findings.
pub const COLUMNS: &[Column] = &[
    Column::shown("severity", "severity", "how much it matters"),
    Column::shown("rule", "rule", "the rule that found it"),
    Column::shown("service", "service", "whose owners must act"),
    Column::shown("to", "to", "the callee, where there is one"),
    Column::shown("count", "count", "cases"),
    Column::wide(4, "requests", "reqs", "requests with it"),
    Column::wide(
        1,
        "message",
        "worst case",
        "the numbers of the worst case, as a sentence",
    ),
    Column::wide(
        3,
        "example",
        "example",
        "the trace id of the newest request with it",
    ),
    Column::machine("example_request", "that request's id"),
    Column::machine("example_start", "when that request started"),
    Column::wide(2, "hint", "what to do", "what to do about it"),
];

/// Findings, added up.
#[derive(Debug, Default)]
pub struct Findings {
    groups: BTreeMap<(Rule, Text, Option<Text>), Group>,
}

#[derive(Debug)]
struct Group {
    count: u64,
    requests: u64,
    /// How bad the worst is; of equally bad ones the greater text, so that order does not matter.
    worst: (Nanos, String),
    hint: String,
    newest: (UnixNanos, TraceId, SpanId),
}

impl Aggregate for Findings {
    fn add(&mut self, request: &Request) {
        for finding in &request.findings {
            let key = (finding.rule, finding.service.clone(), finding.to.clone());
            let group = Group::of(finding, request);
            self.put(key, group);
        }
    }

    fn merge(&mut self, other: Self) {
        for (key, group) in other.groups {
            self.put(key, group);
        }
    }

    /// The severest first, then the most frequent.
    fn sheet(self) -> Sheet {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        // They come by rule and names; equal ones keep that order.
        groups.sort_by_key(|((rule, ..), group)| {
            (
                rule.severity(),
                Reverse(group.count),
                Reverse(group.requests),
            )
        });
        let rows = groups.into_iter().map(|((rule, service, to), group)| {
            let (start, trace, request) = group.newest;
            vec![
                Cell::Word(rule.severity().as_str()),
                Cell::Word(rule.as_str()),
                Cell::Text(service),
                to.map_or(Cell::Null, Cell::Text),
                Cell::Count(group.count),
                Cell::Count(group.requests),
                Cell::Text(group.worst.1.into()),
                Cell::Text(trace.to_string().into()),
                Cell::Text(request.to_string().into()),
                Cell::Instant(start),
                Cell::Text(group.hint.into()),
            ]
        });
        Sheet {
            columns: COLUMNS,
            rows: rows.collect(),
        }
    }
}

impl OverStore for Findings {
    fn over(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError> {
        let columns = [
            "trace_id",
            "request",
            "start",
            "rule",
            "service",
            "to",
            "count",
            "weight_ms",
            "message",
            "hint",
        ];
        let rows = selection.rows(snapshot, Table::Findings)?;
        let rows = rows.select(columns.map(col));
        fold(rows, false, Self::default(), |sum, batch| {
            let cells = Cells(batch);
            (0..batch.height()).try_for_each(|row| {
                let row = cells.row(row);
                let rule = row.word("rule", Rule::ALL, Rule::as_str)?;
                let to = row.text("to")?.map(Text::from);
                let key = (there("rule", rule)?, row.name("service")?, to);
                sum.put(key, Group::read(row)?);
                Ok(())
            })
        })
    }
}

impl Findings {
    fn put(&mut self, key: (Rule, Text, Option<Text>), group: Group) {
        match self.groups.get_mut(&key) {
            Some(known) => known.merge(group),
            None => {
                self.groups.insert(key, group);
            }
        }
    }
}

impl Group {
    fn of(finding: &Finding, request: &Request) -> Self {
        Self {
            count: finding.evidence.count.max(1),
            requests: 1,
            worst: (finding.evidence.weight, finding.message.clone()),
            hint: finding.hint.clone(),
            newest: (request.start, request.trace_id, request.request),
        }
    }

    fn read(row: RowCells<'_>) -> Result<Self, QueryError> {
        let text = |column| Ok::<_, QueryError>(there(column, row.text(column)?)?.to_owned());
        let count = there("count", row.whole("count")?)?;
        let weight = there("weight_ms", row.time("weight_ms")?)?;
        Ok(Self {
            count: u64::try_from(count).unwrap_or(0).max(1),
            requests: 1,
            worst: (weight, text("message")?),
            hint: text("hint")?,
            newest: (
                row.instant("start")?,
                there("trace_id", row.parsed("trace_id")?)?,
                there("request", row.parsed("request")?)?,
            ),
        })
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.requests += other.requests;
        if other.worst > self.worst {
            self.worst = other.worst;
        }
        if other.newest > self.newest {
            self.newest = other.newest;
        }
        if other.hint > self.hint {
            self.hint = other.hint;
        }
    }
}
