//! The budget waterfall: one row per hop and per dependency call, with everything that is drawn
//! in it already worked out. Times count from the request's start, on the root's clock.

mod axis;
mod find;
mod fold;
mod rows;
mod shown;
mod stretches;
#[cfg(test)]
mod tests;

use crate::model::{CallKind, How, Nanos, Part, Request, Text, Verdict};

pub use find::{find, row_of_span};
pub use fold::{Folded, Folding, HandOver, Line, fold, lines};
pub(crate) use rows::{is_broken, tenths};
pub use shown::{Range, Shown};

/// Levels of indentation that are drawn; deeper rows print their depth instead.
pub const MAX_INDENT: usize = 12;

/// Lays a request out. Total: whatever the hops hold, something is drawn, in time linear in rows,
/// calls and path segments.
pub fn waterfall(request: &Request) -> Waterfall {
    let order = rows::order(request);
    let pieces = stretches::assign(request, &order);
    let rows: Vec<Row> = (0..order.len())
        .map(|index| rows::row(request, &order, &pieces, index))
        .collect();
    let (axis_end, ticks) = axis::axis(request, rows.iter().map(|row| row.end));
    let strip = axis::strip(request, &order, &pieces, axis_end);
    Waterfall {
        row_of_hop: order.row_of_hop,
        rows,
        strip,
        axis_start: Nanos::ZERO,
        axis_end,
        ticks,
        deadline: request.budget,
    }
}

/// A request laid out for drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Waterfall {
    /// Hops and dependency calls in drawing order: depth first, by start.
    pub rows: Vec<Row>,
    /// The row of each hop.
    pub row_of_hop: Vec<usize>,
    /// Who held the clock: the path, stretches shorter than they can be drawn merged.
    pub strip: Vec<Stretch>,
    /// Where the time axis begins: at the request's start, unless a clock that is not aligned says
    /// that something came before it.
    pub axis_start: Nanos,
    /// Where the time axis ends: 1.03 to 1.1 × the last actual end.
    pub axis_end: Nanos,
    /// Round times to mark on the axis, without the deadline.
    pub ticks: Vec<Nanos>,
    /// The request's deadline.
    pub deadline: Option<Nanos>,
}

/// One row.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks that are each drawn on their own"
)]
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The hop, or the hop that made the dependency call.
    pub hop: usize,
    /// The dependency call's index in that hop's `calls`; `None` for a hop's own row.
    pub call: Option<usize>,
    /// What the row is: a hop, a dependency, an unreported callee, a message sent.
    pub kind: CallKind,
    /// Levels of indentation.
    pub depth: usize,
    /// True if no later row has the same parent (the tree's corner).
    pub last: bool,
    /// For each ancestor level from 1 to `depth - 1` (to [`MAX_INDENT`] at most): whether its
    /// vertical line goes on here.
    pub guides: Vec<bool>,
    /// It carries the culprit's ◆.
    pub culprit: bool,
    /// It carries the ⚑.
    pub surfaced: bool,
    /// The service or dependency.
    pub name: Text,
    /// What it did.
    pub operation: Text,
    /// (attempt, attempts), if there was more than one.
    pub attempt: Option<(u32, u32)>,
    /// False if the caller had a deadline and did not pass it on.
    pub propagated: bool,
    /// What was left of the effective deadline on arrival.
    pub left: Option<Nanos>,
    /// What it was told, where that is more than what was left.
    pub told: Option<Nanos>,
    /// How its budget is known.
    pub how: How,
    /// What it passed on with its last call.
    pub sent: Sent,
    /// Arrival.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
    /// The effective deadline.
    pub deadline: Option<Nanos>,
    /// Arrival to the earlier of its own and its effective deadline.
    pub expected: Option<(Nanos, Nanos)>,
    /// Time past the effective deadline that it was promised, by what it was told or by the timeout
    /// of the call that asked for it.
    pub overhang: Option<(Nanos, Nanos)>,
    /// What it did, without overlaps, in time order.
    pub stretches: Vec<Stretch>,
    /// Ends of its calls that were given up.
    pub given_up: Vec<Nanos>,
    /// Own time before the deadline (or before whoever asked had left).
    pub own: Nanos,
    /// Own time after it.
    pub own_late: Nanos,
    /// All time after it, waiting included: a hop's wasted time.
    pub late: Nanos,
    /// Own time ÷ typical in tenths (15 is 1.5 ×), where a typical time is known.
    pub times_typical: Option<u64>,
    /// The feasible arrivals, for a row whose clock was moved.
    pub arrival_range: Option<(Nanos, Nanos)>,
    /// How it ended.
    pub verdict: Verdict,
}

impl Default for Row {
    /// A hop that was ok, of no length, about which nothing is known.
    fn default() -> Self {
        Self {
            hop: 0,
            call: None,
            kind: CallKind::Hop,
            depth: 0,
            last: true,
            guides: Vec::new(),
            culprit: false,
            surfaced: false,
            name: Text::default(),
            operation: Text::default(),
            attempt: None,
            propagated: true,
            left: None,
            told: None,
            how: How::None,
            sent: Sent::Leaf,
            start: Nanos::ZERO,
            end: Nanos::ZERO,
            deadline: None,
            expected: None,
            overhang: None,
            stretches: Vec::new(),
            given_up: Vec::new(),
            own: Nanos::ZERO,
            own_late: Nanos::ZERO,
            late: Nanos::ZERO,
            times_typical: None,
            arrival_range: None,
            verdict: Verdict::Ok,
        }
    }
}

/// What a hop told its callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It made no call.
    Leaf,
    /// Its last call carried no deadline although there was one.
    Nothing,
    /// Its last call carried this.
    Budget(Nanos),
    /// It had none itself.
    Unknown,
}

/// A stretch of a row or of the strip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// From.
    pub start: Nanos,
    /// To.
    pub end: Nanos,
    /// What it is.
    pub kind: StretchKind,
    /// What was spent there, for stretches of the path: over all rows these tile the time from 0 to
    /// the request's end.
    pub part: Option<Part>,
    /// The row that owns it.
    pub row: usize,
    /// It belongs to the culprit.
    pub culprit: bool,
}

/// How a stretch is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StretchKind {
    /// Own time on the blocking path.
    Held,
    /// A dependency's time on the blocking path.
    HeldDependency,
    /// Time on the blocking path in a call that nobody answered.
    HeldUnreported,
    /// Own (or a dependency's) time off the path.
    Beside,
    /// Waiting for a call.
    Waiting,
    /// Network, queue, connection set-up.
    Transit,
    /// Between two attempts.
    Backoff,
    /// Own work after the effective deadline, or after the call that asked for it had left.
    Late,
    /// A dependency's time after it.
    LateDependency,
    /// Waiting after it.
    LateWaiting,
}
