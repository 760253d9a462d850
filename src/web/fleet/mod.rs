//! The pages about many requests. Each renders one answer of [`crate::query::fleet`].

pub(super) mod api;
mod coverage;
mod findings;
mod map;
mod overview;
mod parts;
mod service;
mod services;
#[cfg(test)]
mod tests;

pub(super) use coverage::page as coverage;
pub(super) use findings::page as findings;
pub(super) use map::page as map;
pub(super) use overview::page as overview;
pub(super) use service::{of_operation, of_service};
pub(super) use services::page as services;

use askama::Template;
use axum::response::Response;

use super::asking::Site;
use super::error::{self, Problem};
use super::params::Params;
use super::period::Period;
use crate::model::UnixNanos;
use crate::query::requests::{self, Query};
use crate::query::scan::Selection;

/// The most buckets of a chart.
const BUCKETS: usize = 60;

/// Makes a page off the threads that serve connections.
async fn answer<T: Template + Send + 'static>(
    site: &Site,
    kind: &'static str,
    query: Option<&str>,
    build: impl FnOnce(&super::State, &Params) -> Result<T, Problem> + Send + 'static,
) -> Response {
    let params = Params::read(query);
    let built = site.ask(kind, move |state| build(state, &params)).await;
    match built.and_then(|page| page) {
        Ok(page) => error::render(&page),
        Err(problem) => error::page(&problem),
    }
}

/// The stretch of time that an address asks for. As long as there are only samples, that is the
/// one that they are of.
fn period(state: &super::State, params: &Params) -> Result<Period, Problem> {
    let period = Period::read(params)?;
    if !period.is_usual() || !state.store.has_samples() {
        return Ok(period);
    }
    let query = Query {
        limit: 500,
        ..Query::default()
    };
    let page = requests::page(&state.store.snapshot(), &query)?;
    let starts = || page.rows.iter().map(|row| row.start);
    match (starts().min(), starts().max()) {
        (Some(first), Some(last)) => Ok(period.or(first, last)),
        _ => Ok(period),
    }
}

/// The start of the request that began last, if there is any.
fn newest(state: &super::State) -> Result<Option<UnixNanos>, Problem> {
    let query = Query {
        limit: 1,
        ..Query::default()
    };
    let page = requests::page(&state.store.snapshot(), &query)?;
    Ok(page.rows.first().map(|row| row.start))
}

/// The start of the request that began last in a stretch of time, if there is any.
fn newest_in(state: &super::State, period: &Period) -> Result<Option<UnixNanos>, Problem> {
    let query = Query {
        limit: 1,
        selection: Selection {
            filter: None,
            window: period.window(),
        },
        ..Query::default()
    };
    let page = requests::page(&state.store.snapshot(), &query)?;
    Ok(page.rows.first().map(|row| row.start))
}
