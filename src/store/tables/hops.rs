//! `hops`: each service that handled a part of a request.

use super::columns::table;
use crate::model::{Hop, LocalSource, Request};

table! {
    push(request: &Request, hop: &Hop);

    /// The trace.
    trace_id: Id = request.trace_id;
    /// The request, by the span id of its root hop's entry.
    request: Id = request.request;
    /// The hop's number in its request; 0 is the root.
    id: Number = hop.id;
    /// The calling hop; null for the root.
    parent: Number or null = hop.parent;
    /// Hops above it.
    depth: Count = hop.depth;
    /// The service.
    service: Text = &hop.service;
    /// The entry span's name.
    operation: Text = &hop.operation;
    /// The entry span.
    span_id: Id = hop.span_id;
    /// The request's start, on the root's clock.
    start: Time = request.start;
    /// Arrival, from the request's start, aligned to the root's clock.
    start_ms: Ms = hop.start;
    /// From arrival to answer.
    elapsed_ms: Ms = hop.elapsed;
    /// The budget on arrival; negative when late, null when not known.
    remaining_in_ms: Ms or null = hop.remaining_in;
    /// How that is known: observed, sent, inherited, configured, inferred, none.
    remaining_in_source_how: Text = hop.remaining_in_source.how.as_str();
    /// The attribute key, header or text that it was read from.
    remaining_in_source_key: Text or null = hop.remaining_in_source.key.as_ref();
    /// The span that carried it.
    remaining_in_source_span_id: Id or null = hop.remaining_in_source.span_id;
    /// What stood there.
    remaining_in_source_value: Text or null = hop.remaining_in_source.value.as_ref();
    /// The effective deadline, from the request's start: the earliest of its own and its callers'.
    deadline_ms: Ms or null = hop.deadline;
    /// The hop that set the effective deadline.
    deadline_from: Number or null = hop.deadline_from;
    /// Its own deadline, from the request's start.
    own_deadline_ms: Ms or null = hop.own_deadline;
    /// Time that it spent itself, not waiting for a call.
    local_ms: Ms = hop.local;
    /// Who says so: observed (the hop) or computed.
    local_source: Text = match hop.local_source {
        LocalSource::Observed => "observed",
        LocalSource::Computed => "computed",
    };
    /// What was computed, also where the hop said something else.
    local_computed_ms: Ms = hop.local_computed;
    /// How long it waited before work; null where nothing tells.
    queue_ms: Ms or null = hop.queue;
    /// What was added to the hop's clock to bring it to the root's.
    clock_offset_ms: Ms = hop.clock_offset;
    /// The least offset that the calls allow; null for no bound.
    clock_interval_from_ms: Ms or null = hop.clock_interval.and_then(|(from, _)| from);
    /// The greatest offset that the calls allow; null for no bound.
    clock_interval_to_ms: Ms or null = hop.clock_interval.and_then(|(_, to)| to);
    /// How it ended: ok, failed, expired_on_arrival, cancelled_by_caller, timed_out_early,
    /// exceeded_here, exceeded_downstream or finished_late.
    verdict: Text = hop.verdict.as_str();
    /// The call that took more than the hop itself, with exceeded_downstream.
    verdict_call: Id or null = hop.verdict_call;
    /// What the hop itself said in deadline.outcome.
    reported: Text or null = hop.reported.as_ref();
    /// Run time for nobody.
    wasted_ms: Ms = hop.wasted;
    /// Requests that it started and did not wait for: a list of trace_id and request.
    handed_over: Json or null = handed_over(hop);
    /// Its outbound attempts.
    calls: Count = hop.calls.len();
    /// Its spans.
    spans: Count = hop.spans.len();
}

fn handed_over(hop: &Hop) -> Option<String> {
    if hop.handed_over.is_empty() {
        return None;
    }
    serde_json::to_string(&hop.handed_over).ok()
}
