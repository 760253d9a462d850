//! Sums over the rows of a table, piece by piece on all cores.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use polars::prelude::{BooleanChunked, DataFrame, LazyFrame, NewChunkedArray as _, col};
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use super::error::QueryError;
use super::rows::{Cells, IDENTITY, there};
use super::scan::{Selection, collect};
use crate::model::{SpanId, TraceId};
use crate::store::tables::Table;
use crate::store::{Piece, Snapshot, StoreError, Window};

/// Rows of which times are kept until their percentiles are known, at 24 bytes each.
const MOST_ROWS: usize = 40_000_000;

/// Adds up a selection, piece by piece, on each core into a sum of its own; the order of the pieces
/// must not matter to what comes of them. Returns the sums.
///
/// # Errors
/// What `add` says, or the store.
pub(super) fn sums<T: Default + Send>(
    snapshot: &Snapshot,
    selection: &Selection,
    add: impl Fn(&mut T, &Portion<'_>) -> Result<(), QueryError> + Sync,
) -> Result<Vec<T>, QueryError> {
    let window = selection.stretch();
    let pieces = snapshot.pieces(&window);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut sum = T::default();
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let portion = Portion {
                piece,
                selection,
                window,
                taken: OnceCell::new(),
                kept: &kept,
            };
            add(&mut sum, &portion)?;
        }
        Ok(sum)
    };
    thread::scope(|scope| {
        let others = cores.min(pieces.len()).saturating_sub(1);
        let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(sum) => sum,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let others: Vec<_> = others.collect();
        std::iter::once(own).chain(others).collect()
    })
}

/// What a selection takes of a piece.
pub(super) struct Portion<'a> {
    piece: &'a Piece<'a>,
    selection: &'a Selection,
    window: Window,
    /// The requests, if not each of them is one.
    taken: OnceCell<Option<Taken>>,
    /// Rows of which something is kept, of all pieces.
    kept: &'a AtomicUsize,
}

type Taken = HashSet<(TraceId, SpanId), Xxh3DefaultBuilder>;

impl Portion<'_> {
    /// Its rows in `requests`.
    pub(super) fn requests(&self) -> Result<LazyFrame, StoreError> {
        self.selection.in_piece(self.piece)
    }

    /// Its rows in another table, some at a time: those of a request together, in their order.
    pub(super) fn each(
        &self,
        table: Table,
        columns: &[&'static str],
        mut take: impl FnMut(&DataFrame) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let taken = self.taken()?;
        if taken.is_some_and(HashSet::is_empty) {
            return Ok(());
        }
        let mut columns = columns.to_vec();
        if taken.is_some() {
            columns.retain(|column| !IDENTITY.contains(column));
            columns.extend(IDENTITY);
        }
        for rows in self.piece.runs(table, self.window) {
            let columns: Vec<_> = columns.iter().map(|name| col(*name)).collect();
            let mut frame = collect(rows?.select(columns))?;
            if let Some(taken) = taken {
                frame = frame.filter(&mask(&frame, taken)?)?;
            }
            if frame.height() > 0 {
                take(&frame)?;
            }
        }
        Ok(())
    }

    /// Counts rows of which something is kept until all are added up.
    ///
    /// # Errors
    /// They are too many.
    pub(super) fn keeps(&self, rows: usize) -> Result<(), QueryError> {
        let before = self.kept.fetch_add(rows, Ordering::Relaxed);
        if before + rows > MOST_ROWS {
            return Err(QueryError::TooMany(MOST_ROWS));
        }
        Ok(())
    }

    fn taken(&self) -> Result<Option<&Taken>, QueryError> {
        if let Some(taken) = self.taken.get() {
            return Ok(taken.as_ref());
        }
        let taken = if self.selection.filter.is_some() {
            let mut ids = Taken::default();
            let rows = collect(self.requests()?.select(IDENTITY.map(col)))?;
            each_request(&rows, |id, _| {
                ids.insert(id);
            })?;
            Some(ids)
        } else {
            None
        };
        Ok(self.taken.get_or_init(|| taken).as_ref())
    }
}

/// Whether the request of each row is one of them.
fn mask(rows: &DataFrame, taken: &Taken) -> Result<BooleanChunked, QueryError> {
    let mut mask: Vec<bool> = Vec::with_capacity(rows.height());
    each_request(rows, |id, count| {
        let is = taken.contains(&id);
        mask.resize(mask.len() + count, is);
    })?;
    Ok(BooleanChunked::from_iter_values(
        "taken".into(),
        mask.into_iter(),
    ))
}

/// Tells of each request, which stands in several rows one after the other, and of how many.
fn each_request(
    rows: &DataFrame,
    mut tell: impl FnMut((TraceId, SpanId), usize),
) -> Result<(), QueryError> {
    let cells = Cells(rows);
    let [trace, request] = IDENTITY;
    let ids = cells.texts(trace)?.iter().zip(cells.texts(request)?.iter());
    let mut last = None;
    let mut count = 0;
    let read = |ids: (Option<&str>, Option<&str>)| {
        let id = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        let trace = there(trace, id(ids.0))?;
        let request = ids.1.and_then(|text| text.parse().ok());
        Ok::<_, QueryError>((trace, there("request", request)?))
    };
    for ids in ids {
        if let Some(last) = last.filter(|last| *last != ids) {
            tell(read(last)?, count);
            count = 0;
        }
        last = Some(ids);
        count += 1;
    }
    if let Some(last) = last {
        tell(read(last)?, count);
    }
    Ok(())
}
