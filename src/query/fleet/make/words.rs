//! The answers in words.

use std::collections::BTreeMap;

use crate::model::{Nanos, Part, Rule};
use crate::query::fleet::coverage::Break;
use crate::query::fleet::findings::Group;
use crate::query::fleet::overview::{Change, Holder, Matrix, Totals};
use crate::query::fleet::services::{Edge, Numbers};
use crate::query::fleet::{Passing, Share, Stretch, Thousandths};
use crate::query::number::{self, counted, ms_unit, percent};
use crate::query::story::{Piece, Sentence};

fn said(share: Share, decimals: u32) -> String {
    number::share(share.part, share.whole, decimals)
}

fn many(count: u64, one: &str, more: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), one, more)
}

fn times(times: Thousandths) -> String {
    number::times(u64::try_from(times.0 / 100).unwrap_or(0))
}

/// `inventory → postgresql stock`, `pricing Quote`, `edge → checkout transit`.
fn holder(holder: &Holder) -> String {
    let (service, to) = (&holder.service, holder.to.as_deref().unwrap_or("?"));
    match holder.part {
        Part::Local => service.to_string(),
        Part::Dependency | Part::Unreported => format!("{service} \u{2192} {to}"),
        Part::TransitOut => format!("the way from {service} to {to}"),
        Part::TransitBack => format!("the way back from {to} to {service}"),
        Part::Backoff => format!("{service}, waiting to call {to} again,"),
    }
}

/// What is missed since when, and who held the clock.
pub(super) fn overview(
    window: Stretch,
    now: &Totals,
    before: &Totals,
    change: Option<&Change>,
    first: Option<&Holder>,
) -> Sentence {
    let start = Sentence::default();
    if now.requests == 0 {
        return start.plain("No request started in this stretch of time.");
    }
    if now.budgeted == 0 {
        let requests = many(now.requests, "request", "requests");
        return start.plain(format!("No budget is known of any of {requests}."));
    }
    let missed = now.missed();
    if missed.part == 0 {
        let requests = many(now.budgeted, "request", "requests");
        return start.plain(format!(
            "None of {requests} with a budget missed its deadline."
        ));
    }
    let sentence = if let Some(change) = change {
        start
            .plain("Since ")
            .strong(number::moment(change.at, window.is_long()))
            .plain(", ")
            .strong(said(change.after, 1))
            .plain(format!(
                " of requests miss their deadline{}.",
                compared(change.before, change.after)
            ))
    } else {
        let was = before.missed();
        let was = match was.whole {
            0 => String::new(),
            _ => format!(", {} in the stretch before", said(was, 1)),
        };
        start.strong(said(missed, 1)).plain(format!(
            " of requests with a budget missed their deadline{was}."
        ))
    };
    match first.filter(|first| first.held > Nanos::ZERO) {
        Some(first) => sentence
            .plain(" ")
            .sign(Piece::Culprit)
            .plain(" ")
            .strong(holder(first))
            .plain(" held ")
            .strong(said(first.share, 1))
            .plain(" of the budget lost."),
        None => sentence,
    }
}

/// `, up 7×`, `, down from 4.2 %`.
fn compared(before: Share, after: Share) -> String {
    let (was, is) = (rate(before), rate(after));
    match before.part {
        0 => ", none before".to_owned(),
        _ if is > was => {
            let factor = i128::from(is) * 1000 / i128::from(was.max(1));
            let factor = i64::try_from(factor).unwrap_or(i64::MAX);
            format!(", up {}", times(Thousandths(factor)))
        }
        _ => format!(", down from {}", said(before, 1)),
    }
}

/// A share in billionths.
fn rate(share: Share) -> i64 {
    let billionths = u128::from(share.part) * 1_000_000_000 / u128::from(share.whole.max(1));
    i64::try_from(billionths).unwrap_or(i64::MAX)
}

/// Where it surfaced, and what is new.
pub(super) fn second(window: Stretch, matrix: &Matrix, new: &[Group]) -> Sentence {
    let mut sentence = Sentence::default();
    if let Some(most) = matrix.surfaced.first() {
        let share = Share {
            part: most.all,
            whole: matrix.all,
        };
        let own = matrix
            .spent
            .iter()
            .zip(matrix.cells.first().into_iter().flatten());
        let own = own.filter(|(spender, _)| spender.service == most.service);
        let own: u64 = own.map(|(_, count)| count).sum();
        let spent = match () {
            () if own * 10 <= most.all => ", which spent almost none of it",
            () if own * 2 >= most.all => ", where most of the time was spent too",
            () => "",
        };
        sentence = sentence
            .sign(Piece::Surfaced)
            .plain(format!(" {} of the misses surface at ", said(share, 0)))
            .strong(most.service.as_str())
            .plain(format!("{spent}."));
    }
    if let Some(first) = new.first() {
        let gap = if sentence.is_empty() { "" } else { " " };
        sentence = sentence
            .plain(format!(
                "{gap}New since {}: ",
                number::moment(first.since, window.is_long())
            ))
            .code(first.rule.as_str())
            .plain(format!(" {}.", edge(first)));
    }
    sentence
}

/// `payments → fraud`, or a service alone.
fn edge(group: &Group) -> String {
    match &group.to {
        Some(to) => format!("{} \u{2192} {to}", group.service),
        None => group.service.to_string(),
    }
}

