//! One service, or one of its operations.

mod charts;
mod edges;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;

use super::parts::{
    Fact, GroupView, Nothing, linked, ms, others, percent, requests, segment, service_link,
    step_words, unsegmented,
};
use super::{BUCKETS, answer, period};
use crate::model::{Nanos, Text};
use crate::query::fleet::services::{Numbers, Service};
use crate::query::{filter, fleet};
use crate::report::number;
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;
use crate::web::period::{Period, length_words};
use crate::web::view::{Chrome, Markup, name, sentence};
use charts::{
    Arrivals, SeriesRow, VerdictRow, arrivals, own_chart, series_row, total_chart, verdicts,
};
use edges::EdgeView;

/// The most rows of each table.
const ROWS: usize = 30;

#[derive(Template)]
#[template(path = "service.html")]
struct ServicePage {
    chrome: Chrome,
    title: String,
    samples: bool,
    nothing: Option<Nothing>,
    view: Option<ServiceView>,
}

struct ServiceView {
    name: String,
    about: String,
    map: String,
    requests: Option<String>,
    sentence: Markup,
    second: Option<Markup>,
    tabs: Vec<Tab>,
    other_tabs: Option<String>,
    facts: Vec<Fact>,
    arrivals: Option<Arrivals>,
    verdicts: Vec<VerdictRow>,
    all_runs: String,
    total: String,
    own: String,
    per: String,
    series: Vec<SeriesRow>,
    callers: Vec<EdgeView>,
    other_callers: Option<String>,
    callees: Vec<EdgeView>,
    other_callees: Option<String>,
    findings: Vec<GroupView>,
    other_findings: Option<String>,
    all_findings: String,
    worst: Option<String>,
}

struct Tab {
    href: String,
    name: String,
    count: String,
    current: bool,
}

/// `GET /services/{name}`.
pub(in crate::web) async fn of_service(
    State(site): State<Site>,
    Path(service): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    page(&site, query.as_deref(), unsegmented(service), None).await
}

