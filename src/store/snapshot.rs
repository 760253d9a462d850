//! One consistent state of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use polars::prelude::{DataFrame, IntoLazy, LazyFrame, UnionArgs, col, concat, lit};
use polars::prelude::{DataType, Expr, SortMultipleOptions, TimeUnit, UniqueKeepStrategy};

use super::chunk::Chunk;
use super::count::{Counts, Outcomes};
use super::durable::State;
use super::error::StoreError;
use super::folder::{bounds, hour_of};
use super::index::hash;
use super::lookup::{Asked, lookup};
use super::memory::{Fresh, Stored, prefix_range};
use super::parts::{Part, collect, scan, without};
use super::rollup::Summaries;
use super::tables::{Builder, Table, Wanted};
use crate::budget::{Policy, Typical};
use crate::model::{TraceId, UnixNanos};

/// A stretch of time: from `since`, which is in it, to `until`, which is not. Without a bound it
/// has no end on that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// The first instant.
    pub since: Option<UnixNanos>,
    /// The first instant after it.
    pub until: Option<UnixNanos>,
}

impl Window {
    /// All of time.
    pub const ALL: Self = Self {
        since: None,
        until: None,
    };

    /// Whether an instant lies in it.
    pub fn has(&self, at: UnixNanos) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Whether it has any of the instants from the first to the last.
    pub(super) fn meets(&self, first: u64, last: u64) -> bool {
        self.since.is_none_or(|since| since.0 <= last)
            && self.until.is_none_or(|until| first < until.0)
    }
}

/// The store at one instant: whatever is put, flushed, compacted or pruned meanwhile changes
/// nothing in it, and files that it names stay while it lives in this process. So keep it until
/// the frames that it gave are collected. Collecting can panic on a file that was damaged after it
/// was looked at.
#[derive(Debug, Clone)]
pub struct Snapshot {
    fresh: Fresh,
    state: Arc<State>,
    known: Known,
}

/// What a snapshot shares with its store.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) policy: Arc<Policy>,
    pub(super) typical: Arc<Typical>,
    pub(super) summaries: Arc<Summaries>,
}

impl Snapshot {
    pub(super) fn new(fresh: Fresh, state: Arc<State>, known: Known) -> Self {
        Self {
            fresh,
            state,
            known,
        }
    }

    pub(super) fn summaries(&self) -> &Summaries {
        &self.known.summaries
    }

    /// The median times with which traces are analysed.
    pub fn typical(&self) -> &Arc<Typical> {
        &self.known.typical
    }

    /// The settings with which traces are analysed.
    pub fn policy(&self) -> &Policy {
        &self.known.policy
    }

    /// The rows of a table: of each trace its newest state, in no promised order, but those of one
    /// request one after the other, in theirs. Of every table
    /// but `spans` those of the requests that start in the window; spans come more, since a
    /// span's own start says nothing of its request's: whoever wants them exactly joins
    /// `requests`. Samples are there only while there is nothing else.
    ///
    /// # Errors
    /// The tables cannot be put together. A damaged part is no error: it is left out, and
    /// [`faults`](Self::faults) names it. [`StoreError::Changed`] comes only from a store that was
    /// opened to read, when another process merged or removed a part of this snapshot:
    /// [`refresh`](super::Store::refresh) it and take a new one. When that happens between the
    /// scan and the reading of its rows, the reading fails.
    pub fn scan(&self, table: Table, window: &Window) -> Result<LazyFrame, StoreError> {
        let mut frames = self.scan_parts(table, window)?;
        frames.extend(fresh(table, self.fresh_chunks())?.map(IntoLazy::lazy));
        let rows = concatenated(table, frames)?;
        Ok(match within(table, window) {
            Some(predicate) => rows.filter(predicate),
            None => rows,
        })
    }

