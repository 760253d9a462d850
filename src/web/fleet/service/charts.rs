//! What arrived, what became of it, and how long it took.

use crate::model::{Nanos, Verdict};
use crate::query::fleet::services::{Bucket, Numbers, Service};
use crate::report::number;
use crate::report::svg::{Badge, Bins, Line, LineLook, Lines, TimeAxis, VerdictBar, bin_words};
use crate::web::fleet::parts::{end, ms, percent, when};

pub(super) struct Arrivals {
    pub(super) about: String,
    pub(super) chart: String,
    pub(super) rows: Vec<(String, String, String)>,
}

pub(super) struct VerdictRow {
    pub(super) badge: String,
    pub(super) bar: String,
    pub(super) runs: String,
    pub(super) share: String,
}

pub(super) struct SeriesRow {
    pub(super) when: String,
    pub(super) cells: Vec<String>,
}

pub(super) fn arrivals(service: &Service) -> Option<Arrivals> {
    let bins = &service.arrivals;
    let all: u64 = bins.iter().map(|bin| bin.arrivals).sum();
    if all == 0 {
        return None;
    }
    let below = bins
        .iter()
        .filter(|bin| bin.to.is_some_and(|to| to <= service.min_useful));
    let (few, good) = below.fold((0, 0), |(few, good), bin| {
        (few + bin.arrivals, good + bin.in_time)
    });
    let label = format!(
        "Milliseconds left on arrival: {} of {} arrivals had less than the {} of min useful, \
         {} of those answered in time.",
        number::sum(few),
        number::sum(all),
        number::ms_unit(service.min_useful),
        number::sum(good),
    );
    Some(Arrivals {
        about: format!("{} arrivals with a budget", number::sum(all)),
        chart: Bins {
            label: &label,
            bins,
            min_useful: service.min_useful,
            typical: service.typical,
        }
        .to_string(),
        rows: bins
            .iter()
            .map(|bin| {
                (
                    bin_words(bin),
                    number::sum(bin.arrivals),
                    number::share(bin.in_time, bin.arrivals, 1),
                )
            })
            .collect(),
    })
}

pub(super) fn verdicts(now: &Numbers) -> Vec<VerdictRow> {
    let most = now.most_of_a_fault();
    let mut rows: Vec<_> = now.verdicts.iter().filter(|(_, runs)| *runs > 0).collect();
    rows.sort_by_key(|(verdict, runs)| (*verdict != Verdict::Ok, std::cmp::Reverse(*runs)));
    rows.into_iter()
        .map(|(verdict, runs)| VerdictRow {
            badge: Badge::Verdict(*verdict).to_string(),
            bar: VerdictBar {
                verdict: *verdict,
                runs: *runs,
                most,
            }
            .to_string(),
            runs: number::sum(*runs),
            share: number::share(*runs, now.runs, 2),
        })
        .collect()
}

fn axis(service: &Service) -> TimeAxis {
    TimeAxis {
        since: service.window.since,
        until: service.window.until,
    }
}

/// A line of each bucket's value.
fn line(
    service: &Service,
    look: LineLook,
    name: &'static str,
    value: impl Fn(&Bucket) -> Option<Nanos>,
) -> Line {
    Line {
        look,
        name,
        values: service.series.iter().map(value).collect(),
    }
}

pub(super) fn total_chart(service: &Service) -> String {
    let lines = [
        line(service, LineLook::P50, "p50", |one| one.elapsed.p50),
        line(service, LineLook::P95, "p95", |one| one.elapsed.p95),
        line(service, LineLook::P99, "p99", |one| one.elapsed.p99),
        line(service, LineLook::Left, "left p5", |one| one.remaining.p5),
    ];
    let now = &service.now;
    let label = format!(
        "Total time over the window: p50 {}, p95 {}, p99 {} ms; left on arrival p5 {} ms.",
        ms(now.elapsed.p50),
        ms(now.elapsed.p95),
        ms(now.elapsed.p99),
        ms(now.remaining.p5)
    );
    chart(service, &label, &lines)
}

pub(super) fn own_chart(service: &Service) -> String {
    let lines = [
        line(service, LineLook::P50, "p50", |one| one.local.p50),
        line(service, LineLook::P95, "p95", |one| one.local.p95),
        line(service, LineLook::P99, "p99", |one| one.local.p99),
    ];
    let now = &service.now;
    let label = format!(
        "Own time over the window: p50 {}, p95 {}, p99 {} ms.",
        ms(now.local.p50),
        ms(now.local.p95),
        ms(now.local.p99)
    );
    chart(service, &label, &lines)
}

fn chart(service: &Service, label: &str, lines: &[Line]) -> String {
    Lines {
        label,
        axis: axis(service),
        lines,
        change: service.change.map(|change| change.at),
    }
    .to_string()
}

pub(super) fn series_row(bucket: &Bucket, service: &Service) -> SeriesRow {
    let until = end(bucket.since, service.step, service.window);
    SeriesRow {
        when: when(bucket.since, until, bucket.partial, service.window),
        cells: vec![
            number::sum(bucket.runs),
            percent(bucket.not_in_time),
            ms(bucket.remaining.p5),
            ms(bucket.elapsed.p50),
            ms(bucket.elapsed.p95),
            ms(bucket.elapsed.p99),
            ms(bucket.local.p50),
            ms(bucket.local.p95),
            ms(bucket.local.p99),
        ],
    }
}
