//! About how many bytes results take in memory; what the ceilings in bytes count with.

use std::mem::size_of;

pub use crate::model::size::{of_log, of_span};
use crate::model::{Call, Finding, Hop, LedgerRow, PathSegment, Request, Trace};

pub(super) fn of_trace(trace: &Trace) -> usize {
    trace.spans.iter().map(of_span).sum::<usize>() + trace.logs.iter().map(of_log).sum::<usize>()
}

pub(super) fn of_request(request: &Request) -> usize {
    size_of::<Request>()
        + request
            .hops
            .iter()
            .map(|hop| size_of::<Hop>() + hop.calls.len() * size_of::<Call>() + hop.spans.len() * 4)
            .sum::<usize>()
        + request.path.len() * size_of::<PathSegment>()
        + request.ledger.len() * size_of::<LedgerRow>()
        + request.findings.len() * size_of::<Finding>()
}
