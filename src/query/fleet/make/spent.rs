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

/// The rows that come first by excess, and after them those that come first by what they held
/// alone: whoever orders them so has them all.
pub(super) fn spent(holders: &[Holder], all: Nanos, rows: usize) -> Spent {
    let (mut shown, mut others): (Vec<Holder>, Vec<Holder>) = (Vec::new(), Vec::new());
    let mut by_held: Vec<usize> = (0..holders.len()).collect();
    by_held.sort_by_key(|place| Reverse(holders.get(*place).map(|holder| holder.held)));
    by_held.truncate(rows);
    for (place, holder) in holders.iter().enumerate() {
        if place < rows || by_held.contains(&place) {
            shown.push(holder.clone());
        } else {
            others.push(holder.clone());
        }
    }
    Spent {
        requests: holders.iter().map(|holder| holder.requests).sum(),
        held: all,
        rows: shown,
        others: others.len() as u64,
        others_held: others.iter().map(|holder| holder.held).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fleet::bands::RankBy;

    #[test]
    fn the_first_of_either_order_are_all_there() {
        // The more it held, the more of that is usual.
        let holders: Vec<Holder> = (1..=9_i64)
            .map(|n| Holder {
                service: format!("service-{n}").as_str().into(),
                operation: "work".into(),
                part: Part::Local,
                to: None,
                requests: 1,
                held: Nanos::from_millis(100 * n),
                share: share_of(Nanos(n), Nanos(45)),
                typical: None,
                excess: Nanos::from_millis(100 - n),
                times: None,
                held_before: Nanos::ZERO,
                trend: None,
            })
            .collect();
        let all: Nanos = holders.iter().map(|holder| holder.held).sum();
        let spent = spent(&holders, all, 2);
        let names = |by| {
            let top = spent.clone().top(by, 2);
            assert_eq!((top.rows.len(), top.others), (2, 7));
            let shown: Nanos = top.rows.iter().map(|holder| holder.held).sum();
            assert_eq!(shown + top.others_held, all);
            top.rows
                .into_iter()
                .map(|row| row.service)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(RankBy::Excess), ["service-1", "service-2"]);
        assert_eq!(names(RankBy::Held), ["service-9", "service-8"]);
    }
}
