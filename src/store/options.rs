//! How a store in a folder behaves.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::error::StoreError;
use super::tables::Table;
use crate::budget::Policy;

/// How a store in a folder behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// With what a trace that is read back is analysed again.
    pub policy: Policy,
    /// How long a file that is no longer needed stays for readers in other processes that still
    /// know of it.
    pub grace: Duration,
    /// When parts are merged.
    pub compaction: Compaction,
    /// What is kept.
    pub retention: Retention,
    /// For tests: told of each step of a commit before it is made.
    pub probe: Probe,
}

/// When parts of an hour are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// So many parts of like size are merged into one. At least 2. A row is written again about
    /// once for each such step of size, and once more when its hour is over.
    pub fan_in: usize,
    /// From so long after its end on an hour is over: its parts become one.
    pub settle: Duration,
    /// A part does not grow beyond so many spans by merging.
    pub max_spans: u64,
    /// A part of which more than this part in a hundred of the traces are superseded is written
    /// again without them.
    pub dead_percent: u64,
}

/// What is kept; the oldest hours go first, whole. Without a limit everything is kept. What starts
/// at no plausible time, or in the future, is as old as it is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Hours go that ended longer ago, and of which nothing came since: what was old when it came
    /// stays as long as anything.
    pub max_age: Option<Duration>,
    /// Hours go that ended longer ago, whenever they came.
    pub max_past: Option<Duration>,
    /// While all files take more bytes, the oldest hour goes; the newest one stays.
    pub max_bytes: Option<u64>,
}

/// A step of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A table's file is complete and gets its name.
    Table(Table),
    /// The filter over a part's ids is written.
    Filter,
    /// A list of superseded traces is written.
    Dead,
    /// The manifest is replaced: the commit.
    Manifest,
    /// The commit is made; memory follows.
    Publish,
    /// A file that nobody needs any more is removed.
    Remove,
}

/// What becomes of a step.
#[derive(Debug)]
pub enum Fate {
    /// It is made.
    Go,
    /// It fails with this error, and what was done is cleaned up.
    Fail(io::Error),
    /// The process ends here: nothing more is done, nothing is cleaned up.
    Die,
}

/// Decides the fate of steps; by default all are made.
#[derive(Clone, Default)]
pub struct Probe(Option<Arc<Decider>>);

struct Decider {
    decide: Box<dyn Fn(Step) -> Fate + Send + Sync>,
    dead: AtomicBool,
}

impl Probe {
    /// One that asks `decide`.
    pub fn new(decide: impl Fn(Step) -> Fate + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Decider {
            decide: Box::new(decide),
            dead: AtomicBool::new(false),
        })))
    }

    /// Whether the process is to be taken for dead.
    pub(super) fn is_dead(&self) -> bool {
        let decider = self.0.as_ref();
        decider.is_some_and(|decider| decider.dead.load(Ordering::Acquire))
    }

    /// Asks before a step that is about `file`.
    pub(super) fn at(&self, step: Step, file: &Path) -> Result<(), StoreError> {
        let Some(decider) = &self.0 else {
            return Ok(());
        };
        let fate = if self.is_dead() {
            Fate::Die
        } else {
            (decider.decide)(step)
        };
        let error = match fate {
            Fate::Go => return Ok(()),
            Fate::Fail(error) => error,
            Fate::Die => {
                decider.dead.store(true, Ordering::Release);
                io::Error::other("stopped by a test")
            }
        };
        Err(StoreError::io(file)(error))
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            grace: Duration::from_mins(1),
            compaction: Compaction::default(),
            retention: Retention::default(),
            probe: Probe::default(),
        }
    }
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            fan_in: 4,
            settle: Duration::from_mins(10),
            max_spans: 20_000_000,
            dead_percent: 20,
        }
    }
}
