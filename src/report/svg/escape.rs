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
    let mut out = visible(&kept).into_owned();
    if chars.next().is_some() {
        out.push('\u{2026}');
    }
    out
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
    }
}
