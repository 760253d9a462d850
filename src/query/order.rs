//! In which order lists stand.

use std::cmp::Ordering;
use std::fmt;

use polars::prelude::{DataType, Expr as Plan, Field as Typed, Int64Chunked, IntoColumn as _};

use super::filter::{self, Field, Kind, Of, Value};
use crate::model::Request;

/// What rows are compared by. What is unknown comes last, whichever way the list runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Numbers, times, instants, ids, flags, and words by their place among those of their kind.
    Number(i128),
    /// Texts.
    Text(String),
    /// Unknown.
    Null,
}

impl Key {
    /// This before `other`, or after, in a list that runs up or down.
    pub fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Null, Self::Null) => return Ordering::Equal,
            (Self::Null, _) => return Ordering::Greater,
            (_, Self::Null) => return Ordering::Less,
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        };
        if descending { order.reverse() } else { order }
    }
}

/// An order that was asked for: `FIELD`, `FIELD:asc`, `FIELD:desc` or `-FIELD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The field or column, as it was typed.
    pub name: String,
    /// The largest first.
    pub descending: bool,
}

impl std::str::FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, descending) = match (text.strip_prefix('-'), text.split_once(':')) {
            (Some(name), None) | (None, Some((name, "desc"))) => (name, true),
            (None, Some((name, "asc"))) => (name, false),
            (None, None) => (text, false),
            _ => return Err("write FIELD, FIELD:desc or -FIELD".to_owned()),
        };
        if name.is_empty() {
            return Err("the field is missing".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            descending,
        })
    }
}

/// The field of a request by which a list is ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByField {
    field: &'static Field,
    /// The largest first.
    pub descending: bool,
}

impl ByField {
    /// The order that was asked for. Any field of the filter language of which a request has one.
    pub fn of(wanted: &Wanted) -> Result<Self, String> {
        let name = wanted.name.strip_suffix("_ms").unwrap_or(&wanted.name);
        let single = || {
            let fields = filter::fields().iter();
            fields.filter(|field| field.of() == Of::Request && !matches!(field.kind, Kind::Object))
        };
        match single().find(|field| field.name == name) {
            Some(field) => Ok(Self {
                field,
                descending: wanted.descending,
            }),
            None if filter::field(name).is_some() => Err(format!(
                "`{name}` has not one value in a request; sort by a field that has"
            )),
            None => Err(unknown(name, single().map(|field| field.name))),
        }
    }

    /// The order in words: `by wasted, largest first`.
    pub fn words(self) -> String {
        let first = if self.descending { "largest" } else { "least" };
        format!("by {}, {first} first", self.field.name)
    }

    /// The column of `requests` that it orders by; `None` for the start, which every list has.
    pub(super) fn column(self) -> Option<KeyColumn> {
        let value = self.field.plan();
        let (value, kind) = match self.field.kind {
            Kind::Instant => return None,
            Kind::Time => (value, KeyKind::Time),
            Kind::Text | Kind::Id => (value, KeyKind::Text),
            Kind::Word(words) => (place(value, words), KeyKind::Whole),
            Kind::Count | Kind::Share | Kind::Flag | Kind::Object => {
                (value.cast(DataType::Int64), KeyKind::Whole)
            }
        };
        Some(KeyColumn {
            value,
            kind,
            descending: self.descending,
        })
    }

    /// The request's key.
    pub fn key(&self, request: &Request) -> Key {
        match (self.field.value(request), self.field.kind) {
            (Some(Value::Text(word)), Kind::Word(words)) => {
                let place = words().iter().position(|known| *known == word);
                place.map_or(Key::Null, |place| Key::Number(place as i128))
            }
            (Some(value), _) => of_value(&value),
            (None, _) => Key::Null,
        }
    }
}

/// The field as it is typed: `wasted`, or `-wasted` for the largest first.
impl fmt::Display for ByField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.descending { "-" } else { "" };
        write!(f, "{sign}{}", self.field.name)
    }
}

/// A key as a column of the tables.
#[derive(Debug, Clone)]
pub(super) struct KeyColumn {
    pub(super) value: Plan,
    pub(super) kind: KeyKind,
    pub(super) descending: bool,
}

/// What a key's column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// Milliseconds.
    Time,
    /// Whole numbers.
    Whole,
    /// Texts.
    Text,
}

