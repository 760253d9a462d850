//! Answers by hand, with the numbers of the reference pages.

use super::coverage::{self, Coverage};
use super::findings::{self, Findings};
use super::map::{Map, Node};
use super::overview::{
    Bucket, Change, Holder, Matrix, Overview, Spender, Spent, Surfacing, Totals,
};
use super::services::{self, Bin, Edge, Numbers, Service, Services};
use super::{Example, Passing, Share, Spread, Stretch, Thousandths};
use crate::model::{CallKind, Nanos, Outcome, Part, Rule, SpanId, TraceId, UnixNanos, Verdict};
use crate::query::fixtures::chain;
use crate::query::requests::Row;
use crate::query::story::{Piece, Sentence};

const MINUTE: u64 = 60_000_000_000;
/// 2026-10-07 08:30 UTC.
const SINCE: UnixNanos = UnixNanos(1_791_361_800_000_000_000);

fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

fn at(minute: u64) -> UnixNanos {
    UnixNanos(SINCE.0 + minute * MINUTE)
}

pub(crate) fn window() -> Stretch {
    Stretch {
        since: SINCE,
        until: at(60),
    }
}

fn sentence(pieces: &[Piece]) -> Sentence {
    Sentence(pieces.to_vec())
}

fn plain(text: &str) -> Piece {
    Piece::Plain(text.to_owned())
}

fn strong(text: &str) -> Piece {
    Piece::Strong(text.to_owned())
}

pub(crate) fn totals(counts: [u64; 5], missed_by: &[(Verdict, u64)]) -> Totals {
    let outcomes: Vec<_> = Outcome::ALL.into_iter().zip(counts).collect();
    let by = |verdict| {
        let mut known = missed_by.iter();
        known
            .find(|(one, _)| *one == verdict)
            .map_or(0, |one| one.1)
    };
    let requests = counts.iter().sum();
    Totals {
        requests,
        budgeted: requests - counts[3],
        outcomes,
        missed_by: Verdict::ALL.map(|verdict| (verdict, by(verdict))).to_vec(),
        wasted: Nanos::from_secs(2911),
        wasted_slots: Thousandths(809),
        used_p99: Some(Thousandths(1040)),
        passing: Passing {
            all: 1000,
            propagated: 814,
            not_propagated: 186,
            reset: 20,
            no_deadline: 0,
        },
        first_break: Some(("client".into(), "orders".into())),
    }
}

fn bucket(minute: u64) -> Bucket {
    let (expired, exceeded) = if minute < 37 { (1, 15) } else { (75, 40) };
    let counts = [expired + exceeded + 3, 10, 12, 215, 2780 + minute];
    Bucket {
        since: at(minute),
        totals: Totals {
            wasted: ms(if minute < 37 { 300 } else { 9_000 }),
            ..totals(
                counts,
                &[
                    (Verdict::ExpiredOnArrival, expired),
                    (Verdict::ExceededHere, exceeded),
                ],
            )
        },
        partial: minute == 59,
    }
}

fn holder(
    (service, operation, part, to): (&str, &str, Part, Option<&str>),
    (held, typical): (i64, Option<i64>),
    before: i64,
) -> Holder {
    let held = Nanos::from_secs(held);
    let typical = typical.map(Nanos::from_secs);
    Holder {
        service: service.into(),
        operation: operation.into(),
        part,
        to: to.map(Into::into),
        requests: 1_804,
        held,
        share: Share {
            part: held.0.unsigned_abs(),
            whole: Nanos::from_secs(4210).0.unsigned_abs(),
        },
        typical,
        excess: held - typical.unwrap_or_default(),
        times: typical.map(|typical| Thousandths(held.0 * 1000 / typical.0)),
        held_before: Nanos::from_secs(before),
        trend: (before > 0).then(|| Thousandths(held.0 * 1000 / Nanos::from_secs(before).0)),
    }
}

