//! The numbers of a hop or an edge.

use std::collections::BTreeMap;

use super::spent::{Culprits, typical_of};
use super::totals::passing;
use super::{both, share, slots, spread, thousandths, time};
use crate::budget::Typical;
use crate::model::{CallKind, Nanos, Text, Verdict};
use crate::query::fleet::services::{Edge, Numbers};
use crate::store::rollup::{Call, Hop, Sums, count_of};

/// Verdicts of hops and calls that a deadline or a timeout ended, or that answered late.
const MISSED: [Verdict; 6] = [
    Verdict::ExceededHere,
    Verdict::ExceededDownstream,
    Verdict::TimedOutEarly,
    Verdict::ExpiredOnArrival,
    Verdict::ExpiredBeforeSend,
    Verdict::FinishedLate,
];

/// Which hops: of a service, and of one of its operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) service: &'a Text,
    pub(super) operation: Option<&'a Text>,
}

impl Of<'_> {
    pub(super) fn takes(&self, service: &Text, operation: &Text) -> bool {
        service == self.service && self.operation.is_none_or(|asked| asked == operation)
    }
}

/// All runs of these hops.
pub(super) fn hop_of(sums: &Sums, of: Of<'_>) -> Hop {
    let mut sum = Hop::default();
    for ([service, operation], hop) in &sums.hops {
        if of.takes(service, operation) {
            sum.plus(hop);
        }
    }
    sum
}

/// What hops held of the missed requests' budgets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Held {
    pub(super) culprit: u64,
    pub(super) time: Nanos,
    pub(super) excess: Option<Nanos>,
}

impl Held {
    pub(super) fn of<'a>(
        culprits: &'a Culprits,
        typical: &Typical,
        takes: impl Fn(&'a [Text; 4]) -> bool,
    ) -> Self {
        let mut sum = Self::default();
        for (key, culprit) in culprits.iter().filter(|(key, _)| takes(key)) {
            let held = time(culprit.held);
            sum.culprit += culprit.missed;
            sum.time += held;
            if let Some(typical) = typical_of(key, culprit, typical) {
                sum.excess = Some(sum.excess.unwrap_or_default() + held - typical);
            }
        }
        sum
    }
}

pub(super) fn numbers(sums: &Sums, of: Of<'_>, typical: &Typical, length: Nanos) -> Numbers {
    let hop = hop_of(sums, of);
    let held = Held::of(&sums.culprits, typical, |[service, operation, ..]| {
        of.takes(service, operation)
    });
    let mut calls = Call::default();
    for ([service, operation, ..], call) in &sums.calls {
        if of.takes(service, operation) {
            calls.calls += call.calls;
            calls.firsts += call.firsts;
        }
    }
    let in_time = hop.remaining_ok.count();
    let budgeted = in_time + hop.remaining_not.count();
    let verdicts = Verdict::ALL.map(|one| (one, count_of(&hop.verdicts, &Verdict::ALL, &one)));
    Numbers {
        service: of.service.clone(),
        operation: of.operation.cloned(),
        runs: hop.runs,
        budgeted,
        passing: passing(&hop.passed),
        in_time: share(in_time, budgeted),
        verdicts: verdicts.to_vec(),
        remaining: spread(&both(&hop.remaining_ok, &hop.remaining_not)),
        local: spread(&both(&hop.local_ok, &hop.local_not)),
        elapsed: spread(&both(&hop.elapsed_ok, &hop.elapsed_not)),
        queue: spread(&hop.queue),
        culprit: held.culprit,
        held: held.time,
        excess: held.excess,
        surfaced: hop.surfaced,
        wasted: time(hop.wasted),
        wasted_slots: slots(hop.wasted, length),
        attempts: thousandths(calls.calls.into(), calls.firsts.into()),
    }
}

/// Calls that become one row: the caller, the callee, and what is asked of it.
pub(super) type EdgeKey = (Text, Text, Option<Text>);

/// Rows of calls, the most calls first, of equal ones by name.
pub(super) fn edges<'a>(
    sums: &'a Sums,
    typical: &Typical,
    key: impl Fn(&'a [Text; 6]) -> Option<EdgeKey>,
) -> Vec<Edge> {
    let mut merged: BTreeMap<EdgeKey, (Call, [u64; CallKind::ALL.len()])> = BTreeMap::new();
    for (names, call) in &sums.calls {
        let Some(key) = key(names) else { continue };
        let (sum, kinds) = merged.entry(key).or_default();
        sum.plus(call);
        let [.., kind] = names;
        for (known, count) in CallKind::ALL.into_iter().zip(kinds) {
            *count += if known.as_str() == kind.as_str() {
                call.calls
            } else {
                0
            };
        }
    }
    let mut edges: Vec<Edge> = merged
        .into_iter()
        .map(|(key, (call, kinds))| {
            let kinds = CallKind::ALL.into_iter().zip(kinds);
            let kind = kinds.rev().max_by_key(|(_, count)| *count);
            edge(
                sums,
                typical,
                key,
                &call,
                kind.map_or(CallKind::Hop, |(kind, _)| kind),
            )
        })
        .collect();
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.calls));
    edges
}

fn edge(
    sums: &Sums,
    typical: &Typical,
    (service, to, operation): EdgeKey,
    call: &Call,
    kind: CallKind,
) -> Edge {
    let held = Held::of(&sums.culprits, typical, |[owner, _, part, callee]| {
        *owner == service && *callee == to && part.as_str() != "local"
    });
    let elapsed = both(&call.elapsed_ok, &call.elapsed_not);
    let usual = typical.calls.get(&(service.clone(), to.clone()));
    let usual = usual.map(|typical| typical.median);
    let median = elapsed.percentile(50);
    let times = usual.zip(median);
    Edge {
        service,
        to,
        operation,
        kind,
        calls: call.calls,
        attempts: thousandths(call.calls.into(), call.firsts.into()).unwrap_or_default(),
        passing: passing(&call.passed),
        sent: spread(&call.sent),
        remaining: spread(&call.arrived),
        timeout: spread(&call.timeout),
        elapsed: spread(&elapsed),
        typical: usual,
        times: times.and_then(|(typical, median)| thousandths(median.into(), typical.0.into())),
        missed: missed(&call.verdicts),
        culprit: held.culprit,
        held: held.time,
    }
}

/// Of runs or calls by verdict those that a deadline or a timeout ended, or that answered late.
pub(super) fn missed(verdicts: &[u64]) -> u64 {
    let count = |verdict| count_of(verdicts, &Verdict::ALL, verdict);
    MISSED.iter().map(count).sum()
}
