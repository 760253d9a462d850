//! From settings to the policy of the analysis.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::kind::{DURATION, GRAMMAR, Kind, MEANING, UNIT};
use super::listings::Entry;
use super::sources::{Origin, Problem};
use super::table::{Findings, Values};
use crate::budget::{CustomRule, Pattern, Patterns, Place, Policy, Rules, Thresholds};
use crate::model::{Nanos, Text};

/// What the lists of the configuration come to.
pub(super) struct Lists {
    min_useful_of: Patterns<Nanos>,
    route_budgets: Patterns<Nanos>,
    detached: Patterns<()>,
    rules: Vec<CustomRule>,
}

impl Lists {
    /// Compiles the entries; what cannot be is told in `problems`.
    pub(super) fn build(entries: &[Entry], problems: &mut Vec<Problem>) -> Self {
        let mut all = Builder { entries, problems };
        Self {
            min_useful_of: all.patterns("min_useful", |entry| time(entry, "value")),
            route_budgets: all.patterns("route", route_budget),
            detached: all.patterns("detach", |_| Ok(())),
            rules: all.rules(),
        }
    }

    /// What the analysis is told.
    pub(super) fn policy(self, values: &Values) -> Policy {
        Policy {
            min_useful: nanos(*values.analysis.min_useful),
            min_useful_of: self.min_useful_of,
            route_budgets: self.route_budgets,
            detached: self.detached,
            rules: rules(&self.rules, values),
            max_spans: usize::try_from(*values.analysis.max_spans).unwrap_or(usize::MAX),
            thresholds: thresholds(&values.findings),
            disabled: values.findings.disabled.value.clone(),
            severities: values.findings.severity.value.clone(),
        }
    }
}

/// The rules that read deadlines. Each of these has been tried before.
fn rules(custom: &[CustomRule], values: &Values) -> Arc<Rules> {
    let enabled: Vec<Text> = values.analysis.enable_rules.iter().cloned().collect();
    Rules::new(custom, &enabled).unwrap_or_else(|_| Rules::builtin())
}

/// What an entry's rule is.
fn rule(entry: &Entry) -> Result<CustomRule, String> {
    let (key, place) = match (entry.get("key"), entry.get("header")) {
        (Some(key), _) => (key, Place::Attribute),
        (None, header) => (header.unwrap_or_default(), Place::Header),
    };
    let grammar = match (entry.get("unit"), entry.get("grammar")) {
        (Some(unit), _) => parsed(&UNIT, unit)?,
        (None, grammar) => parsed(&GRAMMAR, grammar.unwrap_or_default())?,
    };
    let field = parsed(&MEANING, entry.get("meaning").unwrap_or_default())?;
    let key = key.into();
    Ok(CustomRule {
        key,
        place,
        grammar,
        field,
    })
}

fn thresholds(findings: &Findings) -> Thresholds {
    Thresholds {
        tolerance: nanos(*findings.tolerance),
        tolerance_share: *findings.tolerance_share,
        worked_after_deadline: nanos(*findings.worked_after_deadline),
        worked_after_deadline_share: *findings.worked_after_deadline_share,
        started_expired: nanos(*findings.started_expired),
        doomed_retry: nanos(*findings.doomed_retry),
        hedge_not_cancelled: nanos(*findings.hedge_not_cancelled),
        cancel_not_propagated: nanos(*findings.cancel_not_propagated),
        over_provisioned: *findings.over_provisioned,
        queued: *findings.queued,
        accounting_mismatch: nanos(*findings.accounting_mismatch),
        accounting_mismatch_share: *findings.accounting_mismatch_share,
    }
}

/// A route's objective less its headroom.
fn route_budget(entry: &Entry) -> Result<Nanos, String> {
    let (slo, headroom) = (time(entry, "slo")?, time(entry, "headroom")?);
    if headroom < slo {
        Ok(slo - headroom)
    } else {
        Err("`headroom` has to be less than `slo`: the budget is what is between them".to_owned())
    }
}

/// The time of a key; none is 0.
fn time(entry: &Entry, key: &str) -> Result<Nanos, String> {
    entry
        .get(key)
        .map_or(Ok(Nanos::ZERO), |text| parsed(&DURATION, text).map(nanos))
}

fn parsed<T>(kind: &Kind<T>, text: &str) -> Result<T, String> {
    (kind.parse)(text).map_err(|wanted| format!("`{text}` is not {}", wanted.0))
}

struct Builder<'a> {
    entries: &'a [Entry],
    problems: &'a mut Vec<Problem>,
}

impl Builder<'_> {
    /// The entries of a list, by their patterns.
    fn patterns<T: Copy>(
        &mut self,
        listing: &str,
        value: impl Fn(&Entry) -> Result<T, String>,
    ) -> Patterns<T> {
        let mut patterns = Vec::new();
        let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| entry.listing == listing) {
            let name = |key| entry.get(key).unwrap_or("*").to_owned();
            let names = (name("service"), name("operation"));
            if let Some(first) = seen.insert(names.clone(), entry.place.line) {
                self.tell(
                    entry,
                    format!(
                        "[[{listing}]] of this service and operation is in line {first} already"
                    ),
                );
                continue;
            }
            let built = pattern(&names.0)
                .and_then(|service| Ok((service, pattern(&names.1)?, value(entry)?)));
            match built {
                Ok(built) => patterns.push(built),
                Err(reason) => self.tell(entry, reason),
            }
        }
        Patterns::new(patterns)
    }

    /// The own rules that can be used, one with another.
    fn rules(&mut self) -> Vec<CustomRule> {
        let mut rules: Vec<CustomRule> = Vec::new();
        let mut from: Vec<&Entry> = Vec::new();
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| entry.listing == "rule") {
            match rule(entry) {
                Ok(rule) => {
                    rules.push(rule);
                    from.push(entry);
                }
                Err(reason) => self.tell(entry, reason),
            }
        }
        if Rules::new(&rules, &[]).is_ok() {
            return rules;
        }
        // Which it is that does not fit is found by adding one after another.
        let mut fitting: Vec<CustomRule> = Vec::new();
        for (rule, entry) in rules.into_iter().zip(from) {
            fitting.push(rule);
            if let Err(error) = Rules::new(&fitting, &[]) {
                fitting.pop();
                self.tell(entry, error.to_string());
            }
        }
        fitting
    }

    fn tell(&mut self, entry: &Entry, reason: String) {
        let origin = Origin::File(entry.place.clone());
        self.problems.push(Problem { origin, reason });
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| format!("`{text}`: {error}"))
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
