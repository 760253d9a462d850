//! Requests as a table, a line each.

use std::borrow::Cow;

use super::glyphs;
use super::pen::{self, Ink, Pen};
use super::{Look, markdown, visible};
use crate::model::{Nanos, Outcome, Part};
use crate::query::ledger;
use crate::query::number::{self, ms, ms_or_unknown, percent};
use crate::query::requests::Listed;

/// Columns of text, which give way when the width is short.
const TEXTS: usize = 4;
/// Columns of numbers and of words of known length, which do not.
const FIXED: usize = 7;
/// A column of text is never narrower.
const LEAST: usize = 7;

/// A request's cells, as they will be printed but for their widths. There may be a great many, so
/// the texts of all stand in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    outcome: Outcome,
    is_wasted: bool,
    /// Where each cell ends in `text`.
    ends: [u32; Cell::COUNT],
    text: Box<str>,
}

/// What a row has text for, in the order in which it stands there.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Day,
    Clock,
    Trace,
    Budget,
    Elapsed,
    Wasted,
    Share,
    Service,
    Operation,
    Surfaced,
    Culprit,
}

impl Cell {
    const COUNT: usize = Self::Culprit as usize + 1;
}

impl Row {
    fn cell(&self, cell: Cell) -> &str {
        let place = cell as usize;
        let end = |place: usize| self.ends.get(place).map_or(0, |&end| end as usize);
        let start = place.checked_sub(1).map_or(0, end);
        self.text.get(start..end(place)).unwrap_or_default()
    }
}

/// Makes a request's cells.
pub fn row<'a>(request: impl Into<Listed<'a>>) -> Row {
    let request: Listed<'a> = request.into();
    let when = number::instant(request.start);
    let (day, clock) = when.split_once(' ').unwrap_or(("", when.as_str()));
    let (culprit, share) = match request.culprit {
        Some(culprit) => {
            let to = culprit.to.as_ref();
            let name = match culprit.part {
                Part::Local => culprit.service.to_string(),
                part => ledger::name(&culprit.service, &culprit.operation, part, to, true),
            };
            (name, percent(culprit.share.0, culprit.share.1))
        }
        None => (String::new(), String::new()),
    };
    let surfaced = request.surfaced;
    let cells: [&str; Cell::COUNT] = [
        day,
        clock.trim_end_matches(" UTC"),
        &request.trace_id.to_string(),
        &ms_or_unknown(request.budget),
        &ms(request.elapsed),
        &ms(request.wasted),
        &share,
        request.service,
        request.operation,
        surfaced.map_or("", |surfaced| &surfaced.service),
        &culprit,
    ];
    let mut end = 0;
    Row {
        outcome: request.outcome,
        is_wasted: request.wasted > Nanos::ZERO,
        ends: cells.map(|cell| {
            end += cell.len() as u32;
            end
        }),
        text: cells.concat().into(),
    }
}

/// The table's lines without line ends: a head, then one for each row.
pub fn lines<'a>(
    rows: impl Iterator<Item = &'a Row> + Clone,
    look: Look,
) -> impl Iterator<Item = String> {
    let layout = Layout::of(rows.clone(), look);
    let head = layout.head(look);
    std::iter::once(head).chain(rows.map(move |row| layout.line(row, look)))
}

/// The rows as a Markdown table; lines without line ends. Ids and instants are whole.
pub fn markdown<'a>(rows: impl Iterator<Item = &'a Row>) -> impl Iterator<Item = String> {
    const HEADS: [(&str, bool); 11] = [
        ("start, UTC", false),
        ("trace", false),
        ("service", false),
        ("operation", false),
        ("budget", true),
        ("elapsed", true),
        ("outcome", false),
        ("surfaced", false),
        ("share", true),
        ("culprit", false),
        ("wasted", true),
    ];
    let head = markdown::row(HEADS.map(|(head, _)| head));
    let rule = markdown::rule(HEADS.map(|(_, number)| number));
    let rows = rows.map(|row| {
        let when = format!("{} {}", row.cell(Cell::Day), row.cell(Cell::Clock));
        let outcome = words(row.outcome);
        markdown::row([
            when.as_str(),
            row.cell(Cell::Trace),
            row.cell(Cell::Service),
            row.cell(Cell::Operation),
            row.cell(Cell::Budget),
            row.cell(Cell::Elapsed),
            &outcome,
            row.cell(Cell::Surfaced),
            row.cell(Cell::Share),
            row.cell(Cell::Culprit),
            row.cell(Cell::Wasted),
        ])
    });
    [head, rule].into_iter().chain(rows)
}

