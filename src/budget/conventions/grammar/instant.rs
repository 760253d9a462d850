//! Grammars of instants, each in a function of its own.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::model::{UnixNanos, Value};

/// A number of this many digits before the point, of units since 1970.
pub(super) fn epoch(
    value: &Value,
    digits: RangeInclusive<usize>,
    nanos_per_unit: u64,
) -> Option<UnixNanos> {
    let text = match value {
        Value::Int(int) => int.to_string(),
        Value::Double(double) if double.is_finite() => format!("{double}"),
        Value::Str(text) => text.trim().to_owned(),
        _ => return None,
    };
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits.contains(&whole.len()) || !is_digits(whole) || !is_digits(part) {
        return None;
    }
    // A fraction counts for seconds alone; nothing is as fine as below a millisecond.
    if !part.is_empty() && nanos_per_unit < 1_000_000_000 {
        return None;
    }
    let mut nanos = whole.parse::<u64>().ok()?.checked_mul(nanos_per_unit)?;
    let mut place = nanos_per_unit / 10;
    for digit in part.bytes() {
        nanos = nanos.checked_add(place * u64::from(digit - b'0'))?;
        place /= 10;
    }
    Some(UnixNanos(nanos))
}

/// RFC 3339, or a number since 1970 whose size tells the unit: from 1e17 nanoseconds, from 1e14
/// microseconds, from 1e11 milliseconds, from 1e9 seconds. Smaller numbers are no instants.
pub(super) fn by_size(value: &Value) -> Option<UnixNanos> {
    let number = match value {
        Value::Int(int) => *int as f64,
        Value::Double(double) => *double,
        Value::Str(text) => {
            let text = text.trim();
            if let Ok(int) = text.parse::<u64>() {
                return sized(u128::from(int));
            }
            return rfc3339(text).or_else(|| http_date(text));
        }
        _ => return None,
    };
    if let Value::Int(int) = value {
        return sized(u128::try_from(*int).ok()?);
    }
    (number.is_finite() && number >= 1e9)
        .then(|| sized(number as u128))
        .flatten()
}

fn sized(number: u128) -> Option<UnixNanos> {
    let nanos_per_unit = match number {
        100_000_000_000_000_000.. => 1,
        100_000_000_000_000.. => 1_000,
        100_000_000_000.. => 1_000_000,
        1_000_000_000.. => 1_000_000_000,
        _ => return None,
    };
    u64::try_from(number * nanos_per_unit).ok().map(UnixNanos)
}

/// RFC 3339: date, time and an offset.
pub(super) fn rfc3339(text: &str) -> Option<UnixNanos> {
    let shape = text.as_bytes();
    if !shape.get(10).is_some_and(|sep| b"Tt ".contains(sep)) || shape.get(13) != Some(&b':') {
        return None;
    }
    since_1970(text.parse().ok()?)
}

/// The same; without an offset it is UTC.
pub(super) fn iso(text: &str) -> Option<UnixNanos> {
    rfc3339(text).or_else(|| {
        let civil: DateTime = text.parse().ok()?;
        (text.len() > 10).then_some(())?;
        since_1970(TimeZone::UTC.to_timestamp(civil).ok()?)
    })
}

/// The one date format that HTTP has today.
pub(super) fn http_date(text: &str) -> Option<UnixNanos> {
    let civil = DateTime::strptime("%a, %d %b %Y %H:%M:%S GMT", text).ok()?;
    since_1970(TimeZone::UTC.to_timestamp(civil).ok()?)
}

/// `20300101T000000Z`.
pub(super) fn compact(text: &str) -> Option<UnixNanos> {
    let civil = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    since_1970(TimeZone::UTC.to_timestamp(civil).ok()?)
}

/// Finagle's `<written> <deadline>` in nanoseconds since 1970.
pub(super) fn finagle_pair(text: &str) -> Option<UnixNanos> {
    let (written, deadline) = text.split_once(char::is_whitespace)?;
    written.parse::<u64>().ok()?;
    deadline.trim().parse().ok().map(UnixNanos)
}

