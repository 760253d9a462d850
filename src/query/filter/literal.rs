//! The value of a comparison: read for its field's type, printed so that it reads the same.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::instant::{DurationError, duration, instant, percent};
use super::lex::{Token, TokenKind, is_bare};
use super::{Field, FilterError, Kind, Op, near};
use crate::model::{Nanos, UnixNanos};

/// Bytes that one compiled pattern may take, and its cache as many again.
const PATTERN_BYTES: usize = 256 * 1024;

/// A value that fits its field.
#[derive(Debug, Clone)]
pub(super) enum Literal {
    Null,
    /// Lower-case hex digits.
    Id(String),
    /// A text or a word.
    Text(String),
    Pattern(Regex),
    Time(Nanos),
    Count(i64),
    /// Hundred-millionths.
    Share(i64),
    Flag(bool),
    Instant(UnixNanos),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Id(a), Self::Id(b)) | (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Pattern(a), Self::Pattern(b)) => a.as_str() == b.as_str(),
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Count(a), Self::Count(b)) | (Self::Share(a), Self::Share(b)) => a == b,
            (Self::Flag(a), Self::Flag(b)) => a == b,
            (Self::Instant(a), Self::Instant(b)) => a == b,
            _ => false,
        }
    }
}

/// The operators that fit a type.
pub(super) fn ops(kind: Kind) -> &'static [Op] {
    const EQUAL: &[Op] = &[Op::Eq, Op::Ne];
    const TEXT: &[Op] = &[Op::Eq, Op::Ne, Op::Match];
    const ORDER: &[Op] = &[Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];
    match kind {
        Kind::Id | Kind::Flag | Kind::Object => EQUAL,
        Kind::Text | Kind::Word(_) => TEXT,
        Kind::Time | Kind::Count | Kind::Share | Kind::Instant => ORDER,
    }
}

/// Reads the value that stands after a field and its operator.
pub(super) fn read(
    field: &'static Field,
    op: Op,
    token: &Token,
    now: Option<UnixNanos>,
) -> Result<Literal, FilterError> {
    let fault = |message: String| FilterError::new(token.at.clone(), message);
    let (text, quoted) = match &token.kind {
        TokenKind::Quoted(text) => (text.as_str(), true),
        TokenKind::Word(text) => (text.as_str(), false),
        TokenKind::Op(_) | TokenKind::Open | TokenKind::Close => {
            return Err(fault(format!("a value for `{}` is missing", field.name)));
        }
    };
    if !quoted && text == "null" {
        return null(field, op, token);
    }
    if op == Op::Match {
        return pattern(text).map(Literal::Pattern).map_err(fault);
    }
    match field.kind {
        Kind::Text => Ok(Literal::Text(text.to_owned())),
        Kind::Word(words) => word(field, text, &words(), token),
        Kind::Id => id(text).map_err(fault),
        Kind::Time => time(field, text, token),
        Kind::Share => percent(text).map(Literal::Share).ok_or_else(|| {
            // JSON has shares from 0 to 1: who writes 0.5 there hardly means half a per cent.
            let help = text.parse::<f64>().ok().map(|number| {
                let meant = if number.abs() < 1.0 {
                    number * 100.0
                } else {
                    number
                };
                format!("write `{meant}%`")
            });
            fault(format!(
                "`{}` is compared with a percentage such as 90%",
                field.name
            ))
            .maybe(help)
        }),
        Kind::Count => text.parse().map(Literal::Count).map_err(|_| {
            fault(format!(
                "`{}` is a whole number; `{text}` is none",
                field.name
            ))
        }),
        Kind::Flag => match text {
            "true" => Ok(Literal::Flag(true)),
            "false" => Ok(Literal::Flag(false)),
            _ => Err(fault(format!("`{}` is true or false", field.name))),
        },
        Kind::Instant => instant(text, now)
            .map(Literal::Instant)
            .map_err(|error| fault(format!("`{text}` {error}"))),
        Kind::Object => Err(fault(format!("`{}` can only be null or not", field.name))
            .help(format!("write `{0}=null` or `{0}!=null`", field.name))),
    }
}

