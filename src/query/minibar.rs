//! The small bar of a request in lists: elapsed against budget, with the budget at two thirds of
//! the width in every row, so that one line runs down the list.

use super::ledger::ledger;
use crate::model::{Nanos, Request};

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

/// Draws the small bar. Without a budget the time fills the width up to where a budget would end.
pub fn mini_bar(request: &Request) -> MiniBar {
    let budget = request.budget.filter(|budget| *budget > Nanos::ZERO);
    let whole = budget.unwrap_or(request.elapsed);
    let in_time = match request.budget {
        Some(budget) => request.elapsed.min(budget).at_least_zero(),
        None => request.elapsed,
    };
    let late = (request.elapsed - in_time).at_least_zero();
    let largest = match &request.culprit {
        Some(culprit) => culprit.consumed,
        None => ledger(request)
            .rows
            .first()
            .map_or(Nanos::ZERO, |row| row.time),
    }
    .min(in_time);
    let torn = late > whole.scaled(1, 2);
    let late = if torn {
        // Of a budget of nothing, all that came is late.
        WHOLE - BUDGET
    } else {
        width(late, whole)
    };
    MiniBar {
        expected: request.budget.map(|_| BUDGET),
        largest: width(largest, whole),
        culprit: request.culprit.is_some(),
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
    use crate::query::fixtures::{chain, fan_out, ms};

    #[test]
    fn the_budget_ends_at_two_thirds() {
        let bar = mini_bar(&chain());
        assert_eq!(bar.expected, Some(BUDGET));
        assert_eq!(bar.largest, 33_133);
        assert_eq!(bar.largest + bar.rest, BUDGET);
        assert!(bar.culprit && bar.late == 0 && !bar.torn);
        assert_eq!(mini_bar(&fan_out()).late, 177);
    }

    #[test]
    fn far_past_the_budget_the_bar_is_torn_and_stays_inside() {
        let mut request = chain();
        request.elapsed = ms(9000);
        let bar = mini_bar(&request);
        assert!(bar.torn);
        assert!(bar.largest + bar.rest + bar.late <= WHOLE);
        request.budget = Some(ms(-5));
        let bar = mini_bar(&request);
        assert!(bar.torn && bar.rest == 0);
        request.budget = None;
        assert_eq!(mini_bar(&request).expected, None);
    }
}
