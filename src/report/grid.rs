//! Rows and columns of any kind, as a table for people, JSON, CSV or Markdown.
//!
//! Null is an empty cell, and `null` in JSON. Milliseconds have up to three decimals; other numbers
//! are written out with up to fifteen digits, so that sums do not end in noise
//! (`0.30000000000000004`). In tables for people numbers have up to three decimals.

use serde_json::{Number, Value};

use super::csv;
use super::pen::{self, Ink, Pen};
use super::{Look, markdown};
use crate::query::sql::{Cell, Heading};

/// A column of text is never narrower, unless its texts are.
const LEAST: usize = 8;

/// Digits that a double always has right.
const DIGITS: usize = 15;

/// The lines of a table without line ends, a head first, and how many columns did not fit into
/// the width and were left out at the right.
pub fn lines(headings: &[Heading], rows: &[Vec<Cell>], look: Look) -> (Vec<String>, usize) {
    let gap = if look.width >= 120 { 2 } else { 1 };
    let drawn = Pen::new(look);
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let cells = row.iter().zip(headings);
            cells
                .map(|(cell, heading)| drawn.text(&shown(cell, heading)))
                .collect()
        })
        .collect();
    let heads: Vec<String> = headings.iter().map(|h| drawn.text(&h.name)).collect();
    let mut widths: Vec<usize> = heads.iter().map(|head| pen::width(head)).collect();
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(pen::width(cell));
        }
    }
    let fitting = fit(&mut widths, headings, gap, look.width);
    let line = |row: &[String], ink: Ink| {
        let mut pen = Pen::new(look);
        let columns = row.iter().zip(&widths).zip(headings).take(fitting);
        for (index, ((text, width), heading)) in columns.enumerate() {
            if index > 0 {
                pen.pad(gap);
            }
            if heading.is_number {
                pen.right(ink, text, *width);
            } else {
                pen.column(ink, text, *width);
            }
        }
        pen.finish()
    };
    let mut lines = vec![line(&heads, Ink::Dim)];
    lines.extend(cells.iter().map(|row| line(row, Ink::Plain)));
    (lines, headings.len() - fitting)
}

/// Takes room from columns of text, the widest first, until all fit; how many do.
fn fit(widths: &mut [usize], headings: &[Heading], gap: usize, room: usize) -> usize {
    let least = |(width, heading): (&usize, &Heading)| {
        if heading.is_number {
            *width
        } else {
            (*width).min(LEAST)
        }
    };
    let mut taken = 0;
    let mut fitting = 0_usize;
    for narrowest in widths.iter().zip(headings).map(least) {
        taken += narrowest + if fitting == 0 { 0 } else { gap };
        if taken > room && fitting > 0 {
            break;
        }
        fitting += 1;
    }
    let gaps = gap * fitting.saturating_sub(1);
    loop {
        let sum: usize = widths.iter().take(fitting).sum();
        let over = (sum + gaps).saturating_sub(room);
        let texts = widths.iter_mut().zip(headings).take(fitting);
        let texts = texts.filter(|(_, heading)| !heading.is_number);
        let Some(widest) = texts.map(|(width, _)| width).max() else {
            return fitting;
        };
        if over == 0 || *widest <= LEAST {
            return fitting;
        }
        // A column of a page of JSON gives way at once.
        *widest -= over.min((*widest - LEAST).div_ceil(2));
    }
}

/// The row as a JSON object without a line end. Of columns with one name the last counts.
pub fn json(headings: &[Heading], row: &[Cell]) -> String {
    let pairs = headings.iter().zip(row);
    let members: Vec<String> = pairs
        .map(|(heading, cell)| {
            let name = Value::from(heading.name.as_str());
            format!("{name}:{}", json_value(cell, heading))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn json_value(cell: &Cell, heading: &Heading) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bool(flag) => flag.to_string(),
        Cell::Int(int) => int.to_string(),
        // JSON has no infinity.
        Cell::Float(float) if !float.is_finite() => "null".to_owned(),
        Cell::Float(float) => number(*float, heading),
        Cell::Text(text) => Value::from(text.as_str()).to_string(),
        Cell::Json(json) => json.clone(),
    }
}

/// The header of a CSV file, with its line end.
pub fn csv_head(headings: &[Heading]) -> String {
    csv::write(headings.iter().map(|heading| csv::text(&heading.name)))
}

/// A row of a CSV file, with its line end.
pub fn csv_record(headings: &[Heading], row: &[Cell]) -> String {
    csv::write(row.iter().zip(headings).map(|(cell, heading)| match cell {
        Cell::Text(text) => csv::text(text),
        cell => plain(cell, heading),
    }))
}

/// The two lines with which a Markdown table begins.
pub fn markdown_head(headings: &[Heading]) -> [String; 2] {
    let names = headings.iter().map(|heading| heading.name.as_str());
    let numbers = headings.iter().map(|heading| heading.is_number);
    [markdown::row(names), markdown::rule(numbers)]
}

/// A line of a Markdown table without its end.
pub fn markdown_row(headings: &[Heading], row: &[Cell]) -> String {
    let cells = row.iter().zip(headings);
    let cells: Vec<String> = cells.map(|(cell, heading)| plain(cell, heading)).collect();
    markdown::row(cells.iter().map(String::as_str))
}

/// For machines: empty for null, numbers in full.
fn plain(cell: &Cell, heading: &Heading) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Bool(flag) => flag.to_string(),
        Cell::Int(int) => int.to_string(),
        Cell::Float(float) => number(*float, heading),
        Cell::Text(text) | Cell::Json(text) => text.clone(),
    }
}

