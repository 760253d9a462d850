//! Rules about one call.

use crate::model::{Attributes, CallKind, How, Kind, Nanos, Reason, Rule, Value};

use super::super::hops::{AttemptId, HopId};
use super::super::timing::attempts_of;
use super::super::{TOLERANCE, evidence, verdict};
use super::{Cases, ROUNDED, given, known_left, work};

/// Every rule about one call.
pub(super) fn of_call(cases: &mut Cases<'_>, root: HopId, id: AttemptId) {
    let known = cases.known;
    ambiguous_write(cases, id);
    if !known.timing.calls[id].waited {
        return;
    }
    not_propagated(cases, id);
    budget_reset(cases, id);
    inverted_timeout(cases, id);
    no_reserve(cases, id);
    noncritical_full_budget(cases, id);
    started_expired(cases, id);
    work::dependency_after_deadline(cases, root, id);
}

fn not_propagated(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    for &callee in &attempt.callees {
        let time = &known.timing.hops[callee];
        let told_nothing = !time.source.how.is_propagated() && !time.unreadable;
        if told_nothing && callee != attempt.hop {
            let ran_on = (time.end - call.end).at_least_zero();
            let times = [("left_ms", left), ("ran_on_ms", ran_on)];
            cases.at_callee(Rule::NotPropagated, id, callee, ran_on, &times);
        }
    }
}

/// More was told than the caller had of its own deadline: one that was itself told too much and
/// passes on what it believes is not to blame.
fn budget_reset(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    let Some(effective) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    let own = known.timing.hops[attempt.hop].own_known;
    let left = own.map_or(effective, |deadline| deadline - call.start);
    let sent = call.sent.as_ref().map(|sent| sent.time);
    // Where the deadline has passed, to tell that nothing is left is right.
    let right = left.at_least_zero();
    let slack = cases.thresholds().tolerance(right);
    let over = |told: Nanos| told - right > slack;
    for &callee in &attempt.callees {
        let time = &known.timing.hops[callee];
        let observed = time.told.filter(|_| time.source.how == How::Observed);
        match observed.filter(|told| over(*told)) {
            Some(told) => {
                let times = [("told_ms", told), ("left_ms", left)];
                // What was sent was right: then the callee made more of it.
                if sent.is_some_and(|sent| !over(sent)) {
                    cases.at_hop(Rule::BudgetReset, callee, told - left, &times);
                } else {
                    cases.at_callee(Rule::BudgetReset, id, callee, told - left, &times);
                }
            }
            None if observed.is_none() => sent_too_much(cases, id, sent.filter(|s| over(*s)), left),
            None => {}
        }
    }
    if attempt.callees.is_empty() {
        sent_too_much(cases, id, sent.filter(|sent| over(*sent)), left);
    }
}

fn sent_too_much(cases: &mut Cases<'_>, id: AttemptId, sent: Option<Nanos>, left: Nanos) {
    if let Some(sent) = sent {
        let times = [("told_ms", sent), ("left_ms", left)];
        cases.at_call(Rule::BudgetReset, id, sent - left, &times);
    }
}

fn inverted_timeout(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    let Some(timeout) = call.timeout.as_ref().map(|timeout| timeout.time) else {
        return;
    };
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    if timeout - left > cases.thresholds().tolerance(left) {
        let times = [("timeout_ms", timeout), ("left_ms", left)];
        cases.at_call(Rule::InvertedTimeout, id, timeout - left, &times);
    }
}

/// The call got everything, came back in time, and what the hop did then made it late.
fn no_reserve(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    let hop = &known.timing.hops[attempt.hop];
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    let everything = given(call).is_some_and(|given| given + ROUNDED >= left);
    let in_time = call.end <= call.start + left + TOLERANCE;
    let last = hop.last_call_end.is_none_or(|last| last <= call.end);
    let after = hop.end - call.end;
    let late = hop.end - call.start - left;
    if everything && in_time && last && after > Nanos::ZERO && late > TOLERANCE {
        let given = given(call).unwrap_or(left);
        let times = [
            ("given_ms", given),
            ("left_ms", left),
            ("after_ms", after),
            ("late_ms", late),
        ];
        cases.at_call(Rule::NoReserve, id, late, &times);
    }
}

/// The call failed, its hop did not: it could have had less.
fn noncritical_full_budget(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    let hop = &known.hops.all[attempt.hop];
    let survived = !hop.evidence.error
        && !hop.evidence.cancelled
        && !known.timing.failed_by_deadline[attempt.hop];
    let failed = attempt.evidence.error || attempt.evidence.deadline;
    // An attempt that was made good by the next one was not given up.
    let retried = known.retries.place[id]
        .is_some_and(|(group, index)| index + 1 < known.retries.groups[group].attempts.len());
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    let Some(given) = given(call) else { return };
    if survived && failed && !retried && given + ROUNDED >= left {
        let took = call.end - call.start;
        let times = [("given_ms", given), ("left_ms", left), ("took_ms", took)];
        cases.at_call(Rule::NoncriticalFullBudget, id, took, &times);
    }
}

fn started_expired(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    // A CLIENT root is its own call: nobody began it late but its user.
    if known.hops.is_own_call(id) {
        return;
    }
    let min_useful = verdict::min_useful(known.forest, known.hops, known.policy, attempt.hop);
    let Some(left) = known_left(known, attempt.hop, call.start) else {
        return;
    };
    if left < min_useful && attempt.kind != CallKind::Producer {
        let times = [("left_ms", left), ("min_useful_ms", min_useful)];
        cases.at_call(Rule::StartedExpired, id, min_useful - left, &times);
    }
}

