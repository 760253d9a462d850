//! Calls that were tried more than once.

use super::window::Select;
use super::words::name;
use crate::model::Request;
use crate::query::attempts::{Attempt, Tried, attempts};
use crate::query::waterfall::Waterfall;
use crate::report::number;
use crate::report::svg::Badge;

/// Calls and attempts that are shown.
const SHOWN: usize = 10;

/// The attempts of one call, ready to print.
#[derive(Debug)]
pub(in crate::web) struct TriedView {
    pub(in crate::web) edge: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) sum: String,
    pub(in crate::web) label: String,
    pub(in crate::web) share_of: &'static str,
    pub(in crate::web) attempts: Vec<AttemptView>,
    pub(in crate::web) more: Option<String>,
}

#[derive(Debug)]
pub(in crate::web) struct AttemptView {
    pub(in crate::web) number: String,
    pub(in crate::web) href: Option<String>,
    pub(in crate::web) start: String,
    pub(in crate::web) waited: String,
    pub(in crate::web) left: String,
    pub(in crate::web) sent: String,
    pub(in crate::web) timeout: String,
    pub(in crate::web) took: String,
    pub(in crate::web) share: String,
    pub(in crate::web) badge: String,
}

/// The calls that were tried again, the costliest first.
pub(super) fn tried(request: &Request, waterfall: &Waterfall, select: &Select) -> Vec<TriedView> {
    attempts(request, Some(waterfall))
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(nth, tried)| view(request, nth, tried, select))
        .collect()
}

fn view(request: &Request, nth: usize, tried: &Tried, select: &Select) -> TriedView {
    let of = if request.budget.is_some() {
        "of budget"
    } else {
        "of the time"
    };
    let (part, whole) = tried.share;
    let edge = format!("{} \u{2192} {}", tried.service, tried.to);
    let more = tried.attempts.len().saturating_sub(SHOWN);
    TriedView {
        label: format!("Attempts {}: {}", number::count(nth + 1), name(&edge)),
        edge: name(&edge),
        operation: name(&tried.operation),
        sum: format!(
            "{} took {}, {} {of}",
            number::counted(tried.attempts.len(), "attempt", "attempts"),
            number::ms_unit(tried.consumed),
            number::percent(part, whole)
        ),
        share_of: of,
        attempts: tried
            .attempts
            .iter()
            .take(SHOWN)
            .map(|one| attempt(request, one, select))
            .collect(),
        more: (more > 0).then(|| {
            format!(
                "{} more; the JSON has them all.",
                number::counted(more, "attempt", "attempts")
            )
        }),
    }
}

fn attempt(request: &Request, attempt: &Attempt, select: &Select) -> AttemptView {
    let href = attempt.row.map(|row| {
        let select = Select {
            open: Some(row),
            ..select.anywhere()
        };
        format!("{}#r{row}", select.href(request))
    });
    let (part, whole) = attempt.share;
    AttemptView {
        number: format!(
            "{}/{}",
            number::count(attempt.attempt as usize),
            number::count(attempt.attempts as usize)
        ),
        href,
        start: number::ms(attempt.start),
        waited: number::ms_or_unknown(attempt.waited),
        left: number::ms_or_unknown(attempt.left),
        sent: number::ms_or_unknown(attempt.sent),
        timeout: number::ms_or_unknown(attempt.timeout),
        took: number::ms(attempt.elapsed),
        share: number::percent(part, whole),
        badge: Badge::Verdict(attempt.verdict).to_string(),
    }
}
