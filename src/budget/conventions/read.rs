//! Applies the table to a span: what it says of deadlines, what it says that cannot be read, and
//! what it may say that nobody asked for.

use compact_str::ToCompactString;

use crate::model::{Attributes, Kind, Nanos, Span, Text, UnixNanos, Value};

use super::filter::could_be_time;
use super::grammar::{Grammar, Parsed, parse};
use super::rule::Needs;
use super::table::{Hit, Rule, Rules};
use super::{Field, Side, text};

/// What a span says of deadlines.
#[derive(Debug, Clone, Default)]
pub(in crate::budget) struct Facts {
    /// Durations and instants.
    pub readings: Vec<Reading>,
    /// Numbers in texts about a call that this span's hop made: the text went up with the error.
    pub of_calls: Vec<Reading>,
    /// The hop's own word for how it ended.
    pub outcome: Option<Text>,
    /// Attempts before this one, by the span's own count.
    pub resend: Option<u32>,
    /// Values that do not follow their grammar.
    pub bad: Vec<Bad>,
    /// Keys that may tell a deadline and are not read.
    pub unread: Vec<Unread>,
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
    /// What stood there, no longer than it is shown.
    pub raw: Value,
    /// How well it is known what it means.
    pub trust: Trust,
}

/// How well it is known what a value means, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::budget) enum Trust {
    /// A key of a known system, or of the configuration.
    Named,
    /// A number that a known library printed into a text.
    Message,
    /// A key that tells its unit and is of no known system.
    AdHoc,
}

/// A value that cannot be read.
#[derive(Debug, Clone)]
pub(in crate::budget) struct Bad {
    /// The key that it stood under.
    pub key: Text,
    /// What stood there, shortened.
    pub raw: Text,
}

/// A key that may tell a deadline and is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::budget) struct Unread {
    /// The key.
    pub key: Text,
    /// The rule that would read it; `None` if there is none.
    pub rule: Option<Text>,
}

impl Facts {
    /// The reading of a field that binds: see [`strictest`].
    pub(in crate::budget) fn least(&self, field: Field) -> Option<&Reading> {
        let all = self.all(field).map(|reading| (reading.time, reading, ()));
        strictest(all).map(|(_, reading, ())| reading)
    }

    /// All readings of a field.
    pub(in crate::budget) fn all(&self, field: Field) -> impl Iterator<Item = &Reading> + Clone {
        self.readings.iter().filter(move |r| r.field == field)
    }

    /// True if there is nothing to know.
    pub(in crate::budget) fn is_empty(&self) -> bool {
        self.readings.is_empty()
            && self.of_calls.is_empty()
            && self.outcome.is_none()
            && self.resend.is_none()
            && self.bad.is_empty()
            && self.unread.is_empty()
    }
}

/// Of readings that disagree the strictest binds: the least, wherever it stands (semantics,
/// section 4). Numbers in messages are only asked where no key of a known system answers: they
/// are the timer's delay too long, or belong to another try. Where only an ad hoc key answers
/// besides, the number is believed.
pub(in crate::budget) fn strictest<'a, T>(
    readings: impl Iterator<Item = (Nanos, &'a Reading, T)> + Clone,
) -> Option<(Nanos, &'a Reading, T)> {
    let best = readings
        .clone()
        .map(|(_, reading, _)| reading.trust)
        .min()?;
    readings
        .filter(|(_, reading, _)| match best {
            Trust::Named => reading.trust != Trust::Message,
            best => reading.trust == best,
        })
        .min_by_key(|(time, _, _)| *time)
}

/// Where values are read from: a span, or a record of it.
#[derive(Debug, Clone, Copy)]
pub(in crate::budget) struct Place<'a> {
    /// The rules.
    pub rules: &'a Rules,
    /// The span.
    pub span: &'a Span,
    /// Where it stands.
    pub side: Side,
}

