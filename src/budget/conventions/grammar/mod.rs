//! The grammars of values. A text either is a value or it is not: nothing is guessed, and a
//! text that is not is never 0.

mod duration;
mod instant;

use std::str::FromStr;

use crate::model::{Nanos, Text, UnixNanos, Value};

pub(super) use duration::{Unit, decimal};

use duration::of_number;

/// How a value is written, its unit included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grammar {
    /// A decimal number of seconds.
    Seconds,
    /// A decimal number of milliseconds.
    Millis,
    /// A decimal number of microseconds.
    Micros,
    /// A whole number of nanoseconds.
    Nanos,
    /// Milliseconds, or `null` or `None` where there is no deadline.
    OptionalMillis,
    /// `grpc-timeout` of the gRPC protocol: at most eight digits and a unit of `H M S m u n`.
    GrpcTimeout,
    /// Go's `time.Duration`: `1m30s`, `1.5ms`.
    GoDuration,
    /// Linkerd's: a whole number with a unit of `ms s m h d`, or `0`.
    LinkerdDuration,
    /// ISO 8601, as Java prints it: `PT1M30S`.
    IsoDuration,
    /// Twitter's and Scala's: `200.milliseconds`, `1.minutes+30.seconds`.
    ScalaDuration,
    /// .NET's `TimeSpan`: `00:00:30`, `1.02:03:04.5`.
    TimeSpan,
    /// Celery's pair of a hard and a soft limit in seconds.
    CeleryTimelimit,
    /// `wait=SECONDS` among the preferences of RFC 7240.
    PreferWait,
    /// A Go duration, a number of seconds, or `never`.
    MessageTtl,
    /// Milliseconds since 1970, 12 to 14 digits.
    EpochMillis,
    /// Seconds since 1970, 9 to 11 digits.
    EpochSeconds,
    /// RFC 3339, with an offset.
    Rfc3339,
    /// ISO 8601 date and time; without an offset it is UTC.
    IsoInstant,
    /// An HTTP date: `Tue, 01 Jan 2030 00:00:00 GMT`.
    HttpDate,
    /// RFC 3339, an HTTP date, or seconds to nanoseconds since 1970 told apart by their size.
    Instant,
    /// Finagle's pair of nanoseconds since 1970: when it was written, and the deadline.
    FinaglePair,
    /// Finagle's date: `2030-01-01 00:00:00:123 +0000`.
    FinagleTime,
    /// `amz-sdk-request`: a `ttl` to the second and the attempt.
    AwsSdkRequest,
    /// Of `X-TIMEx-Deadline`: `ms=` what is left, or `wall=` an instant.
    Timex,
    /// A duration with a unit, an instant, or a number whose unit the key's end names.
    Guess,
    /// `true`, `false`, `1` or `0`.
    Flag,
    /// A whole number from 0.
    Count,
    /// A word.
    Word,
}

impl Grammar {
    /// Every grammar, by the name that the configuration uses for it.
    pub const ALL: [(&'static str, Self); 28] = [
        ("seconds", Self::Seconds),
        ("millis", Self::Millis),
        ("micros", Self::Micros),
        ("nanos", Self::Nanos),
        ("optional_millis", Self::OptionalMillis),
        ("grpc_timeout", Self::GrpcTimeout),
        ("go_duration", Self::GoDuration),
        ("linkerd_duration", Self::LinkerdDuration),
        ("iso_duration", Self::IsoDuration),
        ("scala_duration", Self::ScalaDuration),
        ("timespan", Self::TimeSpan),
        ("celery_timelimit", Self::CeleryTimelimit),
        ("prefer_wait", Self::PreferWait),
        ("message_ttl", Self::MessageTtl),
        ("epoch_millis", Self::EpochMillis),
        ("epoch_seconds", Self::EpochSeconds),
        ("rfc3339", Self::Rfc3339),
        ("iso_instant", Self::IsoInstant),
        ("http_date", Self::HttpDate),
        ("instant", Self::Instant),
        ("finagle_pair", Self::FinaglePair),
        ("finagle_time", Self::FinagleTime),
        ("aws_sdk_request", Self::AwsSdkRequest),
        ("timex", Self::Timex),
        ("guess", Self::Guess),
        ("flag", Self::Flag),
        ("count", Self::Count),
        ("word", Self::Word),
    ];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        super::name_in(&Self::ALL, self)
    }

    /// Whether it yields durations or instants.
    pub(super) fn is_time(self) -> bool {
        !matches!(self, Self::Flag | Self::Count | Self::Word)
    }
}

