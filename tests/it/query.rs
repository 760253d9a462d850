//! What is drawn keeps the laws of the analysis, on everything that we have: samples and, where it
//! is at hand, the corpus.

use std::path::PathBuf;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Nanos, Request, Trace};
use dwindle::otlp::Limits;
use dwindle::query::waterfall::{Line, Row, StretchKind, Waterfall, fold, waterfall};
use dwindle::query::{detail, facts, findings, ledger, minibar, story};
use dwindle::report::{Look, csv, json, table, terminal};

use crate::support;

fn each_request(mut check: impl FnMut(&str, &Trace, &Request)) -> usize {
    let mut paths = support::samples();
    if let Some(corpus) = support::corpus() {
        for folder in [
            "cases",
            "traces/otlp",
            "traces/otlp-lines",
            "traces/otlp-pb",
        ] {
            if let Ok(entries) = std::fs::read_dir(corpus.join(folder)) {
                let mut more: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
                more.sort();
                paths.extend(more);
            }
        }
    }
    let mut requests = 0;
    for path in paths {
        let name = path.display().to_string();
        let loaded = files::load(&[Input::Path(path)], &Limits::default(), &mut |_, _| {});
        for trace in &loaded.traces {
            for request in &analyse(trace, &Policy::default(), &Typical::default()).requests {
                check(&format!("{name} {}", request.request), trace, request);
                requests += 1;
            }
        }
    }
    requests
}

fn sum<'a>(row: &'a Row, kinds: &'a [StretchKind]) -> Nanos {
    row.stretches
        .iter()
        .filter(|stretch| kinds.contains(&stretch.kind))
        .map(|stretch| stretch.end - stretch.start)
        .sum()
}

fn solid_blocks_tile_the_time(name: &str, request: &Request, drawn: &Waterfall) {
    let mut solid: Vec<_> = drawn
        .rows
        .iter()
        .flat_map(|row| &row.stretches)
        .filter(|stretch| stretch.part.is_some())
        .collect();
    solid.sort_by_key(|stretch| stretch.start);
    let mut cursor = Nanos::ZERO;
    for stretch in solid {
        assert_eq!(stretch.start, cursor, "{name}");
        cursor = stretch.end;
    }
    assert_eq!(cursor, request.elapsed, "{name}");
}

#[test]
fn what_is_drawn_keeps_the_laws() {
    let requests = each_request(|name, _, request| {
        let drawn = waterfall(request);
        solid_blocks_tile_the_time(name, request, &drawn);
        for row in &drawn.rows {
            let mut cursor = row.start;
            for stretch in &row.stretches {
                assert!(
                    stretch.start >= cursor && stretch.end > stretch.start,
                    "{name}"
                );
                cursor = stretch.end;
            }
            assert!(cursor <= row.end.max(row.start), "{name}: {}", row.name);
            let late = sum(row, &[StretchKind::Late, StretchKind::LateWaiting]);
            if row.call.is_none() {
                assert_eq!(late, request.hops[row.hop].wasted, "{name}: {}", row.name);
            }
        }
        assert_eq!(
            drawn.rows.iter().filter(|row| row.call.is_none()).count(),
            request.hops.len(),
            "{name}"
        );
        let shown: usize = fold(&drawn)
            .iter()
            .map(|line| match line {
                Line::Row(_) => 1,
                Line::Folded(folded) => folded.rows,
                Line::HandOver(_) => 0,
            })
            .sum();
        assert_eq!(shown, drawn.rows.len(), "{name}");
        let culprit_is_drawn = drawn.rows.iter().any(|row| row.culprit);
        assert_eq!(culprit_is_drawn, request.culprit.is_some(), "{name}");
        assert!(
            drawn.axis_end > Nanos::ZERO && !drawn.ticks.is_empty(),
            "{name}"
        );
    });
    assert!(requests > 20);
}

#[test]
fn the_ledger_sums_to_the_whole() {
    each_request(|name, _, request| {
        let ledger = ledger::ledger(request);
        let spent: Nanos = ledger.rows.iter().map(|row| row.time).sum();
        let folded = ledger.more.map_or(Nanos::ZERO, |more| more.time);
        assert_eq!(spent + folded + ledger.unspent, ledger.whole, "{name}");
        let whole: Nanos = request.ledger.iter().map(|row| row.time).sum();
        assert_eq!(spent + folded + ledger.after_deadline, whole, "{name}");
        let culprit = ledger.rows.iter().find(|row| row.culprit);
        let consumed = request.culprit.as_ref().map(|culprit| culprit.consumed);
        if let (Some(row), Some(consumed)) = (culprit, consumed) {
            assert!(row.time >= consumed, "{name}");
        }
        let largest =
            consumed.unwrap_or_else(|| ledger.rows.first().map_or(Nanos::ZERO, |row| row.time));
        let bar = minibar::mini_bar(request.elapsed, request.budget, largest, consumed.is_some());
        assert!(
            bar.largest + bar.rest + bar.late <= minibar::WHOLE,
            "{name}"
        );
    });
}

#[test]
fn everything_is_told_without_a_panic() {
    each_request(|name, trace, request| {
        assert!(!story::headline(request).is_empty(), "{name}");
        story::second(request);
        facts::facts(request);
        assert!(
            findings::groups(request).len() <= request.findings.len(),
            "{name}"
        );
        let drawn = waterfall(request);
        for row in drawn.rows.iter().take(200) {
            let detail = detail::detail(request, trace, row);
            let shares: Nanos = detail.shares.iter().map(|share| share.time).sum();
            assert_eq!(shares, detail.elapsed, "{name}: {}", row.name);
            if row.call.is_none() {
                assert!(!detail.spans.is_empty(), "{name}: {}", row.name);
            }
        }
        for (width, ascii) in [(100, false), (50, true)] {
            let look = Look {
                color: false,
                ascii,
                width,
            };
            let text = terminal::request(request, look);
            assert!(text.lines().count() > 8, "{name}");
            assert!(!ascii || text.is_ascii(), "{name}");
        }
        assert!(csv::record(request).ends_with("\r\n"), "{name}");
        assert!(
            json::one(request).len() > json::listed(request).len(),
            "{name}"
        );
        table::row(request);
    });
}
