//! Charts over many requests: time runs from left to right, and every scale begins at nothing.

mod bars;
mod bins;
mod lines;
mod spark;
mod stacked;
mod time;

pub use bars::{CoverageBar, RankBar, VerdictBar, heat};
pub use bins::{Bins, bin_words};
pub use lines::{Line, LineLook, Lines};
pub use spark::Spark;
pub use stacked::{Stack, StackLook, Stacked};
pub use time::TimeAxis;

/// Round numbers up to `most`, at most four, evenly apart; the last is not below `most`.
/// `steps` are what a step may begin with, in tenths.
fn rungs(most: u64, steps: &[u64]) -> Vec<u64> {
    let most = most.max(1);
    let mut power = 1_u64;
    loop {
        for step in steps {
            let step = step.saturating_mul(power) / 10;
            // A step of a fraction is no step of counts.
            if step == 0 || !step.saturating_mul(10).is_multiple_of(power.max(10)) {
                continue;
            }
            let needed = most.div_ceil(step);
            if needed <= 4 {
                return (1..=needed).map(|n| step.saturating_mul(n)).collect();
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return vec![u64::MAX],
        }
    }
}

/// For counts.
const COUNTS: [u64; 3] = [10, 20, 50];

/// For times, of which a quarter is round too.
const TIMES: [u64; 4] = [10, 20, 25, 50];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_round_and_reach_the_top() {
        assert_eq!(rungs(0, &COUNTS), [1]);
        assert_eq!(rungs(3, &COUNTS), [1, 2, 3]);
        assert_eq!(rungs(176, &COUNTS), [50, 100, 150, 200]);
        assert_eq!(rungs(5, &COUNTS), [2, 4, 6]);
        assert_eq!(
            rungs(833_000_000, &TIMES),
            [250_000_000, 500_000_000, 750_000_000, 1_000_000_000]
        );
        for most in [1, 7, 19, 99, 100, 101, 12_345, u64::MAX / 3] {
            let rungs = rungs(most, &COUNTS);
            assert!(
                rungs.len() <= 4 && rungs.last() >= Some(&most),
                "{most}: {rungs:?}"
            );
        }
        assert!(!rungs(u64::MAX, &TIMES).is_empty());
    }
}
