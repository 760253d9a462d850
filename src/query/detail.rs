//! An opened row: where its budget comes from, how its time divides, its calls, its spans.

use super::number::{ms, ms_unit};
use super::sources;
use super::story::Sentence;
use super::waterfall::{Row, StretchKind};
use crate::model::{
    Attributes, Call, CallKind, HandedOver, Hop, How, Kind, Nanos, Request, Rule, Source, Span,
    SpanId, StatusCode, Text, Trace, Verdict,
};

/// Spans of a row beyond so many are counted.
const SHOWN_SPANS: usize = 50;
/// Attributes of a span beyond so many are counted.
const SHOWN_ATTRIBUTES: usize = 200;
/// Calls of a row beyond so many are counted.
const SHOWN_CALLS: usize = 200;

/// What an opened row shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detail {
    /// What the sentences explain: the time left on arrival.
    pub left: Option<Nanos>,
    /// Where that comes from.
    pub origin: Vec<Sentence>,
    /// The row's whole time.
    pub elapsed: Nanos,
    /// How it divides; the shares sum to `elapsed`.
    pub shares: Vec<Share>,
    /// Median of successful runs, where known.
    pub typical: Option<Nanos>,
    /// Its calls in order of start.
    pub calls: Vec<CallDetail>,
    /// How many calls are not in `calls`.
    pub calls_left_out: usize,
    /// Requests that it started and did not wait for.
    pub handed_over: Vec<HandedOver>,
    /// Its spans, the entry first.
    pub spans: Vec<SpanDetail>,
    /// How many spans are not in `spans`.
    pub spans_left_out: usize,
}

/// A share of a row's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// What it was spent on.
    pub label: &'static str,
    /// How much.
    pub time: Nanos,
    /// True if it lies after the deadline.
    pub late: bool,
}

/// A call of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDetail {
    /// The callee.
    pub to: Text,
    /// What was asked.
    pub operation: Text,
    /// What is on the far side.
    pub kind: CallKind,
    /// (attempt, attempts), if there was more than one.
    pub attempt: Option<(u32, u32)>,
    /// When, from the request's start.
    pub start: Nanos,
    /// The budget that was passed on.
    pub sent: Option<Nanos>,
    /// The timeout that was set.
    pub timeout: Option<Nanos>,
    /// How long it took.
    pub took: Nanos,
    /// The way there.
    pub transit_out: Option<Nanos>,
    /// The way back.
    pub transit_back: Option<Nanos>,
    /// False if nobody waited for it.
    pub waited: bool,
    /// How it ended.
    pub verdict: Verdict,
}

/// A span of the row.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanDetail {
    /// Its id.
    pub id: SpanId,
    /// Its name.
    pub name: Text,
    /// `server`, `client` ...
    pub kind: &'static str,
    /// `ok`, `error`, `unset`.
    pub status: &'static str,
    /// The status' text; may be empty.
    pub message: Text,
    /// From the row's arrival, on the host's own clock.
    pub start: Nanos,
    /// How long.
    pub elapsed: Nanos,
    /// Its attributes, then those of its resource.
    pub attributes: Vec<AttributeDetail>,
    /// How many attributes are not in `attributes`.
    pub attributes_left_out: usize,
    /// Its events: from the row's arrival, name.
    pub events: Vec<(Nanos, Text)>,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeDetail {
    /// Its key.
    pub key: Text,
    /// Its value, for people.
    pub value: String,
    /// A budget was read from it.
    pub budget: bool,
    /// It belongs to the resource.
    pub resource: bool,
}

