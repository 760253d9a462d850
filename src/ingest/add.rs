//! Adding whole traces to a store, from files say, without assembly and log.

use std::sync::Arc;

use super::Config;
use super::merge::{Merged, merge};
use super::verdict;
use crate::budget::{Policy, analyse, contained};
use crate::model::{Trace, UnixNanos};
use crate::store::{Former, Store, StoreError, Stored};

/// What became of a trace that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    /// Spans that were not there yet.
    pub spans: usize,
    /// Spans that were there already, or came twice.
    pub copies: usize,
    /// Spans beyond what one trace may have; they are left out.
    pub over: usize,
}

/// Joins a trace with what the store knows of it, without exact copies, analyses it and puts it
/// into the store as fresh; what is there already changes nothing. Of one trace id only one thread
/// may add at a time.
///
/// # Errors
/// What the store knows of the trace cannot be read; what is damaged is no error.
pub fn add(
    store: &Store,
    policy: &Policy,
    config: &Config,
    trace: Trace,
) -> Result<Added, StoreError> {
    let first = trace.spans.iter().map(|span| span.start).min();
    let ends = trace.spans.iter().map(|span| span.end.max(span.start));
    let around = (
        first.unwrap_or(UnixNanos(0)),
        ends.max().unwrap_or(UnixNanos(0)),
    );
    let mut former = store
        .formers(&[(trace.id, around)])
        .pop()
        .unwrap_or_default();
    // What a damaged part has stays there: until it is put back, this stands in its place.
    if let Some(error) = former.take_unknown() {
        return Err(error);
    }
    let known = former.stored.as_ref();
    let came = trace.spans.len();
    let merged = merge(known, trace, config);
    let added = Added {
        spans: came - merged.duplicates - merged.over,
        copies: merged.duplicates,
        over: merged.over,
    };
    if known.is_some() && merged.added == 0 {
        return Ok(added);
    }
    put(store, policy, merged, &former);
    Ok(added)
}

/// Analyses what was merged with `former`, or of it alone, and puts it in its place.
pub(super) fn put(store: &Store, policy: &Policy, merged: Merged, former: &Former) {
    let known = former.stored.as_ref();
    let trace = &merged.trace;
    let mut analysis = contained(trace, || analyse(trace, policy, &store.typical()));
    verdict::revise(&mut analysis, known, merged.over);
    let stored = Stored {
        trace: Arc::new(merged.trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: known.map_or(u64::MAX, |known| known.log_from),
    };
    store.put_after(stored, former);
}
