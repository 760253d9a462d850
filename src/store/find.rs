//! The rows of a few traces in a part. Rows are in the order of trace ids, so only the row groups
//! are read that can have one of them, and of these only the pages between the first and the last
//! row that is asked for. What the footers of files say is kept for the files that were read last.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use polars::io::parquet::read::{FileMetadata, ParallelStrategy, ParquetReader};
use polars::prelude::{DataFrame, IdxCa, PlSmallStr, SerReader, StringChunked};

use super::error::StoreError;
use super::folder::hour_of;
use super::memory::Gone;
use super::merge::{complete, opened};
use super::parquet::guarded;
use super::parts::{Part, truncated};
use super::tables::{SpanRows, Table};
use crate::model::{Outcome, Span, SpanLog, TraceId, UnixNanos};

/// What a part has of a trace.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<SpanLog>,
    pub(super) revision: u32,
    /// Spans that were dropped because the trace is too large.
    pub(super) truncated: usize,
    /// Its requests.
    pub(super) requests: Gone,
}

impl Piece {
    /// Whether it is anything.
    pub(super) fn is_there(&self) -> bool {
        !self.spans.is_empty() || !self.requests.is_empty()
    }
}

/// Where in a file which ids are.
#[derive(Clone)]
pub(super) struct Footer {
    metadata: Arc<FileMetadata>,
    groups: Arc<[Group]>,
}

/// A row group.
struct Group {
    row: usize,
    rows: usize,
    /// Its first and last id; `None` if it does not say.
    ids: Option<(TraceId, TraceId)>,
}

impl std::fmt::Debug for Footer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Footer")
    }
}

/// The footers that were read last.
#[derive(Debug, Default)]
pub(super) struct Footers(Mutex<VecDeque<((String, Table), Footer)>>);

impl Footers {
    /// A large one takes a few MB.
    const REMEMBERED: usize = 32;

    fn get(&self, part: &Part, table: Table) -> Result<Footer, StoreError> {
        let is = |(id, of): &(String, Table)| *id == part.meta.id && *of == table;
        {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = known.iter().position(|(key, _)| is(key));
            if let Some(found) = place.and_then(|place| known.remove(place)) {
                let footer = found.1.clone();
                known.push_front(found);
                return Ok(footer);
            }
        }
        let footer = Footer::read(part, &part.files.path(table))?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_front(((part.meta.id.clone(), table), footer.clone()));
        known.truncate(Self::REMEMBERED);
        Ok(footer)
    }
}

impl Footer {
    fn read(part: &Part, path: &Path) -> Result<Self, StoreError> {
        let mut reader = ParquetReader::new(opened(part, path)?);
        let metadata = guarded(|| reader.get_metadata().cloned());
        let metadata = metadata.map_err(|error| StoreError::Engine(error.to_string()))?;
        let mut row = 0;
        let groups = metadata.row_groups.iter().map(|group| {
            let mut column = group.columns_under_root_iter("trace_id");
            let column = column.as_mut().and_then(Iterator::next);
            let statistics = column.and_then(|column| column.statistics(&metadata.footer_buf));
            let statistics = statistics.and_then(Result::ok);
            let ids = statistics.as_ref().and_then(|of| of.as_binary());
            let id = |text: &Option<Vec<u8>>| {
                let text = std::str::from_utf8(text.as_deref()?).ok()?;
                text.parse::<TraceId>().ok()
            };
            let ids = ids.and_then(|ids| Some((id(&ids.min_value)?, id(&ids.max_value)?)));
            let first = row;
            row += group.num_rows();
            Group {
                row: first,
                rows: group.num_rows(),
                ids,
            }
        });
        let groups = groups.collect();
        Ok(Self { metadata, groups })
    }

    fn rows(
        &self,
        file: File,
        path: &Path,
        (row, rows): (usize, usize),
        columns: Option<&[&str]>,
    ) -> Result<DataFrame, StoreError> {
        let columns = columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let mut reader = ParquetReader::new(file)
            .read_parallel(ParallelStrategy::None)
            .with_columns(columns)
            .with_slice(Some((row, rows)));
        reader.set_metadata(Arc::clone(&self.metadata));
        guarded(|| reader.finish()).map_err(|error| StoreError::Damaged {
            file: path.to_owned(),
            what: error.to_string(),
        })
    }
}

