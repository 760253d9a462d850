//! Old hours go, whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Duration;

use super::durable::{Change, Durable};
use super::error::StoreError;
use super::folder::bounds;
use super::manifest::{Manifest, PartMeta, put_by};
use super::options::Retention;
use super::tables::Table;
use crate::model::{Nanos, UnixNanos};

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Hours.
    pub hours: u64,
    /// Their parts.
    pub parts: u64,
    /// Traces that were not superseded.
    pub traces: u64,
    /// Their requests.
    pub requests: u64,
    /// Spans, the superseded ones included.
    pub spans: u64,
    /// Bytes of the tables.
    pub bytes: u64,
    /// Bytes that are left over the limit, because the newest hour alone is larger.
    pub over: u64,
}

/// Removes what is older or more than may be kept.
pub(super) fn prune(
    durable: &Durable,
    now: UnixNanos,
    retention: &Retention,
) -> Result<Pruned, StoreError> {
    let maintenance = durable.maintenance.lock();
    let _maintenance = maintenance.unwrap_or_else(PoisonError::into_inner);
    let mut manifest = durable.manifest();
    let (pruned, remove) = plan(&manifest, now, retention);
    if pruned.parts > 0 {
        let change = Change {
            remove,
            ..Change::default()
        };
        durable.commit(&mut manifest, change, || ())?;
    } else {
        durable.tidy();
        put_by(&durable.folder);
    }
    Ok(pruned)
}

/// What would be removed, and the names of the parts.
pub(super) fn plan(
    manifest: &Manifest,
    now: UnixNanos,
    retention: &Retention,
) -> (Pruned, BTreeSet<String>) {
    // By what they are dated by, the partition, and when they came if that was late.
    let mut hours: BTreeMap<(u64, u64, Option<u64>), Vec<&PartMeta>> = BTreeMap::new();
    for part in &manifest.parts {
        let key = (part.dated(now), part.hour, part.lot());
        hours.entry(key).or_default().push(part);
    }
    let newest = hours.keys().next_back().copied();
    let mut left: u64 = manifest.parts.iter().map(PartMeta::bytes).sum();
    let mut pruned = Pruned::default();
    let mut remove = BTreeSet::new();
    let mut gone = BTreeSet::new();
    for (key, parts) in hours {
        let bytes: u64 = parts.iter().map(|part| part.bytes()).sum();
        let too_many = retention.max_bytes.is_some_and(|most| left > most);
        let too_old = is_too_old(key.0, &parts, now, retention);
        if !(too_old || too_many && newest != Some(key)) {
            continue;
        }
        left -= bytes;
        gone.insert((key.0, key.1));
        pruned.bytes += bytes;
        for part in parts {
            pruned.parts += 1;
            pruned.traces += part.traces - part.dead_traces();
            pruned.requests += part.live_requests().total();
            pruned.spans += part.rows(Table::Spans);
            remove.insert(part.id.clone());
        }
    }
    pruned.hours = gone.len() as u64;
    pruned.over = retention
        .max_bytes
        .map_or(0, |most| left.saturating_sub(most));
    (pruned, remove)
}

/// Of parts that go together.
fn is_too_old(hour: u64, parts: &[&PartMeta], now: UnixNanos, retention: &Retention) -> bool {
    let ended = bounds(hour).1;
    let came = parts.iter().filter_map(|part| part.came).max();
    let here = came.map_or(ended, |came| ended.max(UnixNanos(came).min(now)));
    let is_over = |most: Option<Duration>, since: UnixNanos| {
        most.is_some_and(|most| {
            let most = Nanos(i64::try_from(most.as_nanos()).unwrap_or(i64::MAX));
            now.since(since) > most
        })
    };
    is_over(retention.max_age, here) || is_over(retention.max_past, ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::manifest::TableMeta;
    use crate::store::share::CLAMP;

    const NOW: u64 = 497_700;
    const DAY: u64 = 24;

    fn part(id: u64, hour: u64, came: Option<u64>) -> PartMeta {
        let spans = TableMeta {
            rows: 7,
            bytes: 100,
        };
        let mut part = PartMeta::new(format!("{id:012}"), hour);
        part.came = came.map(|came| bounds(came).0.0);
        part.traces = 1;
        part.tables = [("spans".to_owned(), spans)].into();
        part
    }

    fn planned(parts: Vec<PartMeta>, retention: &Retention) -> Vec<u64> {
        let mut manifest = Manifest::new();
        manifest.parts = parts;
        let (pruned, remove) = plan(&manifest, bounds(NOW).0, retention);
        assert_eq!(pruned.parts, remove.len() as u64);
        remove.iter().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn what_trickles_into_an_old_hour_keeps_nothing_that_came_before() {
        let old = NOW - 900 * DAY;
        let days = [80, 60, 40, 29, 1];
        let came = days.iter().map(|day| NOW - day * DAY);
        let parts = (1..).zip(came);
        let parts = parts.map(|(id, came)| part(id, old, Some(came))).collect();
        let month = Retention {
            max_age: Some(Duration::from_hours(30 * DAY)),
            ..Retention::default()
        };
        assert_eq!(planned(parts, &month), [1, 2, 3]);
        // Of what came in time, and of what came before parts told when, the hour says it.
        let in_time = part(1, old, Some(old + 2));
        let untold = part(2, old, None);
        let new = part(3, NOW - DAY, Some(NOW - DAY));
        let strange = part(4, CLAMP, Some(NOW - 40 * DAY));
        let parts = vec![in_time, untold, new, strange];
        assert_eq!(planned(parts, &month), [1, 2, 4]);
    }
}
