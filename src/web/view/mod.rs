//! What templates show: ready strings, so that templates compute nothing.

mod attempts;
mod clocks;
mod compare;
mod detail;
mod findings;
mod ledger;
mod lines;
mod listed;
mod page;
mod period;
mod row;
mod waterfall;
mod window;
mod words;

pub(super) use compare::CompareView;
pub(super) use detail::DetailView;
pub(super) use lines::LineView;
pub(super) use listed::{ListedView, day};
pub(super) use page::RequestView;
pub(super) use period::PeriodView;
pub(super) use row::SentView;
pub(super) use waterfall::{Drawing, WaterfallView};
pub(super) use window::Select;
pub(super) use words::{Markup, link_to, name, sentence, with_code};

use super::assets;
use super::params::Link;
use super::period::Period;
use crate::report::number;
use crate::store::Snapshot;

/// The longest name that a row or a table shows; the opened row shows more.
pub(super) const SHORT: usize = 120;

/// The longest text that is shown at all.
pub(super) const LONG: usize = 2000;

/// What every page's frame needs.
#[derive(Debug)]
pub(super) struct Chrome {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
    pub(super) nav: Vec<NavLink>,
    /// The control of the stretch of time, on pages that are about one.
    pub(super) period: Option<PeriodView>,
    /// Files of the store that cannot be read, counted.
    pub(super) faults: Option<String>,
}

/// A page in the navigation.
#[derive(Debug)]
pub(super) struct NavLink {
    pub(super) href: String,
    pub(super) text: &'static str,
    /// The letter that goes there after `g`.
    pub(super) letter: &'static str,
    pub(super) current: bool,
}

/// The pages: what [`Chrome::new`] calls them, where they are, their name, their letter.
const PAGES: [(&str, &str, &str, &str); 7] = [
    ("overview", "/", "Overview", "o"),
    ("requests", "/requests", "Requests", "r"),
    ("services", "/services", "Services", "s"),
    ("map", "/map", "Map", "m"),
    ("findings", "/findings", "Findings", "f"),
    ("coverage", "/coverage", "Coverage", "c"),
    ("help", "/help", "Help", "h"),
];

impl Chrome {
    /// The frame of the page that the navigation calls `current`.
    pub(super) fn new(current: &'static str) -> Self {
        Self {
            style: assets::style(),
            script: assets::script(),
            icon: assets::icon(),
            nav: nav(current, &[]),
            period: None,
            faults: None,
        }
    }

    /// The frame of a page about a stretch of time: its links stay with that stretch. `path` is the
    /// page's own, `kept` what its address has besides.
    pub(super) fn over(
        current: &'static str,
        period: &Period,
        path: &str,
        kept: &[(&str, Option<&str>)],
    ) -> Self {
        Self {
            nav: nav(current, &period.pairs()),
            period: Some(PeriodView::new(period, path, kept)),
            ..Self::new(current)
        }
    }

    /// Says how many files of the store cannot be read, if any; their names are for the log.
    pub(super) fn without(mut self, snapshot: &Snapshot) -> Self {
        let faults = snapshot.faults().len();
        self.faults = (faults > 0).then(|| number::counted(faults, "stored file", "stored files"));
        self
    }
}

fn nav(current: &str, pairs: &[(&str, Option<&str>)]) -> Vec<NavLink> {
    let link = |(name, path, text, letter)| {
        // The help is about no time.
        let pairs = if name == "help" { &[] } else { pairs };
        NavLink {
            href: Link { path, pairs }.to_string(),
            text,
            letter,
            current: name == current,
        }
    };
    PAGES.map(link).into()
}
