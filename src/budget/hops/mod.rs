//! From the forest to hops and calls (semantics, sections 2.5 to 2.7).
//!
//! A hop is an entry span and its descendants up to the next entry. A call is an outermost CLIENT
//! or PRODUCER span of a hop, or a hop entered without one; CLIENT spans nested in it are the
//! same call: one inside the other is a library over its transport, several side by side are its
//! attempts.

mod spans;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Attributes, CallKind, Kind, SpanId, Text};

use super::conventions::Facts;
use super::evidence::{self, Evidence, Outcomes};
use super::facts::{self, Said};
use super::names::{dependency_name, host, is_remote_call, is_store};
use super::policy::Policy;
use super::tree::{Children, Forest, NodeId};
use spans::outbound_up_to;

/// Index of a [`RawHop`].
pub(super) type HopId = usize;

/// A hop before its clock is known.
#[derive(Debug)]
pub(super) struct RawHop {
    /// The entry span.
    pub entry: NodeId,
    /// The hop that waits for it; `None` for the root of a request.
    pub caller: Option<HopId>,
    /// The hop that started it without waiting.
    pub handed_from: Option<HopId>,
    /// Of a root without parent: the spans of other requests that its links name, each with its
    /// hop. They started it without waiting.
    pub linked_from: Vec<(HopId, NodeId)>,
    /// The root hop of its request.
    pub root: HopId,
    /// The attempt that it answers.
    pub via: Option<AttemptId>,
    /// Its host, as an index; hops on one host share a clock.
    pub host: usize,
    /// Its spans, the entry first.
    pub nodes: Vec<NodeId>,
    /// Its top-level calls.
    pub calls: Vec<CallId>,
    /// The entry and the SERVER layers directly below it.
    pub layers: Vec<NodeId>,
    /// How it ended, by the words of its layers.
    pub evidence: Evidence,
}

/// Index of a [`RawCall`].
pub(super) type CallId = usize;
/// Index of an [`Attempt`].
pub(super) type AttemptId = usize;

/// A top-level call.
#[derive(Debug)]
pub(super) struct RawCall {
    /// Its outermost span; `None` if the callee was entered without one.
    pub span: Option<NodeId>,
    /// Its nested attempts, by start; one if there are none nested.
    pub attempts: Vec<AttemptId>,
    /// How it ended, by the words of the spans around its attempts.
    pub evidence: Evidence,
}

/// One outbound attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    /// The calling hop.
    pub hop: HopId,
    /// The top-level call that it belongs to.
    pub call: CallId,
    /// Its outermost span, and its innermost, where the callee is cut off; `None` if the callee
    /// was entered without one.
    pub spans: Option<(NodeId, NodeId)>,
    /// The hops entered below it, by start.
    pub callees: Vec<HopId>,
    /// What the far side is.
    pub kind: CallKind,
    /// The far side's name.
    pub to: Text,
    /// What was asked.
    pub operation: Text,
    /// How it ended, by its own spans' words.
    pub evidence: Evidence,
    /// Attempts before it, by its own count.
    pub resend: Option<u32>,
}

/// All hops and calls of a trace.
#[derive(Debug)]
pub(super) struct Hops {
    /// Callers before callees.
    pub all: Vec<RawHop>,
    /// Top-level calls.
    pub calls: Vec<RawCall>,
    /// Their attempts.
    pub attempts: Vec<Attempt>,
    /// What each span says.
    said: Said,
    /// Names of hosts, by index.
    pub hosts: Vec<Text>,
    /// What tells how a span ended.
    outcomes: Arc<Outcomes>,
}

impl Hops {
    /// Finds the hops and calls of a forest.
    pub(super) fn find(forest: &Forest<'_>, policy: &Policy) -> Self {
        let said = facts::of_forest(forest, &policy.rules);
        let mut this = Self {
            all: vec![],
            calls: vec![],
            attempts: vec![],
            said,
            hosts: vec![],
            outcomes: Arc::clone(&policy.rules.outcomes),
        };
        let mut places = Places::new(forest.nodes.len());
        this.enter(forest, policy, &mut places);
        this.link(forest, &places);
        this.call(forest, &places);
        this.judge(forest);
        this
    }

