//! Reads one span by the table.

use crate::model::{Attributes, Nanos, Reason, Span, SpanLog, StatusCode, UnixNanos, Value};

use super::super::names::db_system;
use super::super::tree::NodeId;
use super::table::{Code, Group, Meaning, Outcomes, Rank, Rule, RuleId};
use super::words::{self, Told, is_short_timeout, last_part};
use super::{Evidence, Place, Sign};

/// An exception that was recorded this long before the span's end, or less, is what ended it where
/// nothing says how it ended; a handler that went on for longer has handled it.
const LAST_WORDS: Nanos = Nanos::from_millis(10);

/// Reads a span, by its attributes, its status, its events and its logs.
///
/// `outbound`: it makes a call.
pub(super) fn read(
    outcomes: &Outcomes,
    span: &Span,
    logs: &[(usize, &SpanLog)],
    outbound: bool,
    node: NodeId,
) -> Evidence {
    let mut reader = Reader {
        outcomes,
        span,
        outbound,
        hits: Vec::new(),
        types: Vec::new(),
        texts: Vec::new(),
        spoke: false,
        hard: false,
        soft: span.status.code == StatusCode::Error,
        succeeded: span.status.code == StatusCode::Ok,
    };
    for (at, (key, value)) in span.attributes.iter().enumerate() {
        reader.attribute(at, key, value);
    }
    if !span.events.is_empty() || !logs.is_empty() {
        reader.records(logs);
    }
    if reader.is_quiet() {
        return Evidence::default();
    }
    reader.judge(node)
}

