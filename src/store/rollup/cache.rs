//! Summaries at hand, and those of new parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::build::Builder;
use super::rows::{Which, summary};
use super::{Rollup, firsts};
use crate::model::{Request, TraceId};
use crate::store::durable::Durable;
use crate::store::error::StoreError;
use crate::store::memory::Stored;
use crate::store::parts::Part;
use crate::store::share::{Share, partition_of, shares};

/// The most bytes of summaries that stay in memory. Those that were used last stay.
const MOST_BYTES: usize = 128 << 20;

/// Summaries of parts, as far as they are at hand.
#[derive(Debug, Default)]
pub(in crate::store) struct Summaries {
    entries: Mutex<BTreeMap<String, Arc<Entry>>>,
    uses: AtomicU64,
    pub(super) firsts: firsts::Known,
}

#[derive(Debug, Default)]
struct Entry {
    known: Mutex<Known>,
    used: AtomicU64,
    bytes: AtomicUsize,
}

/// What is known of a part.
#[derive(Debug, Default)]
struct Known {
    /// All its rows.
    base: Option<Arc<Rollup>>,
    /// Superseded traces that were looked for in it.
    looked_for: BTreeSet<TraceId>,
    /// Those of them that it has, and their summary.
    gone: BTreeSet<TraceId>,
    of_gone: Rollup,
    /// The others'.
    live: Option<Arc<Rollup>>,
    /// For whom that was asked last.
    asked: Vec<TraceId>,
}

impl Rollup {
    /// That of some requests.
    pub(in crate::store) fn of<'a>(requests: impl Iterator<Item = &'a Request>) -> Self {
        let mut builder = Builder::default();
        requests.for_each(|request| builder.add(request));
        builder.finish()
    }
}

impl Summaries {
    /// The summary of a part without these traces, which are those of it that are superseded and
    /// possibly others; one that is not at hand is read, or made from the rows. Without `make`
    /// it is not made: `None` then.
    pub(super) fn of(
        &self,
        part: &Part,
        gone: &[TraceId],
        make: bool,
    ) -> Result<Option<Arc<Rollup>>, StoreError> {
        if let Some(lost) = &part.lost {
            return Err(lost.clone().into());
        }
        let entry = self.entry(&part.meta.id);
        let mut known = entry.known.lock().unwrap_or_else(PoisonError::into_inner);
        let base = match &known.base {
            Some(base) => Arc::clone(base),
            None => match base_of(part, make)? {
                Some(base) => Arc::clone(known.base.insert(Arc::new(base))),
                None => return Ok(None),
            },
        };
        let found = if gone.is_empty() && known.gone.is_empty() {
            base
        } else {
            known.without(part, &base, gone)?
        };
        entry.bytes.store(known.bytes(), Ordering::Relaxed);
        drop(known);
        self.evict(&part.meta.id);
        Ok(Some(found))
    }

    /// That of a part that was just written.
    fn put(&self, id: &str, rollup: Rollup) {
        let entry = self.entry(id);
        let mut known = entry.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.base = Some(Arc::new(rollup));
        entry.bytes.store(known.bytes(), Ordering::Relaxed);
        drop(known);
        self.evict(id);
    }

    fn entry(&self, id: &str) -> Arc<Entry> {
        let use_of_it = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.entries();
        if !entries.contains_key(id) {
            entries.insert(id.to_owned(), Arc::default());
        }
        let entry = entries.get(id).map(Arc::clone).unwrap_or_default();
        entry.used.store(use_of_it, Ordering::Relaxed);
        entry
    }

