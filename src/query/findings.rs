//! Findings grouped for reading: one group per rule, its edges chained, its owners named.

use std::collections::BTreeSet;

use crate::model::{Finding, Request, Rule, Severity, Text};

/// Names and sentences beyond so many are counted.
const SHOWN: usize = 6;
/// Evidence sentences beyond so many are counted.
const SHOWN_LINES: usize = 3;
/// Owners beyond so many are "each".
const SHOWN_OWNERS: usize = 3;

/// All findings of one rule in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The rule.
    pub rule: Rule,
    /// How much it matters.
    pub severity: Severity,
    /// How many cases there are.
    pub count: u64,
    /// Where: `client → orders → inventory`, or `orders, inventory`.
    pub place: String,
    /// Who has to act: `client, orders`, or `each`.
    pub owners: String,
    /// The one who has to act, if it is one.
    pub owner: Option<Text>,
    /// The numbers, as sentences.
    pub evidence: Vec<String>,
    /// What to do, as sentences.
    pub hints: Vec<String>,
}

/// Groups a request's findings by rule, in the order that the findings have.
pub fn groups(request: &Request) -> Vec<Group> {
    let mut rules: Vec<(Rule, Vec<&Finding>)> = Vec::new();
    for finding in &request.findings {
        match rules.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, list)) => list.push(finding),
            None => rules.push((finding.rule, vec![finding])),
        }
    }
    rules
        .into_iter()
        .map(|(rule, findings)| group(request, rule, &findings))
        .collect()
}

fn group(request: &Request, rule: Rule, findings: &[&Finding]) -> Group {
    let (place, names_only) = place(request, rule, findings);
    Group {
        rule,
        severity: findings
            .first()
            .map_or_else(|| rule.severity(), |finding| finding.severity),
        count: findings
            .iter()
            .map(|finding| finding.evidence.count.max(1))
            .sum(),
        place,
        owners: owners(findings, names_only),
        owner: findings
            .first()
            .map(|first| first.service.clone())
            .filter(|one| findings.iter().all(|finding| finding.service == *one)),
        evidence: sentences(
            findings.iter().map(|finding| finding.message.as_str()),
            SHOWN_LINES,
        ),
        hints: sentences(findings.iter().map(|finding| finding.hint), 2),
    }
}

fn owners(findings: &[&Finding], names_only: bool) -> String {
    let owners = distinct(findings.iter().map(|finding| finding.service.as_str()));
    // Where the place names them all already, saying so once is enough.
    let limit = if names_only {
        SHOWN_OWNERS - 1
    } else {
        SHOWN_OWNERS
    };
    if owners.len() > limit {
        "each".to_owned()
    } else {
        owners.join(", ")
    }
}

/// Where the findings are; true if it is a plain list of services.
fn place(request: &Request, rule: Rule, findings: &[&Finding]) -> (String, bool) {
    let edges: Vec<(&str, &str)> = findings
        .iter()
        .filter_map(|finding| edge(request, rule, finding))
        .collect();
    if edges.len() == findings.len() {
        return (chains(&edges), false);
    }
    let names = distinct(findings.iter().map(|finding| finding.service.as_str()));
    (listed(&names), true)
}

/// The edge that a finding is about: (caller, callee).
fn edge<'a>(request: &'a Request, rule: Rule, finding: &'a Finding) -> Option<(&'a str, &'a str)> {
    match (&finding.to, rule) {
        (Some(to), _) => Some((&finding.service, to)),
        // Named after the callee, whose owners act; the caller that left is in the tree.
        (None, Rule::CancelNotPropagated) => {
            let parent = request.hops.get(finding.hop)?.parent?;
            Some((&request.hops.get(parent)?.service, &finding.service))
        }
        (None, _) => None,
    }
}

