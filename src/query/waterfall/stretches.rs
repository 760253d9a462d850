//! The bars: what a row did when, without overlaps.
//!
//! The blocking path says who held the clock; the calls say when a hop waited; the rest is own work
//! beside the path. What lies after the moment from which nobody waited is late.

use super::rows::{Order, earliest};
use super::{Stretch, StretchKind};
use crate::model::{Call, CallKind, Hop, Nanos, Part, Request};

/// A call that outlives its hop by less ended with it.
const OVERHANG: Nanos = Nanos::from_millis(1);

/// How many calls are looked through for the owner of a path segment that begins within a call
/// instead of at its start. More of one hop to one target at once are drawn on the hop's own row.
const LOOK_BACK: usize = 256;

/// The path's segments by row, each list in time order.
pub(super) struct Pieces {
    of_row: Vec<Vec<Piece>>,
    /// The row of each segment of the path.
    pub(super) row_of_segment: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Piece {
    start: Nanos,
    end: Nanos,
    kind: StretchKind,
    part: Option<Part>,
}

/// Finds the row of each path segment.
pub(super) fn assign(request: &Request, order: &Order) -> Pieces {
    let mut pieces = Pieces {
        of_row: vec![Vec::new(); order.len()],
        row_of_segment: Vec::with_capacity(request.path.len()),
    };
    // The calls of a hop with their own rows by start, made when a segment first asks.
    let mut by_start: Vec<Option<Vec<usize>>> = vec![None; request.hops.len()];
    for segment in &request.path {
        let Some(hop) = request.hops.get(segment.hop) else {
            pieces.row_of_segment.push(0);
            continue;
        };
        let own_row = order.row_of_hop[segment.hop];
        let row = match segment.part {
            Part::Dependency | Part::Unreported => {
                let calls = by_start[segment.hop].get_or_insert_with(|| rows_by_start(hop));
                owner(hop, calls, segment)
                    .and_then(|call| order.row_of_call[segment.hop][call])
                    .unwrap_or(own_row)
            }
            _ => own_row,
        };
        pieces.row_of_segment.push(row);
        if let Some(list) = pieces.of_row.get_mut(row) {
            list.push(Piece {
                start: segment.start,
                end: segment.end,
                kind: kind_of(segment.part),
                part: Some(segment.part),
            });
        }
    }
    for list in &mut pieces.of_row {
        list.sort_by_key(|piece| piece.start);
    }
    pieces
}

/// How a part of the path is drawn before the deadline.
pub(super) fn kind_of(part: Part) -> StretchKind {
    match part {
        Part::Local => StretchKind::Held,
        Part::Dependency => StretchKind::HeldDependency,
        Part::Unreported => StretchKind::HeldUnreported,
        Part::TransitOut | Part::TransitBack => StretchKind::Transit,
        Part::Backoff => StretchKind::Backoff,
    }
}

fn rows_by_start(hop: &Hop) -> Vec<usize> {
    let mut calls: Vec<usize> = (0..hop.calls.len())
        .filter(|&call| hop.calls[call].kind != CallKind::Hop)
        .collect();
    calls.sort_by_key(|&call| (hop.calls[call].start, end_of(&hop.calls[call])));
    calls
}

/// The call that a segment of waiting for a dependency belongs to: one to that target that covers
/// it, of several the one that began last, since the path takes a call from its start.
fn owner(hop: &Hop, calls: &[usize], segment: &crate::model::PathSegment) -> Option<usize> {
    let begun = calls.partition_point(|&call| hop.calls[call].start <= segment.start);
    calls
        .get(..begun)?
        .iter()
        .rev()
        .take(LOOK_BACK)
        .copied()
        .find(|&index| {
            let call = &hop.calls[index];
            Some(&call.to) == segment.to.as_ref() && end_of(call) >= segment.end
        })
}

fn end_of(call: &Call) -> Nanos {
    call.start + call.elapsed.at_least_zero()
}

/// A row's stretches.
pub(super) fn of_row(
    request: &Request,
    order: &Order,
    pieces: &Pieces,
    row: usize,
) -> Vec<Stretch> {
    let item = &order.items[row];
    let hop = &request.hops[item.hop];
    let held = &pieces.of_row[row];
    let (base, late_from) = match item.call.map(|index| &hop.calls[index]) {
        Some(call) => {
            let whole = Piece {
                start: call.start,
                end: end_of(call),
                kind: StretchKind::Beside,
                part: None,
            };
            (vec![whole], late_from_of_call(hop, call))
        }
        None => (waiting_and_beside(hop), late_from_of_hop(hop)),
    };
    let dependency = item.call.is_some();
    let mut out: Vec<Stretch> = Vec::new();
    for piece in overlay(&base, held) {
        let cut = late_from.map_or(piece.end, |from| from.clamp(piece.start, piece.end));
        for (start, end, late) in [(piece.start, cut, false), (cut, piece.end, true)] {
            if end <= start {
                continue;
            }
            let kind = if late {
                late_kind(piece.kind, dependency)
            } else {
                piece.kind
            };
            match out.last_mut() {
                Some(before)
                    if before.end == start && before.kind == kind && before.part == piece.part =>
                {
                    before.end = end;
                }
                _ => out.push(Stretch {
                    start,
                    end,
                    kind,
                    part: piece.part,
                    row,
                    culprit: false,
                }),
            }
        }
    }
    out
}

/// What a stretch becomes once nobody waits for it.
pub(super) fn late_kind(kind: StretchKind, dependency: bool) -> StretchKind {
    use StretchKind::{
        Backoff, Beside, Held, HeldDependency, HeldUnreported, Late, LateDependency, LateWaiting,
        Transit, Waiting,
    };
    match kind {
        HeldDependency | HeldUnreported | LateDependency => LateDependency,
        Beside if dependency => LateDependency,
        Held | Beside | Late => Late,
        Waiting | Transit | Backoff | LateWaiting => LateWaiting,
    }
}

/// A hop's wasted time is one stretch at its end: what it did after nobody waited for it.
fn late_from_of_hop(hop: &Hop) -> Option<Nanos> {
    (hop.wasted > Nanos::ZERO).then(|| hop.start + (hop.elapsed - hop.wasted).at_least_zero())
}

fn late_from_of_call(hop: &Hop, call: &Call) -> Option<Nanos> {
    if !call.waited {
        return None;
    }
    let hop_end = hop.start + hop.elapsed.at_least_zero();
    let abandoned = (end_of(call) > hop_end + OVERHANG).then_some(hop_end);
    earliest(earliest(late_from_of_hop(hop), hop.deadline), abandoned)
}

/// A hop's time in calls that it waited for, and the gaps between them.
fn waiting_and_beside(hop: &Hop) -> Vec<Piece> {
    let (start, end) = (hop.start, hop.start + hop.elapsed.at_least_zero());
    let mut waits: Vec<(Nanos, Nanos)> = hop
        .calls
        .iter()
        .filter(|call| call.waited)
        .map(|call| (call.start.max(start), end_of(call).min(end)))
        .filter(|(from, to)| to > from)
        .collect();
    waits.sort_unstable();
    let mut out = Vec::with_capacity(2 * waits.len() + 1);
    let piece = |start, end, kind| Piece {
        start,
        end,
        kind,
        part: None,
    };
    let mut cursor = start;
    for (from, to) in waits {
        if from > cursor {
            out.push(piece(cursor, from, StretchKind::Beside));
            cursor = from;
        }
        if to > cursor {
            out.push(piece(cursor, to, StretchKind::Waiting));
            cursor = to;
        }
    }
    if end > cursor {
        out.push(piece(cursor, end, StretchKind::Beside));
    }
    out
}

/// `top` over `base`, clipped to what `base` covers; both in time order without overlaps, `base`
/// without gaps.
fn overlay(base: &[Piece], top: &[Piece]) -> Vec<Piece> {
    let mut out = Vec::with_capacity(base.len() + 2 * top.len());
    let mut next = 0;
    for under in base {
        let mut cursor = under.start;
        while let Some(over) = top.get(next) {
            if over.start >= under.end {
                break;
            }
            let (from, to) = (over.start.max(cursor), over.end.min(under.end));
            if to > from {
                if from > cursor {
                    out.push(Piece {
                        end: from,
                        start: cursor,
                        ..*under
                    });
                }
                out.push(Piece {
                    start: from,
                    end: to,
                    ..*over
                });
                cursor = to;
            }
            if over.end > under.end {
                break;
            }
            next += 1;
        }
        if under.end > cursor {
            out.push(Piece {
                start: cursor,
                ..*under
            });
        }
    }
    out
}
