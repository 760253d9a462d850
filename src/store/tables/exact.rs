//! Attributes, events, links and log records as JSON text that loses nothing.
//!
//! Plain values are plain JSON, so that SQL engines reach into them: strings, booleans, integers
//! (no fraction), doubles (always with a fraction or an exponent), lists, objects in the order of
//! their keys, copies of a key included, and `null` for an empty value. What JSON cannot hold is an
//! object with one key:
//!
//! | value | as |
//! |---|---|
//! | bytes | `{"$bytes":"3q2+7w=="}` (base64) |
//! | NaN, infinities | `{"$double":"NaN"}`, `"Infinity"`, `"-Infinity"`, other NaNs as `"0x…"` |
//! | a map whose only key begins with `$` | `{"$map":{…}}` |
//!
//! What is written is taken apart field by field, so that a field that the model gets later has
//! to be thought of here.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::{Attributes, Event, Link, SpanLog, Text, UnixNanos, Value};

/// Values within values that are read; decoders stop far earlier.
const MAX_DEPTH: usize = 100;

/// What is not the JSON that this module writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not {what} as Dwindle writes them: {why}")]
pub(super) struct ExactError {
    what: &'static str,
    why: String,
}

/// What becomes JSON, unless there is none of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exact<'a> {
    Attributes(&'a Attributes),
    Events(&'a [Event]),
    Links(&'a [Link]),
    Logs(&'a [&'a SpanLog]),
}

impl Exact<'_> {
    /// Writes it behind what is there; false if there is none.
    pub(super) fn write(self, out: &mut String) -> bool {
        match self {
            Self::Attributes(attributes) if attributes.is_empty() => return false,
            Self::Attributes(attributes) => write_map(out, attributes),
            Self::Events(events) => return write_events(out, events),
            Self::Links(links) => return write_links(out, links),
            Self::Logs(logs) => return write_logs(out, logs),
        }
        true
    }

    /// It as text; `None` when there is none.
    pub(super) fn text(self) -> Option<String> {
        let mut out = String::new();
        self.write(&mut out).then_some(out)
    }
}

fn write_events(out: &mut String, events: &[Event]) -> bool {
    write_list(out, events, |out, event| {
        let Event {
            time,
            name,
            attributes,
            dropped_attributes,
        } = event;
        number(out, "{\"time_unix_nano\":", time.0);
        out.push_str(",\"name\":");
        write_text(out, name);
        write_tail(out, attributes, *dropped_attributes);
    })
}

fn write_links(out: &mut String, links: &[Link]) -> bool {
    write_list(out, links, |out, link| {
        let Link {
            trace_id,
            span_id,
            trace_state,
            flags,
            attributes,
            dropped_attributes,
        } = link;
        write!(
            out,
            "{{\"trace_id\":\"{trace_id}\",\"span_id\":\"{span_id}\""
        )
        .ok();
        if !trace_state.is_empty() {
            out.push_str(",\"trace_state\":");
            write_text(out, trace_state);
        }
        if *flags > 0 {
            number(out, ",\"flags\":", (*flags).into());
        }
        write_tail(out, attributes, *dropped_attributes);
    })
}

fn write_logs(out: &mut String, logs: &[&SpanLog]) -> bool {
    write_list(out, logs, |out, log| {
        let SpanLog {
            trace_id: _,
            span_id,
            time,
            attributes,
            body,
        } = log;
        write!(out, "{{\"span_id\":\"{span_id}\"").ok();
        number(out, ",\"time_unix_nano\":", time.0);
        if !body.is_empty() {
            out.push_str(",\"body\":");
            write_text(out, body);
        }
        write_tail(out, attributes, 0);
    })
}

fn write_list<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) -> bool {
    if items.is_empty() {
        return false;
    }
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
    true
}

fn write_tail(out: &mut String, attributes: &Attributes, dropped: u32) {
    if !attributes.is_empty() {
        out.push_str(",\"attributes\":");
        write_map(out, attributes);
    }
    if dropped > 0 {
        number(out, ",\"dropped_attributes\":", dropped.into());
    }
    out.push('}');
}

fn number(out: &mut String, before: &str, number: u64) {
    // Writing to a string cannot fail.
    write!(out, "{before}{number}").ok();
}

fn write_text(out: &mut String, text: &str) {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    // To the end in any case, which is an instruction for many bytes.
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // A text always has a JSON form.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

fn write_map(out: &mut String, attributes: &Attributes) {
    out.push('{');
    for (index, (key, value)) in attributes.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(out, key);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

/// Values nest as deep as the decoder allows, which bounds this recursion.
fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Empty => out.push_str("null"),
        Value::Str(text) => write_text(out, text),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(int) => {
            write!(out, "{int}").ok();
        }
        // The shortest digits that read back as the same double, with `.0` or an exponent.
        Value::Double(double) if double.is_finite() => {
            write!(out, "{double:?}").ok();
        }
        Value::Double(double) => write_tagged(out, "$double", &special(*double)),
        Value::Bytes(bytes) => write_tagged(out, "$bytes", &BASE64.encode(bytes)),
        Value::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, value);
            }
            out.push(']');
        }
        Value::Map(attributes) if looks_tagged(attributes) => {
            out.push_str("{\"$map\":");
            write_map(out, attributes);
            out.push('}');
        }
        Value::Map(attributes) => write_map(out, attributes),
    }
}

