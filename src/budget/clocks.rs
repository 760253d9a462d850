//! Clocks (semantics, section 3). Durations on one host are true; instants on two hosts are not
//! comparable as they stand.
//!
//! Every call between two hosts bounds the offset between their clocks: the callee cannot have
//! begun before the call did, and, if the call got an answer, the callee cannot have ended after
//! it. A callee that begins or ends late is no skew: under timeouts that is the normal case.

use std::collections::BTreeMap;

use crate::model::{Nanos, Note};

use super::hops::{Attempt, AttemptId, HopId, Hops};
use super::tree::Forest;

/// An offset of 0 is believed if it violates no bound by more.
const SLACK: Nanos = Nanos::from_millis(1);

/// What was found out about the clocks of a trace.
#[derive(Debug)]
pub(super) struct Clocks {
    /// What to add to each hop's clock to bring it to its root's.
    pub offsets: Vec<Nanos>,
    /// The feasible offsets of each hop, least and greatest; `None` on the caller's own host.
    pub intervals: Vec<Option<(Option<Nanos>, Option<Nanos>)>>,
    /// Pairs of hosts whose clocks differ, each with the first attempt between them, by the root
    /// of the request that made it.
    pub skewed: BTreeMap<HopId, Vec<Skew>>,
    /// True for hops whose clock cannot be compared with the caller's.
    pub conflict: Vec<bool>,
    /// Contradictions.
    pub notes: Vec<Note>,
}

/// Two hosts whose clocks differ.
#[derive(Debug, Clone)]
pub(super) struct Skew {
    /// The first call between them.
    pub attempt: AttemptId,
    /// The callee of that call.
    pub callee: HopId,
    /// What to add to the callee's clock to bring it to the caller's.
    pub offset: Nanos,
    /// The least and the greatest that the calls allow.
    pub bounds: (Option<Nanos>, Option<Nanos>),
}

/// The bounds of one pair of hosts: what to add to the second's clock.
#[derive(Debug, Clone)]
struct Pair {
    low: Option<Nanos>,
    high: Option<Nanos>,
    /// The first call between them: of the outermost hop, for starts on two clocks do not compare.
    first: (HopId, Nanos, AttemptId, HopId),
}

impl Pair {
    /// The offset that is believed, and whether the bounds contradict each other.
    fn offset(&self) -> (Nanos, bool) {
        let (low, high) = (
            self.low.unwrap_or(Nanos(i64::MIN)),
            self.high.unwrap_or(Nanos::MAX),
        );
        if low <= SLACK && high >= -SLACK {
            (Nanos::ZERO, false)
        } else if low <= high {
            (if low > Nanos::ZERO { low } else { high }, false)
        } else {
            (Nanos(low.0.midpoint(high.0)), true)
        }
    }
}

/// Bounds, resolves and applies the offsets.
pub(super) fn align(forest: &Forest<'_>, hops: &Hops) -> Clocks {
    let pairs = bound(forest, hops);
    let mut clocks = Clocks {
        offsets: vec![Nanos::ZERO; hops.all.len()],
        intervals: vec![None; hops.all.len()],
        conflict: vec![false; hops.all.len()],
        skewed: BTreeMap::new(),
        notes: vec![],
    };
    for (&(a, b), pair) in &pairs {
        let (offset, conflict) = pair.offset();
        if conflict {
            clocks.notes.push(Note::ClockConflict(
                hops.hosts[a].clone(),
                hops.hosts[b].clone(),
            ));
        }
        if offset != Nanos::ZERO || conflict {
            let (_, _, attempt, callee) = pair.first;
            let forward = hops.all[hops.attempts[attempt].hop].host == a;
            let bounds = (pair.low, pair.high);
            let root = hops.all[hops.attempts[attempt].hop].root;
            clocks.skewed.entry(root).or_default().push(Skew {
                attempt,
                callee,
                offset: if forward { offset } else { -offset },
                bounds: if forward { bounds } else { mirrored(bounds) },
            });
        }
    }
    for id in 0..hops.all.len() {
        let hop = &hops.all[id];
        let Some(caller) = hop.caller else { continue };
        let (from, to) = (hops.all[caller].host, hop.host);
        let base = clocks.offsets[caller];
        clocks.offsets[id] = base;
        let Some(pair) = pairs.get(&(from.min(to), from.max(to))) else {
            continue;
        };
        let (offset, conflict) = pair.offset();
        let forward = from < to;
        let bounds = (pair.low, pair.high);
        let (low, high) = if forward { bounds } else { mirrored(bounds) };
        let offset = if forward { offset } else { -offset };
        clocks.offsets[id] = base + offset;
        // No answer bounds the offset from above: then nothing proves that the callee's clock is
        // behind with its caller's, and the root's own clock, if it fits, means less transit.
        let fits_root = high.is_none() && low.is_none_or(|low| base + low <= SLACK);
        if offset == Nanos::ZERO && base > Nanos::ZERO && fits_root {
            clocks.offsets[id] = Nanos::ZERO;
        }
        clocks.intervals[id] = Some((low.map(|low| base + low), high.map(|high| base + high)));
        clocks.conflict[id] = conflict;
    }
    clocks
}

/// What holds for `b` seen from `a`, seen from `b`.
fn mirrored((low, high): (Option<Nanos>, Option<Nanos>)) -> (Option<Nanos>, Option<Nanos>) {
    (high.map(|high| -high), low.map(|low| -low))
}

fn bound(forest: &Forest<'_>, hops: &Hops) -> BTreeMap<(usize, usize), Pair> {
    let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
    for (id, attempt) in hops.attempts.iter().enumerate() {
        let from = hops.all[attempt.hop].host;
        for &callee in &attempt.callees {
            let to = hops.all[callee].host;
            if from == to {
                continue;
            }
            let (low, high) = bounds_of(forest, hops, attempt, callee);
            let (low, high) = if from < to {
                (low, high)
            } else {
                mirrored((low, high))
            };
            let (call_start, _) = hops.interval(forest, attempt);
            let first = (attempt.hop, call_start, id, callee);
            let pair = pairs.entry((from.min(to), from.max(to))).or_insert(Pair {
                low: None,
                high: None,
                first,
            });
            pair.first = pair.first.min(first);
            pair.low = low.map_or(pair.low, |low| {
                Some(pair.low.map_or(low, |old| old.max(low)))
            });
            pair.high = high.map_or(pair.high, |high| {
                Some(pair.high.map_or(high, |old| old.min(high)))
            });
        }
    }
    pairs
}

/// What one call says of its callee's clock.
fn bounds_of(
    forest: &Forest<'_>,
    hops: &Hops,
    attempt: &Attempt,
    callee: HopId,
) -> (Option<Nanos>, Option<Nanos>) {
    let entry = &forest.nodes[hops.all[callee].entry];
    let Some((_, innermost)) = attempt.spans else {
        // Entered without a CLIENT span: not before whatever caused it.
        let cause = entry
            .parent
            .map(|parent| forest.nodes[parent].start - entry.start);
        return (cause, None);
    };
    let call = &forest.nodes[innermost];
    let gave_up = attempt.evidence.deadline || attempt.evidence.cancelled;
    // Durations are true: a call shorter than its callee's run got no answer, whatever it says.
    let answered = !gave_up && call.end - call.start >= entry.end - entry.start;
    (
        Some(call.start - entry.start),
        answered.then(|| call.end - entry.end),
    )
}
