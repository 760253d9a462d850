//! Coverage: where deadlines are passed on, where not, and where a break begins.

use serde::Serialize;

use super::{Example, Passing, Stretch};
use crate::model::{Nanos, Text, UnixNanos};
use crate::query::story::Sentence;

/// The whole page.
#[derive(Debug, Clone, Serialize)]
pub struct Coverage {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// What stands out, in words.
    pub sentence: Sentence,
    /// All calls that could pass a deadline on.
    pub now: Passing,
    /// The same of the stretch before.
    pub before: Passing,
    /// Requests with a budget, of all.
    pub budgeted: super::Share,
    /// The window in buckets of `step`.
    pub series: Vec<Bucket>,
    /// How long a bucket is.
    #[serde(rename = "step_ms")]
    pub step: Nanos,
    /// Where chains break first: edges whose caller was told a deadline and did not pass it on, the
    /// most calls first; at most `rows`.
    pub breaks: Vec<Break>,
    /// How many there are beyond these.
    pub other_breaks: u64,
    /// Every edge, the most calls without a deadline first; at most `rows`.
    pub edges: Vec<Edge>,
    /// How many there are beyond these.
    pub other_edges: u64,
    /// Every hop, by service and operation, the most runs that were told none first; at most `rows`.
    pub hops: Vec<Hop>,
    /// How many there are beyond these.
    pub other_hops: u64,
    /// True as long as nothing but samples arrived.
    pub samples: bool,
}

/// A bucket of the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Its first instant.
    pub since: UnixNanos,
    /// Calls by how they passed the deadline on.
    pub passing: Passing,
    /// True if the bucket is not over yet, or only a part of it is in the window.
    pub partial: bool,
}

/// The first hop of a break: it has a deadline, its callee is told none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Break {
    /// Who does not pass it on.
    pub service: Text,
    /// Its operation.
    pub operation: Text,
    /// Who is told none.
    pub to: Text,
    /// Calls without it.
    pub calls: u64,
    /// Requests with such a call.
    pub requests: u64,
    /// A request with such a call.
    pub newest: Option<Example>,
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edge {
    /// The caller.
    pub service: Text,
    /// The callee.
    pub to: Text,
    /// How its calls passed the deadline on.
    pub passing: Passing,
    /// The same of the stretch before.
    pub before: Passing,
}

/// A hop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hop {
    /// The service.
    pub service: Text,
    /// The operation.
    pub operation: Text,
    /// How its runs were told their budget.
    pub passing: Passing,
    /// The same of the stretch before.
    pub before: Passing,
}
