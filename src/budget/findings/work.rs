//! Rules about work that nobody waits for, and about too little or too much time.

use crate::model::{CallKind, How, Kind, Nanos, Rule, Verdict};

use super::super::hops::{AttemptId, HopId};
use super::super::verdict;
use super::{Cases, known_left};

/// Every rule about one hop's work.
pub(super) fn of_hop(cases: &mut Cases<'_>, root: HopId, id: HopId) {
    worked_after_deadline(cases, root, id);
    ran_expired(cases, id);
    cancel_not_propagated(cases, id);
    queued(cases, id);
    starved_or_over_provisioned(cases, id);
    async_inherits_deadline(cases, id);
}

/// From when on work after the deadline is worth telling.
fn threshold(cases: &Cases<'_>, root: HopId, id: HopId) -> Nanos {
    let told = |hop: HopId| cases.known.timing.hops[hop].told;
    let budget = told(root).or(told(id)).unwrap_or(Nanos::ZERO);
    let thresholds = cases.thresholds();
    let share = thresholds.worked_after_deadline_share.of(budget);
    thresholds.worked_after_deadline.max(share)
}

fn worked_after_deadline(cases: &mut Cases<'_>, root: HopId, id: HopId) {
    let time = &cases.known.timing.hops[id];
    let Some(deadline) = time.known else {
        return;
    };
    let after = time.end - time.start.max(deadline);
    if after > threshold(cases, root, id) {
        cases.at_hop(Rule::WorkedAfterDeadline, id, after, &[("after_ms", after)]);
    }
}

/// A dependency that ran on after the deadline of the hop that asked it.
pub(super) fn dependency_after_deadline(cases: &mut Cases<'_>, root: HopId, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    if attempt.kind != CallKind::Dependency || known.hops.is_own_call(id) {
        return;
    }
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    let after = call.end - call.start.max(call.start + left);
    if after > threshold(cases, root, attempt.hop) {
        cases.at_call(Rule::WorkedAfterDeadline, id, after, &[("after_ms", after)]);
    }
}

/// It arrived with too little and worked all the same.
fn ran_expired(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let time = &known.timing.hops[id];
    let ran = time.end - time.start;
    let expired = known.verdicts[id].0 == Verdict::ExpiredOnArrival;
    let Some(left) = known_left(known, id, time.start) else {
        return;
    };
    let min_useful = verdict::min_useful(known.forest, known.hops, known.policy, id);
    // The verdict may rest on a deadline that is merely inferred.
    if expired && left < min_useful && ran > cases.thresholds().started_expired {
        let times = [
            ("left_ms", left),
            ("min_useful_ms", min_useful),
            ("ran_ms", ran),
        ];
        cases.at_hop(Rule::StartedExpired, id, ran, &times);
    }
}

fn cancel_not_propagated(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let Some(via) = known.hops.all[id]
        .via
        .filter(|_| known.hops.all[id].caller.is_some())
    else {
        return;
    };
    // Without a span of its own a call ends with its callee.
    if known.hops.attempts[via].spans.is_none() || !known.timing.calls[via].waited {
        return;
    }
    let ran_on = known.timing.hops[id].end - known.timing.calls[via].heard_until;
    if ran_on > cases.thresholds().cancel_not_propagated {
        cases.at_hop(
            Rule::CancelNotPropagated,
            id,
            ran_on,
            &[("ran_on_ms", ran_on)],
        );
    }
}

/// Waiting before work.
fn queued(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let time = &known.timing.hops[id];
    let Some(waited) = known.queue(id) else {
        return;
    };
    let Some(budget) = time
        .told
        .filter(|told| *told > Nanos::ZERO && time.own_known.is_some())
    else {
        return;
    };
    if waited > cases.thresholds().queued.of(budget) {
        let times = [("queue_ms", waited), ("budget_ms", budget)];
        cases.at_hop(Rule::Queued, id, waited, &times);
    }
}

fn starved_or_over_provisioned(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let key = (known.service(id).clone(), known.operation(id).clone());
    let Some(typical) = known.typical.hops.get(&key).map(|typical| typical.median) else {
        return;
    };
    let time = &known.timing.hops[id];
    let Some(left) = known_left(known, id, time.start) else {
        return;
    };
    let min_useful = verdict::min_useful(known.forest, known.hops, known.policy, id);
    if left >= min_useful && left < typical {
        let times = [("left_ms", left), ("typical_ms", typical)];
        cases.at_hop(Rule::Starved, id, typical - left, &times);
    }
    let chosen = time
        .told
        .filter(|_| matches!(time.source.how, How::Observed | How::Sent | How::Configured));
    let most = typical.scaled(i64::from(cases.thresholds().over_provisioned), 1);
    if let Some(budget) = chosen.filter(|budget| *budget > most) {
        let times = [("budget_ms", budget), ("typical_ms", typical)];
        cases.at_hop(Rule::OverProvisioned, id, budget, &times);
    }
}

/// A consumer or detached job that was told just what its producer had left.
fn async_inherits_deadline(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let (hop, time) = (&known.hops.all[id], &known.timing.hops[id]);
    let Some(told) = time.told.filter(|_| time.source.how == How::Observed) else {
        return;
    };
    let tolerance = |left| cases.thresholds().tolerance(left);
    let handed = hop.handed_from.zip(known.forest.nodes[hop.entry].parent);
    let found = handed
        .into_iter()
        .chain(hop.linked_from.iter().copied())
        .find_map(|(from, node)| {
            let deadline = known.timing.hops[from].known?;
            // What the producer had left when it handed over: at the span that did.
            let at = known.forest.nodes[node].start + known.clocks.offsets[from];
            let relative = (told - (deadline - at)).abs() <= tolerance(deadline - at);
            let absolute = time
                .own
                .is_some_and(|own| (own - deadline).abs() <= tolerance(told));
            (relative || absolute).then_some((deadline - at, node))
        });
    let Some((left, node)) = found else { return };
    let message = [node, hop.entry].iter().any(|&node| {
        matches!(
            known.forest.span(node).kind,
            Kind::Producer | Kind::Consumer
        )
    });
    let times = [("told_ms", told), ("producer_left_ms", left)];
    let kind = if message { "message" } else { "job" };
    cases.push(
        Rule::AsyncInheritsDeadline,
        id,
        None,
        told.abs(),
        &times,
        vec![("kind", kind.into())],
    );
}
