//! `findings`: what is wrong.

use super::columns::table;
use crate::model::{Finding, Request};

table! {
    push(request: &Request, finding: &Finding);

    /// The trace.
    trace_id: Id = request.trace_id;
    /// The request, by the span id of its root hop's entry.
    request: Id = request.request;
    /// The rule that found it.
    rule: Text = finding.rule.as_str();
    /// error, warning or info.
    severity: Text = finding.severity.as_str();
    /// The hop of the worst case.
    hop: Number = finding.hop;
    /// The service whose owners must act.
    service: Text = &finding.service;
    /// The callee, where there is one.
    to: Text or null = finding.to.as_ref();
    /// The request's start, on the root's clock.
    start: Time = request.start;
    /// How many cases it stands for.
    count: Count = finding.evidence.count;
    /// What was left, in the worst case.
    left_ms: Ms or null = finding.evidence.time("left_ms");
    /// The timeout that was chosen.
    timeout_ms: Ms or null = finding.evidence.time("timeout_ms");
    /// The budget that the callee was told.
    told_ms: Ms or null = finding.evidence.time("told_ms");
    /// The budget that it is about.
    budget_ms: Ms or null = finding.evidence.time("budget_ms");
    /// How late it was.
    late_ms: Ms or null = finding.evidence.time("late_ms");
    /// How long it ran on.
    ran_on_ms: Ms or null = finding.evidence.time("ran_on_ms");
    /// The median time of successful runs.
    typical_ms: Ms or null = finding.evidence.time("typical_ms");
    /// How bad the worst case is, to compare with findings of the same rule.
    weight_ms: Ms = finding.evidence.weight;
    /// All numbers of the worst case, by name.
    evidence: Json = serde_json::to_string(&finding.evidence).unwrap_or_default();
    /// The evidence as a sentence.
    message: Text = finding.message.as_str();
    /// What to do about it.
    hint: Text = finding.hint;
}
