//! Folding: a large request shows what matters and counts the rest.

use std::collections::BTreeSet;

use super::rows::guides_below;
use super::{Row, Waterfall};
use crate::model::{Nanos, Request, SpanId, Verdict};

/// Requests with no more hops are shown whole,
const WHOLE_HOPS: usize = 40;
/// unless their dependency calls make them longer than this.
const WHOLE_ROWS: usize = 200;

/// Requests that one hop handed over which have a line each; the others share one.
const LINKED: usize = 5;

/// One line of a folded waterfall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A row, by index.
    Row(usize),
    /// Rows that were folded.
    Folded(Folded),
    /// A request that a row's hop handed over.
    HandOver(HandOver),
}

/// Rows that one line stands for: neighbouring subtrees under one parent, all of them ok and of
/// little weight, or everything under a row that was folded by hand.
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
    /// The row that was folded by hand; `None` where nobody asked.
    pub by_hand: Option<usize>,
    /// The most blameworthy verdict among them.
    pub verdict: Verdict,
    /// The culprit is among them.
    pub culprit: bool,
    /// The failure surfaced among them.
    pub surfaced: bool,
}

/// A request that a hop started and did not wait for, as a line under that hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOver {
    /// The hop's row.
    pub row: usize,
    /// Which of the hop's `handed_over`.
    pub index: usize,
    /// The line stands for so many more that follow it.
    pub more: usize,
    /// Levels of indentation.
    pub depth: usize,
    /// True if no later line has the same parent.
    pub last: bool,
    /// The tree's vertical lines, as in [`Row::guides`].
    pub guides: Vec<bool>,
}

/// What to fold. Rows are named by their spans, which stay when late spans come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folding {
    /// Whether quiet subtrees of large requests fold by themselves.
    pub automatic: bool,
    /// Hops of which everything below is folded by hand.
    pub folded: BTreeSet<SpanId>,
    /// The first rows of automatic folds that were opened by hand.
    pub opened: BTreeSet<SpanId>,
}

impl Default for Folding {
    fn default() -> Self {
        Self {
            automatic: true,
            folded: BTreeSet::new(),
            opened: BTreeSet::new(),
        }
    }
}

/// The lines to show of rows alone: as [`lines`] with nothing opened or folded by hand, and
/// without what was handed over.
pub fn fold(waterfall: &Waterfall) -> Vec<Line> {
    Walk::new(waterfall, None, true).lines(&|_, _| false, &|_| false, None)
}

/// The lines to show. In requests of more than 40 hops (or 200 rows), subtrees that are all ok and
/// held less than 2 % of the budget (without one: of the time) are folded; never the culprit's,
/// the surfaced hop's or a late one. The root stays. No fold hides the row `keep`.
pub fn lines(
    request: &Request,
    waterfall: &Waterfall,
    folding: &Folding,
    keep: Option<usize>,
) -> Vec<Line> {
    let key = |index: usize| waterfall.rows.get(index).and_then(|row| row.key(request));
    let has = |set: &BTreeSet<SpanId>, index| key(index).is_some_and(|key| set.contains(&key));
    let by_hand = |index: usize, row: &Row| row.call.is_none() && has(&folding.folded, index);
    let opened = |index: usize| has(&folding.opened, index);
    Walk::new(waterfall, Some(request), folding.automatic).lines(&by_hand, &opened, keep)
}

impl Row {
    /// The span that names it: a hop's entry, a call's own.
    pub fn key(&self, request: &Request) -> Option<SpanId> {
        let hop = request.hops.get(self.hop)?;
        match self.call {
            None => Some(hop.span_id),
            Some(call) => hop.calls.get(call).map(|call| call.span_id),
        }
    }
}

/// On the way through the rows.
struct Walk<'a> {
    rows: &'a [Row],
    /// Where what was handed over is looked up; `None` leaves it out.
    request: Option<&'a Request>,
    subtrees: Vec<Subtree>,
    automatic: bool,
    /// A subtree that held less is light.
    light: Nanos,
}

