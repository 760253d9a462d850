//! The JSON API: what the command prints, byte for byte, through the same functions.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::asking::Site;
use super::error::{self, Problem};
use super::laid::Laid;
use super::list;
use super::params::Params;
use super::request::laid;
use super::trace::{gone, read_id};
use crate::model::{Nanos, UnixNanos};
use crate::otlp::trace_to_json;
use crate::query::filter::completion;
use crate::query::fleet::{self, Ask, Stretch};
use crate::query::requests::{self, Query};
use crate::query::{attempts, clocks, compare};
use crate::report::{csv, json};
use crate::store::Stored;
use crate::telemetry::clock;

/// Requests in an answer, unless `limit` says otherwise.
const ROWS: usize = 100;

/// In which form a list is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Ndjson,
    Csv,
}

/// `GET /api/v1/requests`.
pub(super) async fn requests(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let params = Params::read(query.as_deref());
    let formats = [
        ("json", Format::Json),
        ("ndjson", Format::Ndjson),
        ("csv", Format::Csv),
    ];
    let format = match params.choice("format", &formats) {
        Ok(format) => format.unwrap_or(Format::Json),
        Err(problem) => return error::json(&problem),
    };
    let query = match list::read(&params, ROWS) {
        Ok(asked) => asked.query,
        Err(refused) => return error::json(&refused.into()),
    };
    let answer = site.ask("list", move |state| listed(state, query, format));
    match answer.await.and_then(|body| body) {
        Ok((body, next)) => {
            let next = next.map(|next| params.with("cursor", &next).link("/api/v1/requests"));
            in_format(body, format, next)
        }
        Err(problem) => error::json(&problem),
    }
}

/// The rows of a page, and the next page's cursor.
fn listed(
    state: &super::State,
    mut query: Query,
    format: Format,
) -> Result<(String, Option<String>), Problem> {
    query.findings = true;
    let page = requests::page(&state.store.snapshot(), &query)?;
    let rows = page.rows.iter();
    let next = page.next.as_ref().map(ToString::to_string);
    let body = match format {
        Format::Csv => std::iter::once(csv::header())
            .chain(rows.map(csv::record))
            .collect(),
        Format::Ndjson => rows.map(|row| json::listed(row) + "\n").collect(),
        Format::Json => {
            let rows: Vec<String> = rows.map(json::listed).collect();
            let next = next
                .as_ref()
                .map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
            format!("{{\"requests\":[{}],\"next\":{next}}}", rows.join(","))
        }
    };
    Ok((body, next))
}

/// What a spreadsheet or another tool is given is a file; where the next page of it is, a header
/// tells (RFC 8288).
fn in_format(body: String, format: Format, next: Option<String>) -> Response {
    let (kind, name) = match format {
        Format::Json => return reply(body),
        Format::Ndjson => ("application/x-ndjson", "requests.ndjson"),
        Format::Csv => ("text/csv; charset=utf-8", "requests.csv"),
    };
    let name = format!("attachment; filename=\"{name}\"");
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    let next = next.map(|next| [(header::LINK, format!("<{next}>; rel=\"next\""))]);
    (headers, next, body).into_response()
}

/// What a query made, or why there is nothing.
pub(super) fn in_json<T: Serialize, E: Into<Problem>>(
    answer: Result<Result<T, E>, Problem>,
) -> Response {
    match answer.and_then(|made| made.map_err(Into::into)) {
        Ok(made) => Json(made).into_response(),
        Err(problem) => error::json(&problem),
    }
}

/// `GET /api/v1/requests/used`: elapsed against budget over the whole list.
pub(super) async fn used(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let query = match list::read(&Params::read(query.as_deref()), ROWS) {
        Ok(asked) => asked.query,
        Err(refused) => return error::json(&refused.into()),
    };
    let answer = site.ask("used", move |state| {
        requests::used(&state.store.snapshot(), &query)
    });
    in_json(answer.await)
}

/// Names of each kind that are told at most.
const NAMES: usize = 1000;

/// How long ago a name may have been seen last before the newest request.
const NAMES_OF: Nanos = Nanos::from_secs(24 * 3600);

/// `GET /api/v1/names`: services, operations and dependencies of the last day that there is.
pub(super) async fn names(State(site): State<Site>) -> Response {
    let answer = site.ask("names", move |state| {
        let snapshot = state.store.snapshot();
        let now = UnixNanos(clock::unix_nanos());
        let last = requests::last_hour(&snapshot).unwrap_or(now);
        let until = last.shifted(Nanos::from_secs(3600));
        let ask = Ask {
            window: Stretch {
                since: until.shifted(-NAMES_OF),
                until,
            },
            buckets: 1,
            rows: NAMES,
            now,
        };
        fleet::names(&snapshot, &ask)
    });
    in_json(answer.await)
}

