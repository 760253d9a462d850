//! The list of services.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::parts::{Nothing, linked, ms, others, percent, requests, seconds, service_link};
use super::{answer, period};
use crate::model::Outcome;
use crate::query::fleet::bands::ServiceOrder;
use crate::query::fleet::services::{Numbers, Services};
use crate::query::{filter, fleet};
use crate::report::number;
use crate::report::svg::Icon;
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;
use crate::web::period::Period;
use crate::web::view::{Chrome, Markup, name, sentence};

/// The most services of the list.
const ROWS: usize = 500;

#[derive(Template)]
#[template(path = "services.html")]
struct ServicesPage {
    chrome: Chrome,
    samples: bool,
    nothing: Option<Nothing>,
    view: Option<ServicesView>,
}

struct ServicesView {
    sentence: Markup,
    count: String,
    heads: Vec<Head>,
    rows: Vec<RowView>,
    others: Option<String>,
}

/// The head of a column that the list can be ordered by.
pub(super) struct Head {
    pub(super) href: String,
    pub(super) text: &'static str,
    pub(super) number: bool,
    /// As `aria-sort` has it.
    pub(super) sorted: Option<&'static str>,
    pub(super) icon: String,
}

struct RowView {
    href: String,
    name: String,
    runs: String,
    missed: String,
    is_missed: bool,
    left: String,
    left_p5: String,
    is_late: bool,
    own: String,
    total: String,
    wasted: String,
    culprit: String,
    held: String,
    surfaced: String,
}

/// `GET /services`.
pub(in crate::web) async fn page(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    answer(&site, "services", query.as_deref(), build).await
}

fn build(state: &crate::web::State, params: &Params) -> Result<ServicesPage, Problem> {
    let period = period(state, params)?;
    let order = params
        .choice("sort", &ServiceOrder::ALL)?
        .unwrap_or_default();
    let services = fleet::services(&state.store.snapshot(), &period.ask(1, ROWS))?;
    let nothing = if services.rows.is_empty() {
        Some(Nothing::of(state, &period, "/services")?)
    } else {
        None
    };
    let sort = params.get("sort");
    Ok(ServicesPage {
        chrome: Chrome::over("services", &period, "/services", &[("sort", sort)])
            .without(&state.store.snapshot()),
        samples: services.samples,
        view: nothing
            .is_none()
            .then(|| ServicesView::new(&services.ordered(order), &period, order)),
        nothing,
    })
}

#[cfg(test)]
pub(super) fn services_page(
    services: Services,
    period: &Period,
    order: ServiceOrder,
) -> impl Template {
    ServicesPage {
        chrome: Chrome::over("services", period, "/services", &[]),
        samples: services.samples,
        view: Some(ServicesView::new(&services.ordered(order), period, order)),
        nothing: None,
    }
}

impl ServicesView {
    fn new(services: &Services, period: &Period, order: ServiceOrder) -> Self {
        let shown = services.rows.len();
        Self {
            sentence: sentence(&services.sentence),
            count: number::counted(shown, "service", "services"),
            heads: heads(period, order),
            rows: services
                .rows
                .iter()
                .map(|row| RowView::new(row, period))
                .collect(),
            others: others(services.others, "service", "services"),
        }
    }
}

/// Name, order, whether it is a number, whether the least comes first.
const HEADS: [(&str, ServiceOrder, bool, bool); 9] = [
    ("service", ServiceOrder::Name, false, true),
    ("runs", ServiceOrder::Runs, true, false),
    ("not in time", ServiceOrder::Missed, true, false),
    (
        "left on arrival p50, p5, ms",
        ServiceOrder::Left,
        true,
        true,
    ),
    ("own p95, ms", ServiceOrder::Own, true, false),
    ("total p95, ms", ServiceOrder::Total, true, false),
    ("wasted slots", ServiceOrder::Wasted, true, false),
    ("culprit in", ServiceOrder::Culprit, true, false),
    ("held of missed, s", ServiceOrder::Held, true, false),
];

fn heads(period: &Period, current: ServiceOrder) -> Vec<Head> {
    let heads = HEADS.map(|(text, order, number, least_first)| {
        let word = ServiceOrder::ALL.iter().find(|(_, one)| *one == order);
        let word = word.map(|(word, _)| *word);
        let is_current = order == current;
        let icon = if least_first { Icon::Up } else { Icon::Down };
        Head {
            href: period.link("/services", &[("sort", word)]),
            text,
            number,
            sorted: is_current.then_some(if least_first {
                "ascending"
            } else {
                "descending"
            }),
            icon: if is_current {
                icon.to_string()
            } else {
                String::new()
            },
        }
    });
    heads.into()
}

impl RowView {
    fn new(row: &Numbers, period: &Period) -> Self {
        let missed = row.not_in_time();
        let culprit = format!(
            "{} and {}",
            filter::is("outcome", Outcome::Missed.as_str()),
            filter::is("culprit.service", &row.service)
        );
        let surfaced = filter::is("surfaced.service", &row.service);
        let worst = [("sort", Some("worst"))];
        let count = |count: u64, filter: &str| match count {
            0 => number::UNKNOWN.to_owned(),
            count => linked(
                &number::sum(count),
                requests(period, filter, &worst).as_deref(),
            ),
        };
        Self {
            href: service_link(period, &row.service, None),
            name: name(&row.service),
            runs: number::sum(row.runs),
            missed: percent(missed),
            is_missed: missed.part > 0,
            left: ms(row.remaining.p50),
            left_p5: ms(row.remaining.p5),
            is_late: row.remaining.p5.is_some_and(|left| left.0 < 0),
            own: ms(row.local.p95),
            total: ms(row.elapsed.p95),
            wasted: if row.wasted.0 > 0 {
                row.wasted_slots.with_decimals(2)
            } else {
                number::UNKNOWN.to_owned()
            },
            culprit: count(row.culprit, &culprit),
            held: seconds(row.held),
            surfaced: count(row.surfaced, &surfaced),
        }
    }
}
