//! Requests made by hand for the tests of `query` and `report`: the worked chain and the fan-out.

use crate::model::{
    Call, CallKind, Culprit, Evidence, Finding, Hop, How, LedgerRow, LocalSource, Nanos, Outcome,
    Part, PathSegment, Request, Rule, Source, SpanId, Surfaced, Text, TraceId, UnixNanos, Verdict,
};

pub(crate) fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

/// A hop from `start` to `end` with no calls and no budget.
pub(crate) fn hop(
    id: usize,
    parent: Option<usize>,
    service: &str,
    op: &str,
    at: (i64, i64),
) -> Hop {
    Hop {
        id,
        parent,
        depth: 0,
        service: service.into(),
        operation: op.into(),
        span_id: span(id as u64 + 1),
        start: ms(at.0),
        elapsed: ms(at.1 - at.0),
        remaining_in: None,
        remaining_in_source: Source::default(),
        deadline: None,
        deadline_from: None,
        own_deadline: None,
        local: ms(at.1 - at.0),
        local_source: LocalSource::Computed,
        local_computed: ms(at.1 - at.0),
        queue: None,
        clock_offset: Nanos::ZERO,
        clock_interval: None,
        verdict: Verdict::Ok,
        verdict_call: None,
        reason: None,
        evidence: None,
        reported: None,
        wasted: Nanos::ZERO,
        handed_over: Vec::new(),
        calls: Vec::new(),
        spans: Vec::new(),
    }
}

pub(crate) fn span(n: u64) -> SpanId {
    SpanId(n.to_be_bytes())
}

/// A waited call from `start` to `end`.
pub(crate) fn call(to: &str, operation: &str, hop: Option<usize>, at: (i64, i64)) -> Call {
    Call {
        span_id: span(1000 + at.0 as u64),
        to: to.into(),
        operation: operation.into(),
        kind: if hop.is_some() {
            CallKind::Hop
        } else {
            CallKind::Dependency
        },
        hop,
        attempt: 1,
        attempts: 1,
        start: ms(at.0),
        elapsed: ms(at.1 - at.0),
        remaining_out: None,
        remaining_out_source: Source::default(),
        timeout: None,
        timeout_source: Source::default(),
        transit_out: None,
        transit_back: None,
        waited: true,
        verdict: Verdict::Ok,
    }
}

/// A request of these hops: local times, depths, ledger and totals are filled in.
pub(crate) fn request(
    mut hops: Vec<Hop>,
    budget: Option<i64>,
    path: &[(usize, Part, Option<&str>, i64, i64)],
) -> Request {
    for id in 0..hops.len() {
        if let Some(parent) = hops[id].parent {
            hops[id].depth = hops[parent].depth + 1;
        }
        let (start, end) = (hops[id].start, hops[id].start + hops[id].elapsed);
        let mut waits: Vec<_> = hops[id]
            .calls
            .iter()
            .map(|call| (call.start.max(start), (call.start + call.elapsed).min(end)))
            .collect();
        waits.sort();
        let (mut cursor, mut waited) = (start, Nanos::ZERO);
        for (from, to) in waits {
            waited += (to - from.max(cursor)).at_least_zero();
            cursor = cursor.max(to);
        }
        hops[id].local = hops[id].elapsed - waited;
        hops[id].local_computed = hops[id].local;
    }
    let path: Vec<_> = path
        .iter()
        .map(|&(hop, part, to, start, end)| PathSegment {
            hop,
            part,
            to: to.map(Text::from),
            start: ms(start),
            end: ms(end),
        })
        .collect();
    let mut ledger: Vec<LedgerRow> = Vec::new();
    for segment in &path {
        let time = segment.end - segment.start;
        let after = match budget {
            Some(budget) => (segment.end - segment.start.max(ms(budget))).at_least_zero(),
            None => Nanos::ZERO,
        };
        let same = |row: &&mut LedgerRow| {
            (row.hop, row.part, &row.to) == (segment.hop, segment.part, &segment.to)
        };
        if let Some(row) = ledger.iter_mut().find(same) {
            row.time += time;
            row.after_deadline += after;
        } else {
            ledger.push(LedgerRow {
                hop: segment.hop,
                service: hops[segment.hop].service.clone(),
                operation: hops[segment.hop].operation.clone(),
                part: segment.part,
                to: segment.to.clone(),
                time,
                after_deadline: after,
            });
        }
    }
    Request {
        trace_id: TraceId(0xcec3_15e3_d097_5e5c_c281_1d5d_8725_f149_u128.to_be_bytes()),
        request: hops[0].span_id,
        revision: 1,
        complete: true,
        notes: Vec::new(),
        service: hops[0].service.clone(),
        operation: hops[0].operation.clone(),
        start: UnixNanos(1_791_364_500_000_000_000),
        spans: hops.len(),
        elapsed: hops[0].elapsed,
        budget: budget.map(ms),
        budget_source: Source {
            how: if budget.is_some() {
                How::Observed
            } else {
                How::None
            },
            key: budget.map(|_| "deadline.timeout_ms".into()),
            span_id: Some(hops[0].span_id),
            value: budget.map(|ms| Text::from(ms.to_string())),
        },
        outcome: if budget.is_some() {
            Outcome::Met
        } else {
            Outcome::NoBudget
        },
        wasted: hops.iter().map(|hop| hop.wasted).sum(),
        surfaced: None,
        culprit: None,
        hops,
        path,
        ledger,
        findings: Vec::new(),
    }
}