/// The detail of a row. `trace` may be an empty one where the spans are not at hand.
pub fn detail(request: &Request, trace: &Trace, row: &Row) -> Detail {
    let Some(hop) = request.hops.get(row.hop) else {
        return Detail::default();
    };
    let mut out = Detail {
        left: row.left,
        elapsed: (row.end - row.start).at_least_zero(),
        shares: shares(row),
        typical: request
            .culprit
            .as_ref()
            .filter(|_| row.culprit)
            .and_then(|culprit| culprit.typical),
        ..Detail::default()
    };
    match row.call.map(|index| hop.calls.get(index)) {
        Some(None) => {}
        Some(Some(call)) => {
            out.origin = origin_of_call(request, hop, call, row);
            let wanted = |span: &&Span| span.span_id == call.span_id;
            let spans: Vec<&Span> = trace.spans.iter().filter(wanted).take(1).collect();
            out.spans = spans_of(request, hop, &spans);
        }
        None => {
            out.origin = origin_of_hop(request, hop);
            out.calls = hop
                .calls
                .iter()
                .take(SHOWN_CALLS)
                .map(call_detail)
                .collect();
            out.calls_left_out = hop.calls.len() - out.calls.len();
            out.handed_over.clone_from(&hop.handed_over);
            let spans: Vec<&Span> = hop
                .spans
                .iter()
                .take(SHOWN_SPANS)
                .filter_map(|&index| trace.spans.get(index as usize))
                .collect();
            out.spans = spans_of(request, hop, &spans);
            out.spans_left_out = hop.spans.len().saturating_sub(SHOWN_SPANS);
        }
    }
    out
}

