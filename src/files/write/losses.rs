//! What a format could not hold as it was.

use std::collections::BTreeMap;
use std::fmt;

/// A kind of thing that a format cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// Nanoseconds below the microsecond: a span with a time of its own or of an event.
    Nanoseconds,
    /// A span that ends before it begins.
    NegativeDuration,
    /// A list as an attribute.
    Array,
    /// A map as an attribute.
    Map,
    /// An attribute without a value.
    Empty,
    /// A service whose name is no text.
    Service,
    /// An attribute with a name that the format gives a meaning of its own.
    Reserved,
    /// Attributes, trace state or flags of a link, or what it dropped.
    Link,
    /// A span of a kind, or with a status code, that the format has no word for.
    Unknown,
    /// A span whose scope has attributes or a schema, or whose resource has a schema.
    Around,
    /// A log record that became part of its span.
    LogOfSpan,
    /// What is not kept of a log record when it is read: its severity, its resource, and more
    /// than the beginning of its text.
    LogParts,
    /// A whole log record.
    Log,
}

impl Loss {
    /// One and many of it, and what became of them.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Nanoseconds => (
                "span's times were",
                "spans' times were",
                "cut to microseconds",
            ),
            Self::NegativeDuration => (
                "span ends",
                "spans end",
                "before the start; written as 0 long",
            ),
            Self::Array => ("array", "arrays", "became JSON text"),
            Self::Map => ("map", "maps", "became JSON text"),
            Self::Empty => ("empty value", "empty values", "became empty text"),
            Self::Service => ("service name", "service names", "became text"),
            Self::Reserved => (
                "attribute has a name",
                "attributes have names",
                "with a meaning of its own in the format, and may be read as that",
            ),
            Self::Link => ("link", "links", "lost attributes, trace state or flags"),
            Self::Unknown => (
                "span",
                "spans",
                "lost a kind or status code that the format does not know",
            ),
            Self::Around => (
                "span",
                "spans",
                "lost a schema URL, or attributes of the scope",
            ),
            Self::LogOfSpan => (
                "log record",
                "log records",
                "became logs of their spans: time, attributes and text",
            ),
            Self::LogParts => (
                "log record",
                "log records",
                "written with ids, time, attributes and text, without the rest",
            ),
            Self::Log => (
                "log record",
                "log records",
                "left out: the format has spans only",
            ),
        }
    }
}

/// How much was not held, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses(BTreeMap<Loss, u64>);

impl Losses {
    /// Counts so many of a kind.
    pub fn add(&mut self, loss: Loss, count: usize) {
        if count > 0 {
            *self.0.entry(loss).or_default() += count as u64;
        }
    }

    /// Counts one of a kind, if there is one.
    pub(super) fn note(&mut self, loss: Loss, is_there: bool) {
        self.add(loss, usize::from(is_there));
    }

    /// Counts these, too.
    pub fn join(&mut self, others: &Self) {
        for (&loss, &count) in &others.0 {
            *self.0.entry(loss).or_default() += count;
        }
    }

    /// How many of a kind.
    pub fn of(&self, loss: Loss) -> u64 {
        self.0.get(&loss).copied().unwrap_or_default()
    }

    /// True when all was held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line for each kind.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(loss, count)| {
            let (one, many, what) = loss.words();
            let noun = if *count == 1 { one } else { many };
            format!("{count} {noun} {what}")
        })
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines().collect();
        f.write_str(&lines.join("; "))
    }
}
