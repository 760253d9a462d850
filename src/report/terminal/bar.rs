//! A row's bar in character cells.

use crate::model::Nanos;
use crate::query::waterfall::{Folded, Row, StretchKind};
use crate::report::glyphs::Glyph;

/// Time on an axis of cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) end: Nanos,
    pub(super) cells: usize,
}

impl Axis {
    /// The cell that holds an instant; at or past the end: `cells`.
    pub(super) fn cell(self, time: Nanos) -> usize {
        (self.milli(time) / 1000).min(self.cells)
    }

    /// Thousandths of cells from the left edge.
    fn milli(self, time: Nanos) -> usize {
        let cells = i64::try_from(self.cells).unwrap_or(i64::MAX);
        let end = (self.cells + 1).saturating_mul(1000);
        let wide = i128::from(time.0.max(0)) * i128::from(cells) * 1000;
        let milli = wide.checked_div(i128::from(self.end.0.max(1))).unwrap_or(0);
        usize::try_from(milli).unwrap_or(usize::MAX).min(end)
    }

    /// The cells of a stretch of work: those of which it takes more than a tenth; a shorter one
    /// takes the cell that holds its middle, since work is never hidden.
    fn work(self, start: Nanos, end: Nanos) -> (usize, usize) {
        let (a, b) = (self.milli(start), self.milli(end));
        let first = a / 1000 + usize::from(a % 1000 > 900);
        let last = b / 1000 + usize::from(b % 1000 > 100);
        if first < last {
            (first, last)
        } else {
            (a.midpoint(b) / 1000, a.midpoint(b) / 1000 + 1)
        }
    }

    /// The cells of which a stretch takes at least half; may be none.
    fn half(self, start: Nanos, end: Nanos) -> (usize, usize) {
        (
            (self.milli(start) + 500) / 1000,
            (self.milli(end) + 500) / 1000,
        )
    }

    /// The cells that a stretch touches.
    fn touched(self, start: Nanos, end: Nanos) -> (usize, usize) {
        (self.milli(start) / 1000, self.milli(end).div_ceil(1000))
    }
}

/// What is drawn in each cell of a row.
pub(super) fn of_row(row: &Row, axis: Axis) -> Vec<Glyph> {
    // Late work goes over own work over waiting; what comes later in time goes over what was before.
    let mut cells = vec![(0_u8, Glyph::Blank); axis.cells];
    let line = row
        .deadline
        .map(|deadline| axis.cell(deadline))
        .filter(|&line| line < axis.cells);
    for stretch in &row.stretches {
        let (rank, glyph) = rank(stretch.kind);
        let (start, end) = (stretch.start, stretch.end);
        let is_work = rank >= 4;
        let (mut first, mut last) = match rank {
            4.. => axis.work(start, end),
            3 => axis.half(start, end),
            _ => axis.touched(start, end),
        };
        // The line has a cell of its own, which hides nothing: work before it moves to its left,
        // work after it to its right.
        if let (Some(line), Some(deadline)) = (line, row.deadline) {
            if end <= deadline {
                last = last.min(line);
                if is_work && first >= last {
                    (first, last) = (line.saturating_sub(1), line);
                }
            } else if start >= deadline {
                first = first.max(line + 1);
                if is_work && first >= last {
                    (first, last) = (line + 1, line + 2);
                }
            }
        }
        for cell in cells.iter_mut().take(last).skip(first) {
            if cell.0 <= rank {
                *cell = (rank, glyph);
            }
        }
    }
    if row.stretches.is_empty()
        && let Some(cell) = cells.get_mut(axis.cell(row.start))
    {
        *cell = (4, Glyph::Beside);
    }
    let mut cells: Vec<Glyph> = cells.into_iter().map(|(_, glyph)| glyph).collect();
    let mut fill = |first: usize, last: usize, glyph| {
        for cell in cells.iter_mut().take(last).skip(first) {
            if *cell == Glyph::Blank {
                *cell = glyph;
            }
        }
    };
    if let Some(deadline) = row.deadline {
        let line = line.unwrap_or(axis.cells);
        if row.end < deadline {
            fill(axis.cell(row.end), line, Glyph::Unspent);
        }
        if let Some((from, to)) = row.overhang {
            let first = axis.cell(from.max(row.end)).max(line + 1);
            fill(first, axis.touched(from, to).1, Glyph::Promised);
        }
    }
    if let Some(line) = line
        && row.deadline.is_some_and(|deadline| deadline >= Nanos::ZERO)
    {
        cells[line] = Glyph::Line;
    }
    cells
}

/// A folded subtree: one pale bar.
pub(super) fn of_folded(folded: &Folded, axis: Axis) -> Vec<Glyph> {
    let (first, last) = axis.work(folded.start, folded.end);
    (0..axis.cells)
        .map(|cell| {
            if (first..last).contains(&cell) {
                Glyph::Beside
            } else {
                Glyph::Blank
            }
        })
        .collect()
}

fn rank(kind: StretchKind) -> (u8, Glyph) {
    match kind {
        StretchKind::Late | StretchKind::LateDependency => (6, Glyph::Late),
        StretchKind::Held => (5, Glyph::Held),
        StretchKind::HeldDependency | StretchKind::HeldUnreported => (5, Glyph::Dependency),
        StretchKind::Beside => (4, Glyph::Beside),
        StretchKind::Transit => (3, Glyph::Transit),
        StretchKind::Backoff => (3, Glyph::Backoff),
        StretchKind::LateWaiting => (2, Glyph::LateWaiting),
        StretchKind::Waiting => (1, Glyph::Waiting),
    }
}
