//! The tiles, what became of the requests over time, and the key to it.

use crate::model::{Nanos, Outcome, UnixNanos, Verdict};
use crate::query::filter;
use crate::query::fleet::bands::Bands;
use crate::query::fleet::overview::{Bucket, Overview, Totals};
use crate::report::number;
use crate::report::svg::{Escaped, Icon, Spark, Stack, StackLook, Stacked, TimeAxis};
use crate::web::fleet::parts::{end, linked, not_over, percent, step_words, when};
use crate::web::params::Link;
use crate::web::period::{Period, length_words, short};
use crate::web::view::name;

pub(super) struct Tile {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    pub(super) late: bool,
    pub(super) spark: String,
    pub(super) more: String,
}

pub(super) struct KeyRow {
    pub(super) swatch: String,
    pub(super) name: String,
    pub(super) class: &'static str,
    pub(super) inner: bool,
    pub(super) count: String,
    pub(super) share: String,
}

pub(super) struct BucketRow {
    pub(super) href: String,
    pub(super) when: String,
    pub(super) cells: Vec<String>,
}

pub(super) fn tiles(overview: &Overview, period: &Period) -> Vec<Tile> {
    let (now, before) = (&overview.now, &overview.before);
    let length = length_words(overview.window);
    let of = |late, top, value: &dyn Fn(&Totals) -> Option<u64>| {
        let values: Vec<_> = overview
            .series
            .iter()
            .map(|one| value(&one.totals))
            .collect();
        Spark {
            values: &values,
            late,
            in_row: false,
            top,
        }
        .to_string()
    };
    let spark = |late, value: &dyn Fn(&Totals) -> Option<u64>| of(late, None, value);
    let missed = now.missed();
    let (value, decimals) = (number::share(missed.part, missed.whole, 2), 2);
    let earlier = before.missed();
    let slots = overview.most_wasted_slots();
    let p99 = |totals: &Totals| {
        let used = totals.used_p99?;
        Some(number::share(u64::try_from(used.0).ok()?, 1000, 0))
    };
    let unknown = || number::UNKNOWN.to_owned();
    let coverage = period.link("/coverage", &[]);
    vec![
        Tile {
            name: "requests with a budget",
            value: number::sum(now.budgeted),
            unit: "",
            late: false,
            spark: spark(false, &|totals| Some(totals.budgeted)),
            more: format!(
                "{} of {}",
                number::share(now.budgeted, now.requests, 1),
                linked(&number::sum(now.requests), Some(&period.requests("", &[])))
            ),
        },
        Tile {
            name: "missed their deadline",
            value,
            unit: "",
            late: missed.part > 0,
            spark: spark(true, &|totals| Some(totals.of(Outcome::Missed))),
            more: format!(
                "{} \u{b7} {length} before {}",
                linked(
                    &number::sum(missed.part),
                    Some(&period.requests("outcome=missed", &[("sort", Some("worst"))]))
                ),
                number::share(earlier.part, earlier.whole, decimals)
            ),
        },
        Tile {
            name: "wasted after the deadline",
            value: number::seconds(now.wasted),
            unit: "s",
            late: now.wasted > Nanos::ZERO,
            spark: spark(true, &|totals| u64::try_from(totals.wasted.0 / 1000).ok()),
            more: format!(
                "{} slots for nobody, peak {}",
                now.wasted_slots.with_decimals(2),
                slots.with_decimals(1)
            ),
        },
        Tile {
            name: "budget used, p99",
            value: p99(now).unwrap_or_else(unknown),
            unit: "",
            late: false,
            spark: spark(false, &|totals| u64::try_from(totals.used_p99?.0).ok()),
            more: format!("{length} before {}", p99(before).unwrap_or_else(unknown)),
        },
        Tile {
            name: "calls that pass the deadline on",
            value: percent(now.passing.share()),
            unit: "",
            late: false,
            spark: of(false, Some(1000), &|totals| {
                let share = totals.passing.share();
                (share.whole > 0).then(|| share.part * 1000 / share.whole)
            }),
            more: match &now.first_break {
                Some((from, to)) => {
                    let edge = format!("first break: {} \u{2192} {}", name(from), name(to));
                    linked(&edge, Some(&coverage))
                }
                None => linked("coverage", Some(&coverage)),
            },
        },
    ]
}

fn stack(bucket: &Bucket, overview: &Overview) -> Stack {
    let until = end(bucket.since, overview.step, overview.window);
    let bands = bucket.totals.bands();
    let text = format!(
        "{} UTC: {} of {} not met{}",
        number::part(bucket.since, until, overview.window.is_long()),
        number::sum(bands.not_met()),
        number::sum(bands.judged()),
        not_over(bucket.partial)
    );
    Stack {
        since: bucket.since,
        until,
        upper: vec![
            (StackLook::Expired, bands.expired),
            (StackLook::Exceeded, bands.exceeded),
            (StackLook::Other, bands.other),
            (StackLook::Failed, bands.failed),
            (StackLook::Cancelled, bands.cancelled),
        ],
        lower: vec![
            (StackLook::Met, bands.judged()),
            (StackLook::NoBudget, bands.no_budget),
        ],
        href: zoom(bucket.since, until),
        label: text,
    }
}

/// This page about one bucket.
fn zoom(since: UnixNanos, until: UnixNanos) -> String {
    let (since, until) = (short(since), short(until));
    Link {
        path: "/",
        pairs: &[("since", Some(&since)), ("until", Some(&until))],
    }
    .to_string()
}

