//! How large a store is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::count::{Load, Outcomes};
use super::durable::Durable;
use super::tables::Table;
use crate::model::UnixNanos;

/// How large a store is; from the manifest alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Where it is; `None` for one in memory alone.
    pub folder: Option<PathBuf>,
    /// Commits so far.
    pub generation: u64,
    /// Parts.
    pub parts: u64,
    /// Hours that have parts.
    pub hours: u64,
    /// Traces in parts that are not superseded.
    pub traces: u64,
    /// Their requests.
    pub requests: Outcomes,
    /// Traces in parts that are superseded, until parts are merged.
    pub superseded: u64,
    /// Rows and bytes by table, the superseded ones included.
    pub tables: BTreeMap<Table, Size>,
    /// The first start of a request.
    pub oldest: Option<UnixNanos>,
    /// The last start of a request.
    pub newest: Option<UnixNanos>,
    /// Files that wait for their end.
    pub waiting_files: u64,
    /// Files that were found damaged or missing so far.
    pub faults: Vec<String>,
    /// What is in memory.
    pub fresh: Load,
}

/// Rows and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Rows.
    pub rows: u64,
    /// Bytes of files.
    pub bytes: u64,
}

impl Stats {
    /// Bytes of all tables.
    pub fn bytes(&self) -> u64 {
        self.tables.values().map(|size| size.bytes).sum()
    }
}

pub(super) fn stats(durable: &Durable, fresh: Load) -> Stats {
    let mut stats = Stats {
        folder: Some(durable.folder.root().to_owned()),
        generation: durable.manifest().generation,
        waiting_files: durable.waiting().len() as u64,
        fresh,
        ..Stats::default()
    };
    let mut hours = BTreeSet::new();
    for part in &durable.state().parts {
        let meta = &part.meta;
        stats.parts += 1;
        hours.insert(meta.hour);
        stats.traces += meta.traces - meta.dead_traces();
        stats.superseded += meta.dead_traces();
        stats.requests.merge(&meta.live_requests());
        for table in Table::ALL {
            if let Some(of) = meta.table(table) {
                let size = stats.tables.entry(table).or_default();
                size.rows += of.rows;
                size.bytes += of.bytes;
            }
        }
        let (first, last) = (UnixNanos(meta.min_start), UnixNanos(meta.max_start));
        stats.oldest = Some(stats.oldest.map_or(first, |oldest| oldest.min(first)));
        stats.newest = Some(stats.newest.map_or(last, |newest| newest.max(last)));
        let faults = part.faults();
        stats.faults.extend(faults.map(|fault| fault.to_string()));
    }
    stats.hours = hours.len() as u64;
    stats
}
