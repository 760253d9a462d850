//! Which rows there are, in which order, and everything about one that is not its bar.

use std::collections::BTreeMap;

use super::stretches::{self, Pieces};
use super::{MAX_INDENT, Row, Sent, StretchKind};
use crate::model::{Call, CallKind, Culprit, Hop, How, Nanos, Part, Request, Text, Verdict};
use crate::query::attempts;

/// Two budgets that differ by less are told to be the same: `grpc-timeout` is rounded.
const TOLERANCE: Nanos = Nanos::from_millis(2);

/// The rows' order and tree.
pub(super) struct Order {
    pub(super) items: Vec<Item>,
    /// The row of each hop.
    pub(super) row_of_hop: Vec<usize>,
    /// The row of each call that has its own, per hop in order of its calls.
    pub(super) row_of_call: Vec<Vec<Option<usize>>>,
    /// The call that entered each hop, as (calling hop, index).
    pub(super) entry: Vec<Option<(usize, usize)>>,
}

/// A row's place in the tree.
pub(super) struct Item {
    pub(super) hop: usize,
    pub(super) call: Option<usize>,
    depth: usize,
    last: bool,
    guides: Vec<bool>,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}

/// Depth first, children by start; without recursion, since traces may be 20,000 deep.
pub(super) fn order(request: &Request) -> Order {
    let hops = &request.hops;
    let mut children: Vec<Vec<(usize, Option<usize>)>> = vec![Vec::new(); hops.len()];
    let mut roots = Vec::new();
    let mut entry = vec![None; hops.len()];
    for (id, hop) in hops.iter().enumerate() {
        match hop.parent.filter(|&parent| parent < id) {
            Some(parent) => children[parent].push((id, None)),
            None => roots.push((id, None)),
        }
        for (index, call) in hop.calls.iter().enumerate() {
            match call.hop.and_then(|callee| entry.get_mut(callee)) {
                Some(slot) => *slot = Some((id, index)),
                None => children[id].push((id, Some(index))),
            }
        }
    }
    let start = |&(hop, call): &(usize, Option<usize>)| match call {
        Some(index) => (call_of(request, hop, index).start, 1, index),
        None => (hops[hop].start, 0, hop),
    };
    for (id, list) in children.iter_mut().enumerate() {
        list.sort_by_key(start);
        let Some(groups) = attempts::groups(&hops[id]) else {
            continue;
        };
        // Attempts of one call stand together, where its first one is.
        let group_of = |&(child, call): &(usize, Option<usize>)| {
            let entered = entry.get(child).copied().flatten().map(|(_, call)| call);
            call.or(entered).and_then(|call| groups.get(call).copied())
        };
        let mut first: BTreeMap<usize, usize> = BTreeMap::new();
        let places: Vec<usize> = list
            .iter()
            .enumerate()
            .map(|(at, child)| group_of(child).map_or(at, |of| *first.entry(of).or_insert(at)))
            .collect();
        let mut placed: Vec<_> = places.into_iter().zip(list.drain(..)).collect();
        placed.sort_by_key(|(place, _)| *place);
        list.extend(placed.into_iter().map(|(_, child)| child));
    }

    let mut order = Order {
        items: Vec::with_capacity(hops.len()),
        row_of_hop: vec![0; hops.len()],
        row_of_call: hops.iter().map(|hop| vec![None; hop.calls.len()]).collect(),
        entry,
    };
    // (hop, call, parent's row, last of its parent)
    let mut stack: Vec<(usize, Option<usize>, Option<usize>, bool)> = Vec::new();
    for (i, &(hop, call)) in roots.iter().enumerate().rev() {
        stack.push((hop, call, None, i + 1 == roots.len()));
    }
    while let Some((hop, call, parent, last)) = stack.pop() {
        let row = order.items.len();
        let (depth, guides) = match parent.and_then(|parent| order.items.get(parent)) {
            Some(parent) => (parent.depth + 1, guides_under(parent)),
            None => (0, Vec::new()),
        };
        order.items.push(Item {
            hop,
            call,
            depth,
            last,
            guides,
        });
        if let Some(index) = call {
            order.row_of_call[hop][index] = Some(row);
            continue;
        }
        order.row_of_hop[hop] = row;
        let list = &children[hop];
        for (i, &(child, call)) in list.iter().enumerate().rev() {
            stack.push((child, call, Some(row), i + 1 == list.len()));
        }
    }
    order
}

fn guides_under(parent: &Item) -> Vec<bool> {
    with_level(&parent.guides, parent.depth, parent.last)
}

/// The vertical lines left of whatever hangs under a row.
pub(super) fn guides_below(row: &Row) -> Vec<bool> {
    with_level(&row.guides, row.depth, row.last)
}

