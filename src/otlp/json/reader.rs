//! A pull parser for JSON text, made for input that is mostly right.
//!
//! Why not `serde_json`: a span with a wrong shape must cost that span and not its batch, so every
//! value has to be readable as "whatever stands here"; a text may hold several documents; errors
//! need their place in the file; lone surrogates, which JavaScript writes, must not cost a batch.
//! What is accepted is what `serde_json` accepts, which `tests/it/otlp.rs` holds over mutations,
//! but for lone surrogates: they become U+FFFD.
//!
//! **Invariant**: no recursion here; [`Reader::skip`] keeps its nesting on the heap, bounded by the
//! text. One pass, no backtracking, no copy of a string without escapes.

use std::borrow::Cow;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Byte offset of the fault in the text.
    pub(crate) at: usize,
    /// What is wrong there.
    pub(crate) what: &'static str,
}

impl Syntax {
    /// What is said of a text that ends inside a document.
    pub(crate) const CUT_OFF: &'static str = "the document is cut off";
}

pub(crate) type Read<T> = Result<T, Syntax>;

/// What a value is, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Array,
    Other,
}

/// A value that is not looked into: a compound one was skipped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    /// The digits as they stand.
    Number(&'a str),
    Str(Cow<'a, str>),
    Compound,
}

/// The parser: a text and a place in it.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Byte offset of what is read next.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes on at byte `at`.
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    /// Passes white space; true when nothing else is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.space();
        self.at >= self.text.len()
    }

    /// What the next value is.
    pub(crate) fn shape(&mut self) -> Read<Shape> {
        self.space();
        match self.byte() {
            Some(b'{') => Ok(Shape::Object),
            Some(b'[') => Ok(Shape::Array),
            Some(_) => Ok(Shape::Other),
            None => Err(self.fault(Syntax::CUT_OFF)),
        }
    }

    /// Reads an object: `field` is called with each key and reads that key's value.
    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &str) -> Read<()>,
    ) -> Read<()> {
        self.expect(b'{', "expected an object")?;
        self.space();
        if self.byte() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.expect(b':', "expected `:` after a key")?;
            field(self, &key)?;
            if self.ends(b'}', "expected `,` or `}`")? {
                return Ok(());
            }
        }
    }

    /// Reads an array: `item` is called at each item and reads it.
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect(b'[', "expected an array")?;
        self.space();
        if self.byte() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            if self.ends(b']', "expected `,` or `]`")? {
                return Ok(());
            }
        }
    }

    /// Reads any value: a scalar as it is, a compound one by skipping it.
    pub(crate) fn scalar(&mut self) -> Read<Scalar<'a>> {
        self.space();
        match self.byte() {
            Some(b'"') => self.string().map(Scalar::Str),
            Some(b'-' | b'0'..=b'9') => self.number().map(Scalar::Number),
            Some(b'{' | b'[') => self.skip().map(|_| Scalar::Compound),
            Some(b't') => self.word("true").map(|()| Scalar::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Scalar::Bool(false)),
            Some(b'n') => self.word("null").map(|()| Scalar::Null),
            Some(_) => Err(self.fault("expected a value")),
            None => Err(self.fault(Syntax::CUT_OFF)),
        }
    }

    /// Passes any value; returns its text.
    pub(crate) fn skip(&mut self) -> Read<&'a str> {
        self.space();
        let start = self.at;
        // The closing brackets that are owed.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.byte() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.byte() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(b'}');
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.byte() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(b']');
                        continue;
                    }
                }
                Some(b'"') => self.pass_string()?,
                _ => {
                    self.scalar()?;
                }
            }
            // A value has ended; so may what holds it.
            loop {
                match open.last() {
                    None => return self.slice(start, self.at),
                    Some(b'}') => {
                        if self.ends(b'}', "expected `,` or `}`")? {
                            open.pop();
                        } else {
                            self.space();
                            self.key()?;
                            break;
                        }
                    }
                    Some(_) => {
                        if self.ends(b']', "expected `,` or `]`")? {
                            open.pop();
                        } else {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Passes this very text; `None`, with nothing passed, if another one stands here.
    pub(crate) fn pass(&mut self, text: &str) -> Option<&'a str> {
        let rest = self.rest();
        if !rest.starts_with(text.as_bytes()) {
            return None;
        }
        let start = self.at;
        self.at += text.len();
        self.text.get(start..self.at)
    }

    /// The rest of a string without escapes, behind its first quote; `None` of any other, of which
    /// a part may be passed.
    pub(crate) fn plain(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.at += plain(self.rest());
        let text = self.text.get(start..self.at)?;
        self.pass("\"").map(|_| text)
    }

    fn key(&mut self) -> Read<()> {
        self.pass_string()?;
        self.space();
        self.expect(b':', "expected `:` after a key")
    }

    /// After a value in a compound one: true at its end, false after a comma.
    fn ends(&mut self, close: u8, what: &'static str) -> Read<bool> {
        self.space();
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                Ok(false)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.fault(what)),
        }
    }

    fn string(&mut self) -> Read<Cow<'a, str>> {
        self.expect(b'"', "expected a string")?;
        let start = self.at;
        self.at += plain(self.rest());
        match self.byte() {
            Some(b'"') => {
                let text = self.slice(start, self.at)?;
                self.at += 1;
                Ok(Cow::Borrowed(text))
            }
            _ => self.escaped(start).map(Cow::Owned),
        }
    }

    /// The rest of a string from its first escape on.
    fn escaped(&mut self, start: usize) -> Read<String> {
        let mut out = String::from(self.slice(start, self.at)?);
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(_) => return Err(self.fault("control character in a string")),
                None => return Err(self.fault(Syntax::CUT_OFF)),
            }
            let from = self.at;
            self.at += plain(self.rest());
            out.push_str(self.slice(from, self.at)?);
        }
    }

    fn pass_string(&mut self) -> Read<()> {
        self.expect(b'"', "expected a string")?;
        loop {
            self.at += plain(self.rest());
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault("control character in a string")),
                None => return Err(self.fault(Syntax::CUT_OFF)),
            }
        }
    }

    /// The character that an escape stands for; the backslash is passed.
    fn escape(&mut self) -> Read<char> {
        let Some(byte) = self.byte() else {
            return Err(self.fault(Syntax::CUT_OFF));
        };
        let plain = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.fault("unknown escape in a string")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `XXXX` or `XXXX\uXXXX`; half of a pair alone is U+FFFD.
    fn unicode(&mut self) -> Read<char> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Read<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(byte) = self.byte() else {
                return Err(self.fault(Syntax::CUT_OFF));
            };
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(self.fault("expected four hex digits after `\\u`"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Read<&'a str> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        self.slice(start, self.at)
    }

    fn digits(&mut self) -> Read<()> {
        let count = self
            .rest()
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        self.at += count;
        match count {
            0 => Err(self.fault("expected a digit")),
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &'static str) -> Read<()> {
        if self.rest().starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else if word.as_bytes().starts_with(self.rest()) {
            self.at = self.text.len();
            Err(self.fault(Syntax::CUT_OFF))
        } else {
            Err(self.fault("expected a value"))
        }
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Read<()> {
        self.space();
        if self.byte() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fault(what))
        }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn slice(&self, start: usize, end: usize) -> Read<&'a str> {
        self.text
            .get(start..end)
            .ok_or(self.fault("expected a character"))
    }

    fn fault(&self, what: &'static str) -> Syntax {
        let cut_off = self.at >= self.text.len();
        Syntax {
            at: self.at.min(self.text.len()),
            what: if cut_off { Syntax::CUT_OFF } else { what },
        }
    }
}

/// How many bytes lie before the first quote, backslash or control character; eight at a time.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([128; 8]);
    // The high bit of the lowest byte that is zero is exact; those above it may be false.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = quote | backslash | control;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)
        .unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(text: &str) -> Read<&str> {
        Reader::new(text).skip()
    }

    #[test]
    fn strings_are_borrowed_unless_they_hold_an_escape() {
        let read = |text| Reader::new(text).string();
        assert_eq!(read("\"plain\""), Ok(Cow::Borrowed("plain")));
        assert_eq!(
            read(r#""a\"\\\/\b\f\n\r\té😀""#).unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\té😀"
        );
        assert_eq!(
            read(r#""\ud83dx\ude00\ud83d\n""#).unwrap(),
            "\u{fffd}x\u{fffd}\u{fffd}\n"
        );
        assert_eq!(
            read("\"a\nb\"").unwrap_err().what,
            "control character in a string"
        );
        assert_eq!(read("\"open").unwrap_err().what, Syntax::CUT_OFF);
        assert_eq!(read(r#""\ud83"#).unwrap_err().what, Syntax::CUT_OFF);
    }

    #[test]
    fn a_special_byte_is_found_at_every_offset() {
        for special in [b'"', b'\\', 0x1f, b'\n', 0] {
            for at in 0..20 {
                let mut bytes = vec![0xc3; 24];
                bytes[at] = special;
                bytes[at + 1] = special;
                assert_eq!(plain(&bytes), at, "{special} at {at}");
            }
        }
        assert_eq!(plain(b" !#[]~\x7f\xff 01234567"), 17);
    }

    #[test]
    fn skipping_returns_the_value_and_stops_behind_it() {
        let text = r#" {"a":[1,{"b":[]},"]}"],"c":{}} , 1"#;
        assert_eq!(skip(text), Ok(r#"{"a":[1,{"b":[]},"]}"],"c":{}}"#));
        assert_eq!(skip("-1.5e+3]"), Ok("-1.5e+3"));
        for bad in [
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "01x,",
            "tru",
            "+1",
            "]",
            "",
        ] {
            let done = skip(bad);
            assert!(done.is_err() || done == Ok("0"), "{bad}: {done:?}");
        }
    }

    #[test]
    fn deep_nesting_is_skipped_without_the_stack() {
        let text = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(skip(&text).map(str::len), Ok(2_000_000));
    }
}
