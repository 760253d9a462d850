//! The waterfall: head, a line per row, legend.

use super::bar::{self, Axis};
use crate::model::{CallKind, Nanos, Verdict};
use crate::query::number::{self, UNKNOWN, ms, ms_unit};
use crate::query::waterfall::{Folded, Line, Row, Sent, Waterfall, fold};
use crate::report::glyphs::{Glyph, LEGEND};
use crate::report::pen::{self, Ink, Pen};

/// Levels of the tree that fit the name column; deeper rows print their depth.
const LEVELS: usize = 7;

/// Columns, from the width.
struct Columns {
    name: usize,
    left: usize,
    sent: bool,
    bar: usize,
    own: bool,
    verdict: bool,
}

impl Columns {
    /// 100 columns are mark 2, name 24, left and sent 11, bar 34, own 7, verdict 19, and a blank
    /// before each of the last three. Wider: the bar grows. Narrower: "sent" goes, then "own", then
    /// the bar shrinks, then the verdict goes.
    fn of(width: usize) -> Self {
        let all = Self {
            name: 24,
            left: 11,
            sent: true,
            bar: 0,
            own: true,
            verdict: true,
        };
        let columns = match width {
            100.. => all,
            96..100 => Self {
                left: 7,
                sent: false,
                ..all
            },
            76..96 => Self {
                left: 7,
                sent: false,
                own: false,
                ..all
            },
            56..76 => Self {
                left: 7,
                sent: false,
                own: false,
                verdict: false,
                ..all
            },
            _ => Self {
                name: 16,
                left: 7,
                sent: false,
                own: false,
                verdict: false,
                ..all
            },
        };
        let rest = 2
            + columns.name
            + columns.left
            + 1
            + if columns.own { 8 } else { 0 }
            + if columns.verdict { 20 } else { 0 };
        Self {
            bar: width.saturating_sub(rest).max(8),
            ..columns
        }
    }
}

/// Draws the waterfall.
pub(super) fn draw(pen: &mut Pen, waterfall: &Waterfall) {
    let columns = Columns::of(pen.look().width);
    // Pages keep room for labels at the end of the axis; there are none here.
    let axis = Axis {
        end: waterfall.axis_end.scaled(54, 55),
        cells: columns.bar,
    };
    head(pen, waterfall, &columns, axis);
    let mut used = vec![Glyph::Blank];
    for line in fold(waterfall) {
        match line {
            Line::Row(index) => {
                if let Some(row) = waterfall.rows.get(index) {
                    draw_row(pen, row, &columns, axis, &mut used);
                }
            }
            Line::Folded(folded) => {
                if let Some(row) = waterfall.rows.get(folded.first) {
                    draw_folded(pen, row, &folded, &columns, axis);
                }
            }
            // Links are of no use here; the JSON has them.
            Line::HandOver(_) => {}
        }
    }
    legend(pen, &used);
}

/// The flag over the line, then the column heads with the ticks.
fn head(pen: &mut Pen, waterfall: &Waterfall, columns: &Columns, axis: Axis) {
    let bar_from = 2 + columns.name + columns.left + 1;
    let mut line = None;
    if let Some(deadline) = waterfall.deadline {
        let label = format!("deadline {}", ms_unit(deadline));
        let cell = axis.cell(deadline);
        if cell < axis.cells && deadline >= Nanos::ZERO {
            line = Some(cell);
            let at = bar_from + cell;
            pen.pad(at.saturating_sub(pen::width(&label) + 1));
            pen.write(Ink::Bold, &format!("{label} {}", pen.glyph(Glyph::Flag)));
        } else {
            // Off the axis: say where it is, at the edge that it lies beyond.
            let arrow = if deadline < Nanos::ZERO {
                "\u{2190}"
            } else {
                "\u{2192}"
            };
            let label = pen.text(&format!("{label} {arrow}"));
            pen.pad((bar_from + axis.cells).saturating_sub(pen::width(&label)));
            pen.write(Ink::Bold, &label);
        }
        pen.end();
    }
    let mut text = String::new();
    push(&mut text, "  hop", 2 + columns.name);
    let left = if columns.sent {
        "left\u{2192}sent"
    } else {
        "left"
    };
    let left = pen.text(left);
    push_right(&mut text, &left, columns.left);
    text.push(' ');
    text.push_str(&ticks(pen, waterfall, axis, line));
    if columns.own {
        push_right(&mut text, "own ms", 8);
    }
    if columns.verdict {
        text.push(' ');
        push(&mut text, "verdict", 19);
    }
    if !pen.look().color {
        text.truncate(text.trim_end().len());
    }
    pen.write(Ink::Head, &text);
    pen.end();
}

