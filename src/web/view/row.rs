//! One row of the waterfall.

use super::detail::DetailView;
use super::words::{name, put};
use crate::model::{CallKind, Nanos, Verdict};
use crate::query::waterfall::{Folded, Row, Sent, Waterfall};
use crate::report::number;
use crate::report::svg::{Badge, FoldedBars, Icon, Scale, Tree};

/// A row, ready to print.
#[derive(Debug)]
pub(in crate::web) struct RowView {
    /// Its anchor.
    pub(in crate::web) id: String,
    pub(in crate::web) class: &'static str,
    pub(in crate::web) open: bool,
    /// ◆ or ⚑, as markup, with the words for those who do not see it.
    pub(in crate::web) culprit: bool,
    pub(in crate::web) surfaced: bool,
    pub(in crate::web) mark: String,
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

/// Folded subtrees, ready to print.
#[derive(Debug)]
pub(in crate::web) struct FoldedView {
    pub(in crate::web) tree: String,
    pub(in crate::web) text: String,
    pub(in crate::web) bars: String,
    pub(in crate::web) own: String,
    pub(in crate::web) href: String,
}

impl FoldedView {
    pub(in crate::web) fn new(
        folded: &Folded,
        waterfall: &Waterfall,
        above: Option<Nanos>,
        scale: Scale,
        href: String,
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
        Self {
            tree: tree
                .map(|row| Tree { row: &row }.to_string())
                .unwrap_or_default(),
            text: format!("+{what}, all ok"),
            bars: FoldedBars {
                folded,
                deadline: first.and_then(|row| row.deadline),
                above,
                scale,
                ticks: &waterfall.ticks,
            }
            .to_string(),
            own: number::ms(folded.held),
            href,
        }
    }
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
        let mut mark = String::new();
        if row.culprit {
            put(
                &mut mark,
                format_args!(r#"{}<span class="sr">culprit </span>"#, Icon::Culprit),
            );
        }
        if row.surfaced {
            let icon = Icon::Surfaced;
            put(
                &mut mark,
                format_args!(r#"{icon}<span class="sr">error surfaced here </span>"#),
            );
        }
        let tree = Tree { row };
        Self {
            id: format!("r{index}"),
            class,
            open: false,
            culprit: row.culprit,
            surfaced: row.surfaced,
            mark,
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
