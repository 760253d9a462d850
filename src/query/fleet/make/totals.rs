//! The numbers of a stretch.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Frame, slots, thousandths, time};
use crate::model::{Nanos, Outcome, Text, Verdict};
use crate::query::fleet::Passing;
use crate::query::fleet::overview::{Bucket, Totals};
use crate::store::rollup::{Passed, Sums, count_of};

/// How calls passed their deadlines on.
pub(super) fn passing(passed: &Passed) -> Passing {
    Passing {
        all: passed.all,
        propagated: passed.told,
        not_propagated: passed.not_told,
        reset: passed.reset,
        no_deadline: passed.all.saturating_sub(passed.told + passed.not_told),
    }
}

/// All edges together.
pub(super) fn passing_of(edges: &BTreeMap<[Text; 2], Passed>) -> Passing {
    let mut all = Passing::default();
    for passed in edges.values() {
        add(&mut all, &passing(passed));
    }
    all
}

pub(super) fn add(sum: &mut Passing, more: &Passing) {
    sum.all += more.all;
    sum.propagated += more.propagated;
    sum.not_propagated += more.not_propagated;
    sum.reset += more.reset;
    sum.no_deadline += more.no_deadline;
}

pub(super) fn totals(sums: &Sums, length: Nanos) -> Totals {
    let all = sums.all();
    let outcomes = Outcome::ALL.map(|one| (one, count_of(&all.outcomes, &Outcome::ALL, &one)));
    let missed = Verdict::ALL.map(|one| (one, count_of(&all.missed_by, &Verdict::ALL, &one)));
    let broken = sums.edges.iter().filter(|(_, passed)| passed.not_told > 0);
    // Of equal ones the first by name.
    let broken = broken.min_by_key(|(_, passed)| Reverse(passed.not_told));
    Totals {
        requests: all.all,
        budgeted: all.budgeted,
        outcomes: outcomes.to_vec(),
        missed_by: missed.to_vec(),
        wasted: time(all.wasted),
        wasted_slots: slots(all.wasted, length),
        used_p99: all
            .used
            .percentile(99)
            .and_then(|used| thousandths(used.into(), 1_000_000)),
        passing: passing_of(&sums.edges),
        first_break: broken.map(|([from, to], _)| (from.clone(), to.clone())),
    }
}

pub(super) fn buckets(frame: &Frame, series: &[Sums]) -> Vec<Bucket> {
    let buckets = frame.buckets().zip(series);
    buckets
        .map(|((since, partial), sums)| Bucket {
            since,
            totals: totals(sums, frame.length()),
            partial,
        })
        .collect()
}
