//! What we answer of one file.

use std::collections::{BTreeSet, HashMap};

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{Input, Loaded, load};
use dwindle::model::{
    Analysis, Attributes, Kind, Nanos, Note, Outcome, Part, Request, Resource, Span, StatusCode,
    Trace, Value, Verdict,
};
use dwindle::otlp::Limits;

use super::check::{same_operation, same_service};
use super::log::Row;

/// All that is known of a file.
pub(super) struct Answer {
    pub(super) loaded: Loaded,
    pub(super) analyses: Vec<Analysis>,
}

impl Answer {
    pub(super) fn of(rows: &[&Row]) -> Self {
        let inputs: Vec<Input> = rows
            .iter()
            .map(|row| Input::Path(row.path.clone()))
            .collect();
        let loaded = load(&inputs, &Limits::default(), &mut |_, _| {});
        let analyses = loaded.traces.iter().map(analysed).collect();
        Self { loaded, analyses }
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.loaded.traces.iter().flat_map(|trace| &trace.spans)
    }

    /// How many different span ids there are.
    pub(super) fn ids(&self) -> usize {
        let ids = self.spans().map(|span| (span.trace_id, span.span_id));
        ids.collect::<BTreeSet<_>>().len()
    }

    pub(super) fn services(&self) -> BTreeSet<&str> {
        self.spans().map(Span::service).collect()
    }

    pub(super) fn errors(&self) -> impl Iterator<Item = &Span> {
        let failed = |span: &&Span| span.status.code == StatusCode::Error;
        self.spans().filter(failed)
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.analyses.iter().flat_map(|analysis| &analysis.requests)
    }

