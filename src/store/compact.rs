//! Parts of an hour are merged, so that there are few of them, and superseded rows go.
//!
//! While an hour fills, parts of like size are merged when there are enough of them: a row is
//! written again once for each power of [`Compaction::fan_in`] that the hour grows to. When it is
//! over, what there is becomes one part. Merging reads a row group of each source at a time.
//! Flushes go on meanwhile: only the commit waits for them, and what they superseded in the sources
//! is superseded in the merged part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use super::count::Outcomes;
use super::durable::{Change, Durable, State};
use super::error::StoreError;
use super::folder::bounds;
use super::index::Dead;
use super::merge::merge;
use super::options::Compaction;
use super::parquet::Encoding;
use super::parts::Part;
use super::rollup::{after_merge, before_merge};
use super::tables::Table;
use super::write::PartWriter;
use crate::model::{Nanos, TraceId, UnixNanos};
use crate::telemetry::clock;

/// What merging did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Parts that were merged.
    pub merged: u64,
    /// Parts that they became.
    pub made: u64,
    /// Superseded traces that went.
    pub dropped: u64,
    /// Bytes of the tables that were merged.
    pub bytes_before: u64,
    /// Bytes of what they became.
    pub bytes_after: u64,
    /// How long it took.
    pub took: Nanos,
}

impl Compacted {
    /// Adds what the next one did.
    fn add(&mut self, next: &Self) {
        self.merged += next.merged;
        self.made += next.made;
        self.dropped += next.dropped;
        self.bytes_before += next.bytes_before;
        self.bytes_after += next.bytes_after;
        self.took += next.took;
    }
}

/// Merges what there is to merge at `now`; without an instant everything: each hour becomes one
/// part, as far as the ceiling allows, without superseded rows.
pub(super) fn compact(durable: &Durable, now: Option<UnixNanos>) -> Result<Compacted, StoreError> {
    let mut all = Compacted::default();
    loop {
        let done = compact_some(durable, now)?;
        if done.merged == 0 {
            return Ok(all);
        }
        all.add(&done);
    }
}

/// The next merge of these, if there is one.
pub(super) fn compact_some(
    durable: &Durable,
    now: Option<UnixNanos>,
) -> Result<Compacted, StoreError> {
    let started = clock::monotonic_nanos();
    let maintenance = durable.maintenance.lock();
    let _maintenance = maintenance.unwrap_or_else(PoisonError::into_inner);
    let mut done = Compacted::default();
    let (mut failed, mut error) = (BTreeSet::new(), None);
    while done.merged == 0 {
        let config = &durable.options.compaction;
        let Some((lot, plan)) = next(&durable.state(), now, config, &failed) else {
            break;
        };
        match run(durable, lot.0, plan, &mut done) {
            Ok(()) => {}
            Err(full) if full.is_full() => return Err(full),
            // What stands in the way of one keeps the others not from theirs.
            Err(why) => {
                failed.insert(lot);
                error.get_or_insert(why);
            }
        }
    }
    durable.tidy();
    if let Some(error) = error.filter(|_| done.merged == 0) {
        return Err(error);
    }
    done.took = Nanos(clock::monotonic_nanos() - started);
    Ok(done)
}

/// A partition, and which parts of it become one.
type Lot = (u64, Option<u64>);

/// What to merge next.
fn next(
    state: &State,
    now: Option<UnixNanos>,
    config: &Compaction,
    failed: &BTreeSet<Lot>,
) -> Option<(Lot, Plan)> {
    let mut lots: BTreeMap<Lot, Vec<&Arc<Part>>> = BTreeMap::new();
    for part in &state.parts {
        let of = (part.meta.hour, part.meta.lot());
        lots.entry(of).or_default().push(part);
    }
    let mut lots = lots.into_iter().filter(|(lot, _)| !failed.contains(lot));
    lots.find_map(|((hour, lot), parts)| {
        let plan = plan(parts, lot.unwrap_or(hour), now, config)?;
        Some(((hour, lot), plan))
    })
}

#[derive(Debug)]
struct Plan {
    parts: Vec<Arc<Part>>,
    settled: bool,
}

