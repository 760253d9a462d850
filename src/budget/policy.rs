//! What an operator may set, and what is known from other requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::conventions::Rules;
use super::patterns::Patterns;
use crate::model::{Nanos, Rule, Severity, Text};

/// The thresholds and rules of an analysis; the defaults are those of the semantics.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The budget under which nothing can succeed.
    pub min_useful: Nanos,
    /// Exceptions to `min_useful`.
    pub min_useful_of: Patterns<Nanos>,
    /// A route's objective less headroom: the budget of a root that tells none.
    pub route_budgets: Patterns<Nanos>,
    /// Spans that start their own request.
    pub detached: Patterns<()>,
    /// How many spans of one trace are analysed; the rest is dropped and noted.
    pub max_spans: usize,
    /// Which keys and texts tell a deadline.
    pub rules: Arc<Rules>,
    /// From when on findings are raised.
    pub thresholds: Thresholds,
    /// Rules that raise no findings.
    pub disabled: BTreeSet<Rule>,
    /// Rules whose findings matter more or less than they do by themselves.
    pub severities: BTreeMap<Rule, Severity>,
}

/// The numbers of the semantics' section 7: what a finding needs to be raised. A time or share is
/// exceeded by more than itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds {
    /// How far a time that was told or set may be over what is left (`budget_reset`,
    /// `inverted_timeout`, `retry_reset`, `async_inherits_deadline`): timers fire late, values
    /// are rounded.
    pub tolerance: Nanos,
    /// The same as a share of what is left; the larger counts. gRPC's C-core rounds
    /// `grpc-timeout` up to three figures.
    pub tolerance_share: Share,
    /// `worked_after_deadline`: the work after the deadline.
    pub worked_after_deadline: Nanos,
    /// The same as a share of the budget; the larger counts.
    pub worked_after_deadline_share: Share,
    /// `started_expired`: the run time of a hop that arrived with too little.
    pub started_expired: Nanos,
    /// `doomed_retry`: what is left for an attempt whose typical time is not known; that much
    /// or less is too little.
    pub doomed_retry: Nanos,
    /// `hedge_not_cancelled`: how long the loser ran on.
    pub hedge_not_cancelled: Nanos,
    /// `cancel_not_propagated`: how long the callee ran on.
    pub cancel_not_propagated: Nanos,
    /// `over_provisioned`: how many times the typical time a budget may be.
    pub over_provisioned: u32,
    /// `queued`: the share of the arrival budget that waiting may take.
    pub queued: Share,
    /// `accounting_mismatch`: how far the reported and the computed local time may differ.
    pub accounting_mismatch: Nanos,
    /// The same as a share of the computed time; the larger counts.
    pub accounting_mismatch_share: Share,
}

/// A share of a time, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u32);

impl Share {
    /// Whole percent.
    pub const fn percent(percent: u32) -> Self {
        Self(percent.saturating_mul(100))
    }

    /// This share of a time.
    pub fn of(self, time: Nanos) -> Nanos {
        time.scaled(i64::from(self.0), 10_000)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min_useful: Nanos::from_millis(20),
            min_useful_of: Patterns::default(),
            route_budgets: Patterns::default(),
            detached: Patterns::default(),
            max_spans: 1_000_000,
            thresholds: Thresholds::default(),
            disabled: BTreeSet::new(),
            severities: BTreeMap::new(),
            rules: Rules::builtin(),
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            tolerance: Nanos::from_millis(2),
            tolerance_share: Share::percent(1),
            worked_after_deadline: Nanos::from_millis(10),
            worked_after_deadline_share: Share::percent(1),
            started_expired: Nanos::from_millis(10),
            doomed_retry: Nanos::from_millis(2),
            hedge_not_cancelled: Nanos::from_millis(50),
            cancel_not_propagated: Nanos::from_millis(50),
            over_provisioned: 10,
            queued: Share::percent(20),
            accounting_mismatch: Nanos::from_millis(5),
            accounting_mismatch_share: Share::percent(10),
        }
    }
}

impl Thresholds {
    /// How far a time may be over `left`.
    pub(super) fn tolerance(&self, left: Nanos) -> Nanos {
        self.tolerance.max(self.tolerance_share.of(left.abs()))
    }
}

/// Median times of successful runs, where enough are known (20 or more).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Typical {
    /// Total time of a hop, by (service, operation).
    pub hops: BTreeMap<(Text, Text), TypicalTime>,
    /// Own time of a hop, by (service, operation).
    pub local: BTreeMap<(Text, Text), TypicalTime>,
    /// Time of a call, by (calling service, callee or dependency).
    pub calls: BTreeMap<(Text, Text), TypicalTime>,
}

/// A median and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypicalTime {
    /// The median.
    pub median: Nanos,
    /// How many successful runs.
    pub runs: u64,
}

impl Policy {
    /// The min useful budget of a hop.
    pub fn min_useful_of(&self, service: &str, operation: &str) -> Nanos {
        let exception = self.min_useful_of.get(service, operation);
        exception.unwrap_or(self.min_useful)
    }

    /// The configured budget of a root.
    pub fn route_budget(&self, service: &str, operation: &str) -> Option<Nanos> {
        self.route_budgets.get(service, operation)
    }

    /// True if spans of this kind start a request of their own.
    pub fn is_detached(&self, service: &str, operation: &str) -> bool {
        self.detached.get(service, operation).is_some()
    }

    /// How much a rule's findings matter.
    pub fn severity(&self, rule: Rule) -> Severity {
        let own = self.severities.get(&rule).copied();
        own.unwrap_or_else(|| rule.severity())
    }
}
