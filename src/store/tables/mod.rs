//! The tables that people ask in SQL and that Parquet files hold: `requests`, `hops`, `calls`,
//! `ledger`, `findings` and `spans`.
//!
//! Each column is defined once, in the module of its table: name, type, what it means, and how
//! its value is taken from a request or a span. From that come the builders here, the frames, the
//! Parquet files and the documentation that `dwindle sql --schema` prints.
//!
//! | type | in Parquet | what it is |
//! |---|---|---|
//! | [`Type::Id`] | `STRING` | lower-case hex digits |
//! | [`Type::Text`], [`Type::Json`] | `STRING` | text, JSON text |
//! | [`Type::Ms`] | `DOUBLE` | milliseconds |
//! | [`Type::Share`] | `DOUBLE` | a part of a whole, 0 to 1 |
//! | [`Type::Count`], [`Type::Number`] | `INT64` | how many, which one |
//! | [`Type::Flag`] | `BOOLEAN` | |
//! | [`Type::Time`] | `TIMESTAMP(NANOS)` | UTC |
//!
//! **Durations** are milliseconds as doubles and not rounded, because people write
//! `elapsed_ms > 200`. A double holds every whole nanosecond up to 2⁵³, and its quotient by a
//! million, times a million and rounded, is that nanosecond again for every duration up to 2⁵¹ ns
//! (26 days), so the tables are as exact as the program ([`nanos`]). What prints them rounds to
//! three decimals, like everything else that shows times.
//!
//! **Instants** carry no zone in their type, and are UTC: engines then compare them with plain
//! literals (`start >= '2026-10-07 09:15:00'`). What lies beyond the year 2262, where 64-bit
//! nanoseconds end, is held at that end.
//!
//! **Names** are the keys of the JSON output, with `_` where JSON nests (`culprit_service`).

mod calls;
mod columns;
mod exact;
mod findings;
mod hops;
mod ledger;
mod requests;
mod spans;
mod texts;

use std::collections::BTreeSet;
use std::fmt;

use polars::prelude::{DataFrame, PolarsResult};

use crate::model::{Analysis, Nanos, Request, Trace};

use columns::Rows;
pub use columns::{Column, Type};
pub(super) use spans::{ReadError, SpanRows};

/// One of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One row per request.
    Requests,
    /// One row per hop of a request.
    Hops,
    /// One row per outbound call of a hop.
    Calls,
    /// Where the time of each request went.
    Ledger,
    /// What is wrong.
    Findings,
    /// The spans as they came.
    Spans,
}

impl Table {
    /// Every table, the most asked first.
    pub const ALL: [Self; 6] = [
        Self::Requests,
        Self::Hops,
        Self::Calls,
        Self::Ledger,
        Self::Findings,
        Self::Spans,
    ];

    /// Its name in SQL and in folders.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Hops => "hops",
            Self::Calls => "calls",
            Self::Ledger => "ledger",
            Self::Findings => "findings",
            Self::Spans => "spans",
        }
    }

    /// The table of that name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.as_str() == name)
    }

    /// What a row is.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Requests => "One row per request: a root of a trace and all that it waits for.",
            Self::Hops => "One row per hop: a service that handles one inbound request.",
            Self::Calls => "One row per outbound attempt of a hop.",
            Self::Ledger => {
                "Where the elapsed time went: the rows of a request sum to its elapsed_ms."
            }
            Self::Findings => "What is wrong: one row per request, rule, service and callee.",
            Self::Spans => "The spans as they came, copies included: all that OTLP holds.",
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Requests => requests::COLUMNS,
            Self::Hops => hops::COLUMNS,
            Self::Calls => calls::COLUMNS,
            Self::Ledger => ledger::COLUMNS,
            Self::Findings => findings::COLUMNS,
            Self::Spans => spans::COLUMNS,
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which tables and columns to build. The others cost nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    tables: BTreeSet<Table>,
    /// Columns by name, of whichever table; `None` for all.
    columns: Option<BTreeSet<String>>,
}

impl Wanted {
    /// Whole tables.
    pub fn tables(tables: impl IntoIterator<Item = Table>) -> Self {
        Self {
            tables: tables.into_iter().collect(),
            columns: None,
        }
    }

    /// Only columns with these names. Names that no table has are ignored.
    #[must_use]
    pub fn only_columns(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.columns = Some(names.into_iter().collect());
        self
    }

    /// The tables, in order.
    pub fn each(&self) -> impl Iterator<Item = Table> {
        self.tables.iter().copied()
    }

    /// Whether the column is built. The first always is, so that rows can be counted.
    fn has(&self, index: usize, column: &Column) -> bool {
        let named = |names: &BTreeSet<String>| names.contains(column.name);
        index == 0 || self.columns.as_ref().is_none_or(named)
    }
}

/// Rows of the wanted tables, growing column by column.
#[derive(Debug)]
pub struct Builder {
    tables: Vec<(Table, Rows)>,
    resources: spans::Resources,
}

/// The rows that one trace added to a [`Builder`]: for each table the first and the one after the
/// last.
#[derive(Debug, Clone, Default)]
pub struct Added(Vec<(u32, u32)>);

