//! Where the budget of the missed requests went.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{share_of, thousandths, time};
use crate::budget::Typical;
use crate::model::{Nanos, Part, Text};
use crate::query::fleet::overview::{Holder, Spent};
use crate::store::rollup::Culprit;

/// Sums of culprits by service, operation, part and callee.
pub(super) type Culprits = BTreeMap<[Text; 4], Culprit>;

/// What stands in a list for all that is one thing.
pub(super) fn part_of(word: &str) -> Part {
    let mut parts = Part::ALL.into_iter();
    parts
        .find(|part| part.as_str() == word)
        .unwrap_or(Part::Local)
}

/// A name, if there is one.
pub(super) fn named(name: &Text) -> Option<Text> {
    Some(name.clone()).filter(|name| !name.is_empty())
}

/// What a holder's time would have been typically, if that is known: the median of each of its runs.
pub(super) fn typical_of(key: &[Text; 4], culprit: &Culprit, typical: &Typical) -> Option<Nanos> {
    let [service, operation, part, to] = key;
    let known = match part_of(part) {
        Part::Local => typical.local.get(&(service.clone(), operation.clone())),
        Part::Dependency | Part::Unreported => typical.calls.get(&(service.clone(), to.clone())),
        Part::TransitOut | Part::TransitBack | Part::Backoff => None,
    };
    let median = i128::from(known?.median.0);
    Some(time(median.saturating_mul(culprit.rows.into())))
}

/// All holders, by excess, then by what they held.
pub(super) fn holders(now: &Culprits, before: &Culprits, typical: &Typical) -> Vec<Holder> {
    let all = held(now);
    let of_missed = now.iter().filter(|(_, culprit)| culprit.rows > 0);
    let holders = of_missed.map(|(key, culprit)| {
        let [service, operation, part, to] = key;
        let held = time(culprit.held);
        let typical = typical_of(key, culprit, typical);
        let held_before = before.get(key).map_or(0, |before| before.held);
        Holder {
            service: service.clone(),
            operation: operation.clone(),
            part: part_of(part),
            to: named(to),
            requests: culprit.missed,
            held,
            share: share_of(held, all),
            typical,
            excess: held - typical.unwrap_or_default(),
            times: typical.and_then(|typical| thousandths(culprit.held, typical.0.into())),
            held_before: time(held_before),
            trend: thousandths(culprit.held, held_before),
        }
    });
    let mut holders: Vec<Holder> = holders.collect();
    // They come by name; equal ones keep that order.
    holders.sort_by_key(|holder| Reverse((holder.excess, holder.held)));
    holders
}

/// What all of them held.
pub(super) fn held(culprits: &Culprits) -> Nanos {
    time(culprits.values().map(|culprit| culprit.held).sum())
}

pub(super) fn spent(holders: &[Holder], all: Nanos, rows: usize) -> Spent {
    let shown = holders.get(..rows).unwrap_or(holders);
    let others = holders.get(rows..).unwrap_or_default();
    Spent {
        requests: holders.iter().map(|holder| holder.requests).sum(),
        held: all,
        rows: shown.to_vec(),
        others: others.len() as u64,
        others_held: others.iter().map(|holder| holder.held).sum(),
    }
}
