//! Fresh rows in pieces, so that queries build the frames of a piece once, not once each.

use std::sync::{Arc, OnceLock};

use polars::prelude::{DataFrame, PolarsResult};

use super::memory::Stored;
use super::rollup::Rollup;
use super::tables::{Builder, Table, Wanted};

/// Traces in the order in which they were put. Snapshots share it; a change while one does copies it.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    slots: Vec<Option<Stored>>,
    live: usize,
    frames: [OnceLock<DataFrame>; Table::ALL.len()],
    summary: OnceLock<Rollup>,
}

impl Clone for Chunk {
    /// Without the frames and the summary: whoever copies a chunk changes it.
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            live: self.live,
            frames: <[OnceLock<DataFrame>; Table::ALL.len()]>::default(),
            summary: OnceLock::new(),
        }
    }
}

impl Chunk {
    /// Traces that were put into one chunk, those included that are gone.
    pub(super) const FULL: usize = 1024;

    pub(super) fn is_full(&self) -> bool {
        self.slots.len() >= Self::FULL
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Adds a trace; returns its slot.
    pub(super) fn push(self: &mut Arc<Self>, stored: Stored) -> usize {
        let chunk = Arc::make_mut(self);
        chunk.forget();
        chunk.slots.push(Some(stored));
        chunk.live += 1;
        chunk.slots.len() - 1
    }

    pub(super) fn remove(self: &mut Arc<Self>, slot: usize) -> Option<Stored> {
        let chunk = Arc::make_mut(self);
        chunk.forget();
        let removed = chunk.slots.get_mut(slot)?.take();
        chunk.live -= usize::from(removed.is_some());
        removed
    }

    /// What was worked out of it.
    fn forget(&mut self) {
        self.frames = Default::default();
        self.summary = OnceLock::new();
    }

    /// Its summary, worked out when it is first asked for.
    pub(super) fn summary(&self) -> &Rollup {
        self.summary.get_or_init(|| {
            let requests = self.each().flat_map(|stored| &stored.analysis.requests);
            Rollup::of(requests)
        })
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Stored> {
        self.slots.get(slot)?.as_ref()
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &Stored> {
        self.slots.iter().flatten()
    }

    /// The rows of a table, built when they are first asked for.
    pub(super) fn frame(&self, table: Table) -> PolarsResult<DataFrame> {
        let place = self.frames.get(table as usize);
        if let Some(frame) = place.and_then(OnceLock::get) {
            return Ok(frame.clone());
        }
        let mut builder = Builder::new(&Wanted::tables([table]));
        for stored in self.each() {
            builder.add(&stored.trace, &stored.analysis);
        }
        let frame = builder.finish()?.pop().map(|(_, frame)| frame);
        let frame = frame.unwrap_or_default();
        Ok(match place {
            Some(place) => place.get_or_init(|| frame).clone(),
            None => frame,
        })
    }
}
