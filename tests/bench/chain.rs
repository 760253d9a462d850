//! The traces that the benches of reads store.

use std::sync::Arc;

use dwindle::model::{
    Attributes, Kind, Resource, Span, SpanId, Text, Trace, TraceId, UnixNanos, Value,
};

/// 2026-10-07 00:00 UTC.
pub(crate) const DAY: u64 = 1_791_331_200_000_000_000;
/// Nanoseconds of an hour.
pub(crate) const HOUR: u64 = 3_600_000_000_000;
/// The requests lie in so many hours.
pub(crate) const HOURS: u64 = 24;

/// Ids that are spread as random ones are.
pub(crate) fn trace_id(n: usize) -> TraceId {
    let high = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = high.rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1;
    TraceId((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// A chain of four services with 7 spans and a deadline that some overrun.
pub(crate) fn chain(n: usize, of: usize) -> Trace {
    let id = trace_id(n);
    let seed = u64::from_be_bytes(id.0[..8].try_into().unwrap());
    let begin = DAY + (n as u64) * (HOURS * HOUR / of as u64) + seed % 1_000_000;
    let scale = 60 + seed % 50;
    let mut trace = Trace {
        id,
        ..Trace::default()
    };
    for i in 0..7_usize {
        let at = |ms: u64| UnixNanos(begin + 10_000 * scale * ms);
        let own = 2 * (seed >> (i * 4) & 15);
        let deadline = if i % 2 == 0 {
            ("deadline.timeout_ms", Value::Int(1000))
        } else {
            ("deadline.remaining_in_ms", Value::Int(900 - 100 * i as i64))
        };
        let mut attributes = vec![
            ("http.request.method", text("GET")),
            ("url.path", text("/orders/4711/positions")),
            ("http.response.status_code", Value::Int(200)),
        ];
        // A tenth has no deadline at all.
        if seed % 10 > 0 {
            attributes.push(deadline);
        }
        trace.spans.push(Span {
            trace_id: id,
            span_id: SpanId((seed ^ (i as u64 + 1)).to_be_bytes()),
            parent_id: i
                .checked_sub(1)
                .map(|parent| SpanId((seed ^ (parent as u64 + 1)).to_be_bytes())),
            name: Text::from(["GET /orders", "POST /orders"][(seed >> 40 & 1) as usize]),
            kind: if i % 2 == 0 {
                Kind::Client
            } else {
                Kind::Server
            },
            start: at(100 * i as u64),
            end: at(1300 - 10 * i as u64 + own),
            attributes: Attributes::from_iter(attributes),
            resource: resource(i / 2 + i % 2),
            ..Span::default()
        });
    }
    trace
}

fn text(text: &str) -> Value {
    Value::Str(text.into())
}

fn resource(service: usize) -> Arc<Resource> {
    let name = text(&format!("service-{service}"));
    Arc::new(Resource::new(Attributes::from_iter([(
        "service.name",
        name,
    )])))
}

/// A line of the process's status, in KiB.
pub(crate) fn memory(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
