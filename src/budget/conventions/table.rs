//! The compiled table: built-in rules, those that an operator added, and which of them are on.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use regex::{Regex, RegexSet, RegexSetBuilder};

use crate::model::Text;

use super::super::evidence::Outcomes;
use super::super::quick::Table;
use super::filter::{self, Filter};
use super::read::Trust;
use super::rule::{CustomRule, File, Listed, Needs, Place, Raw, RuleError};
use super::{Field, Grammar};

/// The built-in rules as they are written.
static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("rules.toml")).expect("the tests read this file"));

static BUILTIN: LazyLock<Arc<Rules>> = LazyLock::new(|| Arc::new(Rules::compile(&[], &[])));

/// Finds nothing: keys that match it are named in a note.
const FALLBACK: &str = "fallback.generic";

/// Which keys and texts tell a deadline, and how they are read.
pub struct Rules {
    custom: Vec<CustomRule>,
    enabled: Vec<Text>,
    all: Vec<Rule>,
    attributes: Table<Text, Hit>,
    headers: Table<Text, usize>,
    /// Capture prefixes, spelled as headers are.
    prefixes: Vec<String>,
    filter: Filter,
    /// What tells how something ended.
    pub(in crate::budget) outcomes: Arc<Outcomes>,
    pub(super) messages: Texts,
    pub(super) statements: Texts,
    pub(super) urls: Texts,
}

/// What a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// It tells a deadline, by the rule with this index.
    Rule(usize),
    /// The text of an error.
    Message,
    /// The same, on events and log records only.
    MessageOfRecord,
    /// A URL.
    Url,
    /// A database statement.
    Statement,
}

/// One compiled rule.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of a rule that do not depend on each other"
)]
pub(super) struct Rule {
    pub id: Text,
    pub grammar: Option<Grammar>,
    pub or: Option<Grammar>,
    pub field: Field,
    pub off: bool,
    pub zero_is_none: bool,
    pub overdue: bool,
    pub caller_only: bool,
    pub callee: bool,
    pub lenient: bool,
    pub needs: Option<Needs>,
    pub unless: Option<&'static str>,
    pub also: Option<Field>,
    pub trust: Trust,
    pattern: Option<Pattern>,
}

impl Rule {
    /// What it looks for in a text.
    pub(super) fn pattern(&self) -> Option<&Regex> {
        self.pattern.as_ref()?.get()
    }
}

/// An expression that is compiled when it is first needed: most runs meet few of them.
#[derive(Debug)]
struct Pattern {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn get(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| Regex::new(&self.source).ok())
            .as_ref()
    }
}

/// Rules that look into texts, behind a look for what every match of them holds.
#[derive(Debug, Default)]
pub(super) struct Texts {
    rules: Vec<usize>,
    needles: Vec<String>,
    set: OnceLock<Option<RegexSet>>,
}

impl Texts {
    fn push(&mut self, rule: usize, needle: &str) {
        self.rules.push(rule);
        self.needles.push(regex::escape(needle));
    }

    /// The rules whose needle is in the text, by index.
    pub(super) fn in_question(&self, text: &str) -> Vec<usize> {
        let set = self.set.get_or_init(|| {
            let mut builder = RegexSetBuilder::new(&self.needles);
            builder.case_insensitive(true).unicode(false).build().ok()
        });
        let Some(set) = set.as_ref().filter(|set| set.is_match(text)) else {
            return vec![];
        };
        let found = set.matches(text);
        found
            .iter()
            .filter_map(|at| self.rules.get(at).copied())
            .collect()
    }
}

impl Rules {
    /// The built-in rules, as they are without a configuration.
    pub fn builtin() -> Arc<Self> {
        Arc::clone(&BUILTIN)
    }

