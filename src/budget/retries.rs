//! Attempts (semantics, section 7, last paragraph): which calls of a hop are the same call again.
//!
//! *Retry*: same target and operation, one after another, the earlier failed; or the call's own
//! count says so. *Hedge*: overlapping, same target and operation, one of them cancelled or
//! counted. Parallel fan-out is neither.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::model::{Nanos, Text};

use super::hops::{AttemptId, CallId, HopId, Hops};
use super::timing::{Timing, attempts_of};
use super::tree::Forest;

/// Calls of one hop that are attempts of one call, by start; at least two.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The calling hop.
    pub hop: HopId,
    /// The attempts.
    pub attempts: Vec<AttemptId>,
    /// Where each round begins: the attempts of a round overlap, the next begins when all of them
    /// have ended.
    rounds: Vec<usize>,
}

impl Group {
    /// The rounds: retries of each other, each an attempt and its hedges.
    pub(super) fn rounds(&self) -> impl Iterator<Item = &[AttemptId]> {
        let ends = self.rounds.iter().skip(1).copied();
        let ends = ends.chain([self.attempts.len()]);
        let rounds = self.rounds.iter().zip(ends);
        rounds.map(|(from, to)| &self.attempts[*from..to])
    }

    /// The attempts that are retries: they began when all before them had ended.
    pub(super) fn retries(&self) -> impl Iterator<Item = AttemptId> {
        let firsts = self.rounds().skip(1);
        firsts.filter_map(|round| round.first().copied())
    }
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
            let mut groups: Vec<Vec<AttemptId>> = Vec::new();
            for mut attempts in alike.into_values().filter(|attempts| attempts.len() > 1) {
                attempts.sort_by_key(|&attempt| (timing.calls[attempt].start, attempt));
                groups.append(&mut linked(hops, timing, &attempts));
            }
            groups.sort_by_key(|group| {
                let first = group.first().copied();
                first.map(|first| (timing.calls[first].start, first))
            });
            for attempts in groups.into_iter().filter(|group| group.len() > 1) {
                this.add(timing, id, attempts);
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

    /// Whether an attempt overlaps an earlier one of the same call.
    pub(super) fn is_hedge(&self, attempt: AttemptId) -> bool {
        self.place[attempt].is_some_and(|(group, index)| {
            let rounds = &self.groups[group].rounds;
            rounds.binary_search(&index).is_err()
        })
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

    fn add(&mut self, timing: &Timing, hop: HopId, attempts: Vec<AttemptId>) {
        let mut rounds = Vec::new();
        let mut busy_until = None;
        for (index, &attempt) in attempts.iter().enumerate() {
            self.place[attempt] = Some((self.groups.len(), index));
            let time = &timing.calls[attempt];
            if busy_until.is_none_or(|end| time.start >= end) {
                rounds.push(index);
            }
            busy_until = busy_until.max(Some(time.end));
        }
        self.groups.push(Group {
            hop,
            attempts,
            rounds,
        });
    }
}

/// Calls alike, by start, as groups of attempts of one call. Each is compared with the one before
/// it of the same call, with the one that began last of those still running, or if there is none
/// with the one that ended last: others between the two hide nothing.
fn linked(hops: &Hops, timing: &Timing, attempts: &[AttemptId]) -> Vec<Vec<AttemptId>> {
    let mut groups: Vec<Vec<AttemptId>> = Vec::new();
    let mut group_of: BTreeMap<AttemptId, usize> = BTreeMap::new();
    let mut same_call: BTreeMap<CallId, AttemptId> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<(Nanos, AttemptId)>> = BinaryHeap::new();
    let mut running: BTreeSet<(Nanos, AttemptId)> = BTreeSet::new();
    let mut ended: Option<AttemptId> = None;
    for &attempt in attempts {
        let time = &timing.calls[attempt];
        while let Some(&Reverse((end, before))) = ends.peek()
            && end <= time.start
        {
            ends.pop();
            running.remove(&(timing.calls[before].start, before));
            ended = Some(before);
        }
        let call = hops.attempts[attempt].call;
        let beside = running.last().map(|(_, before)| *before).or(ended);
        let before = same_call.insert(call, attempt).or(beside);
        let before = before.filter(|&before| is_again(hops, timing, before, attempt));
        let group = before.and_then(|before| group_of.get(&before).copied());
        let group = group.unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(attempt);
        group_of.insert(attempt, group);
        running.insert((time.start, attempt));
        ends.push(Reverse((time.end, attempt)));
    }
    groups
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

/// Whether `after` is another attempt of `before`.
fn is_again(hops: &Hops, timing: &Timing, before: AttemptId, after: AttemptId) -> bool {
    let (first, second) = (&hops.attempts[before], &hops.attempts[after]);
    let counted = second
        .resend
        .is_some_and(|count| count > first.resend.unwrap_or(0));
    let overlaps = timing.calls[after].start < timing.calls[before].end;
    let failed = if overlaps {
        first.evidence.cancelled || second.evidence.cancelled
    } else {
        first.evidence.failed()
    };
    // Nested attempts of one call need no other proof.
    failed || counted || first.call == second.call
}
