//! The blocking path (semantics, section 6): who held the clock at every instant of a request.
//!
//! Walk back from the end with a cursor. Of the children that began before the cursor, the one
//! that ends last is what the parent waited for; the cursor moves to its start; what no child
//! covers the parent did itself:
//!
//! ```text
//!  parent  |=========================|      path, from the end:
//!  a          |-------|                       parent, then c up to its start,
//!  b            |--------|                    then b up to c's start (not a: b ends later),
//!  c                   |---------|            then a's part before b, then the parent
//! ```
//!
//! Unlike a walk that demands that a child ends before the cursor, staggered siblings both count.
//! O(n log n) over the whole trace, no recursion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{CallKind, Nanos, Part, SpanId, Text};

use super::hops::{AttemptId, CallId, HopId, Hops};
use super::retries::Retries;
use super::timing::Timing;
use super::tree::Forest;

/// A stretch of the path. Times are on the root's clock, from the forest's base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The owner.
    pub hop: HopId,
    /// What it is.
    pub part: Part,
    /// The callee, unless local.
    pub to: Option<Text>,
    /// Start.
    pub start: Nanos,
    /// End; after `start`.
    pub end: Nanos,
}

/// Something that a parent may have waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    /// Start.
    pub start: Nanos,
    /// Real end.
    pub end: Nanos,
    /// Breaks ties.
    pub id: SpanId,
    /// What it is, for the caller of [`walk`].
    pub index: usize,
}

/// One step of a walk: a child's stretch, or (`None`) the parent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The child's index.
    pub child: Option<usize>,
    /// Start.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
}

/// Divides `[low, high]` between a parent and its children, the latest step first.
pub(super) fn walk(children: impl Iterator<Item = Child>, low: Nanos, high: Nanos) -> Vec<Step> {
    // Of equal ends the earlier start, then the smaller id; ends are real, not cut.
    let mut heap: BinaryHeap<_> = children
        .filter(|child| child.start < high.min(child.end) && child.end > low)
        .map(|child| {
            (
                child.end,
                Reverse(child.start),
                Reverse(child.id),
                Reverse(child.index),
            )
        })
        .collect();
    let mut steps = Vec::with_capacity(2 * heap.len() + 1);
    let mut cursor = high;
    while cursor > low
        && let Some((end, Reverse(start), _, Reverse(index))) = heap.pop()
    {
        // The cursor only falls: a child that begins at or after it will never count.
        if start >= cursor {
            continue;
        }
        let (from, to) = (start.max(low), end.min(cursor));
        if to < cursor {
            steps.push(Step {
                child: None,
                start: to,
                end: cursor,
            });
        }
        if from < to {
            steps.push(Step {
                child: Some(index),
                start: from,
                end: to,
            });
        }
        cursor = from.min(to);
    }
    if cursor > low {
        steps.push(Step {
            child: None,
            start: low,
            end: cursor,
        });
    }
    steps
}

/// The calls of a hop as children of a walk, waited ones only; `index` is the [`CallId`].
pub(super) fn waited_calls<'a>(
    forest: &'a Forest<'_>,
    hops: &'a Hops,
    timing: &'a Timing,
    hop: HopId,
) -> impl Iterator<Item = Child> + 'a {
    hops.all[hop].calls.iter().filter_map(move |&call| {
        let (start, end) = timing.call_interval(forest, hops, call);
        let raw = &hops.calls[call];
        let waited = raw
            .attempts
            .iter()
            .any(|&attempt| timing.calls[attempt].waited);
        let node = raw.span.or_else(|| {
            let callee = *hops.attempts[*raw.attempts.first()?].callees.first()?;
            Some(hops.all[callee].entry)
        })?;
        waited.then_some(Child {
            start,
            end,
            id: forest.span(node).span_id,
            index: call,
        })
    })
}

