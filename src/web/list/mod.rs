//! The list of requests.

mod asked;
mod form;
mod heads;
mod used;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::Keeping;
use super::asking::Site;
use super::assets;
use super::error::{self, Problem};
use super::params::Params;
use super::period::Period;
use super::view::{Chrome, LONG, ListedView, day};
use crate::model::{Outcome, Rule};
use crate::query::filter::FilterError;
use crate::query::requests::{self, Counts, Matching, Page, Sort};
use crate::report::number;
use crate::report::svg::{Icon, display_name};
use crate::store::Snapshot;
use asked::Other;
pub(super) use asked::{Asked, Refused, read};
use heads::{Head, heads};
use used::UsedView;

/// Rows on a page.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    chrome: Chrome,
    script: String,
    filter: FilterBox,
    form: FormView,
    outcomes: Vec<Choice>,
    sorts: Vec<Choice>,
    samples: bool,
    heading: String,
    showing: String,
    used: Option<UsedView>,
    before: Vec<Head>,
    after: Vec<Head>,
    rows: Vec<ListedView>,
    csv: String,
    ndjson: String,
    /// What of it they hold, where that is not all.
    of_page: String,
    empty: Option<Empty>,
    pager: Vec<Pager>,
    http_addr: String,
    grpc_addr: String,
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
    /// The typed filter and the form as one filter, if both say something.
    whole: Option<(String, String)>,
}

/// The form beside it.
#[derive(Default)]
struct FormView {
    open: bool,
    outcomes: Vec<FormChoice>,
    service: String,
    held: String,
    surfaced: String,
    rules: Vec<FormChoice>,
    used: String,
    wasted: String,
}

