//! What is wrong with a statement, for whoever wrote it.

use polars::prelude::PolarsError;
use sqlparser::parser::ParserError;

use super::plan::{COUNT, ENGINES_COUNT};
use crate::store::tables::Table;

/// Why a statement gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// Nothing there.
    #[error(
        "there is no statement; give one such as `SELECT outcome, count(*) FROM requests GROUP BY outcome`"
    )]
    Empty,
    /// More than one.
    #[error("there are {0} statements; give one")]
    Several(usize),
    /// It is no SQL.
    #[error("not SQL{}: {what}", place(*.at))]
    Syntax {
        /// What is wrong.
        what: String,
        /// Line and column, from 1, where they are known.
        at: Option<(u64, u64)>,
    },
    /// It would change something.
    #[error("`{0}` does not only read; statements begin with SELECT or WITH")]
    NotReading(String),
    /// It reads from something that is none of the tables.
    #[error("`{what}` cannot be read from; the tables are {}", tables())]
    Source {
        /// What it is.
        what: String,
    },
    /// No such table.
    #[error("there is no table `{name}`{}the tables are {}", meant(.near.as_deref()), tables())]
    NoTable {
        /// What was asked for.
        name: String,
        /// A table with nearly that name.
        near: Option<String>,
    },
    /// No such column.
    #[error("there is no column `{name}`{}{columns}", meant(.near.as_deref()))]
    NoColumn {
        /// What was asked for.
        name: String,
        /// A column with nearly that name.
        near: Option<String>,
        /// The columns of the tables that the statement names.
        columns: String,
    },
    /// No such function.
    #[error("there is no function `{name}`{}{}", meant(.near.as_deref()), FUNCTIONS)]
    NoFunction {
        /// What was asked for.
        name: String,
        /// A function with nearly that name.
        near: Option<String>,
    },
    /// Two columns of the answer, or of a part of the statement, with one name.
    #[error(
        "two columns would be named `{0}`; name one of them yourself with AS, such as `count(*) AS n`"
    )]
    SameName(String),
    /// Anything else that the engine says.
    #[error("{0}")]
    Engine(String),
    /// The engine broke on it.
    #[error("the SQL engine does not support this statement: {0}")]
    Unsupported(String),
}

const FUNCTIONS: &str = "the functions are those of Polars SQL, \
     https://docs.pola.rs/api/python/stable/reference/sql/functions/";

fn place(at: Option<(u64, u64)>) -> String {
    at.map_or(String::new(), |(line, column)| {
        format!(" at line {line}, column {column}")
    })
}

fn meant(near: Option<&str>) -> String {
    near.map_or("; ".to_owned(), |near| {
        format!(" (did you mean `{near}`?); ")
    })
}

fn tables() -> String {
    Table::ALL.map(Table::as_str).join(", ")
}

impl SqlError {
    /// The parser appends the place to its words.
    pub(super) fn syntax(error: &ParserError) -> Self {
        let text = match error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
            ParserError::RecursionLimitExceeded => "it is nested too deeply",
        };
        let split = text.rsplit_once(" at Line: ").and_then(|(what, place)| {
            let (line, column) = place.split_once(", Column: ")?;
            Some((what, (line.parse().ok()?, column.parse().ok()?)))
        });
        let (what, at) = split.map_or((text, None), |(what, at)| (what, Some(at)));
        let mut what = what.to_owned();
        if let Some(first) = what.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        Self::Syntax { what, at }
    }

    /// Refuses a statement by its first words.
    pub(super) fn not_reading(statement: &str) -> Self {
        const WORDS: usize = 3;
        let words: Vec<&str> = statement.split_whitespace().take(WORDS).collect();
        Self::NotReading(words.join(" "))
    }

    pub(super) fn no_table(name: &str) -> Self {
        Self::NoTable {
            name: name.to_owned(),
            near: near(name, Table::ALL.map(Table::as_str)),
        }
    }

    pub(super) fn from_polars(error: &PolarsError, tables: &[Table]) -> Self {
        match error {
            PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } => {
                Self::from_polars(error, tables)
            }
            PolarsError::ColumnNotFound(text) | PolarsError::SchemaFieldNotFound(text) => {
                Self::no_column(text, tables)
            }
            PolarsError::Duplicate(text) => Self::same_name(text),
            PolarsError::SQLInterface(text) if is_about_a_column(text) => {
                Self::no_column(text, tables)
            }
            error => {
                let text = error.to_string();
                if let Some(name) = text.strip_prefix("unsupported function '") {
                    return Self::no_function(name.trim_end_matches('\''));
                }
                // What follows, a syntax tree or a plan, is for whoever wrote the engine.
                let first = text.lines().next().unwrap_or(&text).trim();
                Self::Engine(first.trim_end_matches("; found:").to_owned())
            }
        }
    }

    fn no_function(name: &str) -> Self {
        Self::NoFunction {
            name: name.to_owned(),
            near: near(name, polars::sql::keywords::all_functions()),
        }
    }

    fn same_name(text: &str) -> Self {
        let name = quoted(text).unwrap_or(text);
        // The engine's name for what is counted.
        let name = if name == ENGINES_COUNT { COUNT } else { name };
        Self::SameName(name.to_owned())
    }

    fn no_column(text: &str, tables: &[Table]) -> Self {
        let name = quoted(text).unwrap_or_else(|| text.trim());
        let columns: Vec<String> = tables
            .iter()
            .map(|table| {
                let names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
                format!("`{table}` has {}", names.join(", "))
            })
            .collect();
        let all = tables.iter().flat_map(|table| table.columns());
        Self::NoColumn {
            name: name.to_owned(),
            near: near(name, all.map(|column| column.name)),
            columns: columns.join("; "),
        }
    }
}

/// What stands in the first quotes of a text.
fn quoted(text: &str) -> Option<&str> {
    text.split(['"', '\'', '`']).nth(1)
}

fn is_about_a_column(text: &str) -> bool {
    text.starts_with("no column named")
        || text.starts_with("column '") && text.contains("not found")
}

/// The candidate that is most like `name`, if it is like it at all.
fn near<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const LIKE: f64 = 0.8;
    let name = name.to_lowercase();
    let scored = candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, candidate), candidate));
    scored
        .filter(|(score, _)| *score >= LIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}