fn write_tagged(out: &mut String, tag: &str, text: &str) {
    write!(out, "{{\"{tag}\":\"{text}\"}}").ok();
}

fn looks_tagged(attributes: &Attributes) -> bool {
    matches!(attributes.0.as_slice(), [(key, _)] if key.starts_with('$'))
}

fn special(double: f64) -> String {
    if double.is_infinite() {
        let sign = if double < 0.0 { "-" } else { "" };
        format!("{sign}Infinity")
    } else if double.to_bits() == f64::NAN.to_bits() {
        "NaN".to_owned()
    } else {
        format!("{:#018x}", double.to_bits())
    }
}

fn double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        bits => {
            let bits = u64::from_str_radix(bits.strip_prefix("0x")?, 16).ok()?;
            Some(f64::from_bits(bits))
        }
    }
}

/// The attributes that [`attributes`] wrote.
pub(super) fn read_attributes(text: &str) -> Result<Attributes, ExactError> {
    parse("attributes", text, |text| map(text, MAX_DEPTH))
}

/// The events that [`events`] wrote.
pub(super) fn read_events(text: &str) -> Result<Vec<Event>, ExactError> {
    items("events", text, |event: &mut Event, key, value| {
        match key {
            "time_unix_nano" => event.time = UnixNanos(plain(value)?),
            "name" => event.name = plain(value)?,
            "attributes" => event.attributes = map(value.get(), MAX_DEPTH)?,
            "dropped_attributes" => event.dropped_attributes = plain(value)?,
            other => return Err(format!("unknown key `{other}`")),
        }
        Ok(())
    })
}

/// The links that [`links`] wrote.
pub(super) fn read_links(text: &str) -> Result<Vec<Link>, ExactError> {
    items("links", text, |link: &mut Link, key, value| {
        match key {
            "trace_id" => link.trace_id = id(value)?,
            "span_id" => link.span_id = id(value)?,
            "trace_state" => link.trace_state = plain(value)?,
            "flags" => link.flags = plain(value)?,
            "attributes" => link.attributes = map(value.get(), MAX_DEPTH)?,
            "dropped_attributes" => link.dropped_attributes = plain(value)?,
            other => return Err(format!("unknown key `{other}`")),
        }
        Ok(())
    })
}

/// The log records that [`logs`] wrote, without their trace.
pub(super) fn read_logs(text: &str) -> Result<Vec<SpanLog>, ExactError> {
    items("logs", text, |log: &mut SpanLog, key, value| {
        match key {
            "span_id" => log.span_id = id(value)?,
            "time_unix_nano" => log.time = UnixNanos(plain(value)?),
            "body" => log.body = plain(value)?,
            "attributes" => log.attributes = map(value.get(), MAX_DEPTH)?,
            other => return Err(format!("unknown key `{other}`")),
        }
        Ok(())
    })
}

fn parse<T>(
    what: &'static str,
    text: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, ExactError> {
    read(text).map_err(|why| ExactError { what, why })
}

fn items<T: Default>(
    what: &'static str,
    text: &str,
    set: impl Fn(&mut T, &str, &RawValue) -> Result<(), String>,
) -> Result<Vec<T>, ExactError> {
    parse(what, text, |text| {
        let raw: Vec<&RawValue> = from_str(text)?;
        let item = |raw: &&RawValue| {
            let mut item = T::default();
            for (key, value) in from_str::<Pairs<'_>>(raw.get())?.0 {
                set(&mut item, &key, value)?;
            }
            Ok(item)
        };
        raw.iter().map(item).collect()
    })
}

fn from_str<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn plain<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<T, String> {
    from_str(value.get())
}

