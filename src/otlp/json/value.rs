//! `AnyValue` and lists of `KeyValue`.

use std::borrow::Cow;

use super::fields::{self, Field};
use super::reader::{Read, Reader, Scalar, Shape};
use crate::model::{Attributes, Text, Value, key as key_of};
use crate::otlp::{Batch, ids};

/// A list of `KeyValue`, or an object of values as some converters write; `Err` when it is
/// neither.
pub(super) fn attributes(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    depth: usize,
) -> Read<Field<Attributes>> {
    let from = batch.pairs.len();
    let read = match reader.shape()? {
        Shape::Object => fields::object(reader, |reader, key| {
            let value = any(reader, batch, depth)?;
            batch.pairs.push((key_of(key), value));
            Ok(())
        })?,
        _ => fields::list(reader, |reader| pair(reader, batch, depth))?,
    };
    Ok(read.map(|()| batch.take_pairs(from)))
}

fn pair(reader: &mut Reader<'_>, batch: &mut Batch<'_>, depth: usize) -> Read<()> {
    let start = reader.at();
    if let Some(pair) = usual(reader) {
        batch.pairs.push(pair);
        return Ok(());
    }
    reader.seek(start);
    let mut key = Text::default();
    let mut value = Value::Empty;
    let read = fields::object(reader, |reader, field| {
        match field {
            "key" => key = fields::key(reader)?,
            "value" => value = any(reader, batch, depth)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    if read.is_ok() {
        batch.pairs.push((key, value));
    }
    Ok(())
}

/// A pair of a scalar as exporters write it, without a space or an escape: most of what there is
/// to read. `None` of any other, of which a part may be passed.
fn usual(reader: &mut Reader<'_>) -> Option<(Text, Value)> {
    reader.pass(r#"{"key":""#)?;
    let key = key_of(reader.plain()?);
    reader.pass(r#","value":{""#)?;
    let value = if reader.pass(r#"stringValue":""#).is_some() {
        Value::Str(Text::from(reader.plain()?))
    } else if reader.pass(r#"intValue":""#).is_some() {
        Value::Int(reader.plain()?.parse().ok()?)
    } else if reader.pass(r#"doubleValue":"#).is_some() {
        match reader.scalar().ok()? {
            Scalar::Number(digits) => Value::Double(digits.parse().ok()?),
            _ => return None,
        }
    } else if reader.pass(r#"boolValue":"#).is_some() {
        match reader.scalar().ok()? {
            Scalar::Bool(flag) => Value::Bool(flag),
            _ => return None,
        }
    } else {
        return None;
    };
    reader.pass("}}")?;
    Some((key, value))
}

/// An `AnyValue`; a bare scalar or list is taken for what it is.
pub(super) fn any(reader: &mut Reader<'_>, batch: &mut Batch<'_>, depth: usize) -> Read<Value> {
    match reader.shape()? {
        Shape::Other => Ok(bare(reader.scalar()?)),
        _ if depth >= batch.limits.max_depth => {
            // `{}` and a scalar in its wrapper are no further level.
            flat(reader, batch)
        }
        Shape::Array => array(reader, batch, depth + 1),
        Shape::Object => {
            let mut value = Value::Empty;
            reader.object(|reader, field| {
                match field {
                    "arrayValue" | "array_value" => {
                        value = within(reader, |reader| array(reader, batch, depth + 1))?;
                    }
                    "kvlistValue" | "kvlist_value" => {
                        value = within(reader, |reader| {
                            let map = attributes(reader, batch, depth + 1)?;
                            Ok(Value::Map(map.unwrap_or_default()))
                        })?;
                    }
                    _ => scalar(reader, field, &mut value)?,
                }
                Ok(())
            })?;
            Ok(value)
        }
    }
}

/// At the deepest level: scalars are read, anything deeper is skipped and noted.
fn flat(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<Value> {
    let mut value = Value::Empty;
    if reader.shape()? == Shape::Array {
        batch.too_deep = true;
        reader.skip()?;
        return Ok(value);
    }
    reader.object(|reader, field| {
        match field {
            "arrayValue" | "array_value" | "kvlistValue" | "kvlist_value" => {
                batch.too_deep = true;
                reader.skip()?;
            }
            _ => scalar(reader, field, &mut value)?,
        }
        Ok(())
    })?;
    Ok(value)
}

/// The scalar members of `AnyValue`.
fn scalar(reader: &mut Reader<'_>, field: &str, value: &mut Value) -> Read<()> {
    match field {
        "stringValue" | "string_value" => match reader.scalar()? {
            Scalar::Null | Scalar::Compound => {}
            other => *value = Value::Str(written(other)),
        },
        "intValue" | "int_value" => match reader.scalar()? {
            Scalar::Null | Scalar::Compound => {}
            other => {
                let text = written(other);
                *value = fields::signed(text.trim()).map_or(Value::Str(text), Value::Int);
            }
        },
        "doubleValue" | "double_value" => match reader.scalar()? {
            Scalar::Null | Scalar::Compound => {}
            other => {
                let text = written(other);
                *value = text.trim().parse().map_or(Value::Str(text), Value::Double);
            }
        },
        "boolValue" | "bool_value" => match reader.scalar()? {
            Scalar::Null | Scalar::Compound => {}
            Scalar::Bool(flag) => *value = Value::Bool(flag),
            other => {
                let text = written(other);
                *value = text
                    .trim()
                    .to_ascii_lowercase()
                    .parse()
                    .map_or(Value::Str(text), Value::Bool);
            }
        },
        "bytesValue" | "bytes_value" => match reader.scalar()? {
            Scalar::Null | Scalar::Compound => {}
            other => {
                let text = written(other);
                *value = ids::base64(text.as_bytes()).map_or(Value::Str(text), Value::Bytes);
            }
        },
        _ => {
            reader.skip()?;
        }
    }
    Ok(())
}

/// `{"values": …}`, or the list itself.
fn within(
    reader: &mut Reader<'_>,
    mut list: impl FnMut(&mut Reader<'_>) -> Read<Value>,
) -> Read<Value> {
    let mut value = Value::Empty;
    match reader.shape()? {
        Shape::Object => {
            // An empty list may leave `values` out; it is a list all the same.
            value = list(&mut Reader::new("[]"))?;
            reader.object(|reader, field| {
                if field == "values" {
                    value = list(reader)?;
                } else {
                    reader.skip()?;
                }
                Ok(())
            })?;
        }
        Shape::Array => value = list(reader)?,
        Shape::Other => {
            reader.scalar()?;
        }
    }
    Ok(value)
}

fn array(reader: &mut Reader<'_>, batch: &mut Batch<'_>, depth: usize) -> Read<Value> {
    let mut values = Vec::new();
    let read = fields::list(reader, |reader| {
        values.push(any(reader, batch, depth)?);
        Ok(())
    })?;
    values.shrink_to_fit();
    Ok(read.map_or(Value::Empty, |()| Value::Array(values)))
}

/// A scalar that stands without its wrapper.
fn bare(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null | Scalar::Compound => Value::Empty,
        Scalar::Bool(flag) => Value::Bool(flag),
        Scalar::Number(digits) => match digits.parse() {
            Ok(int) => Value::Int(int),
            Err(_) => digits.parse().map_or(Value::Empty, Value::Double),
        },
        text @ Scalar::Str(_) => Value::Str(written(text)),
    }
}

fn written(scalar: Scalar<'_>) -> Text {
    match scalar {
        Scalar::Str(Cow::Borrowed(text)) => Text::from(text),
        Scalar::Str(Cow::Owned(text)) => Text::from(text),
        Scalar::Number(digits) => Text::from(digits),
        Scalar::Bool(flag) => Text::const_new(if flag { "true" } else { "false" }),
        Scalar::Null | Scalar::Compound => Text::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::Limits;

    fn read(text: &str) -> (Read<Field<Attributes>>, usize) {
        let (limits, mut reader) = (Limits::default(), Reader::new(text));
        let read = attributes(&mut reader, &mut Batch::new(&limits), 0);
        (read, reader.at())
    }

    #[test]
    fn pairs_as_exporters_write_them_are_read_as_any_other() {
        for value in [
            r#"{"stringValue":"v"}"#,
            r#"{"stringValue":""}"#,
            r#"{"stringValue":"a\"b"}"#,
            r#"{"stringValue":7}"#,
            r#"{"intValue":"-7"}"#,
            r#"{"intValue":" 7 "}"#,
            r#"{"intValue":7}"#,
            r#"{"intValue":"many"}"#,
            r#"{"intValue":"1e3"}"#,
            r#"{"doubleValue":0.5}"#,
            r#"{"doubleValue":-1e400}"#,
            r#"{"doubleValue":"NaN"}"#,
            r#"{"boolValue":true}"#,
            r#"{"boolValue":"false"}"#,
            r#"{"stringValue":"v","intValue":"7"}"#,
            r#"{"arrayValue":{"values":[{"intValue":"1"}]}}"#,
            "{}",
            "7",
        ] {
            for key in ["k", "http.response.status_code", "a\\u0062", ""] {
                let usual = format!(r#"[{{"key":"{key}","value":{value}}}]"#);
                let spaced = format!(r#"[ {{ "key":"{key}","value":{value}}}]"#);
                let (read_usual, end) = read(&usual);
                assert_eq!(end, usual.len(), "{usual}");
                // NaN is not itself.
                assert_eq!(format!("{read_usual:?}"), format!("{:?}", read(&spaced).0));
            }
        }
        for broken in [
            r#"[{"key":"k","value":{"stringValue":"v"}"#,
            r#"[{"key":"k","value":{"intValue":"7"#,
            r#"[{"key":"k","value":{"doubleValue":01}}]"#,
            r#"[{"key":"k","value":{"boolValue":truely}}]"#,
            "[{\"key\":\"k\u{1}\",\"value\":{}}]",
        ] {
            let spaced = broken.replacen(r#"{"key":"#, r#"{ "key":"#, 1);
            let faults = [broken, &spaced].map(|text| read(text).0.map_err(|fault| fault.what));
            assert_eq!(faults[0], faults[1], "{broken}");
            assert!(faults[0].is_err(), "{broken}");
        }
    }
}
