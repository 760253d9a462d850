//! A sheet as a table for people, as JSON, CSV and Markdown.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Number;

use super::pen::{self, Ink, Pen};
use super::{Look, csv, markdown};
use crate::model::Nanos;
use crate::query::number;
use crate::query::sheet::{Cell, Column, Sheet};

/// A text column that a table narrows is never narrower.
const LEAST: usize = 7;
/// Text columns wider than this make the table leave out others before they are narrowed.
const COMFORTABLE: usize = 20;

/// A sheet drawn in columns.
#[derive(Debug)]
pub struct Drawn {
    /// A head and a line for each row, without line ends.
    pub lines: Vec<String>,
    /// The columns that the width has no room for.
    pub left_out: Vec<&'static str>,
}

/// The sheet as a table in the look's width.
pub fn table(sheet: &Sheet, look: Look) -> Drawn {
    let pen = Pen::new(look);
    let shown: Vec<(usize, &Column)> = sheet
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.head.is_empty())
        .collect();
    let mut columns: Vec<Drawing<'_>> = shown
        .into_iter()
        .map(|(index, column)| Drawing::of(sheet, index, column, &pen))
        .collect();
    let gap = if look.width >= 120 { 2 } else { 1 };
    let mut left_out = Vec::new();
    while taken(&columns, gap, COMFORTABLE) > look.width {
        let least_needed = columns
            .iter()
            .enumerate()
            .max_by_key(|(_, one)| one.column.rank);
        match least_needed {
            Some((index, one)) if one.column.rank > 0 => {
                left_out.push(one.column.head);
                columns.remove(index);
            }
            _ => break,
        }
    }
    while taken(&columns, gap, usize::MAX) > look.width {
        let widest = columns.iter_mut().filter(|one| one.is_text);
        match widest.max_by_key(|one| one.width) {
            Some(one) if one.width > LEAST => one.width -= 1,
            _ => break,
        }
    }
    left_out.reverse();
    let rows = sheet.rows.len();
    Drawn {
        lines: (0..=rows)
            .map(|line| draw(&columns, line, gap, look))
            .collect(),
        left_out,
    }
}

/// A column of a table: its cells as they are printed, the head first.
struct Drawing<'a> {
    column: &'a Column,
    cells: Vec<String>,
    width: usize,
    is_text: bool,
}

impl<'a> Drawing<'a> {
    fn of(sheet: &Sheet, index: usize, column: &'a Column, pen: &Pen) -> Self {
        let of_column = || sheet.rows.iter().filter_map(|row| row.get(index));
        let is_text = of_column().any(|cell| matches!(cell, Cell::Text(_) | Cell::Word(_)));
        let mut cells = vec![pen.text(column.head)];
        cells.extend(of_column().map(|cell| pen.text(&shown(cell))));
        let width = cells.iter().map(|cell| pen::width(cell)).max().unwrap_or(0);
        Self {
            column,
            cells,
            width,
            is_text,
        }
    }
}

/// Columns that the table takes when no text is wider than `most`.
fn taken(columns: &[Drawing<'_>], gap: usize, most: usize) -> usize {
    let widths = columns.iter().map(|one| {
        let most = if one.is_text { most } else { usize::MAX };
        one.width.min(most)
    });
    widths.sum::<usize>() + gap * columns.len().saturating_sub(1)
}

fn draw(columns: &[Drawing<'_>], line: usize, gap: usize, look: Look) -> String {
    let mut pen = Pen::new(look);
    for (index, one) in columns.iter().enumerate() {
        if index > 0 {
            pen.pad(gap);
        }
        let ink = match (line, index) {
            (0, _) => Ink::Dim,
            (_, 0) => Ink::Bold,
            _ => Ink::Plain,
        };
        let cell = one.cells.get(line).map_or("", String::as_str);
        if one.is_text {
            pen.column(ink, cell, one.width);
        } else {
            pen.right(ink, cell, one.width);
        }
    }
    pen.finish()
}

/// A cell for people.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => number::UNKNOWN.to_owned(),
        Cell::Text(text) => text.to_string(),
        Cell::Word(word) => (*word).to_owned(),
        Cell::Time(time) => number::ms(*time),
        Cell::Count(count) => number::count(usize::try_from(*count).unwrap_or(usize::MAX)),
        Cell::Share(share) => number::percent(Nanos(*share), Nanos(1_000_000)),
        Cell::Number(millionths) => number::ms(Nanos(*millionths)),
        Cell::Instant(instant) => number::instant(*instant),
    }
}

/// Each row as a JSON object on one line.
pub fn json(sheet: &Sheet) -> impl Iterator<Item = String> {
    sheet.rows.iter().map(|row| {
        let object = Object {
            columns: sheet.columns,
            row,
        };
        // Serialising to memory fails on maps with keys that are not text only; there are none.
        serde_json::to_string(&object).unwrap_or_default()
    })
}