/// How a row's time divides; only what there is.
fn shares(row: &Row) -> Vec<Share> {
    use StretchKind::{
        Backoff, Beside, Held, HeldDependency, HeldUnreported, Late, LateDependency, LateWaiting,
        Transit, Waiting,
    };
    let labels: [(&'static str, &[StretchKind], bool); 7] = [
        (
            "on the path, before the deadline",
            &[Held, HeldDependency, HeldUnreported],
            false,
        ),
        ("beside the path, before the deadline", &[Beside], false),
        ("waiting for calls", &[Waiting], false),
        ("network, around its calls", &[Transit], false),
        ("between attempts", &[Backoff], false),
        ("own work after the deadline", &[Late, LateDependency], true),
        ("waiting after the deadline", &[LateWaiting], true),
    ];
    labels
        .into_iter()
        .filter_map(|(label, kinds, late)| {
            let time: Nanos = row
                .stretches
                .iter()
                .filter(|stretch| kinds.contains(&stretch.kind))
                .map(|stretch| stretch.end - stretch.start)
                .sum();
            (time > Nanos::ZERO).then_some(Share { label, time, late })
        })
        .collect()
}

fn origin_of_hop(request: &Request, hop: &Hop) -> Vec<Sentence> {
    let source = &hop.remaining_in_source;
    let service = hop.service.as_str();
    let caller = hop.parent.and_then(|parent| request.hops.get(parent));
    let entry = caller.and_then(|caller| {
        let call = caller.calls.iter().find(|call| call.hop == Some(hop.id))?;
        Some((caller, call))
    });
    let start = Sentence::default().strong(format!("{}.", source.how.as_str()));
    let unreadable = request
        .findings
        .iter()
        .any(|finding| finding.rule == Rule::BadDeadlineValue && finding.service == hop.service);
    let told = if unreadable {
        format!("What {service} was sent cannot be read.")
    } else {
        format!("{service} was sent no deadline.")
    };
    let first = match (source.how, entry) {
        (How::Observed, _) => read(start.plain(format!(" {service} says so itself")), source),
        (How::Sent, Some((caller, _))) => read(
            start.plain(format!(" {} says what it sent", caller.service)),
            source,
        ),
        (How::Sent, None) => read(start.plain(" The caller says what it sent"), source),
        (How::Inherited, Some((caller, call))) => {
            start.plain(format!(" {told} {}", inherited(hop, caller, call)))
        }
        (How::Inherited, None) if source.key.is_some() => read(
            start.plain(format!(" {told} Its caller says how long it waits")),
            source,
        ),
        (How::Inherited, None) => start.plain(format!(" {told}")),
        (How::Configured, _) => start.plain(" The configuration gives this route its budget."),
        (How::Inferred, _) => {
            start.plain(" From the length of a call that timed out; the least trusted source.")
        }
        (How::None, _) if hop.own_deadline.is_some() => {
            start.plain(format!(" {told} It has a limit of its own."))
        }
        (How::None, _) => start.plain(format!(" No budget is known for {service}.")),
    };
    let mut out = vec![first];
    out.extend(effective(request, hop, "its own"));
    out.extend(sources::evidence(hop).map(|words| {
        let start = Sentence::default().plain("Its spans say: ");
        start.code(words.as_str()).plain(".")
    }));
    out
}

/// What the caller would still wait, in numbers.
fn inherited(hop: &Hop, caller: &Hop, call: &Call) -> String {
    let at = ms_unit(call.start);
    let transit = hop.start - call.start;
    let less = if transit > Nanos::ZERO {
        format!(", less {} of transit", ms_unit(transit))
    } else {
        String::new()
    };
    let left = caller.deadline.map(|deadline| deadline - call.start);
    let name = &caller.service;
    match (left, call.timeout) {
        (Some(left), Some(timeout)) if timeout < left => format!(
            "{name} would wait {} when it called at {at}, its own timeout{less}.",
            ms_unit(timeout)
        ),
        (Some(left), _) => format!(
            "{name} had {} left when it called at {at}{less}.",
            ms_unit(left)
        ),
        (None, Some(timeout)) => format!(
            "{name} would wait {} when it called at {at}{less}.",
            ms_unit(timeout)
        ),
        (None, None) => format!("{name} called at {at}."),
    }
}

/// ` in KEY = VALUE on span ID.`
fn read(sentence: Sentence, source: &Source) -> Sentence {
    let sentence = match (&source.key, &source.value) {
        (Some(key), Some(value)) => sentence.plain(" in ").code(format!("{key} = {value}")),
        (Some(key), None) => sentence.plain(" in ").code(key.as_str()),
        (None, Some(value)) => sentence.plain(" in ").code(value.as_str()),
        (None, None) => sentence,
    };
    match source.span_id {
        Some(span) => sentence
            .plain(" on span ")
            .code(span.to_string())
            .plain("."),
        None => sentence.plain("."),
    }
}

/// The effective deadline of a hop and who set it: the hop itself is `itself`.
fn effective(request: &Request, hop: &Hop, itself: &str) -> Option<Sentence> {
    let deadline = hop.deadline?;
    let from = request.hops.get(hop.deadline_from?)?;
    let start = Sentence::default().plain(format!("Effective deadline: {}", ms_unit(deadline)));
    let told = hop.remaining_in.filter(|_| hop.own_deadline > hop.deadline);
    let start = match told {
        Some(told) => start.plain(format!(" (not the {} ms that it was told)", ms(told))),
        None => start,
    };
    if from.id == hop.id {
        return Some(start.plain(format!(", {itself}.")));
    }
    let source = match from.id {
        0 => &request.budget_source,
        _ => &from.remaining_in_source,
    };
    let start = start.plain(", from ");
    let start = match (&source.key, &source.value) {
        (Some(key), Some(value)) => start.code(format!("{key} = {value}")).plain(" on "),
        (Some(key), None) => start.code(key.as_str()).plain(" on "),
        _ => start,
    };
    let start = start.plain(from.service.as_str());
    Some(match source.span_id {
        Some(span) => start
            .plain("\u{2019}s span ")
            .code(span.to_string())
            .plain("."),
        None => start.plain("."),
    })
}

fn origin_of_call(request: &Request, hop: &Hop, call: &Call, row: &Row) -> Vec<Sentence> {
    let name = &hop.service;
    let at = ms_unit(call.start);
    let left = hop.deadline.map(|deadline| deadline - call.start);
    let words = match (left, call.timeout) {
        (Some(left), Some(timeout)) if timeout < left => format!(
            "{name} had {} left when it called at {at}, and set a timeout of {}.",
            ms_unit(left),
            ms_unit(timeout)
        ),
        (Some(left), _) => format!("{name} had {} left when it called at {at}.", ms_unit(left)),
        (None, Some(timeout)) => {
            format!(
                "{name} set a timeout of {} when it called at {at}.",
                ms_unit(timeout)
            )
        }
        (None, None) => format!("No budget is known for {name}, which called at {at}."),
    };
    let mut out = vec![Sentence::default().plain(words)];
    let sources = [
        (&call.timeout_source, "The timeout was read"),
        (&call.remaining_out_source, "What was passed on was read"),
    ];
    let told = sources
        .into_iter()
        .filter(|(source, _)| source.key.is_some());
    out.extend(told.map(|(source, words)| read(Sentence::default().plain(words), source)));
    if row.left.is_some() {
        let owner = format!("{}'s", hop.service);
        out.extend(effective(request, hop, &owner).filter(|_| row.deadline == hop.deadline));
    }
    if call.kind == CallKind::Unreported {
        let words = format!("{} left no spans: hung, killed or not sampled.", call.to);
        out.push(Sentence::default().plain(words));
    }
    out
}

fn call_detail(call: &Call) -> CallDetail {
    CallDetail {
        to: call.to.clone(),
        operation: call.operation.clone(),
        kind: call.kind,
        attempt: (call.attempts > 1).then_some((call.attempt, call.attempts)),
        start: call.start,
        sent: call.remaining_out,
        timeout: call.timeout,
        took: call.elapsed,
        transit_out: call.transit_out,
        transit_back: call.transit_back,
        waited: call.waited,
        verdict: call.verdict,
    }
}

fn spans_of(request: &Request, hop: &Hop, spans: &[&Span]) -> Vec<SpanDetail> {
    let Some(first) = spans.first() else {
        return Vec::new();
    };
    // What was read from a hop's spans is its own budget, that of those it called, or the request's.
    let callees = hop
        .calls
        .iter()
        .filter_map(|call| request.hops.get(call.hop?));
    let sources: Vec<&Source> = [&request.budget_source, &hop.remaining_in_source]
        .into_iter()
        .chain(callees.map(|callee| &callee.remaining_in_source))
        .filter(|source| {
            spans
                .iter()
                .any(|span| source.span_id == Some(span.span_id))
        })
        .collect();
    spans
        .iter()
        .map(|span| span_detail(span, first, &sources))
        .collect()
}

fn span_detail(span: &Span, first: &Span, sources: &[&Source]) -> SpanDetail {
    let read = |key: &str| {
        sources.iter().any(|source| {
            source.span_id == Some(span.span_id) && source.key.as_deref() == Some(key)
        })
    };
    let listed = |attributes: &Attributes, resource: bool| -> Vec<AttributeDetail> {
        attributes
            .iter()
            .map(|(key, value)| AttributeDetail {
                key: key.into(),
                value: value.to_string(),
                budget: read(key),
                resource,
            })
            .collect()
    };
    let mut attributes = listed(&span.attributes, false);
    attributes.extend(listed(&span.resource.attributes, true));
    let left_out = attributes.len().saturating_sub(SHOWN_ATTRIBUTES);
    attributes.truncate(SHOWN_ATTRIBUTES);
    SpanDetail {
        id: span.span_id,
        name: span.name.clone(),
        kind: match span.kind {
            Kind::Unspecified => "unspecified",
            Kind::Internal => "internal",
            Kind::Server => "server",
            Kind::Client => "client",
            Kind::Producer => "producer",
            Kind::Consumer => "consumer",
            Kind::Other(_) => "of unknown kind",
        },
        status: match span.status.code {
            StatusCode::Unset => "unset",
            StatusCode::Ok => "ok",
            StatusCode::Error => "error",
            StatusCode::Other(_) => "unknown",
        },
        message: span.status.message.clone(),
        start: span.start.since(first.start),
        elapsed: span.end.since(span.start).at_least_zero(),
        attributes,
        attributes_left_out: left_out,
        events: span
            .events
            .iter()
            .take(SHOWN_ATTRIBUTES)
            .map(|event| (event.time.since(first.start), event.name.clone()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Resource, UnixNanos, Value};
    use crate::query::fixtures::{chain, fan_out, span};
    use crate::query::waterfall::waterfall;

    fn told(detail: &Detail) -> Vec<String> {
        detail
            .origin
            .iter()
            .map(|sentence| sentence.to_string().replace('\u{a0}', " "))
            .collect()
    }

    fn opened(request: &Request, row: usize) -> Detail {
        detail(request, &Trace::default(), &waterfall(request).rows[row])
    }

    #[test]
    fn an_inherited_budget_is_explained_as_in_the_reference() {
        let detail = opened(&chain(), 3);
        assert_eq!(
            told(&detail),
            [
                "inherited. pricing was sent no deadline. inventory had 498 ms left when it called at \
                 502 ms, less 1 ms of transit.",
                "Effective deadline: 1,000 ms, from deadline.timeout_ms = 1000 on client\u{2019}s span \
                 0000000000000001."
            ]
        );
        let shares: Vec<_> = detail
            .shares
            .iter()
            .map(|share| (share.label, share.time.0 / 1_000_000, share.late))
            .collect();
        assert_eq!(
            shares,
            [
                ("on the path, before the deadline", 497, false),
                ("own work after the deadline", 303, true)
            ]
        );
        assert_eq!(
            detail.elapsed,
            detail.shares.iter().map(|share| share.time).sum()
        );
    }

    #[test]
    fn every_row_divides_without_rest() {
        let request = fan_out();
        let drawn = waterfall(&request);
        for row in &drawn.rows {
            let detail = detail(&request, &Trace::default(), row);
            assert_eq!(
                detail.elapsed,
                detail.shares.iter().map(|share| share.time).sum(),
                "{}",
                row.name
            );
            assert!(!detail.origin.is_empty());
        }
    }

    #[test]
    fn what_it_was_told_beyond_the_deadline_is_said() {
        let detail = opened(&fan_out(), 12);
        assert_eq!(
            told(&detail)[1],
            "Effective deadline: 1,500 ms (not the 250 ms that it was told), from \
             deadline.timeout_ms = 1500 on edge\u{2019}s span 0000000000000001."
        );
    }

    #[test]
    fn keys_that_a_budget_was_read_from_are_marked() {
        let mut request = chain();
        request.hops[0].spans = vec![0];
        let trace = Trace {
            spans: vec![Span {
                trace_id: request.trace_id,
                span_id: span(1),
                name: "POST /orders".into(),
                kind: Kind::Client,
                start: UnixNanos(5),
                end: UnixNanos(9),
                attributes: [
                    ("deadline.timeout_ms", Value::Int(1000)),
                    ("http.request.method", Value::Str("POST".into())),
                ]
                .into_iter()
                .collect(),
                resource: Arc::new(Resource::new(
                    [("service.name", Value::Str("client".into()))]
                        .into_iter()
                        .collect(),
                )),
                ..Span::default()
            }],
            ..Trace::default()
        };
        let detail = detail(&request, &trace, &waterfall(&request).rows[0]);
        let marked: Vec<_> = detail.spans[0]
            .attributes
            .iter()
            .map(|attribute| (attribute.key.as_str(), attribute.budget, attribute.resource))
            .collect();
        assert_eq!(
            marked,
            [
                ("deadline.timeout_ms", true, false),
                ("http.request.method", false, false),
                ("service.name", false, true)
            ]
        );
        assert_eq!(detail.calls[0].to, "orders");
    }
}
