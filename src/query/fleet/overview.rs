//! The first page: what is missed, who held the clock, and where it showed.

use serde::Serialize;

use super::{Passing, Share, Stretch, Thousandths};
use crate::model::{Nanos, Outcome, Part, Text, UnixNanos, Verdict};
use crate::query::requests::Row;
use crate::query::story::Sentence;

/// The whole page.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// What happened and who held the clock, in words.
    pub sentence: Sentence,
    /// Where it surfaced and what is new; empty if there is nothing to add.
    pub second: Sentence,
    /// The numbers of the window.
    pub now: Totals,
    /// The numbers of the stretch right before it.
    pub before: Totals,
    /// The window in buckets of `step`, in order of time, empty ones too.
    pub series: Vec<Bucket>,
    /// How long a bucket is.
    #[serde(rename = "step_ms")]
    pub step: Nanos,
    /// Where the share of missed requests changed, if it did.
    pub change: Option<Change>,
    /// Where the budget of the missed requests went.
    pub spent: Spent,
    /// Where misses surfaced against where the time was spent.
    pub matrix: Matrix,
    /// The missed requests with the most wasted time.
    #[serde(serialize_with = "super::rows")]
    pub worst: Vec<Row>,
    /// The missed requests that started last.
    #[serde(serialize_with = "super::rows")]
    pub newest: Vec<Row>,
    /// Groups of findings that began in the window, the severest first; at most three.
    pub new_findings: Vec<super::findings::Group>,
    /// True as long as nothing but samples arrived.
    pub samples: bool,
}

/// Numbers over some requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    /// All requests.
    pub requests: u64,
    /// Those with a known budget, and those that missed one that is not known.
    pub budgeted: u64,
    /// By outcome, every one of [`Outcome::ALL`], in that order.
    #[serde(serialize_with = "super::counts")]
    pub outcomes: Vec<(Outcome, u64)>,
    /// Missed requests by the verdict where they surfaced, every one of [`Verdict::ALL`].
    #[serde(serialize_with = "super::counts")]
    pub missed_by: Vec<(Verdict, u64)>,
    /// Run time for nobody, of all hops.
    #[serde(rename = "wasted_ms")]
    pub wasted: Nanos,
    /// That, per length of the stretch: slots held for nobody.
    pub wasted_slots: Thousandths,
    /// Elapsed of budget, 99th percentile, in thousandths of the budget.
    pub used_p99: Option<Thousandths>,
    /// Calls by how they passed the deadline on.
    pub passing: Passing,
    /// The edge with the most calls that did not pass it on, as (caller, callee).
    pub first_break: Option<(Text, Text)>,
}

impl Totals {
    /// How many have an outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        let mut of = self.outcomes.iter();
        of.find(|(one, _)| *one == outcome).map_or(0, |(_, n)| *n)
    }

    /// Missed, of those with a budget.
    pub fn missed(&self) -> Share {
        Share {
            part: self.of(Outcome::Missed),
            whole: self.budgeted,
        }
    }
}

/// A bucket of the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bucket {
    /// Its first instant.
    pub since: UnixNanos,
    /// Its numbers.
    #[serde(flatten)]
    pub totals: Totals,
    /// True if the bucket is not over yet, or only a part of it is in the window.
    pub partial: bool,
}

/// An instant from which on another share of the requests is missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The first instant of the first bucket after it.
    pub at: UnixNanos,
    /// Missed before, of the budgeted.
    pub before: Share,
    /// Missed from then on.
    pub after: Share,
}

/// Where the budget of the missed requests went: their ledgers up to the deadline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// Missed requests with a culprit.
    pub requests: u64,
    /// What they had spent before their deadlines, all parts together.
    #[serde(rename = "held_ms")]
    pub held: Nanos,
    /// Who held the clock, by excess, then by what was held: the first `rows` of the question in
    /// that order and the first `rows` by what was held alone.
    pub rows: Vec<Holder>,
    /// How many there are beyond these.
    pub others: u64,
    /// What these others held.
    #[serde(rename = "others_held_ms")]
    pub others_held: Nanos,
}

/// Who held the clock: a part of the ledger, over many requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    /// The owner's service.
    pub service: Text,
    /// Its operation.
    pub operation: Text,
    /// What the time went on.
    pub part: Part,
    /// The callee, unless `local`.
    pub to: Option<Text>,
    /// Missed requests of which it was the culprit.
    pub requests: u64,
    /// How long it held the clock in all missed requests, before their deadlines.
    #[serde(rename = "held_ms")]
    pub held: Nanos,
    /// That, of [`Spent::held`].
    pub share: Share,
    /// What it would have taken typically; `null` where no typical time is known.
    #[serde(rename = "typical_ms")]
    pub typical: Option<Nanos>,
    /// Held less typical; all that was held where no typical time is known.
    #[serde(rename = "excess_ms")]
    pub excess: Nanos,
    /// Held, in times of typical.
    pub times: Option<Thousandths>,
    /// What it held in the stretch before.
    #[serde(rename = "held_before_ms")]
    pub held_before: Nanos,
    /// Held now, in times of held before; `null` if it held nothing before.
    pub trend: Option<Thousandths>,
}

/// Surfaced × spent, over the missed requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matrix {
    /// Services where misses surfaced, the most first; at most `rows`, the last may stand for others.
    pub surfaced: Vec<Surfacing>,
    /// Who held the clock, the most misses first; at most `rows`.
    pub spent: Vec<Spender>,
    /// Misses for each of `surfaced` (outer) and `spent` (inner).
    pub cells: Vec<Vec<u64>>,
    /// For each of `surfaced`: misses whose time was spent at others than `spent`.
    pub others: Vec<u64>,
    /// How many others there are among who spent.
    pub other_spenders: u64,
    /// Misses that surfaced at services beyond `surfaced`.
    pub other_surfaced: u64,
    /// How many services those are.
    pub other_surfacing: u64,
    /// All missed requests.
    pub all: u64,
    /// Misses that surfaced where the time was spent (same service; of all, not only of what is shown).
    pub same: u64,
}

/// A row of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Surfacing {
    /// The service.
    pub service: Text,
    /// Misses that surfaced there.
    pub all: u64,
}

/// A column of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spender {
    /// The owner's service.
    pub service: Text,
    /// `local`, or what it waited for.
    pub part: Part,
    /// The callee, unless `local`.
    pub to: Option<Text>,
    /// Misses of which it was the culprit.
    pub all: u64,
}
