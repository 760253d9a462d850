//! Durations, shares and instants as people type them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use winnow::ascii::digit1;
use winnow::combinator::{alt, opt, preceded, repeat};
use winnow::error::ContextError;
use winnow::prelude::*;

use crate::model::{Nanos, UnixNanos};

/// Why a text is no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DurationError {
    /// A number and nothing else.
    NoUnit,
    /// Something else.
    Malformed,
    /// Beyond 292 years.
    TooLong,
}

/// The units; one that begins like another comes before it.
const UNITS: [(&str, i128); 11] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("sec", 1_000_000_000),
    ("s", 1_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Digits after the point that are read; further ones are below what is stored.
const DECIMALS: usize = 9;

type Read<T> = Result<T, ContextError>;

/// Reads `200ms`, `1.5s`, `1m30s`, `-20ms`.
pub(super) fn duration(text: &str) -> Result<Nanos, DurationError> {
    let (sign, text) = signed(text);
    if decimal.parse(text).is_ok() {
        return Err(DurationError::NoUnit);
    }
    let steps = repeat(1.., (decimal, unit));
    let total = steps
        .fold(
            || Some(0_i128),
            |sum: Option<i128>, (number, unit): (Option<i128>, i128)| {
                let step = number?.checked_mul(unit)? / 10_i128.pow(DECIMALS as u32);
                sum?.checked_add(step)
            },
        )
        .parse(text)
        .map_err(|_| DurationError::Malformed)?;
    let total = total.ok_or(DurationError::TooLong)? * sign;
    i64::try_from(total)
        .map(Nanos)
        .map_err(|_| DurationError::TooLong)
}

/// Reads `90%` or `0.5%` as hundred-millionths.
pub(super) fn percent(text: &str) -> Option<i64> {
    let (sign, number) = signed(text.strip_suffix('%')?.trim_end());
    let number = decimal.parse(number).ok()??;
    i64::try_from(sign * (number / 1_000)).ok()
}

fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A number in billionths; `None` when there are too many digits.
fn decimal(input: &mut &str) -> Read<Option<i128>> {
    let (whole, fraction): (&str, Option<&str>) =
        (digit1, opt(preceded('.', digit1))).parse_next(input)?;
    let mut digits = whole.to_owned();
    let fraction = fraction.unwrap_or_default();
    digits.extend(fraction.chars().take(DECIMALS));
    digits.extend(std::iter::repeat_n(
        '0',
        DECIMALS.saturating_sub(fraction.len()),
    ));
    Ok(digits.parse().ok())
}

fn unit(input: &mut &str) -> Read<i128> {
    alt(UNITS.map(|(name, nanos)| name.value(nanos))).parse_next(input)
}

/// Why a text is no instant. Prints as a fragment: "is no instant".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InstantError {
    /// It counts from now, and there is no now.
    #[error("counts back from now, and here there is no clock; write the instant itself")]
    NoClock,
    /// Before 1970 or after 2554.
    #[error("is not between 1970 and 2554")]
    OutOfRange,
    /// Something else.
    #[error("is no instant; write 2026-10-07T09:00:00Z, 2026-10-07 (UTC), or a time ago like -15m")]
    Malformed,
}

/// Reads an instant: RFC 3339 (`2026-10-07T09:00:00Z`, `…+02:00`), a date or a date and time
/// without an offset (UTC), `now`, or a signed duration from now (`-15m`).
pub fn instant(text: &str, now: Option<UnixNanos>) -> Result<UnixNanos, InstantError> {
    if text == "now" {
        return now.ok_or(InstantError::NoClock);
    }
    if text.starts_with(['-', '+']) {
        let by = duration(text).map_err(|_| InstantError::Malformed)?;
        return Ok(now.ok_or(InstantError::NoClock)?.shifted(by));
    }
    let stamp = text.parse::<Timestamp>().or_else(|_| {
        let civil = text.parse::<DateTime>()?;
        TimeZone::UTC.to_timestamp(civil)
    });
    let nanos = stamp.map_err(|_| InstantError::Malformed)?.as_nanosecond();
    u64::try_from(nanos)
        .map(UnixNanos)
        .map_err(|_| InstantError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_units_and_add_up() {
        let nanos = |text| duration(text).map(|Nanos(nanos)| nanos);
        assert_eq!(nanos("200ms"), Ok(200_000_000));
        assert_eq!(nanos("1.5s"), Ok(1_500_000_000));
        assert_eq!(nanos("1m30s"), Ok(90_000_000_000));
        assert_eq!(nanos("2min"), nanos("2m"));
        assert_eq!(nanos("5\u{b5}s"), nanos("5us"));
        assert_eq!(nanos("-20ms"), Ok(-20_000_000));
        assert_eq!(nanos("0.1234567891s"), Ok(123_456_789));
        for text in ["200", "-1.5", "0"] {
            assert_eq!(nanos(text), Err(DurationError::NoUnit), "{text}");
        }
        for text in ["", "ms", "1 s", "1sm", "1.s", ".5s", "--1s", "1e3s"] {
            assert_eq!(nanos(text), Err(DurationError::Malformed), "{text}");
        }
        let long = "9".repeat(60) + "s";
        for text in ["300000d", long.as_str()] {
            assert_eq!(nanos(text), Err(DurationError::TooLong), "{text}");
        }
    }

    #[test]
    fn percents_are_exact() {
        assert_eq!(percent("90%"), Some(90_000_000));
        assert_eq!(percent("49.7 %"), Some(49_700_000));
        assert_eq!(percent("-0.000001%"), Some(-1));
        assert_eq!(percent("90"), None);
        assert_eq!(percent("%"), None);
        assert_eq!(percent(&("9".repeat(60) + "%")), None);
    }

    #[test]
    fn instants_are_rfc_3339_or_count_from_now() {
        let nine = UnixNanos(1_791_363_600_000_000_000);
        let read = |text| instant(text, Some(nine));
        for text in [
            "2026-10-07T09:00:00Z",
            "2026-10-07T11:00:00+02:00",
            "2026-10-07T09:00",
            "2026-10-07 09:00:00",
            "now",
            "-0s",
        ] {
            assert_eq!(read(text), Ok(nine), "{text}");
        }
        assert_eq!(read("-15m"), Ok(nine.shifted(Nanos::from_secs(-900))));
        assert_eq!(
            read("2026-10-07"),
            Ok(nine.shifted(Nanos::from_secs(-32_400)))
        );
        assert_eq!(instant("-15m", None), Err(InstantError::NoClock));
        assert_eq!(read("1969-12-31"), Err(InstantError::OutOfRange));
        for text in ["", "15m", "yesterday", "2026-13-01", "-15"] {
            assert_eq!(read(text), Err(InstantError::Malformed), "{text}");
        }
    }
}
