//! Verdicts of hops and calls (semantics, section 5). Every comparison of a deadline with a time
//! has 2 ms of tolerance.

use crate::model::{Nanos, Reason, Verdict};

use super::TOLERANCE;
use super::evidence::Evidence;
use super::hops::{AttemptId, CallId, HopId, Hops};
use super::path::{answers, waited_calls, walk};
use super::policy::Policy;
use super::timing::Timing;
use super::tree::Forest;

/// What decides a verdict; the same for hops and calls.
#[derive(Debug, Clone, Copy)]
struct Case {
    start: Nanos,
    end: Nanos,
    /// The effective deadline.
    deadline: Option<Nanos>,
    /// Its own deadline, whatever its callers'.
    own: Option<Nanos>,
    evidence: Evidence,
    /// It failed by deadline, by its own words or because of a call.
    by_deadline: bool,
    min_useful: Nanos,
    /// It says that nothing was left when it began, and no number contradicts it.
    expired: bool,
}

/// What is left open until somebody looks below.
enum Ruling {
    Is(Verdict),
    Exceeded,
}

impl Case {
    fn rule(&self) -> Ruling {
        let late = self
            .deadline
            .is_some_and(|deadline| self.end > deadline + TOLERANCE);
        let failed = self.evidence.error || self.evidence.cancelled || self.by_deadline;
        if !failed && !late {
            return Ruling::Is(Verdict::Ok);
        }
        if self.evidence.error && !self.by_deadline && !self.evidence.cancelled && !late {
            return Ruling::Is(Verdict::Failed);
        }
        let too_late = |deadline: Nanos| deadline - self.start < self.min_useful;
        if self.expired || self.deadline.is_some_and(too_late) {
            return Ruling::Is(Verdict::ExpiredOnArrival);
        }
        // Its caller leaves at the caller's deadline: that is before its own, if that was reset.
        let before_own = self.own.is_none_or(|own| self.end <= own + TOLERANCE);
        if self.evidence.cancelled && before_own {
            return Ruling::Is(Verdict::CancelledByCaller);
        }
        if self
            .deadline
            .is_some_and(|deadline| deadline - self.end >= self.min_useful)
        {
            return Ruling::Is(Verdict::TimedOutEarly);
        }
        if failed {
            Ruling::Exceeded
        } else {
            Ruling::Is(Verdict::FinishedLate)
        }
    }
}

/// A hop's verdict, and the call that took more than the hop itself where that decides it.
pub(super) fn of_hop(
    forest: &Forest<'_>,
    hops: &Hops,
    timing: &Timing,
    policy: &Policy,
    id: HopId,
) -> (Verdict, Option<CallId>) {
    let (hop, time) = (&hops.all[id], &timing.hops[id]);
    let mut evidence = hop.evidence;
    // Its caller got the error as an answer: whoever cancelled its work, that was not the caller.
    evidence.cancelled &= !(evidence.error && is_answered(hops, timing, id));
    // A CLIENT root has no caller that could have left when its own timer fired.
    evidence.cancelled &=
        !(hop.caller.is_none() && forest.is_outbound(hop.entry) && timing.failed_by_deadline[id]);
    let told = evidence.reason == Some(Reason::ExpiredOnArrival);
    let case = Case {
        start: time.start,
        end: time.end,
        deadline: time.effective,
        own: time.own,
        evidence,
        by_deadline: timing.failed_by_deadline[id],
        min_useful: min_useful(forest, hops, policy, id),
        expired: told && time.known.is_none(),
    };
    match case.rule() {
        Ruling::Is(verdict) => (verdict, None),
        Ruling::Exceeded => exceeded(forest, hops, timing, id),
    }
}

