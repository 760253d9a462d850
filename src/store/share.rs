//! Which partition the rows of a request go to.
//!
//! A partition is the hour (UTC) in which the request starts. What starts before the year 2000 or
//! from 2100 on was dated by a clock that was never set or in another unit; all of it goes to
//! [`CLAMP`], `date=1970-01-01/hour=00`, lest each such span make a partition of its own. The rows
//! keep the start that came, and whoever looks for an instant there looks at the rows. A trace
//! whose requests lie in more than [`TRACE_HOURS`] partitions goes there whole.

use std::collections::BTreeSet;

use super::folder::hour_of;
use super::memory::Stored;
use crate::model::UnixNanos;

/// The partition of what starts at no plausible time.
pub(super) const CLAMP: u64 = 0;

/// The hours from the year 2000 on to the year 2100, which is not among them.
const PLAUSIBLE: std::ops::Range<u64> = 262_968..1_139_568;

/// In so many partitions a trace may have rows; half of what one flush makes at most.
const TRACE_HOURS: usize = 16;

/// What of a trace goes into a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// All.
    All,
    /// The requests that start in it, and if so the spans of no request.
    Hour {
        /// These too.
        rest: bool,
    },
}

/// The partition of a request that starts then.
pub(super) fn partition_of(start: UnixNanos) -> u64 {
    let hour = hour_of(start);
    if PLAUSIBLE.contains(&hour) {
        hour
    } else {
        CLAMP
    }
}

/// The partitions that a trace has rows in, in order, and what goes there.
pub(super) fn shares(stored: &Stored) -> Vec<(u64, Share)> {
    let requests = &stored.analysis.requests;
    if let [request] = requests.as_slice() {
        return vec![(partition_of(request.start), Share::All)];
    }
    let hours: BTreeSet<u64> = requests
        .iter()
        .map(|request| partition_of(request.start))
        .collect();
    if hours.len() > TRACE_HOURS {
        return vec![(CLAMP, Share::All)];
    }
    let first = requests.first().map(|request| request.start);
    let first = first.or_else(|| stored.trace.spans.iter().map(|span| span.start).min());
    let first = partition_of(first.unwrap_or_default());
    if hours.len() < 2 {
        return vec![(first, Share::All)];
    }
    let share = |hour| {
        let rest = hour == first;
        (hour, Share::Hour { rest })
    };
    hours.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_plausible_start_shares_one_partition() {
        const SECOND: u64 = 1_000_000_000;
        let of = |seconds: u64| partition_of(UnixNanos(seconds * SECOND));
        assert_eq!(of(946_684_799), CLAMP);
        assert_eq!(of(946_684_800), 946_684_800 / 3_600);
        assert_eq!(of(4_102_444_799), 4_102_444_799 / 3_600);
        assert_eq!(of(4_102_444_800), CLAMP);
        assert_eq!(partition_of(UnixNanos(0)), CLAMP);
        assert_eq!(partition_of(UnixNanos(u64::MAX)), CLAMP);
    }
}
