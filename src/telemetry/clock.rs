//! The one place that reads the clock. Below the receivers, time is an argument.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the Unix epoch; 0 on a host whose clock stands before it.
#[expect(
    clippy::disallowed_methods,
    reason = "the wrapper that everyone else uses"
)]
pub fn unix_nanos() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        })
}

/// Nanoseconds since the first call in this process; never goes back.
pub fn monotonic_nanos() -> i64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX)
}
