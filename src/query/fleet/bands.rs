//! The same numbers as pages group, order and shorten them.

use std::cmp::Reverse;

use super::overview::{Holder, Matrix, Overview, Spender, Spent, Surfacing, Totals};
use super::services::{Numbers, Services};
use crate::model::{Nanos, Outcome, Verdict};

/// Requests by what became of them; missed ones by how they were missed. They sum to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bands {
    /// Surfaced where next to nothing was left.
    pub expired: u64,
    /// Surfaced where time ran out, there or below.
    pub exceeded: u64,
    /// Missed in another way.
    pub other: u64,
    /// Another error.
    pub failed: u64,
    /// Its caller left.
    pub cancelled: u64,
    /// In time.
    pub met: u64,
    /// No budget is known.
    pub no_budget: u64,
}

impl Bands {
    /// All that were missed.
    pub fn missed(&self) -> u64 {
        self.expired + self.exceeded + self.other
    }

    /// All that were not met, of those that could be.
    pub fn not_met(&self) -> u64 {
        self.missed() + self.failed + self.cancelled
    }

    /// All that were met or not.
    pub fn judged(&self) -> u64 {
        self.not_met() + self.met
    }
}

impl Totals {
    /// By what became of them.
    pub fn bands(&self) -> Bands {
        let by = |verdicts: &[Verdict]| {
            let of = self.missed_by.iter();
            let of = of.filter(|(verdict, _)| verdicts.contains(verdict));
            of.map(|(_, count)| *count).sum::<u64>()
        };
        let missed = self.of(Outcome::Missed);
        let expired = by(&[Verdict::ExpiredOnArrival, Verdict::ExpiredBeforeSend]).min(missed);
        let exceeded = by(&[Verdict::ExceededHere, Verdict::ExceededDownstream]);
        let exceeded = exceeded.min(missed - expired);
        Bands {
            expired,
            exceeded,
            other: missed - expired - exceeded,
            failed: self.of(Outcome::Failed),
            cancelled: self.of(Outcome::Cancelled),
            met: self.of(Outcome::Met),
            no_budget: self.of(Outcome::NoBudget),
        }
    }
}

impl Overview {
    /// The most requests of a bucket.
    pub fn busiest(&self) -> u64 {
        let requests = self.series.iter().map(|bucket| bucket.totals.requests);
        requests.max().unwrap_or(0)
    }

    /// The most slots that were held for nobody in a bucket.
    pub fn most_wasted_slots(&self) -> super::Thousandths {
        let slots = self.series.iter().map(|bucket| bucket.totals.wasted_slots);
        slots.max().unwrap_or_default()
    }
}

/// What holders of the clock are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RankBy {
    /// Time over what is typical.
    #[default]
    Excess,
    /// All time.
    Held,
}

impl Spent {
    /// The first `rows` in another order; what is left out counts among the others.
    #[must_use]
    pub fn top(mut self, by: RankBy, rows: usize) -> Self {
        if by == RankBy::Held {
            self.rows.sort_by_key(|holder| Reverse(holder.held));
        }
        let rest = self.rows.split_off(rows.min(self.rows.len()));
        self.others += rest.len() as u64;
        self.others_held += rest.iter().map(|holder| holder.held).sum();
        self
    }

    /// What the widest bar holds: that of a holder, or of the others together.
    pub fn widest(&self) -> Nanos {
        let held = self.rows.iter().map(|holder| holder.held);
        held.max().unwrap_or_default().max(self.others_held)
    }
}

impl Holder {
    /// How much more than before, if it is much.
    pub fn rises(&self) -> bool {
        self.trend.is_some_and(|trend| trend.0 >= 2000)
    }
}

impl Matrix {
    /// The first rows and columns; what is left out counts among the others.
    #[must_use]
    pub fn narrowed(mut self, surfaced: usize, spent: usize) -> Self {
        let columns = spent.min(self.spent.len());
        for (row, others) in self.cells.iter_mut().zip(&mut self.others) {
            let rest = row.split_off(columns.min(row.len()));
            *others += rest.iter().sum::<u64>();
        }
        self.other_spenders += self.spent.split_off(columns).len() as u64;
        let rows = surfaced.min(self.surfaced.len());
        let rest: Vec<Surfacing> = self.surfaced.split_off(rows);
        self.other_surfacing += rest.len() as u64;
        self.other_surfaced += rest.iter().map(|row| row.all).sum::<u64>();
        self.cells.truncate(rows);
        self.others.truncate(rows);
        self
    }

    /// Whether a cell is of one service alone.
    pub fn is_same(&self, row: usize, spender: &Spender) -> bool {
        let surfaced = self.surfaced.get(row);
        surfaced.is_some_and(|surfaced| surfaced.service == spender.service)
    }

    /// Misses that surfaced elsewhere than where the time was spent.
    pub fn elsewhere(&self) -> u64 {
        self.all.saturating_sub(self.same)
    }

    /// Misses of none of the shown columns.
    pub fn all_others(&self) -> u64 {
        let shown: u64 = self.spent.iter().map(|spender| spender.all).sum();
        self.all.saturating_sub(shown)
    }
}

/// What services are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServiceOrder {
    /// What they took of missed budgets, the most first.
    #[default]
    Held,
    /// The name.
    Name,
    /// Runs, the most first.
    Runs,
    /// The share that was not answered in time, the largest first.
    Missed,
    /// What half of the arrivals have left, the least first.
    Left,
    /// The 95th percentile of own time, the longest first.
    Own,
    /// The same from arrival to answer.
    Total,
    /// Slots held for nobody, the most first.
    Wasted,
    /// Misses of which it was the culprit, the most first.
    Culprit,
}

