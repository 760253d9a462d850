//! Sealed traces that wait until what is known of them can be read again.

use std::collections::{BTreeMap, HashSet};

use super::{Load, Sealed};
use crate::model::{Nanos, TraceId};

/// Sealed traces that wait, by the instant at which they are taken again. Of one id there is one
/// at most.
#[derive(Debug, Default)]
pub(super) struct Later {
    waiting: BTreeMap<(Nanos, TraceId), Sealed>,
    ids: HashSet<TraceId>,
    pub(super) load: Load,
}

impl Later {
    pub(super) fn put(&mut self, sealed: Sealed, at: Nanos) {
        let id = sealed.trace.id;
        self.load.add(sealed.load);
        self.ids.insert(id);
        self.waiting.insert((at, id), sealed);
    }

    /// One whose time has come.
    pub(super) fn take(&mut self, now: Nanos) -> Option<Sealed> {
        let first = self.waiting.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let sealed = first.remove();
        self.ids.remove(&sealed.trace.id);
        self.load.subtract(sealed.load);
        Some(sealed)
    }

    pub(super) fn has(&self, id: TraceId) -> bool {
        self.ids.contains(&id)
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &Sealed> {
        self.waiting.values()
    }

    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.waiting.first_key_value().map(|((at, _), _)| *at)
    }

    /// Those wait no longer, and are tried for the last time.
    pub(super) fn hurry(&mut self, which: impl Fn(&Sealed) -> bool) {
        for ((at, id), mut sealed) in std::mem::take(&mut self.waiting) {
            let hurry = which(&sealed);
            sealed.last_try |= hurry;
            let at = if hurry { Nanos(i64::MIN) } else { at };
            self.waiting.insert((at, id), sealed);
        }
    }
}
