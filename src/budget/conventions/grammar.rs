//! The grammars of values. A text either is a value or it is not: nothing is guessed, and a
//! text that is not is never 0.

use crate::model::{Nanos, Text, UnixNanos, Value};

use super::Grammar;

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A duration.
    Time(Nanos),
    /// An instant.
    Instant(UnixNanos),
    /// A word.
    Word(Text),
    /// A number.
    Count(u32),
}

/// Longest budget that is believed: a hundred years.
const MAX_MILLIS: f64 = 100.0 * 365.25 * 86_400_000.0;

/// Reads one scalar; `None` if it does not follow the grammar.
pub(super) fn parse(grammar: Grammar, value: &Value) -> Option<Parsed> {
    match grammar {
        Grammar::Millis => millis(value).map(Parsed::Time),
        Grammar::GrpcTimeout => grpc_timeout(value.as_str()?).map(Parsed::Time),
        Grammar::Instant => instant(value).map(Parsed::Instant),
        Grammar::Word => match value {
            Value::Str(word) if !word.trim().is_empty() => {
                Some(Parsed::Word(word.trim().to_lowercase().into()))
            }
            _ => None,
        },
        Grammar::Count => value
            .as_int()
            .and_then(|count| u32::try_from(count).ok())
            .map(Parsed::Count),
    }
}

/// A decimal number of milliseconds, as int, double or text; negative is late.
fn millis(value: &Value) -> Option<Nanos> {
    match value {
        Value::Int(ms) => within(*ms as f64).then(|| Nanos::from_millis(*ms)),
        Value::Double(ms) => from_double(*ms),
        Value::Str(text) => {
            let text = text.trim();
            if let Ok(ms) = text.parse::<i64>() {
                return within(ms as f64).then(|| Nanos::from_millis(ms));
            }
            // `f64` also reads "inf", "nan" and "1e3": only digits, sign and one point pass.
            let plain = text
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+'));
            let starts = text
                .trim_start_matches(['-', '+'])
                .starts_with(|c: char| c.is_ascii_digit());
            (plain && starts)
                .then(|| text.parse().ok())
                .flatten()
                .and_then(from_double)
        }
        _ => None,
    }
}

fn from_double(ms: f64) -> Option<Nanos> {
    (ms.is_finite() && within(ms)).then(|| Nanos((ms * 1e6).round() as i64))
}

fn within(ms: f64) -> bool {
    ms.abs() <= MAX_MILLIS
}

/// `TimeoutValue TimeoutUnit` of the gRPC protocol: 1 to 8 digits, then one of `H M S m u n`,
/// case-sensitive (`m` is milliseconds). Zero is accepted: some clients send `0m` or `0n`.
fn grpc_timeout(text: &str) -> Option<Nanos> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos_per_unit: i64 = match unit {
        "H" => 3_600_000_000_000,
        "M" => 60_000_000_000,
        "S" => 1_000_000_000,
        "m" => 1_000_000,
        "u" => 1_000,
        "n" => 1,
        _ => return None,
    };
    Some(Nanos(
        digits.parse::<i64>().ok()?.saturating_mul(nanos_per_unit),
    ))
}

/// RFC 3339, or a number since 1970 whose size tells the unit: from 1e17 nanoseconds, from 1e14
/// microseconds, from 1e11 milliseconds, from 1e9 seconds. Smaller numbers are no instants.
fn instant(value: &Value) -> Option<UnixNanos> {
    let number = match value {
        Value::Int(int) => *int as f64,
        Value::Double(double) => *double,
        Value::Str(text) => {
            let text = text.trim();
            if let Ok(int) = text.parse::<u64>() {
                return epoch(u128::from(int));
            }
            if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
                return u64::try_from(timestamp.as_nanosecond()).ok().map(UnixNanos);
            }
            return None;
        }
        _ => return None,
    };
    (number.is_finite() && number >= 1e9)
        .then(|| epoch(number as u128))
        .flatten()
}

fn epoch(number: u128) -> Option<UnixNanos> {
    let nanos_per_unit = match number {
        100_000_000_000_000_000.. => 1,
        100_000_000_000_000.. => 1_000,
        100_000_000_000.. => 1_000_000,
        1_000_000_000.. => 1_000_000_000,
        _ => return None,
    };
    u64::try_from(number * nanos_per_unit).ok().map(UnixNanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(grammar: Grammar, text: &str) -> Option<i64> {
        match parse(grammar, &Value::Str(text.into())) {
            Some(Parsed::Time(time)) => Some(time.0),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    #[test]
    fn grpc_timeouts_follow_the_protocol() {
        let read = |text| time(Grammar::GrpcTimeout, text);
        assert_eq!(read("250m"), Some(250_000_000));
        assert_eq!(read("244999u"), Some(244_999_000));
        assert_eq!(read("1S"), Some(1_000_000_000));
        assert_eq!(read("10M"), Some(600_000_000_000));
        assert_eq!(read("99999999H"), Some(i64::MAX));
        assert_eq!(read("0n"), Some(0));
        for bad in [
            "",
            "m",
            "123456789m",
            "-5m",
            "1.5S",
            "10",
            "10s",
            "10 m",
            "1é",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn milliseconds_are_plain_decimal_numbers() {
        let read = |text| time(Grammar::Millis, text);
        assert_eq!(read(" 497 "), Some(497_000_000));
        assert_eq!(read("-20"), Some(-20_000_000));
        assert_eq!(read("0.5"), Some(500_000));
        for bad in [
            "",
            "abc",
            "5s",
            "1e3",
            "inf",
            "nan",
            "1,000",
            ".",
            "-",
            "99999999999999999999",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(parse(Grammar::Millis, &Value::Double(f64::NAN)), None);
        assert_eq!(
            parse(Grammar::Millis, &Value::Double(1.25)),
            Some(Parsed::Time(Nanos(1_250_000)))
        );
        assert_eq!(parse(Grammar::Millis, &Value::Int(i64::MAX)), None);
        assert_eq!(parse(Grammar::Millis, &Value::Bool(true)), None);
    }

    #[test]
    fn instants_are_rfc_3339_or_epochs_by_size() {
        let read = |text: &str| match parse(Grammar::Instant, &Value::Str(text.into())) {
            Some(Parsed::Instant(at)) => Some(at.0),
            _ => None,
        };
        let at = Some(1_791_364_500_350_000_000);
        assert_eq!(read("2026-10-07T09:15:00.350Z"), at);
        assert_eq!(read("2026-10-07T11:15:00.350+02:00"), at);
        assert_eq!(read("1791364500350"), at);
        assert_eq!(read("1791364500350000"), at);
        assert_eq!(read("1791364500350000000"), at);
        assert_eq!(read("1791364500"), Some(1_791_364_500_000_000_000));
        for bad in ["", "500", "tomorrow", "2026-10-07", "-1791364500"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