impl ServiceOrder {
    /// Every order with its word in addresses.
    pub const ALL: [(&str, Self); 9] = [
        ("held", Self::Held),
        ("name", Self::Name),
        ("runs", Self::Runs),
        ("missed", Self::Missed),
        ("left", Self::Left),
        ("own", Self::Own),
        ("total", Self::Total),
        ("wasted", Self::Wasted),
        ("culprit", Self::Culprit),
    ];
}

impl Services {
    /// The rows in another order; equal ones keep the one that they have.
    #[must_use]
    pub fn ordered(mut self, by: ServiceOrder) -> Self {
        sort(&mut self.rows, by);
        self
    }
}

fn sort(rows: &mut [Numbers], by: ServiceOrder) {
    match by {
        ServiceOrder::Held => rows.sort_by_key(|row| Reverse(row.held)),
        ServiceOrder::Name => rows.sort_by(|a, b| a.service.cmp(&b.service)),
        ServiceOrder::Runs => rows.sort_by_key(|row| Reverse(row.runs)),
        // Shares as cross products, so that none is rounded.
        ServiceOrder::Missed => rows.sort_by(|a, b| {
            let (a, b) = (a.not_in_time(), b.not_in_time());
            let left = u128::from(b.part) * u128::from(a.whole.max(1));
            left.cmp(&(u128::from(a.part) * u128::from(b.whole.max(1))))
        }),
        ServiceOrder::Left => {
            rows.sort_by_key(|row| (row.remaining.p50.is_none(), row.remaining.p50));
        }
        ServiceOrder::Own => rows.sort_by_key(|row| Reverse(row.local.p95)),
        ServiceOrder::Total => rows.sort_by_key(|row| Reverse(row.elapsed.p95)),
        ServiceOrder::Wasted => rows.sort_by_key(|row| Reverse(row.wasted)),
        ServiceOrder::Culprit => rows.sort_by_key(|row| Reverse(row.culprit)),
    }
}

impl Numbers {
    /// Not answered in time, of those with a budget.
    pub fn not_in_time(&self) -> super::Share {
        super::Share {
            part: self.in_time.whole.saturating_sub(self.in_time.part),
            whole: self.in_time.whole,
        }
    }

    /// Runs of the most frequent verdict but `ok`.
    pub fn most_of_a_fault(&self) -> u64 {
        let faults = self.verdicts.iter();
        let faults = faults.filter(|(verdict, _)| *verdict != Verdict::Ok);
        faults.map(|(_, runs)| *runs).max().unwrap_or(0)
    }
}

impl super::Passing {
    /// Passed on, and no more than there was.
    pub fn kept(&self) -> u64 {
        self.propagated.saturating_sub(self.reset)
    }

    /// Those that had a deadline to pass on.
    pub fn had_one(&self) -> u64 {
        self.propagated + self.not_propagated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Part;
    use crate::query::fleet::fixtures;

    #[test]
    fn bands_sum_to_all_requests() {
        let totals = fixtures::overview().now;
        let bands = totals.bands();
        assert_eq!(
            (bands.expired, bands.exceeded, bands.other),
            (1702, 1234, 278)
        );
        assert_eq!(bands.missed(), 3214);
        assert_eq!(bands.judged(), totals.budgeted);
        assert_eq!(bands.judged() + bands.no_budget, totals.requests);
    }

    #[test]
    fn what_is_cut_counts_among_the_others() {
        let spent = fixtures::overview().spent;
        let (before, all) = (sum(&spent), spent.rows.len() as u64 + spent.others);
        let top = spent.top(RankBy::Held, 3);
        let held: Vec<Nanos> = top.rows.iter().map(|row| row.held).collect();
        assert!(held.is_sorted_by(|a, b| a >= b) && held.len() == 3);
        assert_eq!(sum(&top), before);
        assert_eq!(top.others + 3, all);
        let matrix = fixtures::overview().matrix;
        let before = (cells(&matrix), matrix.all_others());
        let narrow = matrix.narrowed(9, 3);
        assert_eq!(cells(&narrow), before.0);
        assert!(narrow.all_others() > before.1 && narrow.spent.len() == 3);
        let low = narrow.narrowed(2, 3);
        let shown: u64 = low.surfaced.iter().map(|row| row.all).sum();
        assert_eq!(shown + low.other_surfaced, low.all);
        assert!(low.spent.iter().any(|one| one.part == Part::Local));
    }

    fn sum(spent: &Spent) -> Nanos {
        spent.rows.iter().map(|row| row.held).sum::<Nanos>() + spent.others_held
    }

    fn cells(matrix: &Matrix) -> u64 {
        let cells: u64 = matrix.cells.iter().flatten().sum();
        cells + matrix.others.iter().sum::<u64>()
    }

    #[test]
    fn services_are_ordered_by_what_was_asked() {
        let names = |by| {
            let rows = fixtures::services().ordered(by).rows;
            let names: Vec<String> = rows.iter().map(|row| row.service.to_string()).collect();
            names.join(" ")
        };
        assert_eq!(
            names(ServiceOrder::Name),
            "checkout inventory payments pricing"
        );
        assert_eq!(
            names(ServiceOrder::Missed),
            "payments inventory pricing checkout"
        );
        assert_eq!(
            names(ServiceOrder::Left),
            "payments inventory pricing checkout"
        );
        assert_eq!(
            names(ServiceOrder::Held),
            "inventory pricing checkout payments"
        );
    }
}