    /// How many traces and requests there are, samples only while there is nothing else. Opens no
    /// file: damaged parts are counted. A trace whose requests start in several hours counts once
    /// in each.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            requests: self.fresh.outcomes,
            traces: self.fresh.traces as u64,
            fresh_traces: self.fresh.traces as u64,
        };
        for part in &self.state.parts {
            counts.requests.merge(&part.meta.live_requests());
            counts.traces += part.meta.traces - part.meta.dead_traces();
        }
        for (_, gone) in self.fresh.superseding.values() {
            for gone in gone.values() {
                counts.requests.subtract(gone);
            }
            counts.traces = counts.traces.saturating_sub(1);
        }
        if self.is_sample() {
            for sample in self.fresh.samples.iter().flat_map(|chunk| chunk.each()) {
                counts.requests.merge(&Outcomes::of(&sample.analysis));
                counts.traces += 1;
            }
        }
        counts
    }

    /// Requests by outcome of each hour (UTC) in which any start, by the first instant of the hour.
    /// Opens no file, but one for each part whose requests start at no plausible time.
    pub fn hours(&self) -> BTreeMap<UnixNanos, Outcomes> {
        let mut hours: BTreeMap<u64, Outcomes> = BTreeMap::new();
        for part in &self.state.parts {
            for (hour, outcomes) in part.live_hours() {
                hours.entry(hour).or_default().merge(&outcomes);
            }
        }
        for (hour, gone) in self.fresh.superseding.values().flat_map(|(_, gone)| gone) {
            hours.entry(*hour).or_default().subtract(gone);
        }
        let stored = self.fresh_chunks().flat_map(|chunk| chunk.each());
        for request in stored.flat_map(|stored| &stored.analysis.requests) {
            let hour = hours.entry(hour_of(request.start)).or_default();
            hour.add(request.outcome, 1);
        }
        let hours = hours.into_iter().filter(|(_, of)| of.total() > 0);
        hours.map(|(hour, of)| (bounds(hour).0, of)).collect()
    }

    /// True if all that there is are samples.
    pub fn is_sample(&self) -> bool {
        let nothing = self.fresh.traces == 0 && self.state.parts.is_empty();
        nothing && self.fresh.samples.is_some()
    }

    /// Damaged or missing files that were found so far, each with what is wrong; their rows are
    /// left out.
    pub fn faults(&self) -> Vec<String> {
        let faults = self.state.parts.iter().flat_map(|part| part.faults());
        faults.map(|fault| fault.to_string()).collect()
    }

    /// A trace by its id; see [`Store::get`](super::Store::get).
    ///
    /// # Errors
    /// What is there cannot be read.
    pub fn get(&self, id: TraceId) -> Result<Option<Stored>, StoreError> {
        let samples = self.fresh.samples.iter();
        let mut fresh = self.fresh.chunks.iter().rev().chain(samples);
        let fresh = fresh.find_map(|chunk| {
            let mut each = chunk.each();
            each.find(|stored| stored.analysis.trace_id == id).cloned()
        });
        let asked = Asked::for_all(id, fresh);
        let found = lookup(&self.state, asked, &self.known)?;
        Ok(found.stored)
    }

    /// At most `limit` traces whose id begins with these hex digits of any case, in order; none if
    /// `hex` is not hex.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn find_prefix(&self, hex: &str, limit: usize) -> Result<Vec<TraceId>, StoreError> {
        let Some((low, high)) = prefix_range(hex) else {
            return Ok(Vec::new());
        };
        let fresh = self.fresh_chunks().flat_map(|chunk| chunk.each());
        let mut found: BTreeSet<TraceId> = fresh
            .map(|stored| stored.analysis.trace_id)
            .filter(|id| (low..=high).contains(id))
            .collect();
        let in_parts = self.scan_parts(Table::Requests, &Window::ALL)?;
        if !in_parts.is_empty() {
            let id = || col("trace_id");
            let between = id()
                .gt_eq(lit(low.to_string()))
                .and(id().lt_eq(lit(high.to_string())));
            let rows = concat(in_parts, UnionArgs::default())?.filter(between);
            let ids = rows.select([id()]).unique(None, UniqueKeepStrategy::Any);
            let first = collect(
                ids.sort(["trace_id"], SortMultipleOptions::default())
                    .limit(limit as u32),
            )?;
            let ids = first.column("trace_id")?.str()?.iter().flatten();
            found.extend(ids.filter_map(|id| id.parse::<TraceId>().ok()));
        }
        Ok(found.into_iter().take(limit).collect())
    }

    /// Its parts and what of them is superseded by what is fresh.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Arc<Part>, Vec<TraceId>)> {
        self.state
            .parts
            .iter()
            .map(|part| (part, self.gone_of(part)))
    }

    /// The parts with requests that start in a window.
    pub(super) fn parts_in(&self, window: &Window) -> impl Iterator<Item = &Arc<Part>> {
        let parts = self.state.parts.iter();
        parts.filter(|part| window.meets(part.meta.min_start, part.meta.max_start))
    }

    /// What of a part is superseded, and possibly others.
    pub(super) fn gone_of(&self, part: &Part) -> Vec<TraceId> {
        let superseding = self.fresh.superseding.iter();
        let fresh = superseding
            .filter(|(id, (reach, _))| part.reaches(*reach) && part.may_have(**id, hash(**id)));
        let mut gone: Vec<TraceId> = fresh.map(|(id, _)| *id).collect();
        gone.extend(part.dead.ids());
        gone
    }

    pub(super) fn fresh_chunks(&self) -> impl Iterator<Item = &Arc<Chunk>> {
        let samples = self.fresh.samples.iter().filter(|_| self.is_sample());
        self.fresh.chunks.iter().chain(samples)
    }

    fn scan_parts(&self, table: Table, window: &Window) -> Result<Vec<LazyFrame>, StoreError> {
        let mut clean = Vec::new();
        let mut frames = Vec::new();
        for (part, gone) in self.parts() {
            if !window.meets(part.meta.min_start, part.meta.max_start) {
                continue;
            }
            let path = match part.file(table) {
                Ok(Some(path)) => path,
                // Damage is told by `faults`.
                Ok(None) | Err(StoreError::Damaged { .. }) => continue,
                Err(error) => return Err(error),
            };
            if gone.is_empty() {
                clean.push(path);
            } else {
                frames.push(without(scan(table, vec![path])?, gone.into_iter())?);
            }
        }
        if !clean.is_empty() {
            frames.push(scan(table, clean)?);
        }
        Ok(frames)
    }
}