/// The hops that answered an attempt as children of a walk; `index` is the [`HopId`].
pub(super) fn answers<'a>(
    forest: &'a Forest<'_>,
    hops: &'a Hops,
    timing: &'a Timing,
    attempt: AttemptId,
) -> impl Iterator<Item = Child> + Clone + 'a {
    hops.attempts[attempt].callees.iter().map(move |&callee| {
        let time = &timing.hops[callee];
        Child {
            start: time.start,
            end: time.end,
            id: forest.span(hops.all[callee].entry).span_id,
            index: callee,
        }
    })
}

/// The path of a request in time order, and how many stretches had to be clipped to fit.
pub(super) fn path(
    forest: &Forest<'_>,
    hops: &Hops,
    timing: &Timing,
    retries: &Retries,
    root: HopId,
) -> (Vec<Stretch>, usize) {
    let mut walker = Walker {
        forest,
        hops,
        timing,
        retries,
        found: vec![],
        open: vec![],
        clipped: 0,
    };
    walker
        .open
        .push((root, timing.hops[root].start, timing.hops[root].end));
    while let Some((hop, low, high)) = walker.open.pop() {
        walker.hop(hop, low, high);
    }
    let mut found = walker.found;
    found.sort_by_key(|stretch| stretch.start);
    (found, walker.clipped)
}

struct Walker<'a, 'b> {
    forest: &'a Forest<'b>,
    hops: &'a Hops,
    timing: &'a Timing,
    retries: &'a Retries,
    found: Vec<Stretch>,
    /// Hops still to be divided, each with its window.
    open: Vec<(HopId, Nanos, Nanos)>,
    clipped: usize,
}

impl Walker<'_, '_> {
    fn push(&mut self, hop: HopId, part: Part, to: Option<&Text>, start: Nanos, end: Nanos) {
        if start < end {
            self.found.push(Stretch {
                hop,
                part,
                to: to.cloned(),
                start,
                end,
            });
        }
    }

    fn hop(&mut self, hop: HopId, low: Nanos, high: Nanos) {
        let calls = waited_calls(self.forest, self.hops, self.timing, hop);
        let steps = walk(calls, low, high);
        let (ended, began) = self.beyond(hop, low, high);
        for (i, step) in steps.iter().enumerate() {
            if let Some(call) = step.child {
                self.call(call, step.start, step.end);
                continue;
            }
            let after = i.checked_sub(1).map_or(began, |i| steps[i].child);
            let before = steps.get(i + 1).map_or(ended, |step| step.child);
            let retried = before.zip(after).and_then(|(b, a)| self.is_retry(b, a));
            let part = if retried.is_some() {
                Part::Backoff
            } else {
                Part::Local
            };
            self.push(hop, part, retried.as_ref(), step.start, step.end);
        }
    }

    /// Of a hop that retries, the call that ended last before a window and the first one that
    /// began after it: the window may be cut where it waits between the two.
    fn beyond(&self, hop: HopId, low: Nanos, high: Nanos) -> (Option<CallId>, Option<CallId>) {
        if self.retries.of_hop(hop).is_empty() {
            return (None, None);
        }
        let calls = || waited_calls(self.forest, self.hops, self.timing, hop);
        let ended = calls().filter(|call| call.end <= low);
        let ended = ended.max_by_key(|call| (call.end, Reverse((call.start, call.id))));
        let began = calls().filter(|call| call.start >= high);
        let began = began.min_by_key(|call| (call.start, call.id));
        (ended.map(|call| call.index), began.map(|call| call.index))
    }

    /// The target, if `after` is a later attempt of `before`: no other attempt of the two stands
    /// between them.
    fn is_retry(&self, before: CallId, after: CallId) -> Option<Text> {
        let last = *self.hops.calls[before].attempts.last()?;
        let first = *self.hops.calls[after].attempts.first()?;
        let ((one, at), (other, next)) = (self.retries.place[last]?, self.retries.place[first]?);
        (one == other && next > at).then(|| self.hops.attempts[first].to.clone())
    }

