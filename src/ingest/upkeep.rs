//! The thread that keeps the parts few and within what is to be kept: compaction and retention.
//!
//! It runs beside the flushes, at the lowest urgency: what fails is tried again with the next
//! round, and nothing waits for it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;
use crate::model::{Nanos, UnixNanos};
use crate::store::StoreError;
use crate::telemetry::{Table, Upkeep, clock};

/// Works until the handle says stop; a round begins so long after the former one.
pub(super) fn run(shared: &Shared, every: Nanos) {
    let every = Duration::from_nanos(every.0.max(1_000_000) as u64);
    let mut failing = [false; 2];
    let mut wall = Wall::new(Nanos(clock::monotonic_nanos()), shared.store.believed());
    let is_closing = || shared.closing.load(Ordering::Acquire);
    loop {
        shared.flush.nap(every);
        // Between two merges there is a look at what is too old: while a lot comes, there may
        // always be another merge.
        let mut merges = true;
        while merges && !is_closing() {
            let now = wall.believed(
                Nanos(clock::monotonic_nanos()),
                UnixNanos(clock::unix_nanos()),
            );
            let [compacting, pruning] = &mut failing;
            if !wall.is_in_doubt() {
                shared.store.believe(now);
            }
            tell(shared, "retention", prune(shared, now), pruning);
            let merged = compact(shared, now);
            merges = matches!(merged, Ok(true));
            tell(shared, "compaction", merged, compacting);
        }
        if is_closing() {
            return;
        }
        show(shared);
    }
}

/// Removes what is too old or too much; whether it was anything.
fn prune(shared: &Shared, now: UnixNanos) -> Result<bool, StoreError> {
    let pruned = shared.store.prune(now)?;
    if pruned.hours > 0 {
        tracing::info!(
            retention.hours = pruned.hours,
            retention.requests = pruned.requests,
            retention.bytes = pruned.bytes,
            "removed the oldest hours"
        );
    }
    Ok(pruned.hours > 0)
}

/// Makes the next merge, if there is one; whether there was.
fn compact(shared: &Shared, now: UnixNanos) -> Result<bool, StoreError> {
    let compacted = shared.store.compact_some(now)?;
    if compacted.merged > 0 {
        tracing::debug!(
            compaction.merged = compacted.merged,
            compaction.made = compacted.made,
            compaction.dropped = compacted.dropped,
            "compacted"
        );
    }
    Ok(compacted.merged > 0)
}

/// The time of day, which decides what is old, held against a clock that nobody sets. One that
/// jumps is believed only when it stays there: what was removed for a clock that was wrong for a
/// moment does not come back. At the start it is held against the last that was believed before:
/// after a pause nothing becomes old until the clock has run for a while, so that it can be set. In
/// doubt it is the earlier of the two.
#[derive(Debug, Default)]
struct Wall {
    /// Both clocks when they last agreed.
    agreed: Option<(Nanos, UnixNanos)>,
    /// Since when they do not.
    doubted: Option<Nanos>,
}

impl Wall {
    /// How far the clocks may come apart from one round to the next: more than a clock that is
    /// slewed, or a machine that is busy.
    const JUMP: Nanos = Nanos::from_secs(600);
    /// How long a jump is doubted.
    const DOUBT: Nanos = Nanos::from_secs(3600);

    /// `known` is the last time that is known of.
    fn new(steady: Nanos, known: Option<UnixNanos>) -> Self {
        Self {
            agreed: known.map(|known| (steady, known)),
            doubted: None,
        }
    }

    /// The time to go by: the wall clock's, or after a jump what it would be without.
    fn believed(&mut self, steady: Nanos, wall: UnixNanos) -> UnixNanos {
        let Some((then, agreed)) = self.agreed else {
            self.agreed = Some((steady, wall));
            return wall;
        };
        let expected = agreed.shifted(steady - then);
        let apart = wall.since(expected);
        let since = *self.doubted.get_or_insert(steady);
        if apart.abs() <= Self::JUMP || steady - since >= Self::DOUBT {
            *self = Self {
                agreed: Some((steady, wall)),
                doubted: None,
            };
            return wall;
        }
        if since == steady {
            tracing::info!(
                %wall, %expected,
                "the clock is not where it was; it does not decide what is old until it has stayed \
                 there for an hour"
            );
        }
        expected.min(wall)
    }

    fn is_in_doubt(&self) -> bool {
        self.doubted.is_some()
    }
}

/// Shows how large the parts are.
pub(super) fn show(shared: &Shared) {
    let stats = shared.store.stats();
    let telemetry = &shared.telemetry;
    telemetry.parts.set(stats.parts as i64);
    let damaged = shared.store.snapshot().faults().len();
    telemetry.damaged_files.set(damaged as i64);
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

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn at(seconds: i64) -> (Nanos, UnixNanos) {
        let start = UnixNanos(1_791_363_600_000_000_000);
        (
            Nanos::from_secs(seconds),
            start.shifted(Nanos::from_secs(seconds)),
        )
    }

    #[test]
    fn a_clock_that_jumps_for_a_moment_makes_nothing_old() {
        let mut wall = Wall::default();
        for second in [0, 15, 30] {
            let (steady, now) = at(second);
            assert_eq!(wall.believed(steady, now), now);
        }
        for jump in [40 * DAY, -40 * DAY] {
            let (steady, now) = at(45);
            let wrong = now.shifted(Nanos::from_secs(jump));
            assert_eq!(wall.believed(steady, wrong), now.min(wrong), "{jump}");
            assert!(wall.is_in_doubt());
            let (steady, now) = at(60);
            assert_eq!(wall.believed(steady, now), now, "{jump}");
        }
    }

    #[test]
    fn a_clock_that_is_wrong_at_the_start_makes_nothing_old_for_an_hour() {
        let (steady, known) = at(0);
        for wrong in [40 * DAY, -40 * DAY] {
            let mut wall = Wall::new(steady, Some(known));
            let set = |second| at(second).1.shifted(Nanos::from_secs(wrong));
            for second in (15..3600).step_by(15) {
                let (steady, now) = at(second);
                let least = now.min(set(second));
                assert_eq!(wall.believed(steady, set(second)), least, "{wrong}");
            }
            // It was put right.
            assert_eq!(wall.believed(at(3605).0, at(3605).1), at(3605).1);
            // Or it was the store that was long closed.
            let mut wall = Wall::new(steady, Some(known));
            wall.believed(at(15).0, set(15));
            assert_eq!(wall.believed(at(3615).0, set(3615)), set(3615), "{wrong}");
        }
        // A restart, and a store that knows of no time.
        let mut wall = Wall::new(steady, Some(known));
        assert_eq!(wall.believed(at(0).0, at(500).1), at(500).1);
        let mut wall = Wall::new(steady, None);
        assert_eq!(wall.believed(at(15).0, at(15).1), at(15).1);
    }

    #[test]
    fn a_clock_that_was_set_is_believed_after_an_hour() {
        let mut wall = Wall::default();
        wall.believed(at(0).0, at(0).1);
        let set = |second| at(second).1.shifted(Nanos::from_secs(40 * DAY));
        for second in (15..3615).step_by(15) {
            let (steady, now) = at(second);
            assert_eq!(wall.believed(steady, set(second)), now);
        }
        assert_eq!(wall.believed(at(3615).0, set(3615)), set(3615));
        assert_eq!(wall.believed(at(3630).0, set(3630)), set(3630));
        // One that runs a little fast is no jump.
        let (steady, now) = at(4000);
        let fast = now.shifted(Nanos::from_secs(40 * DAY + 3));
        assert_eq!(wall.believed(steady, fast), fast);
    }
}
