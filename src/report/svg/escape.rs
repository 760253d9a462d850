//! Text for markup.

use std::fmt::{self, Write as _};

use crate::report::visible;

/// Text that prints with HTML's five special characters escaped; fit for content and for
/// double-quoted attributes.
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A name from a stranger, for display: what steers text is made visible, and of a name with more
/// than `max` characters the beginning is kept with an ellipsis.
pub fn display_name(name: &str, max: usize) -> String {
    let mut chars = name.chars();
    let kept: String = chars.by_ref().take(max).collect();
    // Joiners belong to Persian words and to emoji; what could reorder a line is isolated, and
    // made visible all the same.
    let mut out = String::with_capacity(kept.len());
    for piece in kept.split_inclusive(is_joiner) {
        match piece.strip_suffix(is_joiner) {
            Some(text) => {
                out.push_str(&visible(text));
                out.extend(piece.chars().next_back());
            }
            None => out.push_str(&visible(piece)),
        }
    }
    if chars.next().is_some() {
        out.push('\u{2026}');
    }
    out
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_long_names_are_cut() {
        assert_eq!(
            Escaped("<b a=\"1\" b='2'>&").to_string(),
            "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;"
        );
        assert_eq!(display_name("abc", 3), "abc");
        assert_eq!(display_name("abcd", 3), "abc\u{2026}");
        assert_eq!(display_name("a\u{202e}b", 9), "a\\u{202e}b");
        assert_eq!(display_name("a\u{200d}b\u{200b}", 9), "a\u{200d}b\\u{200b}");
    }
}