/// The place of a word among those of its kind.
fn place(word: Plan, words: fn() -> Vec<&'static str>) -> Plan {
    word.map(
        move |column| {
            let words = words();
            let places = column.str()?.iter().map(|word| {
                let place = words.iter().position(|known| Some(*known) == word)?;
                i64::try_from(place).ok()
            });
            let places: Int64Chunked = places.collect();
            Ok(places.with_name(column.name().clone()).into_column())
        },
        |_, field| Ok(Typed::new(field.name().clone(), DataType::Int64)),
    )
}

fn of_value(value: &Value<'_>) -> Key {
    match value {
        Value::Null => Key::Null,
        Value::Id(bytes) => Key::Number(big_endian(bytes)),
        Value::Text(text) => Key::Text((*text).to_owned()),
        Value::Made(text) => Key::Text(text.clone()),
        Value::Time(time) => Key::Number(time.0.into()),
        Value::Count(number) | Value::Share(number) => Key::Number((*number).into()),
        Value::Flag(flag) => Key::Number((*flag).into()),
        Value::Instant(instant) => Key::Number(instant.0.into()),
        Value::Object => Key::Number(0),
    }
}

/// An id of at most 16 bytes as a number, in the order of its hex digits.
fn big_endian(id: &[u8]) -> i128 {
    let number = id
        .iter()
        .fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    // Moves 0 to the least number, so that the order of ids is that of numbers.
    (number ^ 1 << 127).cast_signed()
}

/// What to say of a name that no list has.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = filter::near_word(name, known.clone()) {
        return format!("there is no `{name}` to sort by; is it `{near}`?");
    }
    let all: Vec<&str> = known.collect();
    format!(
        "there is no `{name}` to sort by; there are {}",
        all.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Nanos, Outcome, TraceId};
    use crate::query::fixtures::chain;

    fn wanted(text: &str) -> Wanted {
        text.parse().unwrap()
    }

    #[test]
    fn an_order_is_typed_in_three_ways() {
        for (text, name, descending) in [
            ("wasted", "wasted", false),
            ("wasted:asc", "wasted", false),
            ("wasted:desc", "wasted", true),
            ("-wasted", "wasted", true),
        ] {
            let wanted = wanted(text);
            assert_eq!(
                (wanted.name.as_str(), wanted.descending),
                (name, descending)
            );
        }
        for text in ["", "-", "wasted:", "wasted:down", "-wasted:desc"] {
            assert!(text.parse::<Wanted>().is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_comes_last_whichever_way_the_list_runs() {
        let mut requests = [chain(), chain(), chain()];
        for (request, budget) in requests.iter_mut().zip([None, Some(2), Some(1)]) {
            request.budget = budget.map(Nanos::from_millis);
        }
        for (text, want) in [
            ("budget", [Some(1), Some(2), None]),
            ("-budget_ms", [Some(2), Some(1), None]),
        ] {
            let order = ByField::of(&wanted(text)).unwrap();
            requests.sort_by(|a, b| order.key(a).compare(&order.key(b), order.descending));
            let got = requests
                .each_ref()
                .map(|one| one.budget.map(|b| b.0 / 1_000_000));
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn words_stand_in_their_own_order() {
        let order = ByField::of(&wanted("outcome")).unwrap();
        let key = |outcome| {
            let mut request = chain();
            request.outcome = outcome;
            order.key(&request)
        };
        let (missed, cancelled) = (key(Outcome::Missed), key(Outcome::Cancelled));
        assert_eq!(missed.compare(&cancelled, false), Ordering::Less);
    }

    #[test]
    fn ids_stand_in_the_order_of_their_digits() {
        let order = ByField::of(&wanted("trace_id")).unwrap();
        let key = |first| {
            let mut request = chain();
            request.trace_id = TraceId([first; 16]);
            order.key(&request)
        };
        assert_eq!(key(0x7f).compare(&key(0x80), false), Ordering::Less);
        assert_eq!(key(0xff).compare(&key(0x01), false), Ordering::Greater);
    }

    #[test]
    fn what_a_request_has_many_of_is_no_order() {
        let refused = |text| ByField::of(&wanted(text)).unwrap_err();
        assert!(refused("hop.verdict").contains("not one value"));
        assert!(refused("wastd").ends_with("is it `wasted`?"));
        assert!(refused("xyz").contains("there are trace_id, request"));
    }
}
