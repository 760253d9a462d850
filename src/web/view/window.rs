//! Which rows of a request stand on a page, and where the others are.

use super::words::link_to;
use crate::model::Request;
use crate::query::waterfall::Line;
use crate::report::number;
use crate::web::params::Link;

/// Rows that a page shows, unless it is asked for fewer or more.
pub(in crate::web) const ROWS: usize = 200;

/// Which part of a request the page shows.
#[derive(Debug, Clone, Copy)]
pub(in crate::web) struct Select {
    /// The first line, from 0.
    pub(in crate::web) from: usize,
    /// How many lines.
    pub(in crate::web) rows: usize,
    /// Whether subtrees of no interest are folded.
    pub(in crate::web) folded: bool,
    /// The row that is opened, with everything.
    pub(in crate::web) open: Option<usize>,
}

/// What of the rows is not on the page, and where it is.
#[derive(Debug)]
pub(in crate::web) struct Cut {
    pub(in crate::web) shown: String,
    pub(in crate::web) rest: &'static str,
    pub(in crate::web) links: Vec<TextLink>,
}

#[derive(Debug)]
pub(in crate::web) struct TextLink {
    pub(in crate::web) href: String,
    pub(in crate::web) text: String,
}

/// The page with this row opened.
pub(super) fn opened(request: &Request, select: Select, row: usize) -> String {
    let open = row.to_string();
    format!("{}#r{row}", href(request, select, select.from, Some(&open)))
}

/// The page with nothing folded, at this row.
pub(super) fn unfolded(request: &Request, select: Select, row: usize) -> String {
    let select = Select {
        folded: false,
        ..select
    };
    // The line of a row is its index when nothing is folded.
    let from = row - row % select.rows.max(1);
    format!("{}#r{row}", href(request, select, from, None))
}

fn href(request: &Request, select: Select, from: usize, open: Option<&str>) -> String {
    let path = link_to(request.trace_id, request.request);
    let from = (from > 0).then(|| from.to_string());
    let rows = (select.rows != ROWS).then(|| select.rows.to_string());
    Link {
        path: &path,
        pairs: &[
            ("fold", (!select.folded).then_some("none")),
            ("rows", rows.as_deref()),
            ("from", from.as_deref()),
            ("open", open),
        ],
    }
    .to_string()
}

/// What to say of the lines that are not shown; `None` if all are.
pub(super) fn cut(request: &Request, lines: &[Line], select: Select) -> Option<Cut> {
    let total = lines.len();
    let folds = lines.iter().any(|line| matches!(line, Line::Folded(_)));
    let all_shown = select.from == 0 && total <= select.rows;
    if all_shown && !folds {
        return None;
    }
    let mut links = Vec::new();
    let mut link = |text: String, href: String| links.push(TextLink { href, text });
    let last = (select.from + select.rows).min(total);
    if select.from > 0 {
        let before = select.from.saturating_sub(select.rows);
        link(
            "before these".to_owned(),
            href(request, select, before, None),
        );
    }
    if last < total {
        let next = number::count((total - last).min(select.rows));
        link(format!("next {next}"), href(request, select, last, None));
    }
    if folds {
        let select = Select {
            folded: false,
            ..select
        };
        link("unfold all".to_owned(), href(request, select, 0, None));
    }
    let shown = if all_shown {
        format!(
            "Showing {} of {} hops and calls.",
            number::count(rows_in(lines)),
            number::count(unfolded_count(lines))
        )
    } else {
        format!(
            "Showing rows {}\u{2013}{} of {}.",
            number::count((select.from + 1).min(total)),
            number::count(last),
            number::count(total)
        )
    };
    Some(Cut {
        shown,
        rest: "All totals, the ledger and the findings are from the whole request.",
        links,
    })
}

fn rows_in(lines: &[Line]) -> usize {
    lines
        .iter()
        .filter(|line| matches!(line, Line::Row(_)))
        .count()
}

fn unfolded_count(lines: &[Line]) -> usize {
    lines
        .iter()
        .map(|line| match line {
            Line::Row(_) => 1,
            Line::Folded(folded) => folded.rows,
        })
        .sum()
}
