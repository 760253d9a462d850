//! Services and their operations.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::change::change;
use super::findings::groups;
use super::numbers::{Of, edges, hop_of, numbers};
use super::spent::{held, holders};
use super::totals::buckets;
use super::{Frame, both, cut, share, spread, words};
use crate::budget::{Typical, TypicalTime};
use crate::model::{Nanos, Outcome, Text, UnixNanos};
use crate::query::error::QueryError;
use crate::query::fleet::Ask;
use crate::query::fleet::findings::Which;
use crate::query::fleet::overview::Change;
use crate::query::fleet::services::{Bin, Bucket, Numbers, Service, Services};
use crate::store::Snapshot;
use crate::store::rollup::{Histogram, Hop, Sums, Wanted, count_of};

/// The list of all services.
///
/// # Errors
/// The store cannot be read.
pub fn services(snapshot: &Snapshot, ask: &Ask) -> Result<Services, QueryError> {
    let frame = Frame::of(ask);
    let wanted = Wanted {
        requests: true,
        hops: true,
        calls: true,
        culprits: true,
        ..Wanted::default()
    };
    let now = snapshot.sums(&frame.now, &wanted)?;
    let names: BTreeSet<&Text> = now.hops.keys().map(|[service, _]| service).collect();
    let rows = names.into_iter().map(|service| {
        let of = Of {
            service,
            operation: None,
        };
        numbers(&now, of, snapshot.typical(), frame.window.length())
    });
    let mut rows: Vec<Numbers> = rows.filter(|numbers| numbers.runs > 0).collect();
    rows.sort_by_key(|numbers| Reverse((numbers.held, numbers.culprit, numbers.runs)));
    let (rows, others) = cut(rows, frame.rows);
    let held = held(&now.culprits);
    Ok(Services {
        window: frame.window,
        sentence: words::services(&rows, rows.len() as u64 + others, held),
        rows,
        others,
        samples: snapshot.is_sample(),
    })
}

/// The page of a service, or of one of its operations; `None` if it did not run in the window.
///
/// # Errors
/// The store cannot be read.
pub fn service(
    snapshot: &Snapshot,
    ask: &Ask,
    service: &str,
    operation: Option<&str>,
) -> Result<Option<Service>, QueryError> {
    let frame = Frame::of(ask);
    let service = Text::from(service);
    let operation = operation.map(Text::from);
    let of = Of {
        service: &service,
        operation: operation.as_ref(),
    };
    let wanted = Wanted {
        hops: true,
        calls: true,
        culprits: true,
        findings: true,
        only: Some(service.clone()),
        ..Wanted::default()
    };
    let now = snapshot.sums(&frame.now, &wanted)?;
    let hop = hop_of(&now, of);
    if hop.runs == 0 {
        return Ok(None);
    }
    let before = snapshot.sums(&frame.before, &wanted)?;
    let (typical, length) = (snapshot.typical(), frame.window.length());
    let all = Fleet::of(snapshot, &frame)?;
    let operations = operations(&now, &service, typical, length);
    let min_useful = min_useful(snapshot, of, &operations);
    let (operations, other_operations) = cut(operations, frame.rows);
    let callers = edges(&now, typical, |[from, _, to, asked, answered, kind]| {
        let here = kind.as_str() == "hop" && of.takes(to, answered);
        here.then(|| (from.clone(), to.clone(), Some(asked.clone())))
    });
    let (callers, other_callers) = cut(callers, frame.rows);
    let callees = edges(&now, typical, |[from, by, to, asked, ..]| {
        let ours = of.takes(from, by);
        ours.then(|| (from.clone(), to.clone(), Some(asked.clone())))
    });
    let (callees, other_callees) = cut(callees, frame.rows);
    let which = Which {
        service: Some(service.clone()),
        ..Which::default()
    };
    let (findings, other_findings) = groups(snapshot, &frame, &now.findings, &which, frame.rows)?;
    let numbers_of = |sums: &Sums| numbers(sums, of, typical, length);
    let (now_numbers, before_numbers) = (numbers_of(&now), numbers_of(&before));
    let usual = |times: &BTreeMap<(Text, Text), TypicalTime>| {
        let key = (service.clone(), operation.clone()?);
        times.get(&key).map(|typical| typical.median)
    };
    let held = holders(&now.culprits, &before.culprits, typical);
    let ours = held
        .iter()
        .filter(|one| of.takes(&one.service, &one.operation));
    let longest = ours.max_by_key(|one| one.held);
    let waits = longest.and_then(|one| {
        let to = one.to.as_ref()?;
        callees.iter().find(|edge| edge.to == *to)
    });
    Ok(Some(Service {
        window: frame.window,
        sentence: words::service(&now_numbers, all.held, longest, waits),
        second: words::own_time(&now_numbers, &before_numbers, min_useful),
        arrivals: bins(&hop),
        min_useful,
        typical: usual(&typical.hops),
        typical_local: usual(&typical.local),
        now: now_numbers,
        before: before_numbers,
        operations,
        other_operations,
        series: series(snapshot, &frame, of)?,
        step: frame.length(),
        change: all.change,
        callers,
        other_callers,
        callees,
        other_callees,
        findings,
        other_findings,
        missed: all.missed,
    }))
}

