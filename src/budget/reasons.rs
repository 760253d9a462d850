//! Who gave up: a hop's own words, held against its deadline, its caller and its calls. Words alone
//! do not tell: a server whose caller's deadline ran out says "cancelled", and one that passes on
//! a callee's timeout says "deadline exceeded".

use crate::model::{Reason, Text};

use super::evidence;
use super::hops::HopId;
use super::known::Known;
use super::timing::{BECAUSE_OF, OUTLIVES, attempts_of, is_about};

/// Why a hop ended as it did, where a deadline or a cancellation ended it.
pub(super) fn of_hop(known: &Known<'_>, id: HopId) -> Option<Reason> {
    let (hop, time) = (&known.hops.all[id], &known.timing.hops[id]);
    let by_deadline = known.timing.failed_by_deadline[id];
    let told = hop.evidence.reason;
    // What it was not told is its caller's deadline.
    let is_told = time.source.how.is_propagated() || hop.caller.is_none();
    let own = time.own.filter(|_| is_told && !time.inferred);
    if told.is_none() && !by_deadline {
        return None;
    }
    if matches!(
        told,
        Some(Reason::ExpiredOnArrival | Reason::ExpiredBeforeSend)
    ) {
        return told;
    }
    if own.is_some_and(|own| is_about(time.end, own) || time.end > own) {
        return Some(Reason::OwnDeadline);
    }
    if hop.evidence.cancelled {
        return Some(of_caller(known, id).unwrap_or(told.unwrap_or(Reason::Ambiguous)));
    }
    // It passes on what a call of its own ended in.
    if told != Some(Reason::DependencyTimeout) && ended_with_a_call(known, id) {
        return Some(Reason::DependencyTimeout);
    }
    told.or_else(|| {
        let late = time.effective.is_some_and(|deadline| time.end > deadline);
        Some(if late && time.from != Some(id) {
            Reason::CallerDeadline
        } else {
            Reason::OwnDeadline
        })
    })
}

/// What on its own spans says so.
pub(super) fn shown(known: &Known<'_>, id: HopId) -> Option<Text> {
    let evidence = known.hops.all[id].evidence;
    let sign = evidence.sign?;
    let outcome = known.hops.reported_outcome(known.forest, id);
    Some(evidence::shown(sign, known.forest, outcome))
}

/// Why the caller of a hop that was cancelled took the call back.
fn of_caller(known: &Known<'_>, id: HopId) -> Option<Reason> {
    let hop = &known.hops.all[id];
    let end = known.timing.hops[id].end;
    let via = hop.via?;
    let (attempt, call) = (&known.hops.attempts[via], &known.timing.calls[via]);
    let whole = known.hops.calls[attempt.call].evidence;
    let caller = &known.timing.hops[attempt.hop];
    let deadlines = [caller.effective, call.limit];
    let by_time = deadlines
        .into_iter()
        .flatten()
        .any(|deadline| is_about(end, deadline) || is_about(call.end, deadline));
    if call.by_deadline || whole.deadline || by_time {
        return Some(Reason::CallerDeadline);
    }
    attempt.spans.map(|_| Reason::CallerGone)
}

/// True if a call that it waited for ended in a deadline failure just before it did itself.
fn ended_with_a_call(known: &Known<'_>, id: HopId) -> bool {
    let end = known.timing.hops[id].end;
    attempts_of(known.hops, id)
        .filter(|&attempt| !known.hops.is_own_call(attempt))
        .any(|attempt| {
            let call = &known.timing.calls[attempt];
            let just_before = call.end <= end + OUTLIVES && end - call.end <= BECAUSE_OF;
            call.waited && just_before && call.by_deadline
        })
}
