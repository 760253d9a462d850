//! One request's page.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;

use super::asking::Site;
use super::error::{self, Problem};
use super::params::{Params, bad};
use super::trace::{gone, read_id};
use super::view::{Chrome, LineView, ROWS, RequestView, Select, SentView, link_to};
use crate::model::{Request, Severity, SpanId};
use crate::query::requests;
use crate::report::number;
use crate::report::svg::Icon;

/// The most rows that one page can be asked for.
const MOST_ROWS: usize = 500;

#[derive(Template)]
#[template(path = "request.html")]
struct RequestPage {
    chrome: Chrome,
    page: RequestView,
    place: Option<PlaceView>,
    warning: String,
}

/// Where the request stands in the list.
struct PlaceView {
    words: String,
    before: Option<String>,
    after: Option<String>,
}

fn place(state: &super::State, request: &Request) -> Result<Option<PlaceView>, Problem> {
    let this = (request.trace_id, request.request);
    let snapshot = state.store.snapshot();
    let place = requests::place(&snapshot, request.outcome, request.start, this)?;
    let link = |(trace, request)| link_to(trace, request);
    Ok(place.map(|place| PlaceView {
        words: format!(
            "{} of {} {}",
            number::count(place.position),
            number::count(place.of),
            request.outcome.as_str().replace('_', " ")
        ),
        before: place.before.map(link),
        after: place.after.map(link),
    }))
}

/// `GET /requests/{trace_id}/{request}`.
pub(super) async fn page(
    State(site): State<Site>,
    Path((trace_id, request)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::read(query.as_deref());
    let built = site
        .ask("request", move |state| {
            build(state, &trace_id, &request, &params)
        })
        .await;
    match built.and_then(|page| page) {
        Ok(page) => error::render(&page),
        Err(problem) => error::page(&problem),
    }
}

fn build(
    state: &super::State,
    trace_id: &str,
    request: &str,
    params: &Params,
) -> Result<RequestPage, Problem> {
    let id = read_id(trace_id)?;
    let span: SpanId = request
        .parse()
        .map_err(|error| bad("request", request, &format!("16 hex digits ({error})")))?;
    let select = Select {
        from: params.number("from", 0, 0, usize::MAX)?,
        rows: params.number("rows", ROWS, 1, MOST_ROWS)?,
        folded: params.choice("fold", &[("none", false)])?.unwrap_or(true),
        open: match params.get("open") {
            Some(_) => Some(params.number("open", 0, 0, usize::MAX)?),
            None => None,
        },
    };
    let stored = state.store.get(id)?.ok_or_else(|| gone(trace_id))?;
    let found = stored
        .analysis
        .requests
        .iter()
        .find(|one| one.request == span);
    let request = found.ok_or_else(|| {
        Problem::Gone(format!(
            "Trace {id} has no request {span}; late spans may have made it a part of another one. \
             Look at /traces/{id}."
        ))
    })?;
    Ok(RequestPage {
        chrome: Chrome::new("requests"),
        place: place(state, request)?,
        page: RequestView::new(&stored, request, select),
        warning: Icon::Severity(Severity::Warning).to_string(),
    })
}
