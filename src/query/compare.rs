//! A request beside a typical good one of the same root: where its budget went that the other
//! kept, hop by hop.
//!
//! **Invariant**: whatever the store holds, this reads a few pages of the list and a few traces.

use std::collections::{BTreeMap, HashMap};

use super::error::QueryError;
use super::filter::Filter;
use super::requests::{self, Query, Row};
use super::scan::{HOUR, Selection};
use crate::model::{
    Hop, Nanos, Outcome, Request, SpanId, Text, TraceId, UnixNanos, Verdict, share,
};
use crate::store::{Store, Window};

/// Good requests of the list that are weighed.
const CONSIDERED: usize = 50;

/// Fewer than so many are no choice: then the next wider window is asked.
const CHOICE: usize = 8;

/// Traces that are read whole to compare their shape.
const READ: usize = 4;

/// Hops of a comparison beyond so many are counted.
const SHOWN: usize = 200;

/// A request and a good one to hold it against.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// The trace.
    pub trace_id: TraceId,
    /// The request.
    pub request: SpanId,
    /// Its root's service.
    pub service: Text,
    /// Its root's operation.
    pub operation: Text,
    /// From its root's arrival to the answer.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// Good requests of the same root that were weighed, the nearest in time.
    pub considered: usize,
    /// Their median.
    #[serde(rename = "median_ms")]
    pub median: Option<Nanos>,
    /// The one that was chosen; `None` if there is none.
    pub good: Option<Good>,
}

/// The good one and what differs.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Good {
    /// Its trace.
    pub trace_id: TraceId,
    /// The request.
    pub request: SpanId,
    /// When it began.
    pub start: UnixNanos,
    /// From its root's arrival to the answer.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// What its root had.
    #[serde(rename = "budget_ms")]
    pub budget: Option<Nanos>,
    /// Hops that both have, of all that either has: 1 is the same shape.
    #[serde(serialize_with = "share")]
    pub similarity: (Nanos, Nanos),
    /// Hop by hop, in the order of the request; then those that only the good one has.
    pub hops: Vec<HopDifference>,
    /// How many hops are not in `hops`: those that differ the least.
    pub left_out: usize,
    /// What all hops spent before the deadline, those included that are left out.
    pub total: Spent,
}

/// What both spent before their deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Spent {
    /// The request.
    #[serde(rename = "this_ms")]
    pub this: Nanos,
    /// The good one.
    #[serde(rename = "good_ms")]
    pub good: Nanos,
    /// The request's less the good one's.
    #[serde(rename = "difference_ms")]
    pub difference: Nanos,
}

/// A hop in both; hops are alike by service, operation and order.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HopDifference {
    /// The service.
    pub service: Text,
    /// The operation.
    pub operation: Text,
    /// Which of its hops of this service and operation, from 1.
    pub nth: u64,
    /// Hops above it.
    pub depth: usize,
    /// In the request; `None` if it has no such hop.
    pub this: Option<Side>,
    /// In the good one.
    pub good: Option<Side>,
    /// What was left on arrival, less that of the good one.
    #[serde(rename = "left_difference_ms")]
    pub left: Option<Nanos>,
    /// Time that it spent itself, less that of the good one.
    #[serde(rename = "own_difference_ms")]
    pub own: Option<Nanos>,
    /// What it took of the budget, less that of the good one; a hop that is not there takes none.
    #[serde(rename = "spent_difference_ms")]
    pub spent: Nanos,
}

/// A hop in one of the two.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Side {
    /// Its id there.
    pub hop: usize,
    /// What was left of the effective deadline on arrival.
    #[serde(rename = "left_ms")]
    pub left: Option<Nanos>,
    /// Time that it spent itself.
    #[serde(rename = "own_ms")]
    pub own: Nanos,
    /// What it took of the budget: its rows of the ledger, before the deadline.
    #[serde(rename = "spent_ms")]
    pub spent: Nanos,
    /// How it ended.
    pub verdict: Verdict,
}