/// Which day is said once, and how wide each column is.
struct Layout {
    /// The day, if all rows have the same.
    day: Option<String>,
    /// Digits that tell the trace ids apart, and that `--id` takes.
    digits: usize,
    gap: usize,
    texts: [usize; TEXTS],
    fixed: [usize; FIXED],
}

impl Layout {
    fn of<'a>(rows: impl Iterator<Item = &'a Row> + Clone, look: Look) -> Self {
        let mut days = rows.clone().map(|row| row.cell(Cell::Day));
        let first = days.next();
        let day = first.filter(|first| days.all(|day| day == *first));
        let mut layout = Self {
            day: day.map(str::to_owned),
            digits: digits(rows.clone()),
            gap: if look.width >= 120 { 2 } else { 1 },
            texts: [0; TEXTS],
            fixed: [0; FIXED],
        };
        let (texts, fixed) = (Self::text_heads(), layout.fixed_heads());
        let widen = |columns: &mut [usize], cells: &[Cow<'_, str>]| {
            for (column, cell) in columns.iter_mut().zip(cells) {
                *column = (*column).max(pen::width(&safe(cell, look)));
            }
        };
        widen(&mut layout.texts, &texts);
        widen(&mut layout.fixed, &fixed);
        for row in rows {
            let fixed = layout.fixed_cells(row);
            widen(&mut layout.texts, &texts_of(row));
            widen(&mut layout.fixed, &fixed);
        }
        let taken: usize = layout.fixed.iter().sum::<usize>() + layout.gap * (TEXTS + FIXED - 1);
        shrink(&mut layout.texts, look.width.saturating_sub(taken));
        layout
    }

    fn text_heads() -> [Cow<'static, str>; TEXTS] {
        ["service", "operation", "surfaced", "culprit"].map(Cow::Borrowed)
    }

    fn fixed_heads(&self) -> [Cow<'static, str>; FIXED] {
        let when = match &self.day {
            Some(day) => Cow::Owned(format!("{day} UTC")),
            None => Cow::Borrowed("UTC"),
        };
        let [trace, budget, elapsed, outcome, share, wasted] =
            ["trace", "budget", "elapsed", "outcome", "share", "wasted"].map(Cow::Borrowed);
        [when, trace, budget, elapsed, outcome, share, wasted]
    }

    fn fixed_cells<'r>(&self, row: &'r Row) -> [Cow<'r, str>; FIXED] {
        let cell = |cell| Cow::Borrowed(row.cell(cell));
        let when = match self.day {
            Some(_) => cell(Cell::Clock),
            None => Cow::Owned(format!("{} {}", row.cell(Cell::Day), row.cell(Cell::Clock))),
        };
        let id = row.cell(Cell::Trace);
        [
            when,
            Cow::Borrowed(id.get(..self.digits).unwrap_or(id)),
            cell(Cell::Budget),
            cell(Cell::Elapsed),
            words(row.outcome),
            cell(Cell::Share),
            cell(Cell::Wasted),
        ]
    }

    fn head(&self, look: Look) -> String {
        let fixed = self.fixed_heads();
        let texts = Self::text_heads();
        self.draw(look, &fixed, &texts, |_| Ink::Dim)
    }

    fn line(&self, row: &Row, look: Look) -> String {
        let outcome = match row.outcome {
            Outcome::Missed => Ink::BoldRed,
            Outcome::Failed => Ink::Bold,
            Outcome::Cancelled => Ink::Yellow,
            Outcome::NoBudget | Outcome::Met => Ink::Dim,
        };
        let wasted = if row.is_wasted { Ink::Red } else { Ink::Dim };
        self.draw(
            look,
            &self.fixed_cells(row),
            &texts_of(row),
            |column| match column {
                Column::Outcome => outcome,
                Column::Wasted => wasted,
                Column::Service => Ink::Bold,
                Column::Other => Ink::Plain,
            },
        )
    }

    fn draw(
        &self,
        look: Look,
        fixed: &[Cow<'_, str>; FIXED],
        texts: &[Cow<'_, str>; TEXTS],
        ink: impl Fn(Column) -> Ink,
    ) -> String {
        let mut pen = Pen::new(look);
        let [when, trace, budget, elapsed, outcome, share, wasted] = fixed;
        let [service, operation, surfaced, culprit] = texts;
        let f = self.fixed;
        let t = self.texts;
        // Where a call does not fit, its far end says more than its near one.
        let far_end = culprit
            .find(" \u{2192} ")
            .and_then(|at| culprit.get(at + 1..))
            .filter(|_| pen::width(&pen.safe(culprit)) > t[3]);
        let far_end = far_end.map(Cow::Borrowed);
        let culprit = far_end.as_ref().unwrap_or(culprit);
        let cells = [
            (when, f[0], false, Column::Other),
            (trace, f[1], false, Column::Other),
            (service, t[0], false, Column::Service),
            (operation, t[1], false, Column::Other),
            (budget, f[2], true, Column::Other),
            (elapsed, f[3], true, Column::Other),
            (outcome, f[4], false, Column::Outcome),
            (surfaced, t[2], false, Column::Other),
            (share, f[5], true, Column::Other),
            (culprit, t[3], false, Column::Other),
            (wasted, f[6], true, Column::Wasted),
        ];
        for (index, (text, width, right, column)) in cells.into_iter().enumerate() {
            if index > 0 {
                pen.pad(self.gap);
            }
            let text = pen.safe(text);
            if right {
                pen.right(ink(column), &text, width);
            } else {
                pen.column(ink(column), &text, width);
            }
        }
        pen.finish()
    }
}

#[derive(Clone, Copy)]
enum Column {
    Service,
    Outcome,
    Wasted,
    Other,
}

fn words(outcome: Outcome) -> Cow<'static, str> {
    let word = outcome.as_str();
    if word.contains('_') {
        Cow::Owned(word.replace('_', " "))
    } else {
        Cow::Borrowed(word)
    }
}

