//! Services and what flows between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::numbers::{Held, Of, edges, hop_of, missed, numbers};
use super::{Frame, share, words};
use crate::model::{CallKind, Text};
use crate::query::error::QueryError;
use crate::query::fleet::Ask;
use crate::query::fleet::map::{Map, Node};
use crate::query::fleet::services::Edge;
use crate::store::Snapshot;
use crate::store::rollup::{Call, Sums, Wanted};

/// The map of all services.
///
/// # Errors
/// The store cannot be read.
pub fn map(snapshot: &Snapshot, ask: &Ask) -> Result<Map, QueryError> {
    let frame = Frame::of(ask);
    let wanted = Wanted {
        requests: true,
        hops: true,
        calls: true,
        culprits: true,
        ..Wanted::default()
    };
    let now = snapshot.sums(&frame.now, &wanted)?;
    let typical = snapshot.typical();
    let all = edges(&now, typical, |[from, _, to, ..]| {
        Some((from.clone(), to.clone(), None))
    });
    let depths = depths(&all, &roots(&now));
    let ran = now.hops.iter().filter(|(_, hop)| hop.runs > 0);
    let services: BTreeSet<&Text> = ran.map(|([service, _], _)| service).collect();
    let mut nodes: Vec<Node> = services
        .iter()
        .map(|service| {
            let of = Of {
                service,
                operation: None,
            };
            let numbers = numbers(&now, of, typical, frame.window.length());
            let hop = hop_of(&now, of);
            Node {
                name: (*service).clone(),
                kind: CallKind::Hop,
                depth: depths.get(*service).copied().unwrap_or(0),
                root: hop.roots > 0,
                runs: numbers.runs,
                missed: share(missed(&hop.verdicts), hop.runs),
                culprit: numbers.culprit,
                held: numbers.held,
                numbers: Some(numbers),
            }
        })
        .collect();
    for (name, (call, kind)) in dependencies(&now, &services) {
        let held = Held::of(&now.culprits, typical, |[_, _, part, to]| {
            to == name && matches!(part.as_str(), "dependency" | "unreported")
        });
        nodes.push(Node {
            name: name.clone(),
            kind,
            depth: depths.get(name).copied().unwrap_or(1),
            root: false,
            runs: call.calls,
            missed: share(missed(&call.verdicts), call.calls),
            culprit: held.culprit,
            held: held.time,
            numbers: None,
        });
    }
    nodes.sort_by_key(|node| Reverse(node.runs));
    let (nodes, other_nodes) = super::cut(nodes, frame.rows);
    let shown: BTreeSet<&Text> = nodes.iter().map(|node| &node.name).collect();
    let (edges, others): (Vec<Edge>, Vec<Edge>) = all
        .into_iter()
        .partition(|edge| shown.contains(&edge.service) && shown.contains(&edge.to));
    let held = super::spent::held(&now.culprits);
    Ok(Map {
        window: frame.window,
        sentence: words::map(&edges, held),
        other_edges: others.len() as u64,
        edges,
        nodes,
        other_nodes,
        held,
        samples: snapshot.is_sample(),
    })
}

/// Services at which requests begin.
fn roots(sums: &Sums) -> BTreeSet<Text> {
    let roots = sums.hops.iter().filter(|(_, hop)| hop.roots > 0);
    roots.map(|([service, _], _)| service.clone()).collect()
}

/// Callees that left no spans: all calls to each, and what it is.
fn dependencies<'a>(
    sums: &'a Sums,
    services: &BTreeSet<&Text>,
) -> BTreeMap<&'a Text, (Call, CallKind)> {
    let mut found: BTreeMap<&Text, (Call, CallKind)> = BTreeMap::new();
    for ([_, _, to, .., kind], call) in &sums.calls {
        if services.contains(to) {
            continue;
        }
        let mut kinds = CallKind::ALL.into_iter();
        let kind = kinds.find(|known| known.as_str() == kind.as_str());
        let kind = kind.unwrap_or(CallKind::Dependency);
        let entry = found.entry(to).or_insert_with(|| (Call::default(), kind));
        entry.0.plus(call);
    }
    found
}

/// The longest way to each name from a root, in calls. A call that leads back to where it came from
/// does not count.
fn depths(edges: &[Edge], roots: &BTreeSet<Text>) -> BTreeMap<Text, usize> {
    let mut callees: BTreeMap<&Text, Vec<&Text>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.service != edge.to) {
        callees.entry(&edge.service).or_default().push(&edge.to);
    }
    for callees in callees.values_mut() {
        callees.sort_unstable();
    }
    // Depth first, without recursion: a name that is on the way is a cycle. What is left has an
    // order in which every caller comes before its callees.
    let mut order: Vec<&Text> = Vec::new();
    let mut done: BTreeSet<&Text> = BTreeSet::new();
    let mut forward: Vec<(&Text, &Text)> = Vec::new();
    let starts = roots
        .iter()
        .chain(callees.keys().copied())
        .collect::<Vec<_>>();
    for start in starts {
        let mut way: Vec<(&Text, usize)> = Vec::new();
        if !done.contains(start) {
            way.push((start, 0));
        }
        let mut on_way: BTreeSet<&Text> = BTreeSet::from([start]);
        while let Some((name, next)) = way.last_mut() {
            let callee = callees.get(name).and_then(|callees| callees.get(*next));
            let Some(callee) = callee.copied() else {
                order.push(name);
                done.insert(name);
                on_way.remove(name);
                way.pop();
                continue;
            };
            *next += 1;
            if on_way.contains(callee) {
                continue;
            }
            forward.push((name, callee));
            if !done.contains(callee) {
                on_way.insert(callee);
                way.push((callee, 0));
            }
        }
    }
    let mut to: BTreeMap<&Text, Vec<&Text>> = BTreeMap::new();
    for (from, callee) in forward {
        to.entry(from).or_default().push(callee);
    }
    let mut depths: BTreeMap<Text, usize> = BTreeMap::new();
    for name in order.into_iter().rev() {
        let depth = *depths.entry(name.clone()).or_default();
        for callee in to.get(name).into_iter().flatten() {
            let known = depths.entry((*callee).clone()).or_default();
            *known = (*known).max(depth + 1);
        }
    }
    depths
}
