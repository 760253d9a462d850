//! A request as lists show it, from the tables or from its analysis.

use polars::prelude::col;
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::model::{
    Culprit, Finding, How, Nanos, Note, Outcome, Part, Request, Rule, Severity, Source, SpanId,
    Surfaced, Text, TraceId, UnixNanos, Verdict,
};
use crate::query::error::QueryError;
use crate::query::rows::{Cells, RowCells, culprit_whole, there};
use crate::query::scan::collect;
use crate::store::Snapshot;

/// A row of `requests`.
#[derive(Debug, Clone)]
pub struct Row {
    /// The trace.
    pub trace_id: TraceId,
    /// The span id of the root hop's entry.
    pub request: SpanId,
    /// 1 for the first verdict.
    pub revision: u32,
    /// False when a span names a parent that never came.
    pub complete: bool,
    /// What qualifies the numbers, as sentences.
    pub notes: Vec<String>,
    /// The root hop's service.
    pub service: Text,
    /// The root hop's operation.
    pub operation: Text,
    /// When the root was reached.
    pub start: UnixNanos,
    /// Distinct spans.
    pub spans: usize,
    /// From the root's arrival to its answer.
    pub elapsed: Nanos,
    /// What the root had on arrival.
    pub budget: Option<Nanos>,
    /// Where that was read.
    pub budget_source: Source,
    /// What became of it.
    pub outcome: Outcome,
    /// Work for nobody.
    pub wasted: Nanos,
    /// Where the failure came to light.
    pub surfaced: Option<Surfaced>,
    /// Who took the most of the budget.
    pub culprit: Option<Culprit>,
    /// Who took the most of the time, whoever is to blame.
    pub largest: Option<Largest>,
    /// Its findings; empty if they were not asked for.
    pub(super) findings: Vec<Found>,
}

#[cfg(test)]
impl From<&Request> for Row {
    fn from(request: &Request) -> Self {
        let largest = request.ledger.iter().max_by_key(|row| row.time);
        Self {
            trace_id: request.trace_id,
            request: request.request,
            revision: request.revision,
            complete: request.complete,
            notes: Vec::new(),
            service: request.service.clone(),
            operation: request.operation.clone(),
            start: request.start,
            spans: request.spans,
            elapsed: request.elapsed,
            budget: request.budget,
            budget_source: request.budget_source.clone(),
            outcome: request.outcome,
            wasted: request.wasted,
            surfaced: request.surfaced.clone(),
            culprit: request.culprit.clone(),
            largest: largest.map(|row| Largest {
                service: row.service.clone(),
                operation: row.operation.clone(),
                part: row.part,
                to: row.to.clone(),
                time: row.time,
            }),
            findings: Vec::new(),
        }
    }
}

/// The largest part of a request's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Largest {
    /// The owner's service.
    pub service: Text,
    /// The owner's operation.
    pub operation: Text,
    /// What it was spent on.
    pub part: Part,
    /// The callee, unless `local`.
    pub to: Option<Text>,
    /// How much.
    pub time: Nanos,
}

/// A row of `findings`, in the order of [`Finding`] and under its names.
#[derive(Debug, Clone, serde::Serialize)]
pub(super) struct Found {
    rule: Rule,
    severity: Severity,
    hop: usize,
    service: Text,
    to: Option<Text>,
    evidence: Box<RawValue>,
    message: String,
    hint: String,
}

/// The keys of a request that lists show, in the order and under the names of [`Request`].
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Listed<'a> {
    /// The trace.
    pub trace_id: TraceId,
    /// The span id of the root hop's entry.
    pub request: SpanId,
    /// 1 for the first verdict.
    pub revision: u32,
    /// False when a span names a parent that never came.
    pub complete: bool,
    notes: Notes<'a>,
    /// The root hop's service.
    pub service: &'a Text,
    /// The root hop's operation.
    pub operation: &'a Text,
    /// When the root was reached.
    pub start: UnixNanos,
    /// Distinct spans.
    pub spans: usize,
    /// From the root's arrival to its answer.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// What the root had on arrival.
    #[serde(rename = "budget_ms")]
    pub budget: Option<Nanos>,
    /// Where that was read.
    pub budget_source: &'a Source,
    /// What became of it.
    pub outcome: Outcome,
    /// Work for nobody.
    #[serde(rename = "wasted_ms")]
    pub wasted: Nanos,
    /// Where the failure came to light.
    pub surfaced: Option<&'a Surfaced>,
    /// Who took the most of the budget.
    pub culprit: Option<&'a Culprit>,
    findings: Findings<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Notes<'a> {
    Said(&'a [Note]),
    Read(&'a [String]),
}

impl Serialize for Notes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Said(notes) => notes.serialize(serializer),
            Self::Read(notes) => notes.serialize(serializer),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Findings<'a> {
    Made(&'a [Finding]),
    Read(&'a [Found]),
}

impl Serialize for Findings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Made(findings) => findings.serialize(serializer),
            Self::Read(findings) => findings.serialize(serializer),
        }
    }
}

