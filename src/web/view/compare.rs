//! A request beside a good one.

use super::words::{link_to, name, service_link};
use crate::model::{Nanos, Request};
use crate::query::compare::{Comparison, Good, HopDifference, Side};
use crate::report::number;
use crate::report::svg::Badge;
use crate::web::period::Around;

/// Levels that a name is indented by.
const MOST_LEVELS: usize = 12;

/// The comparison, ready to print.
#[derive(Debug)]
pub(in crate::web) struct CompareView {
    pub(in crate::web) title: String,
    pub(in crate::web) service: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) back: String,
    pub(in crate::web) json: String,
    pub(in crate::web) outcome: String,
    pub(in crate::web) this_when: String,
    pub(in crate::web) this_took: String,
    /// What was looked at.
    pub(in crate::web) looked: String,
    pub(in crate::web) list: String,
    pub(in crate::web) good: Option<GoodView>,
}

#[derive(Debug)]
pub(in crate::web) struct GoodView {
    pub(in crate::web) href: String,
    pub(in crate::web) when: String,
    pub(in crate::web) took: String,
    pub(in crate::web) alike: String,
    pub(in crate::web) rows: Vec<HopView>,
    pub(in crate::web) this: String,
    pub(in crate::web) good: String,
    pub(in crate::web) difference: String,
    pub(in crate::web) more: Option<String>,
}

#[derive(Debug)]
pub(in crate::web) struct HopView {
    pub(in crate::web) level: &'static str,
    pub(in crate::web) name: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) nth: Option<String>,
    pub(in crate::web) href: String,
    pub(in crate::web) this: SideView,
    pub(in crate::web) good: SideView,
    pub(in crate::web) left: String,
    pub(in crate::web) own: String,
    pub(in crate::web) spent: String,
    /// It explains the most of the difference.
    pub(in crate::web) strong: bool,
    pub(in crate::web) badge: Option<String>,
}

#[derive(Debug)]
pub(in crate::web) struct SideView {
    pub(in crate::web) left: String,
    pub(in crate::web) own: String,
    pub(in crate::web) spent: String,
}

impl CompareView {
    pub(in crate::web) fn new(request: &Request, compared: &Comparison) -> Self {
        let path = link_to(request.trace_id, request.request);
        let around = Around::of(request.start);
        let root = name(&format!("{} {}", request.service, request.operation));
        Self {
            title: format!("{root} beside a good one"),
            service: name(&request.service),
            operation: name(&request.operation),
            json: format!("/api/v1{path}/compare"),
            back: path,
            outcome: super::waterfall::outcome_title(request.outcome).to_lowercase(),
            this_when: number::instant(request.start),
            this_took: number::ms_unit(request.elapsed),
            looked: match compared.median {
                Some(median) => format!(
                    "{} in time near to it; their median is {}.",
                    number::counted(
                        compared.considered,
                        "good request of the same root is",
                        "good requests of the same root are"
                    ),
                    number::ms_unit(median)
                ),
                None => String::new(),
            },
            list: service_link(&around, &request.service, &request.operation),
            good: compared.good.as_ref().map(|one| good(one, &around)),
        }
    }
}

fn good(good: &Good, around: &Around) -> GoodView {
    let most = good.hops.iter().map(|hop| hop.spent.abs()).max();
    let most = most.filter(|most| *most > Nanos::ZERO);
    let (shared, total) = good.similarity;
    let count = |hops: Nanos| usize::try_from(hops.0).unwrap_or(0);
    GoodView {
        href: link_to(good.trace_id, good.request),
        when: number::instant(good.start),
        took: match good.budget {
            Some(budget) => format!(
                "{} of {}",
                number::ms(good.elapsed),
                number::ms_unit(budget)
            ),
            None => number::ms_unit(good.elapsed),
        },
        alike: format!(
            "{} of {} are in both",
            number::count(count(shared)),
            number::counted(count(total), "hop", "hops")
        ),
        rows: good.hops.iter().map(|hop| row(hop, most, around)).collect(),
        this: number::ms(good.total.this),
        good: number::ms(good.total.good),
        difference: number::signed(good.total.difference),
        more: (good.left_out > 0).then(|| {
            format!(
                "{} more, which differ less; the sums have them.",
                number::counted(good.left_out, "hop", "hops")
            )
        }),
    }
}

fn row(hop: &HopDifference, most: Option<Nanos>, around: &Around) -> HopView {
    const LEVELS: [&str; MOST_LEVELS + 1] = [
        "lv0", "lv1", "lv2", "lv3", "lv4", "lv5", "lv6", "lv7", "lv8", "lv9", "lv10", "lv11",
        "lv12",
    ];
    let difference = |time: Option<Nanos>| match time {
        Some(time) => number::signed(time),
        None => number::UNKNOWN.to_owned(),
    };
    HopView {
        level: LEVELS[hop.depth.min(MOST_LEVELS)],
        name: name(&hop.service),
        operation: name(&hop.operation),
        nth: (hop.nth > 1).then(|| format!("#{}", hop.nth)),
        href: service_link(around, &hop.service, &hop.operation),
        this: side(hop.this.as_ref()),
        good: side(hop.good.as_ref()),
        left: difference(hop.left),
        own: difference(hop.own),
        spent: number::signed(hop.spent),
        strong: most == Some(hop.spent.abs()),
        badge: hop
            .this
            .as_ref()
            .map(|side| Badge::Verdict(side.verdict).to_string()),
    }
}

fn side(side: Option<&Side>) -> SideView {
    SideView {
        left: number::ms_or_unknown(side.and_then(|side| side.left)),
        own: number::ms_or_unknown(side.map(|side| side.own)),
        spent: number::ms_or_unknown(side.map(|side| side.spent)),
    }
}
