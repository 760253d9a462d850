//! What templates show: ready strings, so that templates compute nothing.

mod detail;
mod findings;
mod ledger;
mod listed;
mod page;
mod row;
mod window;
mod words;

pub(super) use listed::{ListedView, day};
pub(super) use page::{LineView, RequestView};
pub(super) use row::SentView;
pub(super) use window::{ROWS, Select};
pub(super) use words::{link_to, name};

use super::assets;

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
    pub(super) current: &'static str,
}

impl Chrome {
    /// The frame of the page that the navigation calls `current`.
    pub(super) fn new(current: &'static str) -> Self {
        Self {
            style: assets::style(),
            script: assets::script(),
            icon: assets::icon(),
            current,
        }
    }
}
