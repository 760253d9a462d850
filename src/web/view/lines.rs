//! The lines of a waterfall that a page shows, each with what it leads to.

use std::collections::{HashMap, HashSet};

use super::detail::DetailView;
use super::row::{FoldedView, HandOverView, Place, RowView};
use super::waterfall::Drawing;
use super::window::{Select, TextLink};
use super::words::name;
use crate::model::{Nanos, Request, SpanId};
use crate::query::waterfall::{Folded, Folding, HandOver, Line, Row};
use crate::report::number;
use crate::report::svg::{RowBars, Scale};

/// Bytes of opened parts on a page; beyond them a link takes their place.
const DETAIL_BYTES: usize = 600_000;

/// A request of more lines has no opened parts in its rows, so that its page comes at once.
const WITH_DETAIL: usize = 200;

/// A line of the waterfall.
#[derive(Debug)]
pub(in crate::web) enum LineView {
    Row(Box<RowView>),
    Folded(Box<FoldedView>),
    HandOver(Box<HandOverView>),
}

impl Drawing<'_> {
    /// The lines that the page shows, each with its bars; opened parts as far as there is room.
    pub(in crate::web) fn rows(&self) -> Vec<LineView> {
        let mut room = DETAIL_BYTES;
        let mut anchors = HashSet::new();
        let is_hit: HashSet<usize> = match &self.hits {
            Some(hits) => hits.rows.iter().copied().collect(),
            None => HashSet::new(),
        };
        let before = self.first.checked_sub(1);
        let before = before.and_then(|before| self.lines.get(before));
        let mut above = before.and_then(|line| self.deadline_of(line));
        let lines = self.lines.iter().enumerate();
        let mut known: HashMap<SpanId, &Request> = HashMap::new();
        if self
            .lines
            .iter()
            .any(|line| matches!(line, Line::HandOver(_)))
        {
            let all = self.laid.stored.analysis.requests.iter();
            known.extend(all.map(|request| (request.request, request)));
        }
        let mut out = Vec::new();
        for (nth, line) in lines.skip(self.first).take(self.select.rows) {
            let place = Place {
                number: self.is_part().then(|| number::count(nth + 1)),
                up: self.line_above(line),
                above,
                scale: Scale::of(self.shown.range),
                ticks: &self.shown.ticks,
            };
            out.extend(match line {
                Line::Row(index) => self
                    .row(*index, place, &is_hit, &mut room, &mut anchors)
                    .map(|row| LineView::Row(Box::new(row))),
                Line::Folded(folded) => {
                    let rows = folded.first..folded.first + folded.rows;
                    let hits = is_hit.iter().filter(|row| rows.contains(row)).count();
                    let href = self.unfolded(folded);
                    let view = FoldedView::new(folded, self.waterfall, place, href, hits);
                    Some(LineView::Folded(Box::new(view)))
                }
                Line::HandOver(line) => self
                    .hand_over(line, place, &known)
                    .map(|view| LineView::HandOver(Box::new(view))),
            });
            above = self.deadline_of(line);
        }
        out
    }

    /// One row with everything that its opened part shows.
    pub(in crate::web) fn detail(&self, index: usize) -> Option<DetailView> {
        let row = self.waterfall.rows.get(index)?;
        let mut anchors = HashSet::new();
        Some(self.opened(index, row, true, &mut anchors))
    }

    fn opened(
        &self,
        index: usize,
        row: &Row,
        whole: bool,
        anchors: &mut HashSet<SpanId>,
    ) -> DetailView {
        let mut detail = DetailView::new(self.laid, row, index, whole, anchors);
        let request = self.request();
        if let Some((span, url)) = row.key(request).zip(self.trace_url) {
            detail.next.push(TextLink {
                href: url.of(request.trace_id, span),
                text: format!("Open in {}", name(url.host())),
            });
        }
        if self.has_below(index) {
            detail.next.push(TextLink {
                href: self.fold_href(index),
                text: if self.is_folded(index) {
                    "Unfold what is below it".to_owned()
                } else {
                    "Fold what is below it".to_owned()
                },
            });
        }
        detail
    }

    fn row(
        &self,
        index: usize,
        place: Place<'_>,
        is_hit: &HashSet<usize>,
        room: &mut usize,
        anchors: &mut HashSet<SpanId>,
    ) -> Option<RowView> {
        let row = self.waterfall.rows.get(index)?;
        let bars = RowBars {
            row,
            above: place.above,
            scale: place.scale,
            ticks: place.ticks,
        };
        let mut view = RowView::new(index, row, bars.to_string());
        (view.number, view.up) = (place.number, place.up);
        let whole = self.open == Some(index);
        view.open = whole;
        let lean = self.lines.len() > WITH_DETAIL;
        let detail = (whole || !lean).then(|| self.opened(index, row, whole, anchors));
        match detail {
            Some(detail) if whole || detail.bytes() <= *room => {
                *room = room.saturating_sub(detail.bytes());
                view.detail = Some(detail);
            }
            _ => {
                let select = Select {
                    open: Some(index),
                    ..self.here()
                };
                view.elsewhere = Some(format!("{}#r{index}", select.href(self.request())));
            }
        }
        if self.has_below(index) {
            view.folds = Some((self.fold_href(index), self.is_folded(index)));
        }
        if let Some(hits) = &self.hits {
            let current = hits.rows.get(hits.current) == Some(&index);
            let class = if current { " hit now" } else { " hit" };
            view.hit = is_hit.contains(&index).then_some(class);
        }
        Some(view)
    }

    fn hand_over(
        &self,
        line: &HandOver,
        place: Place<'_>,
        known: &HashMap<SpanId, &Request>,
    ) -> Option<HandOverView> {
        let row = self.waterfall.rows.get(line.row)?;
        let request = self.request();
        let other = request.hops.get(row.hop)?.handed_over.get(line.index)?;
        let known = known
            .get(&other.request)
            .filter(|one| one.trace_id == other.trace_id)
            .copied();
        let opened = Select {
            open: Some(line.row),
            ..self.select.anywhere()
        };
        let opened = format!("{}#r{}", opened.href(request), line.row);
        Some(HandOverView::new(
            request,
            row,
            line,
            place,
            (other, known),
            opened,
        ))
    }

    /// The line of the row that a line hangs under.
    fn line_above(&self, line: &Line) -> Option<usize> {
        let (row, under) = match line {
            Line::Row(row) => (*row, true),
            Line::Folded(folded) => (folded.first, true),
            Line::HandOver(line) => (line.row, false),
        };
        let row = if under {
            let row = self.waterfall.rows.get(row)?;
            let caller = match row.call {
                Some(_) => row.hop,
                None => self.request().hops.get(row.hop)?.parent?,
            };
            *self.waterfall.row_of_hop.get(caller)?
        } else {
            row
        };
        // Lines stand in the order of their rows; what was handed over follows its own.
        let place = |line: &Line| match line {
            Line::Row(row) => (*row, 0),
            Line::Folded(folded) => (folded.first, 0),
            Line::HandOver(line) => (line.row, 1),
        };
        self.lines
            .binary_search_by_key(&(row, 0), place)
            .ok()
            .filter(|&line| matches!(self.lines.get(line), Some(Line::Row(_))))
    }

    fn deadline_of(&self, line: &Line) -> Option<Nanos> {
        let index = match line {
            Line::Row(index) => *index,
            Line::Folded(folded) => folded.first,
            Line::HandOver(line) => line.row,
        };
        self.waterfall.rows.get(index)?.deadline
    }

    /// Whether a row has rows below it that can be folded.
    fn has_below(&self, index: usize) -> bool {
        let rows = &self.waterfall.rows;
        let depth = |index: usize| rows.get(index).map(|row| row.depth);
        depth(index + 1).is_some_and(|next| Some(next) > depth(index))
    }

    fn key(&self, index: usize) -> Option<SpanId> {
        self.waterfall.rows.get(index)?.key(self.request())
    }

    fn is_folded(&self, index: usize) -> bool {
        let folded = &self.select.folding.folded;
        self.key(index).is_some_and(|key| folded.contains(&key))
    }

    /// The page with what is below a row folded, or unfolded if it is; the row stays where it is.
    fn fold_href(&self, index: usize) -> String {
        let mut folding = self.select.folding.clone();
        if let Some(key) = self.key(index)
            && !folding.folded.remove(&key)
        {
            folding.folded.insert(key);
        }
        self.with_folding(folding, index)
    }

    fn unfolded(&self, folded: &Folded) -> String {
        let mut folding = self.select.folding.clone();
        if let Some(row) = folded.by_hand {
            if let Some(key) = self.key(row) {
                folding.folded.remove(&key);
            }
            return self.with_folding(folding, row);
        }
        folding.opened.extend(self.key(folded.first));
        self.with_folding(folding, folded.first)
    }

    fn with_folding(&self, folding: Folding, row: usize) -> String {
        let select = Select {
            folding,
            ..self.here()
        };
        format!("{}#r{row}", select.href(self.request()))
    }
}
