//! One consistent state of the store.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, IntoLazy, LazyFrame, UnionArgs, col, concat, lit};
use polars::prelude::{DataType, Expr, TimeUnit};

use super::count::{Counts, Outcomes};
use super::error::StoreError;
use super::memory::Fresh;
use super::tables::{Builder, Table, Wanted};
use crate::model::UnixNanos;

/// A stretch of time: from `since`, which is in it, to `until`, which is not. Without a bound it
/// has no end on that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// The first instant.
    pub since: Option<UnixNanos>,
    /// The first instant after it.
    pub until: Option<UnixNanos>,
}

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

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
}

/// The store at one instant: whatever is put, flushed, compacted or pruned meanwhile changes
/// nothing in it, and files that it names stay while it lives in this process. So keep it until
/// the frames that it gave are collected.
#[derive(Debug, Clone)]
pub struct Snapshot {
    fresh: Fresh,
}

impl Snapshot {
    pub(super) fn new(fresh: Fresh) -> Self {
        Self { fresh }
    }

    /// The rows of a table: of each trace its newest state, in no promised order, but those of one
    /// request one after the other, in theirs. Of every table
    /// but `spans` those of the requests that start in the window; spans come more, since a
    /// span's own start says nothing of its request's: whoever wants them exactly joins
    /// `requests`. Samples are there only while there is nothing else.
    ///
    /// # Errors
    /// The tables cannot be put together. A damaged part is no error: it is left out, and
    /// [`faults`](Self::faults) names it.
    pub fn scan(&self, table: Table, window: &Window) -> Result<LazyFrame, StoreError> {
        let mut frames = Vec::new();
        let samples = self.fresh.samples.iter().filter(|_| self.is_sample());
        for chunk in self.fresh.chunks.iter().chain(samples) {
            frames.push(chunk.frame(table)?.lazy());
        }
        if frames.is_empty() {
            frames.push(empty(table)?.lazy());
        }
        let args = UnionArgs {
            to_supertypes: false,
            rechunk: false,
            ..UnionArgs::default()
        };
        let rows = concat(frames, args)?;
        Ok(match within(table, window) {
            Some(predicate) => rows.filter(predicate),
            None => rows,
        })
    }

    /// How many traces and requests there are, samples only while there is nothing else. Opens no
    /// file.
    pub fn counts(&self) -> Counts {
        let mut requests = self.fresh.outcomes;
        let mut traces = self.fresh.traces as u64;
        if self.is_sample() {
            for sample in self.fresh.samples.iter().flat_map(|chunk| chunk.each()) {
                requests.merge(&Outcomes::of(&sample.analysis));
                traces += 1;
            }
        }
        Counts {
            traces,
            requests,
            fresh_traces: traces,
        }
    }

    /// Requests by outcome of each hour (UTC) in which any start, by the first instant of the hour.
    /// Opens no file.
    pub fn hours(&self) -> BTreeMap<UnixNanos, Outcomes> {
        let mut hours: BTreeMap<UnixNanos, Outcomes> = BTreeMap::new();
        let samples = self.fresh.samples.iter().filter(|_| self.is_sample());
        let chunks = self.fresh.chunks.iter().chain(samples);
        let stored = chunks.flat_map(|chunk| chunk.each());
        for request in stored.flat_map(|stored| &stored.analysis.requests) {
            let UnixNanos(start) = request.start;
            let hour = hours.entry(UnixNanos(start - start % HOUR)).or_default();
            hour.add(request.outcome, 1);
        }
        hours
    }

    /// True if all that there is are samples.
    pub fn is_sample(&self) -> bool {
        self.fresh.traces == 0 && self.fresh.samples.is_some()
    }

    /// Damaged or missing files that were found so far, each with what is wrong; their rows are
    /// left out.
    pub fn faults(&self) -> Vec<String> {
        Vec::new()
    }
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
fn within(table: Table, window: &Window) -> Option<Expr> {
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
