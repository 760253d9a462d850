//! Questions to the summaries.

use std::collections::BTreeMap;
use std::sync::Arc;

use polars::prelude::{IntoLazy as _, LazyFrame, UnionArgs, concat};

use super::cache::Summaries;
use super::{MINUTE, Minutes, Rollup, Sums, Wanted as WantedSums};
use crate::budget::{Typical, TypicalTime};
use crate::model::{Nanos, Text, TraceId, UnixNanos};
use crate::store::Window;
use crate::store::error::StoreError;
use crate::store::find::in_order;
use crate::store::index::hash;
use crate::store::parts::Part;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{Builder, Table, Wanted};

/// Successful runs from which on their median is typical.
const ENOUGH: u64 = 20;

impl Snapshot {
    /// Sums over the requests that start in some minutes. Rows are read only of traces that were
    /// superseded, and of parts that have no summary yet.
    ///
    /// # Errors
    /// As of [`scan`](Self::scan); what is damaged is left out.
    pub fn sums(&self, within: &Minutes, wanted: &WantedSums) -> Result<Sums, StoreError> {
        let mut sums = Sums::default();
        self.each_summary(within, true, |rollup| {
            rollup.add_to(&mut sums, within, wanted);
        })?;
        Ok(sums)
    }

    /// The same in stretches of `step` minutes each, in order of time. They begin at multiples of
    /// `step` since 1970, so the first and the last may lie in `within` in part.
    ///
    /// # Errors
    /// As [`sums`](Self::sums).
    pub fn series(
        &self,
        within: &Minutes,
        step: u64,
        wanted: &WantedSums,
    ) -> Result<Vec<Sums>, StoreError> {
        let step = step.max(1);
        let last = within.end.saturating_sub(1).max(within.start);
        let count = last / step - within.start / step + 1;
        let mut series = vec![Sums::default(); usize::try_from(count).unwrap_or(0)];
        self.each_summary(within, true, |rollup| {
            rollup.add_to_series(&mut series, within, step, wanted);
        })?;
        Ok(series)
    }

    /// The rows in `requests` of these traces, in no promised order.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn requests_of(&self, ids: &[TraceId]) -> Result<LazyFrame, StoreError> {
        let mut builder = Builder::new(&Wanted::tables([Table::Requests]));
        let fresh = self.fresh_chunks().flat_map(|chunk| chunk.each());
        for stored in fresh.filter(|stored| ids.contains(&stored.analysis.trace_id)) {
            builder.add(&stored.trace, &stored.analysis);
        }
        let fresh = builder.finish()?.into_iter().map(|(_, frame)| frame.lazy());
        let mut frames: Vec<LazyFrame> = fresh.collect();
        for part in self.parts_in(&Window::ALL) {
            let gone = self.gone_of(part);
            let has = |id: &TraceId| part.may_have(*id, hash(*id)) && !gone.contains(id);
            let here = in_order(ids.iter().copied().filter(has));
            if here.is_empty() {
                continue;
            }
            match part.rows_of(Table::Requests, &here, None) {
                Ok(Some(rows)) => frames.push(rows.lazy()),
                Ok(None) | Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(concat(frames, UnionArgs::default())?)
    }

    /// Median times of successful runs in some minutes. Without `make` only parts count whose
    /// summaries are there.
    ///
    /// # Errors
    /// As [`sums`](Self::sums).
    pub(in crate::store) fn learnt(
        &self,
        within: &Minutes,
        make: bool,
    ) -> Result<Typical, StoreError> {
        let wanted = WantedSums {
            hops: true,
            calls: true,
            ..WantedSums::default()
        };
        let mut sums = Sums::default();
        self.each_summary(within, make, |rollup| {
            rollup.add_to(&mut sums, within, &wanted);
        })?;
        Ok(sums.typical())
    }

    /// The first and the last start of a request, as far as the parts' and the pieces' bounds tell.
    pub fn span(&self) -> Option<(UnixNanos, UnixNanos)> {
        let parts = self
            .parts_in(&Window::ALL)
            .map(|part| (part.meta.min_start, part.meta.max_start));
        let fresh = self.fresh_chunks().map(|chunk| chunk.summary());
        let fresh = fresh.filter(|rollup| rollup.rows()[0] > 0).map(|rollup| {
            (
                rollup.first.saturating_mul(MINUTE),
                rollup.last.saturating_mul(MINUTE),
            )
        });
        let both = parts
            .chain(fresh)
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        both.map(|(first, last)| (UnixNanos(first), UnixNanos(last)))
    }

    fn each_summary(
        &self,
        within: &Minutes,
        make: bool,
        mut take: impl FnMut(&Rollup),
    ) -> Result<(), StoreError> {
        let instant = |minute: u64| UnixNanos(minute.saturating_mul(MINUTE));
        let window = Window {
            since: Some(instant(within.start)),
            until: Some(instant(within.end)).filter(|until| until.0 < u64::MAX),
        };
        for part in self.parts_in(&window) {
            match self.summary_of(part, make) {
                Ok(Some(rollup)) => take(&rollup),
                // Damage is told by `faults`.
                Ok(None) | Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for chunk in self.fresh_chunks() {
            let rollup = chunk.summary();
            if rollup.first < within.end && within.start <= rollup.last {
                take(rollup);
            }
        }
        Ok(())
    }

    fn summary_of(&self, part: &Arc<Part>, make: bool) -> Result<Option<Arc<Rollup>>, StoreError> {
        let summaries: &Summaries = self.summaries();
        summaries.of(part, &self.gone_of(part), make)
    }
}

impl Sums {
    /// Median times, where enough successful runs tell them.
    pub fn typical(&self) -> Typical {
        let time = |median: Option<i64>, runs: u64| {
            let median = Nanos(median.filter(|_| runs >= ENOUGH)?);
            Some(TypicalTime { median, runs })
        };
        let mut typical = Typical::default();
        for ([service, operation], hop) in &self.hops {
            let key = (service.clone(), operation.clone());
            let runs = hop.elapsed_ok.count();
            if let Some(all) = time(hop.elapsed_ok.percentile(50), runs) {
                typical.hops.insert(key.clone(), all);
            }
            if let Some(own) = time(hop.local_ok.percentile(50), runs) {
                typical.local.insert(key, own);
            }
        }
        let mut calls: BTreeMap<(Text, Text), super::Histogram> = BTreeMap::new();
        for ([service, _, to, ..], call) in &self.calls {
            let key = (service.clone(), to.clone());
            calls.entry(key).or_default().merge(&call.elapsed_ok);
        }
        let calls = calls
            .into_iter()
            .filter_map(|(key, times)| Some((key, time(times.percentile(50), times.count())?)));
        typical.calls = calls.collect();
        typical
    }
}
