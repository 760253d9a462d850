//! `calls`: each outbound attempt.

use super::columns::table;
use crate::model::{Call, CallKind, Hop, Request};

table! {
    push(request: &Request, hop: &Hop, call: &Call);

    /// The trace.
    trace_id: Id = request.trace_id;
    /// The request, by the span id of its root hop's entry.
    request: Id = request.request;
    /// The calling hop.
    hop: Number = hop.id;
    /// The calling hop's service.
    service: Text = &hop.service;
    /// The CLIENT or PRODUCER span; the callee's entry if there is no such span.
    span_id: Id = call.span_id;
    /// The callee: a service, or the name of a dependency.
    to: Text = &call.to;
    /// What was asked of it.
    operation: Text = &call.operation;
    /// What the far side is: hop, dependency, unreported or producer.
    kind: Text = match call.kind {
        CallKind::Hop => "hop",
        CallKind::Dependency => "dependency",
        CallKind::Unreported => "unreported",
        CallKind::Producer => "producer",
    };
    /// The hop on the far side.
    to_hop: Number or null = call.hop;
    /// 1 for the first attempt.
    attempt: Number = call.attempt;
    /// How many attempts the same call had.
    attempts: Count = call.attempts;
    /// The request's start, on the root's clock.
    start: Time = request.start;
    /// When it began, from the request's start, aligned to the root's clock.
    start_ms: Ms = call.start;
    /// How long the caller was in it.
    elapsed_ms: Ms = call.elapsed;
    /// The budget that was passed on; null when none is known.
    remaining_out_ms: Ms or null = call.remaining_out;
    /// The timeout that the caller chose for this wait.
    timeout_ms: Ms or null = call.timeout;
    /// The attribute, header or text that the passed-on budget was read from.
    remaining_out_source_key: Text or null = call.remaining_out_source.key.as_deref();
    /// The attribute, header or text that the timeout was read from.
    timeout_source_key: Text or null = call.timeout_source.key.as_deref();
    /// From the call's start to the callee's arrival.
    transit_out_ms: Ms or null = call.transit_out;
    /// From the callee's answer to the call's end; null if the call did not wait for it.
    transit_back_ms: Ms or null = call.transit_back;
    /// False for a call that its hop did not wait for.
    waited: Flag = call.waited;
    /// How it ended: as for hops, and expired_before_send.
    verdict: Text = call.verdict.as_str();
}
