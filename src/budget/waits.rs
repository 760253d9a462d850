//! Who failed by deadline, and which calls a hop waited for (semantics, sections 5 and 6): the one
//! depends on the other.

use super::hops::{HopId, Hops};
use super::timing::{BECAUSE_OF, OUTLIVES, Timing, attempts_of, is_about};
use super::tree::Forest;
use crate::model::Nanos;

impl Timing {
    /// True if a hop turned out to have failed by deadline and is not yet taken to have waited
    /// for all its calls.
    pub(super) fn waited_for_more(&self, hops: &Hops) -> bool {
        (0..hops.all.len()).any(|id| {
            self.failed_by_deadline[id]
                && attempts_of(hops, id).any(|call| !self.calls[call].waited)
        })
    }

    /// True if a hop's failure came after its effective deadline, or may be a timeout and came
    /// when that did.
    pub(super) fn fails_by_time(&self, hops: &Hops, id: HopId) -> bool {
        let (evidence, time) = (&hops.all[id].evidence, &self.hops[id]);
        let in_time = |deadline| is_about(time.end, deadline);
        (evidence.error || evidence.cancelled) && self.is_late(id)
            || evidence.maybe_deadline && time.effective.is_some_and(in_time)
    }

    /// Some callers say "cancelled" when their own timer fired: a callee that answered with a
    /// deadline failure knows better. Both words tell of one deadline.
    pub(super) fn fail_with_callees(&mut self, hops: &Hops) {
        for (id, attempt) in hops.attempts.iter().enumerate() {
            let end = self.calls[id].end;
            let callee_failed = attempt.callees.iter().any(|&callee| {
                hops.all[callee].evidence.deadline && self.hops[callee].end <= end + OUTLIVES
            });
            let evidence = attempt.evidence;
            self.calls[id].by_deadline = evidence.deadline || evidence.cancelled && callee_failed;
        }
    }

    /// A hop that fails right after a call of its own failed by deadline failed because of it.
    /// Callees before callers.
    pub(super) fn fail_because_of_calls(&mut self, forest: &Forest<'_>, hops: &Hops) {
        for id in (0..hops.all.len()).rev() {
            self.failed_by_deadline[id] |= self.fails_because_of_calls(forest, hops, id);
        }
    }

    /// Whether a call of a hop failed by deadline right before the hop failed.
    fn fails_because_of_calls(&self, forest: &Forest<'_>, hops: &Hops, id: HopId) -> bool {
        let hop = &hops.all[id];
        if hop.evidence.cancelled || !hop.evidence.error {
            return false;
        }
        let end = self.hops[id].end;
        let is_just_before = |ended: Nanos| ended <= end + OUTLIVES && end - ended <= BECAUSE_OF;
        let whole = hop.calls.iter().any(|&call| {
            let raw = &hops.calls[call];
            raw.evidence.deadline && is_just_before(self.call_interval(forest, hops, call).1)
        });
        whole
            || attempts_of(hops, id).any(|attempt| {
                let time = &self.calls[attempt];
                let just_before = is_just_before(time.end);
                let callee_failed = hops.attempts[attempt].callees.iter().any(|&callee| {
                    self.failed_by_deadline[callee] && self.hops[callee].end <= time.end + OUTLIVES
                });
                just_before && (time.by_deadline || callee_failed)
            })
    }

    /// Works out which of its calls a hop waited for: one that outlives it only if it failed by
    /// deadline or cancellation.
    pub(super) fn wait_for_calls(&mut self, forest: &Forest<'_>, hops: &Hops, id: HopId) {
        let failed = self.failed_by_deadline[id]
            || hops.all[id].evidence.cancelled
            || self.fails_by_time(hops, id)
            || self.fails_because_of_calls(forest, hops, id);
        let end = self.hops[id].end;
        for &call in &hops.all[id].calls {
            let call_end = self.call_interval(forest, hops, call).1;
            if !failed && call_end > end + OUTLIVES {
                continue;
            }
            for &attempt in &hops.calls[call].attempts {
                let time = &mut self.calls[attempt];
                time.waited = true;
                let last = &mut self.hops[id].last_call_end;
                *last = (*last).max(Some(time.end.min(call_end)));
            }
        }
    }
}