fn spent() -> Spent {
    let local = |service, operation| (service, operation, Part::Local, None);
    let rows = vec![
        holder(
            (
                "inventory",
                "Reserve",
                Part::Dependency,
                Some("postgresql stock"),
            ),
            (2126, Some(31)),
            29,
        ),
        holder(local("pricing", "Quote"), (612, Some(51)), 570),
        holder(
            (
                "search",
                "Find",
                Part::Dependency,
                Some("opensearch products"),
            ),
            (388, Some(96)),
            400,
        ),
        holder(
            ("edge", "POST /checkout", Part::TransitOut, Some("checkout")),
            (126, Some(18)),
            21,
        ),
        holder(
            ("checkout", "Checkout", Part::Backoff, Some("inventory")),
            (92, None),
            0,
        ),
        holder(local("promo", "Match"), (241, Some(198)), 63),
        holder(local("checkout", "Checkout"), (290, Some(262)), 70),
        holder(local("fraud", "Score"), (97, Some(71)), 33),
    ];
    Spent {
        requests: 3214,
        held: Nanos::from_secs(4210),
        others: 14,
        others_held: Nanos::from_secs(238),
        rows,
    }
}

fn matrix() -> Matrix {
    let spender = |service: &str, part, to: Option<&str>, all| Spender {
        service: service.into(),
        part,
        to: to.map(Into::into),
        all,
    };
    let surfacing = |service: &str, all| Surfacing {
        service: service.into(),
        all,
    };
    Matrix {
        surfaced: vec![
            surfacing("payments", 1702),
            surfacing("checkout", 530),
            surfacing("client", 331),
            surfacing("search", 313),
            surfacing("edge", 234),
            surfacing("inventory", 58),
            surfacing("pricing", 46),
        ],
        spent: vec![
            spender(
                "inventory",
                Part::Dependency,
                Some("postgresql stock"),
                1804,
            ),
            spender("pricing", Part::Local, None, 611),
            spender("search", Part::Dependency, Some("opensearch"), 377),
            spender("edge", Part::TransitOut, Some("checkout"), 118),
            spender("checkout", Part::Local, None, 96),
        ],
        cells: vec![
            vec![1512, 71, 0, 0, 31],
            vec![203, 164, 0, 67, 52],
            vec![0, 322, 0, 0, 0],
            vec![0, 0, 301, 0, 0],
            vec![41, 22, 76, 51, 13],
            vec![48, 0, 0, 0, 0],
            vec![0, 32, 0, 0, 0],
        ],
        others: vec![88, 44, 9, 12, 31, 10, 14],
        other_spenders: 14,
        other_surfaced: 0,
        other_surfacing: 0,
        all: 3214,
        same: 484,
    }
}

pub(crate) fn group(rule: Rule, service: &str, to: Option<&str>) -> findings::Group {
    findings::Group {
        rule,
        severity: rule.severity(),
        service: service.into(),
        to: to.map(Into::into),
        count: 7204,
        requests: 7100,
        count_before: 12,
        since: at(37),
        since_or_before: false,
        last: at(59),
        worst_weight: ms(288),
        worst: example(1),
        newest: example(2),
        message: "7,204 calls to pricing carried no deadline".to_owned(),
        hint: "pass the incoming deadline to every outbound call.".to_owned(),
        trend: vec![0, 0, 3, 9, 12],
    }
}

fn example(n: u8) -> Example {
    Example {
        trace_id: TraceId([n; 16]),
        request: SpanId([n; 8]),
        start: at(44),
    }
}

pub(crate) fn overview() -> Overview {
    let row = Row::from(&chain());
    Overview {
        window: window(),
        sentence: sentence(&[
            plain("Since 09:07, 4.2\u{a0}% of requests miss their deadline, up 7\u{d7}. "),
            Piece::Culprit,
            plain(" "),
            strong("inventory \u{2192} postgresql stock"),
            plain(" held 50.5\u{a0}% of the budget lost."),
        ]),
        second: sentence(&[
            Piece::Surfaced,
            plain(" 53\u{a0}% of the failures surface at "),
            strong("payments"),
            plain(", which spent almost none of it. New since 09:02: "),
            Piece::Code("budget_reset".to_owned()),
            plain(" payments \u{2192} fraud."),
        ]),
        now: totals(
            [3214, 512, 868, 12_902, 166_824],
            &[
                (Verdict::ExpiredOnArrival, 1702),
                (Verdict::ExceededHere, 1000),
                (Verdict::ExceededDownstream, 234),
                (Verdict::TimedOutEarly, 100),
                (Verdict::FinishedLate, 178),
            ],
        ),
        before: totals([1045, 400, 800, 12_000, 168_000], &[]),
        series: (0..60).map(bucket).collect(),
        step: Nanos::from_secs(60),
        change: Some(Change {
            at: at(37),
            before: Share {
                part: 61,
                whole: 10_000,
            },
            after: Share {
                part: 42,
                whole: 1000,
            },
        }),
        spent: spent(),
        matrix: matrix(),
        worst: vec![row.clone(), Row::from(&crate::query::fixtures::fan_out())],
        newest: vec![row],
        new_findings: vec![group(Rule::BudgetReset, "payments", Some("fraud"))],
        samples: false,
    }
}

