//! Fresh traces become parts: one part for each hour in which their requests start, of so many hours
//! at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use super::count::Outcomes;
use super::durable::{Change, Durable};
use super::error::StoreError;
use super::memory::{Memory, Stored, Superseding, Unflushed};
use super::parquet::Encoding;
use super::parts::{Part, Reach};
use super::rollup::after_flush;
use super::share::{Share, partition_of, shares};
use super::write::{NewPart, PartWriter};
use crate::model::{Nanos, Request, TraceId};
use crate::telemetry::clock;

/// What a flush did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flushed {
    /// Traces that went into parts.
    pub traces: u64,
    /// Their requests.
    pub requests: u64,
    /// Their spans.
    pub spans: u64,
    /// New parts.
    pub parts: u64,
    /// Bytes of their tables.
    pub bytes: u64,
    /// Traces of older parts that these superseded.
    pub superseded: u64,
    /// Traces that wait for the next flush, because this one made as many parts as one may.
    pub left: u64,
    /// How long it took.
    pub took: Nanos,
}

/// New parts of one flush: what is fresh of more partitions waits for the next.
pub(super) const PARTS: usize = 32;

impl Flushed {
    /// Adds what the next one did.
    pub(super) fn add(&mut self, next: &Self) {
        self.traces += next.traces;
        self.requests += next.requests;
        self.spans += next.spans;
        self.parts += next.parts;
        self.bytes += next.bytes;
        self.superseded += next.superseded;
        self.left = next.left;
        self.took += next.took;
    }
}

/// Brings what is fresh into parts, as far as [`PARTS`] of them allow.
pub(super) fn flush(durable: &Durable, memory: &Memory) -> Result<Flushed, StoreError> {
    let started = clock::monotonic_nanos();
    let flushing = durable.flushing.lock();
    let _flushing = flushing.unwrap_or_else(PoisonError::into_inner);
    let Unflushed {
        states: all,
        superseding,
    } = memory.unflushed();
    if all.is_empty() {
        durable.tidy();
        return Ok(Flushed::default());
    }
    let Choice {
        fresh,
        by_hour,
        left,
    } = choose(all);
    let mut change = Change {
        add: write(durable, &fresh, by_hour)?,
        ..Change::default()
    };
    // Others may commit while files are written, and not from here on.
    let mut manifest = durable.manifest();
    change.dead = superseded(durable, &fresh, &superseding)?;
    change.left_out = left_out(durable, &fresh);
    let sum = |of: fn(&Stored) -> usize| fresh.iter().map(|(_, stored)| of(stored) as u64).sum();
    let mut flushed = Flushed {
        traces: fresh.len() as u64,
        requests: sum(|stored| stored.analysis.requests.len()),
        spans: sum(|stored| stored.trace.spans.len()),
        parts: change.add.len() as u64,
        bytes: change.add.iter().map(|part| part.meta.bytes()).sum(),
        superseded: change.dead.values().map(|dead| dead.len() as u64).sum(),
        left,
        took: Nanos::ZERO,
    };
    let parts = change
        .add
        .iter()
        .map(|part| (part.meta.id.clone(), part.meta.hour));
    let parts: Vec<(String, u64)> = parts.collect();
    durable.commit(&mut manifest, change, || {
        memory.flushed(&fresh, &superseding);
    })?;
    drop(manifest);
    after_flush(durable, &parts, &fresh);
    flushed.took = Nanos(clock::monotonic_nanos() - started);
    Ok(flushed)
}

/// What one flush takes.
struct Choice {
    /// In the order of ids.
    fresh: Vec<(u64, Stored)>,
    /// Which of these have what in a partition, in the order of ids.
    by_hour: BTreeMap<u64, Vec<(usize, Share)>>,
    /// How many traces wait.
    left: u64,
}

