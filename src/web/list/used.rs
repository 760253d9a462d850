//! Elapsed against budget, over the list.

use super::asked::{Asked, Other};
use crate::query::filter::Filter;
use crate::query::requests::{Bin, Used};
use crate::report::number;
use crate::report::svg::{UsedBars, used_words};

/// The histogram, ready to print.
#[derive(Debug)]
pub(super) struct UsedView {
    pub(super) picture: String,
    pub(super) words: String,
    pub(super) about: String,
    pub(super) rows: Vec<UsedRow>,
    /// Requests that are in no bin.
    pub(super) unknown: Option<String>,
}

/// A bin as a row of the table.
#[derive(Debug)]
pub(super) struct UsedRow {
    pub(super) range: String,
    pub(super) href: String,
    pub(super) matching: String,
    pub(super) all: String,
}

impl UsedView {
    /// The histogram of a list; `None` if no request has a budget.
    pub(super) fn new(asked: &Asked, used: &Used) -> Option<Self> {
        let total = used.total();
        if total.all == 0 {
            return None;
        }
        let links: Vec<String> = used.bins.iter().map(|bin| link(asked, bin)).collect();
        let rows = used.bins.iter().zip(&links);
        let rows = rows.filter(|(bin, _)| bin.tally.all > 0);
        let rows = rows.map(|(bin, href)| UsedRow {
            range: range(bin),
            href: href.clone(),
            matching: if used.is_counted {
                count(bin.tally.matching)
            } else {
                number::UNKNOWN.to_owned()
            },
            all: count(bin.tally.all),
        });
        let framed = if !used.is_counted {
            "; all, for this filter asks for more than the request itself"
        } else if total.matching < total.all {
            "; dashed box: the filter"
        } else {
            ""
        };
        Some(Self {
            picture: UsedBars {
                used,
                links: &links,
            }
            .to_string(),
            words: used_words(used),
            about: format!(
                "{}, log count{framed}",
                number::counted(
                    usize::try_from(total.all).unwrap_or(usize::MAX),
                    "request with a budget",
                    "requests with a budget"
                )
            ),
            rows: rows.collect(),
            unknown: (used.unknown.all > 0).then(|| count(used.unknown.all)),
        })
    }
}

fn count(number: u64) -> String {
    number::count(usize::try_from(number).unwrap_or(usize::MAX))
}

fn range(bin: &Bin) -> String {
    match bin.to {
        Some(to) => format!("{}\u{2013}{to}{}%", bin.from, number::NBSP),
        None => format!("{}{}% and more", bin.from, number::NBSP),
    }
}

/// The list's requests in a bin.
fn link(asked: &Asked, bin: &Bin) -> String {
    let upper = bin
        .to
        .map_or_else(String::new, |to| format!(" and used < {to}%"));
    let text = format!("used >= {}%{upper}", bin.from);
    let filters = asked.query.selection.filter.iter().cloned();
    let filters = filters.chain(Filter::parse(&text).ok());
    let filter = Filter::all(filters.collect()).map(|filter| filter.to_string());
    asked.address(Other::Filter(filter.as_deref()))
}
