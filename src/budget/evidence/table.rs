//! The table of outcomes, from the data file beside this one, made ready for looking things up.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::model::{Text, Value};

use super::super::quick::Table;
use super::words::{Phrase, last_part};

/// What a sign means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meaning {
    /// Its own budget or timeout ran out.
    OwnDeadline,
    /// Whoever called it cancelled or disconnected.
    CallerGone,
    /// What it called was too slow.
    DependencyTimeout,
    /// Nothing was left on arrival.
    ExpiredOnArrival,
    /// Nothing was left when it was to be sent.
    ExpiredBeforeSend,
    /// Cancelled, by whomever.
    Cancelled,
    /// A deadline or a cancellation, the word is the same.
    Interrupted,
    /// A timeout if a second sign says so.
    MaybeTimeout,
    /// Another kind of failure.
    NotTime,
}

/// Which side of a call a rule speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    /// Both.
    #[default]
    Any,
    /// CLIENT and PRODUCER spans.
    Client,
    /// All others.
    Server,
}

impl Side {
    pub(super) fn is(self, outbound: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Client => outbound,
            Self::Server => !outbound,
        }
    }
}

/// How much a sign counts beside others on the same span: the most particular one is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A phrase that many texts hold, or the look of a type's name.
    Hint,
    /// A known type.
    Type,
    /// An HTTP status.
    Http,
    /// A database's code.
    Database,
    /// An RPC status.
    Rpc,
    /// A known text.
    Text,
    /// A proxy's flag, or an attribute or event that says just this.
    Mark,
    /// The hop's own `deadline.outcome`.
    Word,
}

/// One way of saying how something ended.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition of its own"
)]
pub(super) struct Rule {
    pub means: Meaning,
    pub rank: Rank,
    pub side: Side,
    pub system: Vec<String>,
    pub with: Vec<Phrase>,
    pub without: Vec<Phrase>,
    /// Only on a span that failed by another sign.
    pub failed: bool,
    /// Only on a span without another sign of failure.
    pub alone: bool,
    /// Only where nothing else tells of time, a cancellation or another failure.
    pub weak: bool,
    /// A cancellation that stands against a timeout.
    pub wins: bool,
    /// The statement was stopped, nothing of it stands.
    pub undone: bool,
    /// The presence of the key is enough, whatever its value.
    pub present: bool,
}

/// Which values are compared under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Group {
    /// Status of gRPC and its like.
    Rpc,
    /// HTTP status.
    Http,
    /// A database's code.
    Database,
    /// The type of an error.
    Type,
    /// Envoy's response flags, one or several with commas.
    Flags,
    /// Envoy's response code details.
    Details,
    /// A text.
    Text,
}

/// A value as rules compare it: a number however it is written, else a word in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Code {
    Number(i64),
    Word(Text),
}

impl Code {
    /// Reads a value; `None` of what is neither a number nor a word.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Str(text) => Self::of_text(text),
            other => other.as_int().map(Self::Number),
        }
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let number = match text.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        Some(number.map_or_else(|| Self::Word(text.to_lowercase().into()), Self::Number))
    }
}

/// What a key is good for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Its value is compared under these.
    pub groups: Vec<Group>,
    /// Its presence or truth tells these.
    pub marks: Vec<RuleId>,
}

/// Index of a [`Rule`].
pub(super) type RuleId = u16;

/// The table, ready for looking things up.
#[derive(Debug)]
pub(in crate::budget) struct Outcomes {
    rules: Vec<Rule>,
    keys: Table<Text, Uses>,
    /// By the first byte of a key: the lengths that keys of the table with it have.
    lengths: Box<[u64; 256]>,
    codes: Table<(Group, Code), Vec<RuleId>>,
    /// Of types also by what follows the last dot, the first that bears the name.
    parts: Table<Text, RuleId>,
    events: Table<Text, RuleId>,
    texts: Vec<(RuleId, Vec<Phrase>, bool)>,
    /// Ids of the rules that are off by themselves.
    off: Vec<String>,
}

static BUILTIN: LazyLock<Arc<Outcomes>> = LazyLock::new(|| Arc::new(Outcomes::new(&[])));

/// Prefixes under which instrumentations record response headers and trailers; the empty one is a
/// proxy's custom tag.
const RESPONSE_PREFIXES: &[&str] = &[
    "http.response.header.",
    "http.response.headers.",
    "rpc.response.metadata.",
    "rpc.grpc.response.metadata.",
    "",
];

impl Outcomes {
    /// The table with these rules on of those that are off by themselves.
    pub(in crate::budget) fn with(enabled: &[Text]) -> Arc<Self> {
        if enabled.iter().any(|id| BUILTIN.off().any(|off| off == id)) {
            Arc::new(Self::new(enabled))
        } else {
            Arc::clone(&BUILTIN)
        }
    }

