//! `ledger`: where the time of each request went.

use super::columns::table;
use crate::model::{LedgerRow, Request};

table! {
    push(request: &Request, row: &LedgerRow);

    /// The trace.
    trace_id: Id = request.trace_id;
    /// The request, by the span id of its root hop's entry.
    request: Id = request.request;
    /// The hop that owns the time; for anything but local the calling hop.
    hop: Number = row.hop;
    /// That hop's service.
    service: Text = &row.service;
    /// That hop's operation.
    operation: Text = &row.operation;
    /// What the time went on: local, transit_out, transit_back, dependency, unreported, backoff.
    part: Text = row.part.as_str();
    /// The callee, unless the time was local.
    to: Text or null = row.to.as_ref();
    /// The request's start, on the root's clock.
    start: Time = request.start;
    /// The time.
    ms: Ms = row.time;
    /// How much of it lies after the request's deadline.
    after_deadline_ms: Ms = row.after_deadline;
}
