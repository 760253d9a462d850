//! Tags: named values with a type beside them.

use crate::files::formats::{lists, plain};
use crate::model::{Text, Value};
use crate::otlp::ids;
use crate::otlp::json::fields;
use crate::otlp::json::reader::{Read, Reader, Scalar, Shape};

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    /// In everything but Elasticsearch documents.
    Base64,
    /// In Elasticsearch documents.
    Hex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Str,
    Bool,
    Int,
    Double,
    Bytes,
}

/// Adds a list of tags, or an object of values that have none of their types.
pub(super) fn list(
    reader: &mut Reader<'_>,
    binary: Binary,
    out: &mut Vec<(Text, Value)>,
) -> Read<()> {
    if reader.shape()? == Shape::Object {
        return object(reader, out);
    }
    fields::list(reader, |reader| tag(reader, binary, out)).map(|_| ())
}

/// Adds an object of values, as Elasticsearch has it for tags that are fields: `@` is a dot.
pub(super) fn object(reader: &mut Reader<'_>, out: &mut Vec<(Text, Value)>) -> Read<()> {
    fields::object(reader, |reader, key| {
        let key = Text::from(key.replace('@', "."));
        let value = listed(&key, bare(reader)?);
        out.push((key, value));
        Ok(())
    })
    .map(|_| ())
}

fn tag(reader: &mut Reader<'_>, binary: Binary, out: &mut Vec<(Text, Value)>) -> Read<()> {
    let mut key = Text::default();
    let mut kind = None;
    let mut value = None;
    let read = fields::object(reader, |reader, field| {
        match field {
            "key" => key = fields::key(reader)?,
            "type" | "vType" | "v_type" => kind = type_of(&reader.scalar()?),
            "value" => value = Some(bare(reader)?),
            _ => {
                // `vStr`, `vBool` …: the name is the type, where none is said.
                let Some(own) = valued(field) else {
                    return reader.skip().map(drop);
                };
                kind = kind.or(Some(own));
                value = Some(bare(reader)?);
            }
        }
        Ok(())
    })?;
    if read.is_ok() {
        let value = value.or_else(|| kind.map(Type::left_out));
        let value = listed(&key, typed(value.unwrap_or_default(), kind, binary));
        out.push((key, value));
    }
    Ok(())
}

fn type_of(scalar: &Scalar<'_>) -> Option<Type> {
    let name = match scalar {
        Scalar::Str(name) => name,
        Scalar::Number(digits) => *digits,
        _ => return None,
    };
    Some(match name.to_ascii_lowercase().as_str() {
        "string" | "0" => Type::Str,
        "bool" | "1" => Type::Bool,
        "int64" | "2" => Type::Int,
        "float64" | "3" => Type::Double,
        "binary" | "4" => Type::Bytes,
        _ => return None,
    })
}

fn valued(field: &str) -> Option<Type> {
    Some(match field {
        "vStr" | "v_str" => Type::Str,
        "vBool" | "v_bool" => Type::Bool,
        "vInt64" | "v_int64" => Type::Int,
        "vFloat64" | "v_float64" => Type::Double,
        "vBinary" | "v_binary" => Type::Bytes,
        _ => return None,
    })
}

impl Type {
    /// What protobuf's JSON leaves out.
    fn left_out(self) -> Value {
        match self {
            Self::Str => Value::Str(Text::default()),
            Self::Bool => Value::Bool(false),
            Self::Int => Value::Int(0),
            Self::Double => Value::Double(0.0),
            Self::Bytes => Value::Bytes(Vec::new()),
        }
    }
}

/// A value as JSON has it; a compound one is its text.
fn bare(reader: &mut Reader<'_>) -> Read<Value> {
    Ok(match reader.shape()? {
        Shape::Other => plain::scalar(reader.scalar()?),
        Shape::Object | Shape::Array => Value::Str(Text::from(reader.skip()?)),
    })
}

fn listed(key: &str, value: Value) -> Value {
    let list = value.as_str().and_then(|text| lists::read(key, text));
    list.unwrap_or(value)
}