/// Compares a request with a good one: of those that were met with the same root, near in time,
/// the one of the most similar shape, of like ones the one nearest to their median.
///
/// # Errors
/// The store cannot be read.
pub fn compare(store: &Store, request: &Request) -> Result<Comparison, QueryError> {
    let candidates = candidates(store, request)?;
    let median = median(&candidates);
    let mut best: Option<((i64, Nanos), Request)> = None;
    for row in to_read(&candidates, request, median.unwrap_or_default()) {
        let Some(stored) = store.get(row.trace_id)? else {
            continue;
        };
        let mut all = stored.analysis.requests.iter();
        let met = all.find(|one| one.request == row.request && one.outcome == Outcome::Met);
        let Some(met) = met else { continue };
        let (shared, total) = similarity(request, met);
        let alike = Nanos(1_000_000).scaled(shared.0, total.0).0;
        let off = (met.elapsed - median.unwrap_or_default()).abs();
        let rank = (-alike, off);
        if best.as_ref().is_none_or(|(other, _)| rank < *other) {
            best = Some((rank, met.clone()));
        }
    }
    Ok(Comparison {
        trace_id: request.trace_id,
        request: request.request,
        service: request.service.clone(),
        operation: request.operation.clone(),
        elapsed: request.elapsed,
        considered: candidates.len(),
        median,
        good: best.map(|(_, good)| beside(request, &good)),
    })
}

/// The newest good requests of the same root around this one, from the narrowest window that has
/// a choice.
fn candidates(store: &Store, request: &Request) -> Result<Vec<Row>, QueryError> {
    let around = |hours: u64| Window {
        since: Some(UnixNanos(request.start.0.saturating_sub(hours * HOUR))),
        until: Some(UnixNanos(request.start.0.saturating_add(hours * HOUR))),
    };
    let snapshot = store.snapshot();
    let mut rows = Vec::new();
    for window in [around(1), around(24), Window::ALL] {
        let query = Query {
            selection: Selection {
                filter: Filter::equal(&[
                    ("service", &request.service),
                    ("operation", &request.operation),
                ]),
                window,
            },
            outcome: Some(Outcome::Met),
            limit: CONSIDERED + 1,
            ..Query::default()
        };
        rows = requests::page(&snapshot, &query)?.rows;
        rows.retain(|row| (row.trace_id, row.request) != (request.trace_id, request.request));
        rows.truncate(CONSIDERED);
        if rows.len() >= CHOICE {
            break;
        }
    }
    Ok(rows)
}

fn median(rows: &[Row]) -> Option<Nanos> {
    let mut times: Vec<Nanos> = rows.iter().map(|row| row.elapsed).collect();
    times.sort_unstable();
    times.get(times.len().checked_sub(1)? / 2).copied()
}

/// The rows whose traces are worth reading: near to the median, and about as many spans.
fn to_read<'a>(
    rows: &'a [Row],
    request: &Request,
    median: Nanos,
) -> impl Iterator<Item = &'a Row> + use<'a> {
    let place = |key: &dyn Fn(&Row) -> i64| {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&row| key(&rows[row]));
        let mut places = vec![0; rows.len()];
        for (place, row) in order.into_iter().enumerate() {
            places[row] = place;
        }
        places
    };
    let by_spans = place(&|row| row.spans.abs_diff(request.spans) as i64);
    let by_time = place(&|row| (row.elapsed - median).abs().0);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| by_spans[row] + by_time[row]);
    order.into_iter().take(READ).map(|row| &rows[row])
}

type Alike<'a> = (&'a str, &'a str, u64);

