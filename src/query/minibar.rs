//! The small bar of a request in lists: elapsed against budget, with the budget at two thirds of
//! the width in every row, so that one line runs down the list.

use crate::model::Nanos;

/// Thousandths of a per cent of the bar's width.
pub type Share = u32;

/// The whole width.
pub const WHOLE: Share = 100_000;

/// Where the budget ends: two thirds of the width.
pub const BUDGET: Share = 66_667;

/// A request's small bar; the stretches follow each other from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MiniBar {
    /// The expected bar and the line at its end: [`BUDGET`], or `None` without a budget.
    pub expected: Option<Share>,
    /// The culprit's time; of a request without culprit that of its largest ledger row.
    pub largest: Share,
    /// True if that is the culprit.
    pub culprit: bool,
    /// All other time up to the deadline.
    pub rest: Share,
    /// Time after the deadline.
    pub late: Share,
    /// True if it ran past one and a half budgets, where the bar ends with a torn edge.
    pub torn: bool,
}

/// Draws the small bar of a request. Without a budget the time fills the width up to where a budget
/// would end. `largest` is what its culprit took, or its largest part, and `culprit` says which.
pub fn mini_bar(elapsed: Nanos, budget: Option<Nanos>, largest: Nanos, culprit: bool) -> MiniBar {
    let whole = budget
        .filter(|budget| *budget > Nanos::ZERO)
        .unwrap_or(elapsed);
    let in_time = match budget {
        Some(budget) => elapsed.min(budget).at_least_zero(),
        None => elapsed,
    };
    let late = (elapsed - in_time).at_least_zero();
    let largest = largest.min(in_time);
    let torn = late > whole.scaled(1, 2);
    let late = if torn {
        // Of a budget of nothing, all that came is late.
        WHOLE - BUDGET
    } else {
        width(late, whole)
    };
    MiniBar {
        expected: budget.map(|_| BUDGET),
        largest: width(largest, whole),
        culprit,
        rest: width(in_time, whole) - width(largest, whole),
        late,
        torn,
    }
}

fn width(part: Nanos, whole: Nanos) -> Share {
    Share::try_from(Nanos(i64::from(BUDGET)).scaled(part.0, whole.0).0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::ms;

    #[test]
    fn the_budget_ends_at_two_thirds() {
        let bar = mini_bar(ms(1000), Some(ms(1000)), ms(497), true);
        assert_eq!(bar.expected, Some(BUDGET));
        assert_eq!(bar.largest, 33_133);
        assert_eq!(bar.largest + bar.rest, BUDGET);
        assert!(bar.culprit && bar.late == 0 && !bar.torn);
        assert_eq!(mini_bar(ms(1504), Some(ms(1500)), ms(954), true).late, 177);
    }

    #[test]
    fn far_past_the_budget_the_bar_is_torn_and_stays_inside() {
        let bar = mini_bar(ms(9000), Some(ms(1000)), ms(497), true);
        assert!(bar.torn);
        assert!(bar.largest + bar.rest + bar.late <= WHOLE);
        let bar = mini_bar(ms(9000), Some(ms(-5)), ms(497), true);
        assert!(bar.torn && bar.rest == 0);
        assert_eq!(mini_bar(ms(9000), None, ms(497), false).expected, None);
    }
}
