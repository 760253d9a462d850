//! Findings over many requests, with why they hurt and what to change.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::parts::{GroupView, Nothing, others};
use super::{BUCKETS, answer, period};
use crate::model::{Rule, Severity, Text};
use crate::query::advice::advice;
use crate::query::fleet;
use crate::query::fleet::findings::{Findings, Which};
use crate::report::number;
use crate::report::svg::display_name;
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;
use crate::web::period::{Period, length_words};
use crate::web::view::{Chrome, LONG, Markup, sentence, with_code};

/// The most groups.
const ROWS: usize = 200;

#[derive(Template)]
#[template(path = "findings.html")]
struct FindingsPage {
    chrome: Chrome,
    samples: bool,
    nothing: Option<Nothing>,
    none: Option<String>,
    filter: FilterView,
    view: FindingsView,
}

struct FilterView {
    rules: Vec<Choice>,
    severities: Vec<Choice>,
    service: String,
    kept: Vec<(String, String)>,
    clear: Option<String>,
}

struct Choice {
    value: &'static str,
    text: String,
    current: bool,
}

struct FindingsView {
    sentence: Markup,
    before: String,
    rules: Vec<RuleView>,
    others: Option<String>,
}

/// All groups of one rule.
struct RuleView {
    rule: &'static str,
    id: String,
    about: String,
    why: String,
    fix: String,
    code: Vec<(&'static str, String)>,
    places: String,
    groups: Vec<GroupView>,
}

/// `GET /findings`.
pub(in crate::web) async fn page(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    answer(&site, "findings", query.as_deref(), build).await
}

pub(super) fn which(params: &Params) -> Result<Which, Problem> {
    let rules: Vec<(&str, Rule)> = Rule::ALL
        .iter()
        .map(|rule| (rule.as_str(), *rule))
        .collect();
    let severities = Severity::ALL.map(|severity| (severity.as_str(), severity));
    Ok(Which {
        rule: params.choice("rule", &rules)?,
        severity: params.choice("severity", &severities)?,
        service: params.get("service").map(Text::from),
    })
}

fn build(state: &crate::web::State, params: &Params) -> Result<FindingsPage, Problem> {
    let period = period(state, params)?;
    let which = which(params)?;
    let findings = fleet::findings(&state.store.snapshot(), &period.ask(BUCKETS, ROWS), &which)?;
    let is_all = which == Which::default();
    let is_empty = findings.groups.is_empty();
    let nothing = if is_empty && super::newest_in(state, &period)?.is_none() {
        Some(Nothing::of(state, &period, "/findings")?)
    } else {
        None
    };
    let none = (is_empty && nothing.is_none()).then(|| {
        let words = if is_all {
            "Nothing is wrong with how budgets were handled in this window, as far as the spans prove."
        } else {
            "No finding is of this rule, severity and service in this window."
        };
        words.to_owned()
    });
    let kept = [
        ("rule", params.get("rule")),
        ("severity", params.get("severity")),
        ("service", params.get("service")),
    ];
    Ok(FindingsPage {
        chrome: Chrome::over("findings", &period, "/findings", &kept)
            .without(&state.store.snapshot()),
        samples: findings.samples,
        nothing,
        none,
        filter: FilterView::new(&findings, &which, &period),
        view: FindingsView::new(&findings, &period),
    })
}

#[cfg(test)]
pub(super) fn findings_page(findings: &Findings, which: &Which, period: &Period) -> impl Template {
    FindingsPage {
        chrome: Chrome::over("findings", period, "/findings", &[]),
        samples: findings.samples,
        nothing: None,
        none: None,
        filter: FilterView::new(findings, which, period),
        view: FindingsView::new(findings, period),
    }
}

impl FilterView {
    fn new(findings: &Findings, which: &Which, period: &Period) -> Self {
        let rules = findings.rules.iter().map(|(rule, count)| Choice {
            value: rule.as_str(),
            text: format!("{} ({})", rule.as_str(), number::sum(*count)),
            current: which.rule == Some(*rule),
        });
        // One that was asked for stays to be seen without any finding.
        let missing = which
            .rule
            .filter(|rule| findings.rules.iter().all(|(one, _)| one != rule))
            .map(|rule| Choice {
                value: rule.as_str(),
                text: format!("{} (0)", rule.as_str()),
                current: true,
            });
        let severities = Severity::ALL.map(|severity| Choice {
            value: severity.as_str(),
            text: severity.as_str().to_owned(),
            current: which.severity == Some(severity),
        });
        Self {
            rules: rules.chain(missing).collect(),
            severities: severities.into(),
            service: which
                .service
                .as_ref()
                .map_or_else(String::new, |service| display_name(service, LONG)),
            kept: period
                .pairs()
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
                .collect(),
            clear: (*which != Which::default()).then(|| period.link("/findings", &[])),
        }
    }
}

impl FindingsView {
    fn new(findings: &Findings, period: &Period) -> Self {
        let mut rules: Vec<RuleView> = Vec::new();
        for group in &findings.groups {
            let view = GroupView::new(group, period);
            match rules
                .iter_mut()
                .find(|rule| rule.rule == group.rule.as_str())
            {
                Some(rule) => rule.groups.push(view),
                None => rules.push(RuleView::new(group.rule, view, findings)),
            }
        }
        Self {
            sentence: sentence(&findings.sentence),
            before: format!("{} before", length_words(findings.window)),
            rules,
            others: others(findings.others, "edge", "edges"),
        }
    }
}

impl RuleView {
    fn new(rule: Rule, first: GroupView, findings: &Findings) -> Self {
        let advice = advice(rule);
        let count = findings.rules.iter().find(|(one, _)| *one == rule);
        let count = count.map_or(0, |(_, count)| *count);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            rule: rule.as_str(),
            id: format!("rule-{}", rule.as_str().replace('_', "-")),
            about: number::counted(count, "case", "cases"),
            why: with_code(advice.why),
            fix: with_code(advice.fix),
            code: advice
                .code
                .iter()
                .map(|(place, text)| (*place, with_code(text)))
                .collect(),
            places: advice
                .code
                .iter()
                .map(|(place, _)| *place)
                .collect::<Vec<_>>()
                .join(", "),
            groups: vec![first],
        }
    }
}
