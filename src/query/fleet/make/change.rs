//! Where the share of missed requests changed.

use crate::query::fleet::Share;
use crate::query::fleet::overview::{Bucket, Change};

/// How much likelier the counts have to be with a change than without one, as the logarithm of the
/// likelihood ratio: chance alone reaches it in fewer than one of a thousand windows of a hundred
/// buckets.
const THRESHOLD: f64 = 12.0;

/// The least change worth telling: the share before, times or divided by this.
const FACTOR: f64 = 1.5;

/// The least requests with a budget on either side, and the least misses on both.
const LEAST: u64 = 20;
const MISSES: u64 = 10;

/// The split of a series at which "one share before, another after" explains the misses best
/// against "one share all along" (a likelihood-ratio test over binomial counts), if it explains
/// them far better and the shares differ by half or more. Of a bucket that is not over the slow
/// requests have yet to come: it can show a rise, and no fall.
pub(super) fn change(series: &[Bucket]) -> Option<Change> {
    let over = series.iter().rev().skip_while(|bucket| bucket.partial);
    let (over, open) = series.split_at(over.count());
    let rise = best(series, |before, after| rate(after) > rate(before));
    let fall = best(over, |before, after| rate(after) < rate(before));
    let fall = fall.map(|(gain, mut change)| {
        change.after = plus(change.after, sum(open));
        (gain, change)
    });
    let found = [rise, fall].into_iter().flatten();
    let found = found.max_by(|(one, _), (other, _)| one.total_cmp(other));
    found.map(|(_, change)| change)
}

/// The best split of those that go this way, and how much likelier it makes the counts.
fn best(series: &[Bucket], goes: fn(Share, Share) -> bool) -> Option<(f64, Change)> {
    let all = sum(series);
    if all.part < MISSES {
        return None;
    }
    let mut before = Share::default();
    let mut best: Option<(f64, Change)> = None;
    for (bucket, next) in series.iter().zip(series.iter().skip(1)) {
        before = plus(before, bucket.totals.missed());
        let after = Share {
            part: all.part - before.part,
            whole: all.whole - before.whole,
        };
        if before.whole < LEAST || after.whole < LEAST || !goes(before, after) {
            continue;
        }
        let gain = likelihood(before) + likelihood(after) - likelihood(all);
        let (low, high) = (rate(before).min(rate(after)), rate(before).max(rate(after)));
        let better = best.as_ref().is_none_or(|(known, _)| gain > *known);
        if gain > THRESHOLD && high >= low * FACTOR && better {
            let at = next.since;
            best = Some((gain, Change { at, before, after }));
        }
    }
    best
}

fn sum(buckets: &[Bucket]) -> Share {
    let missed = buckets.iter().map(|bucket| bucket.totals.missed());
    missed.fold(Share::default(), plus)
}

fn plus(one: Share, other: Share) -> Share {
    Share {
        part: one.part + other.part,
        whole: one.whole + other.whole,
    }
}

fn rate(share: Share) -> f64 {
    share.part as f64 / share.whole.max(1) as f64
}

/// The logarithm of the greatest likelihood of so many misses of so many.
fn likelihood(share: Share) -> f64 {
    let term = |part: u64| match part {
        0 => 0.0,
        part => part as f64 * (part as f64 / share.whole as f64).ln(),
    };
    term(share.part) + term(share.whole.saturating_sub(share.part))
}
