//! One request's page, its parts, and the page that holds it against a good one.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;

use super::asking::Site;
use super::error::{self, Problem};
use super::laid::{Found, Laid};
use super::params::{Params, bad};
use super::trace::{gone, read_id};
use super::view::{
    Chrome, CompareView, DetailView, Drawing, LineView, RequestView, Select, SentView,
    WaterfallView, link_to,
};
use crate::model::{Request, Severity, SpanId};
use crate::query::compare;
use crate::query::requests;
use crate::report::number;
use crate::report::svg::Icon;

#[derive(Template)]
#[template(path = "request.html")]
struct RequestPage {
    chrome: Chrome,
    page: RequestView,
    wf: WaterfallView,
    place: Option<PlaceView>,
    warning: String,
}

/// The waterfall alone, for a page that shows it otherwise.
#[derive(Template)]
#[template(path = "waterfall.html")]
struct WaterfallPart {
    wf: WaterfallView,
}

/// Lines alone, for a page that is scrolled.
#[derive(Template)]
#[template(path = "rows.html")]
struct RowsPart {
    wf: Lines,
}

struct Lines {
    rows: Vec<LineView>,
}

/// What one row shows when it is opened.
#[derive(Template)]
#[template(path = "detail.html")]
struct DetailPart {
    detail: DetailView,
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    chrome: Chrome,
    page: CompareView,
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

/// What of the page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Waterfall,
    Rows,
    Detail,
}

/// `GET /requests/{trace_id}/{request}`, with `part` only that of it.
pub(super) async fn page(
    State(site): State<Site>,
    Path(ids): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::read(query.as_deref());
    let inside = site.clone();
    let built = site
        .ask("request", move |_| build(&inside, &ids, &params))
        .await;
    match built.and_then(|page| page) {
        Ok(answer) => answer,
        Err(problem) => error::page(&problem),
    }
}

fn build(site: &Site, ids: &(String, String), params: &Params) -> Result<Response, Problem> {
    let part = params.choice(
        "part",
        &[
            ("waterfall", Part::Waterfall),
            ("rows", Part::Rows),
            ("detail", Part::Detail),
        ],
    )?;
    let select = Select::read(params)?;
    let laid = laid(site, ids)?;
    let state = site.state();
    let trace_url = state.trace_url.as_ref();
    let draw = || Drawing::new(&laid, &select, trace_url);
    Ok(match part {
        None => error::render(&RequestPage {
            chrome: Chrome::new("requests"),
            place: place(state, laid.request())?,
            page: RequestView::new(&laid, &select, trace_url),
            wf: draw()?.view(),
            warning: Icon::Severity(Severity::Warning).to_string(),
        }),
        Some(Part::Waterfall) => error::render(&WaterfallPart { wf: draw()?.view() }),
        Some(Part::Rows) => error::render(&RowsPart {
            wf: Lines {
                rows: draw()?.rows(),
            },
        }),
        Some(Part::Detail) => {
            let row = params.number("open", 0, 0, usize::MAX)?;
            let detail = draw()?.detail(row).ok_or_else(|| {
                bad(
                    "open",
                    &row.to_string(),
                    "the number of a row of this request",
                )
            })?;
            error::render(&DetailPart { detail })
        }
    })
}

/// The request at an address.
pub(super) fn laid(site: &Site, ids: &(String, String)) -> Result<Arc<Laid>, Problem> {
    let (trace_id, request) = ids;
    let id = read_id(trace_id)?;
    let span: SpanId = request
        .parse()
        .map_err(|error| bad("request", request, &format!("16 hex digits ({error})")))?;
    match site.laid().get(&site.state().store, id, span)? {
        Found::Laid(laid) => Ok(laid),
        Found::NoTrace => Err(gone(trace_id)),
        Found::NoRequest => Err(Problem::Gone(format!(
            "Trace {id} has no request {span}; late spans may have made it a part of another one. \
             Look at /traces/{id}."
        ))),
    }
}

/// `GET /requests/{trace_id}/{request}/compare`.
pub(super) async fn compare(
    State(site): State<Site>,
    Path(ids): Path<(String, String)>,
) -> Response {
    let inside = site.clone();
    let built = site
        .ask("compare", move |state| {
            let laid = laid(&inside, &ids)?;
            let compared = compare::compare(&state.store, laid.request())?;
            Ok::<_, Problem>(ComparePage {
                chrome: Chrome::new("requests"),
                page: CompareView::new(laid.request(), &compared),
            })
        })
        .await;
    match built.and_then(|page| page) {
        Ok(page) => error::render(&page),
        Err(problem) => error::page(&problem),
    }
}
