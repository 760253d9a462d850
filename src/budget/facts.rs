//! What every span of a trace says of deadlines: in its attributes and texts, its events, and in log
//! records that carry its ids.

use std::collections::BTreeMap;

use super::conventions::{Facts, Reader, Reading, Rules, Side, Trust};
use super::evidence::{self, Evidence, Outcomes};
use super::tree::{Forest, NodeId};

/// What the spans of a trace say.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Of deadlines, where they say anything; by [`NodeId`].
    pub facts: Vec<Option<Box<Facts>>>,
    /// The log records with a span's ids, as indices into the trace's, by content.
    pub logs: BTreeMap<NodeId, Vec<usize>>,
    /// How they ended, where that had to be known to read them.
    pub evidence: BTreeMap<NodeId, Evidence>,
}

impl Said {
    /// How a span ended, by its own words.
    pub(super) fn evidence(
        &self,
        forest: &Forest<'_>,
        outcomes: &Outcomes,
        node: NodeId,
    ) -> Evidence {
        if let Some(known) = self.evidence.get(&node) {
            return *known;
        }
        let facts = self.facts.get(node).and_then(Option::as_deref);
        let outcome = facts.and_then(|facts| facts.outcome.as_deref());
        let logs = self.logs.get(&node).map_or(&[][..], Vec::as_slice);
        evidence::of_span(outcomes, forest, node, logs, outcome)
    }
}

/// Reads a forest.
pub(super) fn of_forest(forest: &Forest<'_>, rules: &Rules) -> Said {
    let logs = logs_of(forest);
    let mut said = Said {
        facts: Vec::with_capacity(forest.nodes.len()),
        ..Said::default()
    };
    for node in 0..forest.nodes.len() {
        let reader = reader(forest, rules, node);
        let mut facts = Facts::default();
        reader.read_span(&mut facts);
        for event in &reader.span.events {
            reader.read_record(&event.attributes, &mut facts);
        }
        for log in logs.get(&node).into_iter().flatten() {
            let log = &forest.trace.logs[*log];
            reader.read_record(&log.attributes, &mut facts);
            reader.read_body(&log.body, &mut facts);
        }
        said.facts
            .push((!facts.is_empty()).then(|| Box::new(facts)));
    }
    said.logs = logs;
    forget_recovered(forest, rules, &mut said);
    said
}

/// Numbers in the texts of a span that did not fail tell of a timer that fired and was got over,
/// in a try of which nothing else is known: they bound nothing that is seen.
fn forget_recovered(forest: &Forest<'_>, rules: &Rules, said: &mut Said) {
    let is_text = |reading: &Reading| reading.trust == Trust::Message;
    for node in 0..said.facts.len() {
        let Some(facts) = said.facts[node].as_deref() else {
            continue;
        };
        if !facts.readings.iter().chain(&facts.of_calls).any(is_text) {
            continue;
        }
        let evidence = said.evidence(forest, &rules.outcomes, node);
        said.evidence.insert(node, evidence);
        if let Some(facts) = said.facts[node]
            .as_deref_mut()
            .filter(|_| !evidence.failed())
        {
            facts.readings.retain(|reading| !is_text(reading));
            facts.of_calls.retain(|reading| !is_text(reading));
        }
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

/// Log records that carry a span's ids speak for that span: each distinct one, by content, so that
/// the order of arrival does not show.
fn logs_of(forest: &Forest<'_>) -> BTreeMap<NodeId, Vec<usize>> {
    let all = &forest.trace.logs;
    if all.is_empty() {
        return BTreeMap::new();
    }
    let mut by_id: BTreeMap<_, NodeId> = BTreeMap::new();
    for node in (0..forest.nodes.len()).rev() {
        by_id.insert(forest.span(node).span_id, node);
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_cached_key(|&at| {
        let log = &all[at];
        let content = format!("{:?}", log.attributes);
        (log.span_id, log.time, log.body.clone(), content)
    });
    order.dedup_by(|a, b| all[*a] == all[*b]);
    let mut logs: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for at in order {
        if let Some(&node) = by_id.get(&all[at].span_id) {
            logs.entry(node).or_default().push(at);
        }
    }
    logs
}
