//! Columns: what they are, and how they fill.

use std::borrow::Cow;

use compact_str::CompactString;
use polars::prelude::{
    BooleanChunkedBuilder, ChunkedBuilder, Column as Filled, DataFrame, Float64Type, IdxCa,
    Int64Type, IntoColumn, PlSmallStr, PolarsResult, PrimitiveChunkedBuilder, StringChunkedBuilder,
    TimeUnit,
};

use super::exact::Exact;
use super::texts::{Ids, Words};
use crate::model::{Nanos, SpanId, TraceId, UnixNanos};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A trace or span id as lower-case hex digits.
    Id,
    /// Text, often the same.
    Text,
    /// JSON as text.
    Json,
    /// Milliseconds, not rounded.
    Ms,
    /// A part of a whole, 0 to 1.
    Share,
    /// How many.
    Count,
    /// Which one.
    Number,
    /// Yes or no.
    Flag,
    /// An instant, in UTC.
    Time,
}

impl Type {
    /// The SQL type.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Id | Self::Text | Self::Json => "VARCHAR",
            Self::Ms | Self::Share => "DOUBLE",
            Self::Count | Self::Number => "BIGINT",
            Self::Flag => "BOOLEAN",
            Self::Time => "TIMESTAMP",
        }
    }

    /// The unit of its values; empty when there is none.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Id => "hex",
            Self::Json => "JSON",
            Self::Ms => "ms",
            Self::Share => "0 to 1",
            Self::Count => "count",
            Self::Time => "UTC",
            Self::Text | Self::Number | Self::Flag => "",
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Type,
    /// Whether it may be null, which stands for "not known" or "there is none".
    pub nullable: bool,
    /// What it means, in one sentence.
    pub doc: &'static str,
}

/// Defines the columns of a table once: `COLUMNS`, and `push`, which adds a row to them. A value
/// is computed only if its column is wanted. `or null` marks a column that may be null.
macro_rules! table {
    (
        push($($arg:ident: $of:ty),*);
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ident $(or $null:ident)? = $value:expr;)*
    ) => {
        pub(super) const COLUMNS: &[$crate::store::tables::Column] = &[$(
            $crate::store::tables::Column {
                name: stringify!($name),
                kind: $crate::store::tables::Type::$kind,
                nullable: $crate::store::tables::columns::nullable!($($null)?),
                doc: concat!($($doc),+).trim_ascii(),
            }
        ),*];

        pub(super) fn push(
            rows: &mut $crate::store::tables::columns::Rows,
            $($arg: $of),*
        ) {
            let mut fillings = rows.begin();
            $(
                if let Some(filling) = fillings.next().filter(|filling| filling.is_wanted()) {
                    $crate::store::tables::columns::Fill::fill($value, filling);
                }
            )*
        }
    };
}
pub(super) use table;

macro_rules! nullable {
    () => {
        false
    };
    (null) => {
        true
    };
}
pub(super) use nullable;

/// A value on its way into a column. One of a type that the column does not have would be a fault
/// in the table's definition, which its tests find; it becomes null then.
pub(super) trait Fill {
    /// Adds it as the next row's.
    fn fill(self, filling: &mut Filling);
}

impl Fill for &str {
    fn fill(self, filling: &mut Filling) {
        match filling {
            Filling::Words(words) => words.push(self),
            Filling::Text(builder, _) => builder.append_value(self),
            other => other.push_null(),
        }
    }
}

impl Fill for String {
    fn fill(self, filling: &mut Filling) {
        self.as_str().fill(filling);
    }
}

impl Fill for &CompactString {
    fn fill(self, filling: &mut Filling) {
        self.as_str().fill(filling);
    }
}

impl Fill for Cow<'_, str> {
    fn fill(self, filling: &mut Filling) {
        (*self).fill(filling);
    }
}

impl<T: Fill> Fill for Option<T> {
    fn fill(self, filling: &mut Filling) {
        match self {
            Some(value) => value.fill(filling),
            None => filling.push_null(),
        }
    }
}

impl Fill for Exact<'_> {
    fn fill(self, filling: &mut Filling) {
        match filling {
            Filling::Text(builder, room) => {
                room.clear();
                if self.write(room) {
                    builder.append_value(&*room);
                } else {
                    builder.append_null();
                }
            }
            other => other.push_null(),
        }
    }
}

impl Fill for TraceId {
    fn fill(self, filling: &mut Filling) {
        match filling {
            Filling::Ids(ids) => ids.push(Some(u128::from_be_bytes(self.0)), |ids| {
                ids.append_value(hex(&self.0, &mut [0; 2 * Self::BYTES]));
            }),
            other => other.push_null(),
        }
    }
}

impl Fill for SpanId {
    fn fill(self, filling: &mut Filling) {
        match filling {
            Filling::Ids(ids) => ids.push(Some(u64::from_be_bytes(self.0).into()), |ids| {
                ids.append_value(hex(&self.0, &mut [0; 2 * Self::BYTES]));
            }),
            other => other.push_null(),
        }
    }
}