    fn call(&mut self, call: CallId, low: Nanos, high: Nanos) {
        let attempts = &self.hops.calls[call].attempts;
        if let [only] = attempts[..] {
            return self.attempt(only, low, high);
        }
        let Some(&first) = attempts.first() else {
            return;
        };
        let (hop, to) = (
            self.hops.attempts[first].hop,
            self.hops.attempts[first].to.clone(),
        );
        let children = attempts.iter().map(|&attempt| {
            let time = &self.timing.calls[attempt];
            let id = self.hops.attempts[attempt]
                .spans
                .map_or(SpanId::default(), |(node, _)| {
                    self.forest.span(node).span_id
                });
            Child {
                start: time.start,
                end: time.end,
                id,
                index: attempt,
            }
        });
        let gaps = Gaps::between(children.clone());
        for step in walk(children, low, high) {
            if let Some(attempt) = step.child {
                self.attempt(attempt, step.start, step.end);
            } else {
                let part = gaps.part(&step, Part::Backoff);
                self.push(hop, part, Some(&to), step.start, step.end);
            }
        }
    }

    fn attempt(&mut self, id: usize, low: Nanos, high: Nanos) {
        let attempt = &self.hops.attempts[id];
        let time = &self.timing.calls[id];
        let (from, until) = (time.inner.0.max(low), time.inner.1.min(high));
        let part = match attempt.kind {
            CallKind::Hop => return self.callees(id, low, until, high),
            CallKind::Dependency | CallKind::Producer => Part::Dependency,
            CallKind::Unreported => Part::Unreported,
        };
        let (from, until) = (from.min(high), until.max(low));
        let (hop, to) = (attempt.hop, Some(&attempt.to));
        self.push(hop, Part::TransitOut, to, low, from);
        self.push(hop, part, to, from, until);
        self.push(hop, Part::TransitBack, to, until.max(from), high);
    }

    /// Divides an attempt's stretch between transit and the hops that answered it; a callee's
    /// time counts up to the end of the innermost span, when nobody listened any more.
    fn callees(&mut self, id: usize, low: Nanos, until: Nanos, high: Nanos) {
        let attempt = &self.hops.attempts[id];
        let until = until.clamp(low, high);
        for &callee in &attempt.callees {
            let time = &self.timing.hops[callee];
            let slack = Nanos::from_millis(1);
            let answered = time.end - time.start <= until - low;
            self.clipped += usize::from(
                time.start + slack < low && time.end > low
                    || answered && time.end > until + slack && time.start < until,
            );
        }
        let children = answers(self.forest, self.hops, self.timing, id);
        let steps = walk(children, low, until);
        let (hop, to) = (attempt.hop, Some(&attempt.to));
        // Nothing answered within the call: all of it is the way out.
        let answered = steps.iter().any(|step| step.child.is_some());
        let back = if answered {
            Part::TransitBack
        } else {
            Part::TransitOut
        };
        self.push(hop, back, to, until, high);
        let gaps = Gaps::between(answers(self.forest, self.hops, self.timing, id));
        for step in &steps {
            if let Some(callee) = step.child {
                self.open.push((callee, step.start, step.end));
                continue;
            }
            let part = if answered {
                gaps.part(step, Part::TransitOut)
            } else {
                back
            };
            self.push(hop, part, to, step.start, step.end);
        }
    }
}

/// What the stretches are that no child of a call covers, wherever it is cut.
struct Gaps {
    /// When the first child ended.
    first_end: Option<Nanos>,
    /// When the last one began.
    last_start: Option<Nanos>,
}

impl Gaps {
    fn between(children: impl Iterator<Item = Child> + Clone) -> Self {
        Self {
            first_end: children.clone().map(|child| child.end).min(),
            last_start: children.map(|child| child.start).max(),
        }
    }

