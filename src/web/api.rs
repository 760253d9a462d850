//! The JSON API: what the command prints, byte for byte, through the same functions.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::error::{self, Problem};
use super::list;
use super::params::Params;
use super::trace::{gone, read_id};
use crate::query::requests;
use crate::report::json;

/// Requests in an answer, unless `limit` says otherwise.
const ROWS: usize = 100;

/// `GET /api/v1/requests`.
pub(super) async fn requests(
    State(state): State<Arc<super::State>>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::read(query.as_deref());
    let query = match list::read(&params, ROWS) {
        Ok(asked) => asked.query,
        Err(refused) => return error::json(&refused.into()),
    };
    let page = requests::page(state.store.memory(), &query);
    let rows: Vec<String> = page
        .rows
        .iter()
        .filter_map(|row| row.request())
        .map(json::listed)
        .collect();
    let next = page
        .next
        .map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
    reply(format!(
        "{{\"requests\":[{}],\"next\":{next}}}",
        rows.join(",")
    ))
}

/// `GET /api/v1/traces/{trace_id}`.
pub(super) async fn trace(
    State(state): State<Arc<super::State>>,
    Path(trace_id): Path<String>,
) -> Response {
    match found(&state, &trace_id) {
        Ok(body) => reply(body),
        Err(problem) => error::json(&problem),
    }
}

fn found(state: &super::State, trace_id: &str) -> Result<String, Problem> {
    let id = read_id(trace_id)?;
    let stored = state.store.memory().get(id).ok_or_else(|| gone(trace_id))?;
    let requests: Vec<String> = stored.analysis.requests.iter().map(json::one).collect();
    Ok(format!("[{}]", requests.join(",")))
}

fn reply(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
