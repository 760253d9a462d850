//! What a statement sets for those that follow it on its connection (`SET statement_timeout`).
//!
//! Spans do not name connections. A setting is taken to hold for the later calls of its hop to the
//! same database until the transaction ends or the setting changes, as long as nothing speaks
//! against one connection: two calls at once, or one that ran on as if it had no such timeout.

use std::collections::BTreeMap;

use crate::model::{CallKind, Nanos, Text};

use super::conventions::{Field, Reading, shortened};
use super::hops::{AttemptId, HopId, Hops};
use super::told::{self, Told};
use super::tree::{Forest, NodeId};

/// First words of statements after which a connection may go back to its pool, or loses what was
/// set on it.
const ENDS: [&str; 6] = ["commit", "rollback", "end", "abort", "reset", "discard"];

/// Keys of a statement or its first word, the one that tells the most first.
const STATEMENTS: [&str; 5] = [
    "db.query.text",
    "db.statement",
    "sql.query",
    "db.operation.name",
    "db.operation",
];

/// Settings of connections, and the calls that they bound.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    bound: BTreeMap<AttemptId, Told>,
    untied: Vec<(HopId, Text)>,
}

impl Sessions {
    /// Finds what each call runs under.
    pub(super) fn find(forest: &Forest<'_>, hops: &Hops) -> Self {
        let mut this = Self::default();
        let is_set = |reading: &Reading| reading.field == Field::Session;
        if !hops.any_facts(|facts| facts.readings.iter().any(is_set)) {
            return this;
        }
        let sets = |attempt: &AttemptId| setting(forest, hops, *attempt).is_some();
        let mut setters: Vec<HopId> = (0..hops.attempts.len())
            .filter(sets)
            .map(|attempt| hops.attempts[attempt].hop)
            .collect();
        setters.sort_unstable();
        setters.dedup();
        for hop in setters {
            let mut by_far_side: BTreeMap<_, Vec<(Nanos, AttemptId, NodeId)>> = BTreeMap::new();
            for &call in &hops.all[hop].calls {
                for &id in &hops.calls[call].attempts {
                    let attempt = &hops.attempts[id];
                    if let (CallKind::Dependency, Some((first, _))) = (attempt.kind, attempt.spans)
                    {
                        let place = (&attempt.to, address(forest, first));
                        let calls = by_far_side.entry(place).or_default();
                        calls.push((forest.nodes[first].start, id, first));
                    }
                }
            }
            for mut calls in by_far_side.into_values() {
                calls.sort_unstable();
                this.follow(forest, hops, hop, &calls);
            }
        }
        this.untied.sort_unstable();
        this
    }

    /// What a call runs under.
    pub(super) fn of_call(&self, attempt: AttemptId) -> Option<&Told> {
        self.bound.get(&attempt)
    }

    /// What a hop set of which no call can be told to have it.
    pub(super) fn untied(&self, hop: HopId) -> impl Iterator<Item = &Text> {
        let from = self.untied.partition_point(|(of, _)| *of < hop);
        let all = self.untied.get(from..).unwrap_or_default().iter();
        all.take_while(move |(of, _)| *of == hop)
            .map(|(_, raw)| raw)
    }

    /// Goes through the calls of a hop to one database, in order of start.
    fn follow(
        &mut self,
        forest: &Forest<'_>,
        hops: &Hops,
        hop: HopId,
        calls: &[(Nanos, AttemptId, NodeId)],
    ) {
        let mut current: Option<(Told, Vec<AttemptId>)> = None;
        let mut busy_until = Nanos(i64::MIN);
        for &(start, id, node) in calls {
            let end = forest.nodes[node].end;
            let apart = start < busy_until;
            busy_until = busy_until.max(end);
            let ran_on = |(told, _): &(Told, _)| told::outlasts(end - start, told.time);
            if apart || current.as_ref().is_some_and(ran_on) {
                let refuted = current.take();
                self.untied
                    .extend(refuted.map(|(told, _)| (hop, shortened(&told.raw))));
            }
            let set = setting(forest, hops, id);
            if set.is_some() || ends(forest, node) {
                self.keep(current.take());
            } else if let Some((_, bound)) = &mut current {
                bound.push(id);
            }
            let failed = hops.attempts[id].evidence.failed();
            let Some(set) = set.filter(|set| set.time > Nanos::ZERO && !failed) else {
                continue;
            };
            if apart {
                self.untied.push((hop, shortened(&set.raw)));
            } else {
                let told = Told::new(forest.span(node).span_id, set, set.time);
                current = Some((told, vec![]));
            }
        }
        self.keep(current);
    }

    fn keep(&mut self, current: Option<(Told, Vec<AttemptId>)>) {
        if let Some((told, bound)) = current {
            let bound = bound.into_iter().map(|id| (id, told.clone()));
            self.bound.extend(bound);
        }
    }
}

/// What a call sets for those that follow.
fn setting<'a>(forest: &Forest<'_>, hops: &'a Hops, attempt: AttemptId) -> Option<&'a Reading> {
    let mut spans = hops.spans_of(forest, attempt).into_iter();
    spans.find_map(|node| hops.facts(node)?.all(Field::Session).next())
}

/// Whether what was set may not hold for what comes after this call.
fn ends(forest: &Forest<'_>, node: NodeId) -> bool {
    let span = forest.span(node);
    let found = STATEMENTS.iter().find_map(|key| span.attributes.text(key));
    let text = found.unwrap_or(&span.name).to_lowercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let first = words.find(|word| !word.is_empty()).unwrap_or_default();
    let again = |word: &str| matches!(word, "statement_timeout" | "transaction_timeout");
    ENDS.contains(&first) || first == "set" && words.any(again)
}

/// Where a call went, as far as it says so.
fn address(forest: &Forest<'_>, node: NodeId) -> String {
    let attributes = &forest.span(node).attributes;
    let parts = ["server.address", "server.port"].map(|key| attributes.get(key));
    format!("{parts:?}")
}
