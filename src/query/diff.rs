//! What changed between two traces, or between two sets of them: who spends more than before.
//!
//! Of two traces the ledgers are compared row by row: hops are aligned by service, operation and
//! order, and the changes sum to the change of the elapsed time. Of two sets, whose mixes of
//! requests differ, like is compared with like: what one run of a hop, or one call of it, spends.
//! The rise of the median counts, weighted by how often that comes in a request: one slow outlier
//! changes no median, and what is rare costs few requests.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::samples::{Samples, Sorted};
use super::sheet::{Cell, Column, Sheet};
use crate::model::{Call, CallKind, Hop, Nanos, Part, Request, Text};

/// What is compared of two traces.
pub const OF_TRACES: &[Column] = &[
    Column::shown("service", "service", "the owner of the time"),
    Column::shown("operation", "operation", "its operation"),
    Column::wide(
        1,
        "nth",
        "nth",
        "which of its hops with this operation, from 1",
    ),
    Column::shown(
        "part",
        "part",
        "what the time was spent on; transit is both ways",
    ),
    Column::shown("to", "to", "the callee, unless the part is local"),
    Column::shown("before_ms", "before", "spent in the first trace"),
    Column::shown("after_ms", "after", "spent in the second trace"),
    Column::shown(
        "change_ms",
        "change",
        "the difference; all of them sum to that of the elapsed time",
    ),
];

/// What is compared of two sets of traces.
pub const OF_SETS: &[Column] = &[
    Column::shown("service", "service", "the owner of the time"),
    Column::shown("operation", "operation", "its operation"),
    Column::shown(
        "part",
        "part",
        "what the time is spent on; transit is both ways",
    ),
    Column::shown("to", "to", "the callee, unless the part is local"),
    Column::machine(
        "runs_before",
        "runs of the hop, or calls of it to the callee, in the first set",
    ),
    Column::wide(4, "runs_after", "runs", "the same in the second set"),
    Column::wide(
        3,
        "p50_before_ms",
        "before",
        "spent by a run or call in the first set, median",
    ),
    Column::wide(
        2,
        "p50_after_ms",
        "after",
        "spent by a run or call in the second set, median",
    ),
    Column::wide(
        1,
        "p50_change_ms",
        "change",
        "the difference of the medians",
    ),
    Column::machine(
        "mean_before_ms",
        "spent by a run or call in the first set, mean",
    ),
    Column::machine(
        "mean_after_ms",
        "spent by a run or call in the second set, mean",
    ),
    Column::wide(
        5,
        "mean_change_ms",
        "mean change",
        "the difference of the means",
    ),
    Column::shown(
        "per_request_ms",
        "per request",
        "the change of the median, times the runs or calls in a request of the second set",
    ),
];

/// Who spends time, on what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    service: Text,
    operation: Text,
    part: &'static str,
    to: Option<Text>,
}

/// One row of one hop.
struct Entry {
    owner: Owner,
    /// The place among the trace's hops of this service and operation, from 1.
    nth: u64,
    time: Nanos,
    /// Calls that it is the time of; 1 for a hop's own.
    calls: u64,
}

/// One side of a comparison, added up trace by trace. The order changes nothing.
#[derive(Debug, Default)]
pub struct Spent {
    traces: u64,
    requests: u64,
    elapsed: i128,
    owners: BTreeMap<Owner, Spending>,
    /// The rows of the only trace.
    single: BTreeMap<(Owner, u64), Nanos>,
}

#[derive(Debug, Default)]
struct Spending {
    calls: u64,
    each: Samples,
}

impl Spent {
    /// Adds those requests of one trace that count.
    pub fn add<'a>(&mut self, requests: impl Iterator<Item = &'a Request>) {
        let mut counts: BTreeMap<(&Text, &Text), u64> = BTreeMap::new();
        let mut any = false;
        let mut single = BTreeMap::new();
        for request in requests {
            any = true;
            self.requests += 1;
            self.elapsed += i128::from(request.elapsed.0);
            for entry in entries(request, &mut counts) {
                let spending = self.owners.entry(entry.owner.clone()).or_default();
                spending.calls += entry.calls;
                let calls = i64::try_from(entry.calls).unwrap_or(i64::MAX);
                spending.each.push(entry.time.scaled(1, calls));
                *single.entry((entry.owner, entry.nth)).or_default() += entry.time;
            }
        }
        self.traces += u64::from(any);
        self.single = if self.traces == 1 {
            single
        } else {
            BTreeMap::new()
        };
    }

    /// Takes in what another added up.
    pub fn merge(&mut self, other: Self) {
        if other.traces == 0 {
            return;
        }
        self.single = match self.traces {
            0 => other.single,
            _ => BTreeMap::new(),
        };
        self.traces += other.traces;
        self.requests += other.requests;
        self.elapsed += other.elapsed;
        for (owner, spending) in other.owners {
            let known = self.owners.entry(owner).or_default();
            known.calls += spending.calls;
            known.each.merge(spending.each);
        }
    }

    /// How many traces there are with requests that count.
    pub fn traces(&self) -> u64 {
        self.traces
    }

    /// How many requests count.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The mean of their elapsed times.
    pub fn mean_elapsed(&self) -> Option<Nanos> {
        let requests = i128::from(self.requests);
        (requests > 0).then(|| Nanos((self.elapsed / requests) as i64))
    }
}

/// The columns of the comparison of these two.
pub fn columns(before: &Spent, after: &Spent) -> &'static [Column] {
    if before.traces == 1 && after.traces == 1 {
        OF_TRACES
    } else {
        OF_SETS
    }
}

