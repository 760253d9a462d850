//! What every text output shares: width, colour, glyphs, and how hostile names are made harmless.

use std::borrow::Cow;

/// How text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Use colour codes.
    pub color: bool,
    /// Use ASCII characters only.
    pub ascii: bool,
    /// Columns to draw in.
    pub width: usize,
}

/// The text with everything that could steer a terminal or reorder a line made visible: control
/// characters become their pictures (`␛`, `␊`), bidirectional and other invisible format
/// characters `\u{202e}`. Names come from strangers.
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text) || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => out.push('\u{2421}'),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a text has printable characters of ASCII alone: most have, and then every byte is a
/// character, a column wide.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_becomes_visible() {
        assert_eq!(
            visible("caf\u{e9} \u{4ef7}\u{683c}"),
            "caf\u{e9} \u{4ef7}\u{683c}"
        );
        assert_eq!(visible("\x1b[2Jboo\x07"), "\u{241b}[2Jboo\u{2407}");
        assert_eq!(visible("a\nb\u{9b}m"), "a\u{240a}b\\u{9b}m");
        assert_eq!(visible("pay\u{202e}lla"), "pay\\u{202e}lla");
    }
}
