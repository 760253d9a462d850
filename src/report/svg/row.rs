//! The bars of one waterfall row.

use std::fmt;

use super::Scale;
use super::scale::Percent;
use crate::model::{How, Nanos};
use crate::query::waterfall::{Folded, HandOver, Row, Stretch, StretchKind};
use crate::report::number;

/// Stretches narrower than this join their neighbours.
const SHORTEST: Percent = Percent::thousandths(100);

/// Crosses nearer to each other than this are drawn as one.
const MARKS_APART: Percent = Percent::thousandths(500);

/// A stretch on the axis.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    x: Percent,
    width: Percent,
    kind: StretchKind,
    /// The width of the longest of those that it stands for.
    longest: Percent,
}

impl Drawn {
    /// Whether a neighbour is to be drawn with this one.
    fn takes(&self, next: &Self) -> bool {
        let gap = next.x.less(self.x.plus(self.width));
        next.width < SHORTEST && self.width < SHORTEST && gap < SHORTEST
    }

    fn is_thin(&self) -> bool {
        match self.kind {
            StretchKind::Waiting | StretchKind::LateWaiting => true,
            StretchKind::Transit | StretchKind::Backoff => self.width < HATCH_FROM,
            _ => false,
        }
    }
}

/// Transit and backoff narrower than this are drawn as waiting: a hatch would be noise.
const HATCH_FROM: Percent = Percent::thousandths(250);

/// The expected bar over the actual one, the deadline's line through both.
#[derive(Debug, Clone, Copy)]
pub struct RowBars<'a> {
    /// The row.
    pub row: &'a Row,
    /// The effective deadline of the row above, from which the line steps; `None` on the first.
    pub above: Option<Nanos>,
    /// The axis that all rows share.
    pub scale: Scale,
    /// Its round times.
    pub ticks: &'a [Nanos],
}

impl fmt::Display for RowBars<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="bars" aria-hidden="true">"#)?;
        let line = self.deadline();
        line.ground(self.ticks, f)?;
        self.expected(f)?;
        self.actual(f)?;
        self.marks(f)?;
        line.draw(f)?;
        self.labels(f)?;
        f.write_str("</svg>")
    }
}

