//! The waterfall of a request with what moves through it: zoom, clocks, folds, finding.

use super::lines::LineView;
use super::window::{Cut, Select, cut};
use crate::model::{Nanos, Outcome, Request};
use crate::query::facts;
use crate::query::waterfall::{Line, Range, Row, Shown, Waterfall, lines, row_of_span};
use crate::report::number;
use crate::report::svg::{AxisHead, Badge, Icon, Legend, Scale, Strip};
use crate::settings::TraceUrl;
use crate::web::error::Problem;
use crate::web::laid::Laid;
use crate::web::params::in_millis;

/// From here on times have so many digits that they need more room.
const LONG: Nanos = Nanos::from_millis(10_000);

/// The waterfall, ready to print.
#[derive(Debug)]
pub(in crate::web) struct WaterfallView {
    pub(in crate::web) counts: String,
    pub(in crate::web) legend: String,
    pub(in crate::web) axis: String,
    /// The part of the axis that is shown, and all of it, as addresses have them.
    pub(in crate::web) from: String,
    pub(in crate::web) to: String,
    pub(in crate::web) whole_from: String,
    pub(in crate::web) whole_to: String,
    /// `400 to 900 ms of 1,654 ms`, if that is not all.
    pub(in crate::web) range: Option<String>,
    pub(in crate::web) zoom: Zoom,
    pub(in crate::web) clock: Option<Clock>,
    pub(in crate::web) jumps: Vec<Jump>,
    pub(in crate::web) find: FindView,
    pub(in crate::web) strip: String,
    pub(in crate::web) strip_left: String,
    pub(in crate::web) strip_own: String,
    pub(in crate::web) strip_late: Option<String>,
    pub(in crate::web) outcome: String,
    /// Its times need a wide column.
    pub(in crate::web) is_long: bool,
    /// The first line, from 0 and from 1.
    pub(in crate::web) first: usize,
    pub(in crate::web) start: usize,
    pub(in crate::web) total: usize,
    pub(in crate::web) total_shown: String,
    /// Whether the page has only some of the lines.
    pub(in crate::web) is_part: bool,
    pub(in crate::web) rows: Vec<LineView>,
    pub(in crate::web) cut: Option<Cut>,
    pub(in crate::web) warning: String,
}

/// Addresses of other parts of the axis.
#[derive(Debug)]
pub(in crate::web) struct Zoom {
    pub(in crate::web) closer: Option<String>,
    pub(in crate::web) wider: Option<String>,
    pub(in crate::web) fit: Option<String>,
    pub(in crate::web) deadline: Option<String>,
}

/// Addresses of both kinds of clocks.
#[derive(Debug)]
pub(in crate::web) struct Clock {
    pub(in crate::web) raw: bool,
    pub(in crate::web) aligned_href: String,
    pub(in crate::web) raw_href: String,
}

/// Where the culprit's and the surfaced row are.
#[derive(Debug)]
pub(in crate::web) struct Jump {
    /// `culprit` or `surfaced`.
    pub(in crate::web) id: &'static str,
    pub(in crate::web) icon: String,
    pub(in crate::web) text: &'static str,
    pub(in crate::web) href: String,
    pub(in crate::web) line: usize,
}

/// The field that finds rows, and what it found.
#[derive(Debug)]
pub(in crate::web) struct FindView {
    pub(in crate::web) action: String,
    pub(in crate::web) value: String,
    pub(in crate::web) hidden: Vec<(&'static str, String)>,
    pub(in crate::web) found: Option<FoundView>,
}

#[derive(Debug)]
pub(in crate::web) struct FoundView {
    /// `match 2 of 14`
    pub(in crate::web) words: String,
    pub(in crate::web) before: Option<String>,
    pub(in crate::web) after: Option<String>,
    pub(in crate::web) clear: String,
    /// The line of the current match.
    pub(in crate::web) line: Option<usize>,
}

/// What a page of a waterfall is made from.
pub(in crate::web) struct Drawing<'a> {
    pub(super) laid: &'a Laid,
    pub(super) select: &'a Select,
    pub(super) waterfall: &'a Waterfall,
    pub(super) shown: Shown,
    pub(super) lines: Vec<Line>,
    /// The first line that is shown.
    pub(super) first: usize,
    pub(super) hits: Option<Hits>,
    pub(super) open: Option<usize>,
    pub(super) trace_url: Option<&'a TraceUrl>,
}

