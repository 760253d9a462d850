//! Tables in Markdown (GitHub's), as people paste them into issues and chats.
//!
//! Names come from strangers: nothing in a cell ends it, makes a link or is taken for markup.

use super::visible;

/// A row, without its line end.
pub fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::from("|");
    for cell in cells {
        line.push(' ');
        line.push_str(&escaped(cell));
        line.push_str(" |");
    }
    line
}

/// The line under the head: whether each column is one of numbers.
pub fn rule(numbers: impl IntoIterator<Item = bool>) -> String {
    let mut line = String::from("|");
    for number in numbers {
        line.push_str(if number { " ---: |" } else { " --- |" });
    }
    line
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '[' | ']' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_breaks_out() {
        let line = row(["a|b\\", "x\n[y](http://z) *e* <script> &lt;", "snake_case"]);
        assert_eq!(
            line,
            r"| a\|b\\ | x␊\[y\](http://z) \*e\* &lt;script> &amp;lt; | snake_case |"
        );
        assert_eq!(rule([false, true]), "| --- | ---: |");
    }
}
