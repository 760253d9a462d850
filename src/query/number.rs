//! How a number is written: thousands with a comma, milliseconds with decimals only where they
//! matter, a true minus, a no-break space before units and `%`, `·` for what is unknown.

use std::time::Duration;

use crate::model::number::{self, decimal, fixed};
use crate::model::{Nanos, UnixNanos};

/// What stands for an unknown number.
pub const UNKNOWN: &str = "\u{b7}";

/// The no-break space before a unit.
pub const NBSP: char = '\u{a0}';

/// Milliseconds without unit: see [`crate::model::number::ms`].
pub fn ms(time: Nanos) -> String {
    number::ms(time)
}

/// Whole milliseconds without unit, for narrow columns: `45` for 44.7 ms.
pub fn whole_ms(time: Nanos) -> String {
    decimal(time.0, 1_000_000, 0)
}

/// Milliseconds with unit: `1,307 ms`.
pub fn ms_unit(time: Nanos) -> String {
    format!("{}{NBSP}ms", ms(time))
}

/// A difference in milliseconds without unit, with its sign: `+12`, `−3`, `0`.
pub fn signed(time: Nanos) -> String {
    let plus = if time > Nanos::ZERO { "+" } else { "" };
    format!("{plus}{}", ms(time))
}

/// Milliseconds without unit, or `·`.
pub fn ms_or_unknown(time: Option<Nanos>) -> String {
    time.map_or_else(|| UNKNOWN.to_owned(), ms)
}

/// A part of a whole in per cent with one decimal: `49.7 %`; `·` of nothing.
pub fn percent(part: Nanos, whole: Nanos) -> String {
    match per_mille(part, whole) {
        Some(tenths) => format!("{}{NBSP}%", fixed(tenths, 10, 1)),
        None => UNKNOWN.to_owned(),
    }
}

/// A part of a whole in whole per cent, for lists: `50 %`; `·` of nothing.
pub fn percent_whole(part: Nanos, whole: Nanos) -> String {
    if whole <= Nanos::ZERO {
        return UNKNOWN.to_owned();
    }
    let hundredths = Nanos(part.0).scaled(200, whole.0).0;
    format!(
        "{}{NBSP}%",
        fixed(hundredths.midpoint(hundredths.signum()), 1, 0)
    )
}

/// How many times, from tenths: `1.1×`, `12×` (from 9.95 on without decimals).
pub fn times(tenths: u64) -> String {
    let tenths = i64::try_from(tenths).unwrap_or(i64::MAX);
    if tenths < 100 {
        format!("{}\u{d7}", fixed(tenths, 10, 1))
    } else {
        format!("{}\u{d7}", decimal(tenths, 10, 0))
    }
}

/// A count: `18,402`.
pub fn count(number: usize) -> String {
    decimal(i64::try_from(number).unwrap_or(i64::MAX), 1, 0)
}

/// The same of a count that was summed up: `18,402`.
pub fn sum(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Tenths with up to one decimal: `11.5`.
pub fn tenths(tenths: i64) -> String {
    decimal(tenths, 10, 1)
}

/// `one` or `many` after a count: `1 hop`, `1,204 hops`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{}{NBSP}{noun}", count(number))
}

/// A small count as a word, a larger one in digits: `three`, `13`.
pub fn word(number: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS
        .get(number)
        .map_or_else(|| count(number), |word| (*word).to_owned())
}

/// An age in its largest unit that leaves no rest: `30 days`, `36 hours`, `90 minutes`.
pub fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (unit, one, many) = match seconds {
        _ if seconds.is_multiple_of(86_400) => (86_400, "day", "days"),
        _ if seconds.is_multiple_of(3_600) => (3_600, "hour", "hours"),
        _ if seconds.is_multiple_of(60) => (60, "minute", "minutes"),
        _ => (1, "second", "seconds"),
    };
    let number = usize::try_from(seconds / unit).unwrap_or(usize::MAX);
    counted(number, one, many)
}