    /// Ids of the rules that are off by themselves.
    pub(in crate::budget) fn off(&self) -> impl Iterator<Item = &str> + Clone {
        self.off.iter().map(String::as_str)
    }

    fn new(enabled: &[Text]) -> Self {
        let file: File =
            toml::from_str(include_str!("outcomes.toml")).expect("a test reads this very file");
        let mut this = Self {
            rules: Vec::new(),
            keys: Table::default(),
            lengths: Box::new([0; 256]),
            codes: Table::default(),
            parts: Table::default(),
            events: Table::default(),
            texts: Vec::new(),
            off: Vec::new(),
        };
        for (group, keys) in file.keys {
            for key in keys {
                let groups = &mut this.uses(&key).groups;
                groups.push(group);
                groups.sort_unstable();
            }
        }
        let codes = file.code.iter().map(|rule| &rule.when);
        let marks = file.mark.iter().map(|rule| &rule.when);
        let texts = file.text.iter().map(|rule| &rule.when);
        let off = codes.chain(marks).chain(texts).filter(|when| when.off);
        this.off = off.map(|when| when.id.clone()).collect();
        let on = |when: &When| !when.off || enabled.iter().any(|id| *id == when.id);
        for code in file.code.into_iter().filter(|code| on(&code.when)) {
            this.add_code(code);
        }
        for mark in file.mark.into_iter().filter(|mark| on(&mark.when)) {
            this.add_mark(mark);
        }
        for text in file.text.into_iter().filter(|text| on(&text.when)) {
            let rank = if text.when.weak {
                Rank::Hint
            } else {
                Rank::Text
            };
            let phrases = text.says.iter().map(|says| Phrase::new(says)).collect();
            let id = this.add(text.when, rank, false);
            this.texts.push((id, phrases, text.short));
        }
        this
    }

    fn add(&mut self, when: When, rank: Rank, present: bool) -> RuleId {
        let phrases = |texts: &[String]| texts.iter().map(|text| Phrase::new(text)).collect();
        self.rules.push(Rule {
            means: when.means,
            rank,
            side: when.side,
            with: phrases(&when.with),
            without: phrases(&when.without),
            system: when.system,
            failed: when.failed,
            alone: when.alone,
            weak: when.weak,
            wins: when.wins,
            undone: when.undone,
            present,
        });
        (self.rules.len() - 1) as RuleId
    }

    fn add_code(&mut self, code: CodeRule) {
        let rank = match code.of {
            Group::Rpc => Rank::Rpc,
            Group::Http => Rank::Http,
            Group::Database => Rank::Database,
            Group::Type => Rank::Type,
            Group::Flags | Group::Details => Rank::Mark,
            Group::Text => Rank::Text,
        };
        let id = self.add(code.when, rank, false);
        for value in &code.is {
            let Some(found) = Code::of_text(value) else {
                continue;
            };
            if let (Group::Type, Code::Word(word)) = (code.of, &found) {
                self.parts.entry(last_part(word).into()).or_insert(id);
            }
            self.codes.entry((code.of, found)).or_default().push(id);
        }
    }

    fn add_mark(&mut self, mark: MarkRule) {
        let id = self.add(mark.when, Rank::Mark, mark.present);
        for key in &mark.keys {
            self.uses(key).marks.push(id);
        }
        for header in &mark.headers {
            for prefix in RESPONSE_PREFIXES {
                // Instrumentations differ in whether they keep the hyphen.
                for name in [header.clone(), header.replace('-', "_")] {
                    self.uses(&format!("{prefix}{name}")).marks.push(id);
                }
            }
        }
        for event in mark.events {
            self.events.insert(event.into(), id);
        }
    }

    fn uses(&mut self, key: &str) -> &mut Uses {
        if let Some(&first) = key.as_bytes().first() {
            self.lengths[usize::from(first)] |= 1 << (key.len() % 64);
        }
        self.keys.entry(key.into()).or_default()
    }

    /// What a key is good for. Most keys of a span are none of ours: those are turned away by
    /// their first byte and length.
    pub(super) fn key(&self, key: &str) -> Option<&Uses> {
        let first = *key.as_bytes().first()?;
        let lengths = self.lengths.get(usize::from(first))?;
        if lengths & (1 << (key.len() % 64)) == 0 {
            return None;
        }
        self.keys.get(key)
    }

    /// The rules that know a value.
    pub(super) fn code(&self, group: Group, code: Code) -> &[RuleId] {
        self.codes.get(&(group, code)).map_or(&[], Vec::as_slice)
    }