fn id<T: std::str::FromStr<Err: fmt::Display>>(value: &RawValue) -> Result<T, String> {
    let text: Text = plain(value)?;
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn map(text: &str, depth: usize) -> Result<Attributes, String> {
    named(from_str::<Pairs<'_>>(text)?.0, depth)
}

fn named(pairs: Vec<(Text, &RawValue)>, depth: usize) -> Result<Attributes, String> {
    let read = |(key, raw): (Text, &RawValue)| Ok((key, value(raw.get(), depth)?));
    let read = pairs.into_iter().map(read);
    read.collect::<Result<_, String>>().map(Attributes)
}

/// Reads a value. Numbers are told apart by their text, and doubles are read by the standard
/// library: `serde_json` may miss the last bit of one.
fn value(text: &str, depth: usize) -> Result<Value, String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err("nested too deeply".to_owned());
    };
    Ok(match text.as_bytes().first() {
        Some(b'"') => Value::Str(from_str(text)?),
        Some(b'{') => object(text, depth)?,
        Some(b'[') => {
            let items: Vec<&RawValue> = from_str(text)?;
            let values = items.iter().map(|item| value(item.get(), depth));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') => Value::Empty,
        _ if text.contains(['.', 'e', 'E']) => {
            Value::Double(text.parse().map_err(|_| format!("`{text}` is no double"))?)
        }
        _ => Value::Int(
            text.parse()
                .map_err(|_| format!("`{text}` is no integer"))?,
        ),
    })
}

fn object(text: &str, depth: usize) -> Result<Value, String> {
    let pairs = from_str::<Pairs<'_>>(text)?.0;
    match pairs.as_slice() {
        [(tag, raw)] if tag.starts_with('$') => match tag.as_str() {
            "$map" => map(raw.get(), depth).map(Value::Map),
            "$bytes" => {
                let text: Text = plain(raw)?;
                let bytes = BASE64.decode(text.as_bytes());
                bytes.map(Value::Bytes).map_err(|error| error.to_string())
            }
            "$double" => {
                let text: Text = plain(raw)?;
                let special = double(&text).ok_or_else(|| format!("`{text}` is no double"))?;
                Ok(Value::Double(special))
            }
            tag => Err(format!("unknown tag `{tag}`")),
        },
        _ => named(pairs, depth).map(Value::Map),
    }
}

/// The pairs of an object in their order, copies included.
struct Pairs<'a>(Vec<(Text, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Vec<(Text, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(List).map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(value: Value) -> String {
        let before = Attributes(vec![("k".into(), value)]);
        let text = Exact::Attributes(&before).text().unwrap();
        assert_eq!(read_attributes(&text).as_ref(), Ok(&before), "{text}");
        text
    }

    #[test]
    fn plain_values_are_plain_json() {
        assert_eq!(
            both_ways(Value::Str("a\"\u{0}é".into())),
            r#"{"k":"a\"\u0000é"}"#
        );
        assert_eq!(
            both_ways(Value::Int(i64::MIN)),
            r#"{"k":-9223372036854775808}"#
        );
        assert_eq!(both_ways(Value::Double(2.0)), r#"{"k":2.0}"#);
        assert_eq!(both_ways(Value::Bool(true)), r#"{"k":true}"#);
        assert_eq!(both_ways(Value::Empty), r#"{"k":null}"#);
        let list = Value::Array(vec![
            Value::Int(1),
            Value::Double(1.0),
            Value::Array(vec![]),
        ]);
        assert_eq!(both_ways(list), r#"{"k":[1,1.0,[]]}"#);
    }

    #[test]
    fn what_json_cannot_hold_is_tagged() {
        assert_eq!(
            both_ways(Value::Bytes(vec![0xde, 0xad, 0xbe, 0xef])),
            r#"{"k":{"$bytes":"3q2+7w=="}}"#
        );
        assert_eq!(
            both_ways(Value::Double(f64::NEG_INFINITY)),
            r#"{"k":{"$double":"-Infinity"}}"#
        );
        let map = |pairs: &[(&str, i64)]| {
            let pairs = pairs.iter().map(|(key, int)| (*key, Value::Int(*int)));
            Value::Map(pairs.collect())
        };
        assert_eq!(
            both_ways(map(&[("$bytes", 1)])),
            r#"{"k":{"$map":{"$bytes":1}}}"#
        );
        assert_eq!(
            both_ways(map(&[("a", 1), ("a", 2)])),
            r#"{"k":{"a":1,"a":2}}"#
        );
        assert_eq!(both_ways(map(&[])), r#"{"k":{}}"#);
    }

    #[test]
    fn doubles_keep_every_bit() {
        // serde_json without `float_roundtrip` reads the last of these one bit off.
        for double in [
            -0.0,
            5e-324,
            f64::MAX,
            1e16,
            0.1 + 0.2,
            9.007_199_254_740_993e15,
        ] {
            let text = both_ways(Value::Double(double));
            let read = read_attributes(&text).unwrap();
            let Some(Value::Double(read)) = read.get("k") else {
                panic!("{text}")
            };
            assert_eq!(read.to_bits(), double.to_bits(), "{text}");
        }
        for bits in [f64::NAN.to_bits(), 0xfff8_0000_0000_0001] {
            let one = Attributes(vec![("k".into(), Value::Double(f64::from_bits(bits)))]);
            let read = read_attributes(&Exact::Attributes(&one).text().unwrap()).unwrap();
            let Some(Value::Double(read)) = read.get("k") else {
                panic!("{read:?}")
            };
            assert_eq!(read.to_bits(), bits);
        }
    }

    #[test]
    fn what_was_not_written_here_is_an_error() {
        for text in [
            "",
            "[]",
            r#"{"a":"#,
            r#"{"a":{"$what":1}}"#,
            r#"{"a":{"$bytes":"?"}}"#,
        ] {
            assert!(read_attributes(text).is_err(), "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert!(read_attributes(&deep).is_err());
        assert!(read_events(r#"[{"nome":"a"}]"#).is_err());
        assert!(read_links(r#"[{"trace_id":"xx"}]"#).is_err());
    }
}
