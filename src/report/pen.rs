//! Writes text with colour, measures it, wraps it.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::glyphs::{self, Glyph};
use super::look::is_plain;
use crate::report::{Look, visible};

/// What a piece of text means, and so how it is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Ink {
    Plain,
    Bold,
    Dim,
    Head,
    Blue,
    BoldBlue,
    DimBlue,
    Red,
    BoldRed,
    Yellow,
}

impl Ink {
    fn style(self) -> Style {
        let style = Style::new();
        let color = |color: AnsiColor| style.fg_color(Some(color.into()));
        match self {
            Self::Plain => style,
            Self::Bold => style.bold(),
            Self::Dim => style.dimmed(),
            Self::Head => style.dimmed().underline(),
            Self::Blue => color(AnsiColor::Blue),
            Self::BoldBlue => color(AnsiColor::Blue).bold(),
            Self::DimBlue => color(AnsiColor::Blue).dimmed(),
            Self::Red => color(AnsiColor::Red),
            Self::BoldRed => color(AnsiColor::Red).bold(),
            Self::Yellow => color(AnsiColor::Yellow),
        }
    }
}

/// Columns that a text takes on a terminal.
pub(in crate::report) fn width(text: &str) -> usize {
    if is_plain(text) {
        text.len()
    } else {
        text.width()
    }
}

/// Collects the drawing.
pub(in crate::report) struct Pen {
    look: Look,
    out: String,
    /// Blanks that are only written if something follows on their line.
    owed: usize,
    ink: Ink,
}

impl Pen {
    pub(in crate::report) fn new(look: Look) -> Self {
        Self {
            look,
            out: String::new(),
            owed: 0,
            ink: Ink::Plain,
        }
    }

    pub(in crate::report) fn look(&self) -> Look {
        self.look
    }

    /// A text from outside, safe to write: nothing in it steers the terminal.
    pub(in crate::report) fn text(&self, text: &str) -> String {
        self.safe(text).into_owned()
    }

    /// The same, where nothing else is made of it.
    pub(in crate::report) fn safe<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = visible(text);
        if self.look.ascii && !text.is_ascii() {
            Cow::Owned(glyphs::ascii(&text))
        } else {
            text
        }
    }

    pub(in crate::report) fn glyph(&self, glyph: Glyph) -> char {
        glyph.char(self.look.ascii)
    }

    /// Writes text that is safe already: from [`Self::text`], or our own words.
    pub(in crate::report) fn write(&mut self, ink: Ink, text: &str) {
        if text.is_empty() {
            return;
        }
        if ink != Ink::Head && text.chars().all(|c| c == ' ') {
            self.owed += text.len();
            return;
        }
        self.settle();
        self.dip(ink);
        if is_plain(text) {
            self.out.push_str(text);
            return;
        }
        for c in text.chars() {
            match c {
                // The no-break spaces have done their work; people search for plain ones.
                '\u{a0}' => self.out.push(' '),
                c if self.look.ascii && !c.is_ascii() => self
                    .out
                    .push_str(&glyphs::ascii(c.encode_utf8(&mut [0; 4]))),
                c => self.out.push(c),
            }
        }
    }

    /// Writes one sign.
    pub(in crate::report) fn sign(&mut self, ink: Ink, glyph: Glyph) {
        let c = self.glyph(glyph);
        self.write(ink, c.encode_utf8(&mut [0; 4]));
    }

    /// Leaves so many columns blank.
    pub(in crate::report) fn pad(&mut self, columns: usize) {
        self.owed += columns;
    }

    /// Ends the line.
    pub(in crate::report) fn end(&mut self) {
        self.dip(Ink::Plain);
        self.owed = 0;
        self.out.push('\n');
    }

    pub(in crate::report) fn finish(mut self) -> String {
        self.dip(Ink::Plain);
        self.out
    }

    fn settle(&mut self) {
        if self.owed > 0 {
            self.dip(Ink::Plain);
            self.out.extend(std::iter::repeat_n(' ', self.owed));
            self.owed = 0;
        }
    }

    fn dip(&mut self, ink: Ink) {
        if self.ink == ink || !self.look.color {
            return;
        }
        // Writing to a String cannot fail.
        write!(self.out, "{:#}{}", self.ink.style(), ink.style()).ok();
        self.ink = ink;
    }

    /// Writes text (made safe here) wrapped at the width, each line indented.
    pub(in crate::report) fn paragraph(&mut self, text: &str, indent: usize, ink: Ink) {
        let text = keep_units(&self.text(text));
        let room = self.look.width.saturating_sub(indent).max(20);
        for line in wrap(&text, room) {
            self.pad(indent);
            self.write(ink, &line);
            self.end();
        }
    }

    /// Writes text to exactly so many columns, cut with a sign if it is longer.
    pub(in crate::report) fn column(&mut self, ink: Ink, text: &str, columns: usize) {
        let text = self.cut(text, columns);
        self.write(ink, &text);
        self.pad(columns - width(&text));
    }

    /// Writes text to so many columns, at their right edge; longer text is cut.
    pub(in crate::report) fn right(&mut self, ink: Ink, text: &str, columns: usize) {
        let text = self.cut(text, columns);
        self.pad(columns - width(&text));
        self.write(ink, &text);
    }

    /// The text, cut to so many columns.
    pub(in crate::report) fn cut<'t>(&self, text: &'t str, columns: usize) -> Cow<'t, str> {
        if width(text) <= columns {
            return Cow::Borrowed(text);
        }
        let Some(room) = columns.checked_sub(1) else {
            return Cow::Borrowed("");
        };
        let (mut out, mut used) = (String::new(), 0);
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > room {
                break;
            }
            used += wide;
            out.push(c);
        }
        out.push(self.glyph(Glyph::Cut));
        Cow::Owned(out)
    }
}