fn with_level(guides: &[bool], depth: usize, last: bool) -> Vec<bool> {
    let mut guides = guides.to_vec();
    if depth > 0 && guides.len() < MAX_INDENT {
        guides.push(!last);
    }
    guides
}

fn call_of(request: &Request, hop: usize, index: usize) -> &Call {
    &request.hops[hop].calls[index]
}

/// Everything about one row.
pub(super) fn row(request: &Request, order: &Order, pieces: &Pieces, index: usize) -> Row {
    let item = &order.items[index];
    let hop = &request.hops[item.hop];
    let mut row = if let Some(call) = item.call {
        call_row(hop, &hop.calls[call])
    } else {
        let entry = order.entry[item.hop].map(|(hop, call)| (hop, call_of(request, hop, call)));
        hop_row(request, hop, entry)
    };
    row.hop = item.hop;
    row.call = item.call;
    row.depth = item.depth;
    row.last = item.last;
    row.guides.clone_from(&item.guides);
    row.stretches = stretches::of_row(request, order, pieces, index);

    let culprit = request.culprit.as_ref().filter(|_| row.has_path());
    if let Some(culprit) = culprit {
        for stretch in &mut row.stretches {
            stretch.culprit = stretch
                .part
                .is_some_and(|part| is_culprit(culprit, hop, item.call, part));
        }
        row.culprit = row.stretches.iter().any(|stretch| stretch.culprit);
    }
    row.surfaced = item.call.is_none()
        && request
            .surfaced
            .as_ref()
            .is_some_and(|surfaced| surfaced.hop == item.hop);
    row.own_late = row
        .stretches
        .iter()
        .filter(|stretch| {
            matches!(
                stretch.kind,
                StretchKind::Late | StretchKind::LateDependency
            )
        })
        .map(|stretch| stretch.end - stretch.start)
        .sum();
    if item.call.is_some() {
        row.late = row.own_late;
        row.own = (row.end - row.start - row.late).at_least_zero();
    } else {
        row.late = hop.wasted;
        row.own = (hop.local - row.own_late).at_least_zero();
    }
    row.times_typical = culprit
        .filter(|_| row.culprit)
        .filter(|culprit| {
            matches!(
                culprit.part,
                Part::Local | Part::Dependency | Part::Unreported
            )
        })
        .and_then(|culprit| culprit.typical)
        .and_then(|typical| tenths(row.own, typical));
    row
}

/// `part ÷ whole` in tenths, rounded half up.
pub(crate) fn tenths(part: Nanos, whole: Nanos) -> Option<u64> {
    let (part, whole) = (u64::try_from(part.0).ok()?, u64::try_from(whole.0).ok()?);
    let doubled = (u128::from(part) * 20).checked_div(u128::from(whole))?;
    u64::try_from(doubled.div_ceil(2)).ok()
}

impl Row {
    fn has_path(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.part.is_some())
    }
}

/// True if time of this part on this row is the culprit's.
pub(super) fn is_culprit(culprit: &Culprit, hop: &Hop, call: Option<usize>, part: Part) -> bool {
    let to = call.map(|index| &hop.calls[index].to);
    culprit.part == part
        && culprit.service == hop.service
        && culprit.operation == hop.operation
        // Transit and backoff stand on the caller's row, which has no callee of its own.
        && (call.is_none() || culprit.to.as_ref() == to)
}

fn hop_row(request: &Request, hop: &Hop, entry: Option<(usize, &Call)>) -> Row {
    let end = hop.start + hop.elapsed.at_least_zero();
    let call = entry.map(|(_, call)| call);
    let caller = entry.and_then(|(caller, _)| request.hops.get(caller));
    let told = hop
        .remaining_in
        .filter(|_| hop.remaining_in_source.how.is_propagated());
    let left = hop.deadline.map(|deadline| deadline - hop.start);
    Row {
        kind: CallKind::Hop,
        name: hop.service.clone(),
        operation: hop.operation.clone(),
        attempt: call.and_then(attempt),
        propagated: !caller.is_some_and(|caller| is_broken(caller, hop, call)),
        left,
        told: match (told, left) {
            (Some(told), Some(left)) if told > left + tolerance(left) => Some(told),
            _ => None,
        },
        how: hop.remaining_in_source.how,
        sent: sent(request, hop),
        start: hop.start,
        end,
        deadline: hop.deadline,
        expected: expected(hop.start, earliest(hop.own_deadline, hop.deadline)),
        overhang: overhang(
            hop.start,
            hop.deadline,
            latest(
                hop.own_deadline
                    .filter(|_| hop.remaining_in_source.how.is_propagated()),
                call.and_then(call_deadline),
            ),
        ),
        given_up: hop
            .calls
            .iter()
            .filter(|call| is_given_up(request, call))
            .map(|call| call.start + call.elapsed)
            .collect(),
        arrival_range: arrival_range(hop),
        verdict: hop.verdict,
        ..Row::default()
    }
}

