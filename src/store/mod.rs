//! Finished requests: fresh ones in memory, and the tables that they go to.
//!
//! ```text
//! DIR/
//!   LOCK             held by the one process that writes
//!   manifest.json    the list of parts; what is not in it does not exist
//!   COMMIT           the number of the last commit, so that an older list is known as one
//!   RESERVE          room for the list that removes parts when the disk is full
//!   requests/date=2026-10-07/hour=09/000000000012.parquet
//!   hops, calls, ledger, findings, spans: the same
//!   index/000000000012.ids       which trace ids the part may have
//!   index/000000000012-9.dead    which traces of it a later part superseded
//!   index/000000000012.sum       sums over its requests, which can be made again ([`rollup`])
//! ```
//!
//! A **part** is up to six Parquet files of one name, the rows of some traces of one hour (UTC) of
//! their requests' start, sorted by trace id. It never changes. A **trace** is superseded as a whole:
//! the part that has its newer state and the list that takes the older one away come with one
//! commit, so every trace has one live state. A trace whose requests start in several hours has
//! rows in several parts; spans of no request go with the first of them.
//!
//! What starts before the year 2000 or from 2100 on, and traces whose requests lie in more than 16
//! hours, go to `date=1970-01-01/hour=00`, each row with the start that came: clocks that were never
//! set make one partition, not thousands. One flush makes at most 32 parts; what is fresh of more
//! hours waits for the next, the hours with the most spans first.
//!
//! Any SQL engine reads the folder as it is:
//!
//! ```sql
//! SELECT outcome, count(*) FROM read_parquet('DIR/requests/**/*.parquet', hive_partitioning = true)
//! GROUP BY outcome
//! ```
//!
//! `DuckDB` takes `hour`, which has two digits, for a text (`hour = 9` casts each, and `'9' > '10'`);
//! with `hive_types = {'date': DATE, 'hour': TINYINT}` beside `hive_partitioning` it is a number.
//!
//! Such a reader knows nothing of the lists. Until [`Store::compact`] has taken superseded rows
//! away, a request that was revised is there twice, with different `revision`s, and the newest
//! counts: `QUALIFY revision = max(revision) OVER (PARTITION BY trace_id, request)` on `requests`.
//! Files that were merged stay for a minute beside what they became.
//!
//! **Invariant**: nothing grows past its ceiling. Without a folder the traces that came first
//! leave first, whole, when the table is full; with one, whoever puts traces must flush them.
//! Samples are held and marked here, and are never counted. A file is whole or absent
//! ([`whole`]), and what is damaged is left out and told by name.

mod chunk;
mod compact;
mod count;
mod durable;
mod each;
mod error;
mod find;
mod flush;
mod folder;
mod index;
mod lookup;
mod manifest;
mod memory;
mod merge;
mod names;
mod options;
pub mod parquet;
mod parts;
mod pieces;
mod rejoin;
mod retain;
pub mod rollup;
mod share;
mod size;
mod snapshot;
mod stats;
pub mod tables;
mod told;
mod verify;
pub mod whole;
mod write;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

pub use compact::Compacted;
pub use count::{Counts, Load, Outcomes};
pub use each::{Kept, Passed, Wanted};
pub(crate) use error::is_full;
pub use error::{OpenError, StoreError};
pub use flush::Flushed;
pub use folder::Holder;
pub use lookup::Former;
pub use memory::{Memory, Put, Stored};
pub use names::Names;
pub use options::{Compaction, Fate, Options, Probe, Retention, Step};
pub use pieces::Piece;
pub use rejoin::Returned;
pub use retain::Pruned;
pub use size::{of_log, of_span};
pub use snapshot::{Snapshot, Window};
pub use stats::{Size, Stats};
pub use verify::Verified;

use self::durable::Durable;
use self::lookup::Asked;
use self::parts::Reach;
use self::snapshot::Known;
use crate::budget::{Policy, Typical};
use crate::model::{Nanos, TraceId, UnixNanos};

/// One state of a trace; see [`Store::version`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The put that made what is in memory.
    fresh: Option<u64>,
    /// The parts that may have it: they never change.
    parts: Vec<String>,
}

/// How often a store that was opened to read is asked while another process changes it.
const TRIES: u32 = 5;

/// Finished requests. All methods take `&self`; share it in an `Arc`.
#[derive(Debug)]
pub struct Store {
    memory: Memory,
    /// `None` for a store in memory alone.
    durable: Option<Durable>,
    policy: Arc<Policy>,
    /// What successful runs took lately; see [`Store::learn`].
    typical: RwLock<Arc<Typical>>,
}

impl Store {
    /// A store without a folder: at most so many requests and about so many bytes, in memory;
    /// beyond that the traces that came first leave.
    pub fn in_memory(max_requests: usize, max_bytes: usize) -> Self {
        Self {
            memory: Memory::with_ceilings(max_requests, max_bytes),
            durable: None,
            policy: Arc::default(),
            typical: RwLock::default(),
        }
    }