/// `GET /api/v1/filter`: what a filter can ask for.
pub(super) async fn filter() -> Response {
    Json(completion()).into_response()
}

/// `GET /api/v1/traces/{trace_id}`.
pub(super) async fn trace(State(site): State<Site>, Path(trace_id): Path<String>) -> Response {
    let inside = site.clone();
    let answer = site
        .ask("trace", move |_| {
            let stored = stored(&inside, &trace_id)?;
            let requests: Vec<String> = stored.analysis.requests.iter().map(json::one).collect();
            Ok(format!("[{}]", requests.join(",")))
        })
        .await;
    answered(answer)
}

/// `GET /api/v1/traces/{trace_id}/otlp`: the trace as it came, as one file.
pub(super) async fn otlp(State(site): State<Site>, Path(trace_id): Path<String>) -> Response {
    let inside = site.clone();
    let answer = site
        .ask("otlp", move |_| {
            let stored = stored(&inside, &trace_id)?;
            let id = stored.analysis.trace_id;
            Ok::<_, Problem>((id, trace_to_json(&stored.trace)))
        })
        .await;
    match answer.and_then(|body| body) {
        Ok((id, body)) => {
            let name = format!("attachment; filename=\"trace-{id}.json\"");
            ([(header::CONTENT_DISPOSITION, name)], reply(body)).into_response()
        }
        Err(problem) => error::json(&problem),
    }
}

fn stored(site: &Site, trace_id: &str) -> Result<Stored, Problem> {
    let id = read_id(trace_id)?;
    let stored = site.laid().trace(&site.state().store, id)?;
    stored.ok_or_else(|| gone(trace_id))
}

/// `GET /api/v1/requests/{trace_id}/{request}`.
pub(super) async fn request(State(site): State<Site>, Path(ids): Path<Ids>) -> Response {
    of_request(site, "request", ids, |_, laid| {
        Ok(json::one(laid.request()))
    })
    .await
}

/// `GET /api/v1/requests/{trace_id}/{request}/compare`.
pub(super) async fn compare(State(site): State<Site>, Path(ids): Path<Ids>) -> Response {
    of_request(site, "compare", ids, |state, laid| {
        let compared = compare::compare(&state.store, laid.request())?;
        Ok(json::compared(&compared))
    })
    .await
}

/// `GET /api/v1/requests/{trace_id}/{request}/attempts`.
pub(super) async fn attempts(State(site): State<Site>, Path(ids): Path<Ids>) -> Response {
    of_request(site, "request", ids, |_, laid| {
        let tried = attempts::attempts(laid.request(), None);
        Ok(json::attempts(&tried))
    })
    .await
}

/// `GET /api/v1/requests/{trace_id}/{request}/clocks`.
pub(super) async fn clocks(State(site): State<Site>, Path(ids): Path<Ids>) -> Response {
    of_request(site, "request", ids, |_, laid| {
        let hosts = clocks::hosts(laid.request(), &laid.stored.trace);
        Ok(json::clocks(&hosts))
    })
    .await
}

/// `GET /api/v1/requests/{trace_id}/{request}/find?q=`: the hops and calls that have a text.
pub(super) async fn find(
    State(site): State<Site>,
    Path(ids): Path<Ids>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::read(query.as_deref());
    of_request(site, "request", ids, move |_, laid| {
        let wanted = params.get("q").unwrap_or_default();
        let rows = laid.find(wanted);
        let request = laid.request();
        let found = rows
            .iter()
            .filter_map(|row| laid.waterfall(false).rows.get(*row))
            .filter_map(|row| Some((row.hop, row.call, row.key(request)?)));
        Ok(json::found(found))
    })
    .await
}

type Ids = (String, String);

async fn of_request(
    site: Site,
    kind: &'static str,
    ids: Ids,
    work: impl FnOnce(&super::State, &Laid) -> Result<String, Problem> + Send + 'static,
) -> Response {
    let inside = site.clone();
    let answer = site
        .ask(kind, move |state| work(state, &*laid(&inside, &ids)?))
        .await;
    answered(answer)
}

fn answered(answer: Result<Result<String, Problem>, Problem>) -> Response {
    match answer.and_then(|body| body) {
        Ok(body) => reply(body),
        Err(problem) => error::json(&problem),
    }
}

fn reply(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
