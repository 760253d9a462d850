//! Where values come from, and which source wins: flag over environment over file over default.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::kind::{Kind, Wanted};
use super::table::{DEFINITIONS, definition};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A command-line flag, by its name: `--grpc-addr`.
    Flag(String),
    /// An environment variable, by its name: `DWINDLE_GRPC_ADDR`.
    Environment(String),
    /// A place in a configuration file.
    File(Place),
    /// Nobody said anything.
    Default,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
}

/// A setting's value and where it came from. Derefs to the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// The text that it was read from.
    pub text: String,
    /// Where it came from.
    pub origin: Origin,
}

/// A text and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The text.
    pub text: String,
    /// Where it was found.
    pub origin: Origin,
}

/// Something that is wrong with what was set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {reason}")]
pub struct Problem {
    /// Where it was set.
    pub origin: Origin,
    /// What is wrong and what is wanted.
    pub reason: String,
}

/// Everything that is wrong with what was set; at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

/// A look-up of texts by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What was said, and what of it is wrong.
pub(super) struct Sources<'a> {
    flag: Lookup<'a>,
    environment: Lookup<'a>,
    file: BTreeMap<(&'static str, &'static str), Given>,
    pub problems: Vec<Problem>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        flag: Lookup<'a>,
        environment: Lookup<'a>,
        file: BTreeMap<(&'static str, &'static str), Given>,
    ) -> Self {
        Self {
            flag,
            environment,
            file,
            problems: Vec::new(),
        }
    }

    /// The value of a setting; without one the problem was told.
    pub(super) fn get<T>(&mut self, section: &str, key: &str, kind: &Kind<T>) -> Option<Set<T>> {
        let Given { text, origin } = self.given(section, key);
        match (kind.parse)(text.trim()) {
            Ok(value) => Some(Set {
                value,
                text,
                origin,
            }),
            Err(wanted) => {
                self.problems.push(Problem::unfit(origin, &text, &wanted));
                None
            }
        }
    }

    /// What is said of a setting by the one who has the say. An empty variable says nothing.
    fn given(&self, section: &str, key: &str) -> Given {
        let Some(definition) = definition(section, key) else {
            return Given {
                text: String::new(),
                origin: Origin::Default,
            };
        };
        if definition.is_flag()
            && let Some(text) = (self.flag)(definition.key)
        {
            let origin = Origin::Flag(format!("--{}", definition.flag()));
            return Given { text, origin };
        }
        let variable = definition.variable();
        if let Some(text) = (self.environment)(&variable).filter(|text| !text.trim().is_empty()) {
            let origin = Origin::Environment(variable);
            return Given { text, origin };
        }
        let file = self.file.get(&(definition.section, definition.key));
        file.cloned().unwrap_or_else(|| Given {
            text: definition.default.to_owned(),
            origin: Origin::Default,
        })
    }

    /// What is said of each setting.
    pub(super) fn all(&self) -> Vec<Given> {
        let all = DEFINITIONS.iter();
        all.map(|definition| self.given(definition.section, definition.key))
            .collect()
    }
}

impl Problem {
    /// A text that does not fit.
    pub(super) fn unfit(origin: Origin, text: &str, Wanted(wanted): &Wanted) -> Self {
        Self {
            origin,
            reason: format!("`{}` is not {wanted}", clipped(text)),
        }
    }
}

/// The beginning of a text that may be long.
pub(super) fn clipped(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(f),
            all => {
                write!(f, "{} things are wrong with the configuration:", all.len())?;
                all.iter()
                    .try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Environment(name) => f.write_str(name),
            Self::File(place) => place.fmt(f),
            Self::Default => f.write_str("default"),
        }
    }
}

impl<T> std::ops::Deref for Set<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
