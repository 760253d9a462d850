//! The rows of an answer as they are worked out.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::vec;

use polars::prelude::{DataFrame, Engine, LazyFrame, PlanCallback, PolarsResult};

use super::{Answer, Cell, Heading, Plan, SqlError};
use crate::query::error::panic_words;
use crate::store::Snapshot;

/// Rows that are handed over at once.
const BATCH: NonZeroUsize = NonZeroUsize::new(4096).expect("more than none");

/// The rows of an answer as they are worked out: memory holds a few of them, unless the statement
/// itself needs them all (it sorts them). Ends early where something went wrong;
/// [`finish`](Self::finish) tells.
#[derive(Debug)]
pub struct Stream {
    headings: Vec<Heading>,
    batches: Receiver<DataFrame>,
    rows: vec::IntoIter<Vec<Cell>>,
    worker: JoinHandle<Result<(), SqlError>>,
    /// The files that are read stay while it lives.
    _snapshot: Snapshot,
}

impl Stream {
    pub(super) fn start(
        plan: &Plan,
        mut frame: LazyFrame,
        snapshot: &Snapshot,
    ) -> Result<Self, SqlError> {
        let explained = |error| plan.explained(&error);
        let schema = frame.collect_schema().map_err(explained)?;
        let headings = Answer::new(&DataFrame::empty_with_schema(&schema), None);
        let (sender, batches) = sync_channel(1);
        let callback = PlanCallback::new(move |batch| Ok(sender.send(batch).is_err()));
        let frame = frame.sink_batches(callback, true, Some(BATCH));
        let frame = frame.map_err(explained)?;
        let plan = plan.clone();
        let worker = thread::Builder::new().name("sql".to_owned());
        let worker = worker.spawn(move || {
            let run =
                || -> PolarsResult<()> { frame.collect_with_engine(Engine::Streaming).map(drop) };
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(done) => done.map_err(|error| plan.explained(&error)),
                Err(panic) => Err(SqlError::Unsupported(
                    panic_words(panic.as_ref()).to_owned(),
                )),
            }
        });
        Ok(Self {
            headings: headings.headings().to_vec(),
            batches,
            rows: Vec::new().into_iter(),
            worker: worker.map_err(|error| SqlError::Engine(error.to_string()))?,
            _snapshot: snapshot.clone(),
        })
    }

    /// Its columns.
    pub fn headings(&self) -> Vec<Heading> {
        self.headings.clone()
    }

    /// Stops the work, if it goes on.
    ///
    /// # Errors
    /// What went wrong on the way.
    pub fn finish(self) -> Result<(), SqlError> {
        drop(self.batches);
        match self.worker.join() {
            Ok(done) => done,
            Err(panic) => Err(SqlError::Unsupported(
                panic_words(panic.as_ref()).to_owned(),
            )),
        }
    }
}

impl Iterator for Stream {
    type Item = Vec<Cell>;

    fn next(&mut self) -> Option<Vec<Cell>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            let batch = self.batches.recv().ok()?;
            let rows: Vec<Vec<Cell>> = Answer::new(&batch, None).rows().collect();
            self.rows = rows.into_iter();
        }
    }
}
