//! Merges the rows of one table of several parts, all in the order of trace ids, in the memory of
//! a few row groups.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use polars::io::parquet::read::{FileMetadata, ParallelStrategy, ParquetReader};
use polars::prelude::{BooleanChunked, DataFrame, PolarsResult, SerReader, SortMultipleOptions};
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use super::error::StoreError;
use super::parquet::guarded;
use super::parts::{Part, schema};
use super::tables::Table;
use super::write::PartWriter;
use crate::model::TraceId;

/// Hands the live rows of all parts to the writer, in order.
pub(super) fn merge(
    table: Table,
    parts: &[Arc<Part>],
    writer: &mut PartWriter<'_>,
) -> Result<(), StoreError> {
    let mut cursors = Vec::new();
    for part in parts {
        if let Some(cursor) = Cursor::open(table, part, part.dead.ids())? {
            cursors.push(cursor);
        }
    }
    loop {
        for cursor in &mut cursors {
            while cursor.rows.height() == 0 && cursor.more() {
                cursor.read()?;
            }
        }
        cursors.retain(|cursor| cursor.rows.height() > 0);
        if cursors.is_empty() {
            return Ok(());
        }
        // Up to there every cursor has all rows; of the trace at the limit more may come.
        let mut limit: Option<String> = None;
        for cursor in cursors.iter().filter(|cursor| cursor.more()) {
            let last = cursor.last()?;
            if limit.as_deref().is_none_or(|limit| last < limit) {
                limit = Some(last.to_owned());
            }
        }
        let mut pieces = Vec::new();
        for cursor in &mut cursors {
            let piece = cursor.take_below(limit.as_deref())?;
            if piece.height() > 0 {
                pieces.push(piece);
            }
        }
        if pieces.is_empty() {
            // A trace that is larger than a row group.
            let stuck = cursors.iter_mut().filter(|cursor| cursor.more());
            for cursor in stuck {
                if Some(cursor.last()?) == limit.as_deref() {
                    cursor.read()?;
                }
            }
            continue;
        }
        let several = pieces.len() > 1;
        let mut pieces = pieces.into_iter();
        let mut all = pieces.next().unwrap_or_default();
        for piece in pieces {
            all.vstack_mut(&piece)?;
        }
        if several {
            let stable = SortMultipleOptions::default().with_maintain_order(true);
            all = all.sort(["trace_id"], stable)?;
        }
        writer.add_frame(table, all)?;
    }
}

/// Reads a part's rows of a table, row group by row group.
pub(super) struct Cursor {
    table: Table,
    part: Arc<Part>,
    metadata: Arc<FileMetadata>,
    group: usize,
    row: usize,
    dead: HashSet<String, Xxh3DefaultBuilder>,
    /// Live rows that were read and not taken.
    rows: DataFrame,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursor")
    }
}

impl Cursor {
    /// Begins with the first row; those of the traces that are `gone` are left out.
    pub(super) fn open(
        table: Table,
        part: &Arc<Part>,
        gone: &[TraceId],
    ) -> Result<Option<Self>, StoreError> {
        let Some(path) = part.file(table)? else {
            return Ok(None);
        };
        let file = opened(part, &path).map_err(|error| part.or_gone(error))?;
        let mut reader = ParquetReader::new(file);
        let metadata = guarded(|| reader.get_metadata().cloned());
        let metadata = metadata.map_err(|error| StoreError::Engine(error.to_string()))?;
        Ok(Some(Self {
            table,
            part: Arc::clone(part),
            metadata,
            group: 0,
            row: 0,
            dead: gone.iter().map(ToString::to_string).collect(),
            rows: DataFrame::default(),
        }))
    }

    /// Whether there are row groups that were not read.
    pub(super) fn more(&self) -> bool {
        self.group < self.metadata.row_groups.len()
    }

    /// Reads one more row group.
    pub(super) fn read(&mut self) -> Result<(), StoreError> {
        let Some(group) = self.metadata.row_groups.get(self.group) else {
            return Ok(());
        };
        let height = group.num_rows();
        let path = self.part.files.path(self.table);
        let file = opened(&self.part, &path).map_err(|error| self.part.or_gone(error))?;
        let mut reader = ParquetReader::new(file)
            .read_parallel(ParallelStrategy::None)
            .with_slice(Some((self.row, height)));
        reader.set_metadata(Arc::clone(&self.metadata));
        let frame = guarded(|| reader.finish()).map_err(|error| StoreError::Damaged {
            file: path,
            what: error.to_string(),
        })?;
        self.group += 1;
        self.row += height;
        let frame = self.live(complete(self.table, &frame)?)?;
        if self.rows.height() == 0 {
            self.rows = frame;
        } else {
            self.rows.vstack_mut(&frame)?;
        }
        self.rows.rechunk_mut();
        Ok(())
    }

    fn live(&self, frame: DataFrame) -> PolarsResult<DataFrame> {
        if self.dead.is_empty() {
            return Ok(frame);
        }
        let ids = frame.column("trace_id")?.str()?.iter();
        let live = ids.map(|id| id.is_none_or(|id| !self.dead.contains(id)));
        frame.filter(&live.collect::<BooleanChunked>())
    }

    /// The greatest id that was read and not taken.
    fn last(&self) -> PolarsResult<&str> {
        let ids = self.rows.column("trace_id")?.str()?;
        Ok(ids
            .get(self.rows.height().saturating_sub(1))
            .unwrap_or_default())
    }

    /// Takes the rows whose ids are less; without a limit all.
    pub(super) fn take_below(&mut self, limit: Option<&str>) -> PolarsResult<DataFrame> {
        let Some(limit) = limit else {
            return Ok(std::mem::take(&mut self.rows));
        };
        let ids = self.rows.column("trace_id")?.str()?;
        let (mut low, mut high) = (0, self.rows.height());
        while low < high {
            let middle = usize::midpoint(low, high);
            if ids.get(middle).is_some_and(|id| id < limit) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let taken = self.rows.slice(0, low);
        self.rows = self.rows.slice(low as i64, self.rows.height() - low);
        Ok(taken)
    }
}

pub(super) fn opened(part: &Part, path: &Path) -> Result<File, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path));
    file.map_err(|error| part.files.explain(error))
}

/// With columns that came after the part was written, null.
pub(super) fn complete(table: Table, frame: &DataFrame) -> PolarsResult<DataFrame> {
    let schema = schema(table)?;
    let mut columns = Vec::with_capacity(schema.len());
    for (name, dtype) in schema.iter() {
        columns.push(match frame.column(name) {
            Ok(column) => column.clone(),
            Err(_) => polars::prelude::Column::full_null(name.clone(), frame.height(), dtype),
        });
    }
    DataFrame::new(frame.height(), columns)
}
