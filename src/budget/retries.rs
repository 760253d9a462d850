//! Attempts (semantics, section 7, last paragraph): which calls of a hop are the same call again.
//!
//! *Retry*: same target and operation, one after another, the earlier failed; or the call's own
//! count says so. *Hedge*: overlapping, same target and operation, one of them cancelled or
//! counted. Parallel fan-out is neither.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Text;

use super::hops::{AttemptId, HopId, Hops};
use super::timing::{Timing, attempts_of};
use super::tree::Forest;

/// Calls of one hop that are attempts of one call, by start; at least two.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The calling hop.
    pub hop: HopId,
    /// The attempts.
    pub attempts: Vec<AttemptId>,
    /// True if some of them overlap.
    pub hedged: bool,
}

/// The groups of a trace, and each attempt's place.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// Every group, ordered by hop.
    pub groups: Vec<Group>,
    /// By [`AttemptId`]: the group and the index in it.
    pub place: Vec<Option<(usize, usize)>>,
}

impl Retries {
    /// Finds the groups of every hop.
    pub(super) fn find(forest: &Forest<'_>, hops: &Hops, timing: &Timing) -> Self {
        let mut this = Self {
            groups: vec![],
            place: vec![None; hops.attempts.len()],
        };
        for id in 0..hops.all.len() {
            let services = services_by_peer(forest, hops, id);
            let mut alike: BTreeMap<(&str, &str), Vec<AttemptId>> = BTreeMap::new();
            for attempt in attempts_of(hops, id) {
                let what = &hops.attempts[attempt];
                let operation = what.operation.as_str();
                let service = if what.callees.is_empty() && !services.is_empty() {
                    services.get(&(what.to.clone(), operation)).copied()
                } else {
                    None
                };
                let target = (service.unwrap_or(&what.to), operation);
                alike.entry(target).or_default().push(attempt);
            }
            for mut attempts in alike.into_values().filter(|attempts| attempts.len() > 1) {
                attempts.sort_by_key(|&attempt| (timing.calls[attempt].start, attempt));
                this.group(hops, timing, id, &attempts);
            }
        }
        this
    }

    /// The groups of one hop.
    pub(super) fn of_hop(&self, hop: HopId) -> &[Group] {
        let from = self.groups.partition_point(|group| group.hop < hop);
        let to = from + self.groups[from..].partition_point(|group| group.hop == hop);
        &self.groups[from..to]
    }

    /// The attempt's number from 1, and how many there were.
    pub(super) fn number(&self, hops: &Hops, attempt: AttemptId) -> (u32, u32) {
        let counted = hops.attempts[attempt]
            .resend
            .map_or(1, |before| before.saturating_add(1));
        match self.place[attempt] {
            None => (counted, counted),
            Some((group, index)) => {
                let attempts = &self.groups[group].attempts;
                let last = attempts.last().and_then(|&last| hops.attempts[last].resend);
                let total = (attempts.len() as u32).max(last.map_or(0, |n| n.saturating_add(1)));
                ((index as u32 + 1).max(counted), total)
            }
        }
    }

    fn group(&mut self, hops: &Hops, timing: &Timing, hop: HopId, attempts: &[AttemptId]) {
        let mut current: Vec<AttemptId> = Vec::new();
        let mut hedged = false;
        for &attempt in attempts {
            let link = current
                .last()
                .and_then(|&before| link(hops, timing, before, attempt));
            if let Some(overlaps) = link {
                hedged |= overlaps;
            } else {
                self.close(hop, std::mem::take(&mut current), hedged);
                hedged = false;
            }
            current.push(attempt);
        }
        self.close(hop, current, hedged);
    }

    fn close(&mut self, hop: HopId, attempts: Vec<AttemptId>, hedged: bool) {
        if attempts.len() < 2 {
            return;
        }
        for (index, &attempt) in attempts.iter().enumerate() {
            self.place[attempt] = Some((self.groups.len(), index));
        }
        self.groups.push(Group {
            hop,
            attempts,
            hedged,
        });
    }
}

/// Services by the peer name that a call of the same operation bore: an attempt that left no
/// spans on the far side is known by that name only.
fn services_by_peer<'a>(
    forest: &'a Forest<'_>,
    hops: &'a Hops,
    hop: HopId,
) -> BTreeMap<(Text, &'a str), &'a str> {
    let is_dark = |attempt: &AttemptId| hops.attempts[*attempt].callees.is_empty();
    let dark: BTreeSet<(&str, &str)> = attempts_of(hops, hop)
        .filter(is_dark)
        .map(|attempt| &hops.attempts[attempt])
        .map(|what| (what.to.as_str(), what.operation.as_str()))
        .collect();
    if dark.is_empty() {
        return BTreeMap::new();
    }
    attempts_of(hops, hop)
        .filter(|attempt| !is_dark(attempt))
        .filter_map(|attempt| {
            let what = &hops.attempts[attempt];
            let peer = hops.peer_of(forest, attempt)?;
            let operation = what.operation.as_str();
            dark.contains(&(peer.as_str(), operation))
                .then_some(((peer, operation), what.to.as_str()))
        })
        .collect()
}

/// Whether `after` is another attempt of `before`, and if so whether they overlap.
fn link(hops: &Hops, timing: &Timing, before: AttemptId, after: AttemptId) -> Option<bool> {
    let (first, second) = (&hops.attempts[before], &hops.attempts[after]);
    let counted = second
        .resend
        .is_some_and(|count| count > first.resend.unwrap_or(0));
    // Nested attempts of one call need no other proof.
    let same_call = first.call == second.call;
    let overlaps = timing.calls[after].start < timing.calls[before].end;
    if overlaps {
        let cancelled = first.evidence.cancelled || second.evidence.cancelled;
        return (cancelled || counted || same_call).then_some(true);
    }
    (first.evidence.failed() || counted || same_call).then_some(false)
}