/// The value in its type; one that does not fit its type stays as it is written.
fn typed(value: Value, kind: Option<Type>, binary: Binary) -> Value {
    match (kind, value) {
        (Some(Type::Str), Value::Bool(flag)) => Value::Str(Text::from(flag.to_string())),
        (Some(Type::Str), value @ (Value::Int(_) | Value::Double(_))) => {
            Value::Str(Text::from(value.to_string()))
        }
        (Some(Type::Bool), Value::Str(text)) => match text.trim() {
            "true" | "True" | "TRUE" | "1" => Value::Bool(true),
            "false" | "False" | "FALSE" | "0" => Value::Bool(false),
            _ => Value::Str(text),
        },
        (Some(Type::Int), Value::Str(text)) => {
            fields::signed(text.trim()).map_or(Value::Str(text), Value::Int)
        }
        (Some(Type::Int), Value::Double(double)) => Value::Double(double)
            .as_int()
            .map_or(Value::Double(double), Value::Int),
        (Some(Type::Double), Value::Str(text)) => {
            text.trim().parse().map_or(Value::Str(text), Value::Double)
        }
        (Some(Type::Double), Value::Int(int)) => Value::Double(int as f64),
        (Some(Type::Bytes), Value::Str(text)) => {
            bytes(&text, binary).map_or(Value::Str(text), Value::Bytes)
        }
        (_, value) => value,
    }
}

fn bytes(text: &str, binary: Binary) -> Option<Vec<u8>> {
    match binary {
        Binary::Base64 => ids::base64(text.as_bytes()),
        Binary::Hex => {
            let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
            let pairs = text.as_bytes().chunks(2);
            pairs
                .map(|pair| match pair {
                    [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                    _ => None,
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Vec<(Text, Value)> {
        let mut out = Vec::new();
        list(&mut Reader::new(json), Binary::Base64, &mut out).unwrap();
        out
    }

    fn value(json: &str) -> Value {
        read(&format!(r#"[{{"key":"k",{json}}}]"#)).remove(0).1
    }

    #[test]
    fn values_have_the_types_that_stand_beside_them() {
        let text = |text: &str| Value::Str(text.into());
        for (json, expected) in [
            (r#""type":"string","value":"a""#, text("a")),
            (r#""type":"string","value":7"#, text("7")),
            (r#""type":"string","value":true"#, text("true")),
            (r#""type":"bool","value":true"#, Value::Bool(true)),
            (r#""value":"true","type":"bool""#, Value::Bool(true)),
            (r#""type":"bool","value":"maybe""#, text("maybe")),
            (r#""type":"int64","value":7"#, Value::Int(7)),
            (
                r#""type":"int64","value":"9223372036854775222""#,
                Value::Int(9_223_372_036_854_775_222),
            ),
            (r#""type":"int64","value":7.0"#, Value::Int(7)),
            (r#""type":"int64","value":"seven""#, text("seven")),
            (r#""type":"float64","value":72.5"#, Value::Double(72.5)),
            (r#""type":"float64","value":72"#, Value::Double(72.0)),
            (r#""type":"float64","value":"72.5""#, Value::Double(72.5)),
            (
                r#""type":"binary","value":"AAAwOQ==""#,
                Value::Bytes(vec![0, 0, 48, 57]),
            ),
            (r#""type":"binary","value":"?""#, text("?")),
            (r#""type":"string","value":null"#, Value::Empty),
            (r#""type":"list","value":[1, 2]"#, text("[1, 2]")),
            (r#""value":7"#, Value::Int(7)),
            (r#""vStr":"a""#, text("a")),
            (r#""vType":"INT64","vInt64":"5""#, Value::Int(5)),
            (r#""vType":"INT64""#, Value::Int(0)),
            (r#""vType":"BOOL""#, Value::Bool(false)),
            (r#""v_type":3,"v_float64":129.8"#, Value::Double(129.8)),
            (r#""v_int64":512,"v_type":2"#, Value::Int(512)),
            (r#""vBinary":"AAAwOQ==""#, Value::Bytes(vec![0, 0, 48, 57])),
        ] {
            assert_eq!(value(json), expected, "{json}");
        }
    }

    #[test]
    fn tags_that_are_fields_have_their_dots_back() {
        let mut out = Vec::new();
        let json = r#"{"http@status_code":504,"error":true,"peer":"a@b"}"#;
        object(&mut Reader::new(json), &mut out).unwrap();
        let expected = [
            ("http.status_code".into(), Value::Int(504)),
            ("error".into(), Value::Bool(true)),
            ("peer".into(), Value::Str("a@b".into())),
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn bytes_are_hex_in_elasticsearch() {
        assert_eq!(bytes("00003039", Binary::Hex), Some(vec![0, 0, 48, 57]));
        assert_eq!(bytes("0", Binary::Hex), None);
        assert_eq!(bytes("0x", Binary::Hex), None);
    }
}