    /// Opens a folder to read and write, or makes it. What a writer left that was killed is
    /// removed. Memory has no ceiling of its own then: whoever puts traces watches
    /// [`fresh`](Self::fresh) and flushes.
    ///
    /// # Errors
    /// Another process writes there, it cannot be read or written, or a newer Dwindle made it.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let policy = Arc::new(options.policy.clone());
        Ok(Self::over(Durable::open(folder, options)?, policy))
    }

    /// Opens a folder to read, also while a server writes there. Nothing is written, not even a
    /// lock; what the server has in memory alone is not seen.
    ///
    /// # Errors
    /// There is no store, it cannot be read, or a newer Dwindle made it.
    pub fn open_to_read(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let policy = Arc::new(options.policy.clone());
        Ok(Self::over(Durable::open_to_read(folder, options)?, policy))
    }

    fn over(durable: Durable, policy: Arc<Policy>) -> Self {
        Self {
            memory: Memory::new(usize::MAX),
            durable: Some(durable),
            policy,
            typical: RwLock::default(),
        }
    }

    /// Tells whoever finds the folder locked where this process shows its pages.
    ///
    /// # Errors
    /// The file system's word; the lock is held all the same.
    pub fn announce(&self, pages: &str) -> Result<(), StoreError> {
        self.durable
            .as_ref()
            .map_or(Ok(()), |durable| durable.announce(pages))
    }

    /// Looks for newer parts, if it was opened to read; true if there are.
    ///
    /// # Errors
    /// As when it was opened.
    pub fn refresh(&self) -> Result<bool, OpenError> {
        self.durable.as_ref().map_or(Ok(false), Durable::refresh)
    }

    /// Puts a trace in place of its former state. With a folder nothing makes room for it.
    pub fn put(&self, stored: Stored) -> Put {
        let Some(durable) = self.durable.as_ref().filter(|_| !stored.sample) else {
            return self.memory.put(stored);
        };
        // No commit may come between the look at the parts and the put.
        let state = durable.hold();
        let reach = Reach::of(&stored.trace);
        let superseded = state.superseded(stored.analysis.trace_id, reach);
        self.memory.put_over(stored, superseded)
    }

    /// Puts a new state of a trace that is there; `None`, and nothing is done, if it has left
    /// meanwhile, which happens only without a folder.
    pub fn put_revision(&self, stored: Stored) -> Option<Put> {
        match self.durable {
            Some(_) => Some(self.put(stored)),
            None => self.memory.put_revision(stored),
        }
    }

    /// A trace by its id: its newest state, spans exactly as they came. One that is not in memory
    /// any more is analysed again, with the policy of this store.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn get(&self, id: TraceId) -> Result<Option<Stored>, StoreError> {
        self.again(|| self.lookup(id))
    }

    /// What is known of a trace of which more came: as [`get`](Self::get), without samples, and it
    /// looks only where spans from about this stretch of time are: `around` is the first start and
    /// the last end of the new ones. Opens no file unless a filter says that the trace may be in it.
    ///
    /// # Errors
    /// Files cannot be read. What is in them is kept then: nothing that is put supersedes it.
    pub fn former(
        &self,
        id: TraceId,
        around: (UnixNanos, UnixNanos),
    ) -> Result<Option<Stored>, StoreError> {
        match self.formers(&[(id, around)]).pop() {
            Some(Former {
                error: Some(error), ..
            }) => Err(error),
            former => Ok(former.and_then(|former| former.stored)),
        }
    }

    /// The same for many traces, in their order: what several of them have in one part is read at
    /// once.
    pub fn formers(&self, asked: &[(TraceId, (UnixNanos, UnixNanos))]) -> Vec<Former> {
        self.formers_of(asked, false)
    }

    fn formers_of(
        &self,
        asked: &[(TraceId, (UnixNanos, UnixNanos))],
        at_last: bool,
    ) -> Vec<Former> {
        let fresh = || asked.iter().map(|(id, _)| self.memory.get(*id)).collect();
        let (state, fresh): (_, Vec<Option<Stored>>) = match &self.durable {
            // Both at one instant: a flush moves traces from one to the other.
            Some(durable) => {
                let state = durable.hold();
                (Arc::clone(&state), fresh())
            }
            None => (Arc::default(), fresh()),
        };
        let of = |(id, around): &(TraceId, (UnixNanos, UnixNanos)), fresh| {
            Asked::around(*id, fresh, Reach::new(around.0, around.1), at_last)
        };
        let asked = asked.iter().zip(&fresh);
        let asked = asked
            .map(|(asked, fresh)| of(asked, fresh.clone()))
            .collect();
        let found = lookup::lookups(&state, asked, &self.known());
        let each = found.into_iter().zip(fresh);
        each.map(|(found, fresh)| Former::new(found, fresh, &state))
            .collect()
    }

    /// The same for one trace that is not asked for again: what cannot be read now is taken for
    /// damaged until the store is opened again, when it is put together with what came.
    pub fn former_at_last(&self, id: TraceId, around: (UnixNanos, UnixNanos)) -> Former {
        let formers = self.formers_of(&[(id, around)], true).pop();
        formers.unwrap_or_default()
    }

    /// Puts a new state of a trace, which has all that `former` has: as [`put`](Self::put), without
    /// a second look into the parts as long as they are the same. What is in damaged parts is not
    /// superseded; if `former` could not be read for another reason, nothing in parts is.
    pub fn put_after(&self, stored: Stored, former: &Former) -> Put {
        let Some(durable) = self.durable.as_ref().filter(|_| !stored.sample) else {
            return self.memory.put(stored);
        };
        let state = durable.hold();
        let superseded = match &former.in_parts {
            _ if former.is_unknown() => None,
            Some((of, in_parts)) if Arc::ptr_eq(of, &state) => in_parts.clone(),
            _ => state.superseded(stored.analysis.trace_id, Reach::of(&stored.trace)),
        };
        self.memory.put_over(stored, superseded)
    }

    /// What tells one state of a trace from another: as long as it is equal, [`get`](Self::get)
    /// gives the same. Opens no file.
    pub fn version(&self, id: TraceId) -> Version {
        let Some(durable) = &self.durable else {
            return Version {
                fresh: self.memory.put_of(id),
                parts: Vec::new(),
            };
        };
        // Both at one instant, as when it is looked up.
        let state = durable.hold();
        Version {
            fresh: self.memory.put_of(id),
            parts: state
                .candidates(id, None)
                .map(|part| part.meta.id.clone())
                .collect(),
        }
    }

    fn lookup(&self, id: TraceId) -> Result<Option<Stored>, StoreError> {
        let (state, fresh) = match &self.durable {
            Some(durable) => {
                let state = durable.hold();
                (Arc::clone(&state), self.memory.get(id))
            }
            None => (Arc::default(), self.memory.get(id)),
        };
        let asked = Asked::for_all(id, fresh);
        let found = lookup::lookup(&state, asked, &self.known())?;
        Ok(found.stored)
    }

    fn known(&self) -> Known {
        let durable = self.durable.as_ref();
        Known {
            policy: Arc::clone(&self.policy),
            typical: self.typical(),
            summaries: durable.map_or_else(Arc::default, |durable| Arc::clone(&durable.summaries)),
        }
    }

    /// Median times of successful runs, as they were learnt last: traces are analysed with them,
    /// also those that are read back.
    pub fn typical(&self) -> Arc<Typical> {
        let typical = self.typical.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&typical)
    }

    /// Learns typical times anew, from the requests of the last `window` before the newest that
    /// did not start after `now`. Without `make` from parts that have a summary alone, which takes
    /// milliseconds; with it summaries are made where they are missing.
    ///
    /// # Errors
    /// The store cannot be read; what was known before stays.
    pub fn learn(&self, now: UnixNanos, window: Nanos, make: bool) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        // Samples teach nothing.
        let newest = snapshot.span().filter(|_| !snapshot.is_sample());
        let newest = newest.map_or(now, |(_, last)| last.min(now));
        let end = newest.0 / rollup::MINUTE + 1;
        let minutes = u64::try_from(window.0).unwrap_or(0) / rollup::MINUTE;
        let typical = if snapshot.is_sample() {
            Typical::default()
        } else {
            snapshot.learnt(&(end.saturating_sub(minutes)..end), make)?
        };
        *self.typical.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(typical);
        Ok(())
    }

    /// Asks, and asks the newer state if another process took parts away meanwhile.
    fn again<T>(&self, ask: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        for _ in 1..TRIES {
            match ask() {
                Err(_) if matches!(self.refresh(), Ok(true)) => {}
                answer => return answer,
            }
        }
        ask()
    }

    /// At most `limit` traces whose id begins with these hex digits of any case, in order; none if
    /// `hex` is not hex.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn find_prefix(&self, hex: &str, limit: usize) -> Result<Vec<TraceId>, StoreError> {
        self.again(|| self.snapshot().find_prefix(hex, limit))
    }

    /// Brings all fresh traces into parts; without a folder there is nothing to do.
    ///
    /// # Errors
    /// The files cannot be written; then nothing is lost: the traces stay fresh, unless all but
    /// the last step to the disk was made.
    pub fn flush(&self) -> Result<Flushed, StoreError> {
        let mut all = self.flush_some()?;
        while all.left > 0 {
            all.add(&self.flush_some()?);
        }
        Ok(all)
    }

    /// Brings fresh traces into parts, in one commit of at most 32 parts: of traces whose requests
    /// start in more hours than that some are [`left`](Flushed::left) for the next.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_some(&self) -> Result<Flushed, StoreError> {
        match self.writable()? {
            Some(durable) => flush::flush(durable, &self.memory),
            None => Ok(Flushed::default()),
        }
    }

    /// Merges parts that are due at `now`; without an instant everything: each hour becomes one
    /// part, as far as [`Compaction::max_spans`] allows, and superseded rows go. Flushes and reads go on
    /// meanwhile.
    ///
    /// # Errors
    /// The files cannot be read or written; what was not merged stays as it was.
    pub fn compact(&self, now: Option<UnixNanos>) -> Result<Compacted, StoreError> {
        match self.writable()? {
            Some(durable) => compact::compact(durable, now),
            None => Ok(Compacted::default()),
        }
    }

    /// The next merge that is due at `now`; [`merged`](Compacted::merged) is 0 if there is none.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    pub fn compact_some(&self, now: UnixNanos) -> Result<Compacted, StoreError> {
        match self.writable()? {
            Some(durable) => compact::compact_some(durable, Some(now)),
            None => Ok(Compacted::default()),
        }
    }

    /// The parts that were left out when more came of their traces, and can be read again: put each
    /// trace of them that other parts have too together, flush, and say it is
    /// [done](Self::rejoined).
    pub fn returned(&self) -> Returned {
        let durable = self.durable.as_ref().filter(|of| !of.is_read_only());
        durable.map_or_else(Returned::default, rejoin::returned)
    }

    /// The traces of these parts have one state each again.
    ///
    /// # Errors
    /// The folder cannot be written; then it is to be done again.
    pub fn rejoined(&self, returned: Returned) -> Result<(), StoreError> {
        match self.writable()? {
            Some(durable) => rejoin::done(durable, returned),
            None => Ok(()),
        }
    }

    /// Removes the oldest hours, as far as [`Options::retention`] says at `now`.
    ///
    /// # Errors
    /// The folder cannot be written; then nothing is removed.
    pub fn prune(&self, now: UnixNanos) -> Result<Pruned, StoreError> {
        match self.writable()? {
            Some(durable) => retain::prune(durable, now, &durable.options.retention),
            None => Ok(Pruned::default()),
        }
    }

    /// Removes the oldest hours, as far as `retention` says at `now`, whatever the options say.
    ///
    /// # Errors
    /// The folder cannot be written; then nothing is removed.
    pub fn prune_to(&self, now: UnixNanos, retention: &Retention) -> Result<Pruned, StoreError> {
        match self.writable()? {
            Some(durable) => retain::prune(durable, now, retention),
            None => Ok(Pruned::default()),
        }
    }

    /// What [`prune_to`](Self::prune_to) would remove.
    pub fn would_prune(&self, now: UnixNanos, retention: &Retention) -> Pruned {
        let durable = self.durable.as_ref();
        durable.map_or_else(Pruned::default, |durable| {
            retain::plan(&durable.manifest(), now, retention).0
        })
    }

    /// Reads every file that the manifest names and compares: bytes, rows, order, sums, filters,
    /// lists. Files that were put back are found good again.
    ///
    /// # Errors
    /// The folder cannot be read; what is wrong with files in it is no error.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        match &self.durable {
            Some(durable) => verify::verify(durable),
            None => Ok(Verified::default()),
        }
    }

    /// The last time of day that [`believe`](Self::believe) was told before the last commit, by this
    /// process or the one before.
    pub fn believed(&self) -> Option<UnixNanos> {
        let believed = self.durable.as_ref()?.believed.load(Ordering::Acquire);
        Some(UnixNanos(believed)).filter(|believed| believed.0 > 0)
    }

    /// Whoever decides what is old believes that it is `now`: the next commit says so.
    pub fn believe(&self, now: UnixNanos) {
        if let Some(durable) = &self.durable {
            durable.believed.store(now.0, Ordering::Release);
        }
    }

    /// How large it is. Opens no file.
    pub fn stats(&self) -> Stats {
        let fresh = self.memory.load();
        match &self.durable {
            Some(durable) => stats::stats(durable, fresh),
            None => Stats {
                fresh,
                ..Stats::default()
            },
        }
    }

    fn writable(&self) -> Result<Option<&Durable>, StoreError> {
        match &self.durable {
            Some(durable) if durable.is_read_only() => Err(StoreError::ReadOnly),
            durable => Ok(durable.as_ref()),
        }
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
        let (state, fresh) = match &self.durable {
            Some(durable) => {
                let state = durable.hold();
                (Arc::clone(&state), self.memory.fresh())
            }
            None => (Arc::default(), self.memory.fresh()),
        };
        Snapshot::new(fresh, state, self.known())
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
