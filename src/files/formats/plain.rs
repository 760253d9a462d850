//! Plain JSON values, as they stand in formats without OTLP's typed ones.

use std::borrow::Cow;

use crate::model::{Attributes, Text, Value, key as key_of};
use crate::otlp::Batch;
use crate::otlp::json::fields::{self, Field};
use crate::otlp::json::reader::{Read, Reader, Scalar, Shape};

/// Any value as it stands: numbers are integers where they are whole.
pub(super) fn value(reader: &mut Reader<'_>, batch: &mut Batch<'_>, depth: usize) -> Read<Value> {
    match reader.shape()? {
        Shape::Other => Ok(scalar(reader.scalar()?)),
        _ if depth >= batch.limits.max_depth => {
            batch.too_deep = true;
            reader.skip()?;
            Ok(Value::Empty)
        }
        Shape::Array => {
            let mut values = Vec::new();
            reader.array(|reader| {
                values.push(value(reader, batch, depth + 1)?);
                Ok(())
            })?;
            values.shrink_to_fit();
            Ok(Value::Array(values))
        }
        Shape::Object => {
            let map = attributes(reader, batch, depth + 1)?;
            Ok(map.map_or(Value::Empty, Value::Map))
        }
    }
}

/// The members of an object; `Err` for what is none, nothing for null.
pub(super) fn attributes(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    depth: usize,
) -> Read<Field<Attributes>> {
    let mut pairs = Vec::new();
    let read = fields::object(reader, |reader, key| {
        let value = value(reader, batch, depth)?;
        pairs.push((key_of(key), value));
        Ok(())
    })?;
    pairs.shrink_to_fit();
    Ok(read.map(|()| Attributes(pairs)))
}

/// What a scalar says; nothing for null.
pub(super) fn scalar(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null | Scalar::Compound => Value::Empty,
        Scalar::Bool(flag) => Value::Bool(flag),
        Scalar::Number(digits) => match digits.parse() {
            Ok(int) => Value::Int(int),
            Err(_) => digits.parse().map_or(Value::Empty, Value::Double),
        },
        Scalar::Str(Cow::Borrowed(text)) => Value::Str(Text::from(text)),
        Scalar::Str(Cow::Owned(text)) => Value::Str(Text::from(text)),
    }
}

/// Nanoseconds from microseconds as people write them: a number or a string of one, whole, with a
/// fraction, or as `1.58703012360987e+15`. `None` for null and empty, `Err` for what is no time.
pub(super) fn micros(reader: &mut Reader<'_>) -> Read<Field<Option<i64>>> {
    Ok(match reader.scalar()? {
        Scalar::Null => Ok(None),
        Scalar::Number(digits) => nanos_of_micros(digits).map(Some).ok_or(()),
        Scalar::Str(text) if text.trim().is_empty() => Ok(None),
        Scalar::Str(text) => nanos_of_micros(text.trim()).map(Some).ok_or(()),
        Scalar::Bool(_) | Scalar::Compound => Err(()),
    })
}

fn nanos_of_micros(digits: &str) -> Option<i64> {
    if let Ok(whole) = digits.parse::<i64>() {
        return whole.checked_mul(1000);
    }
    let float: f64 = digits.parse().ok()?;
    // Whole and fraction apart: a double holds today's microseconds, but not its nanoseconds.
    let whole = float.trunc();
    let fraction = (float.fract() * 1000.0).round();
    (whole.abs() < 9.2e15).then(|| whole as i64 * 1000 + fraction as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_come_in_every_spelling() {
        let read = |json| micros(&mut Reader::new(json)).unwrap();
        for json in [
            "1587030123609870",
            "\"1587030123609870\"",
            "1.58703012360987e+15",
            "\"1.58703012360987E15\"",
            "1587030123609870.0",
        ] {
            assert_eq!(read(json), Ok(Some(1_587_030_123_609_870_000)), "{json}");
        }
        assert_eq!(read("12.345"), Ok(Some(12_345)));
        assert_eq!(read("-3"), Ok(Some(-3000)));
        assert_eq!(read("null"), Ok(None));
        assert_eq!(read("\"\""), Ok(None));
        for json in ["\"soon\"", "true", "[1]", "1e300", "9223372036854775807"] {
            assert_eq!(read(json), Err(()), "{json}");
        }
    }
}
