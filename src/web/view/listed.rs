//! One row of the list of requests.

use super::words::{link_to, name};
use crate::model::{Nanos, Part};
use crate::query::ledger;
use crate::query::minibar::mini_bar;
use crate::query::requests::Row;
use crate::report::number;
use crate::report::svg::{Badge, Escaped, Icon, MiniBar};

/// A row, ready to print.
#[derive(Debug)]
pub(in crate::web) struct ListedView {
    pub(in crate::web) href: String,
    pub(in crate::web) when: String,
    pub(in crate::web) instant: String,
    pub(in crate::web) outcome: String,
    pub(in crate::web) service: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) mini: Option<String>,
    pub(in crate::web) used: String,
    pub(in crate::web) over: bool,
    pub(in crate::web) elapsed: String,
    pub(in crate::web) budget: String,
    pub(in crate::web) held: String,
    pub(in crate::web) held_title: String,
    pub(in crate::web) held_time: String,
    pub(in crate::web) held_share: String,
    pub(in crate::web) surfaced: String,
    pub(in crate::web) wasted: String,
    pub(in crate::web) wasted_class: &'static str,
}

impl ListedView {
    /// `day` stands over the list: rows of that day show their time alone.
    pub(in crate::web) fn new(request: &Row, day: &str) -> Self {
        let instant = number::instant(request.start);
        // Of a request that was met the largest part is shown without a sign: nobody is to blame.
        let blame = request.culprit.is_some();
        let largest = match (&request.culprit, &request.largest) {
            (Some(of), _) => Some((&of.service, &of.operation, of.part, &of.to, of.consumed)),
            (None, Some(of)) => Some((&of.service, &of.operation, of.part, &of.to, of.time)),
            (None, None) => None,
        };
        let part = largest.map_or(Part::TransitOut, |(_, _, part, ..)| part);
        let held_time = largest.map(|(.., time)| time);
        let held_title = largest.map_or_else(String::new, |(service, operation, part, to, _)| {
            name(&ledger::name(service, operation, part, to.as_ref(), true))
        });
        let whole = request.budget.unwrap_or(request.elapsed).at_least_zero();
        let sign = if blame {
            format!(r#"{}<span class="sr">culprit </span>"#, Icon::Culprit)
        } else {
            r#"<span class="ic0"></span>"#.to_owned()
        };
        let wasted = request.wasted > Nanos::ZERO;
        Self {
            href: link_to(request.trace_id, request.request),
            when: clock(&instant, day),
            outcome: Badge::Outcome(request.outcome).to_string(),
            service: name(&request.service),
            operation: name(&request.operation),
            mini: request.budget.map(|_| {
                MiniBar {
                    bar: mini_bar(
                        request.elapsed,
                        request.budget,
                        held_time.unwrap_or_default(),
                        blame,
                    ),
                    part,
                }
                .to_string()
            }),
            used: request.budget.map_or_else(
                || number::UNKNOWN.to_owned(),
                |budget| number::percent_whole(request.elapsed, budget),
            ),
            over: request
                .budget
                .is_some_and(|budget| request.elapsed > budget),
            elapsed: number::ms(request.elapsed),
            budget: number::ms_or_unknown(request.budget),
            held: largest
                .map(|_| format!("{sign} <bdi dir=\"ltr\">{}</bdi>", Escaped(&held_title)))
                .unwrap_or_default(),
            held_title,
            held_time: number::ms_or_unknown(held_time),
            held_share: held_time.map_or_else(
                || number::UNKNOWN.to_owned(),
                |time| number::percent_whole(time, whole),
            ),
            surfaced: request
                .surfaced
                .as_ref()
                .map(|surfaced| {
                    format!(
                        "{} <bdi>{}</bdi>",
                        Icon::Surfaced,
                        Escaped(&name(&surfaced.service))
                    )
                })
                .unwrap_or_default(),
            wasted: if wasted {
                number::ms(request.wasted)
            } else {
                number::UNKNOWN.to_owned()
            },
            wasted_class: if wasted { "late-t" } else { "qq" },
            instant,
        }
    }
}

/// The time of day of an instant, with the day before it if that is another; the column's head
/// has the zone.
fn clock(instant: &str, day: &str) -> String {
    let instant = instant.trim_end_matches(" UTC");
    let time = instant.strip_prefix(day).unwrap_or(instant);
    time.trim_start().to_owned()
}

/// The day of a request's start.
pub(in crate::web) fn day(request: &Row) -> String {
    let instant = number::instant(request.start);
    instant.split(' ').next().unwrap_or_default().to_owned()
}