    /// The requests that begin with a root or an orphan.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Request> {
        let traces = self.loaded.traces.iter().zip(&self.analyses);
        traces.flat_map(|(trace, analysis)| {
            let ids: BTreeSet<_> = trace.spans.iter().map(|span| span.span_id).collect();
            let is_root = |request: &&Request| {
                let entry = trace
                    .spans
                    .iter()
                    .find(|span| span.span_id == request.request);
                entry
                    .and_then(|span| span.parent_id)
                    .is_none_or(|parent| !ids.contains(&parent))
            };
            analysis.requests.iter().filter(is_root).collect::<Vec<_>>()
        })
    }

    /// The notes, those that a trace has in common once.
    pub(super) fn notes(&self) -> impl Iterator<Item = &Note> {
        self.analyses
            .iter()
            .filter_map(|analysis| analysis.requests.first())
            .flat_map(|request| &request.notes)
    }

    /// How many spans name a parent that never came.
    pub(super) fn orphans(&self) -> usize {
        let missing = self.notes().filter_map(|note| match note {
            Note::MissingParent(count) => Some(*count),
            _ => None,
        });
        missing.sum()
    }

    /// First start to last end of the longest trace.
    pub(super) fn longest(&self) -> Nanos {
        let whole = |trace: &Trace| {
            let start = trace.spans.iter().map(|span| span.start).min()?;
            let end = trace.spans.iter().map(|span| span.end).max()?;
            Some(end.since(start))
        };
        let traces = self.loaded.traces.iter();
        traces.filter_map(whole).max().unwrap_or_default()
    }

    /// The time that each span of the longest request took of its blocking path.
    pub(super) fn critical(&self) -> Vec<(&Span, Nanos)> {
        let longest = |analysis: &Analysis| analysis.requests.iter().map(|r| r.elapsed).max();
        let traces = self.loaded.traces.iter().zip(&self.analyses);
        let trace = traces.max_by_key(|(_, analysis)| longest(analysis));
        trace.map_or(Vec::new(), |(trace, _)| by_span(trace))
    }

    /// One of the deepest spans with an error is of this service and operation; the log may have
    /// the error's text behind it, in brackets.
    pub(super) fn deepest_error(&self, service: &str, operation: &str) -> Result<(), String> {
        let parents: HashMap<_, _> = self
            .spans()
            .map(|span| ((span.trace_id, span.span_id), span.parent_id))
            .collect();
        let depth = |span: &Span| {
            let parent = |id: &_| parents.get(&(span.trace_id, *id)).copied().flatten();
            std::iter::successors(span.parent_id, parent)
                .take(1000)
                .count()
        };
        let deepest = self.errors().map(depth).max();
        let deepest: Vec<&Span> = self
            .errors()
            .filter(|span| Some(depth(span)) == deepest)
            .collect();
        let (name, text) = match operation.strip_suffix(')').and_then(|o| o.split_once(" (")) {
            Some((name, text)) => (name, Some(text)),
            None => (operation, None),
        };
        let is = |span: &&Span| {
            same_service(span.service(), service)
                && same_operation(&span.name, name)
                && text.is_none_or(|text| span.status.message == text)
        };
        if deepest.iter().any(is) {
            return Ok(());
        }
        let names = deepest
            .iter()
            .map(|s| (s.service(), &s.name, &s.status.message));
        Err(format!("{:?}", names.collect::<Vec<_>>()))
    }

    /// Nothing says that a timeout or a deadline struck, nor what a budget was.
    pub(super) fn no_timeout(&self) -> Result<(), String> {
        let is_deadline = |verdict: &Verdict| {
            !matches!(
                verdict,
                Verdict::Ok | Verdict::Failed | Verdict::CancelledByCaller
            )
        };
        for request in self.requests() {
            let hops = request.hops.iter();
            let calls = hops.clone().flat_map(|hop| &hop.calls);
            let timeout = calls.clone().find_map(|call| call.timeout);
            let remaining = hops.clone().find_map(|hop| hop.remaining_in);
            let verdicts = hops.map(|hop| hop.verdict);
            let verdict = verdicts
                .chain(calls.map(|call| call.verdict))
                .find(is_deadline);
            if request.outcome == Outcome::Missed
                || request.budget.is_some()
                || timeout.is_some()
                || remaining.is_some()
                || verdict.is_some()
            {
                let is = (request.outcome, request.budget, timeout, remaining, verdict);
                return Err(format!("{}: {is:?}", request.operation));
            }
        }
        Ok(())
    }

    /// What holds of every analysis: the ledger sums to the whole, and nothing in it is negative.
    pub(super) fn adds_up(&self) -> Result<(), String> {
        for request in self.requests() {
            let sum: i64 = request.ledger.iter().map(|row| row.time.0).sum();
            let times = request.ledger.iter().map(|row| row.time);
            let locals = request.hops.iter().map(|hop| hop.local);
            if sum != request.elapsed.0 || times.chain(locals).any(|time| time < Nanos::ZERO) {
                return Err(format!("{}: {:?}", request.operation, request.ledger));
            }
        }
        Ok(())
    }
}

pub(super) fn analysed(trace: &Trace) -> Analysis {
    analyse(trace, &Policy::default(), &Typical::default())
}

/// What each span of the longest request of a trace took of the blocking path. The ledger knows
/// services, not spans: so each span is made a service of its own, all on one host, and what it
/// did itself is the service's local time.
fn by_span(trace: &Trace) -> Vec<(&Span, Nanos)> {
    let apart = |(i, span): (usize, &Span)| {
        let name = |text: &str| Value::Str(text.into());
        let own = [
            ("service.name", name(&i.to_string())),
            ("host.name", name("one")),
        ];
        Span {
            kind: Kind::Internal,
            attributes: Attributes::default(),
            events: Vec::new(),
            resource: Resource::new(own.into_iter().collect()).into(),
            ..span.clone()
        }
    };
    let spans = trace.spans.iter().enumerate().map(apart).collect();
    let analysis = analysed(&Trace {
        id: trace.id,
        logs: Vec::new(),
        spans,
    });
    let longest = analysis
        .requests
        .iter()
        .max_by_key(|request| request.elapsed);
    let rows = longest.iter().flat_map(|request| &request.ledger);
    rows.filter(|row| row.part == Part::Local)
        .filter_map(|row| {
            Some((
                trace.spans.get(row.service.parse::<usize>().ok()?)?,
                row.time,
            ))
        })
        .collect()
}
