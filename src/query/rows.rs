//! From rows of the tables to what they say.

use polars::prelude::{
    BooleanChunked, DataFrame, Float64Chunked, Int64Chunked, StringChunked, TimeUnit,
};

use super::error::QueryError;
use crate::model::{Nanos, Text, UnixNanos};
use crate::store::tables::nanos;

/// The columns that tell a request from every other.
pub(super) const IDENTITY: [&str; 2] = ["trace_id", "request"];

/// A part of a whole in millionths, as it is printed.
pub(super) fn millionths(part: Nanos, whole: Nanos) -> i64 {
    Nanos(1_000_000).scaled(part.0, whole.0).0
}

/// What a culprit's share is of. The table has the quotient alone, as a double; as the culprit
/// consumed the part, the whole is exact up to 2⁵⁰ ns.
pub(super) fn culprit_whole(consumed: Nanos, share: f64) -> Nanos {
    if share == 0.0 {
        return Nanos::ZERO;
    }
    Nanos((consumed.0 as f64 / share).round() as i64)
}

/// The columns of a few rows, by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells<'a>(pub(super) &'a DataFrame);

impl<'a> Cells<'a> {
    pub(super) fn texts(self, column: &str) -> Result<&'a StringChunked, QueryError> {
        Ok(self.0.column(column)?.str()?)
    }

    pub(super) fn times(self, column: &str) -> Result<&'a Float64Chunked, QueryError> {
        Ok(self.0.column(column)?.f64()?)
    }

    pub(super) fn wholes(self, column: &str) -> Result<&'a Int64Chunked, QueryError> {
        Ok(self.0.column(column)?.i64()?)
    }

    pub(super) fn flags(self, column: &str) -> Result<&'a BooleanChunked, QueryError> {
        Ok(self.0.column(column)?.bool()?)
    }

    pub(super) fn instants(self, column: &str) -> Result<&'a Int64Chunked, QueryError> {
        let instants = self.0.column(column)?.datetime()?;
        match instants.time_unit() {
            TimeUnit::Nanoseconds => Ok(instants.physical()),
            other => Err(QueryError::Engine(format!("`{column}` is in {other}"))),
        }
    }

    /// The words of a column, one after the other.
    pub(super) fn words<T: Copy + 'a>(
        self,
        column: &'static str,
        all: &'a [T],
        word: fn(T) -> &'static str,
    ) -> Result<Words<'a, T>, QueryError> {
        Ok(Words {
            column,
            texts: Box::new(self.texts(column)?.iter()),
            all,
            word,
            last: None,
        })
    }

    pub(super) fn row(self, row: usize) -> RowCells<'a> {
        RowCells { cells: self, row }
    }
}

/// Words of a kind, one after the other, never null. Mostly one is as the one before it.
pub(super) struct Words<'a, T> {
    column: &'static str,
    texts: Box<dyn Iterator<Item = Option<&'a str>> + 'a>,
    all: &'a [T],
    word: fn(T) -> &'static str,
    last: Option<(&'a str, T)>,
}

impl<T: Copy> Words<'_, T> {
    pub(super) fn next(&mut self) -> Result<T, QueryError> {
        let text = self.texts.next().flatten();
        if let Some((known, word)) = self.last
            && text == Some(known)
        {
            return Ok(word);
        }
        let found = word(self.column, text, self.all, self.word)?;
        self.last = text.map(|text| (text, found));
        Ok(found)
    }
}

/// One row, by the names of its columns. What must be there and is not is an error.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowCells<'a> {
    cells: Cells<'a>,
    row: usize,
}

impl<'a> RowCells<'a> {
    pub(super) fn text(self, column: &str) -> Result<Option<&'a str>, QueryError> {
        Ok(self.cells.texts(column)?.get(self.row))
    }

    pub(super) fn name(self, column: &'static str) -> Result<Text, QueryError> {
        Ok(Text::from(there(column, self.text(column)?)?))
    }

    pub(super) fn time(self, column: &str) -> Result<Option<Nanos>, QueryError> {
        Ok(self.cells.times(column)?.get(self.row).map(nanos))
    }

    pub(super) fn number(self, column: &str) -> Result<Option<f64>, QueryError> {
        Ok(self.cells.times(column)?.get(self.row))
    }

    pub(super) fn whole(self, column: &str) -> Result<Option<i64>, QueryError> {
        Ok(self.cells.wholes(column)?.get(self.row))
    }

    pub(super) fn flag(self, column: &'static str) -> Result<bool, QueryError> {
        there(column, self.cells.flags(column)?.get(self.row))
    }

    pub(super) fn instant(self, column: &'static str) -> Result<UnixNanos, QueryError> {
        let nanos = there(column, self.cells.instants(column)?.get(self.row))?;
        Ok(UnixNanos(u64::try_from(nanos).unwrap_or(0)))
    }

    /// An id, or anything else that is read from its text.
    pub(super) fn parsed<T: std::str::FromStr>(
        self,
        column: &'static str,
    ) -> Result<Option<T>, QueryError> {
        let text = self.text(column)?;
        let parsed = text.map(|text| text.parse().map_err(|_| unknown(column, text)));
        parsed.transpose()
    }

    /// One of the words of a kind.
    pub(super) fn word<T: Copy>(
        self,
        column: &'static str,
        all: &[T],
        word: fn(T) -> &'static str,
    ) -> Result<Option<T>, QueryError> {
        let Some(text) = self.text(column)? else {
            return Ok(None);
        };
        self::word(column, Some(text), all, word).map(Some)
    }
}

/// One of the words of a kind, which is never null.
pub(super) fn word<T: Copy>(
    column: &'static str,
    text: Option<&str>,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Result<T, QueryError> {
    let text = there(column, text)?;
    let known = all.iter().find(|one| word(**one) == text);
    known.copied().ok_or_else(|| unknown(column, text))
}

/// A value that is never null.
pub(super) fn there<T>(column: &'static str, value: Option<T>) -> Result<T, QueryError> {
    value.ok_or_else(|| unknown(column, "null"))
}

fn unknown(column: &'static str, value: &str) -> QueryError {
    QueryError::Unknown {
        column,
        value: value.to_owned(),
    }
}