    /// What a span says of deadlines.
    pub(super) fn facts(&self, node: NodeId) -> Option<&Facts> {
        self.said.facts[node].as_deref()
    }

    /// Whether any span says anything for which this holds.
    pub(super) fn any_facts(&self, holds: impl Fn(&Facts) -> bool) -> bool {
        self.said.facts.iter().flatten().any(|facts| holds(facts))
    }

    /// What a span says of how it ended.
    fn evidence_of(&self, forest: &Forest<'_>, node: NodeId) -> Evidence {
        self.said.evidence(forest, &self.outcomes, node)
    }

    /// Gives every span its hop.
    fn enter(&mut self, forest: &Forest<'_>, policy: &Policy, places: &mut Places) {
        let mut host_ids: BTreeMap<Text, usize> = BTreeMap::new();
        for &node in &forest.preorder {
            let parent = forest.nodes[node].parent;
            let span = forest.span(node);
            match entry(forest, policy, node) {
                Entry::Inside => {
                    let Some(parent) = parent else { continue };
                    let hop = places.hop[parent];
                    places.hop[node] = hop;
                    places.within[node] = places.within_or_self(forest, parent);
                    self.all[hop].nodes.push(node);
                    let layer = span.kind == Kind::Server || span.kind == Kind::Consumer;
                    if layer && self.all[hop].layers.contains(&parent) {
                        self.all[hop].layers.push(node);
                    }
                }
                kind @ (Entry::Root | Entry::Waited | Entry::Async) => {
                    let id = self.all.len();
                    let from = parent.map(|parent| places.hop[parent]);
                    let caller = from.filter(|_| kind == Entry::Waited);
                    let name = host(forest, node);
                    let next = host_ids.len();
                    let host = *host_ids.entry(name).or_insert(next);
                    self.all.push(RawHop {
                        entry: node,
                        caller,
                        handed_from: from.filter(|_| kind == Entry::Async),
                        linked_from: vec![],
                        root: caller.map_or(id, |caller| self.all[caller].root),
                        via: None,
                        host,
                        nodes: vec![node],
                        calls: vec![],
                        layers: vec![node],
                        evidence: Evidence::default(),
                    });
                    places.hop[node] = id;
                    if let (Some(parent), Entry::Waited) = (parent, kind) {
                        let client = places.within_or_self(forest, parent);
                        places.entered[node] = client.map_or(Entered::Bare, Entered::By);
                    }
                }
            }
        }
        self.hosts = vec![Text::default(); host_ids.len()];
        for (name, id) in host_ids {
            self.hosts[id] = name;
        }
    }

    /// Finds who started the roots that have links: a link is no parent, but tells of a hand-over.
    fn link(&mut self, forest: &Forest<'_>, places: &Places) {
        let linked: Vec<HopId> = (0..self.all.len())
            .filter(|&id| {
                let hop = &self.all[id];
                let apart = hop.caller.is_none() && hop.handed_from.is_none();
                apart && !forest.span(hop.entry).links.is_empty()
            })
            .collect();
        if linked.is_empty() {
            return;
        }
        let mut by_id: Vec<(SpanId, NodeId)> = (0..forest.nodes.len())
            .map(|node| (forest.span(node).span_id, node))
            .collect();
        by_id.sort_unstable();
        for id in linked {
            let entry = forest.span(self.all[id].entry);
            let mut from = Vec::new();
            for link in &entry.links {
                if link.trace_id != entry.trace_id || link.span_id == entry.span_id {
                    continue;
                }
                let first = by_id.partition_point(|(other, _)| *other < link.span_id);
                let named = by_id[first..].iter();
                for &(_, node) in named.take_while(|(other, _)| *other == link.span_id) {
                    let hop = places.hop[node];
                    if self.all[hop].root != id {
                        from.push((hop, node));
                    }
                }
            }
            from.sort_unstable();
            from.dedup_by_key(|(hop, _)| *hop);
            self.all[id].linked_from = from;
        }
    }

