//! Findings over many requests.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::words;
use super::{Frame, cut};
use crate::model::{Nanos, Rule, Severity, Text, UnixNanos};
use crate::query::error::QueryError;
use crate::query::fleet::findings::{Findings, Group, Which};
use crate::query::fleet::{Ask, Example};
use crate::store::Snapshot;
use crate::store::rollup::{Example as Found, Finding, Sums, Wanted};

/// Sums of findings by rule, service and callee.
type Sum = BTreeMap<[Text; 3], Finding>;

/// Findings by rule and edge.
///
/// # Errors
/// The store cannot be read.
pub fn findings(snapshot: &Snapshot, ask: &Ask, which: &Which) -> Result<Findings, QueryError> {
    let frame = Frame::of(ask);
    let wanted = wanted(which.service.as_ref());
    let now = snapshot.sums(&frame.now, &wanted)?.findings;
    let (groups, others) = groups(snapshot, &frame, &now, which, frame.rows)?;
    let cases = |which: &Which| {
        let mut rules: BTreeMap<Rule, u64> = BTreeMap::new();
        for (_, rule, _, finding) in matching(snapshot, &now, which) {
            *rules.entry(rule).or_default() += finding.count;
        }
        rules
    };
    let all = Which::default();
    Ok(Findings {
        window: frame.window,
        sentence: words::findings(&groups, &cases(which), *which == all),
        groups,
        others,
        rules: cases(&all).into_iter().collect(),
        samples: snapshot.is_sample(),
    })
}

/// The findings of which a service is a part, or all.
fn wanted(service: Option<&Text>) -> Wanted {
    Wanted {
        findings: true,
        only: service.cloned(),
        ..Wanted::default()
    }
}

fn rule_of([rule, ..]: &[Text; 3]) -> Option<Rule> {
    let mut rules = Rule::ALL.iter().copied();
    rules.find(|known| known.as_str() == rule.as_str())
}

fn example(found: &Found) -> Example {
    Example {
        trace_id: found.trace_id,
        request: found.request,
        start: found.start,
    }
}

/// A sum, and whose it is.
type Matching<'a> = (Severity, Rule, &'a [Text; 3], &'a Finding);

/// The groups that are asked for.
fn matching<'a>(
    snapshot: &'a Snapshot,
    now: &'a Sum,
    which: &'a Which,
) -> impl Iterator<Item = Matching<'a>> {
    now.iter().filter_map(|(key, finding)| {
        let rule = rule_of(key)?;
        let severity = snapshot.policy().severity(rule);
        let [_, service, to] = key;
        let here = |name: &Text| service == name || to == name;
        let asked = which.rule.is_none_or(|asked| asked == rule)
            && which.severity.is_none_or(|asked| asked == severity)
            && which.service.as_ref().is_none_or(here);
        asked.then_some((severity, rule, key, finding))
    })
}

/// The groups that were asked for, the severest first, and how many there are beyond `most`.
pub(super) fn groups(
    snapshot: &Snapshot,
    frame: &Frame,
    now: &Sum,
    which: &Which,
    most: usize,
) -> Result<(Vec<Group>, u64), QueryError> {
    let mut asked: Vec<_> = matching(snapshot, now, which).collect();
    asked.sort_by_key(|(severity, rule, key, finding)| {
        let often = Reverse((finding.count, finding.requests));
        (*severity, often, *rule, *key)
    });
    let (asked, others) = cut(asked, most);
    if asked.is_empty() {
        return Ok((Vec::new(), others));
    }
    let wanted = wanted(which.service.as_ref());
    let before = snapshot.sums(&frame.before, &wanted)?.findings;
    let names: Vec<&[Text; 3]> = asked.iter().map(|(_, _, key, _)| *key).collect();
    let ever = snapshot.since(&names)?;
    let series = snapshot.series(&frame.now, frame.step, &wanted)?;
    let first_hour = snapshot.span().map_or(0, |(first, _)| first.0 / HOUR);
    let groups = asked
        .into_iter()
        .filter_map(|(severity, rule, key, finding)| {
            let worst = finding.worst.first();
            let newest = finding
                .newest
                .first()
                .or(worst.map(|worst| &worst.example))?;
            // What the newest is superseded by is not known of a part of an hour alone.
            let worst_of = worst.map_or(newest, |worst| &worst.example);
            let since = ever.get(key).copied().unwrap_or(newest.start);
            let [_, service, to] = key;
            Some(Group {
                rule,
                severity,
                service: service.clone(),
                to: super::spent::named(to),
                count: finding.count,
                requests: finding.requests,
                count_before: before.get(key).map_or(0, |before| before.count),
                since,
                since_or_before: since.0 / HOUR <= first_hour,
                last: newest.start,
                worst_weight: Nanos(worst.map_or(0, |worst| worst.weight)),
                worst: example(worst_of),
                newest: example(newest),
                message: worst.map(|worst| worst.message.clone()).unwrap_or_default(),
                hint: worst.map(|worst| worst.hint.clone()).unwrap_or_default(),
                trend: trend(&series, key),
            })
        });
    Ok((groups.collect(), others))
}

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

fn trend(series: &[Sums], key: &[Text; 3]) -> Vec<u64> {
    let counts = series.iter().map(|sums| sums.findings.get(key));
    counts
        .map(|finding| finding.map_or(0, |finding| finding.count))
        .collect()
}

/// Groups that began in the window and not with the store, the severest first, at most three.
pub(super) fn new_groups(
    snapshot: &Snapshot,
    frame: &Frame,
    now: &Sum,
) -> Result<Vec<Group>, QueryError> {
    // What was there before the window is not new.
    let since = UnixNanos(frame.window.since.0);
    let (all, _) = groups(snapshot, frame, now, &Which::default(), usize::MAX)?;
    let new = all.into_iter();
    let new = new.filter(|group| group.since >= since && !group.since_or_before);
    Ok(new.take(3).collect())
}
