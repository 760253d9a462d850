//! Which spans speak for a hop or a call, what they report of it, and when it ran.

use crate::model::{Nanos, Text};

use super::super::conventions::Field;
use super::super::names::dependency_name;
use super::super::tree::{Forest, NodeId};
use super::{Attempt, AttemptId, CallId, HopId, Hops, RawCall};

impl Hops {
    /// Attempts before the one that a hop answers, by the hop's own count.
    pub(in crate::budget) fn resend_of(&self, hop: HopId) -> Option<u32> {
        self.facts(self.all[hop].entry)?.resend
    }

    /// The spans that speak for a hop itself: its calls' spans do not, but for a CLIENT root's.
    pub(in crate::budget) fn nodes_of<'a>(
        &'a self,
        forest: &'a Forest<'_>,
        hop: HopId,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let entry = self.all[hop].entry;
        self.all[hop]
            .nodes
            .iter()
            .copied()
            .filter(move |&node| node == entry || !forest.is_outbound(node))
    }

    /// True for the call that a CLIENT root is itself.
    pub(in crate::budget) fn is_own_call(&self, attempt: AttemptId) -> bool {
        let attempt = &self.attempts[attempt];
        let entry = self.all[attempt.hop].entry;
        attempt.spans.is_some_and(|(first, _)| first == entry)
    }

    /// True for the call that a CLIENT root without a caller is itself.
    pub(in crate::budget) fn is_root_call(&self, forest: &Forest<'_>, attempt: AttemptId) -> bool {
        let hop = &self.all[self.attempts[attempt].hop];
        hop.caller.is_none() && forest.is_outbound(hop.entry) && self.is_own_call(attempt)
    }

    /// The CLIENT or PRODUCER spans of an attempt, the innermost first.
    pub(in crate::budget) fn spans_of(
        &self,
        forest: &Forest<'_>,
        attempt: AttemptId,
    ) -> Vec<NodeId> {
        match self.attempts[attempt].spans {
            Some((first, innermost)) => outbound_up_to(forest, innermost, first),
            None => vec![],
        }
    }

    /// What an attempt's own attributes call the far side.
    pub(in crate::budget) fn peer_of(
        &self,
        forest: &Forest<'_>,
        attempt: AttemptId,
    ) -> Option<Text> {
        let spans = self.spans_of(forest, attempt);
        let mut outermost_first = spans.into_iter().rev();
        outermost_first.find_map(|node| dependency_name(&forest.span(node).attributes))
    }

    /// The CLIENT spans of a call around its nested attempts, the innermost first.
    pub(in crate::budget) fn spans_around(&self, forest: &Forest<'_>, call: CallId) -> Vec<NodeId> {
        let RawCall { span, attempts, .. } = &self.calls[call];
        let first = attempts
            .first()
            .and_then(|&attempt| self.attempts[attempt].spans);
        match (*span, first) {
            (Some(top), Some((first, _))) if first != top => forest.nodes[first]
                .parent
                .map_or(vec![], |parent| outbound_up_to(forest, parent, top)),
            _ => vec![],
        }
    }

    /// The local time that a hop reports in `deadline.local_ms`.
    pub(in crate::budget) fn reported_local(
        &self,
        forest: &Forest<'_>,
        hop: HopId,
    ) -> Option<Nanos> {
        self.nodes_of(forest, hop)
            .find_map(|node| Some(self.facts(node)?.least(Field::Local)?.time))
    }

    /// The `deadline.outcome` that a hop reports, in lower case.
    pub(in crate::budget) fn reported_outcome<'a>(
        &'a self,
        forest: &'a Forest<'_>,
        hop: HopId,
    ) -> Option<&'a str> {
        self.nodes_of(forest, hop)
            .find_map(|node| self.reported_by(forest, node))
    }

    /// The `deadline.outcome` that a span reports for its hop.
    pub(in crate::budget) fn reported_by(&self, forest: &Forest<'_>, node: NodeId) -> Option<&str> {
        let outcome = self.facts(node)?.outcome.as_deref()?;
        (!forest.is_outbound(node) || forest.nodes[node].parent.is_none()).then_some(outcome)
    }

    /// Start and end of an attempt's outermost span on the caller's clock, or of the callee's
    /// entry on the callee's, if there is no such span.
    pub(in crate::budget) fn interval(
        &self,
        forest: &Forest<'_>,
        attempt: &Attempt,
    ) -> (Nanos, Nanos) {
        let node = match (attempt.spans, attempt.callees.first()) {
            (Some((first, _)), _) => &forest.nodes[first],
            (None, Some(&callee)) => &forest.nodes[self.all[callee].entry],
            (None, None) => return (Nanos::ZERO, Nanos::ZERO),
        };
        (node.start, node.end)
    }
}

/// The CLIENT and PRODUCER spans from one span up to another around it, both included.
pub(super) fn outbound_up_to(forest: &Forest<'_>, from: NodeId, top: NodeId) -> Vec<NodeId> {
    std::iter::successors(Some(from), |&at| {
        forest.nodes[at].parent.filter(|_| at != top)
    })
    .filter(|&node| forest.is_outbound(node))
    .collect()
}