    /// The built-in rules with an operator's own, and with these turned on by their ids. An own
    /// rule stands in for built-in ones of the same key.
    pub fn new(custom: &[CustomRule], enabled: &[Text]) -> Result<Arc<Self>, RuleError> {
        if custom.is_empty() && enabled.is_empty() {
            return Ok(Self::builtin());
        }
        let mut seen = BTreeSet::new();
        for rule in custom {
            if rule.key.trim().is_empty() {
                return Err(RuleError::NoKey);
            }
            if !seen.insert((rule.place, folded(rule.place, &rule.key))) {
                return Err(RuleError::Twice(rule.key.clone()));
            }
            if !fits(rule.grammar, rule.field) {
                return Err(RuleError::Mismatch {
                    key: rule.key.clone(),
                    grammar: rule.grammar,
                    field: rule.field,
                });
            }
        }
        for id in enabled {
            let known = BUILTIN.all.iter().map(|rule| rule.id.as_str());
            let mut known = known.chain(BUILTIN.outcomes.off());
            if !known.clone().any(|known| known == id) {
                let near = known
                    .by_ref()
                    .map(|known| (strsim::damerau_levenshtein(known, id), known))
                    .filter(|(apart, _)| *apart <= 1 + id.len() / 4)
                    .min();
                return Err(RuleError::UnknownId {
                    id: id.clone(),
                    near: near.map(|(_, id)| id.into()),
                });
            }
        }
        Ok(Arc::new(Self::compile(custom, enabled)))
    }

