//! Grammars of durations, each in a function of its own. All arithmetic is in integers.

use crate::model::{Nanos, Value};

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Unit {
    Nano,
    Micro,
    Milli,
    Second,
    Minute,
    Hour,
    Day,
}

/// Longest duration that is believed: a hundred years.
const LONGEST: u128 = 100 * 365 * Unit::Day.nanos() as u128;

impl Unit {
    const fn nanos(self) -> i64 {
        match self {
            Self::Nano => 1,
            Self::Micro => 1_000,
            Self::Milli => 1_000_000,
            Self::Second => 1_000_000_000,
            Self::Minute => 60_000_000_000,
            Self::Hour => 3_600_000_000_000,
            Self::Day => 86_400_000_000_000,
        }
    }

    /// By its short name (`ms`) or its word (`millisecond`, `milliseconds`).
    pub(in super::super) fn named(name: &str) -> Option<Self> {
        let word = name.strip_suffix('s').filter(|one| one.len() > 2);
        Some(match word.unwrap_or(name) {
            "ns" | "nano" | "nanosecond" => Self::Nano,
            "us" | "µs" | "μs" | "micro" | "microsecond" => Self::Micro,
            "ms" | "milli" | "millisecond" => Self::Milli,
            "s" | "sec" | "second" => Self::Second,
            "m" | "min" | "minute" => Self::Minute,
            "h" | "hour" => Self::Hour,
            "d" | "day" => Self::Day,
            _ => return None,
        })
    }

    /// The unit that a key's end names: `_ms`, `-seconds`, `Millis`, `.us`.
    pub(super) fn at_end_of(key: &str) -> Option<Self> {
        let last = key.rsplit(['.', '_', '-', '/']).next()?;
        match last {
            "ms" | "millis" | "milliseconds" => return Some(Self::Milli),
            "s" | "sec" | "secs" | "seconds" => return Some(Self::Second),
            "us" | "micros" | "microseconds" => return Some(Self::Micro),
            "ns" | "nanos" | "nanoseconds" => return Some(Self::Nano),
            _ => {}
        }
        let ends = |words: &[&str]| words.iter().any(|word| last.ends_with(word));
        if ends(&["Ms", "MS", "Millis", "Milliseconds"]) {
            Some(Self::Milli)
        } else if ends(&["Sec", "Secs", "Seconds"]) {
            Some(Self::Second)
        } else {
            None
        }
    }
}

/// A plain decimal number in this unit: digits, at most one point within them, a sign. Fractions
/// of a nanosecond are cut off.
pub(in super::super) fn decimal(text: &str, unit: Unit) -> Option<Nanos> {
    let text = text.trim();
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) || whole.len() > 20 {
        return None;
    }
    let per_unit = i128::from(unit.nanos());
    let mut nanos = whole.parse::<i128>().ok()? * per_unit;
    let mut place = per_unit;
    for digit in part.bytes() {
        // What is cut off is below a nanosecond: the unit is a whole number of them.
        let (tenths, rest) = (place * i128::from(digit - b'0'), place);
        nanos += tenths / 10;
        place = rest / 10;
        if place == 0 {
            break;
        }
    }
    believed(if negative { -nanos } else { nanos })
}

/// An int or a double in this unit.
pub(super) fn of_number(value: &Value, unit: Unit) -> Option<Nanos> {
    match value {
        Value::Int(int) => believed(i128::from(*int) * i128::from(unit.nanos())),
        Value::Double(double) if double.is_finite() => {
            believed((double * unit.nanos() as f64).round() as i128)
        }
        _ => None,
    }
}

fn believed(nanos: i128) -> Option<Nanos> {
    (nanos.unsigned_abs() <= LONGEST)
        .then(|| i64::try_from(nanos).ok())
        .flatten()
        .map(Nanos)
}

/// `TimeoutValue TimeoutUnit` of the gRPC protocol: 1 to 8 digits, then one of `H M S m u n`,
/// case-sensitive (`m` is milliseconds). Zero is accepted: some clients send `0m` or `0n`.
pub(super) fn grpc_timeout(text: &str) -> Option<Nanos> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let digits = digits.trim_end();
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unit = match unit {
        "H" => Unit::Hour,
        "M" => Unit::Minute,
        "S" => Unit::Second,
        "m" => Unit::Milli,
        "u" => Unit::Micro,
        "n" => Unit::Nano,
        _ => return None,
    };
    Some(Nanos(
        digits.parse::<i64>().ok()?.saturating_mul(unit.nanos()),
    ))
}

