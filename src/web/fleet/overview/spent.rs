//! Where the time went.

use crate::model::Nanos;
use crate::query::fleet::bands::RankBy;
use crate::query::fleet::overview::{Holder, Spent};
use crate::report::number;
use crate::report::svg::{Escaped, Icon, RankBar};
use crate::web::fleet::parts::{
    ledger_filter, other_ones, percent, requests, service_link, times, trend, who,
};
use crate::web::period::{Period, length_words};

pub(super) struct SpentView {
    pub(super) about: String,
    pub(super) by_held: bool,
    pub(super) other: String,
    pub(super) before: String,
    pub(super) rows: Vec<HolderView>,
    pub(super) others: Option<OthersView>,
    pub(super) held: String,
    pub(super) down: String,
}

pub(super) struct HolderView {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) word: &'static str,
    pub(super) first: bool,
    pub(super) sign: String,
    pub(super) bar: String,
    pub(super) held: String,
    pub(super) share: String,
    pub(super) excess: String,
    pub(super) times: String,
    pub(super) strong: bool,
    pub(super) trend: String,
}

pub(super) struct OthersView {
    pub(super) name: String,
    pub(super) bar: String,
    pub(super) held: String,
    pub(super) share: String,
}

impl SpentView {
    pub(super) fn new(spent: &Spent, period: &Period, by: RankBy) -> Self {
        let widest = spent.widest();
        let other = match by {
            RankBy::Excess => "held",
            RankBy::Held => "excess",
        };
        Self {
            about: format!(
                "budget of {} missed {}, {}\u{a0}s",
                number::sum(spent.requests),
                if spent.requests == 1 {
                    "request"
                } else {
                    "requests"
                },
                number::seconds(spent.held)
            ),
            by_held: by == RankBy::Held,
            other: period.link("/", &[("by", Some(other))]),
            before: format!("{} before", length_words(period.stretch())),
            rows: spent
                .rows
                .iter()
                .enumerate()
                .map(|(index, holder)| HolderView::new(holder, index == 0, widest, period))
                .collect(),
            others: (spent.others > 0).then(|| OthersView {
                name: other_ones(spent.others),
                bar: RankBar {
                    typical: None,
                    held: spent.others_held,
                    most: widest,
                    part: None,
                }
                .to_string(),
                held: number::seconds(spent.others_held),
                share: number::percent(spent.others_held, spent.held),
            }),
            held: number::seconds(spent.held),
            down: Icon::Down.to_string(),
        }
    }
}

impl HolderView {
    fn new(holder: &Holder, first: bool, widest: Nanos, period: &Period) -> Self {
        let Holder {
            service,
            operation,
            part,
            to,
            ..
        } = holder;
        let (label, word) = who(service, operation, *part, to.as_ref());
        let href = service_link(period, service, Some(operation));
        let filter = format!(
            "outcome=missed and {}",
            ledger_filter(service, operation, *part, to.as_ref())
        );
        let found = requests(period, &filter, &[("sort", Some("worst"))]);
        let key = if first { r#" data-key="c""# } else { "" };
        Self {
            key: format!("h-{label}-{word}-{operation}"),
            name: format!(
                r#"<a class="nl" data-row="1"{key} href="{}" title="{text}"><bdi>{text}</bdi></a>"#,
                Escaped(&href),
                text = Escaped(&label)
            ),
            word,
            first,
            sign: if first {
                Icon::Culprit.to_string()
            } else {
                String::new()
            },
            bar: RankBar {
                typical: holder.typical,
                held: holder.held,
                most: widest,
                part: Some(*part),
            }
            .to_string(),
            held: match found {
                Some(found) => format!(
                    r#"<a href="{}" aria-label="{held} s, the misses in which it held the clock">{held}</a>"#,
                    Escaped(&found),
                    held = number::seconds(holder.held),
                ),
                None => number::seconds(holder.held),
            },
            share: percent(holder.share),
            excess: number::seconds(holder.excess),
            times: holder.times.map_or_else(|| "no typical".to_owned(), times),
            strong: holder.times.is_some_and(|times| times.0 >= 3000),
            trend: trend(holder.trend),
        }
    }
}
