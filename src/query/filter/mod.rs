//! The filter language, one for the command line, the dashboard's search box and its addresses:
//! `outcome=missed and culprit.service=pricing and wasted > 200ms or hop.verdict=finished_late`.
//!
//! Fields and their types are one table ([`fields`]), from which parsing, evaluation and every
//! help text come. A filter is compiled once; evaluation reads the request in place.
//!
//! **Invariant**: no text makes the parser recurse deeper than [`MAX_DEPTH`] or compile more than
//! a few megabytes of patterns; filters come in addresses, from strangers.

mod catalog;
mod error;
mod eval;
mod fields;
mod instant;
mod lazy;
mod lex;
mod literal;
mod near;
#[cfg(test)]
mod oracle;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use catalog::{Completed, Completion, catalog, completion, word_lists};
pub use error::FilterError;
pub use fields::{Field, Kind, Of, SYNTAX, Value, field, fields};
pub use instant::{InstantError, instant};
pub(in crate::query) use near::word as near_word;

use crate::model::{Nanos, Request, UnixNanos};
use literal::Literal;

/// Bytes of a filter.
pub const MAX_LENGTH: usize = 16 * 1024;

/// Parentheses and `not`s inside one another.
pub const MAX_DEPTH: usize = 64;

/// Patterns (`~`) in a filter.
pub const MAX_PATTERNS: usize = 16;

/// A comparison of a text field as it is typed: `culprit.to="postgresql stock"`.
pub fn is(field: &str, text: &str) -> String {
    format!("{field}={}", Literal::Text(text.to_owned()))
}

/// A condition on a request, ready to be tried on many. Prints as a text that parses to itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    root: Expr,
}

impl Filter {
    /// Reads a filter where no clock is at hand: an instant like `-15m` is an error.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parse::filter(text, None)
    }

    /// Reads a filter; instants like `-15m` count back from `now`.
    pub fn parse_at(text: &str, now: UnixNanos) -> Result<Self, FilterError> {
        parse::filter(text, Some(now))
    }

    /// The requests of which each of these fields is just this text; `None` if there is no such
    /// field, or no pair.
    pub fn equal(pairs: &[(&str, &str)]) -> Option<Self> {
        let tests = pairs.iter().map(|(name, text)| Self::equals(name, text));
        Self::all(tests.collect::<Option<Vec<Self>>>()?)
    }

    /// Requests of which a field of texts or words is just this; `None` if there is no such field.
    pub fn equals(name: &str, text: &str) -> Option<Self> {
        let field = field(name).filter(|field| matches!(field.kind, Kind::Text | Kind::Word(_)))?;
        Some(Self::test(field, Op::Eq, Literal::Text(text.to_owned())))
    }

    /// Requests of which a field is not known; `None` if there is no such field.
    pub fn unknown(name: &str) -> Option<Self> {
        let field = field(name).filter(|field| field.nullable)?;
        Some(Self::test(field, Op::Eq, Literal::Null))
    }

    /// Requests of which a field of durations is at least this; `None` if there is no such field.
    pub fn at_least(name: &str, time: Nanos) -> Option<Self> {
        let field = field(name).filter(|field| matches!(field.kind, Kind::Time))?;
        Some(Self::test(field, Op::Ge, Literal::Time(time)))
    }

    fn test(field: &'static Field, op: Op, literal: Literal) -> Self {
        let root = Expr::Test(Test { field, op, literal });
        Self { root }
    }

    /// The requests that any of these ask for; `None` if there is none of them.
    pub fn any(filters: Vec<Self>) -> Option<Self> {
        let mut members = Vec::new();
        for filter in filters {
            match filter.root {
                Expr::Or(inner) => members.extend(inner),
                other => members.push(other),
            }
        }
        if members.len() > 1 {
            return Some(Self {
                root: Expr::Or(members),
            });
        }
        members.pop().map(|root| Self { root })
    }

    /// The requests that all of these ask for; `None` if there is none of them.
    pub fn all(filters: Vec<Self>) -> Option<Self> {
        let mut members = Vec::new();
        for filter in filters {
            match filter.root {
                Expr::And(inner) => members.extend(inner),
                other => members.push(other),
            }
        }
        if members.len() > 1 {
            return Some(Self {
                root: Expr::And(members),
            });
        }
        members.pop().map(|root| Self { root })
    }

    /// Whether a row of `requests` alone tells if a request is one of them.
    pub fn is_of_requests(&self) -> bool {
        lazy::is_of_requests(&self.root)
    }

    /// Whether the request is one of those that the filter asks for.
    pub fn matches(&self, request: &Request) -> bool {
        eval::matches(&self.root, request)
    }
}

/// A condition. `And` and `Or` have two members or more, none of their own kind.
#[derive(Debug, Clone, PartialEq)]
enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    /// One hop, call, row of the ledger or finding of which all of this holds: its tests are of no
    /// other kind, and no other of these is inside it.
    One(Of, Box<Expr>),
    Test(Test),
}

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
struct Test {
    field: &'static Field,
    op: Op,
    literal: Literal,
}

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Match,
}

impl Op {
    fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Match => "~",
        }
    }
}