    /// Lets go of what was not used for the longest time, as far as it is too much.
    fn evict(&self, but: &str) {
        let mut entries = self.entries();
        let size = |entry: &Arc<Entry>| entry.bytes.load(Ordering::Relaxed);
        let mut sum: usize = entries.values().map(size).sum();
        while sum > MOST_BYTES {
            let others = entries.iter().filter(|(id, _)| *id != but);
            let oldest = others.min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            sum -= entries.remove(&oldest).as_ref().map_or(0, size);
        }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn without(
        &mut self,
        part: &Part,
        base: &Arc<Rollup>,
        gone: &[TraceId],
    ) -> Result<Arc<Rollup>, StoreError> {
        if let Some(live) = self.live.as_ref().filter(|_| self.asked == gone) {
            return Ok(Arc::clone(live));
        }
        let asked: BTreeSet<TraceId> = gone.iter().copied().collect();
        // A snapshot from before some were superseded.
        if !self.gone.is_subset(&asked) {
            let gone: Vec<TraceId> = asked.iter().copied().collect();
            let of_gone = summary(part, Which::Only(&gone))?;
            return exact(part, base, &of_gone, &asked);
        }
        let new: Vec<TraceId> = asked.difference(&self.looked_for).copied().collect();
        if !new.is_empty() {
            let of_new = summary(part, Which::Only(&new))?;
            // Filters take some for its own that are not: those change nothing.
            if of_new.rows()[0] > 0 {
                let has = part.outcomes_of(&new)?;
                self.gone.extend(has.keys());
                self.of_gone.merge(&of_new);
                self.live = None;
            }
            self.looked_for.extend(new);
        }
        gone.clone_into(&mut self.asked);
        if let Some(live) = &self.live {
            return Ok(Arc::clone(live));
        }
        let live = if self.gone.is_empty() {
            Arc::clone(base)
        } else {
            exact(part, base, &self.of_gone, &self.gone)?
        };
        self.live = Some(Arc::clone(&live));
        Ok(live)
    }

    fn bytes(&self) -> usize {
        let rollups = [&self.base, &self.live].into_iter().flatten();
        let ids = (self.gone.len() + self.looked_for.len()) * size_of::<TraceId>();
        rollups.map(|rollup| rollup.bytes()).sum::<usize>() + self.of_gone.bytes() + ids
    }
}

/// Without what is gone; from the rows where an example is missing otherwise.
fn exact(
    part: &Part,
    base: &Rollup,
    of_gone: &Rollup,
    gone: &BTreeSet<TraceId>,
) -> Result<Arc<Rollup>, StoreError> {
    let (live, lost) = base.without(of_gone, &|id| gone.contains(&id));
    if !lost {
        return Ok(Arc::new(live));
    }
    let gone: Vec<TraceId> = gone.iter().copied().collect();
    summary(part, Which::Without(&gone)).map(Arc::new)
}

/// The file, or else from the rows, and then the file is written again.
fn base_of(part: &Part, make: bool) -> Result<Option<Rollup>, StoreError> {
    let path = part.files.summary_path();
    match Rollup::load(&path) {
        Ok(Some(rollup)) => return Ok(Some(rollup)),
        Ok(None) | Err(_) if !make => return Ok(None),
        Err(why) if path.exists() => {
            tracing::warn!(file = %path.display(), "{why}; made again from its part");
        }
        Ok(None) | Err(_) => {}
    }
    let rollup = summary(part, Which::All)?;
    if !part.files.is_of_another() {
        save(&rollup, &path);
    }
    Ok(Some(rollup))
}

fn save(rollup: &Rollup, path: &Path) {
    if let Err(error) = rollup.save(path) {
        // It is made again when it is needed.
        tracing::warn!(file = %path.display(), %error, "a summary cannot be written");
    }
}

/// Makes the summaries of parts, by name and hour, that these traces went to.
pub(in crate::store) fn after_flush(
    durable: &Durable,
    parts: &[(String, u64)],
    fresh: &[(u64, Stored)],
) {
    let mut builders: BTreeMap<u64, Builder> = BTreeMap::new();
    for (_, stored) in fresh {
        let requests = &stored.analysis.requests;
        for (hour, share) in shares(stored) {
            let builder = builders.entry(hour).or_default();
            let is_here =
                |request: &&Request| share == Share::All || partition_of(request.start) == hour;
            let here = requests.iter().filter(is_here);
            here.for_each(|request| builder.add(request));
        }
    }
    for (id, hour) in parts {
        let builder = builders.remove(hour).unwrap_or_default();
        keep(durable, id, builder.finish());
    }
}

/// The summary of what some parts become when they are merged, if all of theirs can be had without
/// reading rows.
pub(in crate::store) fn before_merge(durable: &Durable, parts: &[Arc<Part>]) -> Option<Rollup> {
    let mut merged = Rollup::default();
    for part in parts {
        let of_part = durable.summaries.of(part, part.dead.ids(), false);
        merged.merge(of_part.ok().flatten()?.as_ref());
    }
    merged.cap();
    Some(merged)
}

/// Keeps the summary of a part that others were merged into.
pub(in crate::store) fn after_merge(durable: &Durable, id: &str, rollup: Option<Rollup>) {
    if let Some(rollup) = rollup {
        keep(durable, id, rollup);
    }
}

fn keep(durable: &Durable, id: &str, rollup: Rollup) {
    if !durable.options.probe.is_dead() {
        save(&rollup, &durable.folder.summary(id));
        durable.summaries.put(id, rollup);
    }
}
