//! Findings over many requests: a row for each rule, service and callee, the worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use polars::prelude::{DataFrame, col};

use super::aggregate::{Aggregate, OverStore};
use super::error::QueryError;
use super::groups::{self, Groups};
use super::rows::{Cells, RowCells, there, word};
use super::scan::{Selection, Within, fold};
use super::sheet::{Cell, Column, Sheet};
use super::sums::sums;
use crate::model::{Finding, Nanos, Request, Rule, SpanId, Text, TraceId, UnixNanos};
use crate::store::Snapshot;
use crate::store::tables::{Table, nanos};

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
    worst: Worst,
    newest: At,
}

/// A request: when it started, and its ids.
type At = (UnixNanos, TraceId, SpanId);

/// The worst case is the greatest; of equally bad ones the newest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worst {
    weight: Nanos,
    at: At,
    message: String,
    hint: String,
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
                Cell::Text(group.worst.message.into()),
                Cell::Text(trace.to_string().into()),
                Cell::Text(request.to_string().into()),
                Cell::Instant(start),
                Cell::Text(group.worst.hint.into()),
            ]
        });
        Sheet {
            columns: COLUMNS,
            rows: rows.collect(),
        }
    }
}

impl OverStore for Findings {
    /// Twice over: the numbers first, then the texts and ids of those that are shown.
    fn over(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError> {
        let columns = ["start", "rule", "service", "to", "count", "weight_ms"];
        let counted = sums(snapshot, selection, |groups: &mut Counted, portion| {
            portion.each(Table::Findings, &columns, |rows| read(groups, rows))
        })?;
        let counted = counted.into_iter().reduce(|mut all, sum| {
            all.merge(sum);
            all
        });
        let counted: Vec<_> = counted.unwrap_or_default().into_groups().collect();
        let shown = counted
            .iter()
            .flat_map(|(_, count)| [count.worst.1, count.newest]);
        let within = Within::starts(shown.collect())?;
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
        let rows = selection.rows(snapshot, Table::Findings, &within)?;
        let rows = rows.select(columns.map(col));
        let mut sum = fold(rows, false, Self::default(), |sum, batch| {
            let cells = Cells(batch);
            (0..batch.height()).try_for_each(|row| {
                let row = cells.row(row);
                let rule = row.word("rule", Rule::ALL, Rule::as_str)?;
                let to = row.text("to")?.map(Text::from);
                let key = (there("rule", rule)?, row.name("service")?, to);
                sum.put(key, Group::read(row)?);
                Ok(())
            })
        })?;
        for (names, count) in counted {
            let [rule, service, to] = names;
            let rule = word("rule", Some(&rule), Rule::ALL, Rule::as_str)?;
            let key = (rule, service, to.strip_prefix(TO).map(Text::from));
            if let Some(group) = sum.groups.get_mut(&key) {
                (group.count, group.requests) = (count.count, count.findings);
            }
        }
        Ok(sum)
    }
}

/// By rule, service, and the callee behind [`TO`]; without one nothing stands there.
type Counted = Groups<3, Summed>;

/// Tells a callee without a name from none.
const TO: &str = ">";

/// What is known of a group of findings before their texts are read.
#[derive(Debug, Default)]
struct Summed {
    count: u64,
    findings: u64,
    /// How bad the worst case is, and when the newest request with one that bad started.
    worst: (Nanos, UnixNanos),
    newest: UnixNanos,
}

impl groups::Group for Summed {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.findings += other.findings;
        self.worst = self.worst.max(other.worst);
        self.newest = self.newest.max(other.newest);
    }
}

fn read(groups: &mut Counted, rows: &DataFrame) -> Result<(), QueryError> {
    let cells = Cells(rows);
    let texts = |column| cells.texts(column);
    let names = (texts("rule")?.iter()).zip(texts("service")?.iter().zip(texts("to")?.iter()));
    let starts = cells.instants("start")?.iter();
    let numbers = cells
        .wholes("count")?
        .iter()
        .zip(cells.times("weight_ms")?.iter());
    let mut name = String::new();
    for (((rule, (service, to)), start), (count, weight)) in names.zip(starts).zip(numbers) {
        let start = UnixNanos(u64::try_from(there("start", start)?).unwrap_or(0));
        let count = u64::try_from(there("count", count)?).unwrap_or(0).max(1);
        let one = Summed {
            count,
            findings: 1,
            worst: (nanos(there("weight_ms", weight)?), start),
            newest: start,
        };
        name.clear();
        if let Some(to) = to {
            name.push_str(TO);
            name.push_str(to);
        }
        let names = [there("rule", rule)?, there("service", service)?, &name];
        groups.with(names, |group| groups::Group::merge(group, one));
    }
    Ok(())
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
        let at = (request.start, request.trace_id, request.request);
        Self {
            count: finding.evidence.count.max(1),
            requests: 1,
            worst: Worst {
                weight: finding.evidence.weight,
                at,
                message: finding.message.clone(),
                hint: finding.hint.to_owned(),
            },
            newest: at,
        }
    }

    fn read(row: RowCells<'_>) -> Result<Self, QueryError> {
        let text = |column| Ok::<_, QueryError>(there(column, row.text(column)?)?.to_owned());
        let count = there("count", row.whole("count")?)?;
        let at = (
            row.instant("start")?,
            there("trace_id", row.parsed("trace_id")?)?,
            there("request", row.parsed("request")?)?,
        );
        Ok(Self {
            count: u64::try_from(count).unwrap_or(0).max(1),
            requests: 1,
            worst: Worst {
                weight: there("weight_ms", row.time("weight_ms")?)?,
                at,
                message: text("message")?,
                hint: text("hint")?,
            },
            newest: at,
        })
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.requests += other.requests;
        if other.worst > self.worst {
            self.worst = other.worst;
        }
        self.newest = self.newest.max(other.newest);
    }
}