/// For people.
fn shown(cell: &Cell, heading: &Heading) -> String {
    match cell {
        Cell::Float(float) if float.is_finite() && (float.abs() >= 0.001 || *float == 0.0) => {
            let text = format!("{float:.3}");
            let short = text.trim_end_matches('0').trim_end_matches('.');
            if short == "-0" { "0" } else { short }.to_owned()
        }
        cell => plain(cell, heading),
    }
}

fn number(float: f64, heading: &Heading) -> String {
    let rounded = if heading.is_ms {
        (float * 1000.0).round() / 1000.0
    } else {
        // A double of fifteen digits reads back as itself.
        format!("{float:.*e}", DIGITS - 1).parse().unwrap_or(float)
    };
    match Number::from_f64(rounded) {
        Some(number) => number.to_string(),
        None => float.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings() -> Vec<Heading> {
        [
            ("name", false, false),
            ("took_ms", true, true),
            ("ratio", true, false),
        ]
        .map(|(name, is_number, is_ms)| Heading {
            name: name.to_owned(),
            is_number,
            is_ms,
        })
        .to_vec()
    }

    fn rows() -> Vec<Vec<Cell>> {
        let text = |text: &str| Cell::Text(text.to_owned());
        vec![
            vec![
                text("a|b\n=c"),
                Cell::Float(1_234.567_9),
                Cell::Float(0.1 + 0.2),
            ],
            vec![Cell::Null, Cell::Int(5), Cell::Float(f64::INFINITY)],
            vec![text("=1+1"), Cell::Null, Cell::Json("[1,null]".to_owned())],
        ]
    }

    #[test]
    fn numbers_are_rounded_to_what_they_mean() {
        let json: Vec<String> = rows().iter().map(|row| json(&headings(), row)).collect();
        assert_eq!(
            json,
            [
                r#"{"name":"a|b\n=c","took_ms":1234.568,"ratio":0.3}"#,
                r#"{"name":null,"took_ms":5,"ratio":null}"#,
                r#"{"name":"=1+1","took_ms":null,"ratio":[1,null]}"#,
            ]
        );
    }

    #[test]
    fn csv_and_markdown_keep_cells_apart() {
        let headings = headings();
        let csv: String = rows()
            .iter()
            .map(|row| csv_record(&headings, row))
            .collect();
        assert_eq!(csv_head(&headings), "name,took_ms,ratio\r\n");
        assert_eq!(
            csv,
            "\"a|b\n=c\",1234.568,0.3\r\n,5,inf\r\n'=1+1,,\"[1,null]\"\r\n"
        );
        assert_eq!(
            markdown_head(&headings),
            ["| name | took_ms | ratio |", "| --- | ---: | ---: |"]
        );
        assert_eq!(
            markdown_row(&headings, &rows()[0]),
            "| a\\|b\u{240a}=c | 1234.568 | 0.3 |"
        );
    }

    #[test]
    fn what_does_not_fit_is_cut_and_then_left_out() {
        let look = |width| Look {
            color: false,
            ascii: false,
            width,
        };
        let (drawn, left_out) = lines(&headings(), &rows(), look(100));
        assert_eq!(
            drawn,
            [
                "name    took_ms    ratio",
                "a|b\u{240a}=c 1234.568      0.3",
                "              5      inf",
                "=1+1            [1,null]",
            ]
        );
        assert_eq!(left_out, 0);
        let long = vec![vec![
            Cell::Text("x".repeat(500)),
            Cell::Int(1),
            Cell::Int(2),
        ]];
        for width in [40, 26, 20, 12] {
            let (drawn, left_out) = lines(&headings(), &long, look(width));
            assert!(
                drawn.iter().all(|line| pen::width(line) <= width),
                "{drawn:?}"
            );
            assert_eq!(
                left_out,
                usize::from(width < 22) + usize::from(width < 16),
                "{width}"
            );
        }
    }
}