    /// The built-in rules, for people to read.
    pub fn listed() -> Vec<Listed> {
        let places = [
            ("attribute", &FILE.attribute),
            ("header", &FILE.header),
            ("URL", &FILE.url_query),
            ("statement", &FILE.db_text),
            ("message", &FILE.message),
            ("span name", &FILE.span_name),
            ("event", &FILE.event),
        ];
        let listed = |place: &'static str, id: &'static String, raw: &'static Raw| Listed {
            id,
            place,
            keys: if raw.pattern.is_some() || id == FALLBACK {
                raw.examples
                    .first()
                    .map(String::as_str)
                    .into_iter()
                    .collect()
            } else {
                raw.names().collect()
            },
            grammar: raw.grammar,
            field: raw.field,
            on: !raw.off,
            words: &raw.words,
        };
        places
            .into_iter()
            .flat_map(|(place, rules)| rules.iter().map(move |(id, raw)| listed(place, id, raw)))
            .collect()
    }

    /// What a key is; `None` for nearly every one.
    pub(super) fn find(&self, key: &str) -> Option<Hit> {
        if !self.filter.may_hold(key) {
            return None;
        }
        if let Some(hit) = self.attributes.get(key) {
            return Some(*hit);
        }
        let folded = folded(Place::Header, key);
        self.prefixes.iter().find_map(|prefix| {
            let name = folded.strip_prefix(prefix.as_str())?;
            if prefix.is_empty() && FILE.never_bare.iter().any(|never| never == name) {
                return None;
            }
            self.headers.get(name).copied().map(Hit::Rule)
        })
    }

    /// True for a key that no rule knows, but that looks like a budget's.
    pub(super) fn suggests(key: &str) -> bool {
        filter::looks_like_budget(key, &FILE.never_suggested)
    }

    pub(super) fn rule(&self, index: usize) -> Option<&Rule> {
        self.all.get(index)
    }

    fn compile(custom: &[CustomRule], enabled: &[Text]) -> Self {
        let mut this = Self {
            custom: custom.to_vec(),
            enabled: enabled.to_vec(),
            all: vec![],
            attributes: Table::default(),
            headers: Table::default(),
            prefixes: FILE
                .header_prefixes
                .iter()
                .map(|prefix| folded(Place::Header, prefix))
                .collect(),
            filter: Filter::of(std::iter::empty()),
            outcomes: Outcomes::with(enabled),
            messages: Texts::default(),
            statements: Texts::default(),
            urls: Texts::default(),
        };
        let carriers = [
            (&FILE.texts, Hit::Message),
            (&FILE.texts_of_records, Hit::MessageOfRecord),
            (&FILE.urls, Hit::Url),
            (&FILE.statements, Hit::Statement),
        ];
        for (keys, hit) in carriers {
            let keys = keys.iter().map(|key| (key.as_str().into(), hit));
            this.attributes.extend(keys);
        }
        for (id, raw) in &FILE.attribute {
            let rule = this.push(id, raw);
            let keys = raw.names().map(|key| (key.into(), Hit::Rule(rule)));
            this.attributes.extend(keys);
        }
        for (id, raw) in &FILE.header {
            let rule = this.push(id, raw);
            this.headers
                .extend(raw.names().map(|key| (key.into(), rule)));
        }
        for (id, raw) in &FILE.url_query {
            let rule = this.push(id, raw);
            this.urls.push(rule, raw.needle());
        }
        for (id, raw) in &FILE.db_text {
            let rule = this.push(id, raw);
            this.statements.push(rule, raw.needle());
        }
        for (id, raw) in &FILE.message {
            let rule = this.push(id, raw);
            this.messages.push(rule, raw.needle());
        }
        for (id, raw) in FILE.span_name.iter().chain(&FILE.event) {
            this.push(id, raw);
        }
        for rule in custom {
            this.add(rule);
        }
        let prefixed = this.headers.keys().flat_map(|name| {
            let prefixes = FILE.header_prefixes.iter();
            prefixes.map(move |prefix| format!("{prefix}{name}"))
        });
        let attributes = this.attributes.keys().map(ToString::to_string);
        let keys: Vec<String> = prefixed.chain(attributes).collect();
        this.filter = Filter::of(keys.iter().map(String::as_str));
        this
    }

    fn push(&mut self, id: &str, raw: &'static Raw) -> usize {
        let pattern = raw.pattern.clone().map(|source| Pattern {
            source,
            compiled: OnceLock::new(),
        });
        let trust = match (raw.pattern.is_some(), raw.ad_hoc) {
            (true, _) => Trust::Message,
            (_, true) => Trust::AdHoc,
            _ => Trust::Named,
        };
        self.all.push(Rule {
            id: id.into(),
            grammar: raw.grammar,
            or: raw.or,
            field: raw.field,
            off: raw.off && !self.enabled.iter().any(|enabled| enabled == id),
            zero_is_none: raw.zero_is_none,
            overdue: raw.overdue,
            caller_only: raw.caller_only,
            callee: raw.callee,
            lenient: raw.lenient,
            needs: raw.needs,
            unless: raw.unless.as_deref(),
            also: raw.also,
            trust,
            pattern,
        });
        self.all.len() - 1
    }

    fn add(&mut self, custom: &CustomRule) {
        let index = self.all.len();
        self.all.push(Rule {
            id: custom.key.clone(),
            grammar: Some(custom.grammar),
            or: None,
            field: custom.field,
            off: false,
            zero_is_none: false,
            overdue: false,
            caller_only: false,
            callee: false,
            lenient: false,
            needs: None,
            unless: None,
            also: None,
            trust: Trust::Named,
            pattern: None,
        });
        let key = folded(custom.place, &custom.key);
        match custom.place {
            Place::Attribute => {
                self.attributes.insert(key.into(), Hit::Rule(index));
            }
            Place::Header => {
                self.headers.insert(key.into(), index);
            }
        }
    }
}

/// Whether values of a grammar can mean this.
fn fits(grammar: Grammar, field: Field) -> bool {
    match field {
        Field::Outcome => grammar == Grammar::Word,
        Field::Resend | Field::Attempt => matches!(grammar, Grammar::Count | Grammar::Flag),
        Field::Nothing => true,
        _ => grammar.is_time(),
    }
}

/// A key as it is looked up: a header's in lower case with `-`, an attribute's as it is.
fn folded(place: Place, key: &str) -> String {
    match place {
        Place::Attribute => key.to_owned(),
        Place::Header => key.trim().to_ascii_lowercase().replace('_', "-"),
    }
}

impl Raw {
    /// The attribute keys or header names.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.key.iter().chain(&self.keys).map(String::as_str)
    }

    fn needle(&self) -> &str {
        self.needle.as_deref().unwrap_or_default()
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.custom == other.custom && self.enabled == other.enabled
    }
}

impl Eq for Rules {}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("custom", &self.custom)
            .field("enabled", &self.enabled)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