/// An instant for people: `2026-10-07 09:15:00.000 UTC`.
pub fn instant(time: UnixNanos) -> String {
    // RFC 3339 with nine decimals is ASCII of a fixed shape up to the year 9999.
    let text = time.to_string();
    match (text.get(..10), text.get(11..23)) {
        (Some(day), Some(clock)) => format!("{day} {clock} UTC"),
        _ => text,
    }
}

/// A part of a whole in per cent with so many decimals: `1.87 %`; `·` of nothing.
pub fn share(part: u64, whole: u64, decimals: u32) -> String {
    if whole == 0 {
        return UNKNOWN.to_owned();
    }
    let millionths = i128::from(part) * 100_000_000 / i128::from(whole);
    let millionths = i64::try_from(millionths).unwrap_or(i64::MAX);
    format!("{}{NBSP}%", fixed(millionths, 1_000_000, decimals))
}

/// Seconds without unit: `2,911`, `12.4`, `1.25`; decimals only where they matter.
pub fn seconds(time: Nanos) -> String {
    let decimals = match time.abs().0 {
        0..1_000_000_000 => 3,
        1_000_000_000..10_000_000_000 => 2,
        10_000_000_000..100_000_000_000 => 1,
        _ => 0,
    };
    decimal(time.0, 1_000_000_000, decimals)
}

/// How much more or less than before, from thousandths: `73×` from twice on, else `+7 %`, `−3 %`.
pub fn trend(thousandths: i64) -> String {
    if thousandths >= 2000 {
        return times(u64::try_from(thousandths / 100).unwrap_or(0));
    }
    let change = fixed(thousandths - 1000, 10, 0);
    let sign = if thousandths > 1004 { "+" } else { "" };
    format!("{sign}{change}{NBSP}%")
}

/// The time of day of an instant, in UTC: `09:07`, `09:07:30` off the whole minute.
pub fn clock(time: UnixNanos) -> String {
    let text = time.to_string();
    let end = if time.0.is_multiple_of(60_000_000_000) {
        16
    } else {
        19
    };
    text.get(11..end).unwrap_or_default().to_owned()
}

/// An instant within a stretch of time: the time of day, in one that is longer than a day with the
/// day.
pub fn moment(time: UnixNanos, long: bool) -> String {
    if long {
        format!("{} {}", day(time), clock(time))
    } else {
        clock(time)
    }
}

/// A part of a stretch of time: `08:30–09:00`, in one that is longer than a day with the day.
pub fn part(since: UnixNanos, until: UnixNanos, long: bool) -> String {
    let (from, to) = (moment(since, long), clock(until));
    if long && day(since) != day(until) {
        format!("{from} \u{2013} {} {to}", day(until))
    } else {
        format!("{from}\u{2013}{to}")
    }
}

/// The day of an instant, in UTC: `2026-10-07`.
pub fn day(time: UnixNanos) -> String {
    let text = time.to_string();
    text.get(..10).unwrap_or_default().to_owned()
}

/// A stretch of time: `2026-10-07 08:30–09:30 UTC`, with both days if they differ.
pub fn stretch(since: UnixNanos, until: UnixNanos) -> String {
    let (from, to) = (day(since), day(until));
    let (begin, end) = (clock(since), clock(until));
    if from == to {
        format!("{from} {begin}\u{2013}{end} UTC")
    } else {
        format!("{from} {begin} \u{2013} {to} {end} UTC")
    }
}

