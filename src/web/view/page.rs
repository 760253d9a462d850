//! One request's page.

use super::detail::DetailView;
use super::findings::{self, FindingView};
use super::ledger::LedgerView;
use super::row::RowView;
use super::window::{Cut, Select, cut, opened, unfolded};
use super::words::{Markup, link_to, name, sentence};
use super::{LONG, SHORT};
use crate::model::{Nanos, Outcome, Request, SpanId};
use crate::query::facts;
use crate::query::story;
use crate::query::waterfall::{Line, Waterfall, fold, waterfall};
use crate::report::number;
use crate::report::svg::{AxisHead, Badge, Escaped, Legend, RowBars, Scale, Strip, display_name};
use crate::store::Stored;

/// Bytes of opened parts on a page; beyond them a link takes their place.
const DETAIL_BYTES: usize = 600_000;

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
    pub(in crate::web) sample: bool,
    pub(in crate::web) headline: Markup,
    pub(in crate::web) second: Option<Markup>,
    pub(in crate::web) facts: Vec<Fact>,
    pub(in crate::web) notes: Vec<Markup>,
    pub(in crate::web) counts: String,
    pub(in crate::web) legend: String,
    pub(in crate::web) axis: String,
    pub(in crate::web) strip: String,
    pub(in crate::web) strip_left: String,
    pub(in crate::web) strip_own: String,
    pub(in crate::web) strip_late: Option<String>,
    pub(in crate::web) outcome: String,
    pub(in crate::web) first_row: usize,
    pub(in crate::web) rows: Vec<LineView>,
    pub(in crate::web) cut: Option<Cut>,
    pub(in crate::web) ledger: LedgerView,
    pub(in crate::web) findings: Vec<FindingView>,
    pub(in crate::web) findings_count: String,
    pub(in crate::web) others: Vec<Other>,
    pub(in crate::web) others_count: String,
    pub(in crate::web) more_others: Option<String>,
}

/// A line of the waterfall.
#[derive(Debug)]
pub(in crate::web) enum LineView {
    Row(Box<RowView>),
    Folded(super::row::FoldedView),
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
    pub(in crate::web) fn new(stored: &Stored, request: &Request, select: Select) -> Self {
        let waterfall = waterfall(request);
        let scale = Scale::new(waterfall.axis_end);
        let lines = lines(&waterfall, select.folded);
        let outcome = Badge::Outcome(request.outcome);
        let (others, more_others) = others(stored, request.request);
        let late = request.budget.map_or(Nanos::ZERO, |budget| {
            (request.elapsed - budget).at_least_zero()
        });
        let (findings, findings_count) = findings::views(request);
        let second = story::second(request);
        Self {
            title: format!(
                "{}: {} {}",
                match request.outcome {
                    Outcome::Cancelled => "Cancelled",
                    Outcome::Missed => "Missed",
                    Outcome::Failed => "Failed",
                    Outcome::NoBudget => "No budget",
                    Outcome::Met => "Met",
                },
                name(&request.service),
                name(&request.operation)
            ),
            service: name(&request.service),
            operation: name(&request.operation),
            when: number::instant(request.start),
            trace_id: request.trace_id.to_string(),
            json: format!("/api/v1/traces/{}", request.trace_id),
            sample: stored.sample,
            headline: sentence(&story::headline(request)),
            second: (!second.0.is_empty()).then(|| sentence(&second)),
            facts: facts::facts(request).into_iter().map(Fact::from).collect(),
            notes: notes(request),
            counts: facts::size(request),
            legend: Legend {
                waterfall: &waterfall,
            }
            .to_string(),
            axis: AxisHead {
                scale,
                ticks: &waterfall.ticks,
                deadline: waterfall.deadline,
            }
            .to_string(),
            strip: Strip {
                stretches: &waterfall.strip,
                rows: &waterfall.rows,
                deadline: waterfall.deadline,
                scale,
            }
            .to_string(),
            strip_left: request.budget.map(number::ms).unwrap_or_default(),
            strip_own: number::ms(request.elapsed - late),
            strip_late: (late > Nanos::ZERO).then(|| format!("+{}", number::ms(late))),
            outcome: outcome.to_string(),
            first_row: select.from + 1,
            cut: cut(request, &lines, select),
            rows: drawn(stored, request, &waterfall, &lines, select, scale),
            ledger: LedgerView::new(request),
            findings_count,
            findings,
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

fn lines(waterfall: &Waterfall, folded: bool) -> Vec<Line> {
    if folded {
        fold(waterfall)
    } else {
        (0..waterfall.rows.len()).map(Line::Row).collect()
    }
}

/// The lines that the page shows, each with its bars; opened parts as far as there is room.
fn drawn(
    stored: &Stored,
    request: &Request,
    waterfall: &Waterfall,
    lines: &[Line],
    select: Select,
    scale: Scale,
) -> Vec<LineView> {
    let mut room = DETAIL_BYTES;
    let mut above = select
        .from
        .checked_sub(1)
        .and_then(|before| lines.get(before))
        .and_then(|line| deadline_of(waterfall, line));
    let mut out = Vec::new();
    for line in lines.iter().skip(select.from).take(select.rows) {
        match line {
            Line::Row(index) => {
                let Some(row) = waterfall.rows.get(*index) else {
                    continue;
                };
                let bars = RowBars {
                    row,
                    above,
                    scale,
                    ticks: &waterfall.ticks,
                };
                let mut view = RowView::new(*index, row, bars.to_string());
                let whole = select.open == Some(*index);
                let detail = DetailView::new(stored, request, row, *index, whole);
                view.open = whole;
                if whole || detail.bytes() <= room {
                    room = room.saturating_sub(detail.bytes());
                    view.detail = Some(detail);
                } else {
                    view.elsewhere = Some(opened(request, select, *index));
                }
                above = row.deadline;
                out.push(LineView::Row(Box::new(view)));
            }
            Line::Folded(folded) => {
                out.push(LineView::Folded(super::row::FoldedView::new(
                    folded,
                    waterfall,
                    above,
                    scale,
                    unfolded(request, select, folded.first),
                )));
                above = waterfall
                    .rows
                    .get(folded.first)
                    .and_then(|row| row.deadline);
            }
        }
    }
    out
}

fn deadline_of(waterfall: &Waterfall, line: &Line) -> Option<Nanos> {
    let index = match line {
        Line::Row(index) => *index,
        Line::Folded(folded) => folded.first,
    };
    waterfall.rows.get(index)?.deadline
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
