//! Fills the answers from the store's summaries.

mod change;
mod coverage;
mod findings;
mod map;
mod matrix;
mod names;
mod numbers;
mod overview;
mod services;
mod spent;
#[cfg(test)]
mod tests;
mod totals;
mod words;

pub use coverage::coverage;
pub use findings::findings;
pub use map::map;
pub use names::names;
pub use overview::overview;
pub use services::{service, services};

use super::{Ask, Share, Spread, Stretch, Thousandths};
use crate::model::{Nanos, UnixNanos};
use crate::store::rollup::{Histogram, MINUTE, Minutes};

/// How long a bucket may be, in minutes. Buckets begin at multiples of that since 1970, in UTC.
const STEPS: [u64; 15] = [
    1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 43_200,
];

/// The stretches that an answer is about, in whole minutes.
#[derive(Debug, Clone)]
struct Frame {
    window: Stretch,
    now: Minutes,
    before: Minutes,
    /// Minutes of a bucket.
    step: u64,
    /// When it was asked.
    at: UnixNanos,
    rows: usize,
}

impl Frame {
    fn of(ask: &Ask) -> Self {
        let first = ask.window.since.0 / MINUTE;
        let end = ask.window.until.0.div_ceil(MINUTE).max(first + 1);
        let instant = |minute: u64| UnixNanos(minute.saturating_mul(MINUTE));
        let most = u64::try_from(ask.buckets).unwrap_or(u64::MAX).max(1);
        let buckets = |step: u64| (end - 1) / step - first / step + 1;
        let step = STEPS.into_iter().find(|step| buckets(*step) <= most);
        // Longer than any: as many minutes as it takes.
        let step = step.unwrap_or_else(|| (end - first).div_ceil(most.max(2) - 1).max(1));
        Self {
            window: Stretch {
                since: instant(first),
                until: instant(end),
            },
            now: first..end,
            before: first.saturating_sub(end - first)..first,
            step,
            at: ask.now,
            rows: ask.rows.max(1),
        }
    }

    /// How long a bucket is.
    fn length(&self) -> Nanos {
        Nanos(i64::try_from(self.step.saturating_mul(MINUTE)).unwrap_or(i64::MAX))
    }

    /// The first instant of each bucket, and whether a part of it is not over or not asked for.
    fn buckets(&self) -> impl Iterator<Item = (UnixNanos, bool)> {
        let first = self.now.start / self.step;
        let last = (self.now.end - 1) / self.step;
        (first..=last).map(|bucket| {
            let (start, end) = (bucket * self.step, (bucket + 1).saturating_mul(self.step));
            let over = end.saturating_mul(MINUTE) <= self.at.0;
            let inside = self.now.start <= start && end <= self.now.end;
            (UnixNanos(start.saturating_mul(MINUTE)), !(over && inside))
        })
    }
}

/// Nanoseconds that were added up.
fn time(sum: i128) -> Nanos {
    Nanos(sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// `part` of `whole` in thousandths; `None` of nothing.
fn thousandths(part: i128, whole: i128) -> Option<Thousandths> {
    if whole <= 0 {
        return None;
    }
    let doubled = part.saturating_mul(2000) / whole;
    Some(Thousandths(time(doubled.midpoint(doubled.signum())).0))
}

fn share(part: u64, whole: u64) -> Share {
    Share { part, whole }
}

/// Times as parts of a whole.
fn share_of(part: Nanos, whole: Nanos) -> Share {
    let count = |time: Nanos| u64::try_from(time.0).unwrap_or(0);
    share(count(part), count(whole))
}

fn spread(times: &Histogram) -> Spread {
    let at = |percent| times.percentile(percent).map(Nanos);
    Spread {
        count: times.count(),
        p5: at(5),
        p50: at(50),
        p95: at(95),
        p99: at(99),
    }
}

fn both(one: &Histogram, other: &Histogram) -> Histogram {
    let mut both = one.clone();
    both.merge(other);
    both
}

/// Slots that were held for nobody over a stretch (Little's law).
fn slots(wasted: i128, length: Nanos) -> Thousandths {
    thousandths(wasted, length.0.into()).unwrap_or_default()
}

/// The first `most`, and how many others there are.
fn cut<T>(mut list: Vec<T>, most: usize) -> (Vec<T>, u64) {
    let others = list.len().saturating_sub(most) as u64;
    list.truncate(most);
    (list, others)
}
