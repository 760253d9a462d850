//! The dashboard and its JSON API: routes, pages, and what a browser is told to allow.
//!
//! Pages work without script; every number on them was made in `query`. **Invariant**: a
//! stranger's text is escaped wherever it stands, and an answer tells nothing about the inside.

mod api;
mod asking;
mod assets;
mod error;
mod fleet;
mod guard;
mod help;
mod laid;
mod list;
mod params;
mod period;
mod request;
mod trace;
mod view;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;

use crate::settings::TraceUrl;
use crate::store::Store;
use crate::telemetry::{self, Telemetry};

/// What the pages are made from.
#[derive(Debug, Clone)]
pub struct State {
    /// The requests.
    pub store: Arc<Store>,
    /// What stays of them.
    pub keeping: Keeping,
    /// The server's counters.
    pub telemetry: Arc<Telemetry>,
    /// Where OTLP/gRPC listens, as `host:port`; pages say so to who has sent nothing yet.
    pub grpc_addr: String,
    /// Where OTLP/HTTP listens, as `host:port`.
    pub http_addr: String,
    /// Where these pages listen, as `host:port`. When that is a loopback address, requests that
    /// name another host are refused (DNS rebinding).
    pub web_addr: String,
    /// Where the user's own tracing backend shows a trace.
    pub trace_url: Option<TraceUrl>,
}

/// What stays of what the store was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// What memory has room for: the oldest requests leave first.
    Memory,
    /// What is in a folder, at most for so long; `None` without such a limit.
    Folder(Option<Duration>),
}

/// The routes of the pages, the API, `/metrics`, `/healthz` and `/readyz`.
pub fn router(state: State) -> Router {
    let guard = guard::Hosts::of(&state.web_addr);
    let telemetry = Arc::clone(&state.telemetry);
    let store = Arc::clone(&state.store);
    Router::new()
        .route("/", get(fleet::overview))
        .route("/requests", get(list::page))
        .route("/requests/{trace_id}/{request}", get(request::page))
        .route(
            "/requests/{trace_id}/{request}/compare",
            get(request::compare),
        )
        .route("/requests/{trace_id}", get(trace::page))
        .route("/traces", get(trace::find))
        .route("/traces/{trace_id}", get(trace::page))
        .route("/services", get(fleet::services))
        .route("/services/{service}", get(fleet::of_service))
        .route("/services/{service}/{operation}", get(fleet::of_operation))
        .route("/map", get(fleet::map))
        .route("/findings", get(fleet::findings))
        .route("/coverage", get(fleet::coverage))
        .route("/help", get(help::page))
        .route("/assets/{name}", get(assets::serve))
        .route("/favicon.ico", get(assets::favicon))
        .route("/robots.txt", get(assets::robots))
        .route("/api/v1/openapi.json", get(fleet::api::description))
        .route("/api/v1/overview", get(fleet::api::overview))
        .route("/api/v1/services", get(fleet::api::services))
        .route("/api/v1/services/{service}", get(fleet::api::service))
        .route(
            "/api/v1/services/{service}/{operation}",
            get(fleet::api::operation),
        )
        .route("/api/v1/map", get(fleet::api::map))
        .route("/api/v1/findings", get(fleet::api::findings))
        .route("/api/v1/coverage", get(fleet::api::coverage))
        .route("/api/v1/requests", get(api::requests))
        .route("/api/v1/requests/used", get(api::used))
        .route("/api/v1/filter", get(api::filter))
        .route("/api/v1/names", get(api::names))
        .route("/api/v1/requests/{trace_id}/{request}", get(api::request))
        .route(
            "/api/v1/requests/{trace_id}/{request}/compare",
            get(api::compare),
        )
        .route(
            "/api/v1/requests/{trace_id}/{request}/attempts",
            get(api::attempts),
        )
        .route(
            "/api/v1/requests/{trace_id}/{request}/clocks",
            get(api::clocks),
        )
        .route("/api/v1/requests/{trace_id}/{request}/find", get(api::find))
        .route("/api/v1/traces/{trace_id}", get(api::trace))
        .route("/api/v1/traces/{trace_id}/otlp", get(api::otlp))
        .fallback(error::unknown)
        .method_not_allowed_fallback(error::method)
        .with_state(asking::Site::new(state))
        .merge(telemetry::routes(telemetry))
        .layer(from_fn_with_state(store, guard::left_out))
        .layer(from_fn(guard::catch))
        .layer(from_fn_with_state(guard, guard::hosts))
        .layer(from_fn(guard::headers))
}
