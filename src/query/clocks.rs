//! Whose clocks were moved by how much, and how surely.

use std::collections::{BTreeSet, HashMap};

use crate::model::{Nanos, Request, Text, Trace};

/// Services of a host that are named.
const NAMED: usize = 5;

/// A host, as far as its clock is concerned.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Host {
    /// The host by its id or name, else the instance, else the service.
    pub host: Text,
    /// Services that ran there, by name; five at most.
    pub services: Vec<Text>,
    /// How many services more.
    pub more_services: usize,
    /// How many hops ran there.
    pub hops: usize,
    /// What was added to its clock to bring it to the root's.
    #[serde(rename = "clock_offset_ms")]
    pub offset: Nanos,
    /// What the calls allow: the least and the greatest, each `None` for "no bound". `None` where
    /// nothing bounds it: the root's own host, or one that is not apart from its caller.
    #[serde(rename = "clock_interval_ms")]
    pub interval: Option<(Option<Nanos>, Option<Nanos>)>,
    /// The root runs there: the others' clocks were brought to this one.
    pub root: bool,
}

/// The hosts of a request: the root's first, then those that were moved the furthest. A host that
/// was moved in several ways stands there once each.
pub fn hosts(request: &Request, trace: &Trace) -> Vec<Host> {
    struct Sum {
        host: Host,
        services: BTreeSet<Text>,
    }
    let mut places: HashMap<(Text, Nanos), usize> = HashMap::new();
    let mut sums: Vec<Sum> = Vec::new();
    for hop in &request.hops {
        let entry = hop.spans.first();
        let span = entry.and_then(|&index| trace.spans.get(index as usize));
        let name = span.map_or_else(|| hop.service.clone(), |span| span.resource.host());
        let place = *places
            .entry((name.clone(), hop.clock_offset))
            .or_insert_with(|| {
                sums.push(Sum {
                    host: Host {
                        host: name,
                        services: Vec::new(),
                        more_services: 0,
                        hops: 0,
                        offset: hop.clock_offset,
                        interval: None,
                        root: hop.id == 0,
                    },
                    services: BTreeSet::new(),
                });
                sums.len() - 1
            });
        let sum = &mut sums[place];
        sum.host.hops += 1;
        sum.host.interval = sum.host.interval.or(hop.clock_interval);
        sum.services.insert(hop.service.clone());
    }
    let mut hosts: Vec<Host> = sums
        .into_iter()
        .map(|Sum { mut host, services }| {
            host.more_services = services.len().saturating_sub(NAMED);
            host.services = services.into_iter().take(NAMED).collect();
            if host.root {
                host.interval = None;
            }
            host
        })
        .collect();
    hosts.sort_by(|one, other| {
        let rank = |host: &Host| (!host.root, -host.offset.abs());
        rank(one)
            .cmp(&rank(other))
            .then_with(|| one.host.cmp(&other.host))
    });
    hosts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Resource, Span, Value};
    use crate::query::fixtures::{chain, ms};

    #[test]
    fn each_host_says_by_how_much_it_was_moved_and_how_surely() {
        let mut request = chain();
        let on = |host: &str| Span {
            resource: Arc::new(Resource::new(
                [("host.name", Value::Str(host.into()))]
                    .into_iter()
                    .collect(),
            )),
            ..Span::default()
        };
        let trace = Trace {
            spans: vec![on("a"), on("b"), on("b"), on("c")],
            ..Trace::default()
        };
        for (index, hop) in request.hops.iter_mut().enumerate() {
            hop.spans = vec![u32::try_from(index).unwrap()];
        }
        for hop in &mut request.hops[1..3] {
            hop.clock_offset = ms(-7);
            hop.clock_interval = Some((Some(ms(-9)), Some(ms(-5))));
        }
        request.hops[3].clock_offset = ms(12);
        request.hops[3].clock_interval = Some((Some(ms(12)), None));
        let hosts = hosts(&request, &trace);
        let told: Vec<_> = hosts
            .iter()
            .map(|host| (host.host.as_str(), host.hops, host.offset, host.interval))
            .collect();
        assert_eq!(
            told,
            [
                ("a", 1, Nanos::ZERO, None),
                ("c", 1, ms(12), Some((Some(ms(12)), None))),
                ("b", 2, ms(-7), Some((Some(ms(-9)), Some(ms(-5))))),
            ]
        );
        assert!(hosts[0].root && !hosts[1].root);
        assert_eq!(hosts[2].services, ["inventory", "orders"]);
    }
}
