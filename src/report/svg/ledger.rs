//! The ledger as one bar that sums to the budget.

use std::fmt;

use super::scale::Percent;
use super::{Escaped, Scale};
use crate::model::{Nanos, Part};
use crate::report::number;

/// How a piece of the ledger is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceLook {
    /// A part of the path.
    Part(Part),
    /// Several small rows together.
    Rest,
    /// Budget that nobody used.
    Unspent,
}

impl PieceLook {
    /// Class and texture; blue only for the culprit.
    fn attributes(self, culprit: bool) -> &'static str {
        match (self, culprit) {
            (Self::Part(Part::Local), true) => r#"class="lr own""#,
            (Self::Part(Part::Dependency), true) => r#"class="lr depd" fill="url(#h-dep)""#,
            (Self::Part(Part::Unreported), true) => r#"class="lr unrep" fill="url(#h-unrep)""#,
            (Self::Part(Part::TransitOut | Part::TransitBack), _) => {
                r#"class="lr transit" fill="url(#h-transit)""#
            }
            (Self::Part(Part::Backoff), _) => r#"class="lr backoff""#,
            (Self::Part(Part::Local | Part::Dependency | Part::Unreported), false) => {
                r#"class="lr quiet""#
            }
            (Self::Rest, _) => r#"class="lr rest""#,
            (Self::Unspent, _) => r#"class="lr unspent""#,
        }
    }

    /// What a label needs on this ground.
    fn label_class(self, culprit: bool) -> &'static str {
        match (self, culprit) {
            (Self::Part(Part::Local), true) => "ll on",
            (Self::Part(Part::Dependency), true) => "ll on d",
            (Self::Part(Part::Unreported), true) => "ll u",
            _ => "ll",
        }
    }
}

/// The same look as a small square, for the table beneath the bar.
#[derive(Debug, Clone, Copy)]
pub struct Swatch {
    /// What it stands for.
    pub look: PieceLook,
    /// Whether that is the culprit's.
    pub culprit: bool,
}

impl fmt::Display for Swatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let look = self.look.attributes(self.culprit);
        write!(
            f,
            r#"<svg class="lg sw" aria-hidden="true"><rect {look} x="0"/></svg>"#
        )
    }
}

/// One piece of the bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerPiece {
    /// The name as in the table, for the label of the whole.
    pub name: String,
    /// The name that stands in the bar.
    pub label: String,
    /// A shorter one, where that does not fit.
    pub short: String,
    /// How long it took (of the budget).
    pub time: Nanos,
    /// How it is drawn.
    pub look: PieceLook,
    /// It is the culprit's.
    pub culprit: bool,
}

/// The bar; its pieces lie side by side in the order given.
#[derive(Debug, Clone, Copy)]
pub struct LedgerBar<'a> {
    /// What it is made of.
    pub pieces: &'a [LedgerPiece],
    /// What 100 % is: the budget, or the elapsed time where none is known.
    pub whole: Nanos,
}

impl fmt::Display for LedgerBar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = Scale::new(self.whole);
        f.write_str(r#"<svg class="led" role="img" aria-label="Ledger: "#)?;
        for (i, piece) in self.pieces.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(
                f,
                "{comma}{} {}",
                Escaped(&piece.name),
                number::ms_unit(piece.time)
            )?;
        }
        write!(f, r#"; sum {}">"#, number::ms_unit(self.whole))?;
        let mut at = Nanos::ZERO;
        for piece in self.pieces {
            let (x, width) = scale.span(at, at + piece.time);
            let look = piece.look.attributes(piece.culprit);
            write!(f, r#"<rect {look} x="{x}" width="{width}"/>"#)?;
            if at > Nanos::ZERO {
                write!(
                    f,
                    r#"<line class="sep" x1="{x}" x2="{x}" y1="0" y2="1.5rem"/>"#
                )?;
            }
            at += piece.time;
        }
        self.axis(f)?;
        at = Nanos::ZERO;
        for piece in self.pieces {
            let (x, width) = scale.span(at, at + piece.time);
            at += piece.time;
            let names = [&piece.label, &piece.short];
            let fits = |name: &&&String| {
                width
                    .label_class(name.chars().count() + 2)
                    .is_some_and(|class| class == "k k15")
            };
            let name = names.iter().find(fits).copied().unwrap_or(&piece.short);
            // Twelve pixels high, a little wider than the labels of the rows.
            if let Some(class) = width.label_class(name.chars().count() + 2) {
                let (ground, middle) = (piece.look.label_class(piece.culprit), x.middle(width));
                write!(
                    f,
                    r#"<text class="{ground} {class}" x="{middle}" y=".75rem" text-anchor="middle">{}</text>"#,
                    Escaped(name)
                )?;
            }
        }
        f.write_str("</svg>")
    }
}

impl LedgerBar<'_> {
    fn axis(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (hundredths, anchor, class) in [
            (0, "start", "lx"),
            (25, "middle", "lx k k30"),
            (50, "middle", "lx"),
            (75, "middle", "lx k k30"),
            (100, "end", "lx"),
        ] {
            let x = Percent::hundredths(hundredths);
            let whole = number::ms_unit(self.whole);
            let text = if hundredths == 100 {
                format!("100\u{a0}% = {whole}")
            } else {
                format!("{hundredths}\u{a0}%")
            };
            write!(
                f,
                r#"<line class="lt-k" x1="{x}" x2="{x}" y1="1.5rem" y2="1.75rem"/><text class="{class}" x="{x}" y="2.3rem" text-anchor="{anchor}">{text}</text>"#
            )?;
        }
        Ok(())
    }
}