/// Gives a hop its budget and deadlines; `effective` in ms from the request's start.
fn bind(hop: &mut Hop, how: How, remaining: i64, effective: i64, from: usize) {
    hop.remaining_in = Some(ms(remaining));
    hop.remaining_in_source.how = how;
    hop.own_deadline = Some(hop.start + ms(remaining));
    hop.deadline = Some(ms(effective));
    hop.deadline_from = Some(from);
}

pub(crate) fn finding(rule: Rule, hop: usize, service: &str, to: Option<&str>) -> Finding {
    Finding {
        rule,
        severity: rule.severity(),
        hop,
        service: service.into(),
        to: to.map(Text::from),
        evidence: Evidence {
            count: 1,
            ..Evidence::default()
        },
        message: format!("{service} did it"),
        hint: format!("mend {rule}").leak(),
    }
}

/// client → orders → inventory → pricing, each ready to wait its own 1,000 ms (case 01).
pub(crate) fn chain() -> Request {
    let mut hops = vec![
        hop(0, None, "client", "POST /orders", (0, 1000)),
        hop(1, Some(0), "orders", "POST /orders", (1, 1307)),
        hop(2, Some(1), "inventory", "Reserve", (202, 1305)),
        hop(3, Some(2), "pricing", "Quote", (503, 1303)),
    ];
    bind(&mut hops[0], How::Observed, 1000, 1000, 0);
    bind(&mut hops[1], How::Inherited, 999, 1000, 0);
    bind(&mut hops[2], How::Inherited, 798, 1000, 0);
    bind(&mut hops[3], How::Inherited, 497, 1000, 0);
    let mut first = call("orders", "POST /orders", Some(1), (0, 1000));
    first.timeout = Some(ms(1000));
    first.verdict = Verdict::ExceededDownstream;
    first.transit_out = Some(ms(1));
    hops[0].calls = vec![first];
    hops[0].verdict = Verdict::ExceededDownstream;
    for (id, to, op, at) in [
        (1, "inventory", "Reserve", (201, 1306)),
        (2, "pricing", "Quote", (502, 1304)),
    ] {
        let mut next = call(to, op, Some(id + 1), at);
        next.timeout = Some(ms(1000));
        next.verdict = Verdict::FinishedLate;
        next.transit_out = Some(ms(1));
        next.transit_back = Some(ms(1));
        hops[id].calls = vec![next];
    }
    for (id, wasted) in [(1, 307), (2, 305), (3, 303)] {
        hops[id].verdict = Verdict::FinishedLate;
        hops[id].wasted = ms(wasted);
    }
    let mut request = request(
        hops,
        Some(1000),
        &[
            (0, Part::TransitOut, Some("orders"), 0, 1),
            (1, Part::Local, None, 1, 201),
            (1, Part::TransitOut, Some("inventory"), 201, 202),
            (2, Part::Local, None, 202, 502),
            (2, Part::TransitOut, Some("pricing"), 502, 503),
            (3, Part::Local, None, 503, 1000),
        ],
    );
    request.spans = 6;
    request.outcome = Outcome::Missed;
    request.surfaced = Some(Surfaced {
        service: "client".into(),
        operation: "POST /orders".into(),
        verdict: Verdict::ExceededDownstream,
        hop: 0,
    });
    request.culprit = Some(Culprit {
        service: "pricing".into(),
        operation: "Quote".into(),
        part: Part::Local,
        to: None,
        consumed: ms(497),
        share: (ms(497), ms(1000)),
        typical: Some(ms(41)),
        excess: Some(ms(456)),
    });
    request.findings = vec![
        finding(Rule::NotPropagated, 0, "client", Some("orders")),
        finding(Rule::NotPropagated, 1, "orders", Some("inventory")),
        finding(Rule::NotPropagated, 2, "inventory", Some("pricing")),
        finding(Rule::InvertedTimeout, 1, "orders", Some("inventory")),
        finding(Rule::InvertedTimeout, 2, "inventory", Some("pricing")),
        finding(Rule::CancelNotPropagated, 1, "orders", None),
        finding(Rule::WorkedAfterDeadline, 1, "orders", None),
        finding(Rule::WorkedAfterDeadline, 2, "inventory", None),
        finding(Rule::WorkedAfterDeadline, 3, "pricing", None),
    ];
    request
}