/// The rows of these chunks as one frame, for each further one in a plan has to be planned for on
/// its own; nothing is copied. `None` if there is no chunk.
pub(super) fn fresh<'a>(
    table: Table,
    chunks: impl Iterator<Item = &'a Arc<Chunk>>,
) -> Result<Option<DataFrame>, StoreError> {
    let mut all: Option<DataFrame> = None;
    for chunk in chunks {
        let rows = chunk.frame(table)?;
        match &mut all {
            Some(all) => drop(all.vstack_mut(&rows)?),
            None => all = Some(rows),
        }
    }
    Ok(all)
}

/// Rows of a table, one frame behind another.
pub(super) fn concatenated(
    table: Table,
    mut frames: Vec<LazyFrame>,
) -> Result<LazyFrame, StoreError> {
    if frames.is_empty() {
        frames.push(empty(table)?.lazy());
    }
    let args = UnionArgs {
        to_supertypes: false,
        rechunk: false,
        ..UnionArgs::default()
    };
    Ok(concat(frames, args)?)
}

fn empty(table: Table) -> Result<DataFrame, StoreError> {
    let frames = Builder::new(&Wanted::tables([table])).finish()?;
    Ok(frames
        .into_iter()
        .map(|(_, frame)| frame)
        .next()
        .unwrap_or_default())
}

/// Whether the request starts in the window; `None` if the table cannot tell or all do.
pub(super) fn within(table: Table, window: &Window) -> Option<Expr> {
    if table == Table::Spans {
        return None;
    }
    let instant = |at: UnixNanos| {
        let at = i64::try_from(at.0).unwrap_or(i64::MAX);
        lit(at).cast(DataType::Datetime(TimeUnit::Nanoseconds, None))
    };
    let since = window.since.map(|at| col("start").gt_eq(instant(at)));
    let until = window.until.map(|at| col("start").lt(instant(at)));
    match (since, until) {
        (Some(since), Some(until)) => Some(since.and(until)),
        (one, other) => one.or(other),
    }
}
