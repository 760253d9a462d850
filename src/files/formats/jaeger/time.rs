//! Times: microseconds in the API, RFC 3339 and Go's durations in the protobuf types.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use crate::files::formats::plain;
use crate::model::UnixNanos;
use crate::otlp::json::fields::{self, Field};
use crate::otlp::json::reader::{Read, Reader, Scalar};

/// How a time or a duration was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Time {
    /// Not at all.
    #[default]
    None,
    /// As a number of microseconds, here in nanoseconds.
    Micros(i128),
    /// As a text with units or a date.
    Nanos(i128),
}

impl Time {
    /// The instant; nothing is the epoch, and before it there are none.
    pub(super) fn instant(self) -> Field<UnixNanos> {
        match self {
            Self::None => Ok(UnixNanos(0)),
            Self::Micros(nanos) | Self::Nanos(nanos) => {
                u64::try_from(nanos).map(UnixNanos).map_err(|_| ())
            }
        }
    }

    /// When a span ends that began at `start` and took this long. Where starts are dates, a number
    /// counts nanoseconds (Go's `time.Duration`), else microseconds.
    pub(super) fn end(self, start: Self) -> Field<UnixNanos> {
        let nanos = match (self, start) {
            (Self::None, _) => 0,
            (Self::Micros(nanos), Self::Nanos(_)) => nanos / 1000,
            (Self::Micros(nanos) | Self::Nanos(nanos), _) => nanos,
        };
        let end = i128::from(start.instant()?.0).saturating_add(nanos);
        Ok(UnixNanos(end.clamp(0, u64::MAX.into()) as u64))
    }
}

/// An instant: microseconds since the epoch, or RFC 3339.
pub(super) fn instant(reader: &mut Reader<'_>) -> Read<Field<Time>> {
    either(reader, |text| {
        let time: Timestamp = text.parse().ok()?;
        Some(time.as_nanosecond())
    })
}

/// Milliseconds since the epoch.
pub(super) fn millis(reader: &mut Reader<'_>) -> Read<Field<Time>> {
    let millis = fields::nanos(reader)?;
    Ok(millis.map(|millis| Time::Micros(i128::from(millis) * 1_000_000)))
}

/// A duration: microseconds, or Go's `4.2s`.
pub(super) fn duration(reader: &mut Reader<'_>) -> Read<Field<Time>> {
    either(reader, |text| {
        let duration: SignedDuration = text.parse().ok()?;
        Some(duration.as_nanos())
    })
}

/// A number of microseconds, or a text that is none and that `worded` reads.
fn either(reader: &mut Reader<'_>, worded: impl Fn(&str) -> Option<i128>) -> Read<Field<Time>> {
    let mut look = reader.clone();
    let written = match look.scalar()? {
        Scalar::Str(text) => text,
        Scalar::Number(digits) => Cow::Borrowed(digits),
        _ => Cow::Borrowed(""),
    };
    let text = written.trim();
    // Whole microseconds are the rule, and of these each is right up to the last year of OTLP.
    let whole = text.parse::<i64>().ok();
    let time = whole.map(|micros| Time::Micros(i128::from(micros) * 1000));
    let time = match time {
        Some(time) => Ok(time),
        None if text.is_empty() || text.parse::<f64>().is_ok() => {
            let micros = plain::micros(reader)?;
            return Ok(micros.map(|micros| micros.map_or(Time::None, |ns| Time::Micros(ns.into()))));
        }
        None => worded(text).map(Time::Nanos).ok_or(()),
    };
    reader.skip()?;
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_microseconds_or_dates() {
        let read = |json| instant(&mut Reader::new(json)).unwrap();
        let time = Ok(Time::Nanos(1_485_467_191_639_875_139));
        assert_eq!(read(r#""2017-01-26T16:46:31.639875139-05:00""#), time);
        assert_eq!(read(r#""2017-01-26T21:46:31.639875139Z""#), time);
        let time = Ok(Time::Micros(1_485_467_191_639_875_000));
        assert_eq!(read("1485467191639875"), time);
        assert_eq!(read(r#""1485467191639875""#), time);
        assert_eq!(read("null"), Ok(Time::None));
        assert_eq!(read(r#""""#), Ok(Time::None));
        assert_eq!(
            read("1485467191639875.5"),
            Ok(Time::Micros(1_485_467_191_639_875_500))
        );
        assert_eq!(
            read("1.48546719163987e15"),
            Ok(Time::Micros(1_485_467_191_639_870_000))
        );
        let last = u64::MAX / 1000 * 1000;
        let text = (u64::MAX / 1000).to_string();
        let latest = instant(&mut Reader::new(&text)).unwrap().unwrap();
        assert_eq!(latest.instant(), Ok(UnixNanos(last)));
        assert_eq!(read(r#""yesterday""#), Err(()));
        assert_eq!(
            read(r#""1969-12-31T00:00:00Z""#).unwrap().instant(),
            Err(())
        );
        let read = |json| millis(&mut Reader::new(json)).unwrap();
        assert_eq!(
            read("1485467191639"),
            Ok(Time::Micros(1_485_467_191_639_000_000))
        );
        assert_eq!(read("18446744073709551615").unwrap().instant(), Err(()));
    }

    #[test]
    fn durations_are_microseconds_or_gos() {
        let read = |json| duration(&mut Reader::new(json)).unwrap();
        for (json, nanos) in [
            (r#""5000ns""#, 5000),
            (r#""4.2s""#, 4_200_000_000),
            (r#""22.938ms""#, 22_938_000),
            (r#""1m0.5s""#, 60_500_000_000),
            (r#""1h2m3s""#, 3_723_000_000_000),
            ("\"7µs\"", 7000),
            (r#""0s""#, 0),
            (r#""-5ms""#, -5_000_000),
        ] {
            assert_eq!(read(json), Ok(Time::Nanos(nanos)), "{json}");
        }
        assert_eq!(read("5"), Ok(Time::Micros(5000)));
        assert_eq!(read(r#""5""#), Ok(Time::Micros(5000)));
        assert_eq!(read(r#""long""#), Err(()));
    }

    #[test]
    fn a_number_beside_a_date_counts_nanoseconds() {
        let end = |time: Time, start: Time| time.end(start).map(|end| end.0);
        let number = Time::Micros(22_938_000_000);
        assert_eq!(end(number, Time::Nanos(1)), Ok(22_938_001));
        assert_eq!(end(number, Time::Micros(1)), Ok(22_938_000_001));
        assert_eq!(end(Time::Nanos(5), Time::Micros(1)), Ok(6));
        assert_eq!(end(Time::Nanos(-5), Time::Micros(1)), Ok(0));
        assert_eq!(end(Time::Micros(i128::MAX), Time::Micros(1)), Ok(u64::MAX));
        assert_eq!(end(Time::None, Time::Micros(-1)), Err(()));
    }
}