fn push(text: &mut String, word: &str, columns: usize) {
    text.push_str(word);
    text.extend(std::iter::repeat_n(
        ' ',
        columns.saturating_sub(pen::width(word)),
    ));
}

fn push_right(text: &mut String, word: &str, columns: usize) {
    text.extend(std::iter::repeat_n(
        ' ',
        columns.saturating_sub(pen::width(word)),
    ));
    text.push_str(word);
}

/// Round times up to the line; every second one where they would crowd.
fn ticks(pen: &Pen, waterfall: &Waterfall, axis: Axis, line: Option<usize>) -> String {
    let mut cells = vec![' '; axis.cells];
    let step = waterfall
        .ticks
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .min();
    let crowded = step.is_some_and(|step| axis.cell(step) < 6);
    let end = line.map_or(axis.cells, |line| line.saturating_sub(1));
    let mut free = 0;
    for (index, tick) in waterfall.ticks.iter().enumerate() {
        // By place on the axis, not in the list: a tick under the flag is missing from it.
        let nth = step.map_or(index as i64, |step| tick.0 / step.0.max(1));
        let label = pen.text(&ms(*tick));
        let at = axis.cell(*tick);
        let skip = crowded && nth % 2 == 1;
        if skip || at < free || at + pen::width(&label) > end {
            continue;
        }
        for (cell, c) in cells.iter_mut().skip(at).zip(label.chars()) {
            *cell = c;
        }
        free = at + pen::width(&label) + 2;
    }
    if let Some(cell) = line.and_then(|line| cells.get_mut(line)) {
        *cell = pen.glyph(Glyph::Line);
    }
    cells.into_iter().collect()
}

fn draw_row(pen: &mut Pen, row: &Row, columns: &Columns, axis: Axis, used: &mut Vec<Glyph>) {
    match (row.culprit, row.surfaced) {
        (true, true) => {
            pen.sign(Ink::BoldBlue, Glyph::Culprit);
            pen.sign(Ink::BoldRed, Glyph::Surfaced);
        }
        (true, false) => {
            pen.sign(Ink::BoldBlue, Glyph::Culprit);
            pen.pad(1);
        }
        (false, true) => {
            pen.sign(Ink::BoldRed, Glyph::Surfaced);
            pen.pad(1);
        }
        (false, false) => pen.pad(2),
    }
    let tree = tree(pen, row, row.last, columns.name);
    name(pen, row, &tree, columns.name);
    left_and_sent(pen, row, columns);
    pen.pad(1);
    let cells = bar::of_row(row, axis);
    used.extend(cells.iter().copied().filter(|glyph| *glyph > Glyph::Blank));
    used.sort_unstable();
    used.dedup();
    for glyph in cells {
        pen.sign(ink_of(glyph), glyph);
    }
    if columns.own {
        pen.pad(1);
        own(pen, row);
    }
    if columns.verdict {
        pen.pad(1);
        pen.write(ink_of_verdict(row.verdict), &row.verdict.words());
    }
    pen.end();
}

