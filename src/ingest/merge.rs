//! What is known of a trace and what came since, as one trace without exact copies.
//!
//! A client that sends again what it did not see answered, and a log that is replayed, bring spans
//! that are there already. A copy is exact if its encoding is: then it changes nothing, whatever
//! its values (`NaN` among them).

use std::collections::HashSet;
use std::hash::Hash;

use prost::Message as _;
use xxhash_rust::xxh3::xxh3_128;

use super::assembly::Config;
use crate::model::{Span, SpanLog, Trace};
use crate::otlp::{logs_to_proto, traces_to_proto};
use crate::store::{Stored, of_span};

/// A trace put together.
#[derive(Debug)]
pub(super) struct Merged {
    /// All of it, what was known first.
    pub(super) trace: Trace,
    /// What is new in it; of a trace that was not known, all.
    pub(super) added: usize,
    /// Spans that were there already.
    pub(super) duplicates: usize,
    /// New spans that are over the ceilings of one trace; they are not in it.
    pub(super) over: usize,
}

/// Puts a trace together.
pub(super) fn merge(former: Option<&Stored>, mut new: Trace, config: &Config) -> Merged {
    let known = former.map(|stored| &*stored.trace);
    let came = new.spans.len();
    let spans = known.map_or(&[][..], |known| &known.spans);
    new.spans = without_copies(spans, new.spans, |span| span.span_id, span_print);
    let duplicates = came - new.spans.len();
    let logs = known.map_or(&[][..], |known| &known.logs);
    new.logs = without_copies(logs, new.logs, |log| (log.span_id, log.time), log_print);
    let mut over = 0;
    if let Some(known) = known {
        // What is open was held to the ceilings by itself; together they may be over.
        let mut places = config.max_trace_spans.saturating_sub(known.spans.len());
        let bytes: usize = known.spans.iter().map(of_span).sum();
        let mut bytes = config.trace_bytes().saturating_sub(bytes);
        let before = new.spans.len();
        new.spans.retain(|span| {
            let fits = places > 0 && of_span(span) <= bytes;
            if fits {
                places -= 1;
                bytes -= of_span(span);
            }
            fits
        });
        over = before - new.spans.len();
        let places = config.max_trace_spans.saturating_sub(known.logs.len());
        new.logs.truncate(places);
    }
    let added = new.spans.len() + new.logs.len();
    let trace = match known {
        None => new,
        Some(known) => {
            let mut whole = known.clone();
            whole.spans.append(&mut new.spans);
            whole.logs.append(&mut new.logs);
            whole
        }
    };
    Merged {
        trace,
        added,
        duplicates,
        over,
    }
}

/// Those of `new` that are neither in `known` nor before in `new`. Only where ids meet is a copy
/// looked for, and then by hash, so that many spans of one id cost no more than others.
fn without_copies<T, K: Ord + Hash + Copy>(
    known: &[T],
    new: Vec<T>,
    id: impl Fn(&T) -> K,
    print: impl Fn(&T) -> u128,
) -> Vec<T> {
    let mut ids: Vec<K> = known.iter().chain(&new).map(&id).collect();
    ids.sort_unstable();
    let twice: HashSet<K> = ids
        .windows(2)
        .filter_map(|pair| (pair.first() == pair.last()).then(|| pair.first().copied())?)
        .collect();
    if twice.is_empty() {
        return new;
    }
    let known = known.iter().filter(|one| twice.contains(&id(one)));
    let mut seen: HashSet<u128> = known.map(&print).collect();
    let mut new = new;
    new.retain(|one| !twice.contains(&id(one)) || seen.insert(print(one)));
    new
}

fn span_print(span: &Span) -> u128 {
    xxh3_128(&traces_to_proto(std::slice::from_ref(span)).encode_to_vec())
}

fn log_print(log: &SpanLog) -> u128 {
    xxh3_128(&logs_to_proto(std::slice::from_ref(log)).encode_to_vec())
}
