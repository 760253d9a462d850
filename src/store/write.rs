//! Writes a part: up to six Parquet files of one hour, sorted by trace id, and the filter over
//! its ids.

use std::fs;
use std::path::PathBuf;

use polars::prelude::{DataFrame, PolarsResult};

use super::count::Outcomes;
use super::durable::Durable;
use super::error::StoreError;
use super::folder::{Folder, make_folder_for};
use super::index::{Dead, Filter};
use super::manifest::{DeadMeta, PartMeta, TableMeta};
use super::options::{Probe, Step};
use super::parquet::{Encoding, Groups, other};
use super::tables::{Builder, Table, Wanted};
use super::whole::{Existing, Whole};
use crate::model::{Analysis, Outcome, Request, Trace, TraceId};

/// Rows of a row group of `spans`: few, since a look-up by id reads one whole.
const SPANS: usize = 16_384;
/// Of the other tables: many, since aggregates read them all.
const OTHERS: usize = 65_536;

pub(super) fn group_of(table: Table) -> usize {
    if table == Table::Spans { SPANS } else { OTHERS }
}

/// A part under way. What it has written is removed again when it is dropped.
#[derive(Debug)]
pub(super) struct PartWriter<'a> {
    folder: &'a Folder,
    probe: &'a Probe,
    tables: Vec<TableWriter>,
    meta: PartMeta,
    /// By `requests`, then by `spans`.
    ids: [Vec<TraceId>; 2],
    split: Vec<TraceId>,
}

#[derive(Debug)]
struct TableWriter {
    table: Table,
    path: PathBuf,
    builder: Builder,
    /// Rows that wait until they fill a row group.
    waiting: Vec<DataFrame>,
    waiting_rows: usize,
    groups: Option<Groups<Whole>>,
    rows: u64,
    encoding: Encoding,
}

/// A part that is written and not yet in the manifest. Its files are removed when it is dropped
/// before [`NewPart::keep`].
#[derive(Debug)]
pub(super) struct NewPart {
    pub(super) meta: PartMeta,
    pub(super) filter: Option<Filter>,
    files: Vec<PathBuf>,
    probe: Probe,
}

impl NewPart {
    /// It is in the manifest.
    pub(super) fn keep(mut self) {
        self.files.clear();
    }
}

impl NewPart {
    /// Writes the list of its traces that are superseded already.
    pub(super) fn add_dead(
        &mut self,
        folder: &Folder,
        dead: &Dead,
        requests: Outcomes,
    ) -> Result<(), StoreError> {
        let file = format!("{}-0.dead", self.meta.id);
        let path = folder.dead(&file);
        self.probe.at(Step::Dead, &path)?;
        self.files.push(path.clone());
        dead.save(&path).map_err(StoreError::io(&path))?;
        self.meta.dead = Some(DeadMeta {
            file,
            traces: dead.ids().len() as u64,
            requests,
        });
        Ok(())
    }
}

impl Drop for NewPart {
    fn drop(&mut self) {
        if !self.probe.is_dead() {
            for file in &self.files {
                // What stays is removed at the next opening.
                fs::remove_file(file).ok();
            }
        }
    }
}

impl<'a> PartWriter<'a> {
    /// How it is encoded depends on how long it stays.
    pub(super) fn new(durable: &'a Durable, hour: u64, id: &str, encoding: Encoding) -> Self {
        let (folder, probe) = (&durable.folder, &durable.options.probe);
        let table = |table| TableWriter {
            table,
            path: folder.table(table, hour, id),
            builder: Builder::new(&Wanted::tables([table])),
            waiting: Vec::new(),
            waiting_rows: 0,
            groups: None,
            rows: 0,
            encoding,
        };
        Self {
            folder,
            probe,
            tables: Table::ALL.map(table).into(),
            meta: PartMeta::new(id.to_owned(), hour),
            ids: [Vec::new(), Vec::new()],
            split: Vec::new(),
        }
    }

    /// Adds a trace, or with `which` a part of it; ids must come in order. `rest` adds the spans
    /// that belong to no request.
    pub(super) fn add(
        &mut self,
        trace: &Trace,
        analysis: &Analysis,
        which: Option<&(dyn Fn(&Request) -> bool + Sync)>,
        rest: bool,
    ) -> Result<(), StoreError> {
        if which.is_some() {
            self.split.push(trace.id);
        }
        for index in 0..self.tables.len() {
            let Some(table) = self.tables.get_mut(index) else {
                break;
            };
            table.builder.add_part(trace, analysis, which, rest);
            if table.builder.rows() >= group_of(table.table) {
                self.take_built(index)?;
            }
        }
        Ok(())
    }

    /// Adds rows of a table; ids must come in order.
    pub(super) fn add_frame(&mut self, table: Table, frame: DataFrame) -> Result<(), StoreError> {
        let index = Table::ALL.iter().position(|known| *known == table);
        match index {
            Some(index) => self.take(index, frame),
            None => Ok(()),
        }
    }

    /// Of these traces other parts have rows too.
    pub(super) fn add_split(&mut self, ids: &[TraceId]) {
        self.split.extend(ids);
    }

