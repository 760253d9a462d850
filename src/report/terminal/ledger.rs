//! The ledger as a table with bars.

use crate::model::{Nanos, Part, Request};
use crate::query::ledger::{Ledger, Row, ledger};
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
    head(pen, &ledger);
    let columns = Columns::of(pen.look().width, &ledger);
    for row in &ledger.rows {
        let line = Line {
            culprit: row.culprit,
            times: row.times_typical,
            glyph: Some(glyph_of(row)),
            ink: Ink::Blue,
            ..Line::new(&row.name, row.part, row.time)
        };
        columns.draw(pen, &line);
    }
    if let Some(more) = ledger.more {
        let mut name = format!("{} more", number::count(more.rows));
        if pen::width(&name) + 24 <= NAME {
            name = format!("{name}, each {} or less", ms_unit(more.each_at_most));
        }
        let line = Line {
            glyph: Some(Glyph::Folded),
            ink: Ink::DimBlue,
            ..Line::new(&name, "", more.time)
        };
        columns.draw(pen, &line);
    }
    if ledger.unspent > Nanos::ZERO {
        let line = Line {
            glyph: Some(Glyph::Unspent),
            ink: Ink::Dim,
            ..Line::new("unspent", "", ledger.unspent)
        };
        columns.draw(pen, &line);
    }
    let late = if ledger.after_deadline > Nanos::ZERO {
        format!("then {} late", ms_unit(ledger.after_deadline))
    } else {
        String::new()
    };
    let total = if ledger.is_budget {
        "budget"
    } else {
        "elapsed"
    };
    let line = Line {
        remark: &late,
        ..Line::new(total, "", ledger.whole)
    };
    columns.draw(pen, &line);
}

fn head(pen: &mut Pen, ledger: &Ledger) {
    let claim = format!(
        "every millisecond of the {} has one owner",
        ms_unit(ledger.whole)
    );
    pen.write(Ink::Bold, "Ledger");
    if pen::width(&claim) + 8 <= pen.look().width {
        pen.write(Ink::Plain, &format!("  {claim}"));
        pen.end();
    } else {
        pen.end();
        pen.paragraph(&claim, 0, Ink::Plain);
    }
}

/// Widths, and what bars and shares are relative to.
struct Columns {
    name: usize,
    /// 0 for no bars.
    bar: usize,
    largest: Nanos,
    whole: Nanos,
}

impl Columns {
    /// On a narrow terminal the bars go, then the name gives.
    fn of(width: usize, ledger: &Ledger) -> Self {
        Self {
            name: NAME - (BEFORE_BAR - 2).saturating_sub(width).min(NAME - 12),
            bar: match width.saturating_sub(BEFORE_BAR).min(BAR) {
                0..8 => 0,
                cells => cells,
            },
            largest: ledger
                .rows
                .iter()
                .map(|row| row.time)
                .fold(ledger.unspent, Nanos::max),
            whole: ledger.whole,
        }
    }

    fn draw(&self, pen: &mut Pen, line: &Line<'_>) {
        if line.culprit {
            pen.sign(Ink::BoldBlue, Glyph::Culprit);
            pen.pad(1);
        } else {
            pen.pad(2);
        }
        let label = pen.text(line.name);
        pen.column(Ink::Plain, &label, self.name - 1);
        pen.pad(1);
        pen.column(Ink::Plain, line.part, PART);
        let time = pen.text(&ms(line.time));
        pen.right(Ink::Plain, &time, 7);
        let share = pen.text(&percent(line.time, self.whole));
        pen.right(Ink::Plain, &share, 9);
        let times = pen.text(&line.times.map_or_else(String::new, number::times));
        pen.right(Ink::Plain, &times, 7);
        if self.bar > 0 {
            pen.pad(2);
            self.bar(pen, line);
        }
        if !line.remark.is_empty() {
            let gap = if self.bar > 0 { "" } else { "  " };
            pen.write(Ink::Plain, &format!("{gap}{}", line.remark));
        }
        pen.end();
    }

    /// The bar, relative to the largest row; what there is is never without one.
    fn bar(&self, pen: &mut Pen, line: &Line<'_>) {
        let Some(glyph) = line.glyph else { return };
        let cells = Nanos(self.bar as i64).scaled(line.time.0, self.largest.0).0;
        if cells == 0 && line.time > Nanos::ZERO {
            let sliver = if glyph == Glyph::Backoff {
                glyph
            } else {
                Glyph::Sliver
            };
            pen.sign(line.ink, sliver);
            return;
        }
        let glyph = pen.glyph(glyph).to_string();
        pen.write(line.ink, &glyph.repeat(usize::try_from(cells).unwrap_or(0)));
    }
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