impl FromStr for Grammar {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        super::by_name(&Self::ALL, name)
    }
}

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
    /// It says that there is none.
    Unset,
    /// Several values in one.
    Several(Vec<Parsed>),
}

/// Reads one scalar that stands under `key`; `None` if it does not follow the grammar.
pub(super) fn parse(grammar: Grammar, key: &str, value: &Value) -> Option<Parsed> {
    let number = |unit| match value {
        Value::Str(text) => decimal(text, unit),
        _ => of_number(value, unit),
    };
    let text = || value.as_str().map(str::trim);
    let time = |found: Option<Nanos>| found.map(Parsed::Time);
    let at = |found: Option<UnixNanos>| found.map(Parsed::Instant);
    match grammar {
        Grammar::Seconds => time(number(Unit::Second)),
        Grammar::Millis => time(number(Unit::Milli)),
        Grammar::Micros => time(number(Unit::Micro)),
        Grammar::Nanos => match value {
            Value::Double(_) => None,
            Value::Str(text) if text.contains('.') => None,
            _ => time(number(Unit::Nano)),
        },
        Grammar::OptionalMillis => match value {
            Value::Str(text) if matches!(text.trim(), "null" | "None") => Some(Parsed::Unset),
            _ => time(number(Unit::Milli)),
        },
        Grammar::GrpcTimeout => time(duration::grpc_timeout(text()?)),
        Grammar::GoDuration => time(duration::go(text()?)),
        Grammar::LinkerdDuration => match value {
            Value::Int(0) => Some(Parsed::Time(Nanos::ZERO)),
            _ => time(duration::linkerd(text()?)),
        },
        Grammar::IsoDuration => time(duration::iso(text()?)),
        Grammar::ScalaDuration => time(duration::scala(text()?)),
        Grammar::TimeSpan => time(duration::timespan(text()?)),
        Grammar::CeleryTimelimit => celery(value),
        Grammar::PreferWait => time(duration::prefer_wait(text()?)),
        Grammar::MessageTtl => match text() {
            Some("never") => Some(Parsed::Unset),
            Some(text) => time(duration::go(text).or_else(|| decimal(text, Unit::Second))),
            None => time(number(Unit::Second)),
        },
        Grammar::EpochMillis => at(instant::epoch(value, 12..=14, 1_000_000)),
        Grammar::EpochSeconds => at(instant::epoch(value, 9..=11, 1_000_000_000)),
        Grammar::Rfc3339 => at(instant::rfc3339(text()?)),
        Grammar::IsoInstant => at(instant::iso(text()?)),
        Grammar::HttpDate => at(instant::http_date(text()?)),
        Grammar::Instant => at(instant::by_size(value)),
        Grammar::FinaglePair => at(instant::finagle_pair(text()?)),
        Grammar::FinagleTime => at(instant::finagle_time(text()?)),
        Grammar::AwsSdkRequest => aws_sdk_request(text()?),
        Grammar::Timex => timex(text()?),
        Grammar::Guess => guess(key, value),
        Grammar::Flag => flag(value).map(|set| Parsed::Count(u32::from(set))),
        Grammar::Count => value
            .as_int()
            .and_then(|count| u32::try_from(count).ok())
            .map(Parsed::Count),
        Grammar::Word => text()
            .filter(|word| !word.is_empty())
            .map(|word| Parsed::Word(word.to_lowercase().into())),
    }
}