    /// The rules that know the type of an error: the whole name, else its last part.
    pub(super) fn types(&self, name: &str) -> &[RuleId] {
        let Some(code) = Code::of_text(name) else {
            return &[];
        };
        let whole = self.codes.get(&(Group::Type, code));
        let part = || self.parts.get(last_part(&name.trim().to_lowercase()));
        match whole {
            Some(ids) => ids,
            None => part().map_or(&[], std::slice::from_ref),
        }
    }

    /// The rule that an event's name tells.
    pub(super) fn event(&self, name: &str) -> Option<RuleId> {
        self.events.get(name).copied()
    }

    /// The rules for texts: their phrases, and whether any short text of a timeout counts.
    pub(super) fn texts(&self) -> &[(RuleId, Vec<Phrase>, bool)] {
        &self.texts
    }

    /// A rule.
    pub(super) fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[usize::from(id)]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    keys: std::collections::BTreeMap<Group, Vec<String>>,
    code: Vec<CodeRule>,
    mark: Vec<MarkRule>,
    text: Vec<TextRule>,
}

/// What every kind of rule has.
#[derive(Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of its own in the file"
)]
struct When {
    id: String,
    means: Meaning,
    #[serde(default)]
    side: Side,
    #[serde(default)]
    system: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    failed: bool,
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    weak: bool,
    #[serde(default)]
    wins: bool,
    #[serde(default)]
    undone: bool,
    #[serde(default)]
    off: bool,
}

#[derive(Deserialize)]
struct CodeRule {
    of: Group,
    is: Vec<String>,
    #[serde(flatten)]
    when: When,
}

#[derive(Deserialize)]
struct MarkRule {
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    headers: Vec<String>,
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    present: bool,
    #[serde(flatten)]
    when: When,
}

#[derive(Deserialize)]
struct TextRule {
    says: Vec<String>,
    #[serde(default)]
    short: bool,
    #[serde(flatten)]
    when: When,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SOURCE: &str = include_str!("outcomes.toml");

    fn ids(only_off: bool) -> Vec<String> {
        let file: File = toml::from_str(SOURCE).unwrap();
        let codes = file.code.into_iter().map(|rule| rule.when);
        let marks = file.mark.into_iter().map(|rule| rule.when);
        let texts = file.text.into_iter().map(|rule| rule.when);
        let all = codes.chain(marks).chain(texts);
        all.filter(|when| when.off || !only_off)
            .map(|when| when.id)
            .collect()
    }

    #[test]
    fn every_word_of_the_file_is_known() {
        const WORDS: &[&str] = &[
            "id", "of", "is", "means", "side", "system", "with", "without", "failed", "alone",
            "weak", "wins", "undone", "off", "keys", "headers", "events", "present", "says",
            "short",
        ];
        let file: toml::Table = toml::from_str(SOURCE).unwrap();
        for kind in ["code", "mark", "text"] {
            for rule in file[kind].as_array().unwrap() {
                for word in rule.as_table().unwrap().keys() {
                    assert!(WORDS.contains(&word.as_str()), "{word} in {rule}");
                }
            }
        }
    }

    #[test]
    fn ids_are_unique_and_few_rules_are_off() {
        let all = ids(false);
        assert!(all.len() > 60, "{} rules", all.len());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(
            ids(true),
            [
                "jsonrpc.timeout",
                "app.deadline_exceeded",
                "app.deadline_exceeded_by"
            ]
        );
        let enabled = Outcomes::with(&["jsonrpc.timeout".into()]);
        let code = || Code::Number(-32001);
        assert_eq!(enabled.code(Group::Rpc, code()).len(), 1);
        let others = Outcomes::with(&["hdr.x-timeout".into()]);
        assert!(others.code(Group::Rpc, code()).is_empty());
    }

    #[test]
    fn a_rule_that_can_never_count_is_not_in_the_table() {
        let table = Outcomes::with(&[]);
        let mut used: BTreeSet<RuleId> = table.codes.values().flatten().copied().collect();
        used.extend(table.keys.values().flat_map(|uses| &uses.marks));
        used.extend(table.events.values());
        used.extend(table.texts.iter().map(|(id, ..)| *id));
        assert_eq!(used.len(), table.rules.len());
        for (id, phrases, _) in &table.texts {
            assert!(!phrases.is_empty(), "text rule {id}");
        }
    }

    #[test]
    fn numbers_are_one_however_they_are_written() {
        assert_eq!(Code::of_text(" 0x1100 "), Some(Code::Number(4352)));
        assert_eq!(Code::of(&Value::Double(4.0)), Some(Code::Number(4)));
        assert_eq!(Code::of(&Value::Str("-2".into())), Some(Code::Number(-2)));
        assert_eq!(
            Code::of(&Value::Str("55P03".into())),
            Some(Code::Word("55p03".into()))
        );
        assert_eq!(Code::of(&Value::Str(" ".into())), None);
    }
}
