//! From time to per cent of an axis, and which labels fit.

use std::fmt;

use crate::model::Nanos;
use crate::query::waterfall::Range;

/// An axis from a start to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    start: i64,
    end: i64,
}

impl Scale {
    /// An axis from 0 that ends at `end`; an end of nothing counts as one nanosecond.
    pub fn new(end: Nanos) -> Self {
        Self::of(Range {
            from: Nanos::ZERO,
            to: end,
        })
    }

    /// An axis that shows a range; an empty one counts as one nanosecond.
    pub fn of(range: Range) -> Self {
        Self {
            start: range.from.0,
            end: range.to.0.max(range.from.0.saturating_add(1)),
        }
    }

    /// Where an instant lies, kept within the axis.
    pub fn at(self, time: Nanos) -> Percent {
        let since = i128::from(time.0) - i128::from(self.start);
        let length = i128::from(self.end) - i128::from(self.start);
        let rounded = (since * i128::from(Percent::FULL.0) * 2 + length).div_euclid(length * 2);
        Percent(rounded.clamp(0, i128::from(Percent::FULL.0)) as i64)
    }

    /// Whether an instant lies before the axis ends; it may lie before its start.
    pub fn reaches(self, time: Nanos) -> bool {
        time.0 <= self.end
    }

    /// Whether an instant lies on the axis. What comes before an axis that begins with the
    /// request counts as at its start.
    pub fn shows(self, time: Nanos) -> bool {
        self.reaches(time) && (time.0 >= self.start || self.start == 0)
    }

    /// Whether anything of a stretch lies on the axis.
    pub fn meets(self, start: Nanos, end: Nanos) -> bool {
        let instant = start == end && self.shows(start);
        instant
            || (end.0 > self.start && start.0 < self.end)
            || (self.start == 0 && start.0 < self.end)
    }

    /// Where a stretch begins and how wide it is, kept within the axis.
    pub fn span(self, start: Nanos, end: Nanos) -> (Percent, Percent) {
        let (from, to) = (self.at(start), self.at(end));
        (from, to.less(from))
    }
}

/// A place on an axis, in thousandths of a per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(i64);

impl Percent {
    /// The end of the axis.
    pub const FULL: Self = Self(100_000);
    /// The start of the axis.
    pub const ZERO: Self = Self(0);

    /// A share that was worked out before.
    pub const fn thousandths(share: u32) -> Self {
        Self(share as i64)
    }

    /// A part of a whole, kept within it; nothing of nothing.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let full = u128::from(Self::FULL.0.unsigned_abs());
        let (part, whole) = (u128::from(part.min(whole)), u128::from(whole));
        let rounded = (part * full * 2 + whole) / (whole * 2);
        Self(i64::try_from(rounded).unwrap_or(Self::FULL.0))
    }

    /// In whole hundredths, rounded down.
    pub(super) fn hundredth(self) -> i64 {
        self.0 / 1000
    }

    /// So many hundredths of the axis, for marks that are not times.
    pub const fn hundredths(hundredths: i64) -> Self {
        Self(hundredths * 1000)
    }

    /// `numerator ÷ denominator` of it, rounded.
    #[must_use]
    pub fn scaled(self, numerator: i64, denominator: i64) -> Self {
        Self((self.0 * numerator * 2 + denominator).div_euclid(denominator * 2))
    }

    /// The distance from `other` to here, not below zero.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }

    /// Halfway along a stretch of `width` that begins here.
    #[must_use]
    pub fn middle(self, width: Self) -> Self {
        Self(self.0 + width.0 / 2)
    }

    /// This much further right.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// The class that shows a label of so many characters only where its column is wide enough;
    /// `None` if it never is. Six points seven pixels a character, six of air; bars are at least
    /// 21 rem wide.
    pub fn label_class(self, characters: usize) -> Option<&'static str> {
        const STEPS: [(i64, &str); 7] = [
            (15, "k k15"),
            (20, "k k20"),
            (30, "k k30"),
            (40, "k k40"),
            (60, "k k60"),
            (90, "k k90"),
            (150, "k k150"),
        ];
        let tenths_of_px = i64::try_from(characters).ok()?.checked_mul(67)? + 60;
        STEPS
            .iter()
            // share × rem × 16 px ≥ need, all in integers
            .find(|(rem, _)| {
                i128::from(self.0) * i128::from(rem * 160)
                    >= i128::from(tenths_of_px) * i128::from(Self::FULL.0)
            })
            .map(|(_, class)| *class)
    }
}

