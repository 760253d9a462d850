//! The thread that keeps the parts few and within what is to be kept: compaction and retention.
//!
//! It runs beside the flushes, at the lowest urgency: what fails is tried again with the next
//! round, and nothing waits for it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;
use crate::model::UnixNanos;
use crate::store::StoreError;
use crate::telemetry::{Table, Upkeep, clock};

/// From one round to the next.
const ROUND: Duration = Duration::from_secs(15);

/// Works until the handle says stop.
pub(super) fn run(shared: &Shared) {
    let mut failing = [false; 2];
    loop {
        shared.flush.nap(ROUND);
        if shared.closing.load(Ordering::Acquire) {
            return;
        }
        let now = UnixNanos(clock::unix_nanos());
        let compacted = shared.store.compact(Some(now)).map(|compacted| {
            if compacted.merged > 0 {
                tracing::debug!(
                    compaction.merged = compacted.merged,
                    compaction.made = compacted.made,
                    compaction.dropped = compacted.dropped,
                    "compacted"
                );
            }
            compacted.merged > 0
        });
        tell(shared, "compaction", compacted, &mut failing[0]);
        let pruned = shared.store.prune(now).map(|pruned| {
            if pruned.hours > 0 {
                tracing::info!(
                    retention.hours = pruned.hours,
                    retention.requests = pruned.requests,
                    retention.bytes = pruned.bytes,
                    "removed the oldest hours"
                );
            }
            pruned.hours > 0
        });
        tell(shared, "retention", pruned, &mut failing[1]);
        show(shared);
    }
}

/// Shows how large the parts are.
pub(super) fn show(shared: &Shared) {
    let stats = shared.store.stats();
    let telemetry = &shared.telemetry;
    telemetry.parts.set(stats.parts as i64);
    for (table, size) in &stats.tables {
        let label = Table {
            table: table.as_str(),
        };
        let rows = telemetry.part_rows.get_or_create(&label);
        rows.set(size.rows as i64);
        let bytes = telemetry.part_bytes.get_or_create(&label);
        bytes.set(size.bytes as i64);
    }
}

/// Counts a round in which something was done or failed, and tells the first failure of a row.
fn tell(shared: &Shared, kind: &'static str, done: Result<bool, StoreError>, failing: &mut bool) {
    let result = match &done {
        Ok(false) => {
            *failing = false;
            return;
        }
        Ok(true) => "ok",
        Err(_) => "failed",
    };
    let upkeep = Upkeep { kind, result };
    shared.telemetry.upkeep.get_or_create(&upkeep).inc();
    let before = std::mem::replace(failing, done.is_err());
    if let Err(error) = done
        && !before
    {
        let error: &dyn std::error::Error = &error;
        tracing::error!(
            error,
            upkeep = kind,
            "upkeep of the parts failed; it is tried again"
        );
    }
}