    /// Before all children is the way out, after all of them the way back, else `inside`.
    fn part(&self, gap: &Step, inside: Part) -> Part {
        let one_ended = self.first_end.is_some_and(|end| end <= gap.start);
        let one_follows = self.last_start.is_some_and(|start| start >= gap.end);
        match (one_ended, one_follows) {
            (true, true) => inside,
            (true, false) => Part::TransitBack,
            (false, _) => Part::TransitOut,
        }
    }
}

/// A hop's time less the union of the calls that it waited for, each with all its attempts and
/// what lies between them.
pub(super) fn local_time(forest: &Forest<'_>, hops: &Hops, timing: &Timing, hop: HopId) -> Nanos {
    let time = &timing.hops[hop];
    let mut calls: Vec<(Nanos, Nanos)> = waited_calls(forest, hops, timing, hop)
        .map(|call| (call.start.max(time.start), call.end.min(time.end)))
        .filter(|(start, end)| start < end)
        .collect();
    calls.sort_unstable();
    let (mut busy, mut until) = (Nanos::ZERO, time.start);
    for (start, end) in calls {
        busy += (end - start.max(until)).at_least_zero();
        until = until.max(end);
    }
    time.end - time.start - busy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(start: i64, end: i64, index: usize) -> Child {
        Child {
            start: Nanos(start),
            end: Nanos(end),
            id: SpanId([index as u8; 8]),
            index,
        }
    }

    fn steps(children: &[Child], low: i64, high: i64) -> Vec<(Option<usize>, i64, i64)> {
        let mut steps = walk(children.iter().copied(), Nanos(low), Nanos(high));
        steps.reverse();
        steps
            .into_iter()
            .map(|s| (s.child, s.start.0, s.end.0))
            .collect()
    }

    #[test]
    fn staggered_siblings_both_count() {
        let siblings = [child(0, 600, 0), child(500, 1000, 1)];
        assert_eq!(
            steps(&siblings, 0, 1000),
            [(Some(0), 0, 500), (Some(1), 500, 1000)]
        );
    }

    #[test]
    fn touching_siblings_leave_nothing_to_the_parent() {
        let siblings = [child(0, 50, 0), child(50, 100, 1)];
        assert_eq!(
            steps(&siblings, 0, 100),
            [(Some(0), 0, 50), (Some(1), 50, 100)]
        );
    }

    #[test]
    fn of_parallel_children_the_slowest_counts() {
        let siblings = [child(100, 402, 0), child(100, 552, 1), child(100, 302, 2)];
        let want = [(None, 0, 100), (Some(1), 100, 552), (None, 552, 600)];
        assert_eq!(steps(&siblings, 0, 600), want);
    }

    #[test]
    fn a_cut_takes_the_child_whose_real_end_is_later() {
        let siblings = [child(0, 150, 0), child(10, 200, 1)];
        assert_eq!(
            steps(&siblings, 0, 100),
            [(Some(0), 0, 10), (Some(1), 10, 100)]
        );
        let same_end = [child(10, 200, 0), child(0, 200, 1)];
        assert_eq!(steps(&same_end, 0, 100), [(Some(1), 0, 100)]);
        let same_all = [child(0, 200, 1), child(0, 200, 0)];
        assert_eq!(steps(&same_all, 0, 100), [(Some(0), 0, 100)]);
    }

    #[test]
    fn children_outside_the_window_are_clipped_or_ignored() {
        let siblings = [
            child(-50, 20, 0),
            child(90, 300, 1),
            child(100, 300, 2),
            child(-9, -1, 3),
        ];
        let want = [(Some(0), 0, 20), (None, 20, 90), (Some(1), 90, 100)];
        assert_eq!(steps(&siblings, 0, 100), want);
        assert_eq!(steps(&[child(5, 5, 0)], 0, 10), [(None, 0, 10)]);
        assert_eq!(steps(&[], 3, 3), []);
    }
}