/// `time.Duration` of Go: `1h0m0.5s`, `-3.2ms`, and `0` without a unit.
pub(super) fn go(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(Nanos::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum = Nanos::ZERO;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(digits_and_point(rest));
        let (unit, next) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let unit = match unit {
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => Unit::named(unit)?,
            _ => return None,
        };
        // Go writes neither side of the point must be there, but one.
        let filled = match (number.starts_with('.'), number.ends_with('.')) {
            (true, true) => return None,
            (true, false) => format!("0{number}"),
            (false, true) => format!("{number}0"),
            (false, false) => number.to_owned(),
        };
        sum = Nanos(sum.0.checked_add(decimal(&filled, unit)?.0)?);
        rest = next;
    }
    Some(if negative { Nanos(-sum.0) } else { sum })
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

fn digits_and_point(text: &str) -> usize {
    text.find(|c| !is_number(c)).unwrap_or(text.len())
}

/// Linkerd's: a whole number with a unit of `ms s m h d`; the bare number can be 0 only.
pub(super) fn linkerd(text: &str) -> Option<Nanos> {
    if text == "0" {
        return Some(Nanos::ZERO);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" | "s" | "m" | "h" | "d" => Unit::named(unit)?,
        _ => return None,
    };
    decimal(number, unit)
}

/// ISO 8601, as `java.time.Duration` prints it: `PT1M30S`, `P1DT2H`, `PT0.5S`.
pub(super) fn iso(text: &str) -> Option<Nanos> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (days, time) = match text.strip_prefix('P')?.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (text.strip_prefix('P')?, ""),
    };
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let mut sum = 0_i64;
    for (mut rest, units) in [(days, &[('D', Unit::Day)][..]), (time, TIME_OF_ISO)] {
        let mut allowed = units.iter();
        while !rest.is_empty() {
            let at = rest.find(|c: char| c.is_ascii_uppercase())?;
            let (number, after) = rest.split_at(at);
            let letter = after.chars().next()?;
            let (_, unit) = allowed.find(|(name, _)| *name == letter)?;
            // Java negates part by part: `PT-1M`.
            sum = sum.checked_add(decimal(number, *unit)?.0)?;
            rest = after.get(1..)?;
        }
    }
    Some(Nanos(if negative { -sum } else { sum }))
}

const TIME_OF_ISO: &[(char, Unit)] = &[('H', Unit::Hour), ('M', Unit::Minute), ('S', Unit::Second)];

/// `200.milliseconds`, joined by `+`: `1.minutes+30.seconds`.
pub(super) fn scala(text: &str) -> Option<Nanos> {
    let mut sum = 0_i64;
    for part in text.split('+') {
        let (number, unit) = part.trim().split_once('.')?;
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) || unit.len() < 3 {
            return None;
        }
        sum = sum.checked_add(decimal(number, Unit::named(unit)?)?.0)?;
    }
    Some(Nanos(sum))
}

/// .NET's `[-][d.]hh:mm:ss[.fffffff]`.
pub(super) fn timespan(text: &str) -> Option<Nanos> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
    let whole = |s: &str, longest| {
        (!s.is_empty() && s.len() <= longest && s.bytes().all(|b| b.is_ascii_digit())).then_some(())
    };
    whole(hours, 2)?;
    whole(minutes, 2)?;
    whole(days, 8)?;
    let fits = seconds.len() == 2 || seconds.as_bytes().get(2) == Some(&b'.');
    if minutes.len() != 2 || !fits || seconds.starts_with(['-', '+']) || parts.next().is_some() {
        return None;
    }
    let sum = [
        (days, Unit::Day),
        (hours, Unit::Hour),
        (minutes, Unit::Minute),
        (seconds, Unit::Second),
    ]
    .into_iter()
    .try_fold(0_i64, |sum, (text, unit)| {
        sum.checked_add(decimal(text, unit)?.0)
    })?;
    Some(Nanos(if negative { -sum } else { sum }))
}

/// `wait=SECONDS` among other preferences.
pub(super) fn prefer_wait(text: &str) -> Option<Nanos> {
    text.match_indices("wait").find_map(|(at, word)| {
        let before = text.get(..at)?;
        let begins = before.is_empty() || before.ends_with([',', ';', ' ', '\t']);
        let after = text.get(at + word.len()..)?.trim_start();
        let value = after.strip_prefix('=').filter(|_| begins)?.trim_start();
        let value = value.strip_prefix('"').unwrap_or(value);
        let digits = value.find(|c: char| !c.is_ascii_digit());
        decimal(value.get(..digits.unwrap_or(value.len()))?, Unit::Second)
    })
}

