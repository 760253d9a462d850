//! Parts, and reading them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use polars::prelude::{
    DataFrame, Engine, IntoLazy, JoinArgs, JoinType, LazyFrame, MaintainOrderJoin, PlRefPath,
    PolarsResult, ScanArgsParquet, Schema, SchemaRef, col,
};

use super::error::StoreError;
use super::find::{Footers, each_outcome};
use super::folder::{Folder, hour_of};
use super::index::{Dead, Filter, frame_of, hash};
use super::manifest::{Manifest, PartMeta};
use super::memory::Gone;
use super::parquet::{self, FileError, guarded};
use super::share::CLAMP;
use super::tables::{Builder, Table, Wanted};
use crate::model::{Nanos, Note, Trace, TraceId, UnixNanos};

/// Spans of one trace id that lie further apart than this from all that a part holds are not of
/// the same trace state: nobody looks for them there.
const REACH: Nanos = Nanos::from_secs(3600);

/// The first start and the last end of some spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    first: UnixNanos,
    last: UnixNanos,
}

impl Reach {
    pub(super) fn new(first: UnixNanos, last: UnixNanos) -> Self {
        // What lies beyond the year 2262 is held at that end, as what the manifest says of parts.
        let held = |at: UnixNanos| at.min(UnixNanos(i64::MAX as u64));
        Self {
            first: held(first),
            last: held(first.max(last)),
        }
    }

    /// The least that has both.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    pub(super) fn of(trace: &Trace) -> Self {
        let first = trace.spans.iter().map(|span| span.start).min();
        let last = trace
            .spans
            .iter()
            .map(|span| span.end.max(span.start))
            .max();
        Self::new(first.unwrap_or_default(), last.unwrap_or_default())
    }
}

/// A part as of one commit.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) meta: PartMeta,
    pub(super) dead: Dead,
    /// Why that is not known: then none of its rows is read.
    pub(super) lost: Option<Fault>,
    /// Shared with the same part of other commits.
    pub(super) files: Arc<Files>,
    /// Its live requests by hour, once they were read.
    hours: OnceLock<Gone>,
}

/// The files of a part: none changes ever.
#[derive(Debug)]
pub(super) struct Files {
    folder: Folder,
    id: String,
    hour: u64,
    filter: OnceLock<Filter>,
    /// Files that were looked at, and what is wrong with them.
    checked: Mutex<BTreeMap<Table, Option<Fault>>>,
    /// Held by whoever looks at one for the first time, which may take long.
    checking: Mutex<()>,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) file: PathBuf,
    pub(super) what: String,
    pub(super) missing: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.what)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        Self::Damaged {
            file: fault.file,
            what: fault.what,
        }
    }
}

impl Files {
    /// With `filter` and without a look: just written.
    pub(super) fn new(folder: &Folder, meta: &PartMeta, filter: Option<Filter>) -> Self {
        let fresh = filter.is_some();
        let checked = Table::ALL.into_iter().filter(|_| fresh);
        Self {
            folder: folder.clone(),
            id: meta.id.clone(),
            hour: meta.hour,
            filter: filter.map_or_else(OnceLock::new, OnceLock::from),
            checked: Mutex::new(checked.map(|table| (table, None)).collect()),
            checking: Mutex::new(()),
        }
    }

    pub(super) fn path(&self, table: Table) -> PathBuf {
        self.folder.table(table, self.hour, &self.id)
    }

    pub(super) fn hour(&self) -> u64 {
        self.hour
    }

    pub(super) fn footers(&self) -> &Footers {
        self.folder.footers()
    }

    pub(super) fn filter_path(&self) -> PathBuf {
        self.folder.filter(&self.id)
    }

    pub(super) fn summary_path(&self) -> PathBuf {
        self.folder.summary(&self.id)
    }

    /// Whether nothing may be written beside it.
    pub(super) fn is_of_another(&self) -> bool {
        self.folder.is_of_another()
    }