impl<'a> Walk<'a> {
    fn new(waterfall: &'a Waterfall, request: Option<&'a Request>, automatic: bool) -> Self {
        let rows = waterfall.rows.as_slice();
        let hops = rows.iter().filter(|row| row.call.is_none()).count();
        let whole = waterfall.deadline.unwrap_or_else(|| {
            rows.first()
                .map_or(Nanos::ZERO, |root| root.end - root.start)
        });
        Self {
            rows,
            request,
            subtrees: subtrees(rows),
            automatic: automatic && (hops > WHOLE_HOPS || rows.len() > WHOLE_ROWS),
            light: whole.scaled(2, 100),
        }
    }

    fn may_fold(&self, index: usize) -> bool {
        let subtree = &self.subtrees[index];
        self.rows[index].depth > 0 && subtree.quiet && subtree.held < self.light
    }

    fn lines(
        &self,
        by_hand: &dyn Fn(usize, &Row) -> bool,
        opened: &dyn Fn(usize) -> bool,
        keep: Option<usize>,
    ) -> Vec<Line> {
        let rows = self.rows;
        let keeps = |from: usize, to: usize| keep.is_some_and(|keep| (from..to).contains(&keep));
        let mut lines = Vec::new();
        // Rows before this one belong to a fold that was opened.
        let mut open_until = 0;
        let mut index = 0;
        while index < rows.len() {
            if self.automatic && index >= open_until && self.may_fold(index) {
                // The run of siblings from here that may all go: a subtree's end is its next
                // sibling, or a row that is less deep.
                let (first, depth) = (index, rows[index].depth);
                let mut end = index;
                while end < rows.len() && rows[end].depth == depth && self.may_fold(end) {
                    end = self.subtrees[end].end;
                }
                if end - first > 1 && !opened(first) && !keeps(first, end) {
                    lines.push(Line::Folded(self.folded(first, end, None)));
                    index = end;
                    continue;
                }
                open_until = end;
            }
            let end = self.subtrees[index].end;
            lines.push(Line::Row(index));
            index += 1;
            if end > index && by_hand(index - 1, &rows[index - 1]) && !keeps(index, end) {
                lines.push(Line::Folded(self.folded(index, end, Some(index - 1))));
                index = end;
            } else {
                self.hand_overs(index - 1, end == index, &mut lines);
            }
        }
        lines
    }

    fn folded(&self, first: usize, end: usize, by_hand: Option<usize>) -> Folded {
        let run = &self.rows[first..end];
        let depth = run.first().map_or(0, |row| row.depth);
        let blame = |row: &&Row| Verdict::ALL.iter().position(|one| *one == row.verdict);
        Folded {
            first,
            rows: run.len(),
            hops: run.iter().filter(|row| row.call.is_none()).count(),
            start: run.iter().map(|row| row.start).min().unwrap_or_default(),
            end: run.iter().map(|row| row.end).max().unwrap_or_default(),
            held: run.iter().map(held).sum(),
            last: self.rows.get(end).is_none_or(|next| next.depth < depth),
            by_hand,
            verdict: run
                .iter()
                .min_by_key(blame)
                .map_or(Verdict::Ok, |row| row.verdict),
            culprit: run.iter().any(|row| row.culprit),
            surfaced: run.iter().any(|row| row.surfaced),
        }
    }

    /// The lines of what the hop of a row handed over; a leaf has no other lines below it.
    fn hand_overs(&self, index: usize, leaf: bool, lines: &mut Vec<Line>) {
        let row = &self.rows[index];
        let hop = self.request.and_then(|request| request.hops.get(row.hop));
        let Some(hop) = hop.filter(|_| row.call.is_none()) else {
            return;
        };
        let count = hop.handed_over.len();
        // One more fits in place of the line that would count it.
        let shown = if count > LINKED + 1 {
            LINKED + 1
        } else {
            count
        };
        lines.extend((0..shown).map(|nth| {
            let is_last = nth + 1 == shown;
            Line::HandOver(HandOver {
                row: index,
                index: nth,
                more: if is_last && count > shown {
                    count - nth
                } else {
                    0
                },
                depth: row.depth + 1,
                last: is_last && leaf,
                guides: guides_below(row),
            })
        }));
    }
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