/// Finagle's `2030-01-01 00:00:00:123 +0000`, alone or last of a list of named ones.
pub(super) fn finagle_time(text: &str) -> Option<UnixNanos> {
    let at = match text.rfind(":deadline:") {
        Some(from) => text.get(from + ":deadline:".len()..)?,
        None => text,
    };
    let (date, rest) = at.split_at_checked(19)?;
    let (millis, offset) = match rest.strip_prefix(':') {
        Some(rest) => rest.split_once(' ')?,
        None => ("0", rest.strip_prefix(' ')?),
    };
    if millis.len() > 3 || !millis.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole = Timestamp::strptime("%Y-%m-%d %H:%M:%S %z", format!("{date} {offset}")).ok()?;
    let second = since_1970(whole)?;
    let millis: u64 = millis.parse().ok()?;
    Some(UnixNanos(second.0.checked_add(millis * 1_000_000)?))
}

fn since_1970(at: Timestamp) -> Option<UnixNanos> {
    u64::try_from(at.as_nanosecond()).ok().map(UnixNanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1_893_456_000_000_000_000;

    /// Each text with the instant that it is, then texts that are none.
    fn check(grammar: impl Fn(&str) -> Option<UnixNanos>, good: &[(&str, u64)], bad: &[&str]) {
        for (text, nanos) in good {
            assert_eq!(grammar(text), Some(UnixNanos(*nanos)), "{text}");
        }
        for text in bad {
            assert_eq!(grammar(text), None, "{text}");
        }
    }

    fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    #[test]
    fn epochs_have_the_digits_of_their_unit() {
        let millis = |text: &str| epoch(&str(text), 12..=14, 1_000_000);
        check(
            millis,
            &[("1893456000123", AT + 123_000_000)],
            &[
                "1893456000",
                "1893456000123.5",
                "",
                "-1893456000123",
                "1893456000x23",
            ],
        );
        let seconds = |text: &str| epoch(&str(text), 9..=11, 1_000_000_000);
        check(
            seconds,
            &[("1893456000", AT), ("1893456000.25", AT + 250_000_000)],
            &["1893456000123", "", "123"],
        );
        assert_eq!(
            epoch(&Value::Int(1_893_456_000), 9..=11, 1_000_000_000),
            Some(UnixNanos(AT))
        );
    }

    #[test]
    fn instants_are_rfc_3339_or_epochs_by_size() {
        let at = 1_791_364_500_350_000_000;
        check(
            |text| by_size(&str(text)),
            &[
                ("2026-10-07T09:15:00.350Z", at),
                ("2026-10-07T11:15:00.350+02:00", at),
                ("1791364500350", at),
                ("1791364500350000", at),
                ("1791364500350000000", at),
                ("1791364500", 1_791_364_500_000_000_000),
                ("Tue, 01 Jan 2030 00:00:00 GMT", AT),
            ],
            &["", "500", "tomorrow", "2026-10-07", "-1791364500"],
        );
        assert_eq!(
            by_size(&Value::Int(1_791_364_500_350_000_123)),
            Some(UnixNanos(1_791_364_500_350_000_123))
        );
    }

    #[test]
    fn rfc_3339_has_an_offset() {
        check(
            rfc3339,
            &[
                ("2030-01-01T00:00:00.123456789Z", AT + 123_456_789),
                ("2030-01-01T02:00:00+02:00", AT),
                ("2030-01-01 00:00:00Z", AT),
                ("2030-01-01t00:00:00z", AT),
            ],
            &["2030-01-01", "2030-01-01T00:00:00", "20300101T000000Z", ""],
        );
        check(iso, &[("2030-01-01T00:00:00", AT)], &["2030-01-01", ""]);
    }

    #[test]
    fn http_dates_are_in_gmt() {
        check(
            http_date,
            &[("Tue, 01 Jan 2030 00:00:00 GMT", AT)],
            &["2030", "Tue, 01 Jan 2030 00:00:00 CET", ""],
        );
        check(
            compact,
            &[("20300101T000000Z", AT)],
            &["20300101", "20300101T000000", ""],
        );
    }

    #[test]
    fn finagle_writes_pairs_and_dates_of_its_own() {
        check(
            finagle_pair,
            &[(
                "1893456000000000000 1893456001000000000",
                AT + 1_000_000_000,
            )],
            &["1893456000000000000", "a b", ""],
        );
        check(
            finagle_time,
            &[
                ("2030-01-01 00:00:00:123 +0000", AT + 123_000_000),
                ("2030-01-01 01:00:00:000 +0100", AT),
                (
                    "deadline_enabled:timestamp:2029-12-31 23:59:59 +0000:deadline:2030-01-01 00:00:00 +0000",
                    AT,
                ),
            ],
            &["2030-01-01T00:00:00Z", "2030-01-01 00:00:00:1234 +0000", ""],
        );
    }
}
