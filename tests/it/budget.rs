//! The laws of the analysis, over traces that nobody would send: skewed, retried, orphaned,
//! duplicated, cyclic, late, in any order.

use std::sync::Arc;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{
    Analysis, Attributes, Event, Hop, Kind, Link, Nanos, Part, Request, Resource, Scope, Span,
    SpanId, SpanLog, Status, StatusCode, Trace, TraceId, UnixNanos, Value,
};
use proptest::prelude::*;

use crate::spans::START;

const MS: u64 = 1_000_000;

fn analysed(trace: &Trace) -> Analysis {
    analyse(trace, &Policy::default(), &Typical::default())
}

fn json(analysis: &Analysis) -> String {
    analysis
        .requests
        .iter()
        .map(|request| serde_json::to_string(request).unwrap() + "\n")
        .collect()
}

/// What a span is made from; shrinks well.
#[derive(Debug, Clone)]
struct Plan {
    parent: u8,
    kind: u8,
    service: u8,
    /// After its parent's start, in ms; may lie before it.
    start: i16,
    length: u16,
    what: u8,
    budget: Option<i16>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let budget = prop::option::of(-50_i16..2000);
    (
        any::<u8>(),
        0_u8..12,
        0_u8..4,
        -20_i16..200,
        0_u16..600,
        any::<u8>(),
        budget,
    )
        .prop_map(
            |(parent, kind, service, start, length, what, budget)| Plan {
                parent,
                kind,
                service,
                start,
                length,
                what,
                budget,
            },
        )
}

fn text(s: &str) -> Value {
    Value::Str(s.into())
}

fn id(n: usize) -> SpanId {
    SpanId((n as u64 + 1).to_be_bytes())
}

/// A trace from plans. Most spans hang below an earlier one, some below none, a missing one, a
/// later one (which makes cycles) or themselves.
fn build(plans: &[Plan]) -> Trace {
    let mut starts: Vec<u64> = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for (i, plan) in plans.iter().enumerate() {
        let near = i.checked_sub(1 + usize::from(plan.parent) % 4);
        let parent = match plan.parent {
            _ if i == 0 => None,
            250.. => None,
            245..250 => Some(SpanId([0xee; 8])),
            242..245 => Some(id((i + 1) % plans.len())),
            240..242 => Some(id(i)),
            _ => near.map(id),
        };
        let base = near.map_or(START + 1000 * MS, |near| starts[near]);
        let start = base.saturating_add_signed(i64::from(plan.start) * MS as i64);
        starts.push(start);
        let mut span = crate::spans::span(1, i as u64 + 1, None);
        span.parent_id = parent;
        span.kind = match plan.kind {
            0..5 => Kind::Server,
            5..9 => Kind::Client,
            9 => Kind::Internal,
            10 => Kind::Producer,
            _ => Kind::Consumer,
        };
        span.start = UnixNanos(start);
        let length = u64::from(plan.length) * MS;
        let negative = plan.what == 255;
        span.end = UnixNanos(if negative {
            start - 5 * MS
        } else {
            start + length
        });
        let mut attributes = vec![(
            "service.name",
            text(["a", "b", "c", "d"][usize::from(plan.service)]),
        )];
        // Hosts whose clocks are off by hundreds of milliseconds.
        if plan.service >= 2 {
            attributes.push(("host.name", text("far")));
            let shift = 300 * MS * u64::from(plan.service);
            span.start.0 += shift;
            span.end.0 += shift;
        }
        span.resource = Arc::new(Resource::new(Attributes::from_iter(attributes)));
        span.name = ["Get", "Put"][usize::from(plan.what & 1)].into();
        decorate(&mut span, plan);
        spans.push(span);
    }
    Trace {
        id: TraceId([7; 16]),
        spans,
        logs: vec![],
    }
}

fn decorate(span: &mut Span, plan: &Plan) {
    let mut attributes: Vec<(&str, Value)> = Vec::new();
    match plan.what >> 4 {
        0 => attributes.push(("rpc.grpc.status_code", Value::Int(4))),
        1 => attributes.push(("error.type", text("timeout"))),
        2 => attributes.push(("rpc.grpc.status_code", Value::Int(1))),
        3 => attributes.push(("http.response.status_code", Value::Int(503))),
        4 => attributes.push(("db.system.name", text("postgresql"))),
        5 => attributes.push(("http.request.method", text("POST"))),
        6 => attributes.push(("deadline.outcome", text("exceeded_here"))),
        7 => attributes.push(("http.request.resend_count", Value::Int(1))),
        8 => {
            span.status = Status {
                code: StatusCode::Error,
                message: "".into(),
            }
        }
        9 => attributes.push(("deadline.queue_ms", Value::Int(50))),
        _ => {}
    }
    if let Some(budget) = plan.budget {
        let key = match (span.kind, plan.what & 6) {
            (Kind::Client, 0 | 2) => "deadline.timeout_ms",
            (Kind::Client, _) => "deadline.remaining_out_ms",
            (_, 0) => "http.request.header.x-request-budget-ms",
            (_, 2) => "deadline.local_ms",
            _ => "deadline.remaining_in_ms",
        };
        attributes.push((key, Value::Int(i64::from(budget))));
    }
    span.attributes = Attributes::from_iter(attributes);
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    prop::collection::vec(plan(), 1..40)
}

