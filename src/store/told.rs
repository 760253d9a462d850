//! What a request's row told when the request came, beside what is said of it today.
//!
//! Of a trace that is in parts the spans alone are kept whole; whoever looks at it sees them
//! analysed again, with the settings of today. Where that comes to another end than the row, which
//! lists and sums show, a note says so.

use std::collections::BTreeMap;

use polars::prelude::DataFrame;

use super::error::StoreError;
use super::parts::Part;
use super::tables::{Table, nanos};
use crate::model::{Analysis, Nanos, Note, Request, SpanId, TraceId, number};

/// What a verdict rests on, as a row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    revision: i64,
    outcome: String,
    wasted: Nanos,
    findings: i64,
    surfaced: Option<[String; 2]>,
    /// Service, operation, part of the time and callee.
    culprit: Option<([String; 3], Option<String>)>,
}

const COLUMNS: [&str; 12] = [
    "trace_id",
    "request",
    "revision",
    "outcome",
    "wasted_ms",
    "findings",
    "surfaced_service",
    "surfaced_operation",
    "culprit_service",
    "culprit_operation",
    "culprit_part",
    "culprit_to",
];

/// By request, the newest.
pub(super) type All = BTreeMap<SpanId, Told>;

impl Part {
    /// Adds what it tells of the requests of a trace.
    pub(super) fn told(&self, id: TraceId, all: &mut All) -> Result<(), StoreError> {
        let Some(rows) = self.rows_of(Table::Requests, &[id], Some(&COLUMNS))? else {
            return Ok(());
        };
        for row in 0..rows.height() {
            let Some((request, told)) = Told::read(&rows, row)? else {
                continue;
            };
            let known = all.get(&request).map_or(0, |known| known.revision);
            if told.revision >= known {
                all.insert(request, told);
            }
        }
        Ok(())
    }
}

impl Told {
    fn read(rows: &DataFrame, row: usize) -> Result<Option<(SpanId, Self)>, StoreError> {
        let text = |name: &str| {
            let texts = rows.column(name)?.str()?;
            Ok::<_, StoreError>(texts.get(row).map(str::to_owned))
        };
        let whole = |name: &str| {
            let wholes = rows.column(name)?.i64()?;
            Ok::<_, StoreError>(wholes.get(row).unwrap_or_default())
        };
        let request = text("request")?.and_then(|request| request.parse().ok());
        let outcome = text("outcome")?;
        let (Some(request), Some(outcome)) = (request, outcome) else {
            return Ok(None);
        };
        let word = |name| Ok::<_, StoreError>(text(name)?.unwrap_or_default());
        let wasted = rows.column("wasted_ms")?.f64()?.get(row);
        let surfaced = match text("surfaced_service")? {
            Some(service) => Some([service, word("surfaced_operation")?]),
            None => None,
        };
        let culprit = match text("culprit_service")? {
            Some(service) => {
                let names = [service, word("culprit_operation")?, word("culprit_part")?];
                Some((names, text("culprit_to")?))
            }
            None => None,
        };
        Ok(Some((
            request,
            Self {
                revision: whole("revision")?,
                outcome,
                wasted: nanos(wasted.unwrap_or_default()),
                findings: whole("findings")?,
                surfaced,
                culprit,
            },
        )))
    }

    /// What its row would tell of a request.
    fn of(request: &Request) -> Self {
        let surfaced = request.surfaced.as_ref();
        let culprit = request.culprit.as_ref();
        Self {
            revision: request.revision.into(),
            outcome: request.outcome.as_str().to_owned(),
            wasted: request.wasted,
            findings: i64::try_from(request.findings.len()).unwrap_or(i64::MAX),
            surfaced: surfaced
                .map(|surfaced| [&surfaced.service, &surfaced.operation].map(ToString::to_string)),
            culprit: culprit.map(|culprit| {
                let part = culprit.part.as_str();
                let names = [&culprit.service, &culprit.operation, part].map(str::to_owned);
                (names, culprit.to.as_ref().map(ToString::to_string))
            }),
        }
    }

    /// What of it is not so today, in words, behind the outcome; `None` if all is.
    fn unlike(&self, today: &Self) -> Option<String> {
        let mut words = vec![self.outcome.replace('_', " ")];
        let mut differs = self.outcome != today.outcome;
        let mut add = |is: bool, text: String| {
            if is {
                differs = true;
                words.push(text);
            }
        };
        let culprit = match &self.culprit {
            Some(([service, operation, _], None)) => format!("culprit {service} {operation}"),
            Some(([service, ..], Some(to))) => format!("culprit {service} \u{2192} {to}"),
            None => "no culprit".to_owned(),
        };
        add(self.culprit != today.culprit, culprit);
        let surfaced = match &self.surfaced {
            Some([service, operation]) => format!("surfaced at {service} {operation}"),
            None => "surfaced nowhere".to_owned(),
        };
        add(self.surfaced != today.surfaced, surfaced);
        let wasted = format!("{}\u{a0}ms wasted", number::ms(self.wasted));
        add(self.wasted != today.wasted, wasted);
        let findings = match self.findings {
            0 => "no findings".to_owned(),
            1 => "1 finding".to_owned(),
            count => format!("{count} findings"),
        };
        add(self.findings != today.findings, findings);
        differs.then(|| words.join(", "))
    }
}

/// Adds a note to each request of which something else was told when it came.
pub(super) fn note(analysis: &mut Analysis, all: &All) {
    for request in &mut analysis.requests {
        let Some(told) = all.get(&request.request) else {
            continue;
        };
        if let Some(words) = told.unlike(&Told::of(request)) {
            request.notes.push(Note::AnalysedAgain(words.into()));
            request.notes.sort_unstable();
        }
    }
}