impl fmt::Display for Percent {
    /// Per cent with up to three decimals: `69.444%`, `50%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 1000, self.0 % 1000);
        if fraction == 0 {
            return write!(f, "{whole}%");
        }
        let digits = format!("{fraction:03}");
        write!(f, "{whole}.{}%", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_per_cent_within_the_axis() {
        let scale = Scale::new(Nanos::from_millis(1440));
        let at = |ms| scale.at(Nanos::from_millis(ms)).to_string();
        assert_eq!(at(0), "0%");
        assert_eq!(at(1000), "69.444%");
        assert_eq!(at(1440), "100%");
        assert_eq!(at(9999), "100%");
        assert_eq!(at(-5), "0%");
        assert_eq!(at(720), "50%");
        let (x, width) = scale.span(Nanos::from_millis(1), Nanos::from_millis(1000));
        assert_eq!(
            (x.to_string(), width.to_string()),
            ("0.069%".into(), "69.375%".into())
        );
    }

    #[test]
    fn a_part_of_the_time_fills_the_axis_and_the_rest_is_off_it() {
        let ms = Nanos::from_millis;
        let scale = Scale::of(Range {
            from: ms(400),
            to: ms(900),
        });
        let at = |time| scale.at(ms(time)).to_string();
        assert_eq!(
            (at(400), at(650), at(900)),
            ("0%".into(), "50%".into(), "100%".into())
        );
        assert_eq!((at(0), at(1000)), ("0%".into(), "100%".into()));
        assert!(scale.shows(ms(400)) && scale.shows(ms(900)));
        assert!(!scale.shows(ms(399)) && !scale.shows(ms(901)) && scale.reaches(ms(399)));
        assert!(scale.meets(ms(0), ms(401)) && scale.meets(ms(899), ms(2000)));
        assert!(!scale.meets(ms(0), ms(400)) && !scale.meets(ms(900), ms(1000)));
        assert!(scale.meets(ms(500), ms(500)) && !scale.meets(ms(300), ms(300)));
    }

    #[test]
    fn extremes_neither_overflow_nor_divide_by_zero() {
        assert_eq!(Scale::new(Nanos::ZERO).at(Nanos::MAX), Percent::FULL);
        assert_eq!(Scale::new(Nanos(-5)).at(Nanos(i64::MIN)), Percent::ZERO);
        assert_eq!(Scale::new(Nanos::MAX).at(Nanos::MAX), Percent::FULL);
        assert_eq!(Percent::FULL.label_class(usize::MAX), None);
    }

    #[test]
    fn parts_of_a_whole_stay_within_it() {
        assert_eq!(Percent::of(1, 3).to_string(), "33.333%");
        assert_eq!(Percent::of(2, 3).to_string(), "66.667%");
        assert_eq!(Percent::of(9, 3), Percent::FULL);
        assert_eq!(Percent::of(9, 0), Percent::ZERO);
        assert_eq!(Percent::of(u64::MAX, u64::MAX), Percent::FULL);
        assert_eq!(Percent::of(1, 2).scaled(8, 100).to_string(), "4%");
    }

    #[test]
    fn labels_ask_for_the_width_that_they_need() {
        let scale = Scale::new(Nanos::from_millis(1440));
        let class = |ms, chars| scale.at(Nanos::from_millis(ms)).label_class(chars);
        assert_eq!(class(497, 3), Some("k k15"));
        assert_eq!(class(300, 9), Some("k k20"));
        assert_eq!(class(200, 6), Some("k k30"));
        assert_eq!(class(1, 1), None);
    }
}