/// Chooses what fits into [`PARTS`] partitions: half of them are those with the most spans, so that
/// the hour of the day does not wait behind strange ones, the others those that have waited the
/// longest, so that nothing waits for ever.
fn choose(all: Vec<(u64, Stored)>) -> Choice {
    let shares: Vec<Vec<(u64, Share)>> = all.iter().map(|(_, stored)| shares(stored)).collect();
    let mut spans: BTreeMap<u64, usize> = BTreeMap::new();
    for ((_, stored), shares) in all.iter().zip(&shares) {
        for (hour, _) in shares {
            *spans.entry(*hour).or_default() += stored.trace.spans.len().max(1);
        }
    }
    let mut taken = vec![true; all.len()];
    if spans.len() > PARTS {
        let mut hours: BTreeSet<u64> = BTreeSet::new();
        let most = |index: usize| {
            let shares = shares.get(index).into_iter().flatten();
            shares.filter_map(|(hour, _)| spans.get(hour)).max()
        };
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|index| (Reverse(most(*index)), *index));
        let by_size = std::mem::take(&mut order);
        order = (0..all.len()).collect();
        order.sort_by_key(|index| all.get(*index).map(|(put, _)| *put));
        taken.fill(false);
        for (order, places) in [(by_size, PARTS / 2), (order, PARTS)] {
            for index in order {
                let (Some(shares), Some(taken)) = (shares.get(index), taken.get_mut(index)) else {
                    continue;
                };
                let new = shares.iter().filter(|(hour, _)| !hours.contains(hour));
                if hours.len() + new.count() <= places {
                    hours.extend(shares.iter().map(|(hour, _)| *hour));
                    *taken = true;
                }
            }
        }
    }
    let mut choice = Choice {
        fresh: Vec::with_capacity(all.len()),
        by_hour: BTreeMap::new(),
        left: 0,
    };
    for ((state, shares), taken) in all.into_iter().zip(shares).zip(taken) {
        if !taken {
            choice.left += 1;
            continue;
        }
        for (hour, share) in shares {
            let of_hour = choice.by_hour.entry(hour).or_default();
            of_hour.push((choice.fresh.len(), share));
        }
        choice.fresh.push(state);
    }
    choice
}

fn write(
    durable: &Durable,
    fresh: &[(u64, Stored)],
    by_hour: BTreeMap<u64, Vec<(usize, Share)>>,
) -> Result<Vec<NewPart>, StoreError> {
    let mut parts = Vec::with_capacity(by_hour.len());
    let came = clock::unix_nanos();
    for (hour, traces) in by_hour {
        let id = durable.next_id()?;
        let mut writer = PartWriter::new(durable, hour, &id, Encoding::FAST);
        for (index, share) in traces {
            let Some((_, stored)) = fresh.get(index) else {
                continue;
            };
            let (trace, analysis) = (&stored.trace, &stored.analysis);
            match share {
                Share::All => writer.add(trace, analysis, None, true)?,
                Share::Hour { rest } => {
                    let of_hour = |request: &Request| partition_of(request.start) == hour;
                    writer.add(trace, analysis, Some(&of_hour), rest)?;
                }
            }
        }
        let mut part = writer.finish()?;
        part.meta.came = Some(came);
        parts.push(part);
    }
    Ok(parts)
}

/// What these traces supersede, by part: of those alone that were found to when they were put.
fn superseded(
    durable: &Durable,
    traces: &[(u64, Stored)],
    superseding: &Superseding,
) -> Result<BTreeMap<String, BTreeMap<TraceId, Outcomes>>, StoreError> {
    let state = durable.state();
    let mut candidates: BTreeMap<&str, (&Arc<Part>, Vec<TraceId>)> = BTreeMap::new();
    for (_, stored) in traces {
        let id = stored.analysis.trace_id;
        let Some((reach, _)) = superseding.get(&id) else {
            continue;
        };
        for part in state.candidates(id, Some(*reach)) {
            let entry = candidates.entry(part.meta.id.as_str());
            entry.or_insert((part, Vec::new())).1.push(id);
        }
    }
    let mut dead = BTreeMap::new();
    // Of one that cannot be read nothing was taken over: what it has stays, in case it is put back.
    let parts = candidates.into_values();
    for (found, ids) in parts.filter(|(part, _)| !part.is_faulty()) {
        // They come in the order of ids.
        match found
            .outcomes_of(&ids)
            .map_err(|error| found.or_gone(error))
        {
            Ok(outcomes) if outcomes.is_empty() => {}
            Ok(outcomes) => {
                let all = outcomes.into_iter().map(|(id, hours)| {
                    let mut of = Outcomes::default();
                    for outcomes in hours.values() {
                        of.merge(outcomes);
                    }
                    (id, of)
                });
                dead.insert(found.meta.id.clone(), all.collect());
            }
            Err(error @ StoreError::Damaged { .. }) => {
                tracing::warn!(%error, "a part is left out of a flush");
            }
            // It may go by: what was taken over must not be there twice.
            Err(error) => return Err(error),
        }
    }
    Ok(dead)
}

/// The parts that cannot be read and may have former states of these traces.
fn left_out(durable: &Durable, traces: &[(u64, Stored)]) -> BTreeMap<String, bool> {
    let state = durable.state();
    let parts = state.parts.iter().filter(|part| {
        let near = |stored: &Stored| part.reaches(Reach::of(&stored.trace));
        let near = traces.iter().filter(|(_, stored)| near(stored));
        !part.meta.left_out && part.leaves_out(near.map(|(_, stored)| stored.trace.id))
    });
    parts.map(|part| (part.meta.id.clone(), true)).collect()
}
