//! Applies the table to a span: what it says of deadlines, and what it says that cannot be read.

use std::collections::HashMap;
use std::sync::LazyLock;

use compact_str::ToCompactString;

use crate::model::{Attributes, Kind, Nanos, Text, UnixNanos, Value};

use super::grammar::{self, Parsed};
use super::table::{HEADER_PREFIXES, TABLE};
use super::{Convention, Field, Place};

/// What a span says of deadlines.
#[derive(Debug, Clone, Default)]
pub(in crate::budget) struct Facts {
    /// Durations and instants.
    pub readings: Vec<Reading>,
    /// The hop's own word for how it ended.
    pub outcome: Option<Text>,
    /// Attempts before this one, by the span's own count.
    pub resend: Option<u32>,
    /// Values that do not follow their grammar.
    pub bad: Vec<Bad>,
}

/// One duration or instant.
#[derive(Debug, Clone)]
pub(in crate::budget) struct Reading {
    /// What it means.
    pub field: Field,
    /// The duration; of [`Field::Deadline`] unused.
    pub time: Nanos,
    /// The instant of a [`Field::Deadline`].
    pub at: UnixNanos,
    /// The key that it stood under.
    pub key: Text,
    /// What stood there.
    pub raw: Text,
}

/// A value that cannot be read.
#[derive(Debug, Clone)]
pub(in crate::budget) struct Bad {
    /// The key that it stood under.
    pub key: Text,
    /// What stood there, shortened.
    pub raw: Text,
}

impl Facts {
    /// The strictest reading of a field: the least duration.
    pub(in crate::budget) fn least(&self, field: Field) -> Option<&Reading> {
        self.readings
            .iter()
            .filter(|r| r.field == field)
            .min_by_key(|r| r.time)
    }

    /// All readings of a field.
    pub(in crate::budget) fn all(&self, field: Field) -> impl Iterator<Item = &Reading> {
        self.readings.iter().filter(move |r| r.field == field)
    }
}

/// Reads the attributes of a span (or of a log record with the span's ids) into `facts`.
pub(in crate::budget) fn read(attributes: &Attributes, kind: Kind, facts: &mut Facts) {
    for (key, value) in attributes.iter() {
        let Some(rule) = find(key) else { continue };
        let field = if kind.is_outbound() {
            rule.outbound
        } else {
            rule.inbound
        };
        apply(rule, field, key, value, facts);
    }
}

fn apply(rule: &Convention, field: Field, key: &str, value: &Value, facts: &mut Facts) {
    match value {
        // A captured header is an array; several values that disagree all count.
        Value::Array(values) => {
            for value in values {
                if !matches!(value, Value::Array(_)) {
                    apply(rule, field, key, value, facts);
                }
            }
        }
        Value::Empty => {}
        scalar => match grammar::parse(rule.grammar, scalar) {
            Some(parsed) => keep(parsed, field, key, scalar, facts),
            None => facts.bad.push(Bad {
                key: key.into(),
                raw: shortened(scalar),
            }),
        },
    }
}

fn keep(parsed: Parsed, field: Field, key: &str, raw: &Value, facts: &mut Facts) {
    let mut reading = Reading {
        field,
        time: Nanos::ZERO,
        at: UnixNanos(0),
        key: key.into(),
        raw: shortened(raw),
    };
    match parsed {
        Parsed::Time(time) => reading.time = time,
        Parsed::Instant(at) => reading.at = at,
        Parsed::Word(word) => {
            facts.outcome = Some(word);
            return;
        }
        Parsed::Count(count) => {
            let before = if field == Field::Attempt {
                count.saturating_sub(1)
            } else {
                count
            };
            facts.resend = Some(facts.resend.map_or(before, |known| known.max(before)));
            return;
        }
    }
    facts.readings.push(reading);
}