/// Tenths of a per cent, rounded half up; `None` of nothing.
pub(crate) fn per_mille(part: Nanos, whole: Nanos) -> Option<i64> {
    if whole.0 <= 0 {
        return None;
    }
    let doubled = i128::from(part.0) * 2000 / i128::from(whole.0);
    let rounded = doubled.midpoint(doubled.signum());
    Some(rounded.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_stand_only_where_they_matter() {
        let text = |ns| ms(Nanos(ns));
        assert_eq!(text(0), "0");
        assert_eq!(text(1_307_000_000), "1,307");
        assert_eq!(text(1_307_499_000), "1,307");
        assert_eq!(text(12_345_678), "12.3");
        assert_eq!(text(4_000_000), "4");
        assert_eq!(text(2_340_000), "2.34");
        assert_eq!(text(40_000), "0.04");
        assert_eq!(text(4_499), "0.004");
        assert_eq!(text(1), "0");
        assert_eq!(text(-1), "0");
        assert_eq!(text(-42_000_000), "\u{2212}42");
        assert_eq!(text(i64::MIN), "\u{2212}9,223,372,036,855");
        assert_eq!(text(9_999_999), "10");
    }

    #[test]
    fn an_age_stands_in_its_largest_whole_unit() {
        for (seconds, text) in [
            (30 * 86_400, "30 days"),
            (86_400, "1 day"),
            (36 * 3_600, "36 hours"),
            (90 * 60, "90 minutes"),
            (61, "61 seconds"),
        ] {
            let spaced = age(Duration::from_secs(seconds)).replace(NBSP, " ");
            assert_eq!(spaced, text);
        }
    }

    #[test]
    fn shares_have_one_decimal() {
        assert_eq!(percent(Nanos(497), Nanos(1000)), "49.7\u{a0}%");
        assert_eq!(percent(Nanos(1), Nanos(1)), "100.0\u{a0}%");
        assert_eq!(percent(Nanos(954), Nanos(1500)), "63.6\u{a0}%");
        assert_eq!(percent(Nanos(5), Nanos(0)), "\u{b7}");
        assert_eq!(percent_whole(Nanos(497), Nanos(1000)), "50\u{a0}%");
        assert_eq!(percent_whole(Nanos(494), Nanos(1000)), "49\u{a0}%");
        assert_eq!(percent_whole(Nanos(1), Nanos(0)), "\u{b7}");
    }

    #[test]
    fn multiples_lose_their_decimal_from_ten_on() {
        assert_eq!(times(11), "1.1\u{d7}");
        assert_eq!(times(121), "12\u{d7}");
        assert_eq!(times(13_630), "1,363\u{d7}");
    }

    #[test]
    fn counts_and_instants_read_well() {
        assert_eq!(counted(1, "hop", "hops"), "1\u{a0}hop");
        assert_eq!(counted(1412, "hop", "hops"), "1,412\u{a0}hops");
        assert_eq!(word(3), "three");
        assert_eq!(word(31), "31");
        assert_eq!(
            instant(UnixNanos(1_791_364_767_418_000_000)),
            "2026-10-07 09:19:27.418 UTC"
        );
    }

    #[test]
    fn shares_of_counts_seconds_and_trends_read_well() {
        let spaced = |text: String| text.replace(NBSP, " ");
        assert_eq!(spaced(share(3214, 171_418, 2)), "1.87 %");
        assert_eq!(spaced(share(171_418, 184_320, 1)), "93.0 %");
        assert_eq!(share(1, 0, 1), UNKNOWN);
        assert_eq!(spaced(share(u64::MAX, u64::MAX, 0)), "100 %");
        let seconds = |ms| seconds(Nanos::from_millis(ms));
        assert_eq!(seconds(2_911_400), "2,911");
        assert_eq!(
            (seconds(12_440), seconds(1_250)),
            ("12.4".into(), "1.25".into())
        );
        assert_eq!((seconds(640), seconds(0)), ("0.64".into(), "0".into()));
        let trend = |thousandths| spaced(trend(thousandths));
        assert_eq!(
            (trend(73_200), trend(2000)),
            ("73\u{d7}".into(), "2.0\u{d7}".into())
        );
        assert_eq!(
            (trend(1070), trend(970)),
            ("+7 %".into(), "\u{2212}3 %".into())
        );
        assert_eq!((trend(1004), trend(996)), ("0 %".into(), "0 %".into()));
    }

    #[test]
    fn stretches_name_their_zone_and_each_day_once() {
        let at = |seconds: u64| UnixNanos(seconds * 1_000_000_000);
        let nine = 1_791_364_500;
        assert_eq!(
            stretch(at(nine), at(nine + 3600)),
            "2026-10-07 09:15\u{2013}10:15 UTC"
        );
        assert_eq!(
            stretch(at(nine + 30), at(nine + 86_400)),
            "2026-10-07 09:15:30 \u{2013} 2026-10-08 09:15 UTC"
        );
    }
}
