//! Looks at every byte that the manifest names.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use polars::prelude::col;

use super::count::Outcomes;
use super::durable::Durable;
use super::error::StoreError;
use super::index::{Dead, Filter, hash};
use super::parquet;
use super::parts::{Part, collect, scan};
use super::rollup::Rollup;
use super::tables::Table;
use crate::model::{Outcome, SpanId, TraceId};

/// What a look at everything found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Parts in the manifest.
    pub parts: u64,
    /// Files that were looked at.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows of all tables, the superseded ones included.
    pub rows: u64,
    /// What is wrong, file by file.
    pub faults: Vec<String>,
    /// Files in the folders of the store that the manifest does not name: what a writer that was
    /// stopped had begun or not yet removed. They hold nothing of the store and harm nothing.
    pub strays: Vec<PathBuf>,
}

impl Verified {
    /// True if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Requests by hour: each must be live in one part alone.
type Seen = BTreeMap<u64, HashSet<(TraceId, SpanId)>>;

/// How often parts are looked at again because another process took some away meanwhile.
const TRIES: u32 = 8;

pub(super) fn verify(durable: &Durable) -> Result<Verified, StoreError> {
    let mut found = Verified::default();
    // By name and list of superseded traces: a part is looked at again when that is another.
    let mut looked_at: BTreeSet<(String, Option<String>)> = BTreeSet::new();
    for _ in 0..TRIES {
        let state = durable.state();
        let mut seen = Seen::new();
        let mut has_left = false;
        for part in &state.parts {
            // Parts come by hour.
            seen.retain(|hour, _| *hour == part.meta.hour);
            let dead = part.meta.dead.as_ref().map(|dead| dead.file.clone());
            if !looked_at.insert((part.meta.id.clone(), dead)) {
                continue;
            }
            let mut one = Verified {
                parts: 1,
                ..Verified::default()
            };
            let looked = one.part(durable, part, seen.entry(part.meta.hour).or_default());
            // What another process merged or removed since the list was read is no fault.
            if (looked.is_err() || !one.is_clean()) && !durable.still_names(part) {
                has_left = true;
                continue;
            }
            looked?;
            found.add(one);
        }
        if !has_left {
            break;
        }
    }
    let (named, waiting) = (durable.named(), durable.waiting());
    let files = durable.folder.files();
    for path in files.map_err(StoreError::io(durable.folder.root()))? {
        // Another process may be about to name it, or has just ceased to.
        let recent = durable.is_read_only() && is_recent(&path, durable.options.grace * 2);
        if !named.contains(&path) && !waiting.contains(&path) && !recent {
            found.strays.push(path);
        }
    }
    Ok(found)
}

impl Verified {
    fn add(&mut self, other: Self) {
        let Self {
            parts,
            files,
            bytes,
            rows,
            faults,
            strays,
        } = other;
        self.parts += parts;
        self.files += files;
        self.bytes += bytes;
        self.rows += rows;
        self.faults.extend(faults);
        self.strays.extend(strays);
    }

    fn fault(&mut self, path: &Path, what: impl std::fmt::Display) {
        self.faults.push(format!("{}: {what}", path.display()));
    }

    fn part(
        &mut self,
        durable: &Durable,
        part: &Part,
        seen: &mut HashSet<(TraceId, SpanId)>,
    ) -> Result<(), StoreError> {
        part.files.look_again();
        let mut ids: Vec<TraceId> = Vec::new();
        let mut sound = true;
        for table in Table::ALL {
            let Some(meta) = part.meta.table(table) else {
                continue;
            };
            let path = part.files.path(table);
            self.files += 1;
            self.bytes += meta.bytes;
            self.rows += meta.rows;
            let checked = File::open(&path)
                .map_err(parquet::FileError::from)
                .and_then(|file| parquet::check(file, table));
            let rows = match checked {
                Ok((rows, _)) => rows,
                Err(error) => {
                    sound = false;
                    self.fault(&path, error);
                    continue;
                }
            };
            if rows != meta.rows {
                sound = false;
                self.fault(
                    &path,
                    format_args!("has {rows} rows instead of {}", meta.rows),
                );
                continue;
            }
            let of_table = self.ids(table, &path)?;
            if !of_table.is_sorted() {
                self.fault(&path, "its rows are not in the order of trace ids");
            }
            if matches!(table, Table::Requests | Table::Spans) {
                ids.extend(of_table);
            }
        }
        if !sound {
            return Ok(());
        }
        ids.sort_unstable();
        ids.dedup();
        let manifest = durable.folder.manifest();
        if ids.len() as u64 != part.meta.traces {
            let id = &part.meta.id;
            let told = part.meta.traces;
            self.fault(
                &manifest,
                format_args!("part {id} has {} traces instead of {told}", ids.len()),
            );
        }
        self.index(durable, part, &ids);
        if part.lost.is_some() {
            return Ok(());
        }
        if part.meta.table(Table::Requests).is_some() {
            self.requests(&manifest, part, seen)?;
        }
        Ok(())
    }

