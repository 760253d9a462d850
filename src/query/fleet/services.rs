//! Services and their operations: what arrives, what they do with it, who calls them, whom they call.

use serde::Serialize;

use super::{Passing, Share, Spread, Stretch, Thousandths};
use crate::model::{CallKind, Nanos, Text, UnixNanos, Verdict};
use crate::query::story::Sentence;

/// The list of all services.
#[derive(Debug, Clone, Serialize)]
pub struct Services {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// What stands out, in words.
    pub sentence: Sentence,
    /// The services, those that held the most of missed budgets first; at most `rows`.
    pub rows: Vec<Numbers>,
    /// How many there are beyond these.
    pub others: u64,
    /// True as long as nothing but samples arrived.
    pub samples: bool,
}

/// Names that are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Names {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// Services that left spans.
    pub services: Vec<Text>,
    /// Their operations.
    pub operations: Vec<Text>,
    /// What was called and left no spans.
    pub dependencies: Vec<Text>,
}

/// The page of a service, or of one of its operations.
#[derive(Debug, Clone, Serialize)]
pub struct Service {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// What it did to budgets, in words.
    pub sentence: Sentence,
    /// Whether its own work is slower, and whether arrivals bring enough.
    pub second: Sentence,
    /// Its numbers; those of one operation if one was asked for.
    pub now: Numbers,
    /// The same of the stretch before; all zero if it did not run then.
    pub before: Numbers,
    /// Its operations, the most runs first; at most `rows`.
    pub operations: Vec<Numbers>,
    /// How many there are beyond these.
    pub other_operations: u64,
    /// What was left on arrival, in bins of rising bounds.
    pub arrivals: Vec<Bin>,
    /// The least useful budget: of the operation, or the least of all.
    #[serde(rename = "min_useful_ms")]
    pub min_useful: Nanos,
    /// The median total time of successful runs, if 20 or more are known.
    #[serde(rename = "typical_ms")]
    pub typical: Option<Nanos>,
    /// The median of the same for its own time alone.
    #[serde(rename = "typical_local_ms")]
    pub typical_local: Option<Nanos>,
    /// The window in buckets of `step`.
    pub series: Vec<Bucket>,
    /// How long a bucket is.
    #[serde(rename = "step_ms")]
    pub step: Nanos,
    /// Where the share of missed requests changed in the window, over all services.
    pub change: Option<super::overview::Change>,
    /// Who calls it, the most calls first; at most `rows`.
    pub callers: Vec<Edge>,
    /// How many there are beyond these.
    pub other_callers: u64,
    /// Whom it calls, the most calls first; at most `rows`.
    pub callees: Vec<Edge>,
    /// How many there are beyond these.
    pub other_callees: u64,
    /// What is wrong, for its owners to fix or at its door, the severest first; at most `rows`.
    pub findings: Vec<super::findings::Group>,
    /// How many there are beyond these.
    pub other_findings: u64,
    /// All missed requests of the window: what `now.culprit` is of.
    pub missed: u64,
}

/// The numbers of a service or of one of its operations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Numbers {
    /// The service.
    pub service: Text,
    /// The operation; `null` for all of them.
    pub operation: Option<Text>,
    /// Runs.
    pub runs: u64,
    /// Runs whose budget on arrival is known.
    pub budgeted: u64,
    /// How they were told their budget.
    pub passing: Passing,
    /// Answered without error and in time, of the budgeted.
    pub in_time: Share,
    /// Runs by verdict, every one of [`Verdict::ALL`], in that order.
    #[serde(serialize_with = "super::counts")]
    pub verdicts: Vec<(Verdict, u64)>,
    /// What was left on arrival.
    pub remaining: Spread,
    /// Own time.
    pub local: Spread,
    /// From arrival to answer.
    pub elapsed: Spread,
    /// Waited before work, of the runs where that is known.
    pub queue: Spread,
    /// Missed requests of which it was the culprit, with any part of its time.
    pub culprit: u64,
    /// How long it held the clock in missed requests, before their deadlines.
    #[serde(rename = "held_ms")]
    pub held: Nanos,
    /// That less what it would have taken typically, where typical times are known.
    #[serde(rename = "excess_ms")]
    pub excess: Option<Nanos>,
    /// Failures that surfaced there.
    pub surfaced: u64,
    /// Run time for nobody.
    #[serde(rename = "wasted_ms")]
    pub wasted: Nanos,
    /// That, per length of the stretch: slots held for nobody.
    pub wasted_slots: Thousandths,
    /// Attempts per call that it made.
    pub attempts: Option<Thousandths>,
}

/// Arrivals with about the same budget left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The least budget of the bin; `null` for no bound.
    #[serde(rename = "from_ms")]
    pub from: Option<Nanos>,
    /// The first budget beyond it; `null` for no bound.
    #[serde(rename = "to_ms")]
    pub to: Option<Nanos>,
    /// Arrivals.
    pub arrivals: u64,
    /// Those of them that were answered in time.
    pub in_time: u64,
}

/// A bucket of a service's series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Its first instant.
    pub since: UnixNanos,
    /// Runs.
    pub runs: u64,
    /// Runs that were not answered in time, of the budgeted.
    pub not_in_time: Share,
    /// What was left on arrival.
    pub remaining: Spread,
    /// Own time.
    pub local: Spread,
    /// From arrival to answer.
    pub elapsed: Spread,
    /// True if the bucket is not over yet, or only a part of it is in the window.
    pub partial: bool,
}

/// Calls from one to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edge {
    /// The calling service.
    pub service: Text,
    /// The callee: a service, or the name of a dependency.
    pub to: Text,
    /// What is asked of it; `null` for all operations together.
    pub operation: Option<Text>,
    /// What the far side is.
    pub kind: CallKind,
    /// Calls, each attempt for itself.
    pub calls: u64,
    /// Attempts per call.
    pub attempts: Thousandths,
    /// How they passed the deadline on.
    pub passing: Passing,
    /// The budget that was passed on.
    pub sent: Spread,
    /// What was left when it arrived; of a dependency nothing is known.
    pub remaining: Spread,
    /// The timeout that the caller chose.
    pub timeout: Spread,
    /// How long the caller was in it.
    pub elapsed: Spread,
    /// The median of successful ones, if 20 or more are known.
    #[serde(rename = "typical_ms")]
    pub typical: Option<Nanos>,
    /// The median of the window, in times of typical.
    pub times: Option<Thousandths>,
    /// Calls that a deadline or a timeout ended, or that answered late.
    pub missed: u64,
    /// Missed requests in which this edge was the culprit (transit, dependency, unreported, backoff).
    pub culprit: u64,
    /// How long it held the clock in missed requests, before their deadlines.
    #[serde(rename = "held_ms")]
    pub held: Nanos,
}