impl Added {
    /// How many rows these are, of all tables.
    pub fn rows(&self) -> usize {
        let rows = self.0.iter().map(|(first, end)| end.saturating_sub(*first));
        rows.map(|rows| rows as usize).sum()
    }
}

impl Added {
    /// How many spans, if spans are built.
    pub fn spans(&self) -> usize {
        // They are the last table.
        self.0
            .last()
            .map_or(0, |(first, end)| (end - first) as usize)
    }
}

impl Builder {
    /// No rows yet.
    pub fn new(wanted: &Wanted) -> Self {
        let rows = |table: Table| {
            let columns = table.columns().iter().enumerate();
            let wanted = columns.map(|(index, column)| (column, wanted.has(index, column)));
            (table, Rows::new(wanted))
        };
        Self {
            tables: wanted.each().map(rows).collect(),
            resources: spans::Resources::default(),
        }
    }

    /// Adds the rows of a trace: requests by start, within a request by hop, spans as they stand.
    pub fn add(&mut self, trace: &Trace, analysis: &Analysis) -> Added {
        self.add_some(trace, analysis, None)
    }

    /// Adds the rows of those requests of a trace that `which` takes, and the spans that belong to
    /// them; without it all, spans that belong to no request included.
    pub fn add_some(
        &mut self,
        trace: &Trace,
        analysis: &Analysis,
        which: Option<&(dyn Fn(&Request) -> bool + Sync)>,
    ) -> Added {
        self.add_part(trace, analysis, which, which.is_none())
    }

    /// The same, and with `rest` the spans that belong to no request at all.
    pub(in crate::store) fn add_part(
        &mut self,
        trace: &Trace,
        analysis: &Analysis,
        which: Option<&(dyn Fn(&Request) -> bool + Sync)>,
        rest: bool,
    ) -> Added {
        let requests = analysis.requests.iter();
        let (requests, others): (Vec<&Request>, Vec<&Request>) =
            requests.partition(|request| which.is_none_or(|which| which(request)));
        let mut added = Vec::with_capacity(self.tables.len());
        for (table, rows) in &mut self.tables {
            let first = rows.len();
            match table {
                Table::Spans => {
                    spans::add(rows, trace, &requests, &others, rest, &mut self.resources);
                }
                _ => requests
                    .iter()
                    .for_each(|request| push(*table, rows, request)),
            }
            added.push((first as u32, rows.len() as u32));
        }
        Added(added)
    }

    /// How many rows the largest table has.
    pub fn rows(&self) -> usize {
        let rows = self.tables.iter().map(|(_, rows)| rows.len());
        rows.max().unwrap_or(0)
    }

    /// The frames.
    pub fn finish(self) -> PolarsResult<Vec<(Table, DataFrame)>> {
        let tables = self.tables.into_iter();
        tables
            .map(|(table, rows)| Ok((table, rows.finish()?)))
            .collect()
    }
}

/// Adds a request's rows to a table that has some of each.
fn push(table: Table, rows: &mut Rows, request: &Request) {
    match table {
        Table::Requests => requests::push(rows, request),
        Table::Hops => {
            for hop in &request.hops {
                hops::push(rows, request, hop);
            }
        }
        Table::Calls => {
            for hop in &request.hops {
                for call in &hop.calls {
                    calls::push(rows, request, hop, call);
                }
            }
        }
        Table::Ledger => {
            for row in &request.ledger {
                ledger::push(rows, request, row);
            }
        }
        Table::Findings => {
            for finding in &request.findings {
                findings::push(rows, request, finding);
            }
        }
        Table::Spans => {}
    }
}

/// Joins what several builders of the same tables hold. `order` says for each trace which builder
/// took it and which rows it added: the frames have the traces in that order, whichever builder
/// took which.
pub fn join(
    wanted: &Wanted,
    builders: Vec<Builder>,
    order: &[(usize, Added)],
) -> PolarsResult<Vec<(Table, DataFrame)>> {
    let mut offsets: Vec<Vec<u32>> = Vec::with_capacity(builders.len());
    let mut heights = vec![0_u32; wanted.each().count()];
    let mut joined: Option<Vec<(Table, DataFrame)>> = None;
    for builder in builders {
        offsets.push(heights.clone());
        let frames = builder.finish()?;
        for (height, (_, frame)) in heights.iter_mut().zip(&frames) {
            *height += frame.height() as u32;
        }
        match &mut joined {
            None => joined = Some(frames),
            Some(joined) => {
                for ((_, all), (_, frame)) in joined.iter_mut().zip(frames) {
                    all.vstack_mut(&frame)?;
                }
            }
        }
    }
    let Some(joined) = joined else {
        return Builder::new(wanted).finish();
    };
    let place = |(index, (table, frame)): (usize, (Table, DataFrame))| {
        let rows = order.iter().flat_map(|(builder, Added(added))| {
            let offset = offsets.get(*builder).and_then(|offsets| offsets.get(index));
            let offset = offset.copied().unwrap_or(0);
            let (first, end) = added.get(index).copied().unwrap_or((0, 0));
            first + offset..end + offset
        });
        Ok((table, columns::in_order(&frame, rows.collect())?))
    };
    joined.into_iter().enumerate().map(place).collect()
}

/// The nanoseconds of a duration column.
pub fn nanos(ms: f64) -> Nanos {
    Nanos((ms * 1e6).round() as i64)
}
