//! The lines of the hop tree, left of the names.

use std::fmt;

use crate::query::waterfall::{MAX_INDENT, Row};

/// Thousandths of an em per level.
const STEP: usize = 750;

/// One row's piece of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// The row.
    pub row: &'a Row,
}

impl Tree<'_> {
    /// The depth to print, for rows deeper than the tree is drawn.
    pub fn depth(&self) -> Option<usize> {
        (self.row.depth > MAX_INDENT).then_some(self.row.depth)
    }
}

impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let depth = self.row.depth.min(MAX_INDENT);
        if depth == 0 {
            return Ok(());
        }
        let width = Em(depth * STEP + 625);
        write!(
            f,
            r#"<svg class="tree" width="{width}" aria-hidden="true">"#
        )?;
        for (level, goes_on) in self.row.guides.iter().take(depth - 1).enumerate() {
            if *goes_on {
                let x = Em(level * STEP + 375);
                write!(f, r#"<line x1="{x}" x2="{x}" y1="0" y2="100%"/>"#)?;
            }
        }
        let x = Em((depth - 1) * STEP + 375);
        let to = Em((depth - 1) * STEP + 375 + STEP);
        let bottom = if self.row.last { "50%" } else { "100%" };
        write!(f, r#"<line x1="{x}" x2="{x}" y1="0" y2="{bottom}"/>"#)?;
        if self.row.propagated {
            write!(f, r#"<line x1="{x}" x2="{to}" y1="50%" y2="50%"/>"#)?;
        } else {
            write!(
                f,
                r#"<line class="nb" x1="{x}" x2="{to}" y1="50%" y2="50%"/><svg x="{x}" y="50%"><path class="brk" d="M3.5 4.5 6-4.5M7 4.5 9.5-4.5"/></svg>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

/// A length in thousandths of an em.
struct Em(usize);

impl fmt::Display for Em {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:03}", self.0 % 1000);
        let fraction = digits.trim_end_matches('0');
        if fraction.is_empty() {
            write!(f, "{}em", self.0 / 1000)
        } else {
            write!(f, "{}.{fraction}em", self.0 / 1000)
        }
    }
}