/// What was found in a span.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
struct Reader<'a> {
    outcomes: &'a Outcomes,
    span: &'a Span,
    outbound: bool,
    /// Rules that its values meet, conditions not yet looked at.
    hits: Vec<(RuleId, Place)>,
    /// Names of error types.
    types: Vec<(Place, &'a str)>,
    /// Texts besides the status's.
    texts: Vec<(Place, &'a str)>,
    /// An exception counts that was recorded on a span which does not say how it ended.
    spoke: bool,
    /// A code says that it failed, and not by a cancellation.
    hard: bool,
    /// It failed, by its status or by an error's type: for whatever reason.
    soft: bool,
    /// It says that it succeeded. An RPC status of 0 does not: some write that when they start.
    succeeded: bool,
}

impl<'a> Reader<'a> {
    fn attribute(&mut self, at: usize, key: &'a str, value: &'a Value) {
        let Some(uses) = self.outcomes.key(key) else {
            return;
        };
        let place = Place::Attribute(at);
        for group in &uses.groups {
            match group {
                Group::Rpc => self.rpc(place, value),
                Group::Http => self.http(place, value),
                Group::Database => self.codes(Group::Database, Code::of(value), place),
                Group::Type => {
                    if let Some(name) = value.as_str().filter(|name| !name.is_empty()) {
                        self.soft = true;
                        self.types.push((place, name));
                    }
                }
                Group::Flags => {
                    for flag in value.as_str().unwrap_or_default().split(',') {
                        self.codes(Group::Flags, Code::of_text(flag), place);
                    }
                }
                Group::Details => {
                    let text = value.as_str().unwrap_or_default();
                    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    let name = text.split(|c| !is_name(c)).next().unwrap_or_default();
                    self.codes(Group::Details, Code::of_text(name), place);
                }
                Group::Text => self.texts(place, value),
            }
        }
        for &id in &uses.marks {
            if self.outcomes.rule(id).present || is_true(value) {
                self.hits.push((id, place));
            }
        }
    }

    fn codes(&mut self, group: Group, code: Option<Code>, place: Place) {
        if let Some(code) = code {
            let ids = self.outcomes.code(group, code).iter();
            self.hits.extend(ids.map(|&id| (id, place)));
        }
    }

    fn texts(&mut self, place: Place, value: &'a Value) {
        // A captured header is an array.
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        self.texts.extend(
            values
                .iter()
                .filter_map(Value::as_str)
                .map(|text| (place, text)),
        );
    }

    fn rpc(&mut self, place: Place, value: &Value) {
        let Some(code) = rpc_code(value) else { return };
        if let Code::Number(number) = code {
            // Dubbo's own protocol counts from 20, which is its OK.
            if number == 20 && rpc_system(&self.span.attributes).contains("dubbo") {
                return;
            }
            // A server's own faults are errors; a caller takes every refusal for one.
            self.hard |=
                matches!(number, 2 | 12..=15) || (self.outbound && !matches!(number, 0 | 1));
        }
        self.codes(Group::Rpc, Some(code), place);
    }

    fn http(&mut self, place: Place, value: &Value) {
        let Some(status) = value.as_int() else { return };
        self.succeeded |= (200..400).contains(&status);
        let before = self.hits.len();
        self.codes(Group::Http, Some(Code::Number(status)), place);
        let gone = self
            .hits
            .iter()
            .skip(before)
            .any(|(id, _)| self.outcomes.rule(*id).means == Meaning::CallerGone);
        self.hard |= !gone && (status >= 500 || (status >= 400 && self.outbound));
    }

    /// Event names that say it, and exceptions: all of them if the span failed, else the last
    /// words of one that does not say how it ended. Other records tell why a span failed with its
    /// last words only: what they tell of before was got over.
    fn records(&mut self, logs: &[(usize, &'a SpanLog)]) {
        for (at, event) in self.span.events.iter().enumerate() {
            if let Some(id) = self.outcomes.event(&event.name) {
                self.hits.push((id, Place::Event(at)));
            }
        }
        let failed = self.soft || self.hard || !self.hits.is_empty();
        for (at, event) in self.span.events.iter().enumerate() {
            // OpenTracing's name for it is `error`.
            let is_exception = event.name == "exception" || event.name == "error";
            if self.heeds(is_exception, failed, event.time, &event.attributes) {
                self.spoke |= is_exception;
                self.record(&event.attributes, |index| Place::EventAttribute(at, index));
            }
        }
        for &(at, log) in logs {
            let is_exception = ["exception.type", "exception.message"]
                .iter()
                .any(|key| log.attributes.get(key).is_some());
            if self.heeds(is_exception, failed, log.time, &log.attributes) {
                self.spoke |= is_exception;
                self.record(&log.attributes, |index| Place::LogAttribute(at, index));
                self.texts.push((Place::LogBody(at), &log.body));
            }
        }
    }

    /// Whether a record tells of how the span ended.
    fn heeds(&self, is_exception: bool, failed: bool, at: UnixNanos, of: &Attributes) -> bool {
        match (is_exception, failed) {
            (true, true) => true,
            (true, false) => !self.succeeded && self.ended_by(at, of),
            (false, true) => self.is_last(at),
            (false, false) => false,
        }
    }

    fn record(&mut self, attributes: &'a Attributes, place: impl Fn(usize) -> Place) {
        for (index, (key, value)) in attributes.iter().enumerate() {
            let Some(text) = value.as_str() else { continue };
            match key {
                "exception.type" | "error.kind" | "error.type" => {
                    self.types.push((place(index), text));
                }
                "message" | "error.object" | "error" => self.texts.push((place(index), text)),
                _ => {
                    let uses = self.outcomes.key(key);
                    if uses.is_some_and(|uses| uses.groups.contains(&Group::Text)) {
                        self.texts.push((place(index), text));
                    }
                }
            }
        }
    }

    fn ended_by(&self, at: UnixNanos, attributes: &Attributes) -> bool {
        let escaped = attributes.get("exception.escaped");
        escaped.is_none_or(is_true) && self.is_last(at)
    }

    fn is_last(&self, at: UnixNanos) -> bool {
        // A time of 0 is none.
        at.0 == 0 || self.span.end.since(at) <= LAST_WORDS
    }

    /// Nothing to judge: it did not fail, and nothing that it says is known.
    fn is_quiet(&self) -> bool {
        !self.soft && !self.hard && self.hits.is_empty() && self.types.is_empty() && !self.spoke
    }

    fn judge(mut self, node: NodeId) -> Evidence {
        let mut hints: Vec<(Told, Place)> = Vec::new();
        for (place, name) in std::mem::take(&mut self.types) {
            let known = self.outcomes.types(name);
            self.hits.extend(known.iter().map(|&id| (id, place)));
            if known.is_empty() {
                let told = words::of_type(&last_part(name).to_lowercase());
                hints.extend(told.map(|told| (told, place)));
            }
        }
        let failed = self.soft || self.hard || !self.hits.is_empty() || !hints.is_empty();
        let mut texts: Vec<(Place, String)> = Vec::new();
        if failed || self.spoke {
            let status = (Place::Status, self.span.status.message.as_str());
            let all = std::iter::once(status).chain(std::mem::take(&mut self.texts));
            texts = all
                .filter(|(_, text)| !text.is_empty())
                .map(|(place, text)| (place, text.to_lowercase()))
                .collect();
        }
        for (id, phrases, short) in self.outcomes.texts() {
            let says = |(_, text): &&(Place, String)| {
                phrases.iter().any(|phrase| phrase.is_in(text)) || *short && is_short_timeout(text)
            };
            self.hits
                .extend(texts.iter().find(says).map(|(place, _)| (*id, *place)));
        }
        let systems = Systems::of(&self.span.attributes);
        let mut found: Vec<(&Rule, Place)> = self
            .hits
            .iter()
            .map(|&(id, place)| (self.outcomes.rule(id), place))
            .filter(|(rule, _)| self.counts(rule, &texts, &systems))
            .collect();
        let other = found.iter().any(|(rule, _)| rule.means == Meaning::NotTime);
        self.hard |= other && !self.succeeded;
        found.retain(|(rule, _)| !(rule.weak && other));
        self.weigh(&found, &hints, node)
    }

    /// Whether a rule's conditions are met.
    fn counts(&self, rule: &Rule, texts: &[(Place, String)], systems: &Systems) -> bool {
        let said = |phrases: &[words::Phrase]| {
            phrases
                .iter()
                .any(|phrase| texts.iter().any(|(_, text)| phrase.is_in(text)))
        };
        let failed = self.soft || self.hard;
        rule.side.is(self.outbound)
            && (rule.system.is_empty() || systems.has(rule))
            && (rule.with.is_empty() || said(&rule.with))
            && !said(&rule.without)
            && (!rule.failed || failed)
            && !(rule.alone && failed)
    }

    /// Of all that counts, what is believed.
    fn weigh(&self, found: &[(&Rule, Place)], hints: &[(Told, Place)], node: NodeId) -> Evidence {
        let wins = found.iter().any(|(rule, _)| rule.wins);
        let known = found
            .iter()
            .map(|(rule, place)| (rule.means, rule.rank, *place));
        let by_look = hints.iter().map(|&(told, place)| {
            let means = match told {
                Told::Timeout => Meaning::OwnDeadline,
                Told::SocketTimeout => Meaning::DependencyTimeout,
                Told::Cancel => Meaning::Cancelled,
            };
            (means, Rank::Hint, place)
        });
        let mut evidence = Evidence::default();
        for (means, rank, place) in known.chain(by_look) {
            let (deadline, reason) = match means {
                Meaning::OwnDeadline => (true, Reason::OwnDeadline),
                Meaning::DependencyTimeout => (true, Reason::DependencyTimeout),
                Meaning::ExpiredOnArrival => (true, Reason::ExpiredOnArrival),
                Meaning::ExpiredBeforeSend => (true, Reason::ExpiredBeforeSend),
                Meaning::Interrupted => (true, Reason::Ambiguous),
                Meaning::CallerGone => (false, Reason::CallerGone),
                Meaning::Cancelled => (false, Reason::Ambiguous),
                Meaning::MaybeTimeout => {
                    evidence.maybe_deadline = true;
                    continue;
                }
                Meaning::NotTime => continue,
            };
            if deadline && wins {
                continue;
            }
            evidence = evidence.and(Evidence {
                deadline,
                cancelled: !deadline,
                reason: Some(reason),
                sign: Some(Sign { node, place }),
                rank: Some(rank),
                ..Evidence::default()
            });
        }
        let merely_cancelled = evidence.cancelled && !self.hard;
        evidence.error = evidence.deadline || self.hard || self.soft && !merely_cancelled;
        evidence.maybe_deadline &= !evidence.deadline && !evidence.cancelled;
        evidence
    }
}

/// The names of the systems that a span speaks of, in lower case.
struct Systems {
    rpc: String,
    database: String,
}

impl Systems {
    fn of(attributes: &Attributes) -> Self {
        Self {
            rpc: rpc_system(attributes),
            database: db_system(attributes).unwrap_or_default().to_lowercase(),
        }
    }

    fn has(&self, rule: &Rule) -> bool {
        let name = if rule.rank == Rank::Rpc {
            &self.rpc
        } else {
            &self.database
        };
        rule.system.iter().any(|part| name.contains(part.as_str()))
    }
}

fn rpc_system(attributes: &Attributes) -> String {
    ["rpc.system.name", "rpc.system"]
        .iter()
        .find_map(|key| attributes.text(key))
        .unwrap_or_default()
        .to_lowercase()
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(is) => *is,
        Value::Str(text) => text.eq_ignore_ascii_case("true") || text == "1",
        other => other.as_int() == Some(1),
    }
}

/// An RPC status: gRPC's number for its names in any spelling, alone, behind a type's name
/// (`StatusCode.CANCELLED`) or before one (`4 DEADLINE_EXCEEDED`).
fn rpc_code(value: &Value) -> Option<Code> {
    const NAMES: [&str; 17] = [
        "ok",
        "cancelled",
        "unknown",
        "invalidargument",
        "deadlineexceeded",
        "notfound",
        "alreadyexists",
        "permissiondenied",
        "resourceexhausted",
        "failedprecondition",
        "aborted",
        "outofrange",
        "unimplemented",
        "internal",
        "unavailable",
        "dataloss",
        "unauthenticated",
    ];
    let code = Code::of(value)?;
    let Code::Word(word) = &code else {
        return Some(code);
    };
    if let Some(number) = word
        .split([' ', ':'])
        .next()
        .and_then(|first| first.parse().ok())
    {
        return Some(Code::Number(number));
    }
    let name = last_part(word).replace(['_', '-', ' '], "");
    let name = match name.as_str() {
        "canceled" => "cancelled",
        other => other,
    };
    let number = NAMES.iter().position(|known| *known == name);
    Some(number.map_or(code, |number| Code::Number(number as i64)))
}