/// What a service's numbers are of.
struct Fleet {
    missed: u64,
    held: Nanos,
    change: Option<Change>,
}

impl Fleet {
    fn of(snapshot: &Snapshot, frame: &Frame) -> Result<Self, QueryError> {
        let wanted = Wanted {
            requests: true,
            culprits: true,
            ..Wanted::default()
        };
        let sums = snapshot.sums(&frame.now, &wanted)?;
        let wanted = Wanted {
            culprits: false,
            ..wanted
        };
        let requests = snapshot.series(&frame.now, frame.step, &wanted)?;
        Ok(Self {
            missed: count_of(&sums.all().outcomes, &Outcome::ALL, &Outcome::Missed),
            held: held(&sums.culprits),
            change: change(&buckets(frame, &requests)),
        })
    }
}

/// The operations of a service, the most runs first.
fn operations(sums: &Sums, service: &Text, typical: &Typical, length: Nanos) -> Vec<Numbers> {
    let ran = sums.hops.iter();
    let ran = ran.filter(|([of, _], hop)| of == service && hop.runs > 0);
    let operations = ran.map(|([_, operation], _)| {
        let of = Of {
            service,
            operation: Some(operation),
        };
        numbers(sums, of, typical, length)
    });
    let mut operations: Vec<Numbers> = operations.collect();
    operations.sort_by_key(|numbers| Reverse(numbers.runs));
    operations
}

/// The least useful budget of what is asked for.
fn min_useful(snapshot: &Snapshot, of: Of<'_>, operations: &[Numbers]) -> Nanos {
    let policy = snapshot.policy();
    let names = operations.iter().filter_map(|one| one.operation.as_ref());
    let asked = names.filter(|name| of.takes(of.service, name));
    let each = asked.map(|name| policy.min_useful_of(of.service, name));
    each.min().unwrap_or(policy.min_useful)
}

fn series(snapshot: &Snapshot, frame: &Frame, of: Of<'_>) -> Result<Vec<Bucket>, QueryError> {
    let wanted = Wanted {
        hops: true,
        only: Some(of.service.clone()),
        ..Wanted::default()
    };
    let series = snapshot.series(&frame.now, frame.step, &wanted)?;
    let buckets = frame.buckets().zip(&series);
    let buckets = buckets.map(|((since, partial), sums)| bucket(&hop_of(sums, of), since, partial));
    Ok(buckets.collect())
}

fn bucket(hop: &Hop, since: UnixNanos, partial: bool) -> Bucket {
    let (ok, not) = (hop.remaining_ok.count(), hop.remaining_not.count());
    Bucket {
        since,
        runs: hop.runs,
        not_in_time: share(not, ok + not),
        remaining: spread(&both(&hop.remaining_ok, &hop.remaining_not)),
        local: spread(&both(&hop.local_ok, &hop.local_not)),
        elapsed: spread(&both(&hop.elapsed_ok, &hop.elapsed_not)),
        partial,
    }
}

/// Bins between 0 and what nearly all arrivals have at most.
const BINS: i64 = 24;

/// Arrivals by what they had left: late ones, bins of one round width, and those beyond. A bucket
/// of the histogram goes whole into the bin that its middle lies in.
fn bins(hop: &Hop) -> Vec<Bin> {
    let all = both(&hop.remaining_ok, &hop.remaining_not);
    let Some(most) = all.percentile(99).map(|most| most.max(0)) else {
        return Vec::new();
    };
    let width = round_up(most / BINS + 1);
    let count = most / width + 1;
    let place = |left: i64| match left {
        late if late < 0 => 0,
        left => (left / width).min(count) + 1,
    };
    let mut bins: Vec<Bin> = (0..=count + 1)
        .map(|bin| Bin {
            from: (bin > 0).then(|| Nanos((bin - 1) * width)),
            to: (bin <= count).then(|| Nanos(bin * width)),
            arrivals: 0,
            in_time: 0,
        })
        .collect();
    let mut count = |times: &Histogram, in_time: bool| {
        for (left, arrivals) in times.buckets() {
            let place = usize::try_from(place(left)).unwrap_or(0);
            if let Some(bin) = bins.get_mut(place) {
                bin.arrivals += arrivals;
                bin.in_time += if in_time { arrivals } else { 0 };
            }
        }
    };
    count(&hop.remaining_ok, true);
    count(&hop.remaining_not, false);
    bins
}

/// The next 1, 2 or 5 times a power of ten, from a millisecond on.
fn round_up(width: i64) -> i64 {
    let mut round = 1_000_000_i64;
    for factor in [2, 5].into_iter().cycle() {
        if round >= width || round > i64::MAX / 8 {
            break;
        }
        // 1, 2, 5, 10: doubled, then times 5/2, then doubled.
        round = if factor == 2 {
            round * 2
        } else {
            round / 2 * 5
        };
        if factor == 5 && round < width {
            round *= 2;
        }
    }
    round
}