fn spread(p5: i64, p50: i64, p95: i64) -> Spread {
    Spread {
        count: 1000,
        p5: Some(ms(p5)),
        p50: Some(ms(p50)),
        p95: Some(ms(p95)),
        p99: Some(ms(p95 * 3 / 2)),
    }
}

pub(crate) fn numbers(service: &str, missed: u64, left: i64, held: i64) -> Numbers {
    Numbers {
        service: service.into(),
        operation: None,
        runs: 61_388,
        budgeted: 61_204,
        passing: totals([0; 5], &[]).passing,
        in_time: Share {
            part: 61_204 - missed,
            whole: 61_204,
        },
        verdicts: Verdict::ALL
            .map(|verdict| match verdict {
                Verdict::Ok => (verdict, 61_204 - missed),
                Verdict::FinishedLate => (verdict, missed),
                _ => (verdict, 0),
            })
            .to_vec(),
        remaining: spread(left - 27, left, left + 4),
        local: spread(4, 11, 21),
        elapsed: spread(20, 141, 502),
        queue: Spread::default(),
        culprit: 1804,
        held: Nanos::from_secs(held),
        excess: Some(Nanos::from_secs(held / 2)),
        surfaced: 58,
        wasted: Nanos::from_secs(1204),
        wasted_slots: Thousandths(334),
        attempts: Some(Thousandths(1310)),
    }
}

pub(crate) fn services() -> Services {
    Services {
        window: window(),
        sentence: sentence(&[
            strong("inventory"),
            plain(" held 50.5\u{a0}% of the budget lost."),
        ]),
        rows: vec![
            numbers("inventory", 5000, 498, 2126),
            numbers("pricing", 800, 600, 612),
            numbers("checkout", 20, 1400, 290),
            numbers("payments", 9000, 17, 0),
        ],
        others: 2,
        samples: false,
    }
}

pub(crate) fn edge(service: &str, to: &str, kind: CallKind, share: (u64, u64)) -> Edge {
    Edge {
        service: service.into(),
        to: to.into(),
        operation: None,
        kind,
        calls: 52_118,
        attempts: Thousandths(1310),
        passing: Passing {
            all: share.1,
            propagated: share.0,
            not_propagated: share.1 - share.0,
            reset: 0,
            no_deadline: 0,
        },
        sent: spread(490, 500, 500),
        remaining: spread(471, 498, 499),
        timeout: Spread::default(),
        elapsed: spread(20, 141, 486),
        typical: Some(ms(7)),
        times: Some(Thousandths(20_100)),
        missed: 2900,
        culprit: 1804,
        held: Nanos::from_secs(2126),
    }
}

pub(crate) fn service() -> Service {
    let bin = |from: Option<i64>, to: Option<i64>, arrivals, in_time| Bin {
        from: from.map(ms),
        to: to.map(ms),
        arrivals,
        in_time,
    };
    let series = (0..60).map(|minute| services::Bucket {
        since: at(minute),
        runs: 1000,
        not_in_time: Share {
            part: 8,
            whole: 1000,
        },
        remaining: spread(464, 498, 500),
        local: spread(4, 11, 21),
        elapsed: if minute < 37 {
            spread(10, 34, 90)
        } else {
            spread(40, 155, 502)
        },
        partial: minute == 59,
    });
    Service {
        window: window(),
        sentence: sentence(&[
            plain("It held 50.5\u{a0}% of the budget lost in this hour, nearly all waiting for "),
            Piece::Culprit,
            plain(" "),
            strong("postgresql stock"),
            plain(": p50 141\u{a0}ms, 20\u{d7} its typical 7\u{a0}ms."),
        ]),
        second: sentence(&[plain(
            "Its own code is not slower: own time p95 21\u{a0}ms, 19\u{a0}ms before.",
        )]),
        now: numbers("inventory", 5000, 498, 2126),
        before: numbers("inventory", 500, 498, 20),
        operations: vec![
            Numbers {
                operation: Some("Reserve".into()),
                ..numbers("inventory", 5000, 498, 2126)
            },
            Numbers {
                operation: Some("POST /re count?&<b>".into()),
                ..numbers("inventory", 0, 498, 0)
            },
        ],
        other_operations: 0,
        arrivals: vec![
            bin(None, Some(0), 118, 0),
            bin(Some(0), Some(20), 214, 0),
            bin(Some(20), Some(50), 122, 78),
            bin(Some(50), Some(100), 188, 156),
            bin(Some(100), Some(200), 310, 288),
            bin(Some(200), Some(400), 1102, 1003),
            bin(Some(400), Some(600), 48_794, 44_525),
            bin(Some(600), Some(1000), 8120, 7925),
            bin(Some(1000), None, 2236, 2229),
        ],
        min_useful: ms(20),
        typical: Some(ms(34)),
        typical_local: Some(ms(11)),
        series: series.collect(),
        step: Nanos::from_secs(60),
        change: overview().change,
        callers: vec![
            edge("checkout", "inventory", CallKind::Hop, (52_118, 52_118)),
            edge("orders", "inventory", CallKind::Hop, (0, 7204)),
        ],
        other_callers: 0,
        callees: vec![
            edge(
                "inventory",
                "postgresql stock",
                CallKind::Dependency,
                (0, 0),
            ),
            edge("inventory", "pricing", CallKind::Hop, (7204, 7204)),
        ],
        other_callees: 3,
        findings: vec![
            group(Rule::NotPropagated, "inventory", Some("pricing")),
            group(Rule::CancelNotPropagated, "inventory", None),
        ],
        other_findings: 0,
        missed: 3214,
    }
}

