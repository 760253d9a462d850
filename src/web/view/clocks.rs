//! Whose clocks were moved.

use super::words::name;
use crate::model::{Nanos, Request, Trace};
use crate::query::clocks::{Host, hosts};
use crate::report::number;

/// Hosts that are shown.
const SHOWN: usize = 50;

/// The hosts of a request, ready to print.
#[derive(Debug)]
pub(in crate::web) struct ClocksView {
    pub(in crate::web) count: String,
    pub(in crate::web) rows: Vec<HostView>,
    pub(in crate::web) more: Option<String>,
}

#[derive(Debug)]
pub(in crate::web) struct HostView {
    pub(in crate::web) host: String,
    pub(in crate::web) services: String,
    pub(in crate::web) hops: String,
    pub(in crate::web) offset: String,
    pub(in crate::web) interval: String,
}

impl ClocksView {
    pub(super) fn new(request: &Request, trace: &Trace) -> Self {
        let hosts = hosts(request, trace);
        let moved = hosts
            .iter()
            .filter(|host| host.offset != Nanos::ZERO)
            .count();
        let more = hosts.len().saturating_sub(SHOWN);
        let count = number::counted(hosts.len(), "host", "hosts");
        Self {
            count: match moved {
                0 => format!("{count}, none moved"),
                _ => format!(
                    "{count}, {} moved to the root\u{2019}s clock",
                    number::count(moved)
                ),
            },
            rows: hosts.iter().take(SHOWN).map(host).collect(),
            more: (more > 0).then(|| {
                format!(
                    "{} more; the JSON has them all.",
                    number::counted(more, "host", "hosts")
                )
            }),
        }
    }
}

fn host(host: &Host) -> HostView {
    let mut services: Vec<String> = host.services.iter().map(|service| name(service)).collect();
    if host.more_services > 0 {
        services.push(format!("{} more", number::count(host.more_services)));
    }
    HostView {
        host: name(&host.host),
        services: services.join(", "),
        hops: number::count(host.hops),
        offset: if host.root {
            "the root\u{2019}s".to_owned()
        } else {
            signed(host.offset)
        },
        interval: interval(host.interval),
    }
}

/// The feasible offsets: `−9 to −5 ms`, `12 ms or more`.
fn interval(interval: Option<(Option<Nanos>, Option<Nanos>)>) -> String {
    match interval {
        Some((Some(least), Some(most))) => {
            format!("{} to {}", number::signed(least), signed(most))
        }
        Some((Some(least), None)) => format!("{} or more", signed(least)),
        Some((None, Some(most))) => format!("{} or less", signed(most)),
        Some((None, None)) => "anything".to_owned(),
        None => number::UNKNOWN.to_owned(),
    }
}

fn signed(time: Nanos) -> String {
    format!("{}{}ms", number::signed(time), number::NBSP)
}

/// What an opened row says of its clock.
pub(super) fn clock_words(offset: Nanos, bounds: Option<(Option<Nanos>, Option<Nanos>)>) -> String {
    let bounds = bounds.map(|bounds| interval(Some(bounds)));
    let allowed = bounds.map(|bounds| format!("; its calls allow {bounds}"));
    format!(
        "Its host\u{2019}s clock was moved by {} to the root\u{2019}s{}.",
        signed(offset),
        allowed.unwrap_or_default()
    )
}
