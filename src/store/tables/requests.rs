//! `requests`: what became of each request.

use super::columns::table;
use crate::model::{LedgerRow, Request};

table! {
    push(request: &Request);

    /// The trace; with `request` the row's identity.
    trace_id: Id = request.trace_id;
    /// The span id of the root hop's entry.
    request: Id = request.request;
    /// 1 for the first verdict, one more each time that late spans changed it.
    revision: Number = request.revision;
    /// False when a span names a parent that never came.
    complete: Flag = request.complete;
    /// What qualifies the numbers: a list of sentences.
    notes: Json or null = notes(request);
    /// The root hop's service.
    service: Text = &request.service;
    /// The root hop's operation.
    operation: Text = &request.operation;
    /// The root's arrival, on its own clock.
    start: Time = request.start;
    /// Distinct spans.
    spans: Count = request.spans;
    /// Hops.
    hops: Count = request.hops.len();
    /// Findings.
    findings: Count = request.findings.len();
    /// From the root's arrival to its answer.
    elapsed_ms: Ms = request.elapsed;
    /// What the root had on arrival; null when no budget is known.
    budget_ms: Ms or null = request.budget;
    /// How the budget is known: observed, sent, inherited, configured, inferred, none.
    budget_source_how: Text = request.budget_source.how.as_str();
    /// The attribute key, header or text that it was read from.
    budget_source_key: Text or null = request.budget_source.key.as_ref();
    /// The span that carried it.
    budget_source_span_id: Id or null = request.budget_source.span_id;
    /// What stood there.
    budget_source_value: Text or null = request.budget_source.value.as_ref();
    /// missed, failed, cancelled, no_budget or met.
    outcome: Text = request.outcome.as_str();
    /// Run time of its hops for nobody.
    wasted_ms: Ms = request.wasted;
    /// The service where the failure came to light; null when nothing failed.
    surfaced_service: Text or null = request.surfaced.as_ref().map(|surfaced| &surfaced.service);
    /// That hop's operation.
    surfaced_operation: Text or null = request.surfaced.as_ref().map(|surfaced| &surfaced.operation);
    /// That hop's verdict.
    surfaced_verdict: Text or null =
        request.surfaced.as_ref().map(|surfaced| surfaced.verdict.as_str());
    /// That hop.
    surfaced_hop: Number or null = request.surfaced.as_ref().map(|surfaced| surfaced.hop);
    /// The service that took the most of the budget; null when the request was met.
    culprit_service: Text or null = request.culprit.as_ref().map(|culprit| &culprit.service);
    /// Its operation.
    culprit_operation: Text or null = request.culprit.as_ref().map(|culprit| &culprit.operation);
    /// What the time went on: local, transit_out, transit_back, dependency, unreported, backoff.
    culprit_part: Text or null = request.culprit.as_ref().map(|culprit| culprit.part.as_str());
    /// The callee, unless the time was local.
    culprit_to: Text or null =
        request.culprit.as_ref().and_then(|culprit| culprit.to.as_ref());
    /// How much of the budget it took.
    culprit_consumed_ms: Ms or null = request.culprit.as_ref().map(|culprit| culprit.consumed);
    /// That as a part of the budget; without one, of the elapsed time.
    culprit_share: Share or null = request.culprit.as_ref().map(share);
    /// The median time of successful runs of the same.
    culprit_typical_ms: Ms or null =
        request.culprit.as_ref().and_then(|culprit| culprit.typical);
    /// Consumed less typical.
    culprit_excess_ms: Ms or null = request.culprit.as_ref().and_then(|culprit| culprit.excess);
    /// The service with the largest row of the ledger: where the most of the time went, whoever
    /// is to blame.
    largest_service: Text or null = largest(request).map(|row| &row.service);
    /// Its operation.
    largest_operation: Text or null = largest(request).map(|row| &row.operation);
    /// What that time went on: local, transit_out, transit_back, dependency, unreported, backoff.
    largest_part: Text or null = largest(request).map(|row| row.part.as_str());
    /// The callee, unless that time was local.
    largest_to: Text or null = largest(request).and_then(|row| row.to.as_ref());
    /// That time.
    largest_ms: Ms or null = largest(request).map(|row| row.time);
}

/// Of equal rows the first.
fn largest(request: &Request) -> Option<&LedgerRow> {
    let rows = request.ledger.iter().rev();
    rows.max_by_key(|row| row.time)
}

fn notes(request: &Request) -> Option<String> {
    if request.notes.is_empty() {
        return None;
    }
    serde_json::to_string(&request.notes).ok()
}

fn share(culprit: &crate::model::Culprit) -> f64 {
    let (part, whole) = culprit.share;
    if whole.0 == 0 {
        return 0.0;
    }
    part.0 as f64 / whole.0 as f64
}
