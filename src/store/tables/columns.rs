//! Columns: what they are, and how they fill.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use compact_str::CompactString;
use polars::prelude::{
    BooleanChunkedBuilder, ChunkedBuilder, Column as Filled, DataFrame, DataType, Float64Type,
    IdxCa, Int64Type, IntoColumn, NewChunkedArray, PlSmallStr, PolarsResult,
    PrimitiveChunkedBuilder, StringChunkedBuilder, TimeUnit,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::exact::Exact;
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
                    filling.push($crate::store::tables::columns::Cell::from($value));
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

/// A value on its way into a column.
#[derive(Debug)]
pub(super) enum Cell<'a> {
    Null,
    Str(&'a str),
    String(String),
    Trace(TraceId),
    Span(SpanId),
    Json(Exact<'a>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Time(UnixNanos),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Str(text)
    }
}

impl<'a> From<&'a CompactString> for Cell<'a> {
    fn from(text: &'a CompactString) -> Self {
        Self::Str(text)
    }
}

impl<'a> From<Cow<'a, str>> for Cell<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Str(text),
            Cow::Owned(text) => Self::String(text),
        }
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a> From<Exact<'a>> for Cell<'a> {
    fn from(what: Exact<'a>) -> Self {
        Self::Json(what)
    }
}

impl From<Nanos> for Cell<'_> {
    fn from(time: Nanos) -> Self {
        Self::Float(time.0 as f64 / 1e6)
    }
}

macro_rules! cells {
    ($($from:ty => $cell:ident($convert:expr);)*) => {$(
        impl From<$from> for Cell<'_> {
            fn from(value: $from) -> Self {
                Self::$cell($convert(value))
            }
        }
    )*};
}

cells! {
    String => String(std::convert::identity);
    TraceId => Trace(std::convert::identity);
    SpanId => Span(std::convert::identity);
    UnixNanos => Time(std::convert::identity);
    bool => Bool(std::convert::identity);
    f64 => Float(std::convert::identity);
    u32 => Int(i64::from);
    usize => Int(|value| i64::try_from(value).unwrap_or(i64::MAX));
    u64 => Int(|value| i64::try_from(value).unwrap_or(i64::MAX));
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

    /// Adds a value. One of a type that the column does not have would be a fault in the table's
    /// definition, which its tests find; it becomes null here.
    pub(super) fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Unwanted, _) => {}
            (Self::Words(words), Cell::Str(text)) => words.push(text),
            (Self::Words(words), Cell::String(text)) => words.push(&text),
            (Self::Words(words), _) => words.push_null(),
            (Self::Text(builder, _), Cell::Str(text)) => builder.append_value(text),
            (Self::Text(builder, _), Cell::String(text)) => builder.append_value(text),
            (Self::Ids(ids), Cell::Trace(id)) => ids.push(Some(u128::from_be_bytes(id.0)), |ids| {
                ids.append_value(hex(&id.0, &mut [0; 2 * TraceId::BYTES]));
            }),
            (Self::Ids(ids), Cell::Span(id)) => {
                ids.push(Some(u64::from_be_bytes(id.0).into()), |ids| {
                    ids.append_value(hex(&id.0, &mut [0; 2 * SpanId::BYTES]));
                });
            }
            (Self::Ids(ids), _) => ids.push(None, StringChunkedBuilder::append_null),
            (Self::Text(builder, room), Cell::Json(what)) => {
                room.clear();
                if what.write(room) {
                    builder.append_value(&*room);
                } else {
                    builder.append_null();
                }
            }
            (Self::Text(builder, _), _) => builder.append_null(),
            (Self::Int(builder), Cell::Int(int)) => builder.append_value(int),
            (Self::Int(builder), Cell::Time(time)) => {
                builder.append_value(i64::try_from(time.0).unwrap_or(i64::MAX));
            }
            (Self::Int(builder), _) => builder.append_null(),
            (Self::Float(builder), Cell::Float(float)) => builder.append_value(float),
            (Self::Float(builder), _) => builder.append_null(),
            (Self::Bool(builder), Cell::Bool(flag)) => builder.append_value(flag),
            (Self::Bool(builder), _) => builder.append_null(),
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

/// XXH3 of a text in one go: what can take it in pieces keeps half a kilobyte for that.
#[derive(Debug, Default)]
pub(super) struct OneShot(u64);

impl Hasher for OneShot {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = self.0.rotate_left(8) ^ u64::from(byte);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A column of ids of one kind: numbers into a list in which those that follow each other differ.
pub(super) struct Ids {
    numbers: Vec<u32>,
    list: StringChunkedBuilder,
    /// The one at the end of the list, or null.
    last: Option<u128>,
}

impl Ids {
    fn new(name: PlSmallStr) -> Self {
        Self {
            numbers: Vec::new(),
            list: StringChunkedBuilder::new(name, 0),
            last: None,
        }
    }

    fn push(&mut self, id: Option<u128>, append: impl FnOnce(&mut StringChunkedBuilder)) {
        match self.numbers.last() {
            Some(last) if self.last == id => self.numbers.push(*last),
            last => {
                self.numbers.push(last.map_or(0, |last| last + 1));
                append(&mut self.list);
                self.last = id;
            }
        }
    }

    fn finish(self) -> PolarsResult<Filled> {
        let list = self.list.finish().into_column();
        // Where no two are the same, the list is the column.
        if list.len() == self.numbers.len() {
            return Ok(list);
        }
        list.take(&IdxCa::from_vec(PlSmallStr::EMPTY, self.numbers))
    }
}

/// A column of texts that repeat: numbers into a list in which each text stands once.
#[derive(Debug, Default)]
pub(super) struct Words {
    numbers: Vec<Option<u32>>,
    known: HashMap<CompactString, u32, BuildHasherDefault<OneShot>>,
    list: Vec<CompactString>,
}

impl Words {
    fn push(&mut self, text: &str) {
        // Most columns say the same row after row.
        let last = self.numbers.last().copied().flatten();
        let known = last.and_then(|last| self.list.get(last as usize));
        if known.is_some_and(|known| known == text) {
            self.numbers.push(last);
            return;
        }
        let number = if let Some(number) = self.known.get(text) {
            *number
        } else {
            let number = self.list.len() as u32;
            self.list.push(text.into());
            self.known.insert(text.into(), number);
            number
        };
        self.numbers.push(Some(number));
    }

    fn push_null(&mut self) {
        self.numbers.push(None);
    }

    /// Taking from the list copies sixteen bytes a row, not the text.
    fn finish(self, name: &'static str) -> PolarsResult<Filled> {
        let name = PlSmallStr::from_static(name);
        if self.list.is_empty() {
            let rows = self.numbers.len();
            return Ok(Filled::full_null(name, rows, &DataType::String));
        }
        let mut list = StringChunkedBuilder::new(name.clone(), self.list.len());
        self.list.iter().for_each(|text| list.append_value(text));
        let numbers = IdxCa::from_slice_options(name, &self.numbers);
        list.finish().into_column().take(&numbers)
    }
}

/// The rows with these numbers, in this order.
pub(super) fn in_order(frame: &DataFrame, rows: Vec<u32>) -> PolarsResult<DataFrame> {
    if rows.len() == frame.height() && rows.iter().copied().eq(0..rows.len() as u32) {
        return Ok(frame.clone());
    }
    frame.take(&IdxCa::from_vec(PlSmallStr::EMPTY, rows))
}
