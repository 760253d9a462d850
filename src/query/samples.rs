//! Exact percentiles over integers.

use crate::model::Nanos;

/// Times that were measured: 8 bytes each, so that percentiles are exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples(Vec<i64>);

impl Samples {
    /// Adds a time.
    pub fn push(&mut self, time: Nanos) {
        self.0.push(time.0);
    }

    /// Takes in those of another.
    pub fn merge(&mut self, other: Self) {
        if self.0.is_empty() {
            self.0 = other.0;
        } else {
            self.0.extend(other.0);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nearest-rank percentiles: for each the least time that at least so many per cent of all
    /// do not exceed; always one that was measured. `percents` rise. Without a full sort.
    pub fn percentiles<const N: usize>(mut self, percents: [usize; N]) -> [Option<Nanos>; N] {
        let all = self.0.len();
        let mut rest = self.0.as_mut_slice();
        // Ranks that are already to the left of `rest`, and the greatest time there.
        let (mut passed, mut last) = (0, None);
        percents.map(|percent| {
            let rank = rank(all, percent);
            let Some(place) = (rank - 1).checked_sub(passed) else {
                return last.map(Nanos);
            };
            if place >= rest.len() {
                return None;
            }
            let (_, found, right) = std::mem::take(&mut rest).select_nth_unstable(place);
            (passed, last, rest) = (rank, Some(*found), right);
            last.map(Nanos)
        })
    }

    /// Puts them in order.
    pub fn sorted(mut self) -> Sorted {
        self.0.sort_unstable();
        Sorted(self.0)
    }
}

/// Of so many, the place of a percentile, from 1.
fn rank(all: usize, percent: usize) -> usize {
    (all * percent).div_ceil(100).max(1)
}

/// Times in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorted(Vec<i64>);

impl Sorted {
    /// The nearest-rank percentile: the least time that at least `percent` of all do not exceed.
    /// It is always one that was measured.
    pub fn percentile(&self, percent: usize) -> Option<Nanos> {
        let rank = rank(self.0.len(), percent);
        self.0.get(rank - 1).copied().map(Nanos)
    }

    /// The mean, rounded towards zero.
    pub fn mean(&self) -> Option<Nanos> {
        let sum: i128 = self.0.iter().copied().map(i128::from).sum();
        let count = i128::try_from(self.0.len())
            .ok()
            .filter(|count| *count > 0)?;
        // A mean lies between what it is the mean of.
        Some(Nanos((sum / count) as i64))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(times: &[i64]) -> Sorted {
        let mut samples = Samples::default();
        for time in times {
            samples.push(Nanos(*time));
        }
        samples.sorted()
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let five = sorted(&[50, 15, 40, 20, 35]);
        let at = |percent| five.percentile(percent).map(|Nanos(time)| time);
        assert_eq!(
            [at(5), at(30), at(40), at(50), at(100)],
            [15, 20, 20, 35, 50].map(Some)
        );
        assert_eq!(sorted(&[]).percentile(50), None);
        assert_eq!(sorted(&[7]).percentile(99), Some(Nanos(7)));
    }

    #[test]
    fn means_do_not_overflow() {
        assert_eq!(sorted(&[i64::MAX, i64::MAX]).mean(), Some(Nanos(i64::MAX)));
        assert_eq!(sorted(&[-3, -4]).mean(), Some(Nanos(-3)));
        assert_eq!(sorted(&[]).mean(), None);
    }

    proptest! {
        #[test]
        fn a_percentile_splits_the_times(times in prop::collection::vec(-50_i64..50, 1..40), percent in 1_usize..=100) {
            let Nanos(cut) = sorted(&times).percentile(percent).unwrap();
            let below = times.iter().filter(|time| **time < cut).count();
            let up_to = times.iter().filter(|time| **time <= cut).count();
            prop_assert!(up_to * 100 >= times.len() * percent);
            prop_assert!(below * 100 < times.len() * percent);
        }

        #[test]
        fn percentiles_are_the_same_without_a_sort(times in prop::collection::vec(-50_i64..50, 0..40), percents in any::<[u8; 4]>()) {
            let mut percents = percents.map(|percent| usize::from(percent) % 100 + 1);
            percents.sort_unstable();
            let sorted = sorted(&times);
            let mut samples = Samples::default();
            for time in &times {
                samples.push(Nanos(*time));
            }
            let wanted = percents.map(|percent| sorted.percentile(percent));
            prop_assert_eq!(samples.percentiles(percents), wanted);
        }
    }
}
