//! Traces of which more came while a part that has them could not be read. Their new state stands
//! beside the old one; when the part is there again, somebody has to put the two together.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::durable::{Change, Durable, State};
use super::error::StoreError;
use super::parts::{Part, Reach};
use super::tables::Table;
use crate::model::{TraceId, UnixNanos};

/// Parts that were [left out](super::manifest::PartMeta::left_out) and can be read again.
#[derive(Debug, Default)]
pub struct Returned {
    parts: Vec<Arc<Part>>,
    state: Arc<State>,
}

/// Traces of a part that is there again.
pub(super) type OfPart = Vec<(TraceId, (UnixNanos, UnixNanos))>;

impl Returned {
    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// For each part its traces that other parts may have too, with the stretch of time to look in
    /// for the other states.
    pub fn traces(&self) -> impl Iterator<Item = Result<OfPart, StoreError>> {
        self.parts.iter().map(|part| {
            let around = (UnixNanos(part.meta.first), UnixNanos(part.meta.last));
            let reach = Some(Reach::new(around.0, around.1));
            let is_elsewhere = |id: &TraceId| {
                let mut parts = self.state.candidates(*id, reach);
                !part.dead.has(*id) && parts.any(|other| other.meta.id != part.meta.id)
            };
            let ids = part.ids()?.into_iter().filter(is_elsewhere);
            Ok(ids.map(|id| (id, around)).collect())
        })
    }
}

/// The parts that are there again, as far as their files were looked at.
pub(super) fn returned(durable: &Durable) -> Returned {
    let state = durable.state();
    let is_back = |part: &&Arc<Part>| {
        let read = |table| part.file(table).is_ok();
        part.meta.left_out && Table::ALL.into_iter().all(read)
    };
    let parts = state.parts.iter().filter(is_back);
    Returned {
        parts: parts.map(Arc::clone).collect(),
        state,
    }
}

/// Their traces have one state each.
pub(super) fn done(durable: &Durable, returned: Returned) -> Result<(), StoreError> {
    let maintenance = durable.maintenance.lock();
    let _maintenance = maintenance.unwrap_or_else(PoisonError::into_inner);
    let parts = returned.parts.iter();
    let left_out: BTreeMap<_, _> = parts.map(|part| (part.meta.id.clone(), false)).collect();
    drop(returned);
    let mut manifest = durable.manifest();
    let change = Change {
        left_out,
        ..Change::default()
    };
    durable.commit(&mut manifest, change, || ())
}