impl Place<'_> {
    /// Reads the span's own attributes and its status.
    pub(in crate::budget) fn read_span(&self, facts: &mut Facts) {
        self.read(&self.span.attributes, false, facts);
        text::read_message(self, "status.message", &self.span.status.message, facts);
    }

    /// Reads the attributes of an event, or of a log record with the span's ids.
    pub(in crate::budget) fn read_record(&self, attributes: &Attributes, facts: &mut Facts) {
        self.read(attributes, true, facts);
    }

    /// Reads the body of a log record with the span's ids.
    pub(in crate::budget) fn read_body(&self, body: &str, facts: &mut Facts) {
        text::read_message(self, "log.body", body, facts);
    }

    fn read(&self, attributes: &Attributes, is_record: bool, facts: &mut Facts) {
        for (key, value) in &attributes.0 {
            match self.rules.find(key) {
                Some(Hit::Rule(index)) => {
                    let rule = self.rules.rule(index).filter(|rule| self.has(rule.needs));
                    match rule {
                        Some(rule) => self.by_rule(rule, key, value, facts),
                        None => suggest(key, value, facts),
                    }
                }
                None => suggest(key, value, facts),
                Some(hit) => {
                    // A captured header is an array.
                    let text = match value {
                        Value::Array(values) => values.first().and_then(Value::as_str),
                        value => value.as_str(),
                    };
                    let Some(text) = text else { continue };
                    match hit {
                        Hit::Message => text::read_message(self, key, text, facts),
                        Hit::MessageOfRecord if is_record => {
                            text::read_message(self, key, text, facts);
                        }
                        Hit::Url => text::read_url(self, key, text, facts),
                        Hit::Statement => text::read_statement(self, key, text, facts),
                        _ => {}
                    }
                }
            }
        }
    }

    fn by_rule(&self, rule: &Rule, key: &Text, value: &Value, facts: &mut Facts) {
        if rule.caller_only && self.side != Side::Outbound {
            return;
        }
        if rule
            .unless
            .is_some_and(|key| self.span.attributes.get(key).is_some())
        {
            return;
        }
        if rule.off {
            if rule.field != Field::Nothing && *value != Value::Empty {
                facts.unread.push(Unread {
                    key: key.clone(),
                    rule: self.would_read(rule, key, value).then(|| rule.id.clone()),
                });
            }
            return;
        }
        if let Some(grammar) = rule.grammar {
            self.apply(rule, grammar, key, value, facts);
        }
    }

    /// Whether a rule that is off could read this: turning it on is no advice where the value does
    /// not tell its unit.
    fn would_read(&self, rule: &Rule, key: &Text, value: &Value) -> bool {
        let mut tried = Facts::default();
        if let Some(grammar) = rule.grammar {
            self.apply(rule, grammar, key, value, &mut tried);
        }
        tried.bad.is_empty()
    }

    /// Whether the span has what else the rule needs.
    fn has(&self, needs: Option<Needs>) -> bool {
        let attributes = &self.span.attributes;
        match needs {
            None => true,
            Some(Needs::Persistence) => {
                self.span.name.starts_with("persistence.")
                    || attributes.get("persistence.store").is_some()
            }
            Some(Needs::Messaging) => {
                matches!(self.span.kind, Kind::Producer | Kind::Consumer)
                    || attributes
                        .iter()
                        .any(|(key, _)| key.starts_with("messaging."))
            }
            Some(Needs::MaxAttempts) => {
                attributes.get("max_attempts").is_some() || self.span.scope.name.contains("userver")
            }
        }
    }

    fn apply(&self, rule: &Rule, grammar: Grammar, key: &Text, value: &Value, facts: &mut Facts) {
        match value {
            Value::Empty => return,
            // A captured header is an array; several values that disagree all count.
            Value::Array(values) if grammar != Grammar::CeleryTimelimit => {
                for value in values {
                    if !matches!(value, Value::Array(_)) {
                        self.apply(rule, grammar, key, value, facts);
                    }
                }
                return;
            }
            // Jaeger, Zipkin and Tempo export arrays as JSON in a text.
            Value::Str(text) if text.starts_with('[') && grammar != Grammar::CeleryTimelimit => {
                if let Some(values) = json_array(text) {
                    for value in &values {
                        self.apply(rule, grammar, key, value, facts);
                    }
                    return;
                }
            }
            _ => {}
        }
        let parsed = parse(grammar, key, value).or_else(|| parse(rule.or?, key, value));
        match parsed {
            Some(parsed) => self.keep(rule, parsed, key, value, facts),
            None if rule.lenient => {}
            None => facts.bad.push(Bad {
                key: key.clone(),
                raw: shortened(value),
            }),
        }
    }

    fn keep(&self, rule: &Rule, parsed: Parsed, key: &Text, raw: &Value, facts: &mut Facts) {
        // Finagle says in the key which side it speaks of.
        let side = match key.split_once('/') {
            Some(("srv", _)) => Side::Inbound,
            Some(("clnt", _)) => Side::Outbound,
            _ => self.side,
        };
        let mut all = vec![parsed];
        while let Some(parsed) = all.pop() {
            let (field, time, at) = match parsed {
                Parsed::Time(Nanos::ZERO) if rule.zero_is_none => continue,
                Parsed::Time(time) => {
                    let time = if rule.overdue { -time } else { time };
                    // A key for instants that holds what is left.
                    let field = match rule.field {
                        Field::Deadline => Field::Remaining,
                        field => field,
                    };
                    (field, time, UnixNanos(0))
                }
                Parsed::Instant(at) => (Field::Deadline, Nanos::ZERO, at),
                Parsed::Word(word) => {
                    facts.outcome = Some(word);
                    continue;
                }
                Parsed::Count(count) => {
                    let before = match rule.field {
                        Field::Resend => count,
                        _ => count.saturating_sub(1),
                    };
                    facts.resend = Some(facts.resend.map_or(before, |known| known.max(before)));
                    continue;
                }
                Parsed::Unset => continue,
                Parsed::Several(several) => {
                    all.extend(several.into_iter().rev());
                    continue;
                }
            };
            let also = rule.also.filter(|_| time != Nanos::ZERO);
            for field in std::iter::once(field).chain(also) {
                let Some(field) = field.on(side) else {
                    continue;
                };
                facts.readings.push(Reading {
                    field,
                    time,
                    at,
                    key: key.clone(),
                    raw: kept(raw),
                    trust: rule.trust,
                });
            }
        }
    }
}

/// Notes a key that no rule reads, if it looks like a budget's.
fn suggest(key: &str, value: &Value, facts: &mut Facts) {
    if Rules::suggests(key) && could_be_time(key, value) {
        facts.unread.push(Unread {
            key: key.into(),
            rule: None,
        });
    }
}

/// The scalars of a JSON array.
fn json_array(text: &str) -> Option<Vec<Value>> {
    let values: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    values
        .into_iter()
        .map(|value| match value {
            serde_json::Value::String(text) => Some(Value::Str(text.into())),
            serde_json::Value::Number(number) => Some(Value::Str(number.to_compact_string())),
            _ => None,
        })
        .collect()
}

/// A value to be shown, if at all, later: most readings are not, and writing numbers takes time.
fn kept(value: &Value) -> Value {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Double(_) => value.clone(),
        other => Value::Str(shortened(other)),
    }
}

/// What a value reads like.
pub(in crate::budget) fn shortened(value: &Value) -> Text {
    let text = value.to_compact_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => compact_str::format_compact!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