    /// Finds the calls of every hop.
    fn call(&mut self, forest: &Forest<'_>, places: &Places) {
        // CLIENT spans as a forest of their own: each below the nearest call span around it.
        let below =
            |node: NodeId| places.within[node].filter(|_| forest.kind(node) == Kind::Client);
        let nested = Children::of((0..forest.nodes.len()).map(below));
        let mut callees: Vec<Vec<HopId>> = vec![Vec::new(); forest.nodes.len()];
        for (id, hop) in self.all.iter().enumerate() {
            if let Entered::By(client) = places.entered[hop.entry] {
                callees[client].push(id);
            }
        }
        // Node order is order of start, so each hop's calls come in order of start.
        for node in 0..forest.nodes.len() {
            let hop = places.hop[node];
            if places.entered[node] == Entered::Bare
                && let Some(caller) = self.all[hop].caller
            {
                self.push_call(forest, caller, None, vec![(None, vec![hop])]);
            }
            let top_level = match forest.kind(node) {
                Kind::Producer => true,
                Kind::Client => places.within[node].is_none(),
                _ => false,
            };
            if top_level {
                let attempts = attempts_of(forest, node, &nested, &callees);
                self.push_call(forest, hop, Some(node), attempts);
            }
        }
    }

    fn push_call(
        &mut self,
        forest: &Forest<'_>,
        hop: HopId,
        span: Option<NodeId>,
        found: Vec<Found>,
    ) {
        let call = self.calls.len();
        let mut attempts = Vec::with_capacity(found.len());
        for (spans, callees) in found {
            let id = self.attempts.len();
            for &callee in &callees {
                self.all[callee].via = Some(id);
            }
            let attempt = self.attempt(forest, hop, call, span, spans, callees);
            self.attempts.push(attempt);
            attempts.push(id);
        }
        self.calls.push(RawCall {
            span,
            attempts,
            evidence: Evidence::default(),
        });
        let around = self.spans_around(forest, call);
        self.calls[call].evidence = around
            .into_iter()
            .fold(Evidence::default(), |evidence, node| {
                evidence.and(self.evidence_of(forest, node))
            });
        self.all[hop].calls.push(call);
    }

    fn attempt(
        &self,
        forest: &Forest<'_>,
        hop: HopId,
        call: CallId,
        outer: Option<NodeId>,
        spans: Option<(NodeId, NodeId)>,
        callees: Vec<HopId>,
    ) -> Attempt {
        let mut resend = None;
        let mut evidence = Evidence::default();
        let chain = spans.map_or(vec![], |(first, last)| outbound_up_to(forest, last, first));
        for &node in &chain {
            evidence = evidence.and(self.evidence_of(forest, node));
            resend = resend.max(self.facts(node).and_then(|facts| facts.resend));
        }
        if let Some(&callee) = callees.first() {
            let entry = forest.span(self.all[callee].entry);
            // A proxy's tries leave one call with several callees.
            let counts = callees.iter().map(|&callee| self.resend_of(callee));
            let resend = counts.fold(resend, Ord::max);
            let operation = spans.map_or(&entry.name, |(first, _)| &forest.span(first).name);
            return Attempt {
                hop,
                call,
                spans,
                kind: CallKind::Hop,
                to: entry.resource.service.clone(),
                operation: operation.clone(),
                evidence,
                resend,
                callees,
            };
        }
        // No far side: the call's own attributes, from the outermost span to the innermost.
        let lists: Vec<&Attributes> = outer
            .into_iter()
            .chain(chain.iter().rev().copied())
            .map(|node| &forest.span(node).attributes)
            .collect();
        let first = spans.map_or(0, |(first, _)| first);
        let span = forest.span(first);
        let gave_up = evidence.deadline || evidence.cancelled;
        let kind = match span.kind {
            Kind::Producer => CallKind::Producer,
            _ if gave_up
                && lists.iter().any(|list| is_remote_call(list))
                && !lists.iter().any(|list| is_store(list)) =>
            {
                CallKind::Unreported
            }
            _ => CallKind::Dependency,
        };
        let to = lists
            .iter()
            .find_map(|list| dependency_name(list))
            .unwrap_or_else(|| span.name.clone());
        Attempt {
            hop,
            call,
            spans,
            callees,
            kind,
            to,
            operation: span.name.clone(),
            evidence,
            resend,
        }
    }

