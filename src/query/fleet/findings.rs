//! Findings over many requests, by rule and edge.

use serde::Serialize;

use super::{Example, Stretch};
use crate::model::{Nanos, Rule, Severity, Text, UnixNanos};
use crate::query::story::Sentence;

/// Which findings are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Which {
    /// Only of this rule.
    pub rule: Option<Rule>,
    /// Only those of this severity.
    pub severity: Option<Severity>,
    /// Only those that this service has to fix, or that happen at its door.
    pub service: Option<Text>,
}

/// The whole page.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// What stands out, in words.
    pub sentence: Sentence,
    /// Groups, the severest rule first, then the most frequent; at most `rows`.
    pub groups: Vec<Group>,
    /// How many there are beyond these.
    pub others: u64,
    /// Cases of each rule in the window whatever was asked for, rules without any left out.
    #[serde(serialize_with = "super::counts")]
    pub rules: Vec<(Rule, u64)>,
    /// True as long as nothing but samples arrived.
    pub samples: bool,
}

/// All findings of one rule at one edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The rule.
    pub rule: Rule,
    /// How much it matters.
    pub severity: Severity,
    /// Whose owners must act.
    pub service: Text,
    /// The callee, where there is one.
    pub to: Option<Text>,
    /// Cases in the window.
    pub count: u64,
    /// Requests with it.
    pub requests: u64,
    /// Cases in the stretch before.
    pub count_before: u64,
    /// The start of the first request with it that the store still has.
    pub since: UnixNanos,
    /// True if that is the first hour that the store has: it may be older.
    pub since_or_before: bool,
    /// The start of the last request with it.
    pub last: UnixNanos,
    /// How bad the worst case is, as its rule measures it.
    #[serde(rename = "worst_ms")]
    pub worst_weight: Nanos,
    /// The request with the worst case.
    pub worst: Example,
    /// The request with the newest case.
    pub newest: Example,
    /// The numbers of the worst case, as a sentence.
    pub message: String,
    /// What to do about it, as a sentence.
    pub hint: String,
    /// Cases in each bucket of the window, for a trend.
    pub trend: Vec<u64>,
}