impl Listed<'_> {
    /// The rules that found something, each once, the first found first.
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut add = |rule| {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        };
        match self.findings {
            Findings::Made(findings) => findings.iter().for_each(|finding| add(finding.rule)),
            Findings::Read(findings) => findings.iter().for_each(|finding| add(finding.rule)),
        }
        rules
    }
}

impl<'a> From<&'a Request> for Listed<'a> {
    fn from(request: &'a Request) -> Self {
        // Named one by one, so that a new field of `Request` has to be thought of here.
        let Request {
            trace_id,
            request,
            revision,
            complete,
            notes,
            service,
            operation,
            start,
            spans,
            elapsed,
            budget,
            budget_source,
            outcome,
            wasted,
            surfaced,
            culprit,
            hops: _,
            path: _,
            ledger: _,
            findings,
        } = request;
        Self {
            trace_id: *trace_id,
            request: *request,
            revision: *revision,
            complete: *complete,
            notes: Notes::Said(notes),
            service,
            operation,
            start: *start,
            spans: *spans,
            elapsed: *elapsed,
            budget: *budget,
            budget_source,
            outcome: *outcome,
            wasted: *wasted,
            surfaced: surfaced.as_ref(),
            culprit: culprit.as_ref(),
            findings: Findings::Made(findings),
        }
    }
}

impl<'a> From<&'a Row> for Listed<'a> {
    fn from(row: &'a Row) -> Self {
        Self {
            trace_id: row.trace_id,
            request: row.request,
            revision: row.revision,
            complete: row.complete,
            notes: Notes::Read(&row.notes),
            service: &row.service,
            operation: &row.operation,
            start: row.start,
            spans: row.spans,
            elapsed: row.elapsed,
            budget: row.budget,
            budget_source: &row.budget_source,
            outcome: row.outcome,
            wasted: row.wasted,
            surfaced: row.surfaced.as_ref(),
            culprit: row.culprit.as_ref(),
            findings: Findings::Read(&row.findings),
        }
    }
}

impl Row {
    /// The columns that it is made from.
    /// These requests, in this order; those that are not there are left out.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of_these(
        snapshot: &Snapshot,
        ids: &[(TraceId, SpanId)],
    ) -> Result<Vec<Self>, QueryError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let traces: Vec<TraceId> = ids.iter().map(|(trace, _)| *trace).collect();
        let rows = snapshot.requests_of(&traces)?;
        let frame = collect(rows.select(Self::COLUMNS.map(col)))?;
        let cells = Cells(&frame);
        let rows = (0..frame.height()).map(|number| Self::of(cells.row(number)));
        let mut rows: Vec<Self> = rows.collect::<Result<_, _>>()?;
        let place = |row: &Self| {
            let this = (row.trace_id, row.request);
            ids.iter().position(|id| *id == this)
        };
        rows.retain(|row| place(row).is_some());
        rows.sort_by_key(place);
        Ok(rows)
    }

    pub(super) const COLUMNS: [&'static str; 34] = [
        "trace_id",
        "request",
        "revision",
        "complete",
        "notes",
        "service",
        "operation",
        "start",
        "spans",
        "elapsed_ms",
        "budget_ms",
        "budget_source_how",
        "budget_source_key",
        "budget_source_span_id",
        "budget_source_value",
        "outcome",
        "wasted_ms",
        "surfaced_service",
        "surfaced_operation",
        "surfaced_verdict",
        "surfaced_hop",
        "culprit_service",
        "culprit_operation",
        "culprit_part",
        "culprit_to",
        "culprit_consumed_ms",
        "culprit_share",
        "culprit_typical_ms",
        "culprit_excess_ms",
        "largest_service",
        "largest_operation",
        "largest_part",
        "largest_to",
        "largest_ms",
    ];

    pub(super) fn of(row: RowCells<'_>) -> Result<Self, QueryError> {
        let notes = match row.text("notes")? {
            Some(notes) => serde_json::from_str(notes).map_err(|_| QueryError::Unknown {
                column: "notes",
                value: notes.to_owned(),
            })?,
            None => Vec::new(),
        };
        let how = row.word("budget_source_how", &How::ALL, How::as_str)?;
        let outcome = row.word("outcome", &Outcome::ALL, Outcome::as_str)?;
        Ok(Self {
            trace_id: there("trace_id", row.parsed("trace_id")?)?,
            request: there("request", row.parsed("request")?)?,
            revision: size("revision", row.whole("revision")?)?,
            complete: row.flag("complete")?,
            notes,
            service: row.name("service")?,
            operation: row.name("operation")?,
            start: row.instant("start")?,
            spans: size("spans", row.whole("spans")?)?,
            elapsed: there("elapsed_ms", row.time("elapsed_ms")?)?,
            budget: row.time("budget_ms")?,
            budget_source: Source {
                how: there("budget_source_how", how)?,
                key: row.text("budget_source_key")?.map(Text::from),
                span_id: row.parsed("budget_source_span_id")?,
                value: row.text("budget_source_value")?.map(Text::from),
            },
            outcome: there("outcome", outcome)?,
            wasted: there("wasted_ms", row.time("wasted_ms")?)?,
            surfaced: surfaced(row)?,
            culprit: culprit(row)?,
            largest: largest(row)?,
            findings: Vec::new(),
        })
    }
}