/// One of a form's choices.
struct FormChoice {
    value: &'static str,
    text: String,
    current: bool,
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
    hint: String,
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

fn build(state: &super::State, asked: &Asked) -> Result<RequestsPage, Problem> {
    let query = &asked.query;
    let snapshot = state.store.snapshot();
    let page = requests::page(&snapshot, query)?;
    let used = requests::used(&snapshot, query)?;
    let day = page.rows.first().map(day).unwrap_or_default();
    let rows: Vec<ListedView> = page
        .rows
        .iter()
        .map(|row| ListedView::new(row, &day))
        .collect();
    let frame = frame(state, asked);
    Ok(RequestsPage {
        chrome: frame.chrome.without(&snapshot),
        outcomes: outcomes(asked, Some(&page)),
        heading: heading(query.outcome, page.matching),
        showing: showing(state, &page, asked, &day),
        used: UsedView::new(asked, &used),
        empty: rows.is_empty().then(|| empty(&snapshot, asked, &page)),
        pager: pager(asked, &page),
        of_page: if page.next.is_some() || asked.query.cursor.is_some() {
            format!(" of {}", number::count(rows.len()))
        } else {
            String::new()
        },
        rows,
        ..frame
    })
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
    let (before, after) = heads(asked);
    let filter = asked.query.selection.filter.as_ref();
    let both = asked.q.is_some() && asked.form.is_used();
    let whole = filter.filter(|_| both).map(|filter| {
        let text = filter.to_string();
        (
            asked.address(Other::Filter(Some(&text))),
            display_name(&text, LONG),
        )
    });
    RequestsPage {
        chrome: chrome(asked),
        script: assets::list_script(),
        filter: FilterBox {
            text: asked.q.clone().unwrap_or_default(),
            kept: asked.kept(),
            fault: None,
            clear: (asked.q.is_some() || asked.form.is_used())
                .then(|| asked.address(Other::Filter(None))),
            whole,
        },
        form: form(asked),
        outcomes: Vec::new(),
        sorts: sorts(asked),
        samples: state.store.has_samples(),
        heading: String::new(),
        showing: String::new(),
        used: None,
        before,
        after,
        rows: Vec::new(),
        csv: asked.address(Other::Format("csv")),
        ndjson: asked.address(Other::Format("ndjson")),
        of_page: String::new(),
        empty: None,
        pager: Vec::new(),
        http_addr: state.http_addr.clone(),
        grpc_addr: state.grpc_addr.clone(),
        next_icon: Icon::Next.to_string(),
    }
}

/// The frame, with the control of the stretch of time. A list does not refresh itself: rows that
/// move are hard to read.
fn chrome(asked: &Asked) -> Chrome {
    let Ok(period) = Period::read(&Params::of(asked.kept())) else {
        return Chrome::new("requests");
    };
    let kept = asked.beside_time();
    let kept: Vec<_> = kept
        .iter()
        .map(|(name, value)| (*name, Some(value.as_str())))
        .collect();
    let mut chrome = Chrome::over("requests", &period, "/requests", &kept);
    if let Some(view) = &mut chrome.period {
        view.live = None;
        if !asked.is_since() {
            view.everything();
        }
    }
    chrome
}

fn form(asked: &Asked) -> FormView {
    let form = &asked.form;
    let number = |number: Option<usize>| number.map_or_else(String::new, |n| n.to_string());
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let outcomes = Outcome::ALL.into_iter().map(|outcome| FormChoice {
        value: outcome.as_str(),
        text: words(outcome),
        current: asked.query.outcome == Some(outcome),
    });
    let rules = Rule::ALL.iter().map(|rule| FormChoice {
        value: rule.as_str(),
        text: rule.as_str().to_owned(),
        current: form.rule == Some(*rule),
    });
    FormView {
        open: form.is_used(),
        outcomes: outcomes.collect(),
        service: text(&form.service),
        held: text(&form.held),
        surfaced: text(&form.surfaced),
        rules: rules.collect(),
        used: number(form.used),
        wasted: number(form.wasted),
    }
}

/// A link for each order that has a name, and the one that was asked for.
fn sorts(asked: &Asked) -> Vec<Choice> {
    let current = asked.query.sort;
    let choice = |sort: Sort, text| Choice {
        href: asked.address(Other::Sort(sort)),
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

fn heading(outcome: Option<Outcome>, matching: Matching) -> String {
    let noun = if matching.count == 1 {
        "request"
    } else {
        "requests"
    };
    let count = matching.words(number::count);
    // It begins a line.
    let count = count.replacen("at", "At", 1);
    match outcome {
        Some(outcome) => format!("{count} {} {noun}", words(outcome)),
        None => format!("{count} {noun}"),
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
    if page.matching.exceeds(page.rows.len()) {
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

/// A link for each outcome, with its count where the filter makes sense: `missed 1,204+` if not all
/// were counted.
fn outcomes(asked: &Asked, page: Option<&Page>) -> Vec<Choice> {
    let counts = page.map(|page| &page.counts);
    let is_all = page.is_none_or(|page| page.counts_all);
    let more = if is_all { "" } else { "+" };
    let choice = |outcome: Option<Outcome>, word: &str, count: Option<usize>| Choice {
        href: asked.address(Other::Outcome(outcome)),
        text: match count.filter(|count| *count > 0 || is_all) {
            Some(count) => format!("{word} {}{more}", number::count(count)),
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

fn empty(snapshot: &Snapshot, asked: &Asked, page: &Page) -> Empty {
    let link = |text, href| Pager {
        href,
        text,
        next: false,
    };
    let query = &asked.query;
    if page.held == 0 {
        return Empty {
            what: "No requests yet.".to_owned(),
            hint: "No span has come since this server started.".to_owned(),
            links: vec![link("How to read what will be here", "/help".to_owned())],
            first_time: true,
        };
    }
    let filtered = asked.q.is_some() || asked.form.is_used();
    if !query.selection.is_all() && page.counts.total() == 0 {
        let mut links = Vec::new();
        let mut hint = "Those that are held are different.".to_owned();
        if let (false, Some(last)) = (filtered, requests::last_hour(snapshot)) {
            hint = format!(
                "The last ones that are held came in the hour from {} on.",
                number::instant(last)
            );
            links.push(link("Show them", asked.address(Other::Since(last))));
        }
        if filtered {
            links.push(link("Show all", asked.address(Other::Filter(None))));
            links.push(link("How to write one", "/help#filter".to_owned()));
        }
        let what = if filtered {
            "No request matches this filter."
        } else {
            "No request started in this stretch of time."
        };
        return Empty {
            what: what.to_owned(),
            hint,
            links,
            first_time: false,
        };
    }
    let what = match query.outcome {
        Some(outcome) if !page.matching.exceeds(0) => format!("No {} requests.", words(outcome)),
        _ => "Nothing further.".to_owned(),
    };
    Empty {
        what,
        hint: "Those that are held have another outcome, or stand on a page before this one."
            .to_owned(),
        links: vec![link("Show all", asked.address(Other::Outcome(None)))],
        first_time: false,
    }
}

fn pager(asked: &Asked, page: &Page) -> Vec<Pager> {
    let query = &asked.query;
    let mut links = Vec::new();
    if query.cursor.is_some() {
        links.push(Pager {
            href: asked.address(Other::Nothing),
            text: "first page",
            next: false,
        });
    }
    if let Some(next) = &page.next {
        links.push(Pager {
            href: asked.address(Other::Page(&next.to_string())),
            text: "next page",
            next: true,
        });
    }
    links
}