fn check_ledger(request: &Request) {
    let total: Nanos = request.ledger.iter().map(|row| row.time).sum();
    assert_eq!(total, request.elapsed, "rows sum to the elapsed time");
    assert!(
        request
            .ledger
            .iter()
            .all(|row| row.time > Nanos::ZERO && row.after_deadline >= Nanos::ZERO)
    );
    if let Some(budget) = request.budget.map(Nanos::at_least_zero) {
        let before: Nanos = request
            .ledger
            .iter()
            .map(|row| row.time - row.after_deadline)
            .sum();
        assert_eq!(
            before,
            budget.min(request.elapsed),
            "rows before the deadline"
        );
    }
    // The path tiles the request without gap or overlap, and each stretch lies in its hop.
    let mut cursor = Nanos::ZERO;
    for segment in &request.path {
        assert_eq!(segment.start, cursor);
        assert!(segment.end > segment.start);
        cursor = segment.end;
        let hop = &request.hops[segment.hop];
        assert!(
            segment.start >= hop.start && segment.end <= hop.start + hop.elapsed,
            "{segment:?} lies in hop {} at {:?} for {:?}",
            hop.id,
            hop.start,
            hop.elapsed
        );
        assert_eq!(segment.to.is_none(), segment.part == Part::Local);
    }
    assert_eq!(cursor, request.elapsed);
}

fn check_hops(request: &Request) {
    let wasted: Nanos = request.hops.iter().map(|hop| hop.wasted).sum();
    assert_eq!(wasted, request.wasted);
    assert_eq!(
        request.spans,
        request
            .hops
            .iter()
            .map(|hop| hop.spans.len())
            .sum::<usize>()
    );
    for hop in &request.hops {
        assert!(hop.wasted >= Nanos::ZERO && hop.wasted <= hop.elapsed);
        assert!(hop.local_computed >= Nanos::ZERO && hop.local_computed <= hop.elapsed);
        match hop.parent {
            None => assert_eq!((hop.id, hop.depth), (0, 0)),
            Some(parent) => {
                assert!(parent < hop.id);
                assert_eq!(hop.depth, request.hops[parent].depth + 1);
                let calls = request.hops[parent]
                    .calls
                    .iter()
                    .filter(|call| call.hop == Some(hop.id));
                assert_eq!(calls.count(), 1, "each hop answers one call");
            }
        }
        if let (Some(effective), Some(own)) = (hop.deadline, hop.own_deadline) {
            assert!(effective <= own, "the earliest deadline binds");
        }
    }
}

/// The path again, from the request's own hops and calls, by the words of the definition: quadratic,
/// recursive, and with nothing clever in it.
fn slow_path(request: &Request) -> Vec<(usize, Part, i64, i64)> {
    let mut out = Vec::new();
    let root = &request.hops[0];
    slow_hop(request, root, 0, root.elapsed.0, &mut out);
    out.retain(|(.., start, end)| start < end);
    out.sort_by_key(|(.., start, _)| *start);
    let mut merged: Vec<(usize, Part, i64, i64)> = Vec::new();
    for next in out {
        match merged.last_mut() {
            Some(last) if (last.0, last.1) == (next.0, next.1) && last.3 == next.2 => {
                last.3 = next.3;
            }
            _ => merged.push(next),
        }
    }
    merged
}