/// Of the groups that were asked for, and how many cases each rule has of them; `all`: of all.
pub(super) fn findings(groups: &[Group], rules: &BTreeMap<Rule, u64>, all: bool) -> Sentence {
    let cases: u64 = rules.values().sum();
    let start = Sentence::default();
    let Some(first) = groups.first() else {
        return start.plain(if all {
            "Nothing is found wrong in this stretch of time."
        } else {
            "Nothing of what was asked for is found in this stretch of time."
        });
    };
    start
        .strong(many(cases, "case", "cases"))
        .plain(format!(
            " of {}. First to look at: ",
            many(rules.len() as u64, "rule", "rules")
        ))
        .code(first.rule.as_str())
        .plain(" ")
        .strong(edge(first))
        .plain(format!(
            ", in {}.",
            many(first.requests, "request", "requests")
        ))
}

pub(super) fn coverage(now: &Passing, before: &Passing, first: Option<&Break>) -> Sentence {
    let start = Sentence::default();
    if now.share().whole == 0 {
        return start.plain("No call had a deadline to pass on in this stretch of time.");
    }
    let was = match before.share().whole {
        0 => String::new(),
        _ => format!(", {} in the stretch before", said(before.share(), 1)),
    };
    let sentence = start.strong(said(now.share(), 1)).plain(format!(
        " of the calls that had a deadline passed it on{was}."
    ));
    match first {
        Some(first) => sentence
            .plain(" The first break: ")
            .strong(format!("{} \u{2192} {}", first.service, first.to))
            .plain(format!(", in {}.", many(first.calls, "call", "calls"))),
        None => sentence,
    }
}

pub(super) fn services(rows: &[Numbers], all: u64, held: Nanos) -> Sentence {
    let start = Sentence::default();
    let Some(first) = rows.first() else {
        return start.plain("No service ran in this stretch of time.");
    };
    let services = many(all, "service", "services");
    if first.held <= Nanos::ZERO {
        return start.plain(format!(
            "None of {services} held the clock of a missed request."
        ));
    }
    start
        .plain(format!("Of {services}, "))
        .sign(Piece::Culprit)
        .plain(" ")
        .strong(first.service.as_str())
        .plain(" held the most of the budget lost: ")
        .strong(percent(first.held, held))
        .plain(".")
}

pub(super) fn service(
    now: &Numbers,
    all: Nanos,
    longest: Option<&Holder>,
    waits: Option<&Edge>,
) -> Sentence {
    let start = Sentence::default();
    let Some(longest) = longest.filter(|_| now.held > Nanos::ZERO) else {
        return start.plain("It held the clock of no missed request.");
    };
    let start = start
        .plain("It held ")
        .strong(percent(now.held, all))
        .plain(" of the budget lost");
    let most = longest.held.scaled(10, 1) >= now.held.scaled(8, 1);
    let how_much = if most {
        ", nearly all "
    } else {
        ", the most of it "
    };
    let to = longest.to.as_deref().unwrap_or("?");
    let sentence = match longest.part {
        Part::Local => start.plain(how_much).plain("in its own work"),
        Part::Dependency | Part::Unreported => {
            start.plain(how_much).plain("waiting for ").strong(to)
        }
        Part::TransitOut | Part::TransitBack => start
            .plain(how_much)
            .plain("on the way to and from ")
            .strong(to),
        Part::Backoff => start
            .plain(how_much)
            .plain("between attempts at ")
            .strong(to),
    };
    let Some(waits) = waits else {
        return sentence.plain(".");
    };
    let Some(median) = waits.elapsed.p50 else {
        return sentence.plain(".");
    };
    let typical = match (waits.typical, waits.times) {
        (Some(typical), Some(factor)) => {
            format!(", {} its typical {}", times(factor), ms_unit(typical))
        }
        _ => String::new(),
    };
    sentence.plain(format!(": p50 {}{typical}.", ms_unit(median)))
}

/// Whether its own work is slower, and whether arrivals bring enough.
pub(super) fn own_time(now: &Numbers, before: &Numbers, min_useful: Nanos) -> Sentence {
    let mut sentence = Sentence::default();
    if let Some(p95) = now.local.p95 {
        let words = match before.local.p95 {
            None => format!("Own time p95 {}.", ms_unit(p95)),
            // The histograms are exact to one part in 128 each.
            Some(was) if p95 > was + was.scaled(1, 5) => format!(
                "Its own work is slower: own time p95 {}, {} before.",
                ms_unit(p95),
                ms_unit(was)
            ),
            Some(was) => format!(
                "Its own work is not slower: own time p95 {}, {} before.",
                ms_unit(p95),
                ms_unit(was)
            ),
        };
        sentence = sentence.plain(words);
    }
    if let Some(half) = now.remaining.p50 {
        let words = if half >= min_useful {
            format!(" Half of the arrivals have {} or more left.", ms_unit(half))
        } else {
            format!(
                " Half of the arrivals have {} or less left, under the least useful {}.",
                ms_unit(half),
                ms_unit(min_useful)
            )
        };
        sentence = sentence.plain(words);
    }
    sentence
}

pub(super) fn map(edges: &[Edge], held: Nanos) -> Sentence {
    let start = Sentence::default();
    if edges.is_empty() {
        return start.plain("Nothing called anything in this stretch of time.");
    }
    let broken = edges
        .iter()
        .filter(|edge| edge.passing.not_propagated > 0)
        .count() as u64;
    let mut sentence = match edges.iter().max_by_key(|edge| edge.held) {
        Some(most) if most.held > Nanos::ZERO => start
            .sign(Piece::Culprit)
            .plain(" ")
            .strong(format!("{} \u{2192} {}", most.service, most.to))
            .plain(" held ")
            .strong(percent(most.held, held))
            .plain(" of the budget lost."),
        _ => start.plain("No call held the clock of a missed request."),
    };
    if broken > 0 {
        sentence = sentence.plain(format!(
            " On {broken} of {} deadlines are not always passed on.",
            many(edges.len() as u64, "edge", "edges")
        ));
    }
    sentence
}
