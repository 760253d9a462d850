//! Questions to the store, off the threads that serve connections.
//!
//! **Invariant**: what touches a disk runs here, a few at a time; a page that waits for a disk
//! stalls nobody else, and a crowd of them is told to come again instead of filling memory.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::error::Problem;
use super::laid::Laids;
use crate::query::QueryError;
use crate::store::StoreError;
use crate::telemetry::clock;

/// Questions that are worked on at once.
const AT_ONCE: usize = 4;

/// Questions that wait for their turn, beyond which the next is refused.
const WAITING: usize = 64;

/// How long one waits for its turn at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every handler is given.
#[derive(Debug, Clone)]
pub(super) struct Site(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    state: super::State,
    laid: Laids,
    turns: Semaphore,
    places: Semaphore,
}

impl Site {
    pub(super) fn new(state: super::State) -> Self {
        Self(Arc::new(Inside {
            state,
            laid: Laids::default(),
            turns: Semaphore::new(AT_ONCE),
            places: Semaphore::new(AT_ONCE + WAITING),
        }))
    }

    /// What needs no disk.
    pub(super) fn state(&self) -> &super::State {
        &self.0.state
    }

    /// The requests that were looked at last.
    pub(super) fn laid(&self) -> &Laids {
        &self.0.laid
    }

    /// Works on a question. Its time goes to the counters under `kind`.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        kind: &'static str,
        work: impl FnOnce(&super::State) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let _place = self.0.places.try_acquire().map_err(|_| Problem::Busy)?;
        let turn = tokio::time::timeout(PATIENCE, self.0.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Problem::Busy);
        };
        let inside = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || {
            let began = clock::monotonic_nanos();
            let answer = work(&inside.state);
            let took = u64::try_from(clock::monotonic_nanos() - began).unwrap_or(0);
            let telemetry = &inside.state.telemetry;
            telemetry.observe_query(kind, Duration::from_nanos(took));
            answer
        });
        match done.await {
            Ok(answer) => Ok(answer),
            Err(error) => match error.try_into_panic() {
                // The guard makes an answer of it.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Problem::Busy),
            },
        }
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Cursor(_) | QueryError::TooMany(_) => Self::Bad(format!("{error}.")),
            QueryError::Store(error) => error.into(),
            error => Self::logged(&error),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Damaged { file, what } => {
                let file = in_store(&file);
                Self::Unreadable(format!("`{}` ({what})", file.display()))
            }
            error => Self::logged(&error),
        }
    }
}

/// A file of the store as its folder has it: the table, the date, the hour, and its name; or the
/// folder of small files and its name. Where the folder is concerns nobody who asks.
fn in_store(file: &Path) -> PathBuf {
    let parts: Vec<_> = file.components().collect();
    let is_hour = |part: &Component<'_>| part.as_os_str().to_string_lossy().starts_with("hour=");
    let count = if parts.iter().any(is_hour) { 4 } else { 2 };
    parts
        .iter()
        .skip(parts.len().saturating_sub(count))
        .collect()
}