fn slow_hop(
    request: &Request,
    hop: &Hop,
    low: i64,
    high: i64,
    out: &mut Vec<(usize, Part, i64, i64)>,
) {
    let mut cursor = high;
    loop {
        let waited = hop
            .calls
            .iter()
            .filter(|call| call.waited && call.elapsed > Nanos::ZERO);
        let began =
            waited.filter(|call| call.start.0 < cursor && (call.start + call.elapsed).0 > low);
        // Ends last, taken up to the cursor; then the later real end, the earlier start, the smaller id.
        let best = began.max_by_key(|call| {
            let end = (call.start + call.elapsed).0;
            (
                end.min(cursor),
                end,
                -call.start.0,
                std::cmp::Reverse(call.span_id),
            )
        });
        let Some(call) = best.filter(|_| cursor > low) else {
            break;
        };
        let end = (call.start + call.elapsed).0.min(cursor);
        out.push((hop.id, Part::Local, end, cursor));
        let start = call.start.0.max(low);
        match call.hop.filter(|callee| *callee != hop.id) {
            None => out.push((hop.id, Part::Dependency, start, end)),
            Some(callee) => {
                let callee = &request.hops[callee];
                let (from, to) = (
                    callee.start.0.max(start),
                    (callee.start + callee.elapsed).0.min(end),
                );
                if from < to {
                    out.push((hop.id, Part::TransitOut, start, from));
                    slow_hop(request, callee, from, to, out);
                    out.push((hop.id, Part::TransitBack, to, end));
                } else {
                    out.push((hop.id, Part::TransitOut, start, end));
                }
            }
        }
        cursor = start;
    }
    if cursor > low {
        out.push((hop.id, Part::Local, low, cursor));
    }
}

/// The path as found, with what the slow one does not tell apart made one.
fn plain_path(request: &Request) -> Vec<(usize, Part, i64, i64)> {
    let mut merged: Vec<(usize, Part, i64, i64)> = Vec::new();
    for segment in &request.path {
        let part = match segment.part {
            Part::Unreported => Part::Dependency,
            Part::Backoff => Part::Local,
            part => part,
        };
        let next = (segment.hop, part, segment.start.0, segment.end.0);
        match merged.last_mut() {
            Some(last) if (last.0, last.1) == (next.0, next.1) && last.3 == next.2 => {
                last.3 = next.3;
            }
            _ => merged.push(next),
        }
    }
    merged
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn every_nanosecond_has_one_owner(plans in plans()) {
        for request in analysed(&build(&plans)).requests {
            check_ledger(&request);
            check_hops(&request);
        }
    }

    #[test]
    fn any_order_of_the_same_spans_gives_the_same_bytes(
        (plans, order) in plans().prop_flat_map(|plans| {
            let indices: Vec<usize> = (0..plans.len()).collect();
            (Just(plans), Just(indices).prop_shuffle())
        }),
        copies in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut trace = build(&plans);
        for copy in &copies {
            let copy = trace.spans[copy.index(plans.len())].clone();
            trace.spans.push(copy);
        }
        let mut shuffled = trace.clone();
        shuffled.spans = order.iter().map(|&i| trace.spans[i].clone()).collect();
        shuffled.spans.extend(trace.spans[plans.len()..].iter().cloned());
        shuffled.spans.rotate_left(order[0]);
        prop_assert_eq!(json(&analysed(&trace)), json(&analysed(&shuffled)));
    }

    #[test]
    fn the_path_is_what_its_definition_says(plans in plans()) {
        // Nested CLIENT spans and several callees of one call do not show in the result: leave
        // them out by giving no CLIENT span a CLIENT or a second child.
        let mut plans = plans;
        for plan in &mut plans {
            plan.parent %= 240;
        }
        let mut trace = build(&plans);
        let mut taken = std::collections::BTreeSet::new();
        for i in 0..trace.spans.len() {
            let Some(parent) = trace.spans[i].parent_id else { continue };
            let above = u64::from_be_bytes(parent.0) as usize - 1;
            let below_call = trace.spans[above].kind == Kind::Client;
            if below_call && (trace.spans[i].kind != Kind::Server || !taken.insert(above)) {
                trace.spans[i].parent_id = None;
            }
            if trace.spans[i].kind == Kind::Internal {
                trace.spans[i].kind = Kind::Server;
            }
        }
        for request in analysed(&trace).requests {
            prop_assert_eq!(plain_path(&request), slow_path(&request));
        }
    }

    #[test]
    fn spans_outside_a_request_change_nothing_in_it(plans in plans(), more in plans()) {
        let trace = build(&plans);
        let before = analysed(&trace);
        let mut both = trace.clone();
        for (i, span) in build(&more).spans.into_iter().enumerate() {
            // Other services on other hosts, other ids, no parents.
            let name = text(&format!("other-{i}"));
            let resource = Arc::new(Resource::new(Attributes::from_iter([("service.name", name)])));
            let span_id = SpanId((5000 + i as u64).to_be_bytes());
            both.spans.push(Span { span_id, parent_id: None, resource, ..span });
        }
        let after = analysed(&both);
        for request in &before.requests {
            let same = after.requests.iter().find(|other| other.request == request.request).unwrap();
            let mut same = same.clone();
            // The trace's notes count all of its spans, and indices of spans are the trace's.
            same.notes.clone_from(&request.notes);
            prop_assert_eq!(&same, request);
        }
    }

    #[test]
    fn arbitrary_values_never_panic(
        plans in plans(),
        values in prop::collection::vec((any::<i64>(), any::<f64>(), ".{0,12}", any::<u64>(), any::<u64>()), 1..20),
    ) {
        let keys = [
            "deadline.remaining_in_ms", "deadline.timeout_ms", "deadline.outcome", "grpc.timeout",
            "http.request.header.x-deadline", "http.request.resend_count", "http.response.status_code",
            "db.system", "error.type", "deadline.local_ms", "rpc.grpc.status_code",
        ];
        let mut trace = build(&plans);
        for (i, (int, double, string, start, end)) in values.iter().enumerate() {
            let at = i % trace.spans.len();
            let span = &mut trace.spans[at];
            let value = match i % 4 {
                0 => Value::Int(*int),
                1 => Value::Double(*double),
                2 => Value::Array(vec![text(string), Value::Array(vec![Value::Int(*int)]), Value::Empty]),
                _ => text(string),
            };
            span.attributes.0.push((keys[i % keys.len()].into(), value.clone()));
            span.events.push(Event {
                name: "exception".into(),
                attributes: Attributes::from_iter([("exception.message", value)]),
                ..Event::default()
            });
            (span.start, span.end) = (UnixNanos(*start), UnixNanos(*end));
            let (trace_id, span_id) = (span.trace_id, id((i * 7) % plans.len()));
            span.links.push(Link { trace_id, span_id, ..Link::default() });
            let attributes = span.attributes.clone();
            let body = string.as_str().into();
            trace.logs.push(SpanLog { trace_id, span_id, time: UnixNanos(*start), attributes, body });
        }
        for request in analysed(&trace).requests {
            // Times at the ends of the clock saturate; what is left of the laws is that numbers are sane.
            prop_assert!(request.ledger.iter().all(|row| row.time >= Nanos::ZERO));
            prop_assert!(request.elapsed >= Nanos::ZERO);
        }
    }
}

