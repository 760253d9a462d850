//! From a text to tokens.

use std::ops::Range;

use winnow::LocatingSlice;
use winnow::combinator::{alt, delimited, repeat};
use winnow::error::ContextError;
use winnow::prelude::*;
use winnow::token::{any, none_of, one_of, take_while};

use super::{FilterError, Op};

/// Characters that end a word; a text that has one of them is quoted.
const SIGNS: &str = "()=!<>~";

/// A token and the bytes that it came from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Open,
    Close,
    Op(Op),
    /// A name, a number, a keyword or a text without blanks.
    Word(String),
    /// What stood in quotation marks.
    Quoted(String),
}

type Text<'a> = LocatingSlice<&'a str>;
type Lexed<T> = Result<T, ContextError>;

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    loop {
        blanks(&mut input).ok();
        if input.is_empty() {
            return Ok(tokens);
        }
        let rest = *input.as_ref();
        match kind.with_span().parse_next(&mut input) {
            Ok((kind, at)) => tokens.push(Token { kind, at }),
            Err(_) => return Err(refused(text, rest)),
        }
    }
}

/// Whether a text can stand as a word, without quotation marks.
pub(super) fn is_bare(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['"', '\'']) && text.chars().all(is_of_word)
}

fn is_of_word(c: char) -> bool {
    !c.is_whitespace() && !SIGNS.contains(c)
}

fn blanks(input: &mut Text<'_>) -> Lexed<()> {
    take_while(0.., char::is_whitespace)
        .void()
        .parse_next(input)
}

fn kind(input: &mut Text<'_>) -> Lexed<TokenKind> {
    alt((
        '('.value(TokenKind::Open),
        ')'.value(TokenKind::Close),
        op.map(TokenKind::Op),
        quoted('"').map(TokenKind::Quoted),
        quoted('\'').map(TokenKind::Quoted),
        word.map(TokenKind::Word),
    ))
    .parse_next(input)
}

fn op(input: &mut Text<'_>) -> Lexed<Op> {
    alt((
        "!=".value(Op::Ne),
        "<=".value(Op::Le),
        ">=".value(Op::Ge),
        '='.value(Op::Eq),
        '<'.value(Op::Lt),
        '>'.value(Op::Gt),
        '~'.value(Op::Match),
    ))
    .parse_next(input)
}

fn word(input: &mut Text<'_>) -> Lexed<String> {
    let start = one_of(|c: char| is_of_word(c) && c != '"' && c != '\'');
    (start, take_while(0.., is_of_word))
        .take()
        .map(str::to_owned)
        .parse_next(input)
}

/// Text in quotation marks. A backslash takes the mark or another backslash as it is; before
/// anything else it stands for itself, so that `"\d+"` is the pattern that it looks like.
fn quoted<'a>(mark: char) -> impl Parser<Text<'a>, String, ContextError> {
    let escaped = ('\\', one_of([mark, '\\'])).map(|(_, c)| c);
    let plain = none_of(mark);
    let inner = repeat(0.., alt((escaped, plain))).fold(String::new, |mut text, c: char| {
        text.push(c);
        text
    });
    delimited(mark, inner, mark)
}

/// What is wrong where no token begins.
fn refused(text: &str, rest: &str) -> FilterError {
    let start = text.len() - rest.len();
    let first = any::<_, ContextError>
        .parse_peek(rest)
        .map_or('?', |(_, c)| c);
    let at = start..start + first.len_utf8();
    match first {
        '"' | '\'' => FilterError::new(start..text.len(), "this quotation mark is not closed"),
        '!' if rest.starts_with("!~") => FilterError::new(start..start + 2, "there is no `!~`")
            .help("write `not` before the field and `~` behind it"),
        _ => FilterError::new(at, format!("`{first}` means nothing here"))
            .help("write `!=` for unequal, `not` for the contrary"),
    }
}
