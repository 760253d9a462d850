//! The list of recent requests.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::Keeping;
use super::asking::Site;
use super::error::{self, Problem};
use super::params::{Link, Params, bad};
use super::trace::is_prefix;
use super::view::{Chrome, LONG, ListedView, SHORT, day};
use crate::model::{Outcome, UnixNanos};
use crate::query::filter::{Filter, FilterError, instant};
use crate::query::requests::{self, Counts, Page, Query, Sort};
use crate::query::scan::Selection;
use crate::report::number;
use crate::report::svg::{Icon, display_name};
use crate::store::{Snapshot, Window};
use crate::telemetry::clock;

/// Rows on a page, and the most that can be asked for.
const ROWS: usize = 50;
const MOST_ROWS: usize = 500;

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    chrome: Chrome,
    filter: FilterBox,
    outcomes: Vec<Choice>,
    sorts: Vec<Choice>,
    samples: bool,
    /// Files that cannot be read, counted.
    faults: Option<String>,
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

/// The box that takes a filter.
#[derive(Default)]
struct FilterBox {
    text: String,
    /// Parameters that stay as they are when another filter is sent.
    kept: Vec<(&'static str, String)>,
    fault: Option<Fault>,
    /// The list without a filter.
    clear: Option<String>,
}

/// What is wrong with a filter, and where.
struct Fault {
    message: String,
    before: String,
    marked: String,
    after: String,
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

/// What an address asks for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) query: Query,
    /// The filter as it was typed.
    q: Option<String>,
}

/// Why an address makes no sense.
#[derive(Debug)]
pub(super) enum Refused {
    /// A parameter is wrong.
    Problem(Problem),
    /// The filter is; everything else is as asked.
    Filter(Box<(FilterError, Asked)>),
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Problem(problem) => problem,
            Refused::Filter(refused) => {
                let (error, asked) = *refused;
                let text = asked.q.unwrap_or_default();
                let (before, marked, _) = error.parts(&text);
                let column = before.chars().count() + 1;
                let at = match marked {
                    "" => format!("column {column}"),
                    marked => format!("column {column}, `{}`", display_name(marked, SHORT)),
                };
                Self::Bad(format!("`q`, {at}: {error}"))
            }
        }
    }
}

/// `GET /` and `GET /requests`.
pub(super) async fn page(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let params = Params::read(query.as_deref());
    match read(&params, ROWS) {
        Ok(asked) => {
            let built = site.ask("list", move |state| build(state, &asked)).await;
            match built.and_then(|page| page) {
                Ok(page) => error::render(&page),
                Err(problem) => error::page(&problem),
            }
        }
        Err(Refused::Filter(refused)) => {
            let (error, asked) = *refused;
            let built = site.ask("list", move |state| with_fault(state, &asked, &error));
            let mut answer = match built.await {
                Ok(page) => error::render(&page),
                Err(problem) => error::page(&problem),
            };
            if answer.status() == StatusCode::OK {
                *answer.status_mut() = StatusCode::BAD_REQUEST;
            }
            answer
        }
        Err(Refused::Problem(problem)) => error::page(&problem),
    }
}