impl RowBars<'_> {
    fn deadline(&self) -> Line {
        Line {
            deadline: self.row.deadline,
            above: self.above,
            scale: self.scale,
        }
    }

    /// The stretches as they are drawn: neighbours that are too short to be seen become one,
    /// drawn as the longest among them, so that a row stays small however many calls it made.
    fn drawn(&self) -> Vec<Drawn> {
        let mut out: Vec<Drawn> = Vec::new();
        for stretch in self.stretches() {
            let (x, width) = self.scale.span(stretch.start, stretch.end);
            let one = Drawn {
                x,
                width,
                kind: stretch.kind,
                longest: width,
            };
            match out.last_mut() {
                Some(last) if last.takes(&one) => {
                    if one.width > last.longest {
                        (last.kind, last.longest) = (one.kind, one.width);
                    }
                    last.width = one.x.plus(one.width).less(last.x);
                }
                _ => out.push(one),
            }
        }
        out
    }

    /// Those of which something is on the axis.
    fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        let scale = self.scale;
        let all = self.row.stretches.iter();
        all.filter(move |stretch| scale.meets(stretch.start, stretch.end))
    }

    fn expected(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_seen = |(start, end): &(Nanos, Nanos)| start < end && self.scale.meets(*start, *end);
        if let Some((start, end)) = self.row.expected.filter(is_seen) {
            let (x, width) = self.scale.span(start, end);
            let how = match self.row.how {
                How::Observed | How::Sent => "",
                How::Inherited => " inherited",
                How::Configured => " configured",
                How::Inferred => " inferred",
                How::None => return Ok(()),
            };
            write!(f, r#"<rect class="exp{how}" x="{x}" width="{width}"/>"#)?;
        }
        if let Some((start, end)) = self.row.overhang.filter(is_seen) {
            let (x, width) = self.scale.span(start, end);
            write!(f, r#"<rect class="exp over" x="{x}" width="{width}"/>"#)?;
        }
        Ok(())
    }

    /// Waiting lines first, so that blocks stand on them.
    fn actual(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = self.drawn();
        for Drawn { x, width, kind, .. } in drawn.iter().filter(|one| one.is_thin()) {
            let look = match kind {
                StretchKind::LateWaiting => block(StretchKind::LateWaiting),
                _ => block(StretchKind::Waiting),
            };
            write!(f, r#"<rect {look} x="{x}" width="{width}"/>"#)?;
        }
        for Drawn { x, width, kind, .. } in drawn.iter().filter(|one| !one.is_thin()) {
            write!(f, r#"<rect {} x="{x}" width="{width}"/>"#, block(*kind))?;
        }
        Ok(())
    }

    fn marks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = None;
        for end in self
            .row
            .given_up
            .iter()
            .filter(|end| self.scale.shows(**end))
        {
            let x = self.scale.at(*end);
            // Crosses that would lie on each other are one.
            if last.is_some_and(|last: Percent| {
                x.less(last) < MARKS_APART && last.less(x) < MARKS_APART
            }) {
                continue;
            }
            last = Some(x);
            write!(
                f,
                r#"<svg x="{x}" y="56.25%"><path class="cutm" d="M-4-4 4 4M4-4-4 4"/></svg>"#
            )?;
        }
        let range = self.row.arrival_range;
        if let Some((first, last)) = range.filter(|range| self.scale.meets(range.0, range.1)) {
            let (from, to) = (self.scale.at(first), self.scale.at(last));
            write!(
                f,
                r#"<line class="wh" x1="{from}" x2="{to}" y1="88%" y2="88%"/>"#
            )?;
            for end in [first, last] {
                // A range without a bound on one side has no end there, either.
                if self.scale.shows(end) {
                    let x = self.scale.at(end);
                    write!(
                        f,
                        r#"<line class="wh" x1="{x}" x2="{x}" y1="80%" y2="96%"/>"#
                    )?;
                }
            }
        }
        Ok(())
    }

    fn labels(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stretch in self.stretches() {
            let ground = match stretch.kind {
                StretchKind::Held => "",
                StretchKind::HeldDependency => " d",
                StretchKind::HeldUnreported => " u",
                StretchKind::Beside => " b",
                _ => continue,
            };
            let (x, width) = self.scale.span(stretch.start, stretch.end);
            let text = number::ms(stretch.end - stretch.start);
            if let Some(class) = width.label_class(text.chars().count()) {
                let middle = x.middle(width);
                write!(
                    f,
                    r#"<text class="lab{ground} {class}" x="{middle}" y="56.25%">{text}</text>"#
                )?;
            }
        }
        if self.row.late > Nanos::ZERO && self.scale.shows(self.row.end) {
            let end = self.scale.at(self.row.end);
            let text = format!("+{}", number::ms(self.row.late));
            // One character more for the gap between the bar and its label.
            if let Some(class) = Percent::FULL
                .less(end)
                .label_class(text.chars().count() + 1)
            {
                write!(
                    f,
                    r#"<text class="lab o {class}" x="{end}" dx="5" y="56.25%">{text}</text>"#
                )?;
            }
        }
        Ok(())
    }
}

/// The bars of folded subtrees: one pale bar with what it stands for.
#[derive(Debug, Clone, Copy)]
pub struct FoldedBars<'a> {
    /// What was folded.
    pub folded: &'a Folded,
    /// The effective deadline of its first row.
    pub deadline: Option<Nanos>,
    /// That of the line above.
    pub above: Option<Nanos>,
    /// The axis that all rows share.
    pub scale: Scale,
    /// Its round times.
    pub ticks: &'a [Nanos],
}

impl fmt::Display for FoldedBars<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="bars" aria-hidden="true">"#)?;
        let line = Line {
            deadline: self.deadline,
            above: self.above,
            scale: self.scale,
        };
        line.ground(self.ticks, f)?;
        let (x, width) = self.scale.span(self.folded.start, self.folded.end);
        if self.scale.meets(self.folded.start, self.folded.end) {
            write!(
                f,
                r#"<rect {} x="{x}" width="{width}"/>"#,
                block(StretchKind::Beside)
            )?;
        }
        line.draw(f)?;
        let text = format!(
            "{} in {}",
            number::ms(self.folded.end - self.folded.start),
            number::counted(self.folded.rows, "row", "rows")
        );
        if let Some(class) = width.label_class(text.chars().count()) {
            let middle = x.middle(width);
            write!(
                f,
                r#"<text class="lab b {class}" x="{middle}" y="56.25%">{text}</text>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

/// The bars of a request that was handed over: a short stroke where it began, if that is known.
#[derive(Debug, Clone, Copy)]
pub struct HandOverBars<'a> {
    /// The line.
    pub line: &'a HandOver,
    /// When the request began, from this one's start.
    pub start: Option<Nanos>,
    /// The effective deadline of the hop that handed it over; it does not bind the request.
    pub deadline: Option<Nanos>,
    /// That of the line above.
    pub above: Option<Nanos>,
    /// The axis that all rows share.
    pub scale: Scale,
    /// Its round times.
    pub ticks: &'a [Nanos],
}

impl fmt::Display for HandOverBars<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="bars" aria-hidden="true">"#)?;
        let line = Line {
            deadline: self.deadline,
            above: self.above,
            scale: self.scale,
        };
        line.ground(self.ticks, f)?;
        line.draw(f)?;
        if let Some(start) = self.start.filter(|start| self.scale.shows(*start)) {
            let x = self.scale.at(start);
            write!(
                f,
                r#"<svg x="{x}" y="56.25%"><path class="hov" d="M0 0H8"/></svg>"#
            )?;
            let text = "\u{2192} own request, its own deadline";
            if let Some(class) = Percent::FULL.less(x).label_class(text.chars().count() + 2) {
                write!(
                    f,
                    r#"<text class="lab n {class}" x="{x}" dx="12" y="56.25%">{text}</text>"#
                )?;
            }
        }
        f.write_str("</svg>")
    }
}

