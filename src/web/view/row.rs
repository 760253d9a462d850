//! One row of the waterfall.

use super::detail::DetailView;
use super::words::{link_to, name, put};
use crate::model::{CallKind, HandedOver, Nanos, Request, Verdict};
use crate::query::waterfall::{Folded, HandOver, Row, Sent, Waterfall};
use crate::report::number;
use crate::report::svg::{Badge, FoldedBars, HandOverBars, Icon, Scale, Tree};

/// A row, ready to print.
#[derive(Debug)]
pub(in crate::web) struct RowView {
    /// Its anchor.
    pub(in crate::web) id: String,
    pub(in crate::web) class: &'static str,
    pub(in crate::web) open: bool,
    /// Its number, where the page has only some of the lines.
    pub(in crate::web) number: Option<String>,
    /// The line of the caller's row.
    pub(in crate::web) up: Option<usize>,
    /// The page with what is below it folded or, if it is, unfolded.
    pub(in crate::web) folds: Option<(String, bool)>,
    /// Classes of a row in which what is looked for is, and of the one that was gone to.
    pub(in crate::web) hit: Option<&'static str>,
    /// ◆ or ⚑, as markup, with the words for those who do not see it.
    pub(in crate::web) mark: String,
    pub(in crate::web) mark_class: &'static str,
    pub(in crate::web) tree: String,
    pub(in crate::web) depth: Option<String>,
    pub(in crate::web) name: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) attempt: Option<String>,
    /// "arrived at …, ended at …, deadline at …", for screen readers.
    pub(in crate::web) times: String,
    pub(in crate::web) left: String,
    pub(in crate::web) left_class: &'static str,
    pub(in crate::web) sent: SentView,
    pub(in crate::web) bars: String,
    pub(in crate::web) own: String,
    pub(in crate::web) late: Option<String>,
    pub(in crate::web) typical: Option<(String, &'static str)>,
    pub(in crate::web) badge: String,
    pub(in crate::web) detail: Option<DetailView>,
    /// Where the opened part is, when the page has no room for it.
    pub(in crate::web) elsewhere: Option<String>,
}

/// The right half of the left column.
#[derive(Debug)]
pub(in crate::web) enum SentView {
    Blank,
    None,
    Told(String),
    Budget(String),
}

/// Where a line stands and on which axis.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    /// Its number, where the page has only some of the lines.
    pub(super) number: Option<String>,
    /// The line of the caller's row.
    pub(super) up: Option<usize>,
    /// The effective deadline of the line above.
    pub(super) above: Option<Nanos>,
    pub(super) scale: Scale,
    pub(super) ticks: &'a [Nanos],
}

/// Folded subtrees, ready to print.
#[derive(Debug)]
pub(in crate::web) struct FoldedView {
    pub(in crate::web) id: String,
    pub(in crate::web) number: Option<String>,
    pub(in crate::web) up: Option<usize>,
    pub(in crate::web) mark: String,
    pub(in crate::web) tree: String,
    pub(in crate::web) text: String,
    pub(in crate::web) hits: Option<String>,
    pub(in crate::web) bars: String,
    pub(in crate::web) own: String,
    pub(in crate::web) badge: Option<String>,
    pub(in crate::web) href: String,
}

impl FoldedView {
    pub(super) fn new(
        folded: &Folded,
        waterfall: &Waterfall,
        place: Place<'_>,
        href: String,
        hits: usize,
    ) -> Self {
        let first = waterfall.rows.get(folded.first);
        let tree = first.map(|row| Row {
            last: folded.last,
            propagated: true,
            ..row.clone()
        });
        let what = if folded.hops > 0 {
            number::counted(folded.hops, "hop", "hops")
        } else {
            number::counted(folded.rows, "call", "calls")
        };
        let ok = folded.verdict == Verdict::Ok;
        Self {
            id: format!("f{}", folded.first),
            number: place.number,
            up: place.up,
            mark: marks(folded.culprit, folded.surfaced),
            tree: tree
                .map(|row| Tree { row: &row }.to_string())
                .unwrap_or_default(),
            text: if ok {
                format!("+{what}, all ok")
            } else {
                format!("+{what}, worst {}", folded.verdict.words())
            },
            hits: (hits > 0).then(|| number::counted(hits, "match", "matches")),
            bars: FoldedBars {
                folded,
                deadline: first.and_then(|row| row.deadline),
                above: place.above,
                scale: place.scale,
                ticks: place.ticks,
            }
            .to_string(),
            own: number::ms(folded.held),
            badge: (!ok).then(|| Badge::Verdict(folded.verdict).to_string()),
            href,
        }
    }
}

/// A request that was handed over, as a line with a link, ready to print.
#[derive(Debug)]
pub(in crate::web) struct HandOverView {
    pub(in crate::web) number: Option<String>,
    pub(in crate::web) up: Option<usize>,
    pub(in crate::web) tree: String,
    pub(in crate::web) href: String,
    pub(in crate::web) text: String,
    pub(in crate::web) about: String,
    pub(in crate::web) bars: String,
    pub(in crate::web) took: Option<String>,
    pub(in crate::web) badge: Option<String>,
}

