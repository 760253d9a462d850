//! Fields of any shape: what cannot be meant is `None`, never an error.

use std::borrow::Cow;

use super::reader::{Read, Reader, Scalar, Shape};
use crate::model::{Text, key as key_of};

/// A field that was read: `Err` when it holds what it cannot hold.
pub(crate) type Field<T> = Result<T, ()>;

/// A text; a number or a boolean is taken as it is written.
pub(crate) fn text(reader: &mut Reader<'_>) -> Read<Field<Text>> {
    Ok(match reader.scalar()? {
        Scalar::Null => Ok(Text::default()),
        Scalar::Str(Cow::Borrowed(text)) => Ok(Text::from(text)),
        Scalar::Str(Cow::Owned(text)) => Ok(Text::from(text)),
        Scalar::Number(digits) => Ok(Text::from(digits)),
        Scalar::Bool(flag) => Ok(Text::const_new(if flag { "true" } else { "false" })),
        Scalar::Compound => Err(()),
    })
}

/// The key of an attribute; nothing for what is none.
pub(crate) fn key(reader: &mut Reader<'_>) -> Read<Text> {
    Ok(match reader.scalar()? {
        Scalar::Str(text) => key_of(&text),
        Scalar::Number(digits) => Text::from(digits),
        Scalar::Bool(flag) => Text::const_new(if flag { "true" } else { "false" }),
        Scalar::Null | Scalar::Compound => Text::default(),
    })
}

/// Nanoseconds since the epoch; negative ones cannot be.
pub(crate) fn nanos(reader: &mut Reader<'_>) -> Read<Field<u64>> {
    Ok(match reader.scalar()? {
        Scalar::Null => Ok(0),
        Scalar::Number(digits) => unsigned(digits).ok_or(()),
        Scalar::Str(text) => match digits(&text) {
            Some(nanos) => Ok(nanos),
            None if text.trim().is_empty() => Ok(0),
            None => unsigned(text.trim()).ok_or(()),
        },
        Scalar::Bool(_) | Scalar::Compound => Err(()),
    })
}

/// What only has digits, and so few of them that no number is too large: times do.
fn digits(text: &str) -> Option<u64> {
    const SAFE: usize = 19;
    let mut bytes = text.bytes();
    (1..=SAFE).contains(&text.len()).then_some(())?;
    bytes.try_fold(0, |number: u64, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number.wrapping_mul(10).wrapping_add(u64::from(digit)))
    })
}

/// A count or flags; whatever is no such number is 0: it says how much is missing, no more.
pub(crate) fn count(reader: &mut Reader<'_>) -> Read<u32> {
    Ok(match reader.scalar()? {
        Scalar::Number(digits) => unsigned(digits),
        Scalar::Str(text) => unsigned(text.trim()),
        _ => None,
    }
    .and_then(|count| u32::try_from(count).ok())
    .unwrap_or(0))
}

/// An enum by number or by name; `names` gives the numbers of the names, upper case and without
/// `prefix`.
pub(crate) fn choice(
    reader: &mut Reader<'_>,
    prefix: &str,
    names: &[(&str, i32)],
) -> Read<Field<i32>> {
    Ok(match reader.scalar()? {
        Scalar::Null => Ok(0),
        Scalar::Number(digits) => signed(digits).and_then(|n| i32::try_from(n).ok()).ok_or(()),
        Scalar::Str(text) => Ok(named(&text, prefix, names)),
        Scalar::Bool(_) | Scalar::Compound => Err(()),
    })
}

/// A name that the protocol may have got later is 0, as if it were absent.
fn named(text: &str, prefix: &str, names: &[(&str, i32)]) -> i32 {
    let text = text.trim();
    let bare = match text.get(..prefix.len()) {
        Some(head) if head.eq_ignore_ascii_case(prefix) => {
            text.get(prefix.len()..).unwrap_or_default()
        }
        _ => text,
    };
    names
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(bare))
        .map(|&(_, number)| number)
        .or_else(|| signed(bare).and_then(|n| i32::try_from(n).ok()))
        .unwrap_or(0)
}

/// Reads a list: nothing for null, and `Err` for what is no list.
pub(crate) fn list<'a>(
    reader: &mut Reader<'a>,
    item: impl FnMut(&mut Reader<'a>) -> Read<()>,
) -> Read<Field<()>> {
    match reader.shape()? {
        Shape::Array => reader.array(item).map(Ok),
        _ => Ok(match reader.scalar()? {
            Scalar::Null => Ok(()),
            _ => Err(()),
        }),
    }
}

/// Reads an object's fields: nothing for null, and `Err` for what is no object.
pub(crate) fn object<'a>(
    reader: &mut Reader<'a>,
    field: impl FnMut(&mut Reader<'a>, &str) -> Read<()>,
) -> Read<Field<()>> {
    match reader.shape()? {
        Shape::Object => reader.object(field).map(Ok),
        _ => Ok(match reader.scalar()? {
            Scalar::Null => Ok(()),
            _ => Err(()),
        }),
    }
}

/// A whole number from 0, also as `1.5e3`.
pub(crate) fn unsigned(digits: &str) -> Option<u64> {
    digits.parse().ok().or_else(|| {
        let float: f64 = digits.parse().ok()?;
        // 2^64 itself is no u64.
        (float.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&float))
            .then_some(float as u64)
    })
}

/// A whole number, also as `-1.5e3`.
pub(crate) fn signed(digits: &str) -> Option<i64> {
    digits.parse().ok().or_else(|| {
        let float: f64 = digits.parse().ok()?;
        let range = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
        (float.fract() == 0.0 && range.contains(&float)).then_some(float as i64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_come_as_digits_and_as_floats() {
        assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
        assert_eq!(
            unsigned("1.58703012360987e+15"),
            Some(1_587_030_123_609_870)
        );
        assert_eq!(unsigned("18446744073709551616"), None);
        assert_eq!(unsigned("-1"), None);
        assert_eq!(unsigned("1.5"), None);
        assert_eq!(
            digits("9999999999999999999"),
            Some(9_999_999_999_999_999_999)
        );
        for other in ["10000000000000000000", "", "+1", "1 ", "1.5", "1/", "1:"] {
            assert_eq!(digits(other), None, "{other}");
        }
        assert_eq!(signed("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed("-2.0"), Some(-2));
        assert_eq!(signed("9223372036854775808"), None);
        assert_eq!(signed("NaN"), None);
    }

    #[test]
    fn enums_come_by_number_and_by_name_of_any_case() {
        let names = [("SERVER", 2)];
        let kind = |json| choice(&mut Reader::new(json), "SPAN_KIND_", &names).unwrap();
        for json in [
            "2",
            "\"2\"",
            "\"SPAN_KIND_SERVER\"",
            "\"span_kind_server\"",
            "\"Server\"",
            "2.0",
        ] {
            assert_eq!(kind(json), Ok(2), "{json}");
        }
        assert_eq!(kind("null"), Ok(0));
        assert_eq!(kind("\"SPAN_KIND_NEW\""), Ok(0));
        assert_eq!(kind("77"), Ok(77));
        assert_eq!(kind("[]"), Err(()));
    }
}