/// The deadline through a row, with the ground behind it.
struct Line {
    deadline: Option<Nanos>,
    above: Option<Nanos>,
    scale: Scale,
}

impl Line {
    /// Where the line is; one that is off the axis is not drawn at its edge.
    fn at(&self) -> Option<Percent> {
        let deadline = self
            .deadline
            .filter(|deadline| self.scale.shows(*deadline))?;
        Some(self.scale.at(deadline))
    }

    /// Where the time after it begins on the axis.
    fn after(&self) -> Option<Percent> {
        let deadline = self
            .deadline
            .filter(|deadline| self.scale.reaches(*deadline))?;
        Some(self.scale.at(deadline))
    }

    fn ground(&self, ticks: &[Nanos], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(x) = self.after() {
            let width = Percent::FULL.less(x);
            write!(
                f,
                r#"<rect class="after" x="{x}" width="{width}" height="100%"/>"#
            )?;
        }
        for tick in ticks {
            let x = self.scale.at(*tick);
            write!(
                f,
                r#"<line class="tick" x1="{x}" x2="{x}" y1="0" y2="100%"/>"#
            )?;
        }
        Ok(())
    }

    /// The deadline; where it is not the one above, a step at the top joins the two.
    fn draw(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(x) = self.at() else {
            return Ok(());
        };
        let above = self.above.map(|above| self.scale.at(above));
        if let Some(above) = above.filter(|above| *above != x) {
            let (left, right) = (above.min(x), above.max(x));
            write!(
                f,
                r#"<line class="dl" x1="{left}" x2="{right}" y1="1" y2="1"/>"#
            )?;
        }
        write!(
            f,
            r#"<line class="dl" x1="{x}" x2="{x}" y1="0" y2="100%"/>"#
        )
    }
}

/// Class and texture of a block.
fn block(kind: StretchKind) -> &'static str {
    match kind {
        StretchKind::Held => r#"class="own""#,
        StretchKind::HeldDependency => r#"class="depd" fill="url(#h-dep)""#,
        StretchKind::HeldUnreported => r#"class="unrep" fill="url(#h-unrep)""#,
        StretchKind::Beside => r#"class="beside""#,
        StretchKind::Transit => r#"class="transit" fill="url(#h-transit)""#,
        StretchKind::Backoff => r#"class="backoff""#,
        StretchKind::Late => r#"class="lateown" fill="url(#h-after)""#,
        StretchKind::LateDependency => r#"class="latedep" fill="url(#h-afterdep)""#,
        StretchKind::Waiting => r#"class="waitb""#,
        StretchKind::LateWaiting => r#"class="waitb l""#,
    }
}
