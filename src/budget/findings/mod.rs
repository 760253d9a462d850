//! Findings (semantics, section 7): what is wrong with how a budget was handled.
//!
//! Each rule yields cases; cases of one (rule, service, to) become one finding with a count and
//! the numbers of the worst. A hop below a call that nobody waited for, and a deadline that is
//! merely inferred, raise no finding about propagation.

mod attempts;
mod calls;
mod hosts;
mod telemetry;
mod words;
mod work;

use crate::model::{Evidence, Finding, Nanos, Rule, Text};

use super::hops::{AttemptId, HopId};
use super::known::Known;
use super::policy::{Policy, Thresholds};
use super::request::Shown;
use super::timing::{CallTime, attempts_of};

/// Two times that are one but for rounding to a millisecond.
const ROUNDED: Nanos = Nanos::from_millis(1);

/// One case of a rule.
#[derive(Debug, Clone)]
pub(super) struct Case {
    rule: Rule,
    /// The hop where it was found.
    hop: HopId,
    service: Text,
    to: Option<Text>,
    /// How bad it is, compared with other cases of the same finding.
    weight: Nanos,
    times: Vec<(&'static str, Nanos)>,
    counts: Vec<(&'static str, u64)>,
    texts: Vec<(&'static str, Text)>,
}

/// Where rules put their cases.
struct Cases<'a> {
    known: &'a Known<'a>,
    found: Vec<Case>,
}

impl<'a> Cases<'a> {
    /// From when on findings are raised.
    fn thresholds(&self) -> &'a Thresholds {
        &self.known.policy.thresholds
    }

    /// A case at a hop itself.
    fn at_hop(&mut self, rule: Rule, hop: HopId, weight: Nanos, times: &[(&'static str, Nanos)]) {
        self.push(rule, hop, None, weight, times, vec![]);
    }

    /// A case at a call: the caller must act.
    fn at_call(
        &mut self,
        rule: Rule,
        attempt: AttemptId,
        weight: Nanos,
        times: &[(&'static str, Nanos)],
    ) {
        let attempt = &self.known.hops.attempts[attempt];
        self.push(
            rule,
            attempt.hop,
            Some(attempt.to.clone()),
            weight,
            times,
            vec![],
        );
    }

    /// A case at a call, of one of the hops that answered it.
    fn at_callee(
        &mut self,
        rule: Rule,
        attempt: AttemptId,
        callee: HopId,
        weight: Nanos,
        times: &[(&'static str, Nanos)],
    ) {
        let (hop, to) = (
            self.known.hops.attempts[attempt].hop,
            self.known.service(callee).clone(),
        );
        self.push(rule, hop, Some(to), weight, times, vec![]);
    }

    fn push(
        &mut self,
        rule: Rule,
        hop: HopId,
        to: Option<Text>,
        weight: Nanos,
        times: &[(&'static str, Nanos)],
        texts: Vec<(&'static str, Text)>,
    ) {
        let service = self.known.service(hop).clone();
        self.found.push(Case {
            rule,
            hop,
            service,
            to,
            weight,
            times: times.to_vec(),
            counts: vec![],
            texts,
        });
    }

    /// Adds plain numbers to the case that was found last.
    fn count(&mut self, counts: &[(&'static str, u64)]) {
        if let Some(case) = self.found.last_mut() {
            case.counts.extend_from_slice(counts);
        }
    }
}

/// The findings of a request, the severest rule first, within a rule in the order of the hops.
pub(super) fn of_request(known: &Known<'_>, members: &[HopId], shown: &Shown<'_>) -> Vec<Finding> {
    let mut cases = Cases {
        known,
        found: vec![],
    };
    for &hop in members {
        work::of_hop(&mut cases, members[0], hop);
        telemetry::of_hop(&mut cases, hop);
        for attempt in attempts_of(known.hops, hop) {
            calls::of_call(&mut cases, members[0], attempt);
        }
    }
    attempts::of_request(&mut cases, members);
    hosts::of_request(&mut cases, members);
    group(known.policy, cases.found, shown)
}

/// The cases of one finding, folded.
struct Folded {
    count: u64,
    /// The first hop's shown number.
    first: usize,
    worst: Case,
}

fn group(policy: &Policy, mut cases: Vec<Case>, shown: &Shown<'_>) -> Vec<Finding> {
    let place = |case: &Case| shown.get(case.hop).unwrap_or(0);
    cases.retain(|case| !policy.disabled.contains(&case.rule));
    let order = |a: &Case, b: &Case| {
        let (this, that) = ((a.rule, &a.service, &a.to), (b.rule, &b.service, &b.to));
        this.cmp(&that)
    };
    cases.sort_by(order);
    let mut groups: Vec<Folded> = Vec::new();
    for case in cases {
        let at = place(&case);
        let folded = groups
            .last_mut()
            .filter(|folded| order(&folded.worst, &case).is_eq());
        let Some(folded) = folded else {
            groups.push(Folded {
                count: 1,
                first: at,
                worst: case,
            });
            continue;
        };
        folded.count += 1;
        folded.first = folded.first.min(at);
        // Of equally bad ones the first hop's.
        let rank = |case: &Case| (case.weight, std::cmp::Reverse(place(case)));
        if rank(&case) > rank(&folded.worst) {
            folded.worst = case;
        }
    }
    // They come by rule, service and callee; equal first hops keep that order.
    groups.sort_by_key(|folded| {
        let rule = folded.worst.rule;
        (policy.severity(rule), rule, folded.first)
    });
    let finding = |Folded { count, worst, .. }| Finding {
        rule: worst.rule,
        severity: policy.severity(worst.rule),
        hop: place(&worst),
        message: words::message(&worst),
        hint: words::hint(worst.rule),
        service: worst.service,
        to: worst.to,
        evidence: Evidence {
            times: worst.times,
            counts: worst.counts,
            texts: worst.texts,
            count,
            weight: worst.weight,
        },
    };
    // With no more room than that: they stay in memory until they are in a file.
    let mut findings = Vec::with_capacity(groups.len());
    findings.extend(groups.into_iter().map(finding));
    findings
}

/// What a call was given: the smaller of what was sent and its timeout; unknown is not everything.
fn given(call: &CallTime) -> Option<Nanos> {
    let sent = call.sent.as_ref().map(|sent| sent.time);
    let timeout = call.timeout.as_ref().map(|timeout| timeout.time);
    [sent, timeout].into_iter().flatten().min()
}

/// What a hop has left by the deadlines that are not merely inferred.
fn known_left(known: &Known<'_>, hop: HopId, at: Nanos) -> Option<Nanos> {
    known.timing.hops[hop].known.map(|deadline| deadline - at)
}
