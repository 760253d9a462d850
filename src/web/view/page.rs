//! One request's page.

use super::attempts::{TriedView, tried};
use super::clocks::ClocksView;
use super::findings::{self, FindingView};
use super::ledger::LedgerView;
use super::waterfall::outcome_title;
use super::window::{Select, TextLink};
use super::words::{Markup, filter_link, link_to, name, sentence, service_link};
use super::{LONG, SHORT};
use crate::model::{Request, SpanId};
use crate::query::facts;
use crate::query::filter::Filter;
use crate::query::story;
use crate::report::number;
use crate::report::svg::{Badge, Escaped, display_name};
use crate::settings::TraceUrl;
use crate::store::Stored;
use crate::web::laid::Laid;
use crate::web::period::Around;

/// Requests of the same trace that are linked.
const OTHERS: usize = 20;

/// The page, ready to print.
#[derive(Debug)]
pub(in crate::web) struct RequestView {
    pub(in crate::web) title: String,
    pub(in crate::web) service: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) when: String,
    pub(in crate::web) trace_id: String,
    pub(in crate::web) json: String,
    pub(in crate::web) otlp: String,
    pub(in crate::web) compare: String,
    pub(in crate::web) out: Option<TextLink>,
    pub(in crate::web) sample: bool,
    pub(in crate::web) headline: Markup,
    pub(in crate::web) second: Option<Markup>,
    pub(in crate::web) next: Vec<TextLink>,
    pub(in crate::web) facts: Vec<Fact>,
    pub(in crate::web) notes: Vec<Markup>,
    pub(in crate::web) from: Option<TextLink>,
    pub(in crate::web) ledger: LedgerView,
    pub(in crate::web) findings: Vec<FindingView>,
    pub(in crate::web) findings_count: String,
    pub(in crate::web) tried: Vec<TriedView>,
    pub(in crate::web) clocks: ClocksView,
    pub(in crate::web) others: Vec<Other>,
    pub(in crate::web) others_count: String,
    pub(in crate::web) more_others: Option<String>,
}

/// A label over a value.
#[derive(Debug)]
pub(in crate::web) struct Fact {
    pub(in crate::web) name: &'static str,
    pub(in crate::web) value: String,
    pub(in crate::web) late: bool,
    pub(in crate::web) more: Option<String>,
}

impl From<facts::Fact> for Fact {
    fn from(fact: facts::Fact) -> Self {
        Self {
            name: fact.label,
            value: display_name(&fact.value, SHORT * 2),
            late: fact.late,
            more: (!fact.more.is_empty()).then_some(fact.more),
        }
    }
}

/// Another request of the trace.
#[derive(Debug)]
pub(in crate::web) struct Other {
    pub(in crate::web) href: String,
    pub(in crate::web) badge: String,
    pub(in crate::web) name: String,
    pub(in crate::web) about: String,
}

impl RequestView {
    pub(in crate::web) fn new(laid: &Laid, select: &Select, trace_url: Option<&TraceUrl>) -> Self {
        let (stored, request) = (&laid.stored, laid.request());
        let (others, more_others) = others(stored, request.request);
        let (findings, findings_count) = findings::views(request, &Around::of(request.start));
        let second = story::second(request);
        let path = link_to(request.trace_id, request.request);
        Self {
            title: format!(
                "{}: {} {}",
                outcome_title(request.outcome),
                name(&request.service),
                name(&request.operation)
            ),
            service: name(&request.service),
            operation: name(&request.operation),
            when: number::instant(request.start),
            trace_id: request.trace_id.to_string(),
            json: format!("/api/v1{path}"),
            otlp: format!("/api/v1/traces/{}/otlp", request.trace_id),
            compare: format!("{path}/compare"),
            out: trace_url.map(|url| TextLink {
                href: url.of(request.trace_id, request.request),
                text: format!("Open in {}", name(url.host())),
            }),
            sample: stored.sample,
            headline: sentence(&story::headline(request)),
            second: (!second.0.is_empty()).then(|| sentence(&second)),
            next: next(request),
            facts: facts::facts(request).into_iter().map(Fact::from).collect(),
            notes: notes(request),
            from: handed_over_by(stored, request),
            ledger: LedgerView::new(request),
            findings_count,
            findings,
            tried: tried(request, laid.waterfall(false), select),
            clocks: ClocksView::new(request, &stored.trace),
            others_count: number::counted(
                stored.analysis.requests.len() - 1,
                "request",
                "requests",
            ),
            others,
            more_others,
        }
    }
}

