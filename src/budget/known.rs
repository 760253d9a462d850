//! What is known of a trace once its verdicts are: the ground of requests, culprits and findings.

use crate::model::{Nanos, Text, Verdict};

use super::clocks::Clocks;
use super::conventions::Field;
use super::hops::{AttemptId, CallId, HopId, Hops};
use super::policy::{Policy, Typical};
use super::retries::Retries;
use super::timing::Timing;
use super::tree::Forest;

/// Everything that is known of a trace when requests are put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub forest: &'a Forest<'a>,
    pub hops: &'a Hops,
    pub clocks: &'a Clocks,
    pub timing: &'a Timing,
    pub retries: &'a Retries,
    pub policy: &'a Policy,
    pub typical: &'a Typical,
    pub verdicts: &'a [(Verdict, Option<CallId>)],
    pub call_verdicts: &'a [Verdict],
}

impl Known<'_> {
    /// A hop's service.
    pub(super) fn service(&self, hop: HopId) -> &Text {
        &self.forest.span(self.hops.all[hop].entry).resource.service
    }

    /// A hop's operation.
    pub(super) fn operation(&self, hop: HopId) -> &Text {
        &self.forest.span(self.hops.all[hop].entry).name
    }

    /// How long a hop waited before work: what it says, until a `dequeued` event, or until an
    /// inner SERVER layer began (semantics, section 7, `queued`).
    pub(super) fn queue(&self, id: HopId) -> Option<Nanos> {
        let hop = &self.hops.all[id];
        let entry = self.forest.span(hop.entry);
        let said = self.hops.nodes_of(self.forest, id).filter_map(|node| {
            let queue = self.hops.facts(node)?.least(Field::Queue)?;
            Some(queue.time)
        });
        let dequeued = entry.events.iter().filter(|event| event.name == "dequeued");
        let dequeued = dequeued.map(|event| event.time.since(entry.start)).max();
        let arrival = self.forest.nodes[hop.entry].start;
        let inner = hop.layers.get(1);
        let layer = inner.map(|&inner| self.forest.nodes[inner].start - arrival);
        said.max().or(dequeued).or(layer)
    }

    /// A hop's run time for nobody: after its effective deadline, or after the first call above
    /// it ended; none of a hop that was not meant to be waited for. A millisecond over the
    /// call's end is the clocks' slack, not work.
    pub(super) fn wasted(&self, hop: HopId) -> Nanos {
        let time = &self.timing.hops[hop];
        let raw = &self.hops.all[hop];
        let unwaited = |via: AttemptId| !self.timing.calls[via].waited;
        if raw.caller.is_some() && raw.via.is_none_or(unwaited) {
            return Nanos::ZERO;
        }
        let after = |instant: Nanos| time.end - time.start.max(instant);
        let by_deadline = time.effective.map_or(Nanos::ZERO, after);
        let by_patience = time.patience.map_or(Nanos::ZERO, after);
        let slack = Nanos::from_millis(1);
        let by_patience = if by_patience > slack {
            by_patience
        } else {
            Nanos::ZERO
        };
        by_deadline.max(by_patience).at_least_zero()
    }
}
