//! What every span of a trace says of deadlines: in its attributes and texts, its events, and in log
//! records that carry its ids.

use std::collections::BTreeMap;

use super::conventions::{Facts, Reader, Reading, Rules, Side, Trust};
use super::evidence;
use super::tree::{Forest, NodeId};

/// What each span says of deadlines, where it says anything; by [`NodeId`].
pub(super) fn of_forest(forest: &Forest<'_>, rules: &Rules) -> Vec<Option<Box<Facts>>> {
    let mut all: Vec<Option<Box<Facts>>> = Vec::with_capacity(forest.nodes.len());
    for node in 0..forest.nodes.len() {
        let reader = reader(forest, rules, node);
        let mut facts = Facts::default();
        reader.read_span(&mut facts);
        for event in &reader.span.events {
            reader.read_record(&event.attributes, &mut facts);
        }
        forget_recovered(forest, rules, node, &mut facts);
        all.push((!facts.is_empty()).then(|| Box::new(facts)));
    }
    if !forest.trace.logs.is_empty() {
        add_logs(forest, rules, &mut all);
    }
    all
}

/// Numbers in the texts of a span that did not fail tell of a timer that fired and was got over,
/// in a try of which nothing else is known: they bound nothing that is seen.
fn forget_recovered(forest: &Forest<'_>, rules: &Rules, node: NodeId, facts: &mut Facts) {
    let is_text = |reading: &Reading| reading.trust == Trust::Message;
    if !facts.readings.iter().chain(&facts.of_calls).any(is_text) {
        return;
    }
    let outcome = facts.outcome.as_deref();
    if !evidence::of_span(&rules.outcomes, forest, node, outcome).failed() {
        facts.readings.retain(|reading| !is_text(reading));
        facts.of_calls.retain(|reading| !is_text(reading));
    }
}

fn reader<'a>(forest: &Forest<'a>, rules: &'a Rules, node: NodeId) -> Reader<'a> {
    let span = forest.span(node);
    let parent = forest.nodes[node].parent.map(|parent| forest.span(parent));
    let enters = parent.is_none_or(|parent| parent.service() != span.service());
    Reader {
        rules,
        span,
        side: Side::of(forest.kind(node), enters),
    }
}

/// Log records that carry a span's ids speak for that span.
fn add_logs(forest: &Forest<'_>, rules: &Rules, all: &mut [Option<Box<Facts>>]) {
    let mut by_id: BTreeMap<_, NodeId> = BTreeMap::new();
    for node in (0..forest.nodes.len()).rev() {
        by_id.insert(forest.span(node).span_id, node);
    }
    let mut logs: Vec<_> = forest.trace.logs.iter().collect();
    // By content, so that the order of arrival does not show.
    logs.sort_by_cached_key(|log| {
        let content = format!("{:?}", log.attributes);
        (log.span_id, log.time, log.body.clone(), content)
    });
    logs.dedup();
    for log in logs {
        if let Some(&node) = by_id.get(&log.span_id) {
            let reader = reader(forest, rules, node);
            let mut facts = all[node].take().unwrap_or_default();
            reader.read_record(&log.attributes, &mut facts);
            reader.read_body(&log.body, &mut facts);
            all[node] = (!facts.is_empty()).then_some(facts);
        }
    }
}
