//! From tokens to a filter.

use std::ops::Range;

use super::lex::{Token, TokenKind, tokens};
use super::literal::{self, ops};
use super::{
    Expr, Field, Filter, FilterError, Kind, MAX_DEPTH, MAX_LENGTH, MAX_PATTERNS, Of, Op, Test,
};
use super::{field as field_named, fields, near};
use crate::model::UnixNanos;

/// The words that join conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Or,
    Not,
}

/// The keyword that a word is, in any case.
pub(super) fn keyword(word: &str) -> Option<Keyword> {
    match () {
        () if word.eq_ignore_ascii_case("and") => Some(Keyword::And),
        () if word.eq_ignore_ascii_case("or") => Some(Keyword::Or),
        () if word.eq_ignore_ascii_case("not") => Some(Keyword::Not),
        () => None,
    }
}

pub(super) fn filter(text: &str, now: Option<UnixNanos>) -> Result<Filter, FilterError> {
    if text.len() > MAX_LENGTH {
        let message = format!(
            "a filter has at most {MAX_LENGTH} bytes, not {}",
            text.len()
        );
        return Err(FilterError::new(0..0, message));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser {
        text,
        tokens: &tokens,
        next: 0,
        depth: 0,
        patterns: 0,
        one: None,
        now,
    };
    let root = parser.or()?;
    match parser.peek() {
        None => Ok(Filter { root }),
        Some(token) => Err(parser.leftover(token)),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    next: usize,
    depth: usize,
    patterns: usize,
    /// What stands in the parentheses is of one of these.
    one: Option<Of>,
    now: Option<UnixNanos>,
}

impl<'a> Parser<'a> {
    /// `and`s joined by `or`.
    fn or(&mut self) -> Result<Expr, FilterError> {
        let mut members = vec![self.and()?];
        while self.takes(Keyword::Or) {
            members.push(self.and()?);
        }
        Ok(joined(members, Expr::Or, |expr| match expr {
            Expr::Or(members) => Ok(members),
            other => Err(other),
        }))
    }

    /// Conditions joined by `and`.
    fn and(&mut self) -> Result<Expr, FilterError> {
        let mut members = vec![self.not()?];
        while self.takes(Keyword::And) {
            members.push(self.not()?);
        }
        Ok(joined(members, Expr::And, |expr| match expr {
            Expr::And(members) => Ok(members),
            other => Err(other),
        }))
    }

    /// A condition with any number of `not`s before it.
    fn not(&mut self) -> Result<Expr, FilterError> {
        if !self.takes(Keyword::Not) {
            return self.primary();
        }
        self.deeper()?;
        let inner = self.not()?;
        self.depth -= 1;
        Ok(Expr::Not(Box::new(inner)))
    }

    fn primary(&mut self) -> Result<Expr, FilterError> {
        let Some(token) = self.peek() else {
            let what = if self.next == 0 {
                "there is no condition"
            } else {
                "a condition is missing at the end"
            };
            return Err(FilterError::new(self.end(), what).help("for example `outcome=missed`"));
        };
        match &token.kind {
            TokenKind::Open => self.parenthesis(&token.at),
            TokenKind::Word(name) if keyword(name).is_none() && self.opens() => {
                let Some(of) = Of::group(name) else {
                    let error = FilterError::new(token.at.clone(), format!("`{name}( )` is none"));
                    return Err(error.help("there are hop( ) call( ) ledger( ) finding( )"));
                };
                if self.one.is_some() {
                    let what = "these do not stand inside one another";
                    return Err(FilterError::new(token.at.clone(), what));
                }
                self.next += 1;
                self.one = Some(of);
                let inner = self.parenthesis(&token.at);
                self.one = None;
                Ok(Expr::One(of, Box::new(inner?)))
            }
            TokenKind::Word(name) if keyword(name).is_none() => {
                self.next += 1;
                self.test(name, &token.at).map(Expr::Test)
            }
            TokenKind::Quoted(_) => Err(FilterError::new(
                token.at.clone(),
                "a field is needed here, not a text",
            )
            .help("for example `service=pricing`")),
            _ => Err(
                FilterError::new(token.at.clone(), "a condition is needed here")
                    .help("for example `outcome=missed`"),
            ),
        }
    }

    /// Whether the token after this one opens a parenthesis.
    fn opens(&self) -> bool {
        let after = self.tokens.get(self.next + 1);
        after.is_some_and(|token| token.kind == TokenKind::Open)
    }

    /// What stands in parentheses, with them; `at` is told if they are not closed.
    fn parenthesis(&mut self, at: &Range<usize>) -> Result<Expr, FilterError> {
        self.deeper()?;
        self.next += 1;
        let inner = self.or()?;
        self.depth -= 1;
        match self.peek() {
            Some(Token {
                kind: TokenKind::Close,
                ..
            }) => {
                self.next += 1;
                Ok(inner)
            }
            Some(token) => Err(self.leftover(token)),
            None => Err(FilterError::new(
                at.clone(),
                "this parenthesis is not closed",
            )),
        }
    }

    /// What follows the name of a field.
    fn test(&mut self, name: &str, at: &Range<usize>) -> Result<Test, FilterError> {
        let short = self
            .one
            .and_then(|of| field_named(&format!("{}.{name}", of.prefix())));
        let Some(field) = short.or_else(|| field_named(name)) else {
            return Err(unknown(name, at));
        };
        if let Some(of) = self.one.filter(|of| *of != field.of()) {
            let message = format!("`{name}` is not of one {}", of.prefix());
            let help = format!("put it outside of the parentheses of {}( )", of.prefix());
            return Err(FilterError::new(at.clone(), message).help(help));
        }
        let op = self.op(field, at)?;
        if op == Op::Match {
            self.patterns += 1;
            if self.patterns > MAX_PATTERNS {
                let message = format!("a filter has at most {MAX_PATTERNS} patterns");
                return Err(FilterError::new(at.clone(), message));
            }
        }
        let missing = |at| {
            FilterError::new(at, format!("a value for `{}` is missing", field.name))
                .maybe(example(field))
        };
        let Some(token) = self.peek() else {
            return Err(missing(self.end()));
        };
        if let TokenKind::Word(word) = &token.kind
            && keyword(word).is_some()
        {
            return Err(missing(token.at.clone()).help("quote it if it is the value"));
        }
        self.next += 1;
        let literal = literal::read(field, op, token, self.now)?;
        Ok(Test { field, op, literal })
    }

    fn op(&mut self, field: &Field, at: &Range<usize>) -> Result<Op, FilterError> {
        let Some(token) = self.peek() else {
            let message = format!("`{}` is compared with nothing", field.name);
            return Err(FilterError::new(at.clone(), message).maybe(example(field)));
        };
        let TokenKind::Op(op) = token.kind else {
            let message = format!(
                "after `{}` one of {} is needed",
                field.name,
                listed(ops(field.kind))
            );
            return Err(FilterError::new(token.at.clone(), message));
        };
        self.next += 1;
        if ops(field.kind).contains(&op) {
            return Ok(op);
        }
        let message = format!(
            "`{}` cannot be compared with `{}`: it is of type {}",
            field.name,
            op.as_str(),
            field.kind.name()
        );
        let help = format!("there are {}", listed(ops(field.kind)));
        Err(FilterError::new(token.at.clone(), message).help(help))
    }

    fn takes(&mut self, wanted: Keyword) -> bool {
        let found = match self.peek().map(|token| &token.kind) {
            Some(TokenKind::Word(word)) => keyword(word) == Some(wanted),
            _ => false,
        };
        self.next += usize::from(found);
        found
    }

    /// One step into a parenthesis or behind a `not`.
    fn deeper(&mut self) -> Result<(), FilterError> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        let at = self
            .tokens
            .get(self.next)
            .map_or(self.end(), |token| token.at.clone());
        let message = format!("parentheses and `not` go at most {MAX_DEPTH} deep");
        Err(FilterError::new(at, message))
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    fn end(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        end..end
    }

    /// What is wrong with a token that follows a whole condition.
    fn leftover(&self, token: &Token) -> FilterError {
        let at = token.at.clone();
        match &token.kind {
            TokenKind::Close => FilterError::new(at, "this parenthesis was never opened"),
            TokenKind::Op(Op::Eq) if self.follows_an_op() => {
                FilterError::new(at, "one `=` is enough")
            }
            TokenKind::Op(_) | TokenKind::Open => {
                FilterError::new(at, "`and` or `or` is needed before this")
                    .help("quote a text that has blanks or any of ( ) = ! < > ~")
            }
            TokenKind::Word(_) | TokenKind::Quoted(_) => {
                FilterError::new(at, "`and` or `or` is needed before this")
                    .help("quote a text that has blanks")
            }
        }
    }

    fn follows_an_op(&self) -> bool {
        let before = self.next.checked_sub(1).and_then(|at| self.tokens.get(at));
        matches!(before.map(|token| &token.kind), Some(TokenKind::Op(_)))
    }
}

/// The members as one condition; those of the same kind give theirs.
fn joined(
    mut members: Vec<Expr>,
    join: fn(Vec<Expr>) -> Expr,
    same: fn(Expr) -> Result<Vec<Expr>, Expr>,
) -> Expr {
    if members.len() == 1
        && let Some(one) = members.pop()
    {
        return one;
    }
    let mut flat = Vec::with_capacity(members.len());
    for member in members {
        match same(member) {
            Ok(inner) => flat.extend(inner),
            Err(other) => flat.push(other),
        }
    }
    join(flat)
}

fn unknown(name: &str, at: &Range<usize>) -> FilterError {
    let error = FilterError::new(at.clone(), format!("there is no field `{name}`"));
    if name.contains(['&', '|']) {
        return error.help("write `and`, `or`");
    }
    let help = near::field(name, fields());
    error.maybe(help.or_else(|| Some("`dwindle filter` lists them".to_owned())))
}

fn example(field: &Field) -> Option<String> {
    let value = match field.kind {
        Kind::Id => "4bf92f",
        Kind::Text => "pricing",
        Kind::Word(words) => words().first()?,
        Kind::Time => "200ms",
        Kind::Count => "3",
        Kind::Share => "90%",
        Kind::Flag => "true",
        Kind::Instant => "2026-10-07",
        Kind::Object => "null",
    };
    Some(format!("for example `{}={value}`", field.name))
}

fn listed(ops: &[Op]) -> String {
    let words: Vec<&str> = ops.iter().map(|op| op.as_str()).collect();
    words.join(" ")
}