/// A chain of `depth` hops, each with a CLIENT span, or as many calls of one root.
fn large(spans: usize, deep: bool) -> Trace {
    let mut trace = Trace {
        id: TraceId([7; 16]),
        spans: Vec::with_capacity(spans),
        logs: vec![],
    };
    let services: Vec<Arc<Resource>> = (0..50)
        .map(|i| {
            let name = text(&format!("service-{i}"));
            Arc::new(Resource::new(Attributes::from_iter([(
                "service.name",
                name,
            )])))
        })
        .collect();
    for i in 0..spans {
        let parent = match (i, deep) {
            (0, _) => None,
            (_, true) => Some(i as u64),
            (_, false) if i % 2 == 0 => Some(i as u64),
            (_, false) => Some(1),
        };
        let mut span = crate::spans::span(7, i as u64 + 1, parent);
        span.trace_id = TraceId([7; 16]);
        span.scope = Arc::new(Scope::default());
        span.kind = if i % 2 == 0 {
            Kind::Server
        } else {
            Kind::Client
        };
        let owner = if deep {
            i / 2
        } else if i % 2 == 1 || i == 0 {
            0
        } else {
            1 + i / 2 % 49
        };
        span.resource = services[owner % 50].clone();
        span.start = UnixNanos(START + 1000 * i as u64);
        span.end = UnixNanos(START + 1000 * (if deep { 2 * spans - i } else { i + 900 }) as u64);
        if i == 0 {
            span.end = UnixNanos(START + 1000 * 2 * spans as u64);
            span.attributes =
                Attributes::from_iter([("deadline.remaining_in_ms", Value::Int(100))]);
        }
        trace.spans.push(span);
    }
    trace
}

/// Reports 73 (depth) and 83 (no silent cap).
#[test]
fn a_trace_of_a_hundred_thousand_spans_is_analysed_deep_or_flat() {
    for (spans, deep) in [(100_000, false), (40_000, true)] {
        let analysis = analysed(&large(spans, deep));
        let [request] = &analysis.requests[..] else {
            panic!("one request")
        };
        assert_eq!((request.spans, request.hops.len()), (spans, spans / 2));
        let deepest = request.hops.iter().map(|hop| hop.depth).max();
        assert_eq!(deepest, Some(if deep { spans / 2 - 1 } else { 1 }));
        check_ledger(request);
        check_hops_cheaply(request);
    }
}

fn check_hops_cheaply(request: &Request) {
    let wasted: Nanos = request.hops.iter().map(|hop| hop.wasted).sum();
    assert_eq!(wasted, request.wasted);
    assert!(
        request
            .hops
            .iter()
            .all(|hop| hop.parent.is_none_or(|parent| parent < hop.id))
    );
}