/// A request's hops by what makes them alike, with what each took of the budget.
fn sides(request: &Request) -> Vec<(Alike<'_>, &Hop, Side)> {
    let mut spent = vec![Nanos::ZERO; request.hops.len()];
    for row in &request.ledger {
        if let Some(spent) = spent.get_mut(row.hop) {
            *spent += row.time - row.after_deadline;
        }
    }
    let mut seen: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let sides = request.hops.iter().zip(spent).map(|(hop, spent)| {
        let name = (hop.service.as_str(), hop.operation.as_str());
        let nth = seen.entry(name).or_default();
        *nth += 1;
        let side = Side {
            hop: hop.id,
            left: hop.deadline.map(|deadline| deadline - hop.start),
            own: hop.local,
            spent,
            verdict: hop.verdict,
        };
        ((name.0, name.1, *nth), hop, side)
    });
    sides.collect()
}

/// Hops that both have, and hops that either has.
fn similarity(one: &Request, other: &Request) -> (Nanos, Nanos) {
    let count = |request: &Request| {
        let mut counts: HashMap<(Text, Text), i64> = HashMap::new();
        for hop in &request.hops {
            let name = (hop.service.clone(), hop.operation.clone());
            *counts.entry(name).or_default() += 1;
        }
        counts
    };
    let (one, other) = (count(one), count(other));
    let shared: i64 = one
        .iter()
        .filter_map(|(name, count)| other.get(name).map(|there| *count.min(there)))
        .sum();
    let total: i64 = one.values().chain(other.values()).sum();
    (Nanos(shared), Nanos(total - shared))
}