fn shortened(value: &Value) -> Text {
    let text = value.to_compact_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => compact_str::format_compact!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

static ATTRIBUTES: LazyLock<HashMap<&str, &Convention>> =
    LazyLock::new(|| by_key(Place::Attribute));
static HEADERS: LazyLock<HashMap<&str, &Convention>> = LazyLock::new(|| by_key(Place::Header));

/// The rule for an attribute key.
fn find(key: &str) -> Option<&'static Convention> {
    // Nearly every key of a span is none of ours: most are turned away by one byte pattern.
    if !plausible(key) {
        return None;
    }
    if let Some(rule) = ATTRIBUTES.get(key) {
        return Some(rule);
    }
    let lower = key.to_ascii_lowercase();
    HEADER_PREFIXES.iter().find_map(|prefix| {
        let name = lower.strip_prefix(prefix)?;
        match HEADERS.get(name) {
            Some(rule) => Some(*rule),
            None => HEADERS.get(name.replace('_', "-").as_str()).copied(),
        }
    })
}

/// False for keys that cannot be in the table: every key of it holds one of [`SIGNS`]; a test
/// holds the table to that.
fn plausible(key: &str) -> bool {
    key.len() > 8
        && key
            .as_bytes()
            .windows(4)
            .any(|window| SIGNS.iter().any(|sign| window.eq_ignore_ascii_case(sign)))
}

const SIGNS: [&[u8]; 5] = [b"line", b"budg", b"imeo", b"temp", b"send"];

fn by_key(place: Place) -> HashMap<&'static str, &'static Convention> {
    TABLE
        .iter()
        .filter(|rule| rule.place == place)
        .map(|rule| (rule.key, rule))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: Kind, pairs: &[(&str, Value)]) -> Facts {
        let mut facts = Facts::default();
        read(&pairs.iter().cloned().collect(), kind, &mut facts);
        facts
    }

    fn text(s: &str) -> Value {
        Value::Str(s.into())
    }

    #[test]
    fn every_key_of_the_table_passes_the_quick_look() {
        for rule in TABLE {
            assert!(plausible(rule.key), "{}", rule.key);
            assert!(
                find(rule.key).is_some_and(|found| found.key == rule.key),
                "{}",
                rule.key
            );
        }
        assert!(find("http.request.method").is_none());
    }

    #[test]
    fn headers_are_found_under_every_prefix_in_any_spelling() {
        for prefix in HEADER_PREFIXES {
            for name in ["x-deadline-remaining-ms", "X_Deadline_Remaining_Ms"] {
                let key = format!("{prefix}{name}");
                let found = facts(Kind::Server, &[(&key, Value::Array(vec![text("500")]))]);
                let reading = found.least(Field::RemainingIn).expect(&key);
                assert_eq!(
                    (reading.time, reading.key.as_str()),
                    (Nanos::from_millis(500), key.as_str())
                );
            }
        }
        let response = facts(
            Kind::Server,
            &[("http.response.header.grpc-timeout", text("1S"))],
        );
        assert!(response.readings.is_empty());
    }

    #[test]
    fn a_callers_header_is_what_it_sent() {
        let found = facts(
            Kind::Client,
            &[("rpc.grpc.request.metadata.grpc-timeout", text("250m"))],
        );
        assert_eq!(found.readings[0].field, Field::RemainingOut);
    }

    #[test]
    fn the_strictest_of_several_values_counts_and_all_are_kept() {
        let both = Value::Array(vec![Value::Int(300), text("200")]);
        let found = facts(
            Kind::Server,
            &[("http.request.header.x-request-budget-ms", both)],
        );
        assert_eq!(found.readings.len(), 2);
        assert_eq!(
            found.least(Field::RemainingIn).unwrap().time,
            Nanos::from_millis(200)
        );
    }

    #[test]
    fn what_cannot_be_read_is_kept_apart_and_never_zero() {
        let found = facts(
            Kind::Server,
            &[
                ("deadline.remaining_in_ms", text("soon")),
                ("grpc.timeout", text("123456789m")),
            ],
        );
        assert!(found.readings.is_empty());
        assert_eq!(found.bad.len(), 2);
        assert_eq!(found.bad[0].raw, "soon");
        assert!(
            facts(Kind::Server, &[("deadline.timeout_ms", Value::Empty)])
                .bad
                .is_empty()
        );
    }

    #[test]
    fn attempts_are_counted_from_either_end() {
        assert_eq!(
            facts(
                Kind::Client,
                &[("http.request.resend_count", Value::Int(2))]
            )
            .resend,
            Some(2)
        );
        assert_eq!(
            facts(Kind::Server, &[("x-envoy-attempt-count", text("3"))]).resend,
            Some(2)
        );
    }
}
