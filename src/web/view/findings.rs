//! Findings, grouped by rule.

use super::{LONG, SHORT};
use crate::model::{Request, Severity};
use crate::query::findings::{Group, groups};
use crate::report::number;
use crate::report::svg::{Icon, display_name};
use crate::web::period::Around;

/// All findings of one rule, ready to print.
#[derive(Debug)]
pub(in crate::web) struct FindingView {
    pub(in crate::web) icon: String,
    pub(in crate::web) icon_class: &'static str,
    pub(in crate::web) severity: &'static str,
    pub(in crate::web) rule: &'static str,
    /// Where else it is found.
    pub(in crate::web) href: String,
    pub(in crate::web) count: Option<String>,
    pub(in crate::web) edge: String,
    pub(in crate::web) owner: String,
    pub(in crate::web) evidence: Vec<String>,
    pub(in crate::web) hints: Vec<String>,
}

/// A request's findings with their count in words.
pub(in crate::web) fn views(request: &Request, around: &Around) -> (Vec<FindingView>, String) {
    let groups = groups(request);
    let places: u64 = groups.iter().map(|group| group.count).sum();
    let count = match groups.len() {
        0 => "none".to_owned(),
        rules => format!(
            "{}, {}",
            number::counted(rules, "rule", "rules"),
            number::counted(
                usize::try_from(places).unwrap_or(usize::MAX),
                "place",
                "places"
            )
        ),
    };
    let views = groups.iter().map(|group| view(group, around));
    (views.collect(), count)
}

fn view(group: &Group, around: &Around) -> FindingView {
    // No line ends between a number and its unit.
    let shown = |text: &String| display_name(text, LONG).replace(" ms", "\u{a0}ms");
    FindingView {
        icon: Icon::Severity(group.severity).to_string(),
        icon_class: match group.severity {
            Severity::Error => "ic",
            Severity::Warning => "ic w",
            Severity::Info => "ic n",
        },
        severity: group.severity.as_str(),
        rule: group.rule.as_str(),
        href: around.link(
            "/findings",
            &[
                ("rule", Some(group.rule.as_str())),
                ("service", group.owner.as_deref()),
            ],
        ),
        count: (group.count > 1).then(|| {
            format!(
                "\u{d7}{}",
                number::count(usize::try_from(group.count).unwrap_or(usize::MAX))
            )
        }),
        edge: display_name(&group.place, SHORT * 4),
        owner: display_name(&group.owners, SHORT * 4),
        evidence: group.evidence.iter().map(shown).collect(),
        hints: group.hints.iter().map(shown).collect(),
    }
}
