//! The thread that learns what successful runs take, from the summaries of what is stored.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;
use crate::model::UnixNanos;
use crate::telemetry::clock;

/// From one round to the next.
const ROUND: Duration = Duration::from_secs(30);

/// Learns anew in every round, until the handle says stop.
pub(super) fn run(shared: &Shared) {
    let mut failing = false;
    let goes_on =
        || !shared.closing.load(Ordering::Acquire) && !shared.stopped.load(Ordering::Acquire);
    // So that the first page does not have to look at each part.
    if let Err(error) = shared.store.snapshot().look_back(goes_on) {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(error, "what is new is looked for when it is asked");
    }
    while goes_on() {
        learn(shared, true, &mut failing);
        shared.flush.nap(ROUND);
    }
}

/// Learns once. Without `make` from the summaries that are there, which takes milliseconds, so that
/// the first analysis after a start knows what the last one before it knew.
pub(super) fn learn(shared: &Shared, make: bool, failing: &mut bool) {
    let now = UnixNanos(clock::unix_nanos());
    let learnt = shared.store.learn(now, shared.config.typical_window, make);
    let before = std::mem::replace(failing, learnt.is_err());
    if let Err(error) = learnt
        && !before
    {
        let error: &dyn std::error::Error = &error;
        tracing::warn!(error, "typical times stay as they were");
    }
}