/// A duration that names its unit, in Go's or ISO's or .NET's way.
pub(super) fn with_unit(text: &str) -> Option<Nanos> {
    if text == "0" {
        return None;
    }
    go(text).or_else(|| iso(text)).or_else(|| timespan(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text with what it is worth, then texts that are none.
    fn check(grammar: fn(&str) -> Option<Nanos>, good: &[(&str, i64)], bad: &[&str]) {
        for (text, nanos) in good {
            assert_eq!(grammar(text), Some(Nanos(*nanos)), "{text}");
        }
        for text in bad {
            assert_eq!(grammar(text), None, "{text}");
        }
    }

    #[test]
    fn grpc_timeouts_follow_the_protocol() {
        check(
            grpc_timeout,
            &[
                ("250m", 250_000_000),
                ("244999u", 244_999_000),
                ("1S", 1_000_000_000),
                ("10M", 600_000_000_000),
                ("99999999H", i64::MAX),
                ("99999999n", 99_999_999),
                ("0n", 0),
                ("1 S", 1_000_000_000),
            ],
            &["", "m", "123456789m", "-5m", "1.5S", "10", "10s", "1é", "S"],
        );
    }

    #[test]
    fn go_prints_durations_in_mixed_units() {
        check(
            go,
            &[
                ("1.5s", 1_500_000_000),
                ("2m30s", 150_000_000_000),
                ("-3.2ms", -3_200_000),
                ("0", 0),
                ("0s", 0),
                ("1h0m0.5s", 3_600_500_000_000),
                ("12µs", 12_000),
                (".5s", 500_000_000),
                ("1.s", 1_000_000_000),
            ],
            &["5", "1d", "", "s", ".s", "1s2", "-", "1 s", "one second"],
        );
    }

    #[test]
    fn linkerd_wants_whole_numbers_with_a_unit() {
        check(
            linkerd,
            &[("300ms", 300_000_000), ("1d", 86_400_000_000_000), ("0", 0)],
            &["300", "1.5s", "", "ms", "5us"],
        );
    }

    #[test]
    fn java_prints_iso_8601() {
        check(
            iso,
            &[
                ("PT2S", 2_000_000_000),
                ("PT0.5S", 500_000_000),
                ("PT1M30S", 90_000_000_000),
                ("P1DT2H", 93_600_000_000_000),
                ("-PT1S", -1_000_000_000),
                ("PT-1.5S", -1_500_000_000),
            ],
            &["2S", "P", "PT", "PT5", "P1M", "PTS", "PT1S1M", ""],
        );
    }

    #[test]
    fn twitter_joins_parts_with_a_plus() {
        check(
            scala,
            &[
                ("200.milliseconds", 200_000_000),
                ("1.minutes", 60_000_000_000),
                ("1.minutes+30.seconds", 90_000_000_000),
                ("1.second", 1_000_000_000),
            ],
            &["200ms", "200.", "1.5.seconds", "1.s", "", "-1.seconds"],
        );
    }

    #[test]
    fn dotnet_prints_hours_minutes_and_seconds() {
        check(
            timespan,
            &[
                ("00:00:30", 30_000_000_000),
                ("00:00:01.5000000", 1_500_000_000),
                ("1.02:03:04", 93_784_000_000_000),
                ("-00:00:01", -1_000_000_000),
            ],
            &[
                "30",
                "00:30",
                "0:0:1",
                "00:00:1.5",
                "a:00:00",
                "00:00:00:00",
                "",
            ],
        );
    }

    #[test]
    fn a_preference_to_wait_stands_among_others() {
        check(
            prefer_wait,
            &[
                ("respond-async, wait=10", 10_000_000_000),
                ("wait=3", 3_000_000_000),
                ("wait = \"5\"", 5_000_000_000),
                ("a=b;wait=1", 1_000_000_000),
            ],
            &["respond-async", "await=3", "wait", "wait=", "wait=soon", ""],
        );
    }

    #[test]
    fn decimals_are_exact_and_a_hundred_years_are_enough() {
        let s = |text| decimal(text, Unit::Second).map(|time| time.0);
        assert_eq!(s("1.999956300"), Some(1_999_956_300));
        assert_eq!(s("0.1"), Some(100_000_000));
        assert_eq!(s("0.0000000009"), Some(0));
        assert_eq!(s("3155760001"), None);
        assert_eq!(decimal("0.75", Unit::Milli), Some(Nanos(750_000)));
        assert_eq!(decimal("1.25", Unit::Micro), Some(Nanos(1_250)));
    }
}
