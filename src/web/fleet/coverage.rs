//! Coverage: where deadlines are passed on, and where a break begins.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::parts::{
    Fact, Nothing, end, example, finding_filter, linked, named, others, percent, requests,
    service_link, step_words, when,
};
use super::{BUCKETS, answer, period};
use crate::model::Rule;
use crate::query::fleet;
use crate::query::fleet::Passing;
use crate::query::fleet::coverage::{Break, Bucket, Coverage};
use crate::report::number;
use crate::report::svg::{CoverageBar, Spark, TimeAxis};
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;
use crate::web::period::{Period, length_words};
use crate::web::view::{Chrome, Markup, name, sentence};

/// The most rows of each table.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "coverage.html")]
struct CoveragePage {
    chrome: Chrome,
    samples: bool,
    nothing: Option<Nothing>,
    view: Option<CoverageView>,
}

struct CoverageView {
    sentence: Markup,
    facts: Vec<Fact>,
    trend: String,
    per: String,
    series: Vec<(String, PassingView)>,
    breaks: Vec<BreakView>,
    other_breaks: Option<String>,
    edges: Vec<RowView>,
    other_edges: Option<String>,
    hops: Vec<RowView>,
    other_hops: Option<String>,
    before: String,
    findings: String,
}

struct PassingView {
    bar: String,
    share: String,
    all: String,
    propagated: String,
    not: String,
    reset: String,
    none: String,
}

struct BreakView {
    from: String,
    operation: String,
    to: String,
    calls: String,
    requests: String,
    newest: String,
}

struct RowView {
    key: String,
    name: String,
    /// The callee or the operation.
    second: String,
    passing: PassingView,
    before: String,
}

/// `GET /coverage`.
pub(in crate::web) async fn page(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    answer(&site, "coverage", query.as_deref(), build).await
}

fn build(state: &crate::web::State, params: &Params) -> Result<CoveragePage, Problem> {
    let period = period(state, params)?;
    let coverage = fleet::coverage(&state.store.snapshot(), &period.ask(BUCKETS, ROWS))?;
    let nothing = match coverage.budgeted.whole {
        0 => Some(Nothing::of(state, &period, "/coverage")?),
        _ => None,
    };
    Ok(CoveragePage {
        chrome: Chrome::over("coverage", &period, "/coverage", &[])
            .without(&state.store.snapshot()),
        samples: coverage.samples,
        view: nothing
            .is_none()
            .then(|| CoverageView::new(&coverage, &period)),
        nothing,
    })
}

#[cfg(test)]
pub(super) fn coverage_page(coverage: &Coverage, period: &Period) -> impl Template {
    CoveragePage {
        chrome: Chrome::over("coverage", period, "/coverage", &[]),
        samples: coverage.samples,
        view: Some(CoverageView::new(coverage, period)),
        nothing: None,
    }
}

impl CoverageView {
    fn new(coverage: &Coverage, period: &Period) -> Self {
        let (now, before) = (&coverage.now, &coverage.before);
        let length = length_words(coverage.window);
        let values: Vec<Option<u64>> = coverage
            .series
            .iter()
            .map(|bucket| {
                let share = bucket.passing.share();
                (share.whole > 0).then(|| share.part * 1000 / share.whole)
            })
            .collect();
        Self {
            sentence: sentence(&coverage.sentence),
            facts: vec![
                Fact::new("calls that pass the deadline on", percent(now.share()))
                    .more(format!("{length} before {}", percent(before.share()))),
                Fact::new(
                    "of calls with a deadline to pass on",
                    number::sum(now.had_one()),
                )
                .more(format!("{} had none", number::sum(now.no_deadline))),
                Fact::new("not passed on", number::sum(now.not_propagated))
                    .late(now.not_propagated > 0),
                Fact::new("told more than was left", number::sum(now.reset)).late(now.reset > 0),
                Fact::new(
                    "requests with a budget",
                    number::share(coverage.budgeted.part, coverage.budgeted.whole, 1),
                )
                .more(format!("of {}", number::sum(coverage.budgeted.whole))),
            ],
            trend: format!(
                "{}{}",
                Spark {
                    values: &values,
                    late: false,
                    in_row: false,
                    top: Some(1000),
                },
                TimeAxis {
                    since: coverage.window.since,
                    until: coverage.window.until,
                }
            ),
            per: step_words(coverage.step),
            series: coverage
                .series
                .iter()
                .map(|bucket| (when_of(bucket, coverage), PassingView::new(&bucket.passing)))
                .collect(),
            breaks: coverage
                .breaks
                .iter()
                .map(|one| BreakView::new(one, period))
                .collect(),
            other_breaks: others(coverage.other_breaks, "break", "breaks"),
            edges: coverage
                .edges
                .iter()
                .map(|edge| RowView {
                    key: format!("{} {}", name(&edge.service), name(&edge.to)),
                    name: named(
                        &name(&edge.service),
                        &service_link(period, &edge.service, None),
                    ),
                    second: name(&edge.to),
                    passing: PassingView::new(&edge.passing),
                    before: percent(edge.before.share()),
                })
                .collect(),
            other_edges: others(coverage.other_edges, "edge", "edges"),
            hops: coverage
                .hops
                .iter()
                .map(|hop| RowView {
                    key: format!("{} {}", name(&hop.service), name(&hop.operation)),
                    name: named(
                        &name(&hop.service),
                        &service_link(period, &hop.service, Some(&hop.operation)),
                    ),
                    second: name(&hop.operation),
                    passing: PassingView::new(&hop.passing),
                    before: percent(hop.before.share()),
                })
                .collect(),
            other_hops: others(coverage.other_hops, "hop", "hops"),
            before: format!("{length} before"),
            findings: period.link("/findings", &[("rule", Some("not_propagated"))]),
        }
    }
}

fn when_of(bucket: &Bucket, coverage: &Coverage) -> String {
    let until = end(bucket.since, coverage.step, coverage.window);
    when(bucket.since, until, bucket.partial, coverage.window)
}

impl PassingView {
    fn new(passing: &Passing) -> Self {
        Self {
            bar: CoverageBar {
                propagated: passing.kept(),
                not_propagated: passing.not_propagated,
                reset: passing.reset,
                whole: passing.had_one(),
            }
            .to_string(),
            share: percent(passing.share()),
            all: number::sum(passing.all),
            propagated: number::sum(passing.propagated),
            not: number::sum(passing.not_propagated),
            reset: number::sum(passing.reset),
            none: number::sum(passing.no_deadline),
        }
    }
}

impl BreakView {
    fn new(one: &Break, period: &Period) -> Self {
        let filter = finding_filter(Rule::NotPropagated, &one.service, Some(&one.to));
        let found = requests(period, &filter, &[]);
        Self {
            from: named(
                &name(&one.service),
                &service_link(period, &one.service, Some(&one.operation)),
            ),
            operation: name(&one.operation),
            to: name(&one.to),
            calls: number::sum(one.calls),
            requests: linked(&number::sum(one.requests), found.as_deref()),
            newest: one.newest.as_ref().map_or_else(String::new, |newest| {
                let when = number::instant(newest.start);
                linked(&when, Some(&example(newest)))
            }),
        }
    }
}