    /// How each hop ended, by its layers' words.
    fn judge(&mut self, forest: &Forest<'_>) {
        for id in 0..self.all.len() {
            let hop = &self.all[id];
            let mut evidence = Evidence::default();
            for &node in &hop.layers {
                evidence = evidence.and(self.evidence_of(forest, node));
            }
            // A handler below a framework's SERVER span says it for the hop.
            for &node in &hop.nodes {
                if let Some(outcome) = self.reported_by(forest, node) {
                    evidence = evidence.and(evidence::of_outcome(outcome, node));
                }
            }
            self.all[id].evidence = evidence;
        }
    }
}

/// An attempt that was found: its outermost and innermost span, and the hops that answered it.
type Found = (Option<(NodeId, NodeId)>, Vec<HopId>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Entry {
    Inside,
    Root,
    Waited,
    Async,
}

/// Whether a span starts a hop, and how (section 2.5, 2.7).
fn entry(forest: &Forest<'_>, policy: &Policy, node: NodeId) -> Entry {
    let span = forest.span(node);
    let Some(parent) = forest.nodes[node].parent.map(|parent| forest.span(parent)) else {
        return Entry::Root;
    };
    let same_service = parent.service() == span.service();
    if policy.is_detached(span.service(), &span.name) {
        return Entry::Async;
    }
    match span.kind {
        Kind::Consumer if same_service && parent.kind == Kind::Consumer => Entry::Inside,
        Kind::Consumer => Entry::Async,
        // What hangs below a message that was sent is not waited for either.
        _ if parent.kind == Kind::Producer && (!same_service || span.kind == Kind::Server) => {
            Entry::Async
        }
        Kind::Server if same_service && parent.kind == Kind::Server => Entry::Inside,
        Kind::Server => Entry::Waited,
        _ if !same_service => Entry::Waited,
        _ => Entry::Inside,
    }
}

/// How the entry of a hop was entered by whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Entered {
    /// Nobody waits, or it is no entry.
    Unwaited,
    /// Without a CLIENT span.
    Bare,
    /// By this CLIENT span.
    By(NodeId),
}

/// Where each span stands.
struct Places {
    hop: Vec<HopId>,
    /// The nearest CLIENT or PRODUCER span around it in its hop.
    within: Vec<Option<NodeId>>,
    /// For the entry of a hop: how it was entered.
    entered: Vec<Entered>,
}

impl Places {
    fn new(len: usize) -> Self {
        Self {
            hop: vec![0; len],
            within: vec![None; len],
            entered: vec![Entered::Unwaited; len],
        }
    }

    fn within_or_self(&self, forest: &Forest<'_>, node: NodeId) -> Option<NodeId> {
        let outbound = forest.is_outbound(node);
        if outbound {
            Some(node)
        } else {
            self.within[node]
        }
    }
}

/// The attempts of a top-level call: down while there is one CLIENT inside the other, then what
/// stands side by side.
fn attempts_of(
    forest: &Forest<'_>,
    top: NodeId,
    nested: &Children,
    callees: &[Vec<HopId>],
) -> Vec<Found> {
    let innermost = |from: NodeId| {
        let mut at = from;
        while let ([only], true) = (nested.of_node(at), callees[at].is_empty()) {
            at = *only;
        }
        at
    };
    let below = |from: NodeId| {
        let (mut found, mut stack) = (Vec::new(), vec![from]);
        while let Some(node) = stack.pop() {
            found.extend_from_slice(&callees[node]);
            stack.extend_from_slice(nested.of_node(node));
        }
        found.sort_unstable();
        found
    };
    // Sending a message is one call, whatever carries it.
    if forest.span(top).kind == Kind::Producer {
        return vec![(Some((top, top)), below(top))];
    }
    let split = innermost(top);
    if nested.of_node(split).len() < 2 || !callees[split].is_empty() {
        return vec![(Some((top, split)), below(top))];
    }
    nested
        .of_node(split)
        .iter()
        .map(|&attempt| (Some((attempt, innermost(attempt))), below(attempt)))
        .collect()
}