/// What to merge next of parts of one partition that may become one when the hour `last` is over.
fn plan(
    mut parts: Vec<&Arc<Part>>,
    last: u64,
    now: Option<UnixNanos>,
    config: &Compaction,
) -> Option<Plan> {
    // A damaged part stays as it is, for whoever can put it right; and one that is back, until what
    // came meanwhile is put together with it.
    parts.retain(|part| !part.is_faulty() && !part.meta.left_out);
    parts.sort_by_key(|part| (spans(part), part.meta.generation));
    let settle = Nanos(i64::try_from(config.settle.as_nanos()).unwrap_or(i64::MAX));
    let end = bounds(last).1.shifted(settle);
    let over = now.is_none_or(|now| end <= now);
    let all = now.is_none() || !parts.iter().any(|part| part.meta.settled);
    if over && all {
        let few = fitting(&parts, config.max_spans);
        if few.len() > 1 {
            return Some(Plan {
                parts: few,
                settled: true,
            });
        }
    }
    let fan_in = config.fan_in.max(2);
    let mut tiers: BTreeMap<u32, Vec<&Arc<Part>>> = BTreeMap::new();
    for part in &parts {
        let size = spans(part) / 4096 + 1;
        tiers
            .entry(size.ilog(fan_in as u64))
            .or_default()
            .push(part);
    }
    for tier in tiers.into_values().filter(|tier| tier.len() >= fan_in) {
        let few = fitting(tier.get(..fan_in)?, config.max_spans);
        if few.len() > 1 {
            return Some(Plan {
                parts: few,
                settled: false,
            });
        }
    }
    let worn = parts.into_iter().find(|part| {
        let (dead, traces) = (part.meta.dead_traces(), part.meta.traces);
        dead > 0 && (now.is_none() || dead * 100 > config.dead_percent * traces)
    })?;
    Some(Plan {
        settled: worn.meta.settled,
        parts: vec![Arc::clone(worn)],
    })
}

/// The first of these parts, as many as may become one.
fn fitting(parts: &[&Arc<Part>], max_spans: u64) -> Vec<Arc<Part>> {
    let mut sum = 0;
    let fit = parts.iter().take_while(|part| {
        sum += spans(part);
        sum <= max_spans
    });
    fit.map(|part| Arc::clone(part)).collect()
}

fn spans(part: &Part) -> u64 {
    part.meta.rows(Table::Spans)
}

fn run(durable: &Durable, hour: u64, plan: Plan, done: &mut Compacted) -> Result<(), StoreError> {
    let id = durable.next_id()?;
    // What is merged again soon is not worth the time.
    let encoding = if plan.settled {
        Encoding::SMALL
    } else {
        Encoding::FAST
    };
    let mut writer = PartWriter::new(durable, hour, &id, encoding);
    for part in &plan.parts {
        if let Some(filter) = part.filter() {
            writer.add_split(filter.split());
        }
    }
    for table in Table::ALL {
        merge(table, &plan.parts, &mut writer)?;
    }
    let mut part = writer.finish()?;
    part.meta.settled = plan.settled;
    part.meta.came = plan.parts.iter().filter_map(|part| part.meta.came).max();

    let mut manifest = durable.manifest();
    let state = durable.state();
    // What was superseded while this merged.
    let mut dead: BTreeSet<TraceId> = BTreeSet::new();
    let mut requests = Outcomes::default();
    for source in &plan.parts {
        let now = state
            .parts
            .iter()
            .find(|part| part.meta.id == source.meta.id);
        let Some(now) = now else {
            return Err(StoreError::Engine(
                "a part went while it was merged".to_owned(),
            ));
        };
        part.meta.left_out |= now.meta.left_out;
        dead.extend(now.dead.ids().iter().filter(|id| !source.dead.has(**id)));
        let mut since = now
            .meta
            .dead
            .as_ref()
            .map(|dead| dead.requests)
            .unwrap_or_default();
        since.subtract(
            &source
                .meta
                .dead
                .as_ref()
                .map(|dead| dead.requests)
                .unwrap_or_default(),
        );
        requests.merge(&since);
    }
    drop(state);
    if !dead.is_empty() {
        part.add_dead(&durable.folder, &Dead::of(dead), requests)?;
    }
    let sum = |of: fn(&Part) -> u64| plan.parts.iter().map(|part| of(part)).sum::<u64>();
    let (merged, before) = (plan.parts.len() as u64, sum(|part| part.meta.bytes()));
    let (made, after) = (u64::from(part.meta.traces > 0), part.meta.bytes());
    let dropped = sum(|part| part.meta.dead_traces());
    let change = Change {
        remove: plan.parts.iter().map(|part| part.meta.id.clone()).collect(),
        add: Some(part).filter(|_| made > 0).into_iter().collect(),
        ..Change::default()
    };
    let summary = before_merge(durable, &plan.parts);
    drop(plan);
    durable.commit(&mut manifest, change, || ())?;
    drop(manifest);
    if made > 0 {
        after_merge(durable, &id, summary);
    }
    done.merged += merged;
    done.made += made;
    done.dropped += dropped;
    done.bytes_before += before;
    done.bytes_after += after;
    Ok(())
}