/// The verdict of one attempt of a call.
pub(super) fn of_call(
    forest: &Forest<'_>,
    hops: &Hops,
    timing: &Timing,
    policy: &Policy,
    id: AttemptId,
) -> Verdict {
    let (attempt, time) = (&hops.attempts[id], &timing.calls[id]);
    let deadline = timing.hops[attempt.hop].effective.filter(|_| time.waited);
    let left = deadline.map(|deadline| deadline - time.start);
    // What a call was given may be spent, though its hop has time: a deadline set too early.
    let mut given = [&time.sent, &time.timeout].into_iter().flatten();
    let nothing = given.any(|given| given.time <= TOLERANCE);
    let unsent = attempt.evidence.reason == Some(Reason::ExpiredBeforeSend);
    if unsent
        || left.is_some_and(|left| left <= TOLERANCE)
        || (nothing && attempt.evidence.failed())
    {
        return Verdict::ExpiredBeforeSend;
    }
    let callee = attempt.callees.first().copied();
    let mut evidence = attempt.evidence;
    let mut by_deadline = time.by_deadline;
    // What ended when its deadline came did so because of it, whatever word it uses.
    evidence.cancelled &= !by_deadline;
    if let (None, Some(callee)) = (attempt.spans, callee) {
        evidence = hops.all[callee].evidence;
        by_deadline = timing.failed_by_deadline[callee];
    }
    let min_useful = min_useful(forest, hops, policy, attempt.hop);
    let case = Case {
        start: time.start,
        end: time.end,
        deadline,
        own: deadline,
        evidence,
        by_deadline,
        min_useful,
        expired: evidence.reason == Some(Reason::ExpiredOnArrival) && deadline.is_none(),
    };
    match case.rule() {
        Ruling::Is(verdict) => verdict,
        Ruling::Exceeded => {
            let until = deadline.map_or(time.end, |deadline| deadline.min(time.end));
            // The stretches in which one of its callees held it.
            let below: Nanos = walk(answers(forest, hops, timing, id), time.start, until)
                .iter()
                .filter(|step| step.child.is_some())
                .map(|step| step.end - step.start)
                .sum();
            let own = until - time.start - below;
            if below > own {
                Verdict::ExceededDownstream
            } else {
                Verdict::ExceededHere
            }
        }
    }
}

/// True if the caller of a hop that says it was cancelled got its answer and did not leave.
fn is_answered(hops: &Hops, timing: &Timing, id: HopId) -> bool {
    let hop = &hops.all[id];
    let Some(via) = hop
        .via
        .filter(|_| hop.evidence.reason == Some(Reason::Ambiguous))
    else {
        return false;
    };
    let (attempt, call) = (&hops.attempts[via], &timing.calls[via]);
    attempt.spans.is_some()
        && !attempt.evidence.cancelled
        && !call.by_deadline
        && timing.hops[id].end <= call.end
}

/// The min useful budget of a hop.
pub(super) fn min_useful(forest: &Forest<'_>, hops: &Hops, policy: &Policy, id: HopId) -> Nanos {
    let entry = forest.span(hops.all[id].entry);
    policy.min_useful_of(entry.service(), &entry.name)
}

/// Of [arrival, deadline] on the hop's blocking path: did it spend more itself, or one call?
fn exceeded(
    forest: &Forest<'_>,
    hops: &Hops,
    timing: &Timing,
    id: HopId,
) -> (Verdict, Option<CallId>) {
    let time = &timing.hops[id];
    let until = time
        .effective
        .map_or(time.end, |deadline| deadline.min(time.end));
    let mut local = Nanos::ZERO;
    let mut calls: Vec<(CallId, Nanos)> = Vec::new();
    for step in walk(waited_calls(forest, hops, timing, id), time.start, time.end) {
        let length = (step.end.min(until) - step.start).at_least_zero();
        match step.child {
            None => local += length,
            Some(call) => calls.push((call, length)),
        }
    }
    // Steps come latest first: of equal ones the first in time is named.
    let worst = calls
        .into_iter()
        .rev()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    match worst {
        Some((call, length)) if length > local => (Verdict::ExceededDownstream, Some(call)),
        _ => (Verdict::ExceededHere, None),
    }
}