/// Rows that have what was looked for.
pub(super) struct Hits {
    pub(super) rows: std::sync::Arc<Vec<usize>>,
    /// Which of them is the current one.
    pub(super) current: usize,
}

impl<'a> Drawing<'a> {
    /// Finds out what the page shows. `from` and `to` that show nothing are refused, and so is a
    /// span that the request does not have.
    pub(in crate::web) fn new(
        laid: &'a Laid,
        select: &'a Select,
        trace_url: Option<&'a TraceUrl>,
    ) -> Result<Self, Problem> {
        let request = laid.request();
        let waterfall = laid.waterfall(select.raw);
        let shown = waterfall.shown(select.from, select.to).ok_or_else(|| {
            let whole = waterfall.whole();
            Problem::Bad(format!(
                "`from` and `to` show nothing; `from` has to be less than `to`, and both within \
                 {} and {} ms.",
                in_millis(whole.from),
                in_millis(whole.to)
            ))
        })?;
        let hits = select.find.as_deref().map(|wanted| {
            let rows = laid.find(wanted);
            let current = select.hit.unwrap_or(1).clamp(1, rows.len().max(1)) - 1;
            Hits { rows, current }
        });
        let of_span = match select.span {
            Some(span) => {
                let row = row_of_span(request, &laid.stored.trace, waterfall, span);
                Some(row.ok_or_else(|| {
                    Problem::Gone(format!(
                        "Request {} has no span {span}; another request of its trace may have it.",
                        request.request
                    ))
                })?)
            }
            None => None,
        };
        let open = select.open.or(of_span);
        let hit = hits
            .as_ref()
            .and_then(|hits| hits.rows.get(hits.current).copied());
        let keep = open.or(hit);
        let lines = lines(request, waterfall, &select.folding, keep);
        let at = |row: usize| {
            lines
                .iter()
                .position(|line| matches!(line, Line::Row(one) if *one == row))
        };
        let first = select.from_row.unwrap_or_else(|| {
            let line = keep.and_then(at).unwrap_or(0);
            line - line % select.rows.max(1)
        });
        Ok(Self {
            laid,
            select,
            waterfall,
            shown,
            lines,
            first,
            hits,
            open,
            trace_url,
        })
    }

