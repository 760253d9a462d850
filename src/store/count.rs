//! How much there is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Analysis, Outcome};

/// Requests by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, u64>", into = "BTreeMap<String, u64>")]
pub struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    /// Those of one trace.
    pub fn of(analysis: &Analysis) -> Self {
        let mut outcomes = Self::default();
        for request in &analysis.requests {
            outcomes.add(request.outcome, 1);
        }
        outcomes
    }

    /// So many more with this outcome.
    pub fn add(&mut self, outcome: Outcome, count: u64) {
        if let Some(slot) = self.slot(outcome) {
            *slot += count;
        }
    }

    /// How many ended like this.
    pub fn get(&self, outcome: Outcome) -> u64 {
        let place = Outcome::ALL.iter().position(|known| *known == outcome);
        place
            .and_then(|place| self.0.get(place))
            .copied()
            .unwrap_or(0)
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Takes those of another away.
    pub fn subtract(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_sub(theirs);
        }
    }

    fn slot(&mut self, outcome: Outcome) -> Option<&mut u64> {
        let place = Outcome::ALL.iter().position(|known| *known == outcome)?;
        self.0.get_mut(place)
    }
}

impl From<Outcomes> for BTreeMap<String, u64> {
    fn from(outcomes: Outcomes) -> Self {
        let each = Outcome::ALL.map(|outcome| (outcome.as_str().to_owned(), outcomes.get(outcome)));
        each.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

impl From<BTreeMap<String, u64>> for Outcomes {
    fn from(counts: BTreeMap<String, u64>) -> Self {
        let mut outcomes = Self::default();
        for outcome in Outcome::ALL {
            let count = counts.get(outcome.as_str()).copied();
            outcomes.add(outcome, count.unwrap_or(0));
        }
        outcomes
    }
}

/// What a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Traces.
    pub traces: u64,
    /// Requests by outcome.
    pub requests: Outcomes,
    /// How many of the traces are in memory alone.
    pub fresh_traces: u64,
}

/// What waits in memory for the next flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Traces.
    pub traces: usize,
    /// Requests.
    pub requests: usize,
    /// Spans.
    pub spans: usize,
    /// About how many bytes, with the verdicts.
    pub bytes: usize,
}