/// Text wrapped at the width, each line indented and ended.
pub fn paragraph(text: &str, indent: usize, look: Look) -> String {
    let mut pen = Pen::new(look);
    pen.paragraph(text, indent, Ink::Plain);
    pen.finish()
}

/// The text with the blanks between numbers and their units made no-break ones.
fn keep_units(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(' ') {
        out.push_str(before);
        let number = before.ends_with(|c: char| c.is_ascii_digit());
        let unit = ["ms", "s", "%"].iter().any(|unit| {
            after
                .strip_prefix(unit)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        });
        out.push(if number && unit { '\u{a0}' } else { ' ' });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Lines of at most so many columns, broken at spaces (not at no-break ones); a longer word is
/// broken where it must be.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wide = width(word);
        if used > 0 && used + 1 + wide > room {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        if wide <= room {
            line.push_str(word);
            used += wide;
            continue;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used > 0 && used + wide > room {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += wide;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_never_at_no_break_ones() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a 12\u{a0}ms b", 5), ["a", "12\u{a0}ms", "b"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(
            wrap("\u{4ef7}\u{683c}\u{4ef7}", 4),
            ["\u{4ef7}\u{683c}", "\u{4ef7}"]
        );
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn numbers_keep_their_units() {
        assert_eq!(
            keep_units("at 1,307 ms, 5 s or 2 % of 3 msgs"),
            "at 1,307\u{a0}ms, 5\u{a0}s or 2\u{a0}% of 3 msgs"
        );
    }

    #[test]
    fn wide_characters_are_cut_by_columns() {
        let pen = Pen::new(Look {
            color: false,
            ascii: false,
            width: 100,
        });
        assert_eq!(
            pen.cut("\u{4ef7}\u{683c}\u{4ef7}", 5),
            "\u{4ef7}\u{683c}\u{2026}"
        );
        assert_eq!(pen.cut("\u{4ef7}\u{683c}\u{4ef7}", 4), "\u{4ef7}\u{2026}");
        assert_eq!(pen.cut("abc", 3), "abc");
        assert_eq!(pen.cut("abc", 0), "");
    }
}
