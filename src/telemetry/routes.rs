//! `/metrics`, `/healthz` and `/readyz`, for whoever serves pages.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use super::Telemetry;

/// The three routes that operators and probes ask for.
pub fn routes(telemetry: Arc<Telemetry>) -> Router {
    let ready = Arc::clone(&telemetry);
    Router::new()
        .route(
            "/metrics",
            get(async move || {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                ([(CONTENT_TYPE, kind)], telemetry.render())
            }),
        )
        .route("/healthz", get(async || "ok\n"))
        .route(
            "/readyz",
            get(async move || match ready.not_ready() {
                None => (StatusCode::OK, "ready\n".to_owned()),
                Some(why) => {
                    let body = format!("not ready: {why}\n");
                    (StatusCode::SERVICE_UNAVAILABLE, body)
                }
            }),
        )
}