/// The words that choose an outcome.
fn outcome_words() -> [(&'static str, Outcome); Outcome::ALL.len()] {
    Outcome::ALL.map(|outcome| (outcome.as_str(), outcome))
}

/// Reads `q`, `outcome`, `sort`, `limit`, `since`, `until` and `cursor`.
pub(super) fn read(params: &Params, rows: usize) -> Result<Asked, Refused> {
    let query = query(params, rows).map_err(Refused::Problem)?;
    let mut asked = Asked {
        query,
        q: params.get("q").map(str::to_owned),
    };
    if let Some(text) = &asked.q {
        match filter(text) {
            Ok(filter) => asked.query.selection.filter = Some(filter),
            Err(error) => return Err(Refused::Filter(Box::new((error, asked)))),
        }
    }
    Ok(asked)
}

/// The filter that a text is; the beginning of a trace id stands for itself.
fn filter(text: &str) -> Result<Filter, FilterError> {
    let now = UnixNanos(clock::unix_nanos());
    if is_prefix(text) {
        Filter::parse_at(&format!("trace_id={text}"), now)
    } else {
        Filter::parse_at(text, now)
    }
}

fn query(params: &Params, rows: usize) -> Result<Query, Problem> {
    let cursor = params
        .get("cursor")
        .map(|text| {
            text.parse()
                .map_err(|_| bad("cursor", text, "the `next` of a page, as it came"))
        })
        .transpose()?;
    Ok(Query {
        outcome: params.choice("outcome", &outcome_words())?,
        sort: sort(params)?,
        selection: Selection {
            filter: None,
            window: Window {
                since: instant_of(params, "since")?,
                until: instant_of(params, "until")?,
            },
        },
        limit: params.number("limit", rows, 1, MOST_ROWS)?,
        cursor,
        ..Query::default()
    })
}

/// `newest`, `worst`, or a field of a request, with `-` before it for the largest first.
fn sort(params: &Params) -> Result<Sort, Problem> {
    let Some(text) = params.get("sort") else {
        return Ok(Sort::default());
    };
    text.parse().map_err(|error| {
        let words = Sort::NAMED.map(|sort| sort.to_string()).join(", ");
        let wanted = format!("one of {words}, or a field such as -elapsed ({error})");
        bad("sort", text, &wanted)
    })
}

fn instant_of(params: &Params, name: &str) -> Result<Option<UnixNanos>, Problem> {
    let Some(text) = params.get(name) else {
        return Ok(None);
    };
    let at = instant(text, Some(UnixNanos(clock::unix_nanos())));
    let wanted = "an instant such as 2026-10-07T09:00:00Z, or a time ago such as -15m";
    at.map(Some).map_err(|_| bad(name, text, wanted))
}

fn build(state: &super::State, asked: &Asked) -> Result<RequestsPage, Problem> {
    let query = &asked.query;
    let snapshot = state.store.snapshot();
    let page = requests::page(&snapshot, query)?;
    let day = page.rows.first().map(day).unwrap_or_default();
    let rows: Vec<ListedView> = page
        .rows
        .iter()
        .map(|row| ListedView::new(row, &day))
        .collect();
    Ok(RequestsPage {
        faults: faults(&snapshot),
        outcomes: outcomes(asked, Some(&page.counts)),
        heading: heading(query.outcome, page.matching),
        showing: showing(state, &page, asked, &day),
        empty: rows.is_empty().then(|| empty(asked, &page)),
        pager: pager(asked, &page),
        rows,
        ..frame(state, asked)
    })
}

/// What to say of files that cannot be read; their names are for the log.
fn faults(snapshot: &Snapshot) -> Option<String> {
    match snapshot.faults().len() {
        0 => None,
        count => Some(number::counted(count, "stored file", "stored files")),
    }
}

/// The page without rows that says what is wrong with the filter.
fn with_fault(state: &super::State, asked: &Asked, error: &FilterError) -> RequestsPage {
    let text = asked.q.clone().unwrap_or_default();
    let (before, marked, after) = error.parts(&text);
    // An empty place is marked by a blank.
    let marked = if marked.is_empty() { " " } else { marked };
    let mut frame = frame(state, asked);
    frame.filter.fault = Some(Fault {
        message: display_name(&error.to_string(), LONG),
        before: display_name(before, LONG),
        marked: display_name(marked, LONG),
        after: display_name(after, LONG),
    });
    RequestsPage {
        outcomes: outcomes(asked, None),
        heading: "This filter makes no sense".to_owned(),
        ..frame
    }
}

/// What the page has whatever the list holds.
fn frame(state: &super::State, asked: &Asked) -> RequestsPage {
    let query = &asked.query;
    let window = query.selection.window;
    let kept = [
        (
            "outcome",
            query.outcome.map(|outcome| outcome.as_str().to_owned()),
        ),
        (
            "sort",
            (query.sort != Sort::Newest).then(|| query.sort.to_string()),
        ),
        (
            "limit",
            (query.limit != ROWS).then(|| query.limit.to_string()),
        ),
        ("since", window.since.map(|at| at.to_string())),
        ("until", window.until.map(|at| at.to_string())),
    ];
    RequestsPage {
        chrome: Chrome::new("requests"),
        filter: FilterBox {
            text: asked.q.clone().unwrap_or_default(),
            kept: kept
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .collect(),
            fault: None,
            clear: asked.q.as_ref().map(|_| asked.without_filter()),
        },
        outcomes: Vec::new(),
        sorts: sorts(asked),
        faults: None,
        samples: state.store.has_samples(),
        heading: String::new(),
        showing: String::new(),
        rows: Vec::new(),
        newest: query.sort == Sort::Newest,
        empty: None,
        pager: Vec::new(),
        http_addr: state.http_addr.clone(),
        grpc_addr: state.grpc_addr.clone(),
        down: Icon::Down.to_string(),
        next_icon: Icon::Next.to_string(),
    }
}

/// A link for each order that has a name, and the one that was asked for.
fn sorts(asked: &Asked) -> Vec<Choice> {
    let current = asked.query.sort;
    let choice = |sort: Sort, text| Choice {
        href: asked.href(asked.query.outcome, sort, None),
        text,
        current: sort == current,
    };
    let named = Sort::NAMED.map(|sort| choice(sort, format!("{sort} first")));
    let other = match current {
        Sort::By(by) => Some(choice(current, by.words())),
        Sort::Newest | Sort::Worst => None,
    };
    named.into_iter().chain(other).collect()
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

fn showing(state: &super::State, page: &Page, asked: &Asked, day: &str) -> String {
    let query = &asked.query;
    let mut said = Vec::new();
    if query.outcome.is_some() || !query.selection.is_all() {
        said.push(format!("of {} held", number::count(page.held)));
    } else {
        said.extend(kept(state));
    }
    if page.rows.len() < page.matching {
        let rows = number::count(page.rows.len());
        let which = match query.cursor {
            Some(_) => format!("showing {rows} further ones"),
            None => format!("showing the first {rows}"),
        };
        said.push(which);
    }
    if !day.is_empty() {
        said.push(day.to_owned());
    }
    said.join("; ")
}

/// What stays of the requests, as far as that is known.
fn kept(state: &super::State) -> Option<String> {
    match state.keeping {
        Keeping::Memory => Some("held in memory; the oldest leave first".to_owned()),
        // Samples stay until a span comes.
        Keeping::Folder(_) if state.store.has_samples() => None,
        Keeping::Folder(age) => Some(format!("kept for {}", number::age(age?))),
    }
}

/// A link for each outcome, with its count where the filter makes sense.
fn outcomes(asked: &Asked, counts: Option<&Counts>) -> Vec<Choice> {
    let choice = |outcome: Option<Outcome>, word: &str, count: Option<usize>| Choice {
        href: asked.href(outcome, asked.query.sort, None),
        text: match count {
            Some(count) => format!("{word} {}", number::count(count)),
            None => word.to_owned(),
        },
        current: outcome == asked.query.outcome,
    };
    let all = choice(None, "all", counts.map(Counts::total));
    let each = Outcome::ALL.into_iter().map(|outcome| {
        let word = outcome.as_str().replace('_', " ");
        choice(
            Some(outcome),
            &word,
            counts.map(|counts| counts.of(outcome)),
        )
    });
    std::iter::once(all).chain(each).collect()
}

fn empty(asked: &Asked, page: &Page) -> Empty {
    let link = |text, href| Pager {
        href,
        text,
        next: false,
    };
    let query = &asked.query;
    if page.held == 0 {
        return Empty {
            what: "No requests yet.".to_owned(),
            hint: "No span has come since this server started.",
            links: vec![link("How to read what will be here", "/help".to_owned())],
            first_time: true,
        };
    }
    if !query.selection.is_all() && page.counts.total() == 0 {
        return Empty {
            what: "No request matches this filter.".to_owned(),
            hint: "Those that are held are different.",
            links: vec![
                link("Show all", asked.without_filter()),
                link("How to write one", "/help#filter".to_owned()),
            ],
            first_time: false,
        };
    }
    let what = match query.outcome {
        Some(outcome) if page.matching == 0 => format!("No {} requests.", words(outcome)),
        _ => "Nothing further.".to_owned(),
    };
    Empty {
        what,
        hint: "Those that are held have another outcome, or stand on a page before this one.",
        links: vec![link("Show all", asked.href(None, query.sort, None))],
        first_time: false,
    }
}

fn pager(asked: &Asked, page: &Page) -> Vec<Pager> {
    let query = &asked.query;
    let mut links = Vec::new();
    if query.cursor.is_some() {
        let href = asked.href(query.outcome, query.sort, None);
        links.push(Pager {
            href,
            text: "first page",
            next: false,
        });
    }
    if let Some(next) = &page.next {
        let href = asked.href(query.outcome, query.sort, Some(&next.to_string()));
        links.push(Pager {
            href,
            text: "next page",
            next: true,
        });
    }
    links
}

impl Asked {
    /// The address of the same list with another outcome, order or page.
    fn href(&self, outcome: Option<Outcome>, sort: Sort, cursor: Option<&str>) -> String {
        self.address(self.q.as_deref(), outcome, sort, cursor)
    }

    /// The address of the same list without its filter.
    fn without_filter(&self) -> String {
        self.address(None, self.query.outcome, self.query.sort, None)
    }

    fn address(
        &self,
        q: Option<&str>,
        outcome: Option<Outcome>,
        sort: Sort,
        cursor: Option<&str>,
    ) -> String {
        let limit = (self.query.limit != ROWS).then(|| self.query.limit.to_string());
        let order = (sort != Sort::Newest).then(|| sort.to_string());
        let window = self.query.selection.window;
        let since = window.since.map(|at| at.to_string());
        let until = window.until.map(|at| at.to_string());
        Link {
            path: "/requests",
            pairs: &[
                ("q", q),
                ("outcome", outcome.map(Outcome::as_str)),
                ("sort", order.as_deref()),
                ("since", since.as_deref()),
                ("until", until.as_deref()),
                ("limit", limit.as_deref()),
                ("cursor", cursor),
            ],
        }
        .to_string()
    }
}