    fn checked(&self) -> MutexGuard<'_, BTreeMap<Table, Option<Fault>>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn faults(&self) -> Vec<Fault> {
        self.checked().values().flatten().cloned().collect()
    }

    /// Whether another process has merged or removed the part since the manifest was read.
    pub(super) fn have_left(&self) -> bool {
        // What cannot be read says nothing.
        let manifest = || Manifest::load(&self.folder).ok().flatten();
        let names = |manifest: Manifest| manifest.parts.iter().any(|part| part.id == self.id);
        self.folder.is_of_another() && manifest().is_some_and(|manifest| !names(manifest))
    }

    /// What an error over its files means.
    pub(super) fn explain(&self, error: StoreError) -> StoreError {
        if self.have_left() {
            StoreError::Changed
        } else {
            error
        }
    }

    /// Forgets what was found, so that files that were put back are read again.
    pub(super) fn look_again(&self) {
        self.checked().retain(|_, fault| fault.is_none());
    }
}

impl Part {
    pub(super) fn new(meta: PartMeta, dead: Dead, lost: Option<Fault>, files: Arc<Files>) -> Self {
        Self {
            meta,
            dead,
            lost,
            files,
            hours: OnceLock::new(),
        }
    }

    /// Its live requests by the hour in which they start. Opens a file only for those that start
    /// at no plausible time, and only once.
    pub(super) fn live_hours(&self) -> Gone {
        let hour_of = |at: u64| hour_of(UnixNanos(at));
        let first = hour_of(self.meta.min_start);
        let as_one = |hour| Gone::from([(hour, self.meta.live_requests())]);
        if self.meta.hour != CLAMP {
            return as_one(self.meta.hour);
        }
        if first == hour_of(self.meta.max_start) {
            return as_one(first);
        }
        if let Some(hours) = self.hours.get() {
            return hours.clone();
        }
        match self.read_hours() {
            Ok(hours) => self.hours.get_or_init(|| hours).clone(),
            Err(error) => {
                tracing::warn!(%error, "the hours of a part cannot be told");
                as_one(first)
            }
        }
    }

    fn read_hours(&self) -> Result<Gone, StoreError> {
        let mut hours = Gone::new();
        let Some(rows) = self.scan(Table::Requests)? else {
            return Ok(hours);
        };
        let frame = self.collect(rows.select([col("trace_id"), col("start"), col("outcome")]))?;
        each_outcome(&frame, |id, hour, outcome| {
            if !self.dead.has(id) {
                hours.entry(hour).or_default().add(outcome, 1);
            }
        })?;
        Ok(hours)
    }

    /// Whether spans within this reach may belong to traces of this part.
    pub(super) fn reaches(&self, reach: Reach) -> bool {
        let first = UnixNanos(self.meta.first).shifted(-REACH);
        let last = UnixNanos(self.meta.last).shifted(REACH);
        first <= reach.last && reach.first <= last
    }