fn call_row(hop: &Hop, call: &Call) -> Row {
    let own = earliest(
        call_deadline(call),
        call.remaining_out.map(|left| call.start + left),
    );
    let deadline = earliest(hop.deadline, own);
    Row {
        kind: call.kind,
        name: call.to.clone(),
        // A far side without a name of its own bears the span's: once is enough.
        operation: if call.operation == call.to {
            Text::default()
        } else {
            call.operation.clone()
        },
        attempt: attempt(call),
        left: deadline.map(|deadline| deadline - call.start),
        how: if deadline.is_some() {
            How::Inherited
        } else {
            How::None
        },
        start: call.start,
        end: call.start + call.elapsed.at_least_zero(),
        deadline,
        expected: expected(call.start, deadline),
        overhang: overhang(call.start, deadline, call_deadline(call)),
        verdict: call.verdict,
        ..Row::default()
    }
}

fn attempt(call: &Call) -> Option<(u32, u32)> {
    (call.attempts > 1).then_some((call.attempt, call.attempts))
}

/// True if the caller had a deadline, waited for this hop, and told it none.
pub(crate) fn is_broken(caller: &Hop, hop: &Hop, call: Option<&Call>) -> bool {
    // Of a hop that was told nothing, a deadline is its own limit.
    let known = caller.remaining_in_source.how != How::Inferred;
    known
        && caller.deadline.is_some()
        && !hop.remaining_in_source.how.is_propagated()
        && call.is_none_or(|call| call.waited && call.remaining_out.is_none())
}

/// What the hop told its last callee that could have listened.
fn sent(request: &Request, hop: &Hop) -> Sent {
    let last = hop
        .calls
        .iter()
        .filter(|call| matches!(call.kind, CallKind::Hop | CallKind::Unreported))
        .max_by_key(|call| call.start);
    let Some(call) = last else {
        return Sent::Leaf;
    };
    let callee = call.hop.and_then(|id| request.hops.get(id));
    let told = call.remaining_out.or_else(|| {
        callee
            .filter(|callee| callee.remaining_in_source.how.is_propagated())
            .and_then(|callee| callee.remaining_in)
    });
    match (told, callee) {
        (Some(told), _) => Sent::Budget(told),
        (None, Some(callee)) if is_broken(hop, callee, Some(call)) => Sent::Nothing,
        _ => Sent::Unknown,
    }
}

/// True if the caller left before it had an answer.
fn is_given_up(request: &Request, call: &Call) -> bool {
    use Verdict::{CancelledByCaller, ExceededDownstream, ExceededHere, TimedOutEarly};
    let end = call.start + call.elapsed;
    let outlived = call
        .hop
        .and_then(|id| request.hops.get(id))
        .is_some_and(|callee| callee.start + callee.elapsed > end);
    call.waited
        && (matches!(
            call.verdict,
            CancelledByCaller | ExceededDownstream | ExceededHere | TimedOutEarly
        ) || (outlived && call.transit_back.is_none()))
}

fn call_deadline(call: &Call) -> Option<Nanos> {
    call.timeout.map(|timeout| call.start + timeout)
}

fn expected(start: Nanos, deadline: Option<Nanos>) -> Option<(Nanos, Nanos)> {
    deadline
        .filter(|&deadline| deadline > start)
        .map(|deadline| (start, deadline))
}

fn overhang(
    start: Nanos,
    deadline: Option<Nanos>,
    promised: Option<Nanos>,
) -> Option<(Nanos, Nanos)> {
    let (deadline, promised) = (deadline?, promised?);
    let from = deadline.max(start);
    (promised > deadline + tolerance(deadline - start) && promised > from)
        .then_some((from, promised))
}

fn tolerance(left: Nanos) -> Nanos {
    TOLERANCE.max(Nanos(left.0 / 100))
}

fn arrival_range(hop: &Hop) -> Option<(Nanos, Nanos)> {
    if hop.clock_offset == Nanos::ZERO {
        return None;
    }
    let (least, greatest) = hop.clock_interval?;
    let raw = hop.start - hop.clock_offset;
    Some((
        raw + least.unwrap_or(hop.clock_offset),
        raw + greatest.unwrap_or(hop.clock_offset),
    ))
}

pub(super) fn earliest(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

fn latest(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    a.max(b)
}
