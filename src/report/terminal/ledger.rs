//! The ledger as a table with bars.

use crate::model::{Nanos, Part, Request};
use crate::query::ledger::{Row, ledger};
use crate::query::number::{self, ms, ms_unit, percent};
use crate::report::glyphs::Glyph;
use crate::report::pen::{self, Ink, Pen};

const NAME: usize = 31;
const PART: usize = 10;
const BAR: usize = 24;
/// Mark, name, part, ms, share, multiple, and the blanks before the bar.
const BEFORE_BAR: usize = 2 + NAME + PART + 7 + 9 + 7 + 2;

/// Draws the ledger.
pub(super) fn draw(pen: &mut Pen, request: &Request) {
    let ledger = ledger(request);
    let claim = format!(
        "every millisecond of the {} has one owner",
        ms_unit(ledger.whole)
    );
    pen.write(Ink::Bold, "Ledger");
    match pen::width(&claim) + 8 <= pen.look().width {
        true => {
            pen.write(Ink::Plain, &format!("  {claim}"));
            pen.end();
        }
        false => {
            pen.end();
            pen.paragraph(&claim, 0, Ink::Plain);
        }
    }
    // On a narrow terminal the bars go, then the name gives.
    let width = pen.look().width;
    let bar = match width.saturating_sub(BEFORE_BAR).min(BAR) {
        0..8 => 0,
        cells => cells,
    };
    let name = NAME - (BEFORE_BAR - 2).saturating_sub(width).min(NAME - 12);
    let largest = ledger
        .rows
        .iter()
        .map(|row| row.time)
        .chain([ledger.unspent])
        .max()
        .unwrap_or_default();
    let line = |pen: &mut Pen, row: Line<'_>| {
        match row.culprit {
            true => {
                pen.sign(Ink::BoldBlue, Glyph::Culprit);
                pen.pad(1);
            }
            false => pen.pad(2),
        }
        let label = pen.text(row.name);
        pen.column(Ink::Plain, &label, name - 1);
        pen.pad(1);
        pen.column(Ink::Plain, row.part, PART);
        let time = pen.text(&ms(row.time));
        pen.right(Ink::Plain, &time, 7);
        let share = pen.text(&percent(row.time, ledger.whole));
        pen.right(Ink::Plain, &share, 9);
        match row.times {
            Some(times) => {
                let times = pen.text(&number::times(times));
                pen.right(Ink::Plain, &times, 7);
            }
            None => pen.pad(7),
        }
        if bar > 0 {
            pen.pad(2);
            let cells = Nanos(bar as i64).scaled(row.time.0, largest.0).0;
            match (cells, row.glyph) {
                (0, Some(glyph)) if row.time > Nanos::ZERO => {
                    let sliver = if glyph == Glyph::Backoff {
                        glyph
                    } else {
                        Glyph::Sliver
                    };
                    pen.sign(row.ink, sliver);
                }
                (cells, Some(glyph)) => {
                    let glyph = pen.glyph(glyph).to_string();
                    pen.write(row.ink, &glyph.repeat(usize::try_from(cells).unwrap_or(0)));
                }
                (_, None) => pen.write(Ink::Plain, row.remark),
            }
        } else if !row.remark.is_empty() {
            pen.write(Ink::Plain, &format!("  {}", row.remark));
        }
        pen.end();
    };
    for row in &ledger.rows {
        line(
            pen,
            Line {
                culprit: row.culprit,
                times: row.times_typical,
                glyph: Some(glyph_of(row)),
                ink: Ink::Blue,
                ..Line::new(&row.name, row.part, row.time)
            },
        );
    }
    if let Some(more) = ledger.more {
        let name = format!("{} more", number::count(more.rows));
        let name = match pen::width(&name) + 24 <= NAME {
            true => format!("{name}, each {} or less", ms_unit(more.each_at_most)),
            false => name,
        };
        line(
            pen,
            Line {
                glyph: Some(Glyph::Folded),
                ink: Ink::DimBlue,
                ..Line::new(&name, "", more.time)
            },
        );
    }
    if ledger.unspent > Nanos::ZERO {
        line(
            pen,
            Line {
                glyph: Some(Glyph::Unspent),
                ink: Ink::Dim,
                ..Line::new("unspent", "", ledger.unspent)
            },
        );
    }
    let late = match ledger.after_deadline > Nanos::ZERO {
        true => format!("then {} late", ms_unit(ledger.after_deadline)),
        false => String::new(),
    };
    let total = if ledger.is_budget {
        "budget"
    } else {
        "elapsed"
    };
    line(
        pen,
        Line {
            remark: &late,
            ..Line::new(total, "", ledger.whole)
        },
    );
}

struct Line<'a> {
    name: &'a str,
    part: &'a str,
    time: Nanos,
    culprit: bool,
    times: Option<u64>,
    glyph: Option<Glyph>,
    ink: Ink,
    remark: &'a str,
}

impl<'a> Line<'a> {
    fn new(name: &'a str, part: &'a str, time: Nanos) -> Self {
        Self {
            name,
            part,
            time,
            culprit: false,
            times: None,
            glyph: None,
            ink: Ink::Plain,
            remark: "",
        }
    }
}

fn glyph_of(row: &Row) -> Glyph {
    match row.kind {
        Some(Part::Local) => Glyph::Held,
        Some(Part::Dependency | Part::Unreported) => Glyph::Dependency,
        Some(Part::Backoff) => Glyph::Backoff,
        Some(Part::TransitOut | Part::TransitBack) | None => Glyph::Transit,
    }
}
