//! What every span of a trace says of deadlines: in its attributes, its events, and in log records
//! that carry its ids.

use std::collections::BTreeMap;

use super::conventions::{Facts, read};
use super::tree::{Forest, NodeId};

/// What each span says of deadlines, where it says anything; by [`NodeId`].
pub(super) fn of_forest(forest: &Forest<'_>) -> Vec<Option<Box<Facts>>> {
    let mut all: Vec<Option<Box<Facts>>> = Vec::with_capacity(forest.nodes.len());
    for node in 0..forest.nodes.len() {
        let span = forest.span(node);
        let mut facts = Facts::default();
        read(&span.attributes, span.kind, &mut facts);
        for event in &span.events {
            read(&event.attributes, span.kind, &mut facts);
        }
        let empty = facts.readings.is_empty()
            && facts.bad.is_empty()
            && facts.outcome.is_none()
            && facts.resend.is_none();
        all.push((!empty).then(|| Box::new(facts)));
    }
    if !forest.trace.logs.is_empty() {
        add_logs(forest, &mut all);
    }
    all
}

/// Log records that carry a span's ids speak for that span.
fn add_logs(forest: &Forest<'_>, all: &mut [Option<Box<Facts>>]) {
    let mut by_id: BTreeMap<_, NodeId> = BTreeMap::new();
    for node in (0..forest.nodes.len()).rev() {
        by_id.insert(forest.span(node).span_id, node);
    }
    let mut logs: Vec<_> = forest.trace.logs.iter().collect();
    // By content, so that the order of arrival does not show.
    logs.sort_by_cached_key(|log| (log.span_id, log.time, format!("{:?}", log.attributes)));
    logs.dedup();
    for log in logs {
        if let Some(&node) = by_id.get(&log.span_id) {
            let facts = all[node].get_or_insert_default();
            read(&log.attributes, forest.span(node).kind, facts);
        }
    }
}
