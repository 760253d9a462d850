//! A text with a place in it marked, for messages.

use super::pen::width;
use super::visible;

/// Columns before the place that are always shown.
const BEFORE: usize = 20;

/// Two lines: the text, cut to the width around its fault, and marks under the fault.
pub fn marked((before, fault, after): (&str, &str, &str), columns: usize) -> String {
    let (before, fault, after) = (visible(before), visible(fault), visible(after));
    let fault = first(&fault, columns / 2);
    let mut start = before.to_string();
    let room = columns.saturating_sub(width(&fault)).max(BEFORE);
    if width(&start) + width(&after) > room {
        let rest = width(&after).min(room / 2);
        start = last(&start, room.saturating_sub(rest));
    }
    let end = first(&after, room.saturating_sub(width(&start)));
    let marks = "^".repeat(width(&fault).max(1));
    format!("{start}{fault}{end}\n{}{marks}", " ".repeat(width(&start)))
}

/// The beginning, in so many columns.
fn first(text: &str, columns: usize) -> String {
    cut(text.chars(), columns).into_iter().collect()
}

/// The end, in so many columns.
fn last(text: &str, columns: usize) -> String {
    cut(text.chars().rev(), columns).into_iter().rev().collect()
}

fn cut(chars: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    let mut out = Vec::new();
    let mut chars = chars.peekable();
    while let Some(c) = chars.next() {
        let wide = width(c.encode_utf8(&mut [0; 4]));
        let last = chars.peek().is_none();
        if used + wide + usize::from(!last) > columns {
            if columns > 0 {
                out.push('\u{2026}');
            }
            return out;
        }
        used += wide;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_under_the_fault() {
        assert_eq!(
            marked(("outcome=", "mised", " and spans=1"), 80),
            "outcome=mised and spans=1\n        ^^^^^"
        );
        assert_eq!(marked(("spans=", "", ""), 80), "spans=\n      ^");
        // Wide characters take two columns, control characters are shown.
        assert_eq!(
            marked(("\u{4ef7}\n=", "x", ""), 80),
            "\u{4ef7}\u{240a}=x\n    ^"
        );
    }

    #[test]
    fn long_texts_are_cut_around_the_fault() {
        let (before, after) = ("a".repeat(500), "b".repeat(500));
        for fault in ["x", "", "0123456789", "y".repeat(300).as_str()] {
            let text = marked((&before, fault, &after), 60);
            let (line, marks) = text.split_once('\n').unwrap();
            assert!(width(line) <= 60 && width(marks) <= 60, "{text}");
            let at = marks.find('^').unwrap();
            if !fault.is_empty() {
                let under: String = line.chars().skip(at).take(1).collect();
                assert!(fault.starts_with(&under), "{text}");
            }
        }
    }
}
