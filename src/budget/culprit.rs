//! The culprit (semantics, section 6): who took the most of the budget before the deadline.

use std::collections::BTreeMap;

use crate::model::{Culprit, Nanos, Outcome, Part, Text};

use super::known::Known;
use super::path::Stretch;
use super::policy::Typical;

/// An owner of budget, summed over its hops and attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Owner<'a> {
    service: &'a Text,
    operation: &'a Text,
    part: Part,
    to: Option<&'a Text>,
}

impl Owner<'_> {
    /// The median of its successful runs, where enough are known.
    fn typical(&self, typical: &Typical) -> Option<Nanos> {
        let service = self.service.clone();
        let known = match (self.part, self.to) {
            (Part::Local, _) => typical.local.get(&(service, self.operation.clone())),
            (Part::Dependency | Part::Unreported, Some(to)) => {
                typical.calls.get(&(service, to.clone()))
            }
            _ => None,
        };
        known.map(|typical| typical.median)
    }
}

/// What an owner took, ranked by its excess over typical where that is known.
#[derive(Debug, Clone, Copy)]
struct Taken<'a> {
    owner: Owner<'a>,
    consumed: Nanos,
    typical: Option<Nanos>,
}

impl Taken<'_> {
    fn rank(&self) -> Nanos {
        self.consumed - self.typical.unwrap_or(Nanos::ZERO)
    }
}

/// Who took the most of the budget before the deadline, of equal ones the first on the path; of the
/// time where no budget is known; nobody if the request was met. `origin` is the request's start.
pub(super) fn of_path(
    known: &Known<'_>,
    path: &[Stretch],
    origin: Nanos,
    elapsed: Nanos,
    budget: Option<Nanos>,
    outcome: Outcome,
) -> Option<Culprit> {
    if outcome == Outcome::Met {
        return None;
    }
    let until = origin + budget.map_or(elapsed, |budget| budget.min(elapsed));
    // In order of first appearance on the path.
    let mut owners: Vec<Owner<'_>> = Vec::new();
    let mut consumed: BTreeMap<Owner<'_>, Nanos> = BTreeMap::new();
    for stretch in path {
        let owner = Owner {
            service: known.service(stretch.hop),
            operation: known.operation(stretch.hop),
            part: stretch.part,
            to: stretch.to.as_ref(),
        };
        let sum = consumed.entry(owner).or_insert_with(|| {
            owners.push(owner);
            Nanos::ZERO
        });
        *sum += (stretch.end.min(until) - stretch.start).at_least_zero();
    }
    let mut worst: Option<Taken<'_>> = None;
    for owner in owners {
        let taken = Taken {
            owner,
            consumed: consumed[&owner],
            typical: owner.typical(known.typical),
        };
        if taken.consumed > Nanos::ZERO && worst.is_none_or(|worst| taken.rank() > worst.rank()) {
            worst = Some(taken);
        }
    }
    let Taken {
        owner,
        consumed,
        typical,
    } = worst?;
    let whole = budget.filter(|budget| *budget > Nanos::ZERO);
    Some(Culprit {
        service: owner.service.clone(),
        operation: owner.operation.clone(),
        part: owner.part,
        to: owner.to.cloned(),
        consumed,
        share: (consumed, whole.unwrap_or(elapsed)),
        typical,
        excess: typical.map(|typical| consumed - typical),
    })
}