    /// The file of a table, looked at when it is first used: all of it is summed once, so that
    /// what was damaged on the disk is never taken for data. `None` if it has no rows.
    pub(super) fn file(&self, table: Table) -> Result<Option<PathBuf>, StoreError> {
        let Some(meta) = self.meta.table(table) else {
            return Ok(None);
        };
        if let Some(lost) = &self.lost {
            return Err(lost.clone().into());
        }
        let path = self.files.path(table);
        if let Some(known) = self.known_of(table, &path) {
            return known.map(Some);
        }
        let checking = self.files.checking.lock();
        let _checking = checking.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known_of(table, &path) {
            return known.map(Some);
        }
        let look = || {
            let file = File::open(&path)?;
            if file.metadata()?.len() != meta.bytes {
                return Err(FileError::CutOff);
            }
            parquet::check(file, table)
        };
        let found = match look() {
            Ok((rows, _)) if rows == meta.rows => None,
            Ok((rows, _)) => Some(format!("has {rows} rows instead of {}", meta.rows)),
            Err(FileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.is_gone(&path));
            }
            // Too many open files, say: it may go by.
            Err(FileError::Io(error)) => return Err(StoreError::io(path)(error)),
            Err(error) => Some(error.to_string()),
        };
        let Some(what) = found else {
            self.files.checked().insert(table, None);
            return Ok(Some(path));
        };
        Err(self.leave_out(Fault {
            file: path,
            what,
            missing: false,
        }))
    }

    /// What is known of the file of a table, if it was looked at.
    fn known_of(&self, table: Table, path: &Path) -> Option<Result<PathBuf, StoreError>> {
        match self.files.checked().get(&table)? {
            Some(fault) => Some(Err(fault.clone().into())),
            // Of what another process took away nothing is left out without a word.
            None if self.files.folder.is_of_another() && !path.exists() => None,
            None => Some(Ok(path.to_owned())),
        }
    }

    /// What it means that one of its files is not there.
    fn is_gone(&self, path: &Path) -> StoreError {
        if self.files.have_left() {
            return StoreError::Changed;
        }
        self.leave_out(Fault {
            file: path.to_owned(),
            what: "is missing".to_owned(),
            missing: true,
        })
    }

    /// The same of an error over one of its files, for whoever does not ask again.
    pub(super) fn or_gone(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Io { file, error } if error.kind() == io::ErrorKind::NotFound => {
                self.is_gone(&file)
            }
            error => error,
        }
    }

    /// What an error means to whoever does not ask again: from now on the part is not read.
    pub(super) fn unread(&self, error: &StoreError) -> StoreError {
        self.leave_out(Fault {
            file: self.files.path(Table::Spans),
            what: format!("cannot be read: {error}"),
            missing: false,
        })
    }

    /// From now on nothing is read of the part: a file of it cannot be.
    fn leave_out(&self, fault: Fault) -> StoreError {
        let mut tables = Table::ALL.into_iter();
        if let Some(table) = tables.find(|table| self.files.path(*table) == fault.file) {
            self.files.checked().insert(table, Some(fault.clone()));
        }
        tracing::error!(
            file = %fault.file.display(), "{}; its rows are left out", fault.what
        );
        fault.into()
    }

    /// Whether one of its files is known to be damaged.
    pub(super) fn is_faulty(&self) -> bool {
        self.lost.is_some() || self.files.checked().values().any(Option::is_some)
    }

    /// What is known to be wrong with it.
    pub(super) fn faults(&self) -> impl Iterator<Item = Fault> {
        self.lost.clone().into_iter().chain(self.files.faults())
    }

    /// The filter over its ids; made again from the part if it cannot be read. `None` if the part
    /// cannot be read either.
    pub(super) fn filter(&self) -> Option<&Filter> {
        if let Some(filter) = self.files.filter.get() {
            return Some(filter);
        }
        let path = self.files.filter_path();
        let filter = match Filter::load(&path) {
            Ok(filter) => filter,
            Err(why) => {
                tracing::warn!(file = %path.display(), "{why}; made again from its part");
                let filter = Filter::of_unknown(&self.ids().ok()?);
                if !self.files.is_of_another()
                    && let Err(error) = filter.save(&path)
                {
                    tracing::debug!(%error, "the filter is in memory alone");
                }
                filter
            }
        };
        Some(self.files.filter.get_or_init(|| filter))
    }

    /// Whether it cannot be read and may have a live state of one of these traces.
    pub(super) fn leaves_out(&self, mut ids: impl Iterator<Item = TraceId>) -> bool {
        let may = |id: TraceId| {
            let filter = self.filter();
            filter.is_none_or(|filter| filter.may_have(hash(id))) && !self.dead.has(id)
        };
        self.is_faulty() && ids.any(may)
    }

    /// Whether it may have a live state of a trace; `hash` is that of the id. True of one that
    /// another process took away: whoever looks is told.
    pub(super) fn may_have(&self, id: TraceId, hash: u64) -> bool {
        let may = match self.filter() {
            Some(filter) => filter.may_have(hash),
            None => self.files.have_left(),
        };
        may && !self.dead.has(id)
    }

    fn collect(&self, rows: LazyFrame) -> Result<DataFrame, StoreError> {
        collect(rows).map_err(|error| self.files.explain(error))
    }

    /// Its trace ids in order, the superseded ones included.
    pub(super) fn ids(&self) -> Result<Vec<TraceId>, StoreError> {
        let mut ids = Vec::new();
        for table in [Table::Requests, Table::Spans] {
            if table == Table::Spans && self.meta.bare_traces == 0 {
                continue;
            }
            let Some(rows) = self.scan(table)? else {
                continue;
            };
            let frame = self.collect(rows.select([col("trace_id")]))?;
            let texts = frame.column("trace_id")?.str()?.iter().flatten();
            let mut last = "";
            for text in texts {
                if text != last {
                    ids.extend(text.parse::<TraceId>().ok());
                    last = text;
                }
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// The rows of a table, the superseded ones included; `None` if there are none.
    pub(super) fn scan(&self, table: Table) -> Result<Option<LazyFrame>, StoreError> {
        let Some(path) = self.file(table)? else {
            return Ok(None);
        };
        Ok(Some(scan(table, vec![path])?))
    }
}

/// Rows of several files of one table.
pub(super) fn scan(table: Table, paths: Vec<PathBuf>) -> Result<LazyFrame, StoreError> {
    let paths: Result<Vec<PlRefPath>, _> =
        paths.into_iter().map(PlRefPath::try_from_pathbuf).collect();
    let args = ScanArgsParquet {
        schema: Some(schema(table)?),
        hive_options: polars::io::HiveOptions::new_disabled(),
        glob: false,
        // Columns that came later are null in older parts.
        allow_missing_columns: true,
        ..ScanArgsParquet::default()
    };
    Ok(LazyFrame::scan_parquet_files(
        paths?.into_iter().collect(),
        args,
    )?)
}

/// The rows without those of these traces.
pub(super) fn without(
    rows: LazyFrame,
    ids: impl Iterator<Item = TraceId>,
) -> Result<LazyFrame, StoreError> {
    let ids = frame_of(ids)?.lazy();
    let args = JoinArgs {
        // Readers rely on the order of a request's rows.
        maintain_order: MaintainOrderJoin::Left,
        ..JoinArgs::new(JoinType::Anti)
    };
    Ok(rows.join(ids, [col("trace_id")], [col("trace_id")], args))
}

/// Collects; Polars panics on some of what it does not expect.
pub(super) fn collect(rows: LazyFrame) -> Result<DataFrame, StoreError> {
    let found = guarded(|| rows.collect_with_engine(Engine::Streaming));
    let found = found.map_err(|error| StoreError::Engine(error.to_string()))?;
    Ok(found.unwrap_single())
}

/// The columns of a table.
pub(super) fn schema(table: Table) -> PolarsResult<SchemaRef> {
    static SCHEMAS: OnceLock<BTreeMap<Table, SchemaRef>> = OnceLock::new();
    if let Some(schemas) = SCHEMAS.get() {
        return Ok(schemas.get(&table).map(Arc::clone).unwrap_or_default());
    }
    let frames = Builder::new(&Wanted::tables(Table::ALL)).finish()?;
    let all = frames
        .into_iter()
        .map(|(table, frame)| (table, Arc::new(Schema::clone(frame.schema()))));
    let all = SCHEMAS.get_or_init(|| all.collect());
    Ok(all.get(&table).map(Arc::clone).unwrap_or_default())
}

/// How many spans the notes of a request say were dropped.
pub(super) fn truncated(notes: &str) -> usize {
    let notes: Vec<String> = serde_json::from_str(notes).unwrap_or_default();
    let counts = notes.iter().filter_map(|note| {
        let count = note.split(' ').next()?.parse().ok()?;
        (Note::Truncated(count).to_string() == *note).then_some(count)
    });
    counts.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_dropped_spans_is_read_back_from_the_notes() {
        let notes = [
            Note::Duplicate(9),
            Note::Truncated(12),
            Note::Other("7 spans".into()),
        ];
        let json = serde_json::to_string(&notes).unwrap();
        assert_eq!(truncated(&json), 12);
        assert_eq!(truncated(&serde_json::to_string(&notes[..1]).unwrap()), 0);
    }
}
