//! The JSON API: what the command prints, byte for byte, through the same functions.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::asking::Site;
use super::error::{self, Problem};
use super::list;
use super::params::Params;
use super::trace::{gone, read_id};
use crate::model::{Nanos, UnixNanos};
use crate::query::filter::completion;
use crate::query::fleet::{self, Ask, Stretch};
use crate::query::requests::{self, Query};
use crate::report::{csv, json};
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
        Ok(body) => in_format(body, format),
        Err(problem) => error::json(&problem),
    }
}

fn listed(state: &super::State, mut query: Query, format: Format) -> Result<String, Problem> {
    query.findings = true;
    let page = requests::page(&state.store.snapshot(), &query)?;
    let rows = page.rows.iter();
    Ok(match format {
        Format::Csv => std::iter::once(csv::header())
            .chain(rows.map(csv::record))
            .collect(),
        Format::Ndjson => rows.map(|row| json::listed(row) + "\n").collect(),
        Format::Json => {
            let rows: Vec<String> = rows.map(json::listed).collect();
            let next = page
                .next
                .map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
            format!("{{\"requests\":[{}],\"next\":{next}}}", rows.join(","))
        }
    })
}

/// What a spreadsheet or another tool is given is a file.
fn in_format(body: String, format: Format) -> Response {
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
    (headers, body).into_response()
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
    match answer.await {
        Ok(Ok(used)) => Json(used).into_response(),
        Ok(Err(error)) => error::json(&error.into()),
        Err(problem) => error::json(&problem),
    }
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
    match answer.await {
        Ok(Ok(names)) => Json(names).into_response(),
        Ok(Err(error)) => error::json(&error.into()),
        Err(problem) => error::json(&problem),
    }
}

/// `GET /api/v1/filter`: what a filter can ask for.
pub(super) async fn filter() -> Response {
    Json(completion()).into_response()
}

/// `GET /api/v1/traces/{trace_id}`.
pub(super) async fn trace(State(site): State<Site>, Path(trace_id): Path<String>) -> Response {
    let answer = site
        .ask("trace", move |state| found(state, &trace_id))
        .await;
    match answer.and_then(|body| body) {
        Ok(body) => reply(body),
        Err(problem) => error::json(&problem),
    }
}

fn found(state: &super::State, trace_id: &str) -> Result<String, Problem> {
    let id = read_id(trace_id)?;
    let stored = state.store.get(id)?.ok_or_else(|| gone(trace_id))?;
    let requests: Vec<String> = stored.analysis.requests.iter().map(json::one).collect();
    Ok(format!("[{}]", requests.join(",")))
}

fn reply(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