/// The comparison, the largest rise first.
pub fn compare(before: Spent, after: Spent) -> Sheet {
    let columns = columns(&before, &after);
    let rows = if before.traces == 1 && after.traces == 1 {
        of_traces(before.single, after.single)
    } else {
        of_sets(before, after)
    };
    Sheet { columns, rows }
}

fn of_traces(
    mut before: BTreeMap<(Owner, u64), Nanos>,
    mut after: BTreeMap<(Owner, u64), Nanos>,
) -> Vec<Vec<Cell>> {
    let keys: Vec<_> = before.keys().chain(after.keys()).cloned().collect();
    for key in keys {
        before.entry(key.clone()).or_default();
        after.entry(key).or_default();
    }
    // Both have the same keys now, in the same order.
    let mut rows: Vec<(Nanos, Vec<Cell>)> = before
        .into_iter()
        .zip(after.into_values())
        .filter(|((_, before), after)| *before != Nanos::ZERO || *after != Nanos::ZERO)
        .map(|(((owner, nth), before), after)| {
            let mut row = vec![
                Cell::Text(owner.service),
                Cell::Text(owner.operation),
                Cell::Count(nth),
                Cell::Word(owner.part),
                owner.to.map_or(Cell::Null, Cell::Text),
            ];
            row.extend([before, after, after - before].map(Cell::Time));
            (after - before, row)
        })
        .collect();
    rows.sort_by_key(|(change, _)| Reverse(*change));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// A side of a row: how often, the times in order.
struct Side {
    calls: u64,
    each: Sorted,
}

impl Side {
    fn of(spending: Option<Spending>) -> Self {
        let Spending { calls, each } = spending.unwrap_or_default();
        let each = each.sorted();
        Self { calls, each }
    }
}

fn of_sets(mut before: Spent, after: Spent) -> Vec<Vec<Cell>> {
    let requests = i64::try_from(after.requests.max(1)).unwrap_or(i64::MAX);
    let mut owners = after.owners;
    let gone: Vec<Owner> = before
        .owners
        .keys()
        .filter(|owner| !owners.contains_key(owner))
        .cloned()
        .collect();
    owners.extend(gone.into_iter().map(|owner| (owner, Spending::default())));
    let mut rows: Vec<_> = owners
        .into_iter()
        .map(|(owner, spending)| {
            let was = Side::of(before.owners.remove(&owner));
            let is = Side::of(Some(spending));
            let change = |was: Option<Nanos>, is: Option<Nanos>| Some(is? - was?);
            let (p50_was, p50_is) = (was.each.percentile(50), is.each.percentile(50));
            let (mean_was, mean_is) = (was.each.mean(), is.each.mean());
            let typical = change(p50_was, p50_is);
            let calls = i64::try_from(is.calls).unwrap_or(i64::MAX);
            let per_request = typical.map(|change| change.scaled(calls, requests));
            let mut row = vec![
                Cell::Text(owner.service),
                Cell::Text(owner.operation),
                Cell::Word(owner.part),
                owner.to.map_or(Cell::Null, Cell::Text),
                Cell::Count(was.calls),
                Cell::Count(is.calls),
            ];
            row.extend(
                [
                    p50_was,
                    p50_is,
                    typical,
                    mean_was,
                    mean_is,
                    change(mean_was, mean_is),
                    per_request,
                ]
                .map(Cell::from),
            );
            // What stands on one side only is like nothing: after all others.
            ((per_request.is_some(), per_request, typical), row)
        })
        .collect();
    rows.sort_by_key(|(rank, _)| Reverse(*rank));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// What each hop of a request spent, on itself and on each callee; also what was none.
fn entries<'a>(
    request: &'a Request,
    counts: &mut BTreeMap<(&'a Text, &'a Text), u64>,
) -> Vec<Entry> {
    let mut spent: BTreeMap<(usize, &'static str, Option<&Text>), (Nanos, u64)> = BTreeMap::new();
    for hop in &request.hops {
        spent.insert((hop.id, Part::Local.as_str(), None), (Nanos::ZERO, 1));
        for call in hop.calls.iter().filter(|call| call.waited) {
            let key = (hop.id, part_of(call), Some(&call.to));
            spent.entry(key).or_default().1 += 1;
        }
    }
    for row in &request.ledger {
        let part = match row.part {
            Part::TransitOut | Part::TransitBack => TRANSIT,
            other => other.as_str(),
        };
        let entry = spent
            .entry((row.hop, part, row.to.as_ref()))
            .or_insert((Nanos::ZERO, 0));
        entry.0 += row.time;
    }
    let places: Vec<u64> = request
        .hops
        .iter()
        .map(
            |Hop {
                 service, operation, ..
             }| {
                let count = counts.entry((service, operation)).or_default();
                *count += 1;
                *count
            },
        )
        .collect();
    spent
        .into_iter()
        .filter_map(|((hop, part, to), (time, calls))| {
            let place = *places.get(hop)?;
            let hop = request.hops.get(hop)?;
            let owner = Owner {
                service: hop.service.clone(),
                operation: hop.operation.clone(),
                part,
                to: to.cloned(),
            };
            Some(Entry {
                owner,
                nth: place,
                time,
                calls: calls.max(1),
            })
        })
        .collect()
}

/// Both ways of the network.
const TRANSIT: &str = "transit";

/// On what a call spends the time of its hop.
fn part_of(call: &Call) -> &'static str {
    match call.kind {
        CallKind::Hop => TRANSIT,
        CallKind::Dependency | CallKind::Producer => Part::Dependency.as_str(),
        CallKind::Unreported => Part::Unreported.as_str(),
    }
}
