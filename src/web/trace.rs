//! From a trace id, or the beginning of one, to a request's page.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};

use super::asking::Site;
use super::error::{self, Problem};
use super::params::{Link, Params, bad};
use super::view::{Chrome, link_to, name};
use crate::model::{Outcome, Request, TraceId};
use crate::report::number;
use crate::report::svg::Badge;

/// Traces that a list of matches shows.
const MATCHES: usize = 100;

/// The fewest digits that are looked for.
const FEWEST: usize = 4;

#[derive(Template)]
#[template(path = "traces.html")]
struct TracesPage {
    chrome: Chrome,
    wanted: String,
    count: String,
    rows: Vec<Match>,
    more: bool,
}

struct Match {
    href: String,
    id: String,
    badge: String,
    name: String,
    when: String,
}

/// `GET /traces/{trace_id}`: its worst request.
pub(super) async fn page(State(site): State<Site>, Path(trace_id): Path<String>) -> Response {
    let found = site
        .ask("trace", move |state| worst_of(state, &trace_id))
        .await;
    match found.and_then(|href| href) {
        Ok(href) => Redirect::to(&href).into_response(),
        Err(problem) => error::page(&problem),
    }
}

fn worst_of(state: &super::State, trace_id: &str) -> Result<String, Problem> {
    let id = read_id(trace_id)?;
    let stored = state.store.get(id)?.ok_or_else(|| gone(trace_id))?;
    let request = worst(&stored.analysis.requests).ok_or_else(|| gone(trace_id))?;
    Ok(link_to(id, request.request))
}

/// The request to look at first: the worst outcome, then the most wasted, then the earliest.
fn worst<'r>(requests: impl IntoIterator<Item = &'r Request>) -> Option<&'r Request> {
    let rank = |outcome| Outcome::ALL.iter().position(|known| *known == outcome);
    requests
        .into_iter()
        .min_by_key(|request| (rank(request.outcome), -request.wasted, request.start))
}

/// Whether a text is the beginning of a trace id, long enough to look for.
pub(super) fn is_prefix(text: &str) -> bool {
    (FEWEST..=2 * TraceId::BYTES).contains(&text.len()) && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `GET /traces?q=`: the trace whose id begins so, or the list of those that do; anything but hex
/// digits is a filter of the list of requests.
pub(super) async fn find(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let params = Params::read(query.as_deref());
    let Some(wanted) = params.get("q") else {
        return Redirect::to("/requests").into_response();
    };
    if !is_hex(wanted) {
        let link = Link {
            path: "/requests",
            pairs: &[("q", Some(wanted))],
        };
        return Redirect::to(&link.to_string()).into_response();
    }
    if !is_prefix(wanted) {
        return error::page(&bad(
            "q",
            wanted,
            "a trace id or its first 4 or more hex digits",
        ));
    }
    let wanted = wanted.to_owned();
    let found = site
        .ask("trace", move |state| matches(state, &wanted))
        .await;
    match found.and_then(|found| found) {
        Ok(Found::One(id)) => Redirect::to(&format!("/traces/{id}")).into_response(),
        Ok(Found::Many(page)) => error::render(&*page),
        Err(problem) => error::page(&problem),
    }
}

/// The traces whose id begins so.
enum Found {
    One(TraceId),
    Many(Box<TracesPage>),
}

fn matches(state: &super::State, wanted: &str) -> Result<Found, Problem> {
    let found = state.store.find_prefix(wanted, MATCHES + 1)?;
    let more = found.len() > MATCHES;
    match found.as_slice() {
        [] => Err(gone(wanted)),
        [one] => Ok(Found::One(*one)),
        many => {
            let mut rows = Vec::new();
            for id in many.iter().take(MATCHES) {
                rows.extend(line(state, *id)?);
            }
            let count = number::count(many.len().min(MATCHES));
            Ok(Found::Many(Box::new(TracesPage {
                chrome: Chrome::new("requests"),
                wanted: wanted.to_ascii_lowercase(),
                count: if more {
                    format!("more than {count}")
                } else {
                    count
                },
                rows,
                more,
            })))
        }
    }
}

fn line(state: &super::State, id: TraceId) -> Result<Option<Match>, Problem> {
    let stored = state.store.get(id)?;
    let requests = stored.iter().flat_map(|stored| &stored.analysis.requests);
    Ok(worst(requests).map(|request| Match {
        href: link_to(id, request.request),
        id: id.to_string(),
        badge: Badge::Outcome(request.outcome).to_string(),
        name: name(&format!("{} {}", request.service, request.operation)),
        when: number::instant(request.start),
    }))
}

/// A whole trace id.
pub(super) fn read_id(text: &str) -> Result<TraceId, Problem> {
    text.parse()
        .map_err(|error| bad("trace id", text, &format!("32 hex digits ({error})")))
}

/// There is no such trace.
pub(super) fn gone(wanted: &str) -> Problem {
    Problem::Gone(format!("No trace {} is held.", name(wanted)))
}
