//! The first page: what is missed, who held the clock, where it showed.

mod matrix;
mod outcomes;
mod spent;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::parts::{GroupView, Nothing, step_words};
use super::{BUCKETS, answer, period};
use crate::model::Outcome;
use crate::query::fleet;
use crate::query::fleet::bands::RankBy;
use crate::query::fleet::overview::Overview;
use crate::report::number;
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;
use crate::web::period::Period;
use crate::web::view::{Chrome, ListedView, Markup, sentence};
use matrix::MatrixView;
use outcomes::{BucketRow, KeyRow, Tile, chart, key, row, tiles};
use spent::SpentView;

/// Rows that are asked for; what is shown of them is less.
const ROWS: usize = 24;
const HOLDERS: usize = 8;
const MISSES: usize = 5;
/// Rows and columns of the matrix.
const MATRIX: (usize, usize) = (8, 5);

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    chrome: Chrome,
    samples: bool,
    http_addr: String,
    grpc_addr: String,
    nothing: Option<Nothing>,
    view: Option<OverviewView>,
}

/// `GET /`.
pub(in crate::web) async fn page(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    answer(&site, "overview", query.as_deref(), build).await
}

fn build(state: &crate::web::State, params: &Params) -> Result<OverviewPage, Problem> {
    let period = period(state, params)?;
    let by = by(params)?;
    let overview = fleet::overview(&state.store.snapshot(), &period.ask(BUCKETS, ROWS))?;
    let nothing = match overview.now.requests {
        0 => Some(Nothing::of(state, &period, "/")?),
        _ => None,
    };
    Ok(OverviewPage {
        chrome: Chrome::over("overview", &period, "/", &[("by", word(by))])
            .without(&state.store.snapshot()),
        samples: overview.samples,
        http_addr: state.http_addr.clone(),
        grpc_addr: state.grpc_addr.clone(),
        view: nothing
            .is_none()
            .then(|| OverviewView::new(&overview, &period, by)),
        nothing,
    })
}

fn by(params: &Params) -> Result<RankBy, Problem> {
    let words = [("excess", RankBy::Excess), ("held", RankBy::Held)];
    Ok(params.choice("by", &words)?.unwrap_or_default())
}

fn word(by: RankBy) -> Option<&'static str> {
    match by {
        RankBy::Excess => None,
        RankBy::Held => Some("held"),
    }
}

#[cfg(test)]
pub(super) fn overview_page(overview: &Overview, period: &Period, by: RankBy) -> impl Template {
    OverviewPage {
        chrome: Chrome::over("overview", period, "/", &[("by", word(by))]),
        samples: overview.samples,
        http_addr: String::new(),
        grpc_addr: String::new(),
        nothing: None,
        view: Some(OverviewView::new(overview, period, by)),
    }
}

/// The page's content, ready to print.
struct OverviewView {
    sentence: Markup,
    second: Option<Markup>,
    tiles: Vec<Tile>,
    chart: String,
    per: String,
    key: Vec<KeyRow>,
    table: Vec<BucketRow>,
    spent: SpentView,
    matrix: Option<MatrixView>,
    worst: Vec<ListedView>,
    newest: Vec<ListedView>,
    all_missed: String,
    all_newest: String,
    missed: String,
    fresh: Vec<GroupView>,
    findings: String,
}

impl OverviewView {
    fn new(overview: &Overview, period: &Period, by: RankBy) -> Self {
        let day = number::day(overview.window.since);
        let misses = |rows: &[_]| {
            let rows = rows.iter().take(MISSES);
            rows.map(|row| ListedView::new(row, &day)).collect()
        };
        let all = number::sum(overview.now.of(Outcome::Missed));
        let second = Some(&overview.second).filter(|second| !second.is_empty());
        Self {
            sentence: sentence(&overview.sentence),
            second: second.map(sentence),
            tiles: tiles(overview, period),
            chart: chart(overview),
            per: step_words(overview.step),
            key: key(&overview.now, period),
            table: overview
                .series
                .iter()
                .map(|bucket| row(bucket, overview))
                .collect(),
            spent: SpentView::new(&overview.spent.clone().top(by, HOLDERS), period, by),
            matrix: (overview.matrix.all > 0).then(|| {
                MatrixView::new(
                    &overview.matrix.clone().narrowed(MATRIX.0, MATRIX.1),
                    period,
                )
            }),
            worst: misses(&overview.worst),
            newest: misses(&overview.newest),
            all_missed: period.requests("outcome=missed", &[("sort", Some("worst"))]),
            all_newest: period.requests("outcome=missed", &[]),
            missed: all,
            fresh: overview
                .new_findings
                .iter()
                .map(|group| GroupView::new(group, period))
                .collect(),
            findings: period.link("/findings", &[]),
        }
    }
}
