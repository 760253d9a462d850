//! Which part of the time is shown, on whose clocks.

use super::{Row, Stretch, Waterfall, axis};
use crate::model::{Nanos, Request};

/// The shortest stretch that an axis shows.
const SHORTEST: Nanos = Nanos(1000);

/// A stretch of the time axis, from the request's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub from: Nanos,
    /// Where it ends, later than `from`.
    pub to: Nanos,
}

impl Range {
    /// How long it is.
    pub fn length(self) -> Nanos {
        self.to - self.from
    }

    /// As long as before or the shortest there is, moved so that it lies within `whole`; all of it
    /// if that is shorter.
    fn within(self, whole: Self) -> Self {
        let length = self.length().max(SHORTEST).min(whole.length());
        let from = self.from.max(whole.from).min(whole.to - length);
        Self {
            from,
            to: from + length,
        }
    }

    /// So many hundredths as long, around the same middle.
    fn around_middle(self, hundredths: i64) -> Self {
        let length = self.length().scaled(hundredths, 100);
        let from = Nanos(self.from.0.midpoint(self.to.0)) - length.scaled(1, 2);
        Self {
            from,
            to: from + length,
        }
    }
}

/// A waterfall with the part of its axis that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What there is.
    pub whole: Range,
    /// What is shown of it.
    pub range: Range,
    /// Round times in that, without the deadline.
    pub ticks: Vec<Nanos>,
    /// Half of it; `None` at the shortest.
    pub closer: Option<Range>,
    /// Twice as much; `None` if all is shown.
    pub wider: Option<Range>,
    /// A tenth of the budget before the deadline and after it.
    pub deadline: Option<Range>,
}

impl Shown {
    /// Whether less than the whole is shown.
    pub fn is_zoomed(&self) -> bool {
        self.range != self.whole
    }
}

impl Waterfall {
    /// All of the time axis.
    pub fn whole(&self) -> Range {
        Range {
            from: self.axis_start,
            to: self.axis_end,
        }
    }

    /// The axis from one instant to another, each the whole's own where it is not given. What lies
    /// outside of the whole is not shown; `None` if nothing is left.
    pub fn shown(&self, from: Option<Nanos>, to: Option<Nanos>) -> Option<Shown> {
        let whole = self.whole();
        let around = self.deadline.map(|deadline| Range {
            from: deadline - deadline.scaled(10, 100),
            to: deadline + deadline.scaled(10, 100).max(SHORTEST),
        });
        // A deadline after all that happened can be looked at, too.
        let last = around.map_or(whole.to, |around| around.to.max(whole.to));
        let range = Range {
            from: from.unwrap_or(whole.from).max(whole.from),
            to: to.unwrap_or(whole.to).min(last),
        };
        if range.length() < SHORTEST {
            return None;
        }
        let closer = range.around_middle(50);
        let wider = range.around_middle(200).within(whole);
        Some(Shown {
            whole,
            range,
            ticks: axis::ticks(range, self.deadline),
            closer: (closer.length() >= SHORTEST).then_some(closer),
            wider: (range != whole).then_some(wider),
            deadline: around,
        })
    }

    /// The same on every host's own clock: each row with all that is on it moved back by what
    /// aligned it, in the same order. The strip stays on the root's clock; so does an arrival's
    /// whisker, which says where the root's clock would have the arrival.
    #[must_use]
    pub fn on_own_clocks(&self, request: &Request) -> Self {
        let rows: Vec<Row> = self
            .rows
            .iter()
            .map(|row| {
                let hop = request.hops.get(row.hop);
                let offset = hop.map_or(Nanos::ZERO, |hop| hop.clock_offset);
                moved(row, -offset)
            })
            .collect();
        let first = rows
            .iter()
            .map(|row| row.start)
            .fold(Nanos::ZERO, Nanos::min);
        let last = rows.iter().map(|row| row.end);
        let (axis_end, ticks) = axis::axis(request, last);
        let mut out = Self {
            rows,
            row_of_hop: self.row_of_hop.clone(),
            strip: self.strip.clone(),
            axis_start: first.scaled(103, 100),
            axis_end,
            ticks,
            deadline: self.deadline,
        };
        if out.axis_start < Nanos::ZERO {
            out.ticks = axis::ticks(out.whole(), out.deadline);
        }
        out
    }
}

fn moved(row: &Row, by: Nanos) -> Row {
    if by == Nanos::ZERO {
        return row.clone();
    }
    let pair = |pair: Option<(Nanos, Nanos)>| pair.map(|(from, to)| (from + by, to + by));
    Row {
        start: row.start + by,
        end: row.end + by,
        deadline: row.deadline.map(|deadline| deadline + by),
        expected: pair(row.expected),
        overhang: pair(row.overhang),
        stretches: row
            .stretches
            .iter()
            .map(|stretch| Stretch {
                start: stretch.start + by,
                end: stretch.end + by,
                ..stretch.clone()
            })
            .collect(),
        given_up: row.given_up.iter().map(|end| *end + by).collect(),
        ..row.clone()
    }
}