/// What one wants to know next: of the culprit, then of where the failure surfaced.
fn next(request: &Request) -> Vec<TextLink> {
    let mut out = Vec::new();
    let around = Around::of(request.start);
    let operation = |service: &str, operation: &str| TextLink {
        href: service_link(&around, service, operation),
        text: format!("{} over time", name(&format!("{service} {operation}"))),
    };
    if let Some(culprit) = &request.culprit {
        out.push(operation(&culprit.service, &culprit.operation));
        let mut pairs = vec![
            ("culprit.service", culprit.service.as_str()),
            ("culprit.operation", culprit.operation.as_str()),
        ];
        pairs.extend(culprit.to.as_deref().map(|to| ("culprit.to", to)));
        let short = pairs.iter().map(|(_, text)| text.len()).sum::<usize>() < LONG;
        if let Some(filter) = Filter::equal(&pairs).filter(|_| short) {
            out.push(TextLink {
                href: filter_link(&filter),
                text: "requests with this culprit".to_owned(),
            });
        }
    } else {
        out.push(operation(&request.service, &request.operation));
    }
    if let Some(surfaced) = &request.surfaced
        && request.culprit.as_ref().is_none_or(|culprit| {
            (&culprit.service, &culprit.operation) != (&surfaced.service, &surfaced.operation)
        })
    {
        out.push(operation(&surfaced.service, &surfaced.operation));
    }
    out
}

/// The request of the trace that handed this one over.
fn handed_over_by(stored: &Stored, request: &Request) -> Option<TextLink> {
    let this = |hop: &crate::model::Hop| {
        let mut all = hop.handed_over.iter();
        all.any(|one| (one.trace_id, one.request) == (request.trace_id, request.request))
    };
    let mut all = stored.analysis.requests.iter();
    let (from, hop) = all.find_map(|one| Some((one, one.hops.iter().find(|hop| this(hop))?)))?;
    Some(TextLink {
        href: format!(
            "{}?span={}#span-{}",
            link_to(from.trace_id, from.request),
            hop.span_id,
            hop.span_id
        ),
        text: name(&format!("{} {}", hop.service, hop.operation)),
    })
}

/// What qualifies the numbers.
fn notes(request: &Request) -> Vec<Markup> {
    let mut out = Vec::new();
    if !request.complete {
        out.push(Markup(format!(
            "<b>Incomplete.</b> <span class=\"q\">Numbers may change when the rest arrives (revision\u{a0}{}).</span>",
            request.revision
        )));
    }
    out.extend(request.notes.iter().map(|note| {
        let text = display_name(&note.to_string(), LONG);
        Markup(format!(
            "<span class=\"q\"><bdi dir=\"ltr\">{}</bdi>.</span>",
            Escaped(&text)
        ))
    }));
    out
}

fn others(stored: &Stored, this: SpanId) -> (Vec<Other>, Option<String>) {
    let requests = stored
        .analysis
        .requests
        .iter()
        .filter(|request| request.request != this);
    let out = requests
        .clone()
        .take(OTHERS)
        .map(|request| Other {
            href: link_to(request.trace_id, request.request),
            badge: Badge::Outcome(request.outcome).to_string(),
            name: name(&format!("{} {}", request.service, request.operation)),
            about: format!(
                "{}, {}",
                number::instant(request.start),
                number::ms_unit(request.elapsed)
            ),
        })
        .collect();
    let more = requests.count().saturating_sub(OTHERS);
    let more = (more > 0).then(|| format!("{} more; the JSON has them all.", number::count(more)));
    (out, more)
}
