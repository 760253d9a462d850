//! Writing. For a file that is whole or absent, write to a [`Whole`](crate::store::whole::Whole).

use std::io::{self, Write};
use std::sync::PoisonError;

use polars::io::parquet::write::BatchedWriter;
use polars::prelude::{
    DataFrame, KeyValueMetadata, ParquetCompression, ParquetWriter, PolarsError, PolarsResult,
    StatisticsOptions,
};
use polars_parquet::write::ZstdLevel;

use super::sum::{self, Summed};
use super::{FORMAT, FORMAT_KEY, TABLE_KEY, VERSION_KEY};
use crate::model::{Analysis, Trace};
use crate::store::tables::{Builder, Table, Wanted};

/// How rows become a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Encoding {
    /// Of zstd.
    level: i32,
    /// Whether columns are encoded in Polars' threads. Those of a server are for its queries, which
    /// would wait.
    parallel: bool,
}

impl Encoding {
    /// For parts that stay: about a third slower than [`FAST`](Self::FAST) in all, and smaller.
    pub(in crate::store) const SMALL: Self = Self {
        level: 3,
        parallel: false,
    };
    /// For parts that are soon merged.
    pub(in crate::store) const FAST: Self = Self {
        level: 1,
        parallel: false,
    };
    /// For files that a command writes.
    pub(super) const FILE: Self = Self {
        level: 3,
        parallel: true,
    };
}

/// About how many bytes of a column are one page; `None` is a megabyte. A reader passes over pages
/// of which it needs no row: of `spans` a look-up by id reads those that have the trace, of
/// `requests` a list those that have one of its rows, which can lie anywhere: to read 51 rows of
/// 1,000,000 took 2.3 times as long with large pages. The table is a twentieth larger for it.
fn page_of(table: Table) -> Option<usize> {
    match table {
        Table::Spans => Some(128 << 10),
        Table::Requests => Some(32 << 10),
        Table::Hops | Table::Calls | Table::Ledger | Table::Findings => None,
    }
}

/// Rows of a row group: small enough to hold a few in memory, large enough to compress well.
const GROUP: usize = 100_000;

/// Writes a table whole. Gives the writer back, flushed.
///
/// # Errors
/// What the writer says.
pub fn write<W: Write>(table: Table, frame: &DataFrame, to: W) -> io::Result<W> {
    let mut groups = Groups::begin(table, frame, to, Encoding::FILE).map_err(other)?;
    let mut row = 0;
    while row < frame.height() {
        let group = frame.slice(i64::try_from(row).unwrap_or(i64::MAX), GROUP);
        groups.add(&group).map_err(other)?;
        row += GROUP;
    }
    groups.finish()
}

/// Writes `spans` trace by trace, in about the memory of one row group.
#[derive(Debug)]
pub struct SpanWriter<W: Write> {
    groups: Groups<W>,
    builder: Builder,
    wanted: Wanted,
    rows: u64,
}

impl<W: Write> SpanWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// What the writer says.
    pub fn new(to: W) -> io::Result<Self> {
        let wanted = Wanted::tables([Table::Spans]);
        let empty = frame(Builder::new(&wanted)).map_err(other)?;
        Ok(Self {
            groups: Groups::begin(Table::Spans, &empty, to, Encoding::FILE).map_err(other)?,
            builder: Builder::new(&wanted),
            wanted,
            rows: 0,
        })
    }

    /// Adds the spans and the log records of a trace. With an analysis each row says to which hop
    /// of which request its span belongs.
    ///
    /// # Errors
    /// What the writer says.
    pub fn add(&mut self, trace: &Trace, analysis: Option<&Analysis>) -> io::Result<()> {
        let none = Analysis::default();
        self.builder.add(trace, analysis.unwrap_or(&none));
        self.rows += trace.spans.len() as u64;
        if self.builder.rows() >= GROUP {
            self.flush()?;
        }
        Ok(())
    }

    /// How many spans were added.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn flush(&mut self) -> io::Result<()> {
        let full = std::mem::replace(&mut self.builder, Builder::new(&self.wanted));
        let frame = frame(full).map_err(other)?;
        self.groups.add(&frame).map_err(other)
    }

    /// Ends the file and gives the writer back, flushed.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.groups.finish()
    }
}

fn frame(builder: Builder) -> PolarsResult<DataFrame> {
    let mut frames = builder.finish()?;
    Ok(frames.pop().map(|(_, frame)| frame).unwrap_or_default())
}

/// A file under way, row group by row group.
pub(in crate::store) struct Groups<W: Write> {
    writer: BatchedWriter<Summed<W>>,
    summed: Summed<W>,
    metadata: KeyValueMetadata,
}

impl<W: Write> std::fmt::Debug for Groups<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Groups")
    }
}

impl<W: Write> Groups<W> {
    /// Begins a file of a table whose frames are like this one.
    pub(in crate::store) fn begin(
        table: Table,
        like: &DataFrame,
        to: W,
        Encoding { level, parallel }: Encoding,
    ) -> PolarsResult<Self> {
        let summed = Summed::new(to);
        let writer = ParquetWriter::new(summed.clone())
            .with_compression(ParquetCompression::Zstd(Some(ZstdLevel::try_new(level)?)))
            .with_statistics(StatisticsOptions::default())
            .with_data_page_size(page_of(table))
            .set_parallel(parallel)
            .batched(like.schema())?;
        let metadata = KeyValueMetadata::from_static(vec![
            (FORMAT_KEY.to_owned(), FORMAT.to_string()),
            (VERSION_KEY.to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            (TABLE_KEY.to_owned(), table.to_string()),
            (sum::KEY.to_owned(), sum::placeholder()),
        ]);
        Ok(Self {
            writer,
            summed,
            metadata,
        })
    }

    /// The frame becomes one row group; an empty one becomes none.
    pub(in crate::store) fn add(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        let mut frame = frame.clone();
        frame.rechunk_mut();
        self.writer.write_batch(&frame)
    }

    /// Ends the file and gives the writer back.
    pub(in crate::store) fn finish(self) -> io::Result<W> {
        self.summed.begin_footer();
        let metadata = match self.metadata {
            KeyValueMetadata::Static(pairs) => Some(pairs),
            KeyValueMetadata::DynamicRust(_) => None,
        };
        let file = self.writer.get_writer();
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.end(metadata).map_err(other)?;
        let mut to = self.summed.finish()?;
        to.flush()?;
        Ok(to)
    }
}

/// The writer's own error, if it is behind what Polars says.
pub(in crate::store) fn other(error: PolarsError) -> io::Error {
    match error {
        PolarsError::IO { error, .. } => io::Error::new(error.kind(), error),
        error => io::Error::other(error.to_string()),
    }
}