fn texts_of(row: &Row) -> [Cow<'_, str>; TEXTS] {
    let cells = [
        Cell::Service,
        Cell::Operation,
        Cell::Surfaced,
        Cell::Culprit,
    ];
    cells.map(|cell| Cow::Borrowed(row.cell(cell)))
}

fn safe(text: &str, look: Look) -> Cow<'_, str> {
    let text = visible(text);
    if look.ascii && !text.is_ascii() {
        Cow::Owned(glyphs::ascii(&text))
    } else {
        text
    }
}

/// How many hex digits tell the trace ids apart: 4 at least, 12 at most.
fn digits<'a>(rows: impl Iterator<Item = &'a Row>) -> usize {
    let mut ids: Vec<&str> = rows.map(|row| row.cell(Cell::Trace)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.windows(2)
        .map(|pair| {
            let same = |(a, b): &(char, char)| a == b;
            1 + pair[0]
                .chars()
                .zip(pair[1].chars())
                .take_while(same)
                .count()
        })
        .fold(4, usize::max)
        .min(12)
}

/// Takes columns from the widest until they fit.
fn shrink(columns: &mut [usize; TEXTS], room: usize) {
    while columns.iter().sum::<usize>() > room {
        let Some(widest) = columns.iter_mut().max() else {
            return;
        };
        if *widest <= LEAST {
            return;
        }
        *widest -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Request, UnixNanos};
    use crate::query::fixtures::{chain, fan_out, ms};

    fn drawn(requests: &[Request], width: usize, ascii: bool) -> String {
        let rows: Vec<_> = requests.iter().map(row).collect();
        let look = Look {
            color: false,
            ascii,
            width,
        };
        lines(rows.iter(), look).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_request_is_a_line() {
        let mut met = chain();
        (met.culprit, met.surfaced, met.budget) = (None, None, None);
        (met.outcome, met.wasted) = (Outcome::NoBudget, ms(0));
        insta::assert_snapshot!(drawn(&[chain(), fan_out(), met], 100, false));
    }

    #[test]
    fn lines_fit_the_width_whatever_the_names_are() {
        let mut hostile = chain();
        hostile.service = "\x1b[31m\u{4ef7}\u{683c}\n".repeat(30).into();
        hostile.start = UnixNanos(0);
        for (width, ascii) in [(100, false), (100, true), (140, false)] {
            let drawn = drawn(&[hostile.clone(), chain()], width, ascii);
            assert!(!drawn.contains('\x1b'));
            assert_eq!(drawn.lines().count(), 3);
            for line in drawn.lines() {
                assert!(pen::width(line) <= width, "{line}");
            }
            assert!(!ascii || drawn.is_ascii());
        }
    }
}
