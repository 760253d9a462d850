//! Rules as data: what stands in `rules.toml`, and what an operator adds.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::Text;

use super::{Field, Grammar};

/// Where an operator's rule looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// An attribute with exactly this key.
    Attribute,
    /// A captured request header, under any capture prefix; case does not count, `_` and `-` are
    /// one.
    Header,
}

/// A rule that an operator adds: a key of their own, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomRule {
    /// The attribute's key, or the header's name without prefix.
    pub key: Text,
    /// Where it stands.
    pub place: Place,
    /// How its values are written, their unit included.
    pub grammar: Grammar,
    /// What they mean.
    pub field: Field,
}

/// Why rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// An id that no built-in rule has.
    #[error("no built-in rule has the id `{id}`{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    UnknownId {
        /// What was asked for.
        id: Text,
        /// The id that is nearest to it.
        near: Option<Text>,
    },
    /// A rule without a key.
    #[error("a rule needs the key of an attribute or the name of a header")]
    NoKey,
    /// Two rules of the configuration for one key.
    #[error("two rules for `{0}`: one key has one meaning")]
    Twice(Text),
    /// A grammar that yields no value of the field.
    #[error("`{key}`: values written as `{}` cannot mean `{}`", grammar.name(), field.name())]
    Mismatch {
        /// The rule's key.
        key: Text,
        /// Its grammar.
        grammar: Grammar,
        /// Its field.
        field: Field,
    },
}

/// A built-in rule as people see it: on the help page, in the commented configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its id, by which a configuration turns it on.
    pub id: &'static str,
    /// Where it looks: `attribute`, `header`, `message` and so on.
    pub place: &'static str,
    /// The keys, or for texts an example of one.
    pub keys: Vec<&'static str>,
    /// How its values are written, where one grammar says it.
    pub grammar: Option<Grammar>,
    /// What they mean.
    pub field: Field,
    /// Whether it is on unless the configuration says otherwise.
    pub on: bool,
    /// Which system writes it, and what else is to be known.
    pub words: &'static str,
}

/// What `rules.toml` holds: rules by place, then by id.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Prefixes under which instrumentations record request headers. The empty one is a proxy's
    /// own tag, which bears the header's bare name.
    pub header_prefixes: Vec<String>,
    /// Headers that are not looked for under the empty prefix: as bare keys they are too common.
    pub never_bare: Vec<String>,
    /// Attributes of spans, events and log records that hold the text of an error.
    pub texts: Vec<String>,
    /// The same, but of events and log records only.
    pub texts_of_records: Vec<String>,
    /// Attributes that hold a URL or its query.
    pub urls: Vec<String>,
    /// Attributes that hold a database statement.
    pub statements: Vec<String>,
    /// Words in a key by which it is no budget, whatever else it holds.
    pub never_suggested: Vec<String>,
    pub attribute: BTreeMap<String, Raw>,
    pub header: BTreeMap<String, Raw>,
    pub url_query: BTreeMap<String, Raw>,
    pub db_text: BTreeMap<String, Raw>,
    pub message: BTreeMap<String, Raw>,
    pub span_name: BTreeMap<String, Raw>,
    pub event: BTreeMap<String, Raw>,
}

/// One rule, as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of a rule that do not depend on each other"
)]
pub(super) struct Raw {
    /// The attribute's key or the header's name.
    pub key: Option<String>,
    /// The same, where there are several.
    #[serde(default)]
    pub keys: Vec<String>,
    /// For texts: what is looked for. The group `n` is the value, `u` its unit.
    pub pattern: Option<String>,
    /// For texts: a part that every match holds, looked for before the pattern is.
    pub needle: Option<String>,
    /// How the value is written.
    #[serde(default, deserialize_with = "named")]
    pub grammar: Option<Grammar>,
    /// How else it may be written.
    #[serde(default, deserialize_with = "named")]
    pub or: Option<Grammar>,
    /// What it means.
    #[serde(deserialize_with = "field")]
    pub field: Field,
    /// It is read only where the configuration says so.
    #[serde(default)]
    pub off: bool,
    /// 0 is no budget at all, instead of one that is spent.
    #[serde(default)]
    pub zero_is_none: bool,
    /// The value counts what is overdue.
    #[serde(default)]
    pub overdue: bool,
    /// The key has other uses: a value that cannot be read is not bad.
    #[serde(default)]
    pub lenient: bool,
    /// Not a name that tells its system: believed less than a number in a message.
    #[serde(default)]
    pub ad_hoc: bool,
    /// It is written by a caller alone; a span that handles a request has it by chance.
    #[serde(default)]
    pub caller_only: bool,
    /// For messages: it is written by the side that handled the request.
    #[serde(default)]
    pub callee: bool,
    /// What else the span must have.
    pub needs: Option<Needs>,
    /// A key of the span beside which this one is a mere setting: that key tells what it came to.
    pub unless: Option<String>,
    /// What else the value means, where it is not 0.
    #[serde(default, deserialize_with = "also")]
    pub also: Option<Field>,
    /// Texts that it reads, or keys for a pattern.
    #[serde(default)]
    pub examples: Vec<String>,
    /// Texts that are near but none.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    pub non_examples: Vec<String>,
    /// Who writes it.
    pub words: String,
}

/// What a span must have for a key that is too common to be believed alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Needs {
    /// A store of Temporal's persistence layer.
    Persistence,
    /// A message: a span of a queue, or one that says it is of a messaging system.
    Messaging,
    /// `max_attempts`, or a span of userver.
    MaxAttempts,
}

fn named<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Grammar>, D::Error> {
    let name = String::deserialize(from)?;
    name.parse().map(Some).map_err(serde::de::Error::custom)
}

fn field<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Field, D::Error> {
    let name = String::deserialize(from)?;
    name.parse().map_err(serde::de::Error::custom)
}

fn also<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Field>, D::Error> {
    field(from).map(Some)
}