fn beside(request: &Request, good: &Request) -> Good {
    let there = sides(good);
    let mut left: HashMap<Alike<'_>, &Side> =
        there.iter().map(|(name, _, side)| (*name, side)).collect();
    let mut hops: Vec<HopDifference> = sides(request)
        .into_iter()
        .map(|(name, hop, side)| {
            let good = left.remove(&name).cloned();
            difference(name, hop.depth, Some(side), good)
        })
        .collect();
    let only_good = there.iter().filter(|(name, ..)| left.contains_key(name));
    hops.extend(
        only_good.map(|(name, hop, side)| difference(*name, hop.depth, None, Some(side.clone()))),
    );
    let sum = |side: fn(&HopDifference) -> Option<&Side>| {
        let sides = hops.iter().filter_map(side);
        sides.map(|side| side.spent).sum::<Nanos>()
    };
    let (this, those) = (sum(|hop| hop.this.as_ref()), sum(|hop| hop.good.as_ref()));
    let total = Spent {
        this,
        good: those,
        difference: this - those,
    };
    let left_out = hops.len().saturating_sub(SHOWN);
    if left_out > 0 {
        let mut sizes: Vec<Nanos> = hops.iter().map(|hop| hop.spent.abs()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let least = sizes[SHOWN - 1];
        // Of those that differ as much as the last one only as many as there is room for.
        let mut room = SHOWN - sizes.iter().filter(|size| **size > least).count();
        hops.retain(|hop| {
            let size = hop.spent.abs();
            let fits = size == least && room > 0;
            room -= usize::from(fits);
            size > least || fits
        });
    }
    Good {
        trace_id: good.trace_id,
        request: good.request,
        start: good.start,
        elapsed: good.elapsed,
        budget: good.budget,
        similarity: similarity(request, good),
        hops,
        left_out,
        total,
    }
}

fn difference(
    (service, operation, nth): Alike<'_>,
    depth: usize,
    this: Option<Side>,
    good: Option<Side>,
) -> HopDifference {
    let both = this.as_ref().zip(good.as_ref());
    let spent = |side: &Option<Side>| side.as_ref().map_or(Nanos::ZERO, |side| side.spent);
    HopDifference {
        service: service.into(),
        operation: operation.into(),
        nth,
        depth,
        left: both.and_then(|(this, good)| Some(this.left? - good.left?)),
        own: both.map(|(this, good)| this.own - good.own),
        spent: spent(&this) - spent(&good),
        this,
        good,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Analysis, Trace};
    use crate::query::fixtures::{chain, fan_out, ms};
    use crate::store::Stored;

    fn store(requests: Vec<Request>) -> Store {
        let store = Store::in_memory(1000, usize::MAX);
        for request in requests {
            store.put(Stored {
                trace: Arc::new(Trace {
                    id: request.trace_id,
                    ..Trace::default()
                }),
                analysis: Arc::new(Analysis {
                    trace_id: request.trace_id,
                    requests: vec![request],
                    ..Analysis::default()
                }),
                sample: false,
                log_from: u64::MAX,
            });
        }
        store
    }

    /// A good run of the chain in which everybody takes a third.
    fn good(nth: u8, elapsed: i64) -> Request {
        let mut request = chain();
        request.trace_id = TraceId([nth; 16]);
        request.outcome = Outcome::Met;
        request.elapsed = ms(elapsed);
        for row in &mut request.ledger {
            row.time = row.time.scaled(1, 3);
            row.after_deadline = Nanos::ZERO;
        }
        request.start = UnixNanos(request.start.0 + u64::from(nth));
        request
    }

    #[test]
    fn the_most_alike_is_chosen_and_of_these_the_one_nearest_to_the_median() {
        let mut other = good(1, 500);
        other.hops.truncate(2);
        let all = vec![chain(), other, good(2, 300), good(3, 510), good(4, 900)];
        let found = compare(&store(all), &chain()).unwrap();
        assert_eq!((found.considered, found.median), (4, Some(ms(500))));
        let chosen = found.good.unwrap();
        assert_eq!(chosen.trace_id, TraceId([3; 16]));
        assert_eq!(chosen.similarity, (Nanos(4), Nanos(4)));
    }

    #[test]
    fn what_hops_differ_by_sums_to_what_the_requests_do() {
        let request = chain();
        let found = compare(&store(vec![good(2, 400)]), &request).unwrap();
        let chosen = found.good.unwrap();
        let names: Vec<_> = chosen.hops.iter().map(|hop| hop.service.as_str()).collect();
        assert_eq!(names, ["client", "orders", "inventory", "pricing"]);
        let pricing = &chosen.hops[3];
        assert_eq!(pricing.this.as_ref().unwrap().spent, ms(497));
        assert_eq!(pricing.spent, ms(497) - ms(497).scaled(1, 3));
        assert_eq!(
            chosen.total.difference,
            chosen.hops.iter().map(|hop| hop.spent).sum()
        );
        assert_eq!(chosen.total.this, request.elapsed.min(ms(1000)));
    }

    #[test]
    fn a_hop_that_is_missing_takes_nothing() {
        let mut short = good(2, 400);
        short.hops.truncate(3);
        short.ledger.retain(|row| row.hop < 3);
        let found = compare(&store(vec![short.clone()]), &chain()).unwrap();
        let pricing = &found.good.unwrap().hops[3];
        assert_eq!((pricing.good.as_ref(), pricing.own), (None, None));
        assert_eq!(pricing.spent, ms(497));
        // And the other way round.
        let found = beside(&short, &chain());
        assert_eq!((found.hops.len(), &found.hops[3].this), (4, &None));
        assert_eq!(found.hops[3].spent, ms(-497));
    }

    #[test]
    fn without_a_good_one_none_is_made_up() {
        let bad = chain();
        let found = compare(&store(vec![bad.clone(), fan_out()]), &bad).unwrap();
        assert_eq!((found.considered, found.good), (0, None));
    }

    #[test]
    fn of_many_hops_those_that_differ_the_most_are_kept() {
        let mut wide = chain();
        for id in 4..1004 {
            let mut hop = wide.hops[3].clone();
            (hop.id, hop.operation) = (id, format!("op {id}").into());
            wide.hops.push(hop);
        }
        let found = beside(&wide, &good(2, 400));
        assert_eq!((found.hops.len(), found.left_out), (SHOWN, 804));
        assert!(
            found
                .hops
                .iter()
                .any(|hop| hop.service == "pricing" && hop.spent > Nanos::ZERO)
        );
    }
}
