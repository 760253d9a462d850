//! Numbers in texts: what libraries print into their errors, what a URL or a statement asks for.

use crate::model::{Nanos, UnixNanos, Value};

use super::grammar::{Parsed, Unit, decimal, parse};
use super::read::{Facts, Place, Reading, shortened};
use super::table::{Rule, Texts};
use super::{Field, Side};

/// How much of a text is looked at, in bytes: what is meant for people is shorter.
const MOST: usize = 16 * 1024;

/// Reads the text of an error.
///
/// A number that a client printed is about the call that the span makes. On a span that handles a
/// request, or works inside a hop, the text came up with the error of a call below: then it is
/// kept apart, for whoever knows the calls.
pub(super) fn read_message(place: &Place<'_>, key: &str, text: &str, facts: &mut Facts) {
    if text.is_empty() {
        return;
    }
    let rules = &place.rules.messages;
    each(place, rules, text, &mut |rule, found| {
        // A callee's word that came back to the caller.
        if rule.callee && place.side == Side::Outbound {
            return;
        }
        let Some(mut time) = value(rule, &found) else {
            return;
        };
        if rule.overdue {
            time = -time;
        }
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        let reading = |field| Reading {
            field,
            time,
            at: UnixNanos(0),
            key: key.into(),
            raw: Value::Str(shortened(&Value::Str(whole.into()))),
            trust: rule.trust,
        };
        if found.name("try").is_some() {
            let per_try = reading(Field::PerTry);
            match place.side {
                Side::Outbound => facts.readings.push(per_try),
                _ => facts.of_calls.push(per_try),
            }
            return;
        }
        let mut fields = vec![rule.field];
        match found.name("by").map(|by| by.as_str()) {
            // What the request came with: so it is known what the hop had left.
            Some("Context") => fields.push(Field::Left),
            // What this caller chose, and sent.
            Some("CallOptions") => fields.push(Field::Timeout),
            _ => {}
        }
        for field in fields {
            match (rule.callee, place.side) {
                (true, _) | (_, Side::Outbound) => facts.readings.push(reading(field)),
                // A root of no kind that made the call itself.
                (_, Side::Entry) => facts.readings.push(reading(Field::Timeout)),
                _ if field != Field::Left => facts.of_calls.push(reading(field)),
                _ => {}
            }
        }
    });
}

/// Reads a URL or its query.
pub(super) fn read_url(place: &Place<'_>, key: &str, url: &str, facts: &mut Facts) {
    // Cheaper than any expression, and nearly always the end of it.
    if url.contains("timeout") {
        read_calls(place, &place.rules.urls, key, url, facts);
    }
}

/// Reads a database statement: what it asks of the server is the call's own timeout, or that of
/// the statements that follow.
pub(super) fn read_statement(place: &Place<'_>, key: &str, statement: &str, facts: &mut Facts) {
    read_calls(place, &place.rules.statements, key, statement, facts);
}

fn read_calls(place: &Place<'_>, rules: &Texts, key: &str, text: &str, facts: &mut Facts) {
    each(place, rules, text, &mut |rule, found| {
        if rule.caller_only && place.side == Side::Inbound {
            return;
        }
        let (Some(time), Some(field)) = (value(rule, &found), rule.field.on(place.side)) else {
            return;
        };
        if time == Nanos::ZERO && rule.zero_is_none {
            return;
        }
        let Some(whole) = found.get(0) else { return };
        let reading = |field| Reading {
            field,
            time,
            at: UnixNanos(0),
            key: key.into(),
            raw: Value::Str(shortened(&Value::Str(
                whole
                    .as_str()
                    .trim_matches(['?', '&', '#', ';', ' '])
                    .into(),
            ))),
            trust: super::read::Trust::Named,
        };
        facts.readings.push(reading(field));
        // Statements behind it in one text are bound by it too.
        let rest = text.get(whole.end()..).unwrap_or_default();
        let follows = |(_, next): (&str, &str)| !next.trim().is_empty();
        let binds = field == Field::Session && time > Nanos::ZERO;
        if binds && rest.split_once(';').is_some_and(follows) {
            facts.readings.push(reading(Field::Timeout));
        }
    });
}

/// Every match of the rules that are on.
fn each(
    place: &Place<'_>,
    rules: &Texts,
    text: &str,
    found: &mut dyn FnMut(&Rule, regex::Captures<'_>),
) {
    let cut = (0..=MOST.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let text = text.get(..cut.unwrap_or(0)).unwrap_or_default();
    for index in rules.in_question(text) {
        let rule = place.rules.rule(index).filter(|rule| !rule.off);
        let Some(rule) = rule else { continue };
        if let Some(captures) = rule.pattern().and_then(|pattern| pattern.captures(text)) {
            found(rule, captures);
        }
    }
}

/// The number of a match, in its unit.
fn value(rule: &Rule, found: &regex::Captures<'_>) -> Option<Nanos> {
    // A limit on silence is none on the request.
    if found.name("idle").is_some() {
        return None;
    }
    let number = found.name("n")?.as_str().replace(',', ".");
    if let Some(unit) = found.name("u") {
        return decimal(&number, Unit::named(&unit.as_str().to_lowercase())?);
    }
    match parse(rule.grammar?, "", &Value::Str(number.into()))? {
        Parsed::Time(time) => Some(time),
        _ => None,
    }
}
