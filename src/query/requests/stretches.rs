//! Stretches of time with about so many requests each, the nearest first.

use crate::model::UnixNanos;
use crate::query::scan::HOUR;
use crate::store::Window;

/// Hands out the time piece by piece, from one end to the other: whoever has enough stops, and
/// the rest is not opened. How many requests an hour has is known; within one they are taken to be
/// spread evenly, so that a stretch may have more than were asked for, or fewer.
#[derive(Debug)]
pub(super) struct Stretches {
    /// Hours and how many requests each has, the next one last.
    hours: Vec<(u64, usize)>,
    /// From the latest to the earliest.
    latest: bool,
    /// Where the next one begins.
    at: u64,
}

impl Stretches {
    /// The part of these hours, which come in order, that lies in the window.
    pub(super) fn new(
        hours: impl Iterator<Item = (UnixNanos, usize)>,
        latest: bool,
        within: Window,
    ) -> Self {
        let since = within.since.unwrap_or_default().0;
        let until = within.until.map_or(u64::MAX, |until| until.0);
        let meets = |(hour, count): &(u64, usize)| {
            *count > 0 && *hour < until && hour.saturating_add(HOUR) > since
        };
        let hours = hours.map(|(hour, count)| (hour.0, count));
        let mut hours: Vec<(u64, usize)> = hours.filter(meets).collect();
        if !latest {
            hours.reverse();
        }
        Self {
            hours,
            latest,
            at: if latest { until } else { since },
        }
    }

    /// The next one, with about so many requests; `None` after the last.
    pub(super) fn next(&mut self, wanted: usize) -> Option<Window> {
        let from = self.at;
        let (mut expected, mut any) = (0_usize, false);
        while expected < wanted
            && let Some((hour, count)) = self.hours.last().copied()
        {
            any = true;
            let end = hour.saturating_add(HOUR);
            let (low, high) = if self.latest {
                (hour, end.min(self.at))
            } else {
                (hour.max(self.at), end)
            };
            let left = high.saturating_sub(low);
            let here = share(count, left, HOUR).max(1);
            let missing = wanted - expected;
            if here > missing {
                let width = share(missing, left, here as u64) as u64;
                self.at = if self.latest {
                    high - width
                } else {
                    low + width
                };
                break;
            }
            expected += here;
            self.at = if self.latest { low } else { high };
            self.hours.pop();
        }
        any.then(|| {
            let (since, until) = if self.latest {
                (self.at, from)
            } else {
                (from, self.at)
            };
            Window {
                since: Some(UnixNanos(since)),
                until: (until < u64::MAX).then_some(UnixNanos(until)),
            }
        })
    }
}

/// `number · part ÷ whole`, rounded up.
fn share(number: usize, part: u64, whole: u64) -> usize {
    let product = number as u128 * u128::from(part);
    usize::try_from(product.div_ceil(u128::from(whole.max(1)))).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(hours: &[(u64, usize)], latest: bool, within: Window, wanted: usize) -> Vec<(u64, u64)> {
        let hours = hours
            .iter()
            .map(|(hour, count)| (UnixNanos(hour * HOUR), *count));
        let mut stretches = Stretches::new(hours, latest, within);
        let each = std::iter::from_fn(|| stretches.next(wanted));
        let bounds = each.map(|window| {
            (
                window.since.unwrap().0,
                window.until.map_or(u64::MAX, |until| until.0),
            )
        });
        bounds.collect()
    }

    const TIMES: [(u64, usize); 3] = [(1, 10), (2, 100), (9, 4)];

    #[test]
    fn they_follow_one_another_and_leave_no_hour_out() {
        for latest in [true, false] {
            for wanted in [1, 3, 50, 1000] {
                let mut found = all(&TIMES, latest, Window::ALL, wanted);
                if latest {
                    found.reverse();
                }
                let touch = found.windows(2).all(|two| two[0].1 == two[1].0);
                assert!(touch, "{latest} {wanted} {found:?}");
                assert!(found[0].0 <= HOUR && found.last().unwrap().1 >= 10 * HOUR);
                assert!(found.len() <= 114 / wanted + TIMES.len(), "{}", found.len());
            }
        }
    }

    #[test]
    fn what_is_asked_for_is_cut_out_of_a_full_hour() {
        let found = all(&TIMES, true, Window::ALL, 50);
        assert_eq!(found[0], (2 * HOUR + HOUR * 54 / 100, u64::MAX));
        assert_eq!(found.len(), 3);
        let within = Window {
            since: Some(UnixNanos(HOUR + HOUR / 2)),
            until: Some(UnixNanos(2 * HOUR)),
        };
        assert_eq!(all(&TIMES, true, within, 50), [(HOUR, 2 * HOUR)]);
        assert_eq!(
            all(&TIMES, false, within, 50),
            [(HOUR + HOUR / 2, 2 * HOUR)]
        );
        assert!(all(&[], true, Window::ALL, 50).is_empty());
    }

    #[test]
    fn the_shortest_one_still_moves_on() {
        let crowd = [(1, usize::MAX)];
        let within = Window {
            since: None,
            until: Some(UnixNanos(HOUR + 3)),
        };
        let hours = crowd.iter().map(|(hour, n)| (UnixNanos(hour * HOUR), *n));
        let mut stretches = Stretches::new(hours, true, within);
        for end in [3, 2, 1] {
            let window = stretches.next(1).unwrap();
            assert_eq!(window.since, Some(UnixNanos(HOUR + end - 1)));
        }
    }
}