fn ink_of(glyph: Glyph) -> Ink {
    match glyph {
        Glyph::Held | Glyph::Dependency => Ink::Blue,
        Glyph::Beside => Ink::DimBlue,
        Glyph::Late | Glyph::LateWaiting | Glyph::Promised => Ink::Red,
        Glyph::Line => Ink::Bold,
        _ => Ink::Dim,
    }
}

fn ink_of_verdict(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::ExceededHere
        | Verdict::ExpiredOnArrival
        | Verdict::ExpiredBeforeSend
        | Verdict::TimedOutEarly => Ink::BoldRed,
        Verdict::ExceededDownstream | Verdict::FinishedLate => Ink::Red,
        Verdict::CancelledByCaller => Ink::Yellow,
        Verdict::Failed => Ink::Bold,
        Verdict::Ok => Ink::Dim,
    }
}

/// The lines before a name. Deeper than fits, the depth is printed instead.
fn tree(pen: &Pen, row: &Row, last: bool, columns: usize) -> String {
    if row.depth == 0 {
        // Both signs fill the mark column; the name of a root would touch them.
        let both = row.culprit && row.surfaced;
        return if both { " ".to_owned() } else { String::new() };
    }
    let levels = LEVELS.min(columns / 3);
    let mut out = String::new();
    if row.depth > levels {
        push_right(&mut out, &number::count(row.depth), 2 * (levels - 1) - 1);
        out.push(' ');
    } else {
        for goes_on in row.guides.iter().take(row.depth - 1) {
            out.push(if *goes_on {
                pen.glyph(Glyph::Upright)
            } else {
                ' '
            });
            out.push(' ');
        }
    }
    out.push(pen.glyph(if last { Glyph::Corner } else { Glyph::Branch }));
    out.push(if row.propagated {
        ' '
    } else {
        pen.glyph(Glyph::NotPassedOn)
    });
    out
}

/// Tree, service, operation, attempt, in so many columns. The attempt is never cut.
fn name(pen: &mut Pen, row: &Row, tree: &str, columns: usize) {
    pen.write(Ink::Dim, tree);
    let attempt = match row.attempt {
        Some((attempt, attempts)) => format!(" {attempt}/{attempts}"),
        None => String::new(),
    };
    let room = columns
        .saturating_sub(pen::width(tree) + attempt.len())
        // A blank before the next column, unless it has one of its own.
        .saturating_sub(usize::from(attempt.is_empty()));
    let service = pen.text(&row.name);
    let service = pen.cut(&service, room);
    let ink = match row.kind {
        CallKind::Hop => Ink::Bold,
        _ => Ink::Plain,
    };
    pen.write(ink, &service);
    let mut used = pen::width(&service);
    let operation = pen.text(&row.operation);
    // One letter and the cut sign say nothing.
    if room >= used + 3 && !operation.is_empty() {
        let operation = pen.cut(&operation, room - used - 1);
        pen.write(Ink::Plain, &format!(" {operation}"));
        used += 1 + pen::width(&operation);
    }
    pen.write(Ink::Plain, &attempt);
    pen.pad(columns.saturating_sub(pen::width(tree) + used + attempt.len()));
}

/// A number as exactly as it should be, then without decimals, where the column is narrow.
const EXACTNESS: [fn(Nanos) -> String; 2] = [ms, number::whole_ms];

