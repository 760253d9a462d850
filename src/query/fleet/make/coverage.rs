//! Where deadlines are passed on, and where not.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::totals::{passing, passing_of};
use super::{Frame, cut, share, words};
use crate::model::Text;
use crate::query::error::QueryError;
use crate::query::fleet::coverage::{Break, Bucket, Coverage, Edge, Hop};
use crate::query::fleet::{Ask, Example, Passing};
use crate::store::Snapshot;
use crate::store::rollup::{Passed, Wanted};

/// How hops and edges pass deadlines on.
///
/// # Errors
/// The store cannot be read.
pub fn coverage(snapshot: &Snapshot, ask: &Ask) -> Result<Coverage, QueryError> {
    let frame = Frame::of(ask);
    let wanted = Wanted {
        requests: true,
        hops: true,
        edges: true,
        breaks: true,
        ..Wanted::default()
    };
    let now = snapshot.sums(&frame.now, &wanted)?;
    let wanted = Wanted {
        hops: true,
        edges: true,
        ..Wanted::default()
    };
    let before = snapshot.sums(&frame.before, &wanted)?;
    let wanted = Wanted {
        edges: true,
        ..Wanted::default()
    };
    let series = snapshot.series(&frame.now, frame.step, &wanted)?;
    let buckets = frame.buckets().zip(&series);
    let series = buckets.map(|((since, partial), sums)| Bucket {
        since,
        passing: passing_of(&sums.edges),
        partial,
    });
    let series = series.collect();

    let breaks = now
        .breaks
        .iter()
        .map(|([service, operation, to], broken)| Break {
            service: service.clone(),
            operation: operation.clone(),
            to: to.clone(),
            calls: broken.calls,
            requests: broken.requests,
            newest: broken.newest.first().map(|found| Example {
                trace_id: found.trace_id,
                request: found.request,
                start: found.start,
            }),
        });
    let mut breaks: Vec<Break> = breaks.collect();
    breaks.sort_by_key(|broken| Reverse(broken.calls));
    let (breaks, other_breaks) = cut(breaks, frame.rows);

    let edges = now.edges.iter().map(|(key, passed)| {
        let [service, to] = key;
        Edge {
            service: service.clone(),
            to: to.clone(),
            passing: passing(passed),
            before: of(&before.edges, key),
        }
    });
    let mut edges: Vec<Edge> = edges.collect();
    edges.sort_by_key(|edge| Reverse((edge.passing.not_propagated, edge.passing.all)));
    let (edges, other_edges) = cut(edges, frame.rows);

    let hops = now
        .hops
        .iter()
        .filter(|(_, hop)| hop.runs > 0)
        .map(|(key, hop)| {
            let [service, operation] = key;
            let known = before.hops.get(key);
            Hop {
                service: service.clone(),
                operation: operation.clone(),
                passing: passing(&hop.passed),
                before: known.map(|hop| passing(&hop.passed)).unwrap_or_default(),
            }
        });
    let mut hops: Vec<Hop> = hops.collect();
    hops.sort_by_key(|hop| Reverse((hop.passing.not_propagated, hop.passing.all)));
    let (hops, other_hops) = cut(hops, frame.rows);

    let (all, all_before) = (passing_of(&now.edges), passing_of(&before.edges));
    let requests = now.all();
    Ok(Coverage {
        window: frame.window,
        sentence: words::coverage(&all, &all_before, breaks.first()),
        now: all,
        before: all_before,
        budgeted: share(requests.budgeted, requests.all),
        series,
        step: frame.length(),
        breaks,
        other_breaks,
        edges,
        other_edges,
        hops,
        other_hops,
        samples: snapshot.is_sample(),
    })
}

fn of(edges: &BTreeMap<[Text; 2], Passed>, key: &[Text; 2]) -> Passing {
    edges.get(key).map(passing).unwrap_or_default()
}
