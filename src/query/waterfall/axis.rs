//! The time axis, its ticks, and the strip of who held the clock.

use super::rows::{self, Order};
use super::stretches::{Pieces, kind_of, late_kind};
use super::{Range, Stretch};
use crate::model::{Nanos, Request};

/// The strip keeps no stretch shorter than this part of the axis.
const STRIP_PARTS: i64 = 2000;

/// The step is chosen so that there are fewer.
const MOST_TICKS: i64 = 8;

/// A tick nearer to the deadline than this many per cent of the axis would run into its flag.
const FLAG_PER_CENT: i64 = 9;

/// Where the axis ends, and the round times on it; `ends` are those of the rows.
pub(super) fn axis(
    request: &Request,
    ends: impl IntoIterator<Item = Nanos>,
) -> (Nanos, Vec<Nanos>) {
    let last = ends
        .into_iter()
        .fold(request.elapsed, Nanos::max)
        .max(Nanos(1000));
    // A deadline that is not far off belongs into the picture; one at ten times the length would
    // squeeze everything else.
    let shown = match request.budget {
        Some(deadline) if deadline.scaled(1, 2) <= last => last.max(deadline),
        _ => last,
    };
    let to = shown.scaled(110, 100);
    let from = Nanos::ZERO;
    (to, ticks(Range { from, to }, request.budget))
}

/// The round times in a range, but for those that would run into the deadline's flag.
pub(super) fn ticks(range: Range, deadline: Option<Nanos>) -> Vec<Nanos> {
    let step = step(range.length());
    let near = range.length().scaled(FLAG_PER_CENT, 100);
    let first = range.from.0.div_euclid(step.0) + i64::from(range.from.0.rem_euclid(step.0) > 0);
    (0..=MOST_TICKS)
        .map(|i| Nanos(step.0.saturating_mul(first.saturating_add(i))))
        .take_while(|&tick| tick < range.to)
        .filter(|&tick| {
            tick == Nanos::ZERO || deadline.is_none_or(|deadline| (tick - deadline).abs() >= near)
        })
        .collect()
}

/// A round step that divides the axis into at most six.
fn step(end: Nanos) -> Nanos {
    let least = end.0 / 6;
    let mut power = 1_i64;
    loop {
        // 1, 2, 2.5 and 5 times a power of ten; the power starts at 10 where 2.5 is whole.
        for (numerator, denominator) in [(1, 1), (2, 1), (5, 2), (5, 1)] {
            let step = power.saturating_mul(numerator) / denominator;
            if step >= least.max(1) {
                return Nanos(step);
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The path in time order; neighbours that are too short to be seen become one stretch, drawn as
/// the longest among them.
pub(super) fn strip(
    request: &Request,
    order: &Order,
    pieces: &Pieces,
    axis_end: Nanos,
) -> Vec<Stretch> {
    let shortest = Nanos(axis_end.0 / STRIP_PARTS);
    let mut out: Vec<Stretch> = Vec::new();
    // The length of the longest segment in the last stretch, while that is a run of short ones.
    let mut longest: Option<Nanos> = None;
    for (segment, &row) in request.path.iter().zip(&pieces.row_of_segment) {
        let culprit = request
            .culprit
            .as_ref()
            .zip(order.items.get(row))
            .is_some_and(|(culprit, item)| {
                let hop = &request.hops[item.hop];
                rows::is_culprit(culprit, hop, item.call, segment.part)
            });
        let cut = request.budget.map_or(segment.end, |deadline| {
            deadline.clamp(segment.start, segment.end)
        });
        for (start, end, late) in [(segment.start, cut, false), (cut, segment.end, true)] {
            if end <= start {
                continue;
            }
            let kind = if late {
                late_kind(kind_of(segment.part), false)
            } else {
                kind_of(segment.part)
            };
            let stretch = Stretch {
                start,
                end,
                kind,
                part: Some(segment.part),
                row,
                culprit,
            };
            let length = end - start;
            match (out.last_mut(), longest) {
                (Some(before), _)
                    if before.kind == kind
                        && before.row == row
                        && before.part == stretch.part
                        && before.end == start =>
                {
                    before.end = end;
                }
                (Some(before), Some(other)) if length < shortest => {
                    before.end = end;
                    if length > other {
                        *before = Stretch {
                            start: before.start,
                            ..stretch
                        };
                        longest = Some(length);
                    }
                    // The run itself can be seen by now: what follows starts afresh.
                    if before.end - before.start >= shortest {
                        longest = None;
                    }
                }
                _ => {
                    out.push(stretch);
                    longest = (length < shortest).then_some(length);
                }
            }
        }
    }
    out
}
