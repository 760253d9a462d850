//! The list of requests: filter, order, pages that stay put while rows arrive, counts.
//!
//! **Invariant**: a page costs memory for its own rows, whatever the store holds: the rows are
//! chosen by the columns that order them, some at a time, and only the chosen ones are read whole.

mod count;
mod cursor;
mod keys;
mod listed;
mod page;
mod place;
mod stretches;
#[cfg(test)]
mod tests;
mod used;

use std::fmt;
use std::str::FromStr;

pub use cursor::{Cursor, CursorError};
pub use listed::{Listed, Row};
pub use page::page;
pub use place::{Place, place};
pub use used::{BIN, BINS, Bin, Tally, Used, used};

use super::order::{ByField, Wanted};
use super::scan::{Selection, hours};
use crate::model::{Outcome, UnixNanos};
use crate::store::{Outcomes, Snapshot};

/// What to list.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Of which requests.
    pub selection: Selection,
    /// Only requests with this outcome.
    pub outcome: Option<Outcome>,
    /// In which order.
    pub sort: Sort,
    /// Where to go on: the `next` of the page before.
    pub cursor: Option<Cursor>,
    /// How many at most.
    pub limit: usize,
    /// With their findings, which stand in another table.
    pub findings: bool,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            outcome: None,
            sort: Sort::Newest,
            cursor: None,
            limit: 100,
            findings: false,
        }
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Sort {
    /// The latest start first.
    #[default]
    Newest,
    /// The most wasted time first, then the most time over the budget, then the latest start.
    Worst,
    /// By a field, then the earliest start.
    By(ByField),
}

impl Sort {
    /// The orders that have a name of their own.
    pub const NAMED: [Self; 2] = [Self::Newest, Self::Worst];
}

/// The word in addresses and cursors.
impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest => f.write_str("newest"),
            Self::Worst => f.write_str("worst"),
            Self::By(by) => by.fmt(f),
        }
    }
}

/// `newest`, `worst`, or a field as [`Wanted`] has it.
impl FromStr for Sort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "newest" => Ok(Self::Newest),
            "worst" => Ok(Self::Worst),
            text => ByField::of(&text.parse::<Wanted>()?).map(Self::By),
        }
    }
}

/// A page of the list.
#[derive(Debug, Clone)]
pub struct Page {
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<Cursor>,
    /// How many requests match, on all pages.
    pub matching: Matching,
    /// How many of those that the selection takes there are of each outcome, whichever is asked
    /// for.
    pub counts: Counts,
    /// Whether `counts` are of all of them: else there are at least so many of each.
    pub counts_all: bool,
    /// How many requests there are at all.
    pub held: usize,
}

/// The hour in which the last request started that the store has; opens no file.
pub fn last_hour(snapshot: &Snapshot) -> Option<UnixNanos> {
    hours(snapshot).last_key_value().map(|(hour, _)| *hour)
}

/// How many there are, as far as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matching {
    /// So many, or more.
    pub count: usize,
    /// Exactly so many.
    pub is_all: bool,
}

impl Matching {
    /// Whether there are more than so many.
    pub fn exceeds(self, shown: usize) -> bool {
        self.count > shown || !self.is_all
    }

    /// In words, with the count as `number` writes it: `123`, or `at least 10,000`.
    pub fn words(self, number: impl FnOnce(usize) -> String) -> String {
        let least = if self.is_all { "" } else { "at least " };
        format!("{least}{}", number(self.count))
    }
}

/// Requests per outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([usize; Outcome::ALL.len()]);

impl Counts {
    /// How many with this outcome.
    pub fn of(&self, outcome: Outcome) -> usize {
        self.iter()
            .find(|(one, _)| *one == outcome)
            .map_or(0, |(_, count)| count)
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// Each outcome, the worst first, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, usize)> {
        Outcome::ALL.into_iter().zip(self.0)
    }

    /// Those with one outcome, or all.
    fn asked(&self, outcome: Option<Outcome>) -> usize {
        outcome.map_or_else(|| self.total(), |outcome| self.of(outcome))
    }

    fn merge(&mut self, other: &Self) {
        for (outcome, more) in other.iter() {
            self.add(outcome, more);
        }
    }

    fn add(&mut self, outcome: Outcome, more: usize) {
        for (one, count) in Outcome::ALL.into_iter().zip(&mut self.0) {
            *count += if one == outcome { more } else { 0 };
        }
    }
}

impl From<&Outcomes> for Counts {
    fn from(outcomes: &Outcomes) -> Self {
        let count = |outcome| usize::try_from(outcomes.get(outcome)).unwrap_or(usize::MAX);
        Self(Outcome::ALL.map(count))
    }
}