fn surfaced(row: RowCells<'_>) -> Result<Option<Surfaced>, QueryError> {
    let Some(service) = row.text("surfaced_service")? else {
        return Ok(None);
    };
    let verdict = row.word("surfaced_verdict", &Verdict::ALL, Verdict::as_str)?;
    Ok(Some(Surfaced {
        service: Text::from(service),
        operation: row.name("surfaced_operation")?,
        verdict: there("surfaced_verdict", verdict)?,
        hop: size("surfaced_hop", row.whole("surfaced_hop")?)?,
    }))
}

fn culprit(row: RowCells<'_>) -> Result<Option<Culprit>, QueryError> {
    let Some(service) = row.text("culprit_service")? else {
        return Ok(None);
    };
    let consumed = there("culprit_consumed_ms", row.time("culprit_consumed_ms")?)?;
    let share = there("culprit_share", row.number("culprit_share")?)?;
    let part = row.word("culprit_part", &Part::ALL, Part::as_str)?;
    Ok(Some(Culprit {
        service: Text::from(service),
        operation: row.name("culprit_operation")?,
        part: there("culprit_part", part)?,
        to: row.text("culprit_to")?.map(Text::from),
        consumed,
        share: (consumed, culprit_whole(consumed, share)),
        typical: row.time("culprit_typical_ms")?,
        excess: row.time("culprit_excess_ms")?,
    }))
}

fn largest(row: RowCells<'_>) -> Result<Option<Largest>, QueryError> {
    let Some(service) = row.text("largest_service")? else {
        return Ok(None);
    };
    let part = row.word("largest_part", &Part::ALL, Part::as_str)?;
    Ok(Some(Largest {
        service: Text::from(service),
        operation: row.name("largest_operation")?,
        part: there("largest_part", part)?,
        to: row.text("largest_to")?.map(Text::from),
        time: there("largest_ms", row.time("largest_ms")?)?,
    }))
}

impl Found {
    /// The columns that it is made from, its request's identity included.
    pub(super) const COLUMNS: [&'static str; 10] = [
        "trace_id", "request", "rule", "severity", "hop", "service", "to", "evidence", "message",
        "hint",
    ];

    pub(super) fn of(row: RowCells<'_>) -> Result<Self, QueryError> {
        let rule = row.word("rule", Rule::ALL, Rule::as_str)?;
        let severity = row.word("severity", &Severity::ALL, Severity::as_str)?;
        let text = |column| Ok::<_, QueryError>(there(column, row.text(column)?)?.to_owned());
        let evidence = text("evidence")?;
        Ok(Self {
            rule: there("rule", rule)?,
            severity: there("severity", severity)?,
            hop: size("hop", row.whole("hop")?)?,
            service: row.name("service")?,
            to: row.text("to")?.map(Text::from),
            evidence: RawValue::from_string(evidence.clone()).map_err(|_| QueryError::Unknown {
                column: "evidence",
                value: evidence,
            })?,
            message: text("message")?,
            hint: text("hint")?,
        })
    }
}

fn size<T: TryFrom<i64>>(column: &'static str, value: Option<i64>) -> Result<T, QueryError> {
    let value = there(column, value)?;
    T::try_from(value).map_err(|_| QueryError::Unknown {
        column,
        value: value.to_string(),
    })
}
