//! Traces out of the store, one after the other, in the memory of a row group or a trace.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use polars::prelude::{Expr, col};

use super::error::StoreError;
use super::memory::Stored;
use super::merge::Cursor;
use super::parts::{Part, collect};
use super::snapshot::{Snapshot, Window, within};
use super::tables::{SpanRows, Table};
use crate::model::{Trace, TraceId};

/// The traces of a snapshot that have a request in a window for which a predicate holds, each once,
/// whole, exactly as it came: those in parts by hour and id, then those in memory. Parts that cannot
/// be read are told as errors, and the rest follows.
#[derive(Debug)]
pub struct Export {
    snapshot: Snapshot,
    window: Window,
    predicate: Option<Expr>,
    parts: VecDeque<(Arc<Part>, Vec<TraceId>)>,
    part: Option<Reading>,
    /// Traces of several parts that were handed out.
    split: BTreeSet<TraceId>,
    fresh: VecDeque<Stored>,
    fresh_wanted: Option<BTreeSet<TraceId>>,
}

/// A part under way.
#[derive(Debug)]
struct Reading {
    part: Arc<Part>,
    cursor: Cursor,
    rows: SpanRows,
    /// Its traces that are asked for; `None` for all.
    wanted: Option<BTreeSet<TraceId>>,
    ready: VecDeque<Trace>,
    /// The last trace that was read: more of it may come.
    open: Option<Trace>,
}

impl Snapshot {
    /// Every trace that has a request in the window; with `predicate`, one for which that holds,
    /// an expression over the columns of `requests`.
    ///
    /// # Errors
    /// The fresh rows cannot be put together, or the predicate names a column that is not there.
    pub fn export(&self, window: Window, predicate: Option<Expr>) -> Result<Export, StoreError> {
        let parts = self
            .parts()
            .filter(|(part, _)| window.meets(part.meta.min_start, part.meta.max_start));
        let mut export = Export {
            window,
            predicate,
            parts: parts.map(|(part, gone)| (Arc::clone(part), gone)).collect(),
            part: None,
            split: BTreeSet::new(),
            fresh: self.fresh_traces().collect(),
            fresh_wanted: None,
            snapshot: self.clone(),
        };
        let fresh = self.scan_fresh()?;
        if let Some(asked) = export.asked()
            && let Some(fresh) = fresh
        {
            export.fresh_wanted = Some(ids(fresh.filter(asked))?);
        }
        Ok(export)
    }
}

fn ids(rows: polars::prelude::LazyFrame) -> Result<BTreeSet<TraceId>, StoreError> {
    let frame = collect(rows.select([col("trace_id")]))?;
    let ids = frame.column("trace_id")?.str()?.iter().flatten();
    Ok(ids.filter_map(|id| id.parse().ok()).collect())
}

impl Export {
    /// What a request must be; `None` if any will do.
    fn asked(&self) -> Option<Expr> {
        let window = within(Table::Requests, &self.window);
        match (window, self.predicate.clone()) {
            (Some(window), Some(predicate)) => Some(window.and(predicate)),
            (one, other) => one.or(other),
        }
    }

    fn begin(&self, part: &Arc<Part>, gone: &[TraceId]) -> Result<Option<Reading>, StoreError> {
        let wanted = match (self.asked(), part.scan(Table::Requests)?) {
            (Some(asked), Some(rows)) => {
                let ids = ids(rows.filter(asked));
                Some(ids.map_err(|error| part.files.explain(error))?)
            }
            (Some(_), None) => return Ok(None),
            (None, _) => None,
        };
        let cursor = Cursor::open(Table::Spans, part, gone)?;
        Ok(cursor.map(|cursor| Reading {
            part: Arc::clone(part),
            cursor,
            rows: SpanRows::default(),
            wanted,
            ready: VecDeque::new(),
            open: None,
        }))
    }

    /// The next trace of the part under way.
    fn next_of_part(&mut self) -> Result<Option<Trace>, StoreError> {
        let Some(reading) = &mut self.part else {
            return Ok(None);
        };
        while let Some(trace) = reading.next()? {
            if reading
                .wanted
                .as_ref()
                .is_some_and(|wanted| !wanted.contains(&trace.id))
            {
                continue;
            }
            let filter = reading.part.filter();
            let split = filter.is_none_or(|filter| filter.is_split(trace.id));
            if !(split && self.snapshot.has_in_several(trace.id)) {
                return Ok(Some(trace));
            }
            if self.split.insert(trace.id) {
                let whole = self.snapshot.get(trace.id)?;
                return Ok(Some(whole.map_or(trace, |whole| (*whole.trace).clone())));
            }
        }
        Ok(None)
    }
}

impl Iterator for Export {
    type Item = Result<Trace, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.part.is_some() {
                match self.next_of_part() {
                    Ok(Some(trace)) => return Some(Ok(trace)),
                    Ok(None) => self.part = None,
                    Err(error) => {
                        self.part = None;
                        return Some(Err(error));
                    }
                }
            }
            if let Some((part, gone)) = self.parts.pop_front() {
                match self.begin(&part, &gone) {
                    Ok(reading) => self.part = reading,
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            let stored = self.fresh.pop_front()?;
            let wanted = self.fresh_wanted.as_ref();
            if wanted.is_none_or(|wanted| wanted.contains(&stored.trace.id)) {
                return Some(Ok((*stored.trace).clone()));
            }
        }
    }
}

impl Reading {
    fn next(&mut self) -> Result<Option<Trace>, StoreError> {
        loop {
            if let Some(trace) = self.ready.pop_front() {
                return Ok(Some(trace));
            }
            if !self.cursor.more() {
                return Ok(self.open.take());
            }
            self.cursor.read()?;
            let frame = self.cursor.take_below(None)?;
            let read = self.rows.read(&frame);
            let (spans, logs) = read.map_err(|error| StoreError::Damaged {
                file: self.part.files.path(Table::Spans),
                what: error.to_string(),
            })?;
            for span in spans {
                if self
                    .open
                    .as_ref()
                    .is_none_or(|open| open.id != span.trace_id)
                {
                    self.ready.extend(self.open.take());
                    self.open = Some(Trace {
                        id: span.trace_id,
                        ..Trace::default()
                    });
                }
                if let Some(open) = &mut self.open {
                    open.spans.push(span);
                }
            }
            for log in logs {
                let mut traces = self.ready.iter_mut().chain(self.open.as_mut());
                if let Some(trace) = traces.find(|trace| trace.id == log.trace_id) {
                    trace.logs.push(log);
                }
            }
        }
    }
}
