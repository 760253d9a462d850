//! Rules about attempts: retries, hedges, and retries of retries.

use std::collections::BTreeMap;

use crate::model::{Nanos, Rule, Text};

use super::super::hops::{AttemptId, HopId};
use super::super::retries::Group;
use super::{Cases, ROUNDED, given, known_left};

/// Every rule about attempts.
pub(super) fn of_request(cases: &mut Cases<'_>, members: &[HopId]) {
    let known = cases.known;
    for &hop in members {
        for group in known.retries.of_hop(hop) {
            group
                .rounds()
                .for_each(|round| hedge_not_cancelled(cases, round));
            retry_reset(cases, group);
        }
        for id in super::attempts_of(known.hops, hop) {
            doomed_retry(cases, id);
        }
    }
    retry_amplification(cases, members);
}

/// An attempt after the first, by its place or by its own count, that could not succeed any more.
fn doomed_retry(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    if known.retries.is_hedge(id) || !call.waited || known.retries.number(known.hops, id).0 < 2 {
        return;
    }
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    let key = (known.service(attempt.hop).clone(), attempt.to.clone());
    let typical = known.typical.calls.get(&key).map(|typical| typical.median);
    let needed = typical.unwrap_or(cases.thresholds().doomed_retry);
    let doomed = left < needed || typical.is_none() && left == needed;
    if doomed {
        let mut times = vec![("left_ms", left)];
        times.extend(typical.map(|typical| ("typical_ms", typical)));
        cases.at_call(Rule::DoomedRetry, id, needed - left, &times);
    }
}

/// A later attempt got the first one's whole timeout again, and that is more than what is left.
fn retry_reset(cases: &mut Cases<'_>, group: &Group) {
    let known = cases.known;
    let Some(first) = group
        .attempts
        .first()
        .and_then(|&id| given(&known.timing.calls[id]))
    else {
        return;
    };
    for id in group.retries() {
        let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
        let Some(left) = known_left(known, attempt.hop, call.start).filter(|_| call.waited) else {
            continue;
        };
        let Some(again) = given(call) else { continue };
        if again + ROUNDED >= first && again - left > cases.thresholds().tolerance(left) {
            let times = [("timeout_ms", again), ("left_ms", left)];
            cases.at_call(Rule::RetryReset, id, again - left, &times);
        }
    }
}

/// The losers of overlapping attempts that ran on after the first answer.
fn hedge_not_cancelled(cases: &mut Cases<'_>, round: &[AttemptId]) {
    let known = cases.known;
    let answered = |id: AttemptId| !known.hops.attempts[id].evidence.failed();
    let winner = round
        .iter()
        .copied()
        .filter(|&id| answered(id))
        .min_by_key(|&id| (known.timing.calls[id].end, id));
    let Some(winner) = winner else { return };
    let won = known.timing.calls[winner].end;
    for &id in round.iter().filter(|&&id| id != winner) {
        let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
        // Only what was still running then lost to the winner.
        if call.start >= won {
            continue;
        }
        let end = attempt
            .callees
            .iter()
            .map(|&callee| known.timing.hops[callee].end)
            .max();
        let ran_on = end.unwrap_or(call.end).max(call.end) - won;
        if ran_on > cases.thresholds().hedge_not_cancelled {
            cases.at_call(
                Rule::HedgeNotCancelled,
                id,
                ran_on,
                &[("ran_on_ms", ran_on)],
            );
        }
    }
}

/// How many layers above a hop retry on the way to it.
#[derive(Debug, Clone, Default)]
struct Layers {
    depth: u32,
    product: u64,
    outermost: Option<AttemptId>,
}

/// Two or more layers of one path that retry: attempts multiply.
fn retry_amplification(cases: &mut Cases<'_>, members: &[HopId]) {
    let known = cases.known;
    let mut above: BTreeMap<HopId, Layers> = BTreeMap::new();
    // The worst product below each outermost layer, with its innermost target.
    let mut worst: BTreeMap<(HopId, Text), (u64, u32, AttemptId, Text)> = BTreeMap::new();
    for &hop in members {
        let mine = above.get(&hop).cloned().unwrap_or(Layers {
            product: 1,
            ..Layers::default()
        });
        let mut retried: BTreeMap<AttemptId, &Group> = BTreeMap::new();
        let groups = known.retries.of_hop(hop).iter();
        for group in groups.filter(|group| group.retries().next().is_some()) {
            retried.extend(group.attempts.iter().map(|&attempt| (attempt, group)));
            let Some(&first) = group.attempts.first() else {
                continue;
            };
            let (product, layers) = (
                mine.product.saturating_mul(group.attempts.len() as u64),
                mine.depth + 1,
            );
            if let Some(outermost) = mine.outermost.filter(|_| layers >= 2) {
                let outer = &known.hops.attempts[outermost];
                let case = (
                    product,
                    layers,
                    outermost,
                    known.hops.attempts[first].to.clone(),
                );
                let entry = worst
                    .entry((outer.hop, outer.to.clone()))
                    .or_insert_with(|| case.clone());
                if case.0 > entry.0 {
                    *entry = case;
                }
            }
        }
        for attempt in super::attempts_of(known.hops, hop) {
            let next = match retried.get(&attempt) {
                Some(group) => Layers {
                    depth: mine.depth + 1,
                    product: mine.product.saturating_mul(group.attempts.len() as u64),
                    outermost: mine.outermost.or(Some(attempt)),
                },
                None => mine.clone(),
            };
            for &callee in &known.hops.attempts[attempt].callees {
                above.insert(callee, next.clone());
            }
        }
    }
    for (product, layers, outermost, innermost) in worst.into_values() {
        let outer = &known.hops.attempts[outermost];
        let weight = Nanos(i64::try_from(product).unwrap_or(i64::MAX));
        cases.push(
            Rule::RetryAmplification,
            outer.hop,
            Some(outer.to.clone()),
            weight,
            &[],
            vec![("innermost", innermost)],
        );
        cases.count(&[("attempts", product), ("layers", u64::from(layers))]);
    }
}
