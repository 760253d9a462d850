//! The answers about many requests as JSON, in the shape of the query layer's structs, and the
//! description of the whole API.

use axum::extract::{Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::findings::which;
use super::period;
use crate::query::fleet::{self, Ask};
use crate::store::Snapshot;
use crate::web::api::in_json;
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;

/// Buckets of a series and rows of a list, unless `buckets` and `rows` say otherwise.
const BUCKETS: usize = 60;
const ROWS: usize = 50;

/// The most that may be asked for.
const MOST_BUCKETS: usize = 1_000;
const MOST_ROWS: usize = 1_000;

/// What the API takes and gives, as `OpenAPI` 3.1. The tests hold every reply to it.
const DESCRIPTION: &str = include_str!("openapi.json");

/// `GET /api/v1/openapi.json`.
pub(in crate::web) async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}

/// `GET /api/v1/overview`.
pub(in crate::web) async fn overview(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |snapshot: &Snapshot, ask: &Ask, _: &Params| Ok(fleet::overview(snapshot, ask)?);
    answer(&site, "overview", query.as_deref(), ask).await
}

/// `GET /api/v1/services`.
pub(in crate::web) async fn services(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |snapshot: &Snapshot, ask: &Ask, _: &Params| Ok(fleet::services(snapshot, ask)?);
    answer(&site, "services", query.as_deref(), ask).await
}

/// `GET /api/v1/services/{service}`.
pub(in crate::web) async fn service(
    State(site): State<Site>,
    Path(service): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    one(&site, query.as_deref(), service, None).await
}

/// `GET /api/v1/services/{service}/{operation}`.
pub(in crate::web) async fn operation(
    State(site): State<Site>,
    Path((service, operation)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    one(&site, query.as_deref(), service, Some(operation)).await
}

async fn one(
    site: &Site,
    query: Option<&str>,
    service: String,
    operation: Option<String>,
) -> Response {
    answer(site, "service", query, move |snapshot, ask, _| {
        let found = fleet::service(snapshot, ask, &service, operation.as_deref())?;
        found.ok_or_else(|| {
            let what = "It did not run in this stretch of time.";
            Problem::NotFound(what.to_owned())
        })
    })
    .await
}

/// `GET /api/v1/map`.
pub(in crate::web) async fn map(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let ask = |snapshot: &Snapshot, ask: &Ask, _: &Params| Ok(fleet::map(snapshot, ask)?);
    answer(&site, "map", query.as_deref(), ask).await
}

/// `GET /api/v1/findings`.
pub(in crate::web) async fn findings(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |snapshot: &Snapshot, ask: &Ask, params: &Params| {
        Ok(fleet::findings(snapshot, ask, &which(params)?)?)
    };
    answer(&site, "findings", query.as_deref(), ask).await
}

/// `GET /api/v1/coverage`.
pub(in crate::web) async fn coverage(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |snapshot: &Snapshot, ask: &Ask, _: &Params| Ok(fleet::coverage(snapshot, ask)?);
    answer(&site, "coverage", query.as_deref(), ask).await
}

async fn answer<T: Serialize + Send + 'static>(
    site: &Site,
    kind: &'static str,
    query: Option<&str>,
    make: impl FnOnce(&Snapshot, &Ask, &Params) -> Result<T, Problem> + Send + 'static,
) -> Response {
    let params = Params::read(query);
    let made = site.ask(kind, move |state| {
        let buckets = params.number("buckets", BUCKETS, 1, MOST_BUCKETS)?;
        let rows = params.number("rows", ROWS, 1, MOST_ROWS)?;
        let ask = period(state, &params)?.ask(buckets, rows);
        make(&state.store.snapshot(), &ask, &params)
    });
    in_json(made.await)
}