fn null(field: &Field, op: Op, token: &Token) -> Result<Literal, FilterError> {
    let fault = |message: String| FilterError::new(token.at.clone(), message);
    match (op, field.nullable) {
        (Op::Eq | Op::Ne, true) => Ok(Literal::Null),
        (_, true) => Err(fault("null has no order".to_owned()).help("write `=null` or `!=null`")),
        (_, false) => {
            let help =
                matches!(field.kind, Kind::Text).then(|| "quote it if it is a text".to_owned());
            Err(fault(format!("`{}` is never null", field.name)).maybe(help))
        }
    }
}

fn word(
    field: &Field,
    text: &str,
    words: &[&'static str],
    token: &Token,
) -> Result<Literal, FilterError> {
    if words.contains(&text) {
        return Ok(Literal::Text(text.to_owned()));
    }
    let help = match near::word(text, words.iter().copied()) {
        Some(near) => format!("is it `{near}`?"),
        None => format!("there are {}", words.join(", ")),
    };
    let message = format!("`{}` is never `{text}`", field.name);
    Err(FilterError::new(token.at.clone(), message).help(help))
}

fn id(text: &str) -> Result<Literal, String> {
    match text.len() {
        1..=32 if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(Literal::Id(text.to_ascii_lowercase()))
        }
        _ => Err("an id is compared with 1 to 32 hex digits: its beginning".to_owned()),
    }
}

fn time(field: &Field, text: &str, token: &Token) -> Result<Literal, FilterError> {
    let fault = |message: String| FilterError::new(token.at.clone(), message);
    duration(text)
        .map(Literal::Time)
        .map_err(|error| match error {
            DurationError::NoUnit => fault(format!(
                "`{}` is a duration and `{text}` has no unit",
                field.name
            ))
            .help(format!("write `{text}ms`")),
            DurationError::TooLong => fault(format!("`{text}` is too long")),
            DurationError::Malformed => fault(format!("`{text}` is no duration"))
                .help("write a number and ns, us, ms, s, m, h or d: `200ms`, `1.5s`"),
        })
}

fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .nest_limit(50)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "this pattern is too large".to_owned(),
            other => {
                // Its last line is the reason; those before it draw the place.
                let text = other.to_string();
                let reason = text.lines().last().unwrap_or_default();
                let reason = reason.trim().trim_start_matches("error: ");
                format!("this is no regular expression: {reason}")
            }
        })
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Id(digits) => f.write_str(digits),
            Self::Text(text) => quoted(text, f),
            Self::Pattern(pattern) => quoted(pattern.as_str(), f),
            Self::Time(time) => unit(*time, f),
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => {
                let sign = if *share < 0 { "-" } else { "" };
                let (whole, rest) = (
                    share.unsigned_abs() / 1_000_000,
                    share.unsigned_abs() % 1_000_000,
                );
                let rest = format!("{rest:06}");
                match rest.trim_end_matches('0') {
                    "" => write!(f, "{sign}{whole}%"),
                    rest => write!(f, "{sign}{whole}.{rest}%"),
                }
            }
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Instant(instant) => write!(f, "{instant}"),
        }
    }
}

/// Whole units of the largest that fits.
fn unit(time: Nanos, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let units = [
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let fits = units
        .into_iter()
        .find(|(nanos, _)| time.0 % nanos == 0 && (time.0 != 0 || *nanos == 1_000_000));
    let (nanos, name) = fits.unwrap_or((1, "ns"));
    write!(f, "{}{name}", time.0 / nanos)
}

/// The text as it is where that reads the same, else in quotation marks.
fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if is_bare(text) && text != "null" && super::parse::keyword(text).is_none() {
        return f.write_str(text);
    }
    write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
