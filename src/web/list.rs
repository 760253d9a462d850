//! The list of recent requests.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::error::{self, Problem};
use super::params::{Link, Params, bad};
use super::view::{Chrome, ListedView, day};
use crate::model::Outcome;
use crate::query::requests::{self, Page, Query, Sort};
use crate::report::number;
use crate::report::svg::Icon;

/// Rows on a page, and the most that can be asked for.
const ROWS: usize = 50;
const MOST_ROWS: usize = 500;

/// The words that choose an order.
fn sort_words() -> [(&'static str, Sort); Sort::ALL.len()] {
    Sort::ALL.map(|sort| (sort.as_str(), sort))
}

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    chrome: Chrome,
    outcomes: Vec<Choice>,
    sorts: Vec<Choice>,
    samples: bool,
    heading: String,
    showing: String,
    rows: Vec<ListedView>,
    newest: bool,
    empty: Option<Empty>,
    pager: Vec<Pager>,
    http_addr: String,
    grpc_addr: String,
    down: String,
    next_icon: String,
}

/// One of several links, one of them the current.
struct Choice {
    href: String,
    text: String,
    current: bool,
}

/// What to say when there is no row.
struct Empty {
    what: String,
    hint: &'static str,
    links: Vec<Pager>,
    /// Nothing ever came.
    first_time: bool,
}

struct Pager {
    href: String,
    text: &'static str,
    next: bool,
}

/// `GET /` and `GET /requests`.
pub(super) async fn page(
    State(state): State<Arc<super::State>>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::read(query.as_deref());
    match read(&params, ROWS) {
        Ok(query) => error::render(&build(&state, &query)),
        Err(problem) => error::page(&problem),
    }
}

/// The words that choose an outcome.
fn outcome_words() -> [(&'static str, Outcome); Outcome::ALL.len()] {
    Outcome::ALL.map(|outcome| (outcome.as_str(), outcome))
}

/// Reads `outcome`, `sort`, `limit` and `cursor`.
pub(super) fn read(params: &Params, rows: usize) -> Result<Query, Problem> {
    let cursor = params
        .get("cursor")
        .map(|text| {
            text.parse()
                .map_err(|_| bad("cursor", text, "the `next` of a page, as it came"))
        })
        .transpose()?;
    Ok(Query {
        outcome: params.choice("outcome", &outcome_words())?,
        sort: params.choice("sort", &sort_words())?.unwrap_or_default(),
        limit: params.number("limit", rows, 1, MOST_ROWS)?,
        cursor,
        ..Query::default()
    })
}

fn build(state: &super::State, query: &Query) -> RequestsPage {
    let page = requests::page(&state.memory, query);
    let day = page
        .rows
        .first()
        .and_then(|row| row.request())
        .map(day)
        .unwrap_or_default();
    let rows: Vec<ListedView> = page
        .rows
        .iter()
        .filter_map(|listed| Some(ListedView::new(listed.request()?, &day)))
        .collect();
    RequestsPage {
        chrome: Chrome::new("requests"),
        outcomes: outcomes(query, &page),
        sorts: sort_words()
            .map(|(word, sort)| Choice {
                href: href(query.outcome, sort, query.limit, None),
                text: format!("{word} first"),
                current: sort == query.sort,
            })
            .into(),
        samples: state.memory.has_samples(),
        heading: heading(query.outcome, page.matching),
        showing: showing(&page, query, &day),
        empty: rows.is_empty().then(|| empty(query, &page)),
        pager: pager(query, &page),
        newest: query.sort == Sort::Newest,
        rows,
        http_addr: state.http_addr.clone(),
        grpc_addr: state.grpc_addr.clone(),
        down: Icon::Down.to_string(),
        next_icon: Icon::Next.to_string(),
    }
}

fn heading(outcome: Option<Outcome>, count: usize) -> String {
    let noun = if count == 1 { "request" } else { "requests" };
    match outcome {
        Some(outcome) => {
            format!("{} {} {noun}", number::count(count), words(outcome))
        }
        None => format!("{} {noun}", number::count(count)),
    }
}

fn words(outcome: Outcome) -> String {
    match outcome {
        Outcome::NoBudget => "no-budget".to_owned(),
        other => other.as_str().to_owned(),
    }
}

fn showing(page: &Page, query: &Query, day: &str) -> String {
    let total = page.counts.total();
    let mut out = match query.outcome {
        Some(_) => format!("of {} held", number::count(total)),
        None => "held in memory; the oldest leave first".to_owned(),
    };
    if page.rows.len() < page.matching {
        let rows = number::count(page.rows.len());
        let which = match query.cursor {
            Some(_) => format!("; showing {rows} further ones"),
            None => format!("; showing the first {rows}"),
        };
        out.push_str(&which);
    }
    if !day.is_empty() {
        out.push_str("; ");
        out.push_str(day);
    }
    out
}

fn outcomes(query: &Query, page: &Page) -> Vec<Choice> {
    let choice = |outcome: Option<Outcome>, text: String| Choice {
        href: href(outcome, query.sort, query.limit, None),
        text,
        current: outcome == query.outcome,
    };
    let all = choice(None, format!("all {}", number::count(page.counts.total())));
    let each = page.counts.iter().map(|(outcome, count)| {
        let text = format!(
            "{} {}",
            outcome.as_str().replace('_', " "),
            number::count(count)
        );
        choice(Some(outcome), text)
    });
    std::iter::once(all).chain(each).collect()
}

fn empty(query: &Query, page: &Page) -> Empty {
    let link = |text, href| Pager {
        href,
        text,
        next: false,
    };
    let all = href(None, query.sort, query.limit, None);
    if page.counts.total() == 0 {
        return Empty {
            what: "No requests yet.".to_owned(),
            hint: "No span has come since this server started.",
            links: vec![link("How to read what will be here", "/help".to_owned())],
            first_time: true,
        };
    }
    let what = match query.outcome {
        Some(outcome) if page.matching == 0 => format!("No {} requests.", words(outcome)),
        _ => "Nothing further.".to_owned(),
    };
    Empty {
        what,
        hint: "Those that are held have another outcome, or stand on a page before this one.",
        links: vec![link("Show all", all)],
        first_time: false,
    }
}

fn pager(query: &Query, page: &Page) -> Vec<Pager> {
    let mut links = Vec::new();
    if query.cursor.is_some() {
        let href = href(query.outcome, query.sort, query.limit, None);
        links.push(Pager {
            href,
            text: "first page",
            next: false,
        });
    }
    if let Some(next) = page.next {
        let href = href(
            query.outcome,
            query.sort,
            query.limit,
            Some(&next.to_string()),
        );
        links.push(Pager {
            href,
            text: "next page",
            next: true,
        });
    }
    links
}

fn href(outcome: Option<Outcome>, sort: Sort, limit: usize, cursor: Option<&str>) -> String {
    let limit = (limit != ROWS).then(|| limit.to_string());
    Link {
        path: "/requests",
        pairs: &[
            ("outcome", outcome.map(Outcome::as_str)),
            ("sort", (sort != Sort::Newest).then(|| sort.as_str())),
            ("limit", limit.as_deref()),
            ("cursor", cursor),
        ],
    }
    .to_string()
}