/// What was left and what was sent on; where both do not fit, what was left.
fn left_and_sent(pen: &mut Pen, row: &Row, columns: &Columns) {
    let late = row.left.is_some_and(|left| left < Nanos::ZERO) || row.told.is_some();
    let ink = if late { Ink::Red } else { Ink::Plain };
    for ms in EXACTNESS {
        let left = pen.text(&row.left.map_or_else(|| UNKNOWN.to_owned(), ms));
        // A deadline that was not passed on is late, too.
        let (sent, sent_ink) = match (row.told, row.sent) {
            _ if !columns.sent => (String::new(), ink),
            (Some(told), _) => (format!(" ({})", ms(told)), ink),
            (None, Sent::Nothing) => ("\u{2192}none".to_owned(), Ink::Red),
            (None, Sent::Budget(sent)) => (format!("\u{2192}{}", ms(sent)), Ink::Plain),
            (None, Sent::Leaf | Sent::Unknown) => (String::new(), ink),
        };
        let sent = pen.text(&sent);
        let taken = pen::width(&left) + pen::width(&sent);
        if taken <= columns.left {
            pen.pad(columns.left - taken);
            pen.write(ink, &left);
            pen.write(sent_ink, &sent);
            return;
        }
    }
    let left = pen.text(
        &row.left
            .map_or_else(|| UNKNOWN.to_owned(), number::whole_ms),
    );
    pen.right(ink, &left, columns.left);
}

/// Own time before the deadline, `+` own time after it; where both do not fit, the larger.
fn own(pen: &mut Pen, row: &Row) {
    const COLUMNS: usize = 7;
    for ms in EXACTNESS {
        let own = pen.text(&ms(row.own));
        let late = if row.own_late > Nanos::ZERO {
            pen.text(&format!("+{}", ms(row.own_late)))
        } else {
            String::new()
        };
        let taken = pen::width(&own) + pen::width(&late);
        if taken <= COLUMNS {
            pen.pad(COLUMNS - taken);
            pen.write(Ink::Plain, &own);
            pen.write(Ink::Red, &late);
            return;
        }
    }
    if row.own_late > row.own {
        let late = pen.text(&format!("+{}", number::whole_ms(row.own_late)));
        pen.right(Ink::Red, &late, COLUMNS);
    } else {
        let own = pen.text(&number::whole_ms(row.own));
        pen.right(Ink::Plain, &own, COLUMNS);
    }
}

fn draw_folded(pen: &mut Pen, first: &Row, folded: &Folded, columns: &Columns, axis: Axis) {
    pen.pad(2);
    let plain = Row {
        propagated: true,
        ..first.clone()
    };
    let tree = tree(pen, &plain, folded.last, columns.name);
    pen.write(Ink::Dim, &tree);
    let what = match folded.hops {
        0 => number::counted(folded.rows, "call", "calls"),
        hops => number::counted(hops, "hop", "hops"),
    };
    let room = columns.name.saturating_sub(pen::width(&tree));
    pen.column(Ink::Dim, &format!("+{what}, all ok"), room);
    pen.pad(columns.left + 1);
    for glyph in bar::of_folded(folded, axis) {
        pen.sign(ink_of(glyph), glyph);
    }
    if columns.own {
        pen.pad(1);
        let held = pen.text(&ms(folded.held));
        pen.right(Ink::Plain, &held, 7);
    }
    if columns.verdict {
        pen.pad(1);
        pen.write(Ink::Dim, Verdict::Ok.as_str());
    }
    pen.end();
}

/// The signs, in as many lines as they need; the rarer ones only where they occur.
fn legend(pen: &mut Pen, used: &[Glyph]) {
    let entries: Vec<String> = LEGEND
        .iter()
        .filter(|(glyph, _, always)| *always || used.contains(glyph))
        .map(|(glyph, words, _)| format!("{} {words}", pen.glyph(*glyph)))
        .collect();
    let room = pen.look().width;
    let mut line = String::new();
    for (index, entry) in entries.iter().enumerate() {
        // What lies before the deadline, then what lies after it.
        let turn = index == 6;
        let full = pen::width(&line) + 2 + pen::width(entry) > room;
        if !line.is_empty() && (turn || full) {
            pen.write(Ink::Dim, &line);
            pen.end();
            line.clear();
        }
        if !line.is_empty() {
            line.push_str("  ");
        }
        line.push_str(entry);
    }
    pen.write(Ink::Dim, &line);
    pen.end();
}