/// `a → b → c` where edges follow each other, `a → b, c` where they fan out.
fn chains(edges: &[(&str, &str)]) -> String {
    // Each chain: its text, the service it ends with, the caller of that end.
    let mut chains: Vec<(String, &str, &str)> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut left_out = 0;
    for &(from, to) in edges {
        if !seen.insert((from, to)) {
            continue;
        }
        if seen.len() > SHOWN {
            left_out += 1;
            continue;
        }
        if let Some((text, end, caller)) = chains.iter_mut().find(|(_, end, _)| *end == from) {
            text.push_str(" \u{2192} ");
            text.push_str(to);
            (*caller, *end) = (from, to);
        } else if let Some((text, _, _)) = chains
            .iter_mut()
            .find(|(text, _, caller)| *caller == from && !text.contains(", \u{2192}"))
        {
            text.push_str(", ");
            text.push_str(to);
        } else {
            chains.push((format!("{from} \u{2192} {to}"), to, from));
        }
    }
    let texts: Vec<String> = chains.into_iter().map(|(text, _, _)| text).collect();
    let out = texts.join("; ");
    if left_out > 0 {
        format!("{out}; {left_out} more")
    } else {
        out
    }
}

/// Each name once, in order of first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

fn listed(names: &[&str]) -> String {
    match names.split_at_checked(SHOWN) {
        Some((shown, rest)) if rest.len() > 1 => {
            format!("{}, {} more", shown.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Distinct sentences, each with its full stop, up to a limit.
fn sentences<'a>(texts: impl Iterator<Item = &'a str>, limit: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut left_out = 0;
    for text in texts {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let sentence = if text.ends_with(['.', '!', '?']) {
            text.to_owned()
        } else {
            format!("{text}.")
        };
        if out.contains(&sentence) {
            continue;
        }
        if out.len() < limit {
            out.push(sentence);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        out.push(format!("{left_out} more like this."));
    }
    out
}

/// The services that a request's findings name to act, for lists: each once, in order.
pub fn owners_of(request: &Request) -> Vec<Text> {
    distinct(
        request
            .findings
            .iter()
            .map(|finding| finding.service.as_str()),
    )
    .into_iter()
    .map(Text::from)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{chain, finding};

    #[test]
    fn rules_are_grouped_and_edges_chained() {
        let groups = groups(&chain());
        let told: Vec<_> = groups
            .iter()
            .map(|group| {
                let (place, owners) = (group.place.as_str(), group.owners.as_str());
                (group.rule.as_str(), group.count, place, owners)
            })
            .collect();
        assert_eq!(
            told,
            [
                (
                    "not_propagated",
                    3,
                    "client \u{2192} orders \u{2192} inventory \u{2192} pricing",
                    "client, orders, inventory"
                ),
                (
                    "inverted_timeout",
                    2,
                    "orders \u{2192} inventory \u{2192} pricing",
                    "orders, inventory"
                ),
                (
                    "cancel_not_propagated",
                    1,
                    "client \u{2192} orders",
                    "orders"
                ),
                (
                    "worked_after_deadline",
                    3,
                    "orders, inventory, pricing",
                    "each"
                ),
            ]
        );
    }

    #[test]
    fn edges_that_fan_out_share_their_caller() {
        assert_eq!(
            chains(&[("a", "b"), ("a", "c"), ("x", "y"), ("a", "b")]),
            "a \u{2192} b, c; x \u{2192} y"
        );
        let many: Vec<String> = (0..20).map(|n| format!("s{n}")).collect();
        let edges: Vec<_> = many.iter().map(|name| ("a", name.as_str())).collect();
        assert_eq!(chains(&edges), "a \u{2192} s0, s1, s2, s3, s4, s5; 14 more");
    }

    #[test]
    fn equal_sentences_are_said_once() {
        let mut request = chain();
        request.findings = (0..9)
            .map(|n| {
                let mut one = finding(Rule::Queued, 1, &format!("s{n}"), None);
                one.hint = "do it";
                one
            })
            .collect();
        let groups = groups(&request);
        assert_eq!(groups[0].hints, ["do it."]);
        assert_eq!(groups[0].evidence.len(), SHOWN_LINES + 1);
        assert_eq!(groups[0].evidence[SHOWN_LINES], "6 more like this.");
        assert_eq!(groups[0].place, "s0, s1, s2, s3, s4, s5, 3 more");
    }
}