struct Object<'a> {
    columns: &'a [Column],
    row: &'a [Cell],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, cell) in self.columns.iter().zip(self.row) {
            let key = column.key;
            match cell {
                Cell::Null => map.serialize_entry(key, &()),
                Cell::Text(text) => map.serialize_entry(key, text),
                Cell::Word(word) => map.serialize_entry(key, word),
                Cell::Time(time) => map.serialize_entry(key, time),
                Cell::Count(count) => map.serialize_entry(key, count),
                Cell::Share(number) | Cell::Number(number) => {
                    map.serialize_entry(key, &fraction(*number))
                }
                Cell::Instant(instant) => map.serialize_entry(key, instant),
            }?;
        }
        map.end()
    }
}

fn fraction(millionths: i64) -> Option<Number> {
    Number::from_f64(millionths as f64 / 1e6)
}

/// The header and the rows as CSV, each with its line end.
pub fn csv(sheet: &Sheet) -> impl Iterator<Item = String> {
    let header = csv::write(sheet.columns.iter().map(|column| column.key.to_owned()));
    let rows = sheet
        .rows
        .iter()
        .map(|row| csv::write(row.iter().map(plain)));
    std::iter::once(header).chain(rows)
}

/// A cell of CSV: numbers as in JSON, unknown is empty.
fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Text(text) => csv::text(text),
        Cell::Word(word) => (*word).to_owned(),
        Cell::Time(time) => csv::number(*time),
        Cell::Count(count) => count.to_string(),
        Cell::Share(number) | Cell::Number(number) => {
            fraction(*number).map_or_else(String::new, |number| number.to_string())
        }
        Cell::Instant(instant) => instant.to_string(),
    }
}

/// The columns that tables show, and all rows, as a Markdown table; lines without line ends.
pub fn markdown(sheet: &Sheet) -> impl Iterator<Item = String> {
    let shown_ones = || {
        let columns = sheet.columns.iter().enumerate();
        columns.filter(|(_, column)| !column.head.is_empty())
    };
    let head = markdown::row(shown_ones().map(|(_, column)| column.head));
    let rule = markdown::rule(shown_ones().map(|(index, _)| {
        let cells = sheet.rows.iter().filter_map(move |row| row.get(index));
        !cells
            .into_iter()
            .any(|cell| matches!(cell, Cell::Text(_) | Cell::Word(_)))
    }));
    let rows = sheet.rows.iter().map(move |row| {
        let cells: Vec<String> = shown_ones()
            .filter_map(|(index, _)| row.get(index).map(shown))
            .collect();
        markdown::row(cells.iter().map(String::as_str))
    });
    [head, rule].into_iter().chain(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::shown("service", "service", ""),
        Column::shown("runs", "runs", ""),
        Column::wide(1, "local_p50_ms", "local p50", ""),
        Column::wide(2, "share", "told", ""),
        Column::machine("retries", ""),
    ];

    fn sheet() -> Sheet {
        let row = |name: &str, time: Option<i64>| {
            vec![
                Cell::Text(name.into()),
                Cell::Count(1204),
                Cell::from(time.map(Nanos)),
                Cell::Share(497_000),
                Cell::Number(250_000),
            ]
        };
        Sheet {
            columns: COLUMNS,
            rows: vec![
                row("=cmd|'/c calc'!A1", Some(12_345_678)),
                row("line\nbreak <b> \u{1b}[31m `x`", None),
            ],
        }
    }

    fn look(width: usize) -> Look {
        Look {
            color: false,
            ascii: false,
            width,
        }
    }

    #[test]
    fn tables_leave_out_what_has_no_room_and_say_so() {
        let drawn = table(&sheet(), look(100));
        assert_eq!(drawn.left_out, Vec::<&str>::new());
        assert_eq!(
            drawn.lines,
            [
                "service                   runs local p50   told",
                "=cmd|'/c calc'!A1        1,204      12.3 49.7 %",
                "line\u{240a}break <b> \u{241b}[31m `x` 1,204         \u{b7} 49.7 %",
            ]
        );
        for (width, out) in [(40, vec!["told"]), (33, vec!["local p50", "told"])] {
            let drawn = table(&sheet(), look(width));
            assert_eq!(drawn.left_out, out);
            assert!(
                drawn.lines.iter().all(|line| pen::width(line) <= width),
                "{drawn:?}"
            );
        }
    }

    #[test]
    fn each_format_has_the_same_numbers_and_harmless_names() {
        let lines: Vec<String> = json(&sheet()).collect();
        assert_eq!(
            lines[0],
            r#"{"service":"=cmd|'/c calc'!A1","runs":1204,"local_p50_ms":12.346,"share":0.497,"retries":0.25}"#
        );
        assert!(lines[1].contains(r#""local_p50_ms":null"#));
        let text: String = csv(&sheet()).collect();
        assert!(text.starts_with("service,runs,local_p50_ms,share,retries\r\n'=cmd|'/c calc'!A1,1204,12.346,0.497,0.25\r\n"), "{text}");
        let text: Vec<String> = markdown(&sheet()).collect();
        assert_eq!(text[0], "| service | runs | local p50 | told |");
        assert_eq!(text[1], "| --- | ---: | ---: | ---: |");
        assert_eq!(
            text[2],
            r"| =cmd\|'/c calc'!A1 | 1,204 | 12.3 | 49.7 % |".replace("7 %", "7\u{a0}%")
        );
        assert!(
            text[3].starts_with("| line\u{240a}break &lt;b> \u{241b}\\[31m \\`x\\` |"),
            "{}",
            text[3]
        );
    }
}