/// The caller does not know whether a write happened: it gave up, and the far side succeeded or
/// its end is unknown.
fn ambiguous_write(cases: &mut Cases<'_>, id: AttemptId) {
    let known = cases.known;
    let (attempt, call) = (&known.hops.attempts[id], &known.timing.calls[id]);
    let unsent = attempt.evidence.reason == Some(Reason::ExpiredBeforeSend);
    if attempt.spans.is_none() || unsent {
        return;
    }
    let far = attempt
        .callees
        .first()
        .map(|&callee| &known.timing.hops[callee]);
    let outlived = far.is_some_and(|far| far.end - far.start > call.end - call.start);
    let gave_up =
        attempt.evidence.deadline || attempt.evidence.cancelled || outlived && call.waited;
    // A callee that failed may have written all the same: then its own write tells.
    let failed = attempt
        .callees
        .iter()
        .copied()
        .filter(|&callee| known.hops.all[callee].evidence.failed());
    let failed: Vec<HopId> = failed.collect();
    let written = failed.iter().find_map(|&callee| {
        attempts_of(known.hops, callee).find(|&write| has_written(cases, write))
    });
    let far_side_failed = !failed.is_empty() && written.is_none();
    let spans = known.hops.spans_of(known.forest, id);
    let outcomes = &known.policy.rules.outcomes;
    let rolled_back = spans
        .iter()
        .any(|&node| evidence::is_rolled_back(outcomes, &known.forest.span(node).attributes));
    if !gave_up || far_side_failed || rolled_back {
        return;
    }
    let callee = attempt
        .callees
        .first()
        .map(|&callee| known.hops.all[callee].entry);
    let writes = known
        .hops
        .spans_of(known.forest, id)
        .into_iter()
        .chain(callee)
        .find_map(|node| {
            repeat(
                &known.forest.span(node).attributes,
                known.forest.span(node).kind,
            )
        });
    let Some(Repeat::Unsafe(method)) = writes else {
        return;
    };
    let origin = known.timing.hops[known.hops.all[attempt.hop].root].start;
    let mut times = vec![("gave_up_ms", call.end - origin)];
    let mut texts = vec![("method", method.into())];
    if let Some(write) = written {
        times.push(("written_ms", known.timing.calls[write].end - origin));
        texts.push(("written_to", known.hops.attempts[write].to.clone()));
    } else if let Some(far) = far {
        times.push(("finished_ms", far.end - origin));
    }
    let weight = far.map_or(Nanos::ZERO, |far| (far.end - call.end).at_least_zero());
    let to = Some(attempt.to.clone());
    cases.push(Rule::AmbiguousWrite, attempt.hop, to, weight, &times, texts);
}

/// A write that was answered without an error.
fn has_written(cases: &Cases<'_>, id: AttemptId) -> bool {
    let known = cases.known;
    let attempt = &known.hops.attempts[id];
    let failed = attempt.evidence.failed();
    let method = known
        .hops
        .spans_of(known.forest, id)
        .into_iter()
        .find_map(|node| {
            let span = known.forest.span(node);
            repeat(&span.attributes, span.kind)
        });
    !failed && matches!(method, Some(Repeat::Unsafe(_)))
}

/// Whether a call may simply be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Repeat {
    /// It may.
    Safe,
    /// It may not, for its method.
    Unsafe(String),
}

impl Repeat {
    fn unless(is_write: bool, method: String) -> Self {
        if is_write {
            Self::Unsafe(method)
        } else {
            Self::Safe
        }
    }
}

/// Whether a call may be repeated, by its attributes, never by its name; `None` if they say nothing.
fn repeat(attributes: &Attributes, kind: Kind) -> Option<Repeat> {
    for key in ["idempotent", "rpc.idempotent"] {
        let idempotent = match attributes.get(key) {
            Some(Value::Bool(idempotent)) => *idempotent,
            Some(Value::Str(text)) if text == "true" => true,
            Some(Value::Str(text)) if text == "false" => false,
            _ => continue,
        };
        return Some(Repeat::unless(!idempotent, "not idempotent".to_owned()));
    }
    let http = attributes
        .text("http.request.method")
        .or_else(|| attributes.text("http.method"));
    if let Some(method) = http {
        let method = method.to_uppercase();
        let is_write = matches!(method.as_str(), "POST" | "PATCH");
        return Some(Repeat::unless(is_write, method));
    }
    let statement = [
        "db.operation.name",
        "db.operation",
        "db.query.text",
        "db.statement",
    ]
    .iter()
    .find_map(|key| attributes.text(key))
    .and_then(|text| text.split_whitespace().next())
    .map(str::to_uppercase);
    if let Some(verb) = statement {
        let is_write = matches!(
            verb.as_str(),
            "INSERT" | "UPDATE" | "MERGE" | "CALL" | "EXECUTE" | "COPY"
        );
        return Some(Repeat::unless(is_write, verb));
    }
    let publishes = kind == Kind::Producer
        || ["messaging.operation.type", "messaging.operation"]
            .iter()
            .any(|key| matches!(attributes.text(key), Some("publish" | "send" | "create")));
    publishes.then(|| Repeat::Unsafe("publish".to_owned()))
}