impl HandOverView {
    /// `other` is what was handed over, and its request if it is of the same trace; `opened` is
    /// where all of the row's are.
    pub(super) fn new(
        request: &Request,
        row: &Row,
        line: &HandOver,
        place: Place<'_>,
        (other, known): (&HandedOver, Option<&Request>),
        opened: String,
    ) -> Self {
        let tree = Row {
            depth: line.depth,
            last: line.last,
            guides: line.guides.clone(),
            ..Row::default()
        };
        let known = known.filter(|_| line.more == 0);
        let start = known.map(|known| known.start.since(request.start));
        let (href, text) = match known {
            _ if line.more > 0 => {
                let more = number::counted(line.more, "request", "requests");
                (opened, format!("{more} more handed over"))
            }
            Some(known) => (
                link_to(other.trace_id, other.request),
                name(&format!("{} {}", known.service, known.operation)),
            ),
            None => (
                link_to(other.trace_id, other.request),
                format!("request {}", other.request),
            ),
        };
        Self {
            number: place.number,
            up: place.up,
            tree: Tree { row: &tree }.to_string(),
            href,
            text,
            about: match (known, start) {
                _ if line.more > 0 => String::new(),
                (Some(_), Some(start)) => {
                    format!("handed over, began at {}", number::ms_unit(start))
                }
                _ if other.trace_id == request.trace_id => "handed over".to_owned(),
                _ => "handed over, in another trace".to_owned(),
            },
            bars: HandOverBars {
                line,
                start,
                deadline: row.deadline,
                above: place.above,
                scale: place.scale,
                ticks: place.ticks,
            }
            .to_string(),
            took: known.map(|known| number::ms(known.elapsed)),
            badge: known.map(|known| Badge::Outcome(known.outcome).to_string()),
        }
    }
}

/// ◆ and ⚑ with the words for those who do not see them.
fn marks(culprit: bool, surfaced: bool) -> String {
    let mut mark = String::new();
    if culprit {
        put(
            &mut mark,
            format_args!(r#"{}<span class="sr">culprit </span>"#, Icon::Culprit),
        );
    }
    if surfaced {
        let icon = Icon::Surfaced;
        put(
            &mut mark,
            format_args!(r#"{icon}<span class="sr">error surfaced here </span>"#),
        );
    }
    mark
}

/// From here on a factor is printed, and from there on in bold, in tenths.
const TIMES_SHOWN: u64 = 15;
const TIMES_STRONG: u64 = 30;

impl RowView {
    pub(in crate::web) fn new(index: usize, row: &Row, bars: String) -> Self {
        let dependency = row.kind != CallKind::Hop;
        let class = match (dependency, row.culprit) {
            (false, false) => "hop",
            (false, true) => "hop cul",
            (true, false) => "hop dep",
            (true, true) => "hop dep cul",
        };
        let tree = Tree { row };
        Self {
            id: format!("r{index}"),
            class,
            open: false,
            number: None,
            up: None,
            folds: None,
            hit: None,
            mark: marks(row.culprit, row.surfaced),
            mark_class: match (row.culprit, row.surfaced) {
                (true, true) => "mk two-marks",
                (false, true) => "mk fl",
                (_, false) => "mk",
            },
            tree: tree.to_string(),
            depth: tree.depth().map(number::count),
            name: name(&row.name),
            operation: name(&row.operation),
            attempt: row.attempt.map(|(nth, of)| format!("{nth}/{of}")),
            times: times(row),
            left: row.left.map(number::ms).unwrap_or_default(),
            left_class: left_class(row, dependency),
            sent: sent(row),
            bars,
            own: number::ms(row.own),
            late: (row.own_late > Nanos::ZERO).then(|| format!("+{}", number::ms(row.own_late))),
            typical: row
                .times_typical
                .filter(|times| *times >= TIMES_SHOWN)
                .map(|times| {
                    let class = if times >= TIMES_STRONG { "x hi" } else { "x" };
                    (number::times(times), class)
                }),
            badge: Badge::Verdict(row.verdict).to_string(),
            detail: None,
            elsewhere: None,
        }
    }
}

fn times(row: &Row) -> String {
    let mut out = format!(
        ", arrived at {}, ended at {}",
        number::ms_unit(row.start),
        number::ms_unit(row.end)
    );
    if let Some(deadline) = row.deadline {
        put(
            &mut out,
            format_args!(", deadline at {}", number::ms_unit(deadline)),
        );
    }
    out.push_str(". ");
    out
}

/// Vermilion when nothing could be done with it any more; grey where it is derived.
fn left_class(row: &Row, dependency: bool) -> &'static str {
    let spent = row.left.is_some_and(|left| left <= Nanos::ZERO)
        || matches!(
            row.verdict,
            Verdict::ExpiredOnArrival | Verdict::ExpiredBeforeSend
        );
    match (spent, dependency) {
        (true, _) => "a late-t",
        (false, true) => "a qq",
        (false, false) => "a",
    }
}

fn sent(row: &Row) -> SentView {
    if let Some(told) = row.told {
        return SentView::Told(number::ms(told));
    }
    match row.sent {
        Sent::Leaf | Sent::Unknown => SentView::Blank,
        Sent::Nothing => SentView::None,
        Sent::Budget(budget) => SentView::Budget(number::ms(budget)),
    }
}
