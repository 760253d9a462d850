//! A snapshot in pieces, each to be read on its own: on as many cores as there are, in the memory
//! of a few row groups each.

use std::sync::Arc;

use polars::prelude::{IntoLazy, LazyFrame};

use super::chunk::Chunk;
use super::error::StoreError;
use super::parts::{Part, scan, without};
use super::snapshot::{Snapshot, Window, concatenated, fresh, within};
use super::tables::Table;
use super::write::group_of;
use crate::model::TraceId;

/// Row groups that are read at once.
const GROUPS: u64 = 4;

/// A part, or all that is fresh. What a request has in any table is in one piece, and requests
/// stand in the same order in each table. It lives as long as its snapshot.
#[derive(Debug)]
pub struct Piece<'a>(Of<'a>);

#[derive(Debug)]
enum Of<'a> {
    Part {
        part: &'a Part,
        /// Its traces that are superseded.
        gone: Vec<TraceId>,
    },
    Fresh(Vec<&'a Arc<Chunk>>),
}

impl Snapshot {
    /// The pieces that may have requests which start in the window.
    pub fn pieces(&self, window: &Window) -> Vec<Piece<'_>> {
        let parts = self
            .parts()
            .filter(|(part, _)| window.meets(part.meta.min_start, part.meta.max_start));
        let parts = parts.map(|(part, gone)| Of::Part { part, gone });
        let fresh: Vec<&Arc<Chunk>> = self.fresh_chunks().collect();
        let fresh = (!fresh.is_empty()).then_some(Of::Fresh(fresh));
        parts.chain(fresh).map(Piece).collect()
    }
}

impl<'a> Piece<'a> {
    /// A part on its own, whatever is in memory.
    pub(super) fn of(part: &'a Part) -> Self {
        let gone = part.dead.ids().to_vec();
        Self(Of::Part { part, gone })
    }

    /// Its rows of a table, as [`Snapshot::scan`] has them: those of one request together, in
    /// their order.
    ///
    /// # Errors
    /// As of [`Snapshot::scan`].
    pub fn scan(&self, table: Table, window: &Window) -> Result<LazyFrame, StoreError> {
        self.rows(table, window, None)
    }

    /// The same, some rows at a time, one behind another.
    ///
    /// # Errors
    /// As of [`Snapshot::scan`].
    pub fn runs(
        &self,
        table: Table,
        window: Window,
    ) -> impl Iterator<Item = Result<LazyFrame, StoreError>> {
        let (rows, run) = match &self.0 {
            Of::Part { part, .. } => {
                let rows = part.meta.table(table).map_or(0, |meta| meta.rows);
                (rows, group_of(table) as u64 * GROUPS)
            }
            Of::Fresh(_) => (1, 1),
        };
        let runs = (0..rows.div_ceil(run)).map(move |number| (number * run, run));
        runs.map(move |run| self.rows(table, &window, Some(run)))
    }

    /// The rows of a table; of a part those of a run alone: from which one on, and how many.
    fn rows(
        &self,
        table: Table,
        window: &Window,
        run: Option<(u64, u64)>,
    ) -> Result<LazyFrame, StoreError> {
        let mut is_cut = true;
        let rows = match &self.0 {
            Of::Part { part, gone } => {
                let (first, last) = (part.meta.min_start, part.meta.max_start);
                is_cut = window.since.is_some_and(|since| since.0 > first)
                    || window.until.is_some_and(|until| until.0 <= last);
                let path = match part.file(table) {
                    Ok(path) => path,
                    // Damage is told by `faults`.
                    Err(StoreError::Damaged { .. }) => None,
                    Err(error) => return Err(error),
                };
                let Some(path) = path else {
                    return concatenated(table, Vec::new());
                };
                let mut rows = scan(table, vec![path])?;
                if let Some((from, count)) = run {
                    let from = i64::try_from(from).unwrap_or(i64::MAX);
                    rows = rows.slice(from, u32::try_from(count).unwrap_or(u32::MAX));
                }
                if gone.is_empty() {
                    rows
                } else {
                    without(rows, gone.iter().copied())?
                }
            }
            Of::Fresh(chunks) => {
                let frames = fresh(table, chunks.iter().copied())?;
                concatenated(table, frames.map(IntoLazy::lazy).into_iter().collect())?
            }
        };
        Ok(match within(table, window).filter(|_| is_cut) {
            Some(predicate) => rows.filter(predicate),
            None => rows,
        })
    }
}
