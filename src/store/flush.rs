//! Fresh traces become parts: one part for each hour in which their requests start.

use std::collections::{BTreeMap, BTreeSet};

use super::count::Outcomes;
use super::durable::{Change, Durable};
use super::error::StoreError;
use super::folder::hour_of;
use super::memory::{Memory, Stored};
use super::parts::Reach;
use super::write::{NewPart, PartWriter};
use crate::model::{Nanos, TraceId};
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
    /// How long it took.
    pub took: Nanos,
}

/// Brings what is fresh into parts.
pub(super) fn flush(durable: &Durable, memory: &Memory) -> Result<Flushed, StoreError> {
    let started = clock::monotonic_nanos();
    let mut manifest = durable.manifest();
    let fresh = memory.unflushed();
    if fresh.is_empty() {
        durable.tidy();
        return Ok(Flushed::default());
    }
    let mut change = Change {
        add: write(durable, &fresh)?,
        ..Change::default()
    };
    change.dead = superseded(durable, fresh.iter().map(|(_, stored)| stored));
    let sum = |of: fn(&Stored) -> usize| fresh.iter().map(|(_, stored)| of(stored) as u64).sum();
    let mut flushed = Flushed {
        traces: fresh.len() as u64,
        requests: sum(|stored| stored.analysis.requests.len()),
        spans: sum(|stored| stored.trace.spans.len()),
        parts: change.add.len() as u64,
        bytes: change.add.iter().map(|part| part.meta.bytes()).sum(),
        superseded: change.dead.values().map(|dead| dead.len() as u64).sum(),
        took: Nanos::ZERO,
    };
    durable.commit(&mut manifest, change, || memory.flushed(&fresh))?;
    flushed.took = Nanos(clock::monotonic_nanos() - started);
    Ok(flushed)
}

fn write(durable: &Durable, fresh: &[(u64, Stored)]) -> Result<Vec<NewPart>, StoreError> {
    let mut hours: BTreeMap<u64, Vec<(&Stored, Share)>> = BTreeMap::new();
    for (_, stored) in fresh {
        for (hour, share) in shares(stored) {
            hours.entry(hour).or_default().push((stored, share));
        }
    }
    let mut parts = Vec::with_capacity(hours.len());
    for (hour, mut traces) in hours {
        traces.sort_by_key(|(stored, _)| stored.analysis.trace_id);
        let id = durable.next_id();
        let mut writer = PartWriter::new(&durable.folder, &durable.options.probe, hour, &id);
        for (stored, share) in traces {
            let (trace, analysis) = (&stored.trace, &stored.analysis);
            match share {
                Share::All => writer.add(trace, analysis, None, true)?,
                Share::Hour { rest } => {
                    let of_hour = |request: &_| hour_of(start_of(request)) == hour;
                    writer.add(trace, analysis, Some(&of_hour), rest)?;
                }
            }
        }
        parts.push(writer.finish()?);
    }
    Ok(parts)
}

/// What of a trace goes into an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    All,
    /// The requests that start in it, and if so the spans of no request.
    Hour {
        rest: bool,
    },
}

fn start_of(request: &crate::model::Request) -> crate::model::UnixNanos {
    request.start
}

fn shares(stored: &Stored) -> Vec<(u64, Share)> {
    let requests = stored.analysis.requests.iter();
    let hours: BTreeSet<u64> = requests.map(|request| hour_of(request.start)).collect();
    let first = stored
        .analysis
        .requests
        .first()
        .map(|request| request.start);
    let first = first.or_else(|| stored.trace.spans.iter().map(|span| span.start).min());
    let first = hour_of(first.unwrap_or_default());
    if hours.len() < 2 {
        return vec![(first, Share::All)];
    }
    let share = |hour| {
        (
            hour,
            Share::Hour {
                rest: hour == first,
            },
        )
    };
    hours.into_iter().map(share).collect()
}

/// What these traces supersede, by part.
fn superseded<'a>(
    durable: &Durable,
    traces: impl Iterator<Item = &'a Stored>,
) -> BTreeMap<String, BTreeMap<TraceId, Outcomes>> {
    let state = durable.state();
    let mut candidates: BTreeMap<String, Vec<TraceId>> = BTreeMap::new();
    for stored in traces {
        let id = stored.analysis.trace_id;
        for part in state.candidates(id, Some(Reach::of(&stored.trace))) {
            candidates.entry(part.meta.id.clone()).or_default().push(id);
        }
    }
    let mut dead = BTreeMap::new();
    for (part, ids) in candidates {
        let Some(found) = state.parts.iter().find(|known| known.meta.id == part) else {
            continue;
        };
        match found.outcomes_of(&ids) {
            Ok(outcomes) if outcomes.is_empty() => {}
            Ok(outcomes) => {
                dead.insert(part, outcomes);
            }
            // It cannot be read: what it has stays live, in case it is put back.
            Err(error) => tracing::warn!(%error, "a part is left out of a flush"),
        }
    }
    dead
}