/// `GET /services/{name}/{operation}`.
pub(in crate::web) async fn of_operation(
    State(site): State<Site>,
    Path((service, operation)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let operation = Some(unsegmented(operation));
    page(&site, query.as_deref(), unsegmented(service), operation).await
}

async fn page(
    site: &Site,
    query: Option<&str>,
    service: String,
    operation: Option<String>,
) -> Response {
    answer(site, "service", query, move |state, params| {
        build(state, params, &service, operation.as_deref())
    })
    .await
}

fn build(
    state: &crate::web::State,
    params: &Params,
    wanted: &str,
    operation: Option<&str>,
) -> Result<ServicePage, Problem> {
    let period = period(state, params)?;
    let ask = period.ask(BUCKETS, ROWS);
    let found = fleet::service(&state.store.snapshot(), &ask, wanted, operation)?;
    let path = path(wanted, operation);
    let nothing = match &found {
        Some(_) => None,
        None => Some(unknown(state, &period, &path, wanted, operation)?),
    };
    Ok(ServicePage {
        chrome: Chrome::over("services", &period, &path, &[]).without(&state.store.snapshot()),
        title: name(operation.unwrap_or(wanted)),
        samples: found.as_ref().is_some_and(|_| state.store.has_samples()),
        view: found.as_ref().map(|found| ServiceView::new(found, &period)),
        nothing,
    })
}

#[cfg(test)]
pub(super) fn service_page(service: &Service, period: &Period) -> impl Template {
    ServicePage {
        chrome: Chrome::over("services", period, "/services/inventory", &[]),
        title: name(&service.now.service),
        samples: false,
        view: Some(ServiceView::new(service, period)),
        nothing: None,
    }
}

/// The page's own address.
fn path(service: &str, operation: Option<&str>) -> String {
    match operation {
        Some(operation) => format!("/services/{}/{}", segment(service), segment(operation)),
        None => format!("/services/{}", segment(service)),
    }
}

/// What to say of a service that did not run.
fn unknown(
    state: &crate::web::State,
    period: &Period,
    path: &str,
    service: &str,
    operation: Option<&str>,
) -> Result<Nothing, Problem> {
    let nothing = Nothing::of(state, period, path)?;
    let hint = match nothing.newest {
        Some(newest) => format!(
            "The last request of any service began at {}.",
            number::instant(newest)
        ),
        None => nothing.hint.clone(),
    };
    let stretch = period.stretch();
    let what = match operation {
        Some(operation) => format!("{} {}", name(service), name(operation)),
        None => name(service),
    };
    let mut links = vec![(
        period.link("/services", &[]),
        "The services that did".to_owned(),
    )];
    if operation.is_some() {
        links.insert(
            0,
            (
                service_link(period, service, None),
                format!("All operations of {}", name(service)),
            ),
        );
    }
    links.extend(nothing.links);
    Ok(Nothing {
        what: format!(
            "{what} did not run from {}.",
            number::stretch(stretch.since, stretch.until)
        ),
        hint,
        links,
        ..nothing
    })
}

impl ServiceView {
    fn new(service: &Service, period: &Period) -> Self {
        let now = &service.now;
        let second = Some(&service.second).filter(|second| !second.is_empty());
        let own_name: &str = &now.service;
        let hop = match &now.operation {
            Some(operation) => format!(
                "hop({} and {})",
                filter::is("service", own_name),
                filter::is("operation", operation)
            ),
            None => filter::is("hop.service", own_name),
        };
        let culprit = culprit_of(now);
        Self {
            name: name(own_name),
            about: now.operation.as_ref().map_or_else(
                || {
                    let count = service.operations.len();
                    let count = count + usize::try_from(service.other_operations).unwrap_or(0);
                    number::counted(count, "operation", "operations")
                },
                |operation| name(operation),
            ),
            map: period.link("/map", &[]),
            requests: requests(period, &hop, &[]),
            worst: requests(period, &format!("outcome=missed and {hop}"), WORST)
                .filter(|_| now.not_in_time().part > 0),
            sentence: sentence(&service.sentence),
            second: second.map(sentence),
            tabs: tabs(service, period),
            other_tabs: others(service.other_operations, "operation", "operations"),
            facts: facts(service, period, &culprit),
            arrivals: arrivals(service),
            verdicts: verdicts(now),
            all_runs: number::sum(now.runs),
            total: total_chart(service),
            own: own_chart(service),
            per: step_words(service.step),
            series: service
                .series
                .iter()
                .map(|bucket| series_row(bucket, service))
                .collect(),
            callers: service
                .callers
                .iter()
                .map(|edge| EdgeView::new(edge, true, period))
                .collect(),
            other_callers: others(service.other_callers, "caller", "callers"),
            callees: service
                .callees
                .iter()
                .map(|edge| EdgeView::new(edge, false, period))
                .collect(),
            other_callees: others(service.other_callees, "callee", "callees"),
            findings: service
                .findings
                .iter()
                .map(|group| GroupView::new(group, period))
                .collect(),
            other_findings: others(service.other_findings, "finding", "findings"),
            all_findings: period.link("/findings", &[("service", Some(own_name))]),
        }
    }
}

const WORST: &[(&str, Option<&str>)] = &[("sort", Some("worst"))];

/// The condition that it is the culprit of a miss.
fn culprit_of(now: &Numbers) -> String {
    let service = filter::is("culprit.service", &now.service);
    match &now.operation {
        Some(operation) => format!(
            "outcome=missed and {service} and {}",
            filter::is("culprit.operation", operation)
        ),
        None => format!("outcome=missed and {service}"),
    }
}

fn tabs(service: &Service, period: &Period) -> Vec<Tab> {
    let own: &str = &service.now.service;
    let current = service.now.operation.as_ref();
    let all = Tab {
        href: service_link(period, own, None),
        name: "all operations".to_owned(),
        count: String::new(),
        current: current.is_none(),
    };
    let each = service.operations.iter().filter_map(|numbers| {
        let operation: &Text = numbers.operation.as_ref()?;
        Some(Tab {
            href: service_link(period, own, Some(operation)),
            name: name(operation),
            count: number::sum(numbers.runs),
            current: current == Some(operation),
        })
    });
    std::iter::once(all).chain(each).collect()
}

fn facts(service: &Service, period: &Period, culprit: &str) -> Vec<Fact> {
    let (now, before) = (&service.now, &service.before);
    let length = length_words(service.window);
    let counted = |count: u64, filter: &str| match count {
        0 => "none".to_owned(),
        count => linked(
            &number::sum(count),
            requests(period, filter, WORST).as_deref(),
        ),
    };
    let surfaced = match &now.operation {
        Some(operation) => format!(
            "{} and {}",
            filter::is("surfaced.service", &now.service),
            filter::is("surfaced.operation", operation)
        ),
        None => filter::is("surfaced.service", &now.service),
    };
    let mut facts = vec![
        Fact::new("arrivals with a budget", number::sum(now.budgeted))
            .more(format!("of {}", number::sum(now.runs))),
        Fact::new("answered in time", percent(now.in_time)).more(if before.runs > 0 {
            format!("{length} before {}", percent(before.in_time))
        } else {
            String::new()
        }),
        Fact::new(
            "left on arrival p50, p5",
            format!(
                "{}, {}\u{a0}ms",
                ms(now.remaining.p50),
                ms(now.remaining.p5)
            ),
        )
        .late(now.remaining.p5.is_some_and(|left| left < Nanos::ZERO)),
        Fact::new("culprit in", counted(now.culprit, culprit))
            .more(format!("of {} misses", number::sum(service.missed)))
            .late(now.culprit > 0),
        Fact::new("surfaced here", counted(now.surfaced, &surfaced)),
        Fact::new("wasted", format!("{}\u{a0}s", number::seconds(now.wasted)))
            .more(format!("{} slots", now.wasted_slots.with_decimals(2)))
            .late(now.wasted > Nanos::ZERO),
    ];
    if let Some(attempts) = now.attempts {
        let earlier = before.attempts.map_or_else(String::new, |attempts| {
            format!("before {}", attempts.with_decimals(2))
        });
        facts.push(Fact::new("attempts per call", attempts.with_decimals(2)).more(earlier));
    }
    if now.queue.count > 0 {
        facts.push(Fact::new(
            "queued p50, p95",
            format!("{}, {}\u{a0}ms", ms(now.queue.p50), ms(now.queue.p95)),
        ));
    }
    facts
}
