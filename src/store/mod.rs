//! Finished requests: fresh ones in memory, and the tables that they go to.
//!
//! **Invariant**: nothing grows past its ceiling. Without a folder the traces that came first
//! leave first, whole, when the table is full. Samples are held and marked here, and are never
//! counted. The [`tables`] are what SQL asks, and what [`parquet`] files hold. Files are written
//! whole or not at all ([`whole`]).

mod chunk;
mod count;
mod error;
mod memory;
pub mod parquet;
mod size;
mod snapshot;
pub mod tables;
pub mod whole;

pub use count::{Counts, Load, Outcomes};
pub use error::StoreError;
pub use memory::{Memory, Put, Stored};
pub use size::{of_log, of_span};
pub use snapshot::{Snapshot, Window};

use crate::model::{Nanos, TraceId, UnixNanos};

/// Finished requests. All methods take `&self`; share it in an `Arc`.
#[derive(Debug)]
pub struct Store {
    memory: Memory,
}

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
    /// Bytes of their files.
    pub bytes: u64,
    /// Traces of older parts that these superseded.
    pub superseded: u64,
    /// How long it took.
    pub took: Nanos,
}

impl Store {
    /// A store without a folder: at most so many requests and about so many bytes, in memory;
    /// beyond that the traces that came first leave.
    pub fn in_memory(max_requests: usize, max_bytes: usize) -> Self {
        Self {
            memory: Memory::with_ceilings(max_requests, max_bytes),
        }
    }

    /// Puts a trace in place of its former state.
    pub fn put(&self, stored: Stored) -> Put {
        self.memory.put(stored)
    }

    /// Puts a new state of a trace that is there; `None`, and nothing is done, if it has left
    /// meanwhile, which happens only without a folder.
    pub fn put_revision(&self, stored: Stored) -> Option<Put> {
        self.memory.put_revision(stored)
    }

    /// A trace by its id: its newest state, spans exactly as they came. One that is not in memory
    /// any more is analysed again, with the policy of this store.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn get(&self, id: TraceId) -> Result<Option<Stored>, StoreError> {
        Ok(self.memory.get(id))
    }

    /// What is known of a trace of which more came: as [`get`](Self::get), without samples, and it
    /// looks only where spans from about this stretch of time are: `around` is the first start and
    /// the last end of the new ones. Cheap when there is nothing.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn former(
        &self,
        id: TraceId,
        around: (UnixNanos, UnixNanos),
    ) -> Result<Option<Stored>, StoreError> {
        let _ = around;
        Ok(self.memory.get(id).filter(|stored| !stored.sample))
    }

    /// At most `limit` traces whose id begins with these hex digits of any case, in order; none if
    /// `hex` is not hex.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn find_prefix(&self, hex: &str, limit: usize) -> Result<Vec<TraceId>, StoreError> {
        let mut found = self.memory.find_prefix(hex);
        found.truncate(limit);
        Ok(found)
    }

    /// Brings all fresh traces into parts, in one commit; without a folder there is nothing to do.
    ///
    /// # Errors
    /// The files cannot be written; then nothing is lost: the traces stay fresh.
    pub fn flush(&self) -> Result<Flushed, StoreError> {
        Ok(Flushed::default())
    }

    /// The sequence number from which on the durable log is still needed for what is fresh; `None`
    /// if it is not.
    pub fn oldest_fresh(&self) -> Option<u64> {
        self.memory.oldest_log()
    }

    /// What is in memory.
    pub fn fresh(&self) -> Load {
        self.memory.load()
    }

    /// The state at this instant. Cheap.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.memory.fresh())
    }

    /// Takes every sample out.
    pub fn clear_samples(&self) {
        self.memory.clear_samples();
    }

    /// Whether there are samples; cheap.
    pub fn has_samples(&self) -> bool {
        self.memory.has_samples()
    }

    /// The fresh traces.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }
}