macro_rules! fill {
    ($($from:ty => $column:ident($convert:expr);)*) => {$(
        impl Fill for $from {
            fn fill(self, filling: &mut Filling) {
                match filling {
                    Filling::$column(builder) => builder.append_value($convert(self)),
                    other => other.push_null(),
                }
            }
        }
    )*};
}

fill! {
    Nanos => Float(|time: Self| time.0 as f64 / 1e6);
    f64 => Float(std::convert::identity);
    bool => Bool(std::convert::identity);
    u32 => Int(i64::from);
    usize => Int(|value| i64::try_from(value).unwrap_or(i64::MAX));
    u64 => Int(|value| i64::try_from(value).unwrap_or(i64::MAX));
    UnixNanos => Int(|time: Self| i64::try_from(time.0).unwrap_or(i64::MAX));
}

/// The rows of one table, column by column.
#[derive(Debug)]
pub(super) struct Rows {
    columns: Vec<(&'static Column, Filling)>,
    len: usize,
}

impl Rows {
    pub(super) fn new(columns: impl Iterator<Item = (&'static Column, bool)>) -> Self {
        Self {
            columns: columns
                .map(|(column, wanted)| (column, Filling::new(column, wanted)))
                .collect(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Begins a row; each column must be given a value then, in order.
    pub(super) fn begin(&mut self) -> impl Iterator<Item = &mut Filling> {
        self.len += 1;
        self.columns.iter_mut().map(|(_, filling)| filling)
    }

    pub(super) fn finish(self) -> PolarsResult<DataFrame> {
        let mut filled = Vec::with_capacity(self.columns.len());
        for (column, filling) in self.columns {
            if let Some(column) = filling.finish(column)? {
                filled.push(column);
            }
        }
        DataFrame::new(self.len, filled)
    }
}

/// A column under way.
pub(super) enum Filling {
    /// Nobody asked for it.
    Unwanted,
    /// Texts that come again and again: each is kept once.
    Words(Words),
    /// Ids, of which one often stands in row after row.
    Ids(Ids),
    /// Text, with room in which it is put together.
    Text(StringChunkedBuilder, String),
    Int(PrimitiveChunkedBuilder<Int64Type>),
    Float(PrimitiveChunkedBuilder<Float64Type>),
    Bool(BooleanChunkedBuilder),
}

impl std::fmt::Debug for Filling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filling")
    }
}

impl Filling {
    fn new(column: &Column, wanted: bool) -> Self {
        let name = PlSmallStr::from_static(column.name);
        match column.kind {
            _ if !wanted => Self::Unwanted,
            Type::Text => Self::Words(Words::default()),
            Type::Id => Self::Ids(Ids::new(name)),
            Type::Json => Self::Text(StringChunkedBuilder::new(name, 0), String::new()),
            Type::Ms | Type::Share => Self::Float(PrimitiveChunkedBuilder::new(name, 0)),
            Type::Count | Type::Number | Type::Time => {
                Self::Int(PrimitiveChunkedBuilder::new(name, 0))
            }
            Type::Flag => Self::Bool(BooleanChunkedBuilder::new(name, 0)),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self, Self::Unwanted)
    }

    fn push_null(&mut self) {
        match self {
            Self::Unwanted => {}
            Self::Words(words) => words.push_null(),
            Self::Ids(ids) => ids.push(None, StringChunkedBuilder::append_null),
            Self::Text(builder, _) => builder.append_null(),
            Self::Int(builder) => builder.append_null(),
            Self::Float(builder) => builder.append_null(),
            Self::Bool(builder) => builder.append_null(),
        }
    }

    fn finish(self, column: &Column) -> PolarsResult<Option<Filled>> {
        let filled = match self {
            Self::Unwanted => return Ok(None),
            Self::Words(words) => words.finish(column.name)?,
            Self::Ids(ids) => ids.finish()?,
            Self::Text(builder, _) => builder.finish().into_column(),
            Self::Float(builder) => builder.finish().into_column(),
            Self::Bool(builder) => builder.finish().into_column(),
            Self::Int(builder) if column.kind == Type::Time => {
                let instants = builder.finish().into_datetime(TimeUnit::Nanoseconds, None);
                instants.into_column()
            }
            Self::Int(builder) => builder.finish().into_column(),
        };
        Ok(Some(filled))
    }
}

/// The digits of an id, as it prints.
fn hex<'a>(bytes: &[u8], digits: &'a mut [u8]) -> &'a str {
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = half + if half < 10 { b'0' } else { b'a' - 10 };
        }
    }
    std::str::from_utf8(digits).unwrap_or_default()
}

/// The rows with these numbers, in this order.
pub(super) fn in_order(frame: &DataFrame, rows: Vec<u32>) -> PolarsResult<DataFrame> {
    if rows.len() == frame.height() && rows.iter().copied().eq(0..rows.len() as u32) {
        return Ok(frame.clone());
    }
    frame.take(&IdxCa::from_vec(PlSmallStr::EMPTY, rows))
}
