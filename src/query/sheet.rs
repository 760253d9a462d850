//! Rows of numbers under named columns: what every list over many requests is, before it looks
//! like anything.

use super::order::{self, Key, Wanted};
use crate::model::{Nanos, Text, UnixNanos};

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name in JSON and CSV; times end in `_ms`.
    pub key: &'static str,
    /// Its name in tables; empty if tables leave it out.
    pub head: &'static str,
    /// Tables that are too narrow leave out the greatest rank first; 0 always stays.
    pub rank: u8,
    /// What it holds.
    pub doc: &'static str,
}

impl Column {
    /// A column that tables always show.
    pub const fn shown(key: &'static str, head: &'static str, doc: &'static str) -> Self {
        Self {
            key,
            head,
            rank: 0,
            doc,
        }
    }

    /// A column that narrow tables leave out, the greatest rank first.
    pub const fn wide(rank: u8, key: &'static str, head: &'static str, doc: &'static str) -> Self {
        Self {
            key,
            head,
            rank,
            doc,
        }
    }

    /// A column of JSON, CSV and the like only.
    pub const fn machine(key: &'static str, doc: &'static str) -> Self {
        Self {
            key,
            head: "",
            rank: u8::MAX,
            doc,
        }
    }
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Not known.
    Null,
    /// A name or a sentence from outside.
    Text(Text),
    /// A word of ours.
    Word(&'static str),
    /// A time.
    Time(Nanos),
    /// A count.
    Count(u64),
    /// A part of a whole, in millionths.
    Share(i64),
    /// A number with a fraction, in millionths.
    Number(i64),
    /// An instant.
    Instant(UnixNanos),
}

impl Cell {
    /// A part of a count.
    pub fn share(part: u64, whole: u64) -> Self {
        millionths(part, whole).map_or(Self::Null, Self::Share)
    }

    /// A count per another.
    pub fn per(number: u64, of: u64) -> Self {
        millionths(number, of).map_or(Self::Null, Self::Number)
    }

    /// A name, or nothing.
    pub fn name(text: Option<&Text>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.clone()))
    }

    fn key(&self) -> Key {
        match self {
            Self::Null => Key::Null,
            Self::Text(text) => Key::Text(text.to_string()),
            Self::Word(word) => Key::Text((*word).to_owned()),
            Self::Time(time) => Key::Number(time.0.into()),
            Self::Count(count) => Key::Number((*count).into()),
            Self::Share(number) | Self::Number(number) => Key::Number((*number).into()),
            Self::Instant(instant) => Key::Number(instant.0.into()),
        }
    }
}

impl From<Option<Nanos>> for Cell {
    fn from(time: Option<Nanos>) -> Self {
        time.map_or(Self::Null, Self::Time)
    }
}

/// Rounded to the nearest millionth; `None` of nothing.
fn millionths(part: u64, whole: u64) -> Option<i64> {
    let doubled = u128::from(part) * 2_000_000 / u128::from(whole.max(1));
    (whole > 0).then(|| i64::try_from(doubled.div_ceil(2)).unwrap_or(i64::MAX))
}

/// Rows under columns; each row has a cell for each column.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// The columns.
    pub columns: &'static [Column],
    /// The rows, in their order.
    pub rows: Vec<Vec<Cell>>,
}

/// A column by which a sheet is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByColumn {
    index: usize,
    descending: bool,
}

impl ByColumn {
    /// The order that was asked for, by a column's key or heading; `_ms` may be left out.
    pub fn of(columns: &'static [Column], wanted: &Wanted) -> Result<Self, String> {
        let name = wanted.name.as_str();
        let is_named =
            |column: &Column| column.key == name || column.key.strip_suffix("_ms") == Some(name);
        if let Some(index) = columns.iter().position(is_named) {
            return Ok(Self {
                index,
                descending: wanted.descending,
            });
        }
        // As it stands over the column; of two alike the first is meant.
        let is_headed = |column: &Column| !column.head.is_empty() && column.head == name;
        if let Some(index) = columns.iter().position(is_headed) {
            return Ok(Self {
                index,
                descending: wanted.descending,
            });
        }
        let bare = |column: &'static Column| {
            let bare = column.key.strip_suffix("_ms")?;
            let taken = columns.iter().any(|other| other.key == bare);
            (!taken).then_some(bare)
        };
        let names = columns.iter().map(|one| bare(one).unwrap_or(one.key));
        Err(order::unknown(name, names))
    }
}

impl Sheet {
    /// Puts the rows into another order; equal ones keep theirs.
    pub fn sort(&mut self, by: ByColumn) {
        let key = |row: &Vec<Cell>| row.get(by.index).map_or(Key::Null, Cell::key);
        let mut keyed: Vec<(Key, Vec<Cell>)> =
            self.rows.drain(..).map(|row| (key(&row), row)).collect();
        keyed.sort_by(|(a, _), (b, _)| a.compare(b, by.descending));
        self.rows.extend(keyed.into_iter().map(|(_, row)| row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_are_sorted_by_any_column_and_equal_rows_stay() {
        const COLUMNS: &[Column] = &[
            Column::shown("name", "who", ""),
            Column::machine("wasted_ms", ""),
        ];
        let row = |name: &'static str, wasted: Option<i64>| {
            vec![Cell::Word(name), Cell::from(wasted.map(Nanos))]
        };
        let mut sheet = Sheet {
            columns: COLUMNS,
            rows: vec![
                row("a", Some(1)),
                row("b", None),
                row("c", Some(2)),
                row("d", Some(1)),
            ],
        };
        let by = |text: &str| ByColumn::of(COLUMNS, &text.parse().unwrap());
        let mut sorted = |text: &str| -> String {
            sheet.sort(by(text).unwrap());
            let names = sheet.rows.iter().map(|row| &row[0]);
            names
                .map(|cell| {
                    if let Cell::Word(name) = cell {
                        *name
                    } else {
                        ""
                    }
                })
                .collect()
        };
        assert_eq!(sorted("wasted"), "adcb");
        assert_eq!(sorted("-wasted_ms"), "cadb");
        assert_eq!(sorted("name:desc"), "dcba");
        assert_eq!(sorted("who"), "abcd");
        assert!(by("wast").unwrap_err().contains("there are name, wasted"));
        assert!(by("nane").unwrap_err().ends_with("is it `name`?"));
    }

    #[test]
    fn a_name_that_two_columns_would_share_is_told_in_full() {
        const COLUMNS: &[Column] = &[
            Column::machine("culprit", ""),
            Column::machine("culprit_ms", ""),
            Column::machine("wasted_ms", ""),
        ];
        let refused = ByColumn::of(COLUMNS, &"nope".parse().unwrap()).unwrap_err();
        assert!(
            refused.ends_with("there are culprit, culprit_ms, wasted"),
            "{refused}"
        );
    }

    #[test]
    fn shares_are_rounded_and_of_nothing_unknown() {
        assert_eq!(Cell::share(2, 3), Cell::Share(666_667));
        assert_eq!(Cell::share(1, 3), Cell::Share(333_333));
        assert_eq!(Cell::per(7, 2), Cell::Number(3_500_000));
        assert_eq!(Cell::share(0, 0), Cell::Null);
    }
}
