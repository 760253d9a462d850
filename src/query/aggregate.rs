//! Numbers over many requests, added up request by request and merged.
//!
//! **Invariant**: the order in which requests are added or parts merged changes nothing.

use crate::model::{Nanos, Request, Verdict};

use super::error::QueryError;
use super::scan::Selection;
use super::sheet::{Cell, Sheet};
use crate::store::Snapshot;

/// Something that requests are added up to.
pub trait Aggregate: Default + Send {
    /// Adds a request.
    fn add(&mut self, request: &Request);
    /// Takes in what another added up.
    fn merge(&mut self, other: Self);
    /// The numbers, in their own order.
    fn sheet(self) -> Sheet;
}

/// What several added up.
pub(super) fn merged<T: Aggregate>(sums: Vec<T>) -> T {
    let all = sums.into_iter().reduce(|mut all, sum| {
        all.merge(sum);
        all
    });
    all.unwrap_or_default()
}

/// An aggregate that the store can be asked for: the same numbers as adding each request.
pub trait OverStore: Aggregate {
    /// Adds up the requests of a selection.
    ///
    /// # Errors
    /// The store cannot be read, or this would take too much memory.
    fn over(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError>;
}

/// Times in all, beyond what one time can hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Total(i128);

impl Total {
    pub(super) fn add(&mut self, time: Nanos) {
        self.0 += i128::from(time.0);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    pub(super) fn time(self) -> Nanos {
        Nanos(self.0.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

/// How often each verdict came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Verdicts([u64; Verdict::ALL.len()]);

impl Verdicts {
    pub(super) fn add(&mut self, verdict: Verdict) {
        for (one, count) in Verdict::ALL.into_iter().zip(&mut self.0) {
            *count += u64::from(one == verdict);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// How many were one of these.
    pub(super) fn of(&self, verdicts: &[Verdict]) -> u64 {
        let counts = Verdict::ALL.into_iter().zip(self.0);
        counts
            .filter(|(one, _)| verdicts.contains(one))
            .map(|(_, count)| count)
            .sum()
    }

    /// A cell for each, in the order of [`Verdict::ALL`].
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell> {
        self.0.into_iter().map(Cell::Count)
    }
}

/// Counts the distinct requests in which something was: once in each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Distinct {
    count: u64,
    last: u64,
}

impl Distinct {
    /// It was in the request of this number; numbers begin at 1 and rise.
    pub(super) fn in_request(&mut self, number: u64) {
        self.count += u64::from(self.last != number);
        self.last = number;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
    }

    pub(super) fn count(self) -> u64 {
        self.count
    }
}