/// `true`, `false`, `1` or `0`, in any case.
fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Int(0) => Some(false),
        Value::Int(1) => Some(true),
        Value::Str(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A pair of limits in seconds, the hard one first; an empty text and `None` are no limit.
fn celery(value: &Value) -> Option<Parsed> {
    let limit = |limit: &Value| match limit {
        Value::Empty => Some(Parsed::Unset),
        Value::Str(text) if matches!(text.trim(), "" | "None") => Some(Parsed::Unset),
        Value::Str(text) => decimal(text, Unit::Second).map(Parsed::Time),
        other => of_number(other, Unit::Second).map(Parsed::Time),
    };
    let (hard, soft) = match value {
        Value::Array(pair) => match &pair[..] {
            [hard, soft] => (limit(hard)?, limit(soft)?),
            _ => return None,
        },
        Value::Str(text) => {
            let inner = text.trim().trim_start_matches(['[', '(']);
            let (hard, soft) = inner.trim_end_matches([']', ')']).split_once(',')?;
            let bare = |text: &str| Value::Str(text.trim().trim_matches(['"', '\'']).into());
            (limit(&bare(hard))?, limit(&bare(soft))?)
        }
        _ => return None,
    };
    Some(Parsed::Several(vec![hard, soft]))
}

/// `ttl=20300101T000000Z; attempt=2; max=3`: the first attempt has no `ttl`.
fn aws_sdk_request(text: &str) -> Option<Parsed> {
    let mut found = Vec::new();
    for part in text.split([';', ',']) {
        match part.trim().split_once('=') {
            Some(("ttl", at)) => found.push(Parsed::Instant(instant::compact(at.trim())?)),
            Some(("attempt", number)) => found.push(Parsed::Count(number.trim().parse().ok()?)),
            _ => {}
        }
    }
    (!found.is_empty()).then_some(Parsed::Several(found))
}

/// `ms=1837;origin=a;depth=2`, or `wall=` and an instant.
fn timex(text: &str) -> Option<Parsed> {
    let first = text.split(';').next()?;
    match first.trim().split_once('=')? {
        ("ms", left) => decimal(left, Unit::Milli).map(Parsed::Time),
        ("wall", at) => instant::iso(at.trim()).map(Parsed::Instant),
        _ => None,
    }
}

/// What tells its meaning by itself, or by the unit at the end of its key. A bare number without
/// one has no unit: then it is for the configuration to say.
fn guess(key: &str, value: &Value) -> Option<Parsed> {
    if let Some(text) = value.as_str().map(str::trim) {
        let timed = duration::with_unit(text).map(Parsed::Time);
        if let Some(found) = timed {
            return Some(found);
        }
    }
    if let Some(at) = instant::by_size(value) {
        return Some(Parsed::Instant(at));
    }
    let unit = Unit::at_end_of(key)?;
    match value {
        Value::Str(text) => decimal(text, unit).map(Parsed::Time),
        _ => of_number(value, unit).map(Parsed::Time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(grammar: Grammar, text: &str) -> Option<Parsed> {
        parse(grammar, "k", &Value::Str(text.into()))
    }

    #[test]
    fn names_are_one_to_one() {
        for (name, grammar) in Grammar::ALL {
            assert_eq!((grammar.name(), name.parse()), (name, Ok(grammar)));
        }
        assert!("ms".parse::<Grammar>().is_err());
    }

    #[test]
    fn milliseconds_are_plain_decimal_numbers() {
        let time = |text| match read(Grammar::Millis, text) {
            Some(Parsed::Time(time)) => Some(time.0),
            _ => None,
        };
        assert_eq!(time(" 497 "), Some(497_000_000));
        assert_eq!(time("-20"), Some(-20_000_000));
        assert_eq!(time("0.5"), Some(500_000));
        assert_eq!(time("1300.0"), Some(1_300_000_000));
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
            "250ms",
            ".5",
            "99999999999999999999",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
        let value = |value| parse(Grammar::Millis, "k", &value);
        assert_eq!(value(Value::Double(f64::NAN)), None);
        assert_eq!(
            value(Value::Double(1.25)),
            Some(Parsed::Time(Nanos(1_250_000)))
        );
        assert_eq!(value(Value::Int(i64::MAX)), None);
        assert_eq!(value(Value::Double(-f64::MAX)), None);
        assert_eq!(value(Value::Bool(true)), None);
    }

    #[test]
    fn units_are_part_of_the_grammar() {
        let ten = |grammar| read(grammar, "10");
        assert_eq!(
            ten(Grammar::Seconds),
            Some(Parsed::Time(Nanos(10_000_000_000)))
        );
        assert_eq!(ten(Grammar::Micros), Some(Parsed::Time(Nanos(10_000))));
        assert_eq!(ten(Grammar::Nanos), Some(Parsed::Time(Nanos(10))));
        assert_eq!(
            read(Grammar::Seconds, "7.5"),
            Some(Parsed::Time(Nanos(7_500_000_000)))
        );
        assert_eq!(read(Grammar::Seconds, "10s"), None);
        assert_eq!(read(Grammar::Nanos, "5s"), None);
        assert_eq!(read(Grammar::Nanos, "1.5"), None);
    }

    #[test]
    fn a_missing_deadline_may_be_spelled_out() {
        assert_eq!(read(Grammar::OptionalMillis, "null"), Some(Parsed::Unset));
        assert_eq!(read(Grammar::OptionalMillis, "None"), Some(Parsed::Unset));
        assert_eq!(
            read(Grammar::OptionalMillis, "1500"),
            Some(Parsed::Time(Nanos::from_millis(1500)))
        );
        assert_eq!(read(Grammar::OptionalMillis, "1.5s"), None);
        assert_eq!(read(Grammar::MessageTtl, "never"), Some(Parsed::Unset));
        assert_eq!(
            read(Grammar::MessageTtl, "5"),
            Some(Parsed::Time(Nanos::from_millis(5000)))
        );
        assert_eq!(
            read(Grammar::MessageTtl, "1m"),
            Some(Parsed::Time(Nanos::from_millis(60_000)))
        );
        assert_eq!(read(Grammar::MessageTtl, "soon"), None);
    }

    #[test]
    fn a_task_has_a_hard_and_a_soft_limit() {
        let seconds = |s: i64| Parsed::Time(Nanos::from_millis(s * 1000));
        let pair = |hard, soft| Some(Parsed::Several(vec![hard, soft]));
        for text in ["[300, 240]", "(300, 240)", "300,240", "[\"300\", \"240\"]"] {
            assert_eq!(
                read(Grammar::CeleryTimelimit, text),
                pair(seconds(300), seconds(240)),
                "{text}"
            );
        }
        assert_eq!(
            read(Grammar::CeleryTimelimit, "[\"\", \"240\"]"),
            pair(Parsed::Unset, seconds(240))
        );
        assert_eq!(
            read(Grammar::CeleryTimelimit, "(None, None)"),
            pair(Parsed::Unset, Parsed::Unset)
        );
        let array = Value::Array(vec![Value::Int(300), Value::Int(240)]);
        assert_eq!(
            parse(Grammar::CeleryTimelimit, "k", &array),
            pair(seconds(300), seconds(240))
        );
        for bad in ["300", "a, b", "1, 2, 3", ""] {
            assert_eq!(read(Grammar::CeleryTimelimit, bad), None, "{bad}");
        }
    }

    #[test]
    fn an_sdk_of_amazon_tells_attempt_and_end() {
        let at = Parsed::Instant(UnixNanos(1_893_456_000_000_000_000));
        assert_eq!(
            read(
                Grammar::AwsSdkRequest,
                "ttl=20300101T000000Z; attempt=2; max=3"
            ),
            Some(Parsed::Several(vec![at, Parsed::Count(2)]))
        );
        assert_eq!(
            read(Grammar::AwsSdkRequest, "attempt=1"),
            Some(Parsed::Several(vec![Parsed::Count(1)]))
        );
        for bad in ["max=3", "ttl=soon", "attempt=x", ""] {
            assert_eq!(read(Grammar::AwsSdkRequest, bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_left_or_when_it_ends_is_told_by_the_first_parameter() {
        assert_eq!(
            read(Grammar::Timex, "ms=1837;origin=svcA;depth=2"),
            Some(Parsed::Time(Nanos::from_millis(1837)))
        );
        assert_eq!(
            read(Grammar::Timex, "wall=2030-01-01T00:00:00Z"),
            Some(Parsed::Instant(UnixNanos(1_893_456_000_000_000_000)))
        );
        for bad in ["1837", "ms=", "depth=2;ms=1", ""] {
            assert_eq!(read(Grammar::Timex, bad), None, "{bad}");
        }
    }

    #[test]
    fn a_number_means_what_its_size_or_its_key_says_or_nothing() {
        let guess = |key: &str, text: &str| parse(Grammar::Guess, key, &Value::Str(text.into()));
        let ms = |ms| Some(Parsed::Time(Nanos::from_millis(ms)));
        assert_eq!(guess("x-request-timeout", "30s"), ms(30_000));
        assert_eq!(guess("x-request-timeout", "PT2S"), ms(2000));
        assert_eq!(guess("x-request-timeout", "30"), None);
        assert_eq!(guess("x-deadline-ms", "30"), ms(30));
        assert_eq!(guess("rpc.deadline_seconds", "2"), ms(2000));
        assert_eq!(guess("timeoutMs", "30"), ms(30));
        let at = Some(Parsed::Instant(UnixNanos(1_893_456_000_123_000_000)));
        assert_eq!(guess("x-deadline-ms", "1893456000123"), at);
        assert_eq!(guess("x-deadline", "2030-01-01T00:00:00.123Z"), at);
        assert_eq!(guess("x-deadline", "tomorrow"), None);
        assert_eq!(
            parse(Grammar::Guess, "a.timeout_ms", &Value::Int(250)),
            ms(250)
        );
    }

    #[test]
    fn flags_and_counts_are_not_guessed() {
        for (text, is) in [("true", 1), ("1", 1), ("False", 0), ("0", 0)] {
            assert_eq!(read(Grammar::Flag, text), Some(Parsed::Count(is)), "{text}");
        }
        assert_eq!(read(Grammar::Flag, "yes"), None);
        assert_eq!(read(Grammar::Count, "2"), Some(Parsed::Count(2)));
        for bad in ["x", "-1", ""] {
            assert_eq!(read(Grammar::Count, bad), None, "{bad}");
        }
    }
}
