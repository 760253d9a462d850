//! Since when there are findings.
//!
//! Whether one is new takes a look at every part, and a month of summaries is more than stays in
//! memory. So of each part that was looked at, the first start of each group is kept: 16 bytes a
//! group, as long as the part is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use super::Rollup;
use super::cache::Summaries;
use crate::model::{Text, TraceId, UnixNanos};
use crate::store::error::StoreError;
use crate::store::parts::Part;
use crate::store::snapshot::{Snapshot, Window};

/// The first start of a request with findings of a group, by the hash of the group's names.
type Firsts = BTreeMap<u64, UnixNanos>;

/// The first starts of parts, by name.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<BTreeMap<String, OfPart>>);

#[derive(Debug)]
struct OfPart {
    /// Its traces that were superseded.
    gone: Vec<TraceId>,
    firsts: Arc<Firsts>,
}

impl Snapshot {
    /// When the first request began that has findings of a group, by rule, service and callee; of
    /// groups that were folded nothing is known. Summaries are read of parts alone that were not
    /// looked at before.
    ///
    /// # Errors
    /// As of [`sums`](Self::sums).
    pub fn since(
        &self,
        groups: &[&[Text; 3]],
    ) -> Result<BTreeMap<[Text; 3], UnixNanos>, StoreError> {
        let hashes: Vec<u64> = groups.iter().map(|names| hash(names)).collect();
        let mut since: BTreeMap<[Text; 3], UnixNanos> = BTreeMap::new();
        let mut take = |firsts: &Firsts| {
            for (names, hash) in groups.iter().zip(&hashes) {
                if let Some(first) = firsts.get(hash) {
                    let known = since.entry((*names).clone()).or_insert(*first);
                    *known = (*known).min(*first);
                }
            }
        };
        let mut parts: BTreeSet<&str> = BTreeSet::new();
        for part in self.parts_in(&Window::ALL) {
            parts.insert(&part.meta.id);
            let firsts = self.firsts_of(part)?;
            take(&firsts);
        }
        for chunk in self.fresh_chunks() {
            take(&chunk.summary().firsts());
        }
        let mut known = self.summaries().firsts.lock();
        known.retain(|part, _| parts.contains(part.as_str()));
        Ok(since)
    }

    /// Looks at each part before someone asks, as long as `go_on` says so; makes the summaries that
    /// are missing.
    ///
    /// # Errors
    /// As of [`sums`](Self::sums).
    pub fn look_back(&self, go_on: impl Fn() -> bool) -> Result<(), StoreError> {
        for part in self.parts_in(&Window::ALL) {
            if !go_on() {
                break;
            }
            self.firsts_of(part)?;
        }
        Ok(())
    }

    fn firsts_of(&self, part: &Part) -> Result<Arc<Firsts>, StoreError> {
        match self.summaries().firsts_of(part, &self.gone_of(part)) {
            // Damage is told by `faults`.
            Err(StoreError::Damaged { .. }) => Ok(Arc::default()),
            firsts => firsts,
        }
    }
}

impl Summaries {
    fn firsts_of(&self, part: &Part, gone: &[TraceId]) -> Result<Arc<Firsts>, StoreError> {
        let known = self.firsts.lock().get(&part.meta.id).and_then(|known| {
            let same = known.gone == gone;
            same.then(|| Arc::clone(&known.firsts))
        });
        if let Some(firsts) = known {
            return Ok(firsts);
        }
        let rollup = self.of(part, gone, true)?;
        let firsts = Arc::new(rollup.map(|rollup| rollup.firsts()).unwrap_or_default());
        let of_part = OfPart {
            gone: gone.to_vec(),
            firsts: Arc::clone(&firsts),
        };
        self.firsts.lock().insert(part.meta.id.clone(), of_part);
        Ok(firsts)
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, OfPart>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rollup {
    fn firsts(&self) -> Firsts {
        let groups = self.findings.iter().filter_map(|group| {
            let oldest = group.whole.oldest.first()?;
            Some((hash(&group.key), oldest.0.0.start))
        });
        groups.collect()
    }
}

/// Of names with their lengths, so that `ab`, `c` is not `a`, `bc`.
fn hash(names: &[Text; 3]) -> u64 {
    let mut hasher = Xxh3::new();
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    hasher.digest()
}
