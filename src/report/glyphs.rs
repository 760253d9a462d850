//! The signs of the drawing, with and without UTF-8.

/// A sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Glyph {
    Blank,
    Held,
    Dependency,
    Beside,
    Waiting,
    Unspent,
    Backoff,
    Late,
    LateWaiting,
    Line,
    NotPassedOn,
    Transit,
    Promised,
    Culprit,
    Surfaced,
    Folded,
    Sliver,
    Branch,
    Corner,
    Upright,
    Flag,
    Cut,
}

impl Glyph {
    pub(in crate::report) fn char(self, ascii: bool) -> char {
        let (utf8, plain) = match self {
            Self::Blank => (' ', ' '),
            Self::Held => ('\u{2588}', '#'),
            Self::Dependency => ('\u{2593}', 'D'),
            Self::Beside => ('\u{2591}', 'o'),
            Self::Waiting => ('\u{2500}', '-'),
            Self::Unspent => ('\u{b7}', '.'),
            Self::Backoff => ('z', 'z'),
            Self::Late => ('x', 'x'),
            Self::LateWaiting => ('~', '~'),
            Self::Line | Self::Upright => ('\u{2502}', '|'),
            Self::NotPassedOn => ('\u{233f}', '/'),
            Self::Transit => ('\u{bb}', '>'),
            Self::Promised => ('?', '?'),
            Self::Culprit => ('\u{25c6}', '*'),
            Self::Surfaced => ('\u{2691}', '!'),
            Self::Folded => ('\u{2592}', '+'),
            Self::Sliver => ('\u{258f}', '|'),
            Self::Branch => ('\u{251c}', '+'),
            Self::Corner => ('\u{2514}', '`'),
            Self::Flag => ('\u{2510}', '+'),
            Self::Cut => ('\u{2026}', '~'),
        };
        if ascii { plain } else { utf8 }
    }
}

/// What the legend always says, then what it says where the sign occurs.
pub(in crate::report) const LEGEND: [(Glyph, &str, bool); 12] = [
    (Glyph::Held, "held the clock", true),
    (Glyph::Dependency, "dependency held it", true),
    (Glyph::Beside, "ran beside", true),
    (Glyph::Waiting, "waiting", true),
    (Glyph::Unspent, "unspent", true),
    (Glyph::Backoff, "backoff", true),
    (Glyph::Late, "worked after its deadline", true),
    (Glyph::LateWaiting, "waited after it", true),
    (Glyph::Line, "effective deadline", true),
    (Glyph::NotPassedOn, "deadline not passed on", true),
    (Glyph::Transit, "transit", false),
    (Glyph::Promised, "promised past it", false),
];

/// The words' own signs in ASCII; anything else is escaped.
pub(in crate::report) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // The no-break space still has to keep numbers and units on one line.
            ' '..='~' | '\u{a0}' => out.push(c),
            '\u{2192}' => out.push_str("->"),
            '\u{2190}' => out.push_str("<-"),
            '\u{d7}' => out.push('x'),
            '\u{2212}' | '\u{2013}' => out.push('-'),
            '\u{2019}' => out.push('\''),
            '\u{2026}' => out.push_str("..."),
            '\u{b7}' => out.push('.'),
            // The pictures that control characters were made into.
            '\u{2421}' => out.push_str("\\x7f"),
            '\u{2400}'..='\u{241f}' => {
                let control = u8::try_from(u32::from(c) - 0x2400).unwrap_or_default();
                out.extend(control.escape_ascii().map(char::from));
            }
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}