/// The fan-out of the reference page: parallel calls, a retry, dependencies, a budget reset,
/// abandoned work.
#[expect(clippy::too_many_lines, reason = "a list of hops, calls and stretches")]
pub(crate) fn fan_out() -> Request {
    let mut hops = vec![
        hop(0, None, "edge", "POST /checkout", (0, 1504)),
        hop(1, Some(0), "limiter", "Check", (3, 5)),
        hop(2, Some(0), "checkout", "Checkout", (10, 1500)),
        hop(3, Some(2), "identity", "Verify", (24, 59)),
        hop(4, Some(2), "cart", "GetCart", (24, 94)),
        hop(5, Some(4), "catalog", "GetItems", (40, 88)),
        hop(6, Some(2), "inventory", "Reserve", (434, 1244)),
        hop(7, Some(2), "inventory", "Reserve", (984, 1459)),
        hop(8, Some(2), "payments", "Charge", (1483, 1704)),
        hop(9, Some(8), "fraud", "Score", (1490, 1668)),
    ];
    for (id, how, remaining, effective, from) in [
        (0, How::Observed, 1500, 1500, 0),
        (1, How::Inherited, 1497, 1500, 0),
        (2, How::Observed, 1490, 1500, 0),
        (3, How::Sent, 1476, 1500, 0),
        (4, How::Sent, 1476, 1500, 0),
        (5, How::Sent, 1460, 1500, 0),
        (6, How::Sent, 500, 934, 6),
        (7, How::Sent, 500, 1484, 7),
        (8, How::Sent, 17, 1500, 0),
        (9, How::Sent, 250, 1500, 0),
    ] {
        bind(&mut hops[id], how, remaining, effective, from);
    }
    let timed = |mut call: Call, timeout: i64| {
        call.timeout = Some(ms(timeout));
        call.remaining_out = Some(ms(timeout));
        call
    };
    hops[0].calls = vec![
        call("limiter", "Check", Some(1), (2, 6)),
        timed(call("checkout", "Checkout", Some(2), (8, 1500)), 1492),
    ];
    let mut first = timed(call("inventory", "Reserve", Some(6), (432, 934)), 502);
    first.verdict = Verdict::ExceededDownstream;
    first.attempts = 2;
    let mut second = timed(call("inventory", "Reserve", Some(7), (982, 1461)), 502);
    (second.attempt, second.attempts) = (2, 2);
    let mut charge = timed(call("payments", "Charge", Some(8), (1481, 1500)), 30);
    charge.verdict = Verdict::ExceededDownstream;
    hops[2].calls = vec![
        timed(call("identity", "Verify", Some(3), (22, 61)), 1478),
        timed(call("cart", "GetCart", Some(4), (22, 96)), 1478),
        first,
        second,
        charge,
    ];
    hops[4].calls = vec![
        call("redis carts", "HGETALL", None, (30, 34)),
        timed(call("catalog", "GetItems", Some(5), (38, 90)), 1462),
    ];
    let mut select = call("postgresql stock", "SELECT", None, (440, 1240));
    select.verdict = Verdict::FinishedLate;
    hops[6].calls = vec![select];
    hops[7].calls = vec![call("postgresql stock", "SELECT", None, (990, 1452))];
    let mut insert = call("postgresql payments", "INSERT", None, (1672, 1702));
    insert.verdict = Verdict::ExpiredBeforeSend;
    hops[8].calls = vec![
        timed(call("fraud", "Score", Some(9), (1488, 1670)), 250),
        insert,
    ];
    for (id, verdict, wasted) in [
        (0, Verdict::ExceededDownstream, 4),
        (2, Verdict::ExceededDownstream, 0),
        (6, Verdict::FinishedLate, 310),
        (8, Verdict::ExpiredOnArrival, 204),
        (9, Verdict::FinishedLate, 168),
    ] {
        hops[id].verdict = verdict;
        hops[id].wasted = ms(wasted);
    }
    let (local, out, back) = (Part::Local, Part::TransitOut, Part::TransitBack);
    let stock = Some("postgresql stock");
    let mut request = request(
        hops,
        Some(1500),
        &[
            (0, local, None, 0, 2),
            (0, out, Some("limiter"), 2, 3),
            (1, local, None, 3, 5),
            (0, back, Some("limiter"), 5, 6),
            (0, local, None, 6, 8),
            (0, out, Some("checkout"), 8, 10),
            (2, local, None, 10, 22),
            (2, out, Some("cart"), 22, 24),
            (4, local, None, 24, 30),
            (4, Part::Dependency, Some("redis carts"), 30, 34),
            (4, local, None, 34, 38),
            (4, out, Some("catalog"), 38, 40),
            (5, local, None, 40, 88),
            (4, back, Some("catalog"), 88, 90),
            (4, local, None, 90, 94),
            (2, back, Some("cart"), 94, 96),
            (2, local, None, 96, 432),
            (2, out, Some("inventory"), 432, 434),
            (6, local, None, 434, 440),
            (6, Part::Dependency, stock, 440, 934),
            (2, Part::Backoff, Some("inventory"), 934, 982),
            (2, out, Some("inventory"), 982, 984),
            (7, local, None, 984, 990),
            (7, Part::Dependency, stock, 990, 1452),
            (7, local, None, 1452, 1459),
            (2, back, Some("inventory"), 1459, 1461),
            (2, local, None, 1461, 1481),
            (2, out, Some("payments"), 1481, 1483),
            (8, local, None, 1483, 1488),
            (8, out, Some("fraud"), 1488, 1490),
            (9, local, None, 1490, 1500),
            (0, local, None, 1500, 1504),
        ],
    );
    request.spans = 31;
    request.revision = 2;
    request.outcome = Outcome::Missed;
    request.surfaced = Some(Surfaced {
        service: "payments".into(),
        operation: "Charge".into(),
        verdict: Verdict::ExpiredOnArrival,
        hop: 8,
    });
    request.culprit = Some(Culprit {
        service: "inventory".into(),
        operation: "Reserve".into(),
        part: Part::Dependency,
        to: Some("postgresql stock".into()),
        consumed: ms(956),
        share: (ms(956), ms(1500)),
        typical: Some(ms(7)),
        excess: Some(ms(949)),
    });
    request.findings = vec![finding(Rule::BudgetReset, 8, "payments", Some("fraud"))];
    request
}