impl Part {
    /// The rows of these traces, which are in order, the superseded ones included; without
    /// `columns` all of the table's. `None` if there are none.
    pub(super) fn rows_of(
        &self,
        table: Table,
        ids: &[TraceId],
        columns: Option<&[&str]>,
    ) -> Result<Option<DataFrame>, StoreError> {
        let Some(path) = self.file(table)? else {
            return Ok(None);
        };
        let footer = self.files.footers().get(self, table)?;
        let mut found: Option<DataFrame> = None;
        for group in &*footer.groups {
            let wanted = match group.ids {
                Some((first, last)) => {
                    let from = ids.partition_point(|id| *id < first);
                    let to = ids.partition_point(|id| *id <= last);
                    ids.get(from..to).unwrap_or_default()
                }
                None => ids,
            };
            if wanted.is_empty() {
                continue;
            }
            let all = (group.row, group.rows);
            let names = Some(&["trace_id"][..]);
            let of_group = footer.rows(opened(self, &path)?, &path, all, names)?;
            let rows = places(of_group.column("trace_id")?.str()?, wanted);
            let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
                continue;
            };
            let (first, last) = (*first as usize, *last as usize);
            let slice = (group.row + first, last + 1 - first);
            let mut frame = footer.rows(opened(self, &path)?, &path, slice, columns)?;
            if columns.is_none() {
                frame = complete(table, &frame)?;
            }
            if rows.len() < frame.height() {
                let rows = rows.iter().map(|row| row - first as u32).collect();
                frame = frame.take(&IdxCa::from_vec(PlSmallStr::EMPTY, rows))?;
            }
            match &mut found {
                None => found = Some(frame),
                Some(found) => {
                    found.vstack_mut_owned(frame)?;
                }
            }
        }
        if let Some(found) = &mut found {
            found.rechunk_mut();
        }
        Ok(found)
    }

    /// Which of these traces, which are in order, it has, dead or alive, with their requests by
    /// the hour in which they start.
    pub(super) fn outcomes_of(
        &self,
        ids: &[TraceId],
    ) -> Result<BTreeMap<TraceId, Gone>, StoreError> {
        let mut found: BTreeMap<TraceId, Gone> = BTreeMap::new();
        let columns = ["trace_id", "start", "outcome"];
        if let Some(frame) = self.rows_of(Table::Requests, ids, Some(&columns))? {
            each_outcome(&frame, |id, hour, outcome| {
                let of = found.entry(id).or_default();
                of.entry(hour).or_default().add(outcome, 1);
            })?;
        }
        if self.meta.bare_traces > 0 {
            let others: Vec<TraceId> = ids
                .iter()
                .copied()
                .filter(|id| !found.contains_key(id))
                .collect();
            if let Some(frame) = self.rows_of(Table::Spans, &others, Some(&["trace_id"]))? {
                for id in frame.column("trace_id")?.str()?.iter().flatten() {
                    if let Ok(id) = id.parse() {
                        found.entry(id).or_default();
                    }
                }
            }
        }
        Ok(found)
    }

    /// What it has of these traces, which are in order.
    pub(super) fn pieces(&self, ids: &[TraceId]) -> Result<BTreeMap<TraceId, Piece>, StoreError> {
        let mut pieces: BTreeMap<TraceId, Piece> = BTreeMap::new();
        let columns = ["trace_id", "start", "outcome", "revision", "notes"];
        if let Some(frame) = self.rows_of(Table::Requests, ids, Some(&columns))? {
            each_outcome(&frame, |id, hour, outcome| {
                let requests = &mut pieces.entry(id).or_default().requests;
                requests.entry(hour).or_default().add(outcome, 1);
            })?;
            let ids = frame.column("trace_id")?.str()?.iter();
            let revisions = frame.column("revision")?.i64()?.iter();
            let notes = frame.column("notes")?.str()?.iter();
            for ((id, revision), notes) in ids.zip(revisions).zip(notes) {
                let Some(id) = id.and_then(|id| id.parse().ok()) else {
                    continue;
                };
                let piece = pieces.entry(id).or_default();
                piece.revision = piece.revision.max(revision.unwrap_or(0) as u32);
                piece.truncated = piece.truncated.max(notes.map_or(0, truncated));
            }
        }
        let known: Vec<TraceId> = pieces.keys().copied().collect();
        let with_spans = if self.meta.bare_traces > 0 {
            ids
        } else {
            &known
        };
        if let Some(frame) = self.rows_of(Table::Spans, with_spans, None)? {
            let read = SpanRows::default().read(&frame);
            let (spans, logs) = read.map_err(|error| StoreError::Damaged {
                file: self.files.path(Table::Spans),
                what: error.to_string(),
            })?;
            for span in spans {
                pieces.entry(span.trace_id).or_default().spans.push(span);
            }
            for log in logs {
                pieces.entry(log.trace_id).or_default().logs.push(log);
            }
        }
        Ok(pieces)
    }
}

/// The rows that have one of these ids; both are in order.
fn places(column: &StringChunked, ids: &[TraceId]) -> Vec<u32> {
    let mut rows = Vec::new();
    let at = |row: usize| column.get(row).unwrap_or_default();
    let mut from = 0;
    for id in ids {
        let id = id.to_string();
        let (mut low, mut high) = (from, column.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if at(middle) < id.as_str() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        while low < column.len() && at(low) == id {
            rows.push(low as u32);
            low += 1;
        }
        from = low;
    }
    rows
}

/// Calls with each request's trace, the hour in which it starts, and its outcome.
pub(super) fn each_outcome(
    frame: &DataFrame,
    mut take: impl FnMut(TraceId, u64, Outcome),
) -> Result<(), StoreError> {
    let ids = frame.column("trace_id")?.str()?.iter();
    let starts = frame.column("start")?.to_physical_repr();
    let outcomes = frame.column("outcome")?.str()?.iter();
    for ((id, start), outcome) in ids.zip(starts.i64()?.iter()).zip(outcomes) {
        let id = id.and_then(|id| id.parse().ok());
        let start = start.and_then(|start| u64::try_from(start).ok());
        let mut known = Outcome::ALL.into_iter();
        let outcome = known.find(|known| Some(known.as_str()) == outcome);
        if let (Some(id), Some(outcome)) = (id, outcome) {
            take(id, hour_of(UnixNanos(start.unwrap_or(0))), outcome);
        }
    }
    Ok(())
}

/// Ids in order, each once: what the look-ups here take.
pub(super) fn in_order(ids: impl IntoIterator<Item = TraceId>) -> Vec<TraceId> {
    ids.into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}
