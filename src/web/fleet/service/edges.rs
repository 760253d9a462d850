//! Callers and callees.

use crate::model::{CallKind, Nanos};
use crate::query::fleet::services::Edge;
use crate::report::number;
use crate::report::svg::{Escaped, Icon};
use crate::web::fleet::parts::{kind_word, ms, named, percent, service_link, times};
use crate::web::period::Period;
use crate::web::view::name;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a look of its own cell"
)]
pub(super) struct EdgeView {
    pub(super) key: String,
    /// The other side, as a link where it is a service.
    pub(super) name: String,
    pub(super) operation: String,
    pub(super) word: &'static str,
    pub(super) culprit: String,
    pub(super) calls: String,
    pub(super) sent: String,
    pub(super) no_deadline: bool,
    pub(super) left: String,
    pub(super) passed: String,
    pub(super) breaks: bool,
    pub(super) missed: String,
    pub(super) is_missed: bool,
    pub(super) typical: String,
    pub(super) p50: String,
    pub(super) p95: String,
    pub(super) times: String,
    pub(super) strong: bool,
    pub(super) notes: String,
}

impl EdgeView {
    /// `caller`: the other side is the caller.
    pub(super) fn new(edge: &Edge, caller: bool, period: &Period) -> Self {
        let other: &str = if caller { &edge.service } else { &edge.to };
        let label = name(other);
        let is_service = caller || edge.kind == CallKind::Hop;
        let share = edge.passing.share();
        let breaks = edge.passing.not_propagated > 0;
        let none_sent = share.whole > 0 && share.part == 0;
        let mut notes = Vec::new();
        if edge.attempts.0 > 1005 {
            notes.push(format!(
                "{} attempts per call",
                edge.attempts.with_decimals(2)
            ));
        }
        if let (Some(p5), Some(p95)) = (edge.timeout.p5, edge.timeout.p95) {
            notes.push(if p5 == p95 {
                format!("own timeout {}", number::ms_unit(p50(edge, p95)))
            } else {
                format!("own timeout {} to {}", number::ms(p5), number::ms_unit(p95))
            });
        }
        if edge.passing.reset > 0 {
            notes.push(format!(
                "{} told more than was left",
                number::sum(edge.passing.reset)
            ));
        }
        if edge.culprit > 0 {
            notes.push(format!("culprit in {} misses", number::sum(edge.culprit)));
        }
        let operation = edge
            .operation
            .as_ref()
            .map_or_else(String::new, |operation| name(operation));
        Self {
            key: format!("{label} {operation}"),
            name: if is_service {
                format!(
                    "<b>{}</b>",
                    named(&label, &service_link(period, other, None))
                )
            } else {
                let text = Escaped(&label).to_string();
                format!("<b><bdi>{text}</bdi></b>")
            },
            operation,
            word: kind_word(edge.kind),
            culprit: if edge.culprit > 0 {
                format!("{} ", Icon::Culprit)
            } else {
                String::new()
            },
            calls: number::sum(edge.calls),
            sent: if none_sent {
                "none".to_owned()
            } else {
                ms(edge.sent.p50)
            },
            no_deadline: none_sent,
            left: ms(edge.remaining.p50),
            passed: percent(share),
            breaks,
            missed: number::share(edge.missed, edge.calls, 1),
            is_missed: edge.missed > 0,
            typical: ms(edge.typical),
            p50: ms(edge.elapsed.p50),
            p95: ms(edge.elapsed.p95),
            times: edge.times.map_or_else(|| number::UNKNOWN.to_owned(), times),
            strong: edge.times.is_some_and(|times| times.0 >= 3000),
            notes: notes.join(", "),
        }
    }
}

fn p50(edge: &Edge, otherwise: Nanos) -> Nanos {
    edge.timeout.p50.unwrap_or(otherwise)
}
