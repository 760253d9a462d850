//! Pages and JSON for what went wrong: what failed and what to try, never internals.

use std::fmt;

use askama::Template;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::json;

use super::view::Chrome;
use crate::telemetry::clock;

/// Why a request could not be answered as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// The address or a parameter makes no sense; says which and why.
    Bad(String),
    /// There is nothing at this address; says what was looked for.
    NotFound(String),
    /// No such trace or request is held, perhaps no longer; says which.
    Gone(String),
    /// The address is right, the method is not.
    Method,
    /// More is asked at once than can be answered.
    Busy,
    /// A stored file that may have what is asked for cannot be read; says which.
    Unreadable(String),
    /// Our fault; the number is in the log.
    Internal(String),
}

impl Problem {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) | Self::Gone(_) => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreadable(_) | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Logs the reason under a new number, which is all that the answer tells.
    pub(super) fn logged(reason: &dyn fmt::Display) -> Self {
        let id = format!("{:x}", clock::unix_nanos());
        tracing::error!(error.id = %id, error.reason = %reason, "a page could not be made");
        Self::Internal(id)
    }

    fn title(&self) -> &'static str {
        match self {
            Self::Bad(_) => "That address makes no sense",
            Self::NotFound(_) | Self::Gone(_) => "Not found",
            Self::Method => "Only GET and HEAD",
            Self::Busy => "Too much at once",
            Self::Unreadable(_) => "A stored file cannot be read",
            Self::Internal(_) => "Internal error",
        }
    }

    fn reason(&self) -> String {
        match self {
            Self::Bad(reason) | Self::NotFound(reason) | Self::Gone(reason) => reason.clone(),
            Self::Method => "The dashboard only shows; it changes nothing.".to_owned(),
            Self::Busy => {
                "So many questions are open that this one was not begun. Ask again in a few \
                 seconds; what is received is not affected."
                    .to_owned()
            }
            Self::Unreadable(file) => format!(
                "What is asked for may be in {file}. `dwindle store verify` lists what is damaged; \
                 after a file is put back, start the server again."
            ),
            Self::Internal(id) => format!(
                "The page could not be made; what was received is not affected. \
                 The server's log has the reason under the number {id}."
            ),
        }
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    chrome: Chrome,
    title: &'static str,
    reason: String,
    gone: bool,
}

/// The problem as a page.
pub(super) fn page(problem: &Problem) -> Response {
    let page = ErrorPage {
        chrome: Chrome::new(""),
        title: problem.title(),
        reason: problem.reason(),
        gone: matches!(problem, Problem::Gone(_)),
    };
    match page.render() {
        Ok(html) => (problem.status(), Html(html)).into_response(),
        Err(_) => (problem.status(), problem.title()).into_response(),
    }
}

/// The problem as JSON.
pub(super) fn json(problem: &Problem) -> Response {
    let reason = match problem {
        Problem::Internal(id) => format!("internal error {id}"),
        other => other.reason(),
    };
    let body = json!({ "error": reason }).to_string();
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (problem.status(), kind, body).into_response()
}

/// Whether an answer at this path is JSON.
pub(super) fn is_api(path: &str) -> bool {
    path.starts_with("/api/")
}

/// Whatever is not routed.
pub(super) async fn unknown(request: Request) -> Response {
    let problem = Problem::NotFound("There is no page at this address.".to_owned());
    if is_api(request.uri().path()) {
        json(&Problem::NotFound(
            "no such endpoint; /api/v1/openapi.json describes all that there are".to_owned(),
        ))
    } else {
        page(&problem)
    }
}

/// A method that a route does not know.
pub(super) async fn method(request: Request) -> Response {
    if is_api(request.uri().path()) {
        json(&Problem::Method)
    } else {
        page(&Problem::Method)
    }
}

/// Logs the reason under a new number and answers with the number alone.
pub(super) fn internal(api: bool, reason: &dyn fmt::Display) -> Response {
    let problem = Problem::logged(reason);
    if api { json(&problem) } else { page(&problem) }
}

/// A template as an answer.
pub(super) fn render(template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => internal(false, &error),
    }
}
