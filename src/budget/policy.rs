//! What an operator may set, and what is known from other requests.

use std::collections::BTreeMap;

use crate::model::{Nanos, Text};

/// The thresholds and rules of an analysis; the defaults are those of the semantics.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The budget under which nothing can succeed.
    pub min_useful: Nanos,
    /// Exceptions to `min_useful`, per service or per (service, operation).
    pub min_useful_of: BTreeMap<(Text, Option<Text>), Nanos>,
    /// A route's objective less headroom: the budget of a root that tells none, per (service,
    /// operation); operation `None` is every operation of the service.
    pub route_budgets: BTreeMap<(Text, Option<Text>), Nanos>,
    /// Spans with this (service, operation) start their own request.
    pub detached: Vec<(Text, Option<Text>)>,
    /// How many spans of one trace are analysed; the rest is dropped and noted.
    pub max_spans: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min_useful: Nanos::from_millis(20),
            min_useful_of: BTreeMap::new(),
            route_budgets: BTreeMap::new(),
            detached: Vec::new(),
            max_spans: 1_000_000,
        }
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
        lookup(&self.min_useful_of, service, operation).unwrap_or(self.min_useful)
    }

    /// The configured budget of a root.
    pub fn route_budget(&self, service: &str, operation: &str) -> Option<Nanos> {
        lookup(&self.route_budgets, service, operation)
    }

    /// True if spans of this kind start a request of their own.
    pub fn is_detached(&self, service: &str, operation: &str) -> bool {
        self.detached
            .iter()
            .any(|(of, name)| of == service && name.as_ref().is_none_or(|name| name == operation))
    }
}

/// The entry for the operation, else for the whole service.
fn lookup(
    table: &BTreeMap<(Text, Option<Text>), Nanos>,
    service: &str,
    operation: &str,
) -> Option<Nanos> {
    if table.is_empty() {
        return None;
    }
    let exact = (Text::from(service), Some(Text::from(operation)));
    table
        .get(&exact)
        .or_else(|| table.get(&(exact.0, None)))
        .copied()
}
