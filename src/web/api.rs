//! The JSON API: what the command prints, byte for byte, through the same functions.

use axum::extract::{Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::asking::Site;
use super::error::{self, Problem};
use super::list;
use super::params::Params;
use super::trace::{gone, read_id};
use crate::query::requests::{self, Query};
use crate::report::json;

/// Requests in an answer, unless `limit` says otherwise.
const ROWS: usize = 100;

/// `GET /api/v1/requests`.
pub(super) async fn requests(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let params = Params::read(query.as_deref());
    let query = match list::read(&params, ROWS) {
        Ok(asked) => asked.query,
        Err(refused) => return error::json(&refused.into()),
    };
    let answer = site.ask("list", move |state| listed(state, query)).await;
    match answer.and_then(|body| body) {
        Ok(body) => reply(body),
        Err(problem) => error::json(&problem),
    }
}

fn listed(state: &super::State, mut query: Query) -> Result<String, Problem> {
    query.findings = true;
    let page = requests::page(&state.store.snapshot(), &query)?;
    let rows: Vec<String> = page.rows.iter().map(json::listed).collect();
    let next = page
        .next
        .map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
    Ok(format!(
        "{{\"requests\":[{}],\"next\":{next}}}",
        rows.join(",")
    ))
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