pub(crate) fn map() -> Map {
    let node = |name: &str, kind, depth, missed: u64, held: i64| Node {
        name: name.into(),
        kind,
        depth,
        root: depth == 0,
        runs: 61_204,
        missed: Share {
            part: missed,
            whole: 61_204,
        },
        culprit: 12,
        held: Nanos::from_secs(held),
        numbers: None,
    };
    Map {
        window: window(),
        sentence: services().sentence,
        nodes: vec![
            node("edge", CallKind::Hop, 0, 900, 126),
            node("checkout", CallKind::Hop, 1, 1200, 290),
            node("inventory", CallKind::Hop, 2, 5000, 2126),
            node("payments", CallKind::Hop, 2, 9000, 0),
            node("postgresql stock", CallKind::Dependency, 3, 0, 0),
        ],
        other_nodes: 3,
        edges: vec![
            edge("edge", "checkout", CallKind::Hop, (52_118, 52_118)),
            edge("checkout", "inventory", CallKind::Hop, (0, 52_118)),
            edge("checkout", "payments", CallKind::Hop, (52_118, 52_118)),
            edge(
                "inventory",
                "postgresql stock",
                CallKind::Dependency,
                (0, 0),
            ),
            edge("payments", "checkout", CallKind::Hop, (1, 1)),
            edge("edge", "not shown", CallKind::Hop, (1, 1)),
        ],
        other_edges: 4,
        held: Nanos::from_secs(4210),
        samples: false,
    }
}

pub(crate) fn findings() -> Findings {
    Findings {
        window: window(),
        sentence: sentence(&[plain("Two rules began in this hour.")]),
        groups: Rule::ALL
            .iter()
            .map(|rule| group(*rule, "inventory", Some("pricing")))
            .collect(),
        others: 5,
        rules: Rule::ALL.iter().map(|rule| (*rule, 7204)).collect(),
        samples: false,
    }
}

pub(crate) fn coverage() -> Coverage {
    let passing = totals([0; 5], &[]).passing;
    let bucket = |minute| coverage::Bucket {
        since: at(minute),
        passing,
        partial: minute == 59,
    };
    Coverage {
        window: window(),
        sentence: sentence(&[plain("81.4\u{a0}% of the calls pass the deadline on.")]),
        now: passing,
        before: passing,
        budgeted: Share {
            part: 171_418,
            whole: 184_320,
        },
        series: (0..60).map(bucket).collect(),
        step: Nanos::from_secs(60),
        breaks: vec![coverage::Break {
            service: "client".into(),
            operation: "POST /orders".into(),
            to: "orders".into(),
            calls: 7204,
            requests: 7100,
            newest: Some(example(3)),
        }],
        other_breaks: 2,
        edges: vec![coverage::Edge {
            service: "client".into(),
            to: "orders".into(),
            passing,
            before: passing,
        }],
        other_edges: 0,
        hops: vec![coverage::Hop {
            service: "orders".into(),
            operation: "POST /orders".into(),
            passing,
            before: passing,
        }],
        other_hops: 7,
        samples: false,
    }
}