pub(super) fn chart(overview: &Overview) -> String {
    let stacks: Vec<Stack> = overview
        .series
        .iter()
        .map(|bucket| stack(bucket, overview))
        .collect();
    let per = step_words(overview.step);
    let window = overview.window;
    let change = overview.change.map(|change| {
        let rises = u128::from(change.after.part) * u128::from(change.before.whole.max(1))
            > u128::from(change.before.part) * u128::from(change.after.whole.max(1));
        let word = if rises { "rise" } else { "fall" };
        (
            change,
            format!(
                "{} misses {word}",
                number::moment(change.at, overview.window.is_long())
            ),
        )
    });
    let told = match &change {
        Some((change, words)) => format!(
            " At {words}, from {} to {} of those with a budget.",
            percent(change.before),
            percent(change.after)
        ),
        None => String::new(),
    };
    let label = format!(
        "Outcomes per {per}, {}. {} of {} requests with a budget missed their deadline.{told}",
        number::stretch(window.since, window.until),
        number::sum(overview.now.of(Outcome::Missed)),
        number::sum(overview.now.budgeted),
    );
    Stacked {
        label: &label,
        axis: TimeAxis {
            since: window.since,
            until: window.until,
        },
        stacks: &stacks,
        unit: &format!("not met per {per}"),
        below: &format!(
            "all requests per {per}, up to {}",
            number::sum(overview.busiest())
        ),
        change: change
            .as_ref()
            .map(|(change, words)| (change.at, words.as_str())),
    }
    .to_string()
}

/// Verdicts of a condition on where a miss surfaced.
fn surfaced_as(verdicts: &[Verdict]) -> String {
    let each: Vec<String> = verdicts
        .iter()
        .map(|verdict| filter::is("surfaced.verdict", verdict.as_str()))
        .collect();
    format!("({})", each.join(" or "))
}

pub(super) fn key(now: &Totals, period: &Period) -> Vec<KeyRow> {
    let bands: Bands = now.bands();
    let judged = bands.judged();
    let expired = surfaced_as(&[Verdict::ExpiredOnArrival, Verdict::ExpiredBeforeSend]);
    let exceeded = surfaced_as(&[Verdict::ExceededHere, Verdict::ExceededDownstream]);
    let row = |swatch: String, words: &str, filter: &str, count: u64| KeyRow {
        swatch,
        name: if count > 0 {
            let href = period.requests(filter, &[("sort", Some("worst"))]);
            format!(r#"<a href="{}">{words}</a>"#, Escaped(&href))
        } else {
            words.to_owned()
        },
        class: "",
        inner: false,
        count: number::sum(count),
        share: number::share(count, judged, 2),
    };
    let inner = |look: StackLook, words, filter: &str, count| KeyRow {
        inner: true,
        ..row(look.swatch(), words, filter, count)
    };
    let outcome = |outcome: Outcome| format!("outcome={}", outcome.as_str());
    let missed = outcome(Outcome::Missed);
    let missed_as = |condition: String| format!("{missed} and {condition}");
    // Requests with an error may be without a budget: then the sum is more than those with one.
    let judged_words = if judged == now.budgeted {
        "with a budget"
    } else {
        "with an outcome"
    };
    vec![
        KeyRow {
            class: "kt",
            ..row(
                Icon::Outcome(Outcome::Missed).to_string(),
                "missed",
                &missed,
                bands.missed(),
            )
        },
        inner(
            StackLook::Expired,
            "expired on arrival",
            &missed_as(expired.clone()),
            bands.expired,
        ),
        inner(
            StackLook::Exceeded,
            "exceeded here or downstream",
            &missed_as(exceeded.clone()),
            bands.exceeded,
        ),
        inner(
            StackLook::Other,
            "timed out early, finished late",
            &missed_as(format!("not ({expired} or {exceeded})")),
            bands.other,
        ),
        row(
            StackLook::Failed.swatch(),
            "failed: another error",
            &outcome(Outcome::Failed),
            bands.failed,
        ),
        row(
            StackLook::Cancelled.swatch(),
            "cancelled by the client",
            &outcome(Outcome::Cancelled),
            bands.cancelled,
        ),
        row(
            StackLook::Met.swatch(),
            "met",
            &outcome(Outcome::Met),
            bands.met,
        ),
        KeyRow {
            swatch: String::new(),
            name: judged_words.to_owned(),
            class: "tot",
            inner: false,
            count: number::sum(judged),
            share: number::share(judged, judged, 0),
        },
        KeyRow {
            share: String::new(),
            ..row(
                StackLook::NoBudget.swatch(),
                "no budget known",
                &outcome(Outcome::NoBudget),
                bands.no_budget,
            )
        },
    ]
}

pub(super) fn row(bucket: &Bucket, overview: &Overview) -> BucketRow {
    let until = end(bucket.since, overview.step, overview.window);
    let bands = bucket.totals.bands();
    let cells = [
        bands.missed(),
        bands.expired,
        bands.exceeded,
        bands.other,
        bands.failed,
        bands.cancelled,
        bands.met,
        bands.no_budget,
        bucket.totals.requests,
    ];
    BucketRow {
        href: zoom(bucket.since, until),
        when: when(bucket.since, until, bucket.partial, overview.window),
        cells: cells.map(number::sum).into(),
    }
}
