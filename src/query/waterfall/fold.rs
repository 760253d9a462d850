//! Folding: a large request shows what matters and counts the rest.

use super::{Row, Waterfall};
use crate::model::{Nanos, Verdict};

/// Requests with no more hops are shown whole,
const WHOLE_HOPS: usize = 40;
/// unless their dependency calls make them longer than this.
const WHOLE_ROWS: usize = 200;

/// One line of a folded waterfall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A row, by index.
    Row(usize),
    /// Rows that were folded.
    Folded(Folded),
}

/// Neighbouring subtrees under one parent, all of them ok and of little weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The first folded row.
    pub first: usize,
    /// How many rows.
    pub rows: usize,
    /// How many of them are hops.
    pub hops: usize,
    /// The earliest start.
    pub start: Nanos,
    /// The last end.
    pub end: Nanos,
    /// How long they held the clock.
    pub held: Nanos,
    /// True if no later line has the same parent.
    pub last: bool,
}

/// The lines to show. In requests of more than 40 hops (or 200 rows), subtrees that are all ok and held less than
/// 2 % of the budget (without one: of the time) are folded; never the culprit's, the surfaced hop's
/// or a late one. The root stays.
pub fn fold(waterfall: &Waterfall) -> Vec<Line> {
    let rows = &waterfall.rows;
    let hops = rows.iter().filter(|row| row.call.is_none()).count();
    if hops <= WHOLE_HOPS && rows.len() <= WHOLE_ROWS {
        return (0..rows.len()).map(Line::Row).collect();
    }
    let whole = waterfall.deadline.unwrap_or_else(|| {
        rows.first()
            .map_or(Nanos::ZERO, |root| root.end - root.start)
    });
    let light = whole.scaled(2, 100);
    let subtrees = subtrees(rows);
    let may_fold = |index: usize| {
        rows[index].depth > 0 && subtrees[index].quiet && subtrees[index].held < light
    };

    let mut lines = Vec::new();
    let mut index = 0;
    while index < rows.len() {
        if !may_fold(index) {
            lines.push(Line::Row(index));
            index += 1;
            continue;
        }
        // The run of siblings from here that may all go: a subtree's end is its next sibling, or
        // a row that is less deep.
        let (first, depth) = (index, rows[index].depth);
        while index < rows.len() && rows[index].depth == depth && may_fold(index) {
            index = subtrees[index].end;
        }
        let run = &rows[first..index];
        match run {
            [_] => lines.push(Line::Row(first)),
            run => lines.push(Line::Folded(Folded {
                first,
                rows: run.len(),
                hops: run.iter().filter(|row| row.call.is_none()).count(),
                start: run.iter().map(|row| row.start).min().unwrap_or_default(),
                end: run.iter().map(|row| row.end).max().unwrap_or_default(),
                held: run.iter().map(held).sum(),
                last: rows.get(index).is_none_or(|next| next.depth < depth),
            })),
        }
    }
    lines
}

struct Subtree {
    /// The row after its last.
    end: usize,
    held: Nanos,
    quiet: bool,
}

/// What each row's subtree amounts to, from the last row up.
fn subtrees(rows: &[Row]) -> Vec<Subtree> {
    let mut out: Vec<Subtree> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| Subtree {
            end: index + 1,
            held: held(row),
            quiet: row.verdict == Verdict::Ok
                && !row.culprit
                && !row.surfaced
                && row.late == Nanos::ZERO,
        })
        .collect();
    // Rows are depth first: a row's parent is the nearest one before it that is less deep.
    let mut open: Vec<usize> = Vec::new();
    let mut parents = vec![None; rows.len()];
    for (index, row) in rows.iter().enumerate() {
        while open.last().is_some_and(|&top| rows[top].depth >= row.depth) {
            open.pop();
        }
        parents[index] = open.last().copied();
        open.push(index);
    }
    for index in (0..rows.len()).rev() {
        if let Some(parent) = parents[index] {
            let (end, held, quiet) = (out[index].end, out[index].held, out[index].quiet);
            let above = &mut out[parent];
            above.end = above.end.max(end);
            above.held += held;
            above.quiet &= quiet;
        }
    }
    out
}

fn held(row: &Row) -> Nanos {
    row.stretches
        .iter()
        .filter(|stretch| stretch.part.is_some())
        .map(|stretch| stretch.end - stretch.start)
        .sum()
}