    fn ids(&mut self, table: Table, path: &Path) -> Result<Vec<TraceId>, StoreError> {
        let frame = collect(scan(table, vec![path.to_owned()])?.select([col("trace_id")]))?;
        let mut ids = Vec::new();
        let mut last = "";
        for text in frame.column("trace_id")?.str()?.iter() {
            let text = text.unwrap_or_default();
            if text == last {
                continue;
            }
            last = text;
            match text.parse() {
                Ok(id) => ids.push(id),
                Err(error) => self.fault(path, format_args!("`{text}` is no trace id: {error}")),
            }
        }
        Ok(ids)
    }

    fn index(&mut self, durable: &Durable, part: &Part, ids: &[TraceId]) {
        let path = part.files.filter_path();
        self.files += 1;
        self.bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
        match Filter::load(&path) {
            Ok(filter) => {
                if !ids.iter().all(|id| filter.may_have(hash(*id))) {
                    self.fault(&path, "it does not know all ids of its part");
                }
            }
            Err(why) => self.fault(
                &path,
                format_args!("{why}; nothing is lost: it is made again from its part"),
            ),
        }
        self.summary(part);
        let Some(meta) = &part.meta.dead else {
            return;
        };
        let path = durable.folder.dead(&meta.file);
        self.files += 1;
        self.bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
        match Dead::load(&path) {
            Ok(dead) => {
                let known = |id: &TraceId| ids.binary_search(id).is_ok();
                if dead.ids().len() as u64 != meta.traces || !dead.ids().iter().all(known) {
                    self.fault(&path, "it is not the list of this part");
                }
            }
            Err(why) => self.fault(&path, why),
        }
    }

    /// It may be missing: then it is made when it is needed.
    fn summary(&mut self, part: &Part) {
        let path = part.files.summary_path();
        let Ok(metadata) = fs::metadata(&path) else {
            return;
        };
        self.files += 1;
        self.bytes += metadata.len();
        let tables = [Table::Requests, Table::Hops, Table::Calls, Table::Findings];
        let again = "nothing is lost: it is made again from its part";
        match Rollup::load(&path) {
            Ok(None) => {}
            Ok(Some(rollup)) if rollup.rows() == tables.map(|table| part.meta.rows(table)) => {}
            Ok(Some(_)) => self.fault(&path, format_args!("it is not that of its part; {again}")),
            Err(why) => self.fault(&path, format_args!("{why}; {again}")),
        }
    }

    fn requests(
        &mut self,
        manifest: &Path,
        part: &Part,
        seen: &mut HashSet<(TraceId, SpanId)>,
    ) -> Result<(), StoreError> {
        let path = part.files.path(Table::Requests);
        let columns = [col("trace_id"), col("request"), col("outcome")];
        let frame = collect(scan(Table::Requests, vec![path.clone()])?.select(columns))?;
        let texts = |name: &str| Ok::<_, StoreError>(frame.column(name)?.str()?.iter());
        let ids = texts("trace_id")?.zip(texts("request")?);
        let (mut all, mut live) = (Outcomes::default(), Outcomes::default());
        for ((id, request), outcome) in ids.zip(texts("outcome")?) {
            let mut outcomes = Outcome::ALL.into_iter();
            let outcome = outcomes.find(|known| Some(known.as_str()) == outcome);
            let id = id.and_then(|id| id.parse::<TraceId>().ok());
            let request = request.and_then(|id| id.parse::<SpanId>().ok());
            let (Some(id), Some(request), Some(outcome)) = (id, request, outcome) else {
                self.fault(&path, "a row is no request");
                continue;
            };
            all.add(outcome, 1);
            if part.dead.has(id) {
                continue;
            }
            live.add(outcome, 1);
            if !seen.insert((id, request)) {
                self.fault(
                    &path,
                    format_args!(
                        "request {request} of trace {id} is there twice, as more of it came while \
                         a file could not be read; `dwindle store compact` makes one of both"
                    ),
                );
            }
        }
        if all != part.meta.requests || live != part.meta.live_requests() {
            let id = &part.meta.id;
            self.fault(
                manifest,
                format_args!("the requests of part {id} are counted wrongly"),
            );
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "file times are compared with the clock that made them"
)]
fn is_recent(path: &Path, within: Duration) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|at| {
        let age = std::time::SystemTime::now().duration_since(at);
        age.map_or(true, |age| age < within)
    })
}