    /// Ends the files and gives them their names.
    pub(super) fn finish(mut self) -> Result<NewPart, StoreError> {
        for index in 0..self.tables.len() {
            self.take_built(index)?;
        }
        let mut part = NewPart {
            meta: self.meta,
            filter: None,
            files: Vec::new(),
            probe: self.probe.clone(),
        };
        for table in &mut self.tables {
            let Some(groups) = table.end()? else {
                continue;
            };
            let failed = StoreError::io(&table.path);
            self.probe.at(Step::Table(table.table), &table.path)?;
            let file = groups.finish().map_err(StoreError::io(&table.path))?;
            part.files.push(table.path.clone());
            file.finish().map_err(failed)?;
            let bytes = fs::metadata(&table.path).map_err(StoreError::io(&table.path))?;
            let rows = table.rows;
            let meta = TableMeta {
                rows,
                bytes: bytes.len(),
            };
            part.meta.tables.insert(table.table.to_string(), meta);
        }
        let [mut ids, others] = self.ids;
        let with_requests = ids.len() as u64;
        ids.extend(others);
        ids.sort_unstable();
        ids.dedup();
        part.meta.traces = ids.len() as u64;
        part.meta.bare_traces = part.meta.traces - with_requests;
        if part.meta.min_start > part.meta.max_start {
            part.meta.min_start = part.meta.first;
            part.meta.max_start = part.meta.first;
        }
        self.split.retain(|id| ids.binary_search(id).is_ok());
        let filter = Filter::of(&ids, self.split);
        let path = self.folder.filter(&part.meta.id);
        self.probe.at(Step::Filter, &path)?;
        let make = |path: &PathBuf| {
            make_folder_for(path)?;
            filter.save(path)
        };
        part.files.push(path.clone());
        make(&path).map_err(StoreError::io(&path))?;
        part.filter = Some(filter);
        Ok(part)
    }

    fn take_built(&mut self, index: usize) -> Result<(), StoreError> {
        let Some(table) = self.tables.get_mut(index) else {
            return Ok(());
        };
        let empty = Builder::new(&Wanted::tables([table.table]));
        let full = std::mem::replace(&mut table.builder, empty);
        let frames = full.finish()?;
        for (_, frame) in frames {
            self.take(index, frame)?;
        }
        Ok(())
    }

    fn take(&mut self, index: usize, frame: DataFrame) -> Result<(), StoreError> {
        let Some(table) = self.tables.get_mut(index) else {
            return Ok(());
        };
        if frame.height() == 0 {
            return Ok(());
        }
        match table.table {
            Table::Requests => observe_requests(&mut self.meta, &mut self.ids[0], &frame)?,
            Table::Spans => observe_spans(&mut self.meta, &mut self.ids[1], &frame)?,
            _ => {}
        }
        table.waiting_rows += frame.height();
        table.waiting.push(frame);
        if table.waiting_rows >= group_of(table.table) {
            table.write()?;
        }
        Ok(())
    }
}

impl TableWriter {
    /// Writes what waits, in row groups.
    fn write(&mut self) -> Result<(), StoreError> {
        let mut waiting = std::mem::take(&mut self.waiting).into_iter();
        self.waiting_rows = 0;
        let Some(mut all) = waiting.next() else {
            return Ok(());
        };
        for frame in waiting {
            all.vstack_mut(&frame)?;
        }
        let mut groups = match self.groups.take() {
            Some(groups) => groups,
            None => self.begin(&all).map_err(StoreError::io(&self.path))?,
        };
        let mut row = 0;
        while row < all.height() {
            let group = all.slice(row as i64, group_of(self.table));
            groups
                .add(&group)
                .map_err(other)
                .map_err(StoreError::io(&self.path))?;
            row += group.height();
        }
        self.rows += all.height() as u64;
        self.groups = Some(groups);
        Ok(())
    }

    fn begin(&self, like: &DataFrame) -> std::io::Result<Groups<Whole>> {
        make_folder_for(&self.path)?;
        let file = Whole::create(&self.path, Existing::Replace)?;
        Groups::begin(self.table, like, file, self.encoding).map_err(other)
    }

    /// The file with all rows in it; `None` if there is no row.
    fn end(&mut self) -> Result<Option<Groups<Whole>>, StoreError> {
        self.write()?;
        Ok(self.groups.take())
    }
}

fn observe_requests(
    meta: &mut PartMeta,
    ids: &mut Vec<TraceId>,
    frame: &DataFrame,
) -> PolarsResult<()> {
    add_ids(ids, frame)?;
    for outcome in frame.column("outcome")?.str()?.iter().flatten() {
        let known = Outcome::ALL
            .into_iter()
            .find(|known| known.as_str() == outcome);
        if let Some(known) = known {
            meta.requests.add(known, 1);
        }
    }
    let (least, greatest) = range(frame, "start", "start")?;
    meta.min_start = meta.min_start.min(least);
    meta.max_start = meta.max_start.max(greatest);
    Ok(())
}

fn observe_spans(
    meta: &mut PartMeta,
    ids: &mut Vec<TraceId>,
    frame: &DataFrame,
) -> PolarsResult<()> {
    add_ids(ids, frame)?;
    let (first, last) = range(frame, "start", "end_time")?;
    meta.first = meta.first.min(first);
    meta.last = meta.last.max(last);
    Ok(())
}

fn add_ids(ids: &mut Vec<TraceId>, frame: &DataFrame) -> PolarsResult<()> {
    let mut last: Option<&str> = None;
    for text in frame.column("trace_id")?.str()?.iter().flatten() {
        if last == Some(text) {
            continue;
        }
        last = Some(text);
        if let Ok(id) = text.parse()
            && ids.last() != Some(&id)
        {
            ids.push(id);
        }
    }
    Ok(())
}

fn range(frame: &DataFrame, least: &str, greatest: &str) -> PolarsResult<(u64, u64)> {
    let first = frame.column(least)?.to_physical_repr();
    let last = frame.column(greatest)?.to_physical_repr();
    let first = first.i64()?.iter().flatten().min().unwrap_or(i64::MAX);
    let last = last.i64()?.iter().flatten().max().unwrap_or(0);
    Ok((first.max(0) as u64, last.max(0) as u64))
}
