//! What a statement gave.

use jiff::Timestamp;
use jiff::civil;
use polars::prelude::{AnyValue, DataFrame, DataType, Series, TimeUnit};

/// Rows and columns.
#[derive(Debug, Clone)]
pub struct Answer {
    frame: DataFrame,
    headings: Vec<Heading>,
    /// True if there are more rows than the limit let through.
    pub cut: bool,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Its name.
    pub name: String,
    /// True for numbers, which are set to the right.
    pub is_number: bool,
    /// True for milliseconds, which are shown with up to three decimals: columns named `ms` or
    /// `…_ms`, and differences of instants.
    pub is_ms: bool,
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Null.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number.
    Float(f64),
    /// Text, dates and instants included.
    Text(String),
    /// A list, as JSON.
    Json(String),
}

impl Answer {
    pub(super) fn new(frame: &DataFrame, limit: Option<usize>) -> Self {
        let cut = limit.is_some_and(|limit| frame.height() > limit);
        let frame = frame.head(limit.filter(|_| cut).or(Some(frame.height())));
        let headings = frame.columns().iter();
        let headings = headings
            .map(|column| {
                let (name, dtype) = (column.name().to_string(), column.dtype());
                let is_duration = matches!(dtype, DataType::Duration(_));
                Heading {
                    is_number: dtype.is_primitive_numeric() || is_duration,
                    is_ms: is_duration || name == "ms" || name.ends_with("_ms"),
                    name,
                }
            })
            .collect();
        Self {
            frame,
            headings,
            cut,
        }
    }

    /// Its columns.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.frame.height()
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows, one after the other, as many values as there are headings in each.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Cell>> + '_ {
        (0..self.len()).map(|row| {
            let columns = self.frame.columns().iter();
            columns
                .map(|column| column.get(row).map_or(Cell::Null, |value| cell(&value)))
                .collect()
        })
    }
}

fn cell(value: &AnyValue<'_>) -> Cell {
    match value {
        AnyValue::Null => Cell::Null,
        AnyValue::Boolean(flag) => Cell::Bool(*flag),
        AnyValue::String(text) => Cell::Text((*text).to_owned()),
        AnyValue::StringOwned(text) => Cell::Text(text.to_string()),
        AnyValue::Float32(float) => Cell::Float((*float).into()),
        AnyValue::Float64(float) => Cell::Float(*float),
        AnyValue::Date(days) => Cell::Text(date(*days)),
        AnyValue::Datetime(count, unit, _) | AnyValue::DatetimeOwned(count, unit, _) => {
            Cell::Text(instant(*count, *unit))
        }
        AnyValue::Duration(count, unit) => {
            Cell::Float((i128::from(*count) * nanos(*unit)) as f64 / 1e6)
        }
        AnyValue::List(items) => Cell::Json(list(items)),
        other => match other.extract::<i128>() {
            Some(int) if other.is_integer() => Cell::Int(int),
            _ => Cell::Text(other.to_string()),
        },
    }
}

fn nanos(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Nanoseconds => 1,
        TimeUnit::Microseconds => 1_000,
        TimeUnit::Milliseconds => 1_000_000,
    }
}

/// RFC 3339 in UTC with nine decimals, as in all other output.
fn instant(count: i64, unit: TimeUnit) -> String {
    let nanos = i128::from(count) * nanos(unit);
    match Timestamp::from_nanosecond(nanos) {
        Ok(instant) => format!("{instant:.9}"),
        Err(_) => nanos.to_string(),
    }
}

fn date(days: i32) -> String {
    let epoch = civil::date(1970, 1, 1);
    let day = epoch.checked_add(jiff::Span::new().days(days));
    day.map_or_else(|_| days.to_string(), |day| day.to_string())
}

/// Lists nest as deep as the statement says, which its parser bounds.
fn list(items: &Series) -> String {
    let values: Vec<String> = items.iter().map(|value| json(&cell(&value))).collect();
    format!("[{}]", values.join(","))
}

fn json(cell: &Cell) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bool(flag) => flag.to_string(),
        Cell::Int(int) => int.to_string(),
        Cell::Float(float) => serde_json::Number::from_f64(*float)
            .map_or_else(|| "null".to_owned(), |number| number.to_string()),
        Cell::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Cell::Json(json) => json.clone(),
    }
}
