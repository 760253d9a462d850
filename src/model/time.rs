//! Time: integers in nanoseconds inside, milliseconds with up to three decimals outside.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use serde::{Serialize, Serializer};

/// An instant: nanoseconds since the Unix epoch, as the host that took it read its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixNanos(pub u64);

impl UnixNanos {
    /// The signed distance from `earlier` to `self`; saturates at the ends of `i64`.
    pub fn since(self, earlier: Self) -> Nanos {
        let distance = i128::from(self.0) - i128::from(earlier.0);
        Nanos(distance.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// The instant `by` later (earlier when negative); saturates at 0 and at the end of `u64`.
    #[must_use]
    pub fn shifted(self, by: Nanos) -> Self {
        Self(self.0.saturating_add_signed(by.0))
    }
}

impl Serialize for UnixNanos {
    /// RFC 3339 in UTC with nine decimals.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for UnixNanos {
    /// RFC 3339 in UTC with nine decimals: `2026-10-07T09:15:00.000000000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000_000;
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let nanos = self.0 % 1_000_000_000;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{nanos:09}Z"
        )
    }
}

/// A duration or an offset: signed nanoseconds. All arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub i64);

impl Nanos {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// Longer than anything; stands for "no limit".
    pub const MAX: Self = Self(i64::MAX);

    /// Whole milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Whole seconds.
    pub const fn from_secs(s: i64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// Milliseconds as a floating-point number, for formatting only; rounded to a microsecond,
    /// halves away from zero.
    pub fn as_millis_f64(self) -> f64 {
        self.micros() as f64 / 1000.0
    }

    /// Seconds as a floating-point number, for counters and formatting only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This, but not below zero.
    #[must_use]
    pub fn at_least_zero(self) -> Self {
        Self(self.0.max(0))
    }

    /// The distance from zero.
    #[must_use]
    pub fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// `self × numerator ÷ denominator` in 128-bit integers, rounded towards zero; 0 when
    /// `denominator` is 0.
    #[must_use]
    pub fn scaled(self, numerator: i64, denominator: i64) -> Self {
        if denominator == 0 {
            return Self::ZERO;
        }
        let wide = i128::from(self.0) * i128::from(numerator) / i128::from(denominator);
        Self(wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// The nearest whole microsecond, halves away from zero: what is printed of a time.
    #[must_use]
    pub fn rounded_to_micros(self) -> Self {
        Self(self.micros().saturating_mul(1000))
    }

    fn micros(self) -> i64 {
        let half = if self.0 < 0 { -500 } else { 500 };
        self.0.saturating_add(half) / 1000
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Nanos {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Nanos {
    /// Milliseconds, as a JSON number with up to three decimals (`497.0`, `0.25`).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_millis_f64())
    }
}

/// Year, month and day of a count of days since 1970-01-01 (proleptic Gregorian calendar):
/// eras of 400 years, years that begin in March so that the leap day comes last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_print_as_rfc_3339() {
        let text = |ns| UnixNanos(ns).to_string();
        assert_eq!(text(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(
            text(1_791_364_500_000_000_001),
            "2026-10-07T09:15:00.000000001Z"
        );
        assert_eq!(
            text(951_782_400_000_000_000),
            "2000-02-29T00:00:00.000000000Z"
        );
        assert_eq!(text(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn differences_saturate_and_never_wrap() {
        assert_eq!(UnixNanos(5).since(UnixNanos(7)), Nanos(-2));
        assert_eq!(UnixNanos(0).since(UnixNanos(u64::MAX)), Nanos(i64::MIN));
        assert_eq!(Nanos(i64::MAX) + Nanos(1), Nanos(i64::MAX));
        assert_eq!(-Nanos(i64::MIN), Nanos(i64::MAX));
    }

    #[test]
    fn milliseconds_have_three_decimals() {
        let json = |ns| serde_json::to_string(&Nanos(ns)).unwrap();
        assert_eq!(json(497_000_000), "497.0");
        assert_eq!(json(1_499), "0.001");
        assert_eq!(json(-1_500), "-0.002");
        assert_eq!(json(244_999_000), "244.999");
    }
}