    pub(super) fn request(&self) -> &'a Request {
        self.laid.request()
    }

    /// Everything about the waterfall.
    pub(in crate::web) fn view(&self) -> WaterfallView {
        let (request, select, shown) = (self.request(), self.select, &self.shown);
        let scale = Scale::of(shown.range);
        let late = request.budget.map_or(Nanos::ZERO, |budget| {
            (request.elapsed - budget).at_least_zero()
        });
        WaterfallView {
            counts: facts::size(request),
            legend: Legend {
                waterfall: self.waterfall,
            }
            .to_string(),
            axis: AxisHead {
                scale,
                ticks: &shown.ticks,
                deadline: self.waterfall.deadline,
            }
            .to_string(),
            from: in_millis(shown.range.from),
            to: in_millis(shown.range.to),
            whole_from: in_millis(shown.whole.from),
            whole_to: in_millis(shown.whole.to),
            range: shown.is_zoomed().then(|| {
                format!(
                    "{} to {} of {}",
                    number::ms(shown.range.from),
                    number::ms_unit(shown.range.to),
                    number::ms_unit(shown.whole.to)
                )
            }),
            zoom: self.zoom(),
            clock: self.clock(),
            jumps: self.jumps(),
            find: self.find(),
            strip: Strip {
                stretches: &self.waterfall.strip,
                rows: &self.waterfall.rows,
                deadline: self.waterfall.deadline,
                scale: Scale::of(shown.whole),
                window: shown.is_zoomed().then_some(shown.range),
            }
            .to_string(),
            strip_left: request.budget.map(number::ms).unwrap_or_default(),
            strip_own: number::ms(request.elapsed - late),
            strip_late: (late > Nanos::ZERO).then(|| format!("+{}", number::ms(late))),
            outcome: Badge::Outcome(request.outcome).to_string(),
            is_long: self.waterfall.axis_end >= LONG,
            first: self.first,
            start: self.first + 1,
            total: self.lines.len(),
            total_shown: number::count(self.lines.len()),
            is_part: self.is_part(),
            rows: self.rows(),
            cut: cut(request, &self.lines, self.first, select),
            warning: Icon::Severity(crate::model::Severity::Warning).to_string(),
        }
    }

    /// What is shown now, with nothing in it asked for.
    pub(super) fn here(&self) -> Select {
        Select {
            from_row: Some(self.first).filter(|first| *first > 0),
            ..self.select.still()
        }
    }

    pub(super) fn is_part(&self) -> bool {
        self.first > 0 || self.lines.len() > self.select.rows
    }

    fn zoom(&self) -> Zoom {
        let to = |range: Range| self.here().zoomed(&self.shown, range).href(self.request());
        let shown = &self.shown;
        Zoom {
            closer: shown.closer.map(to),
            wider: shown.wider.map(to),
            fit: shown.is_zoomed().then(|| to(shown.whole)),
            deadline: shown
                .deadline
                .filter(|around| *around != shown.range)
                .map(to),
        }
    }

    /// A request on one clock has no other to show.
    fn clock(&self) -> Option<Clock> {
        let moved = |hop: &crate::model::Hop| hop.clock_offset != Nanos::ZERO;
        let request = self.request();
        let with = |raw| {
            let select = Select { raw, ..self.here() };
            select.href(request)
        };
        (self.select.raw || request.hops.iter().any(moved)).then(|| Clock {
            raw: self.select.raw,
            aligned_href: with(false),
            raw_href: with(true),
        })
    }

    fn jumps(&self) -> Vec<Jump> {
        let line = |wanted: fn(&Row) -> bool,
                    inside: fn(&crate::query::waterfall::Folded) -> bool| {
            self.lines.iter().position(|line| match line {
                Line::Row(row) => self.waterfall.rows.get(*row).is_some_and(wanted),
                Line::Folded(folded) => inside(folded),
                Line::HandOver(_) => false,
            })
        };
        let jump = |id, icon: Icon, text, line: Option<usize>| {
            line.map(|line| {
                let rows = self.select.rows.max(1);
                let select = Select {
                    from_row: Some(line - line % rows).filter(|row| *row > 0),
                    ..self.select.still()
                };
                let anchor = match self.lines.get(line) {
                    Some(Line::Row(row)) => format!("#r{row}"),
                    Some(Line::Folded(folded)) => format!("#f{}", folded.first),
                    _ => String::new(),
                };
                Jump {
                    id,
                    icon: icon.to_string(),
                    text,
                    href: format!("{}{anchor}", select.href(self.request())),
                    line,
                }
            })
        };
        let culprit = line(|row| row.culprit, |folded| folded.culprit);
        let surfaced = line(|row| row.surfaced, |folded| folded.surfaced);
        [
            jump("culprit", Icon::Culprit, "culprit", culprit),
            jump("surfaced", Icon::Surfaced, "surfaced", surfaced),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn find(&self) -> FindView {
        let select = self.select;
        let without = Select {
            find: None,
            ..select.anywhere()
        };
        let found = self.hits.as_ref().map(|hits| {
            let to = |hit: usize| {
                let select = Select {
                    hit: Some(hit + 1),
                    ..select.anywhere()
                };
                let row = hits.rows.get(hit).copied().unwrap_or(0);
                format!("{}#r{row}", select.href(self.request()))
            };
            let count = hits.rows.len();
            let current = hits.rows.get(hits.current).copied();
            FoundView {
                words: match count {
                    0 => "found nowhere in this request".to_owned(),
                    _ => format!(
                        "match {} of {}",
                        number::count(hits.current + 1),
                        number::count(count)
                    ),
                },
                before: (count > 1).then(|| to((hits.current + count - 1) % count)),
                after: (count > 1).then(|| to((hits.current + 1) % count)),
                clear: without.href(self.request()),
                line: current.and_then(|row| {
                    let mut lines = self.lines.iter();
                    lines.position(|line| matches!(line, Line::Row(one) if *one == row))
                }),
            }
        });
        FindView {
            action: super::link_to(self.request().trace_id, self.request().request),
            value: select.find.clone().unwrap_or_default(),
            hidden: without.hidden(),
            found,
        }
    }
}

/// What became of a request, as a title begins.
pub(super) fn outcome_title(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Cancelled => "Cancelled",
        Outcome::Missed => "Missed",
        Outcome::Failed => "Failed",
        Outcome::NoBudget => "No budget",
        Outcome::Met => "Met",
    }
}
