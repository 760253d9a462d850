//! What summaries cut, and what they do with times that cannot be.

use super::*;
use crate::budget::{Policy, Typical, analyse};
use crate::model::{Request, Span, SpanId, Text, Trace, UnixNanos};

fn request() -> Request {
    let span = Span {
        span_id: SpanId([1; 8]),
        start: UnixNanos(MINUTE),
        end: UnixNanos(2 * MINUTE),
        ..Span::default()
    };
    let trace = Trace {
        id: TraceId([1; 16]),
        spans: vec![span],
        logs: Vec::new(),
    };
    let mut analysis = analyse(&trace, &Policy::default(), &Typical::default());
    analysis.requests.remove(0)
}

fn with_operation(operation: &str, number: u64) -> Request {
    let mut request = request();
    request.trace_id.0[..8].copy_from_slice(&number.to_be_bytes());
    request.operation = Text::from(operation);
    request.hops[0].operation = Text::from(operation);
    request
}

fn sums(rollup: &Rollup, within: &Minutes) -> Sums {
    let mut sums = Sums::default();
    rollup.add_to(&mut sums, within, &Wanted::all());
    sums
}

#[test]
fn of_a_hundred_thousand_operations_few_are_kept_and_all_are_counted() {
    let bomb = (0..100_000).map(|n| with_operation(&format!("GET /orders/{n}"), n));
    let often = (0..50).map(|n| with_operation("GET /cart", 200_000 + n));
    let requests: Vec<Request> = bomb.chain(often).collect();
    let rollup = Rollup::of(requests.iter());
    let whole = sums(&rollup, &group::ALL);
    assert!(whole.hops.len() <= MOST_GROUPS, "{}", whole.hops.len());
    let runs = |sums: &Sums| sums.hops.values().map(|hop| hop.runs).sum::<u64>();
    assert_eq!((runs(&whole), whole.all().all), (100_050, 100_050));
    let service = requests[0].hops[0].service.clone();
    assert_eq!(whole.hops[&[service.clone(), "GET /cart".into()]].runs, 50);
    let other = &whole.hops[&[service, Text::from(OTHER)]];
    assert_eq!(other.runs + whole.hops.len() as u64 - 2 + 50, 100_050);
    assert_eq!(whole.folded + whole.hops.len() as u64 - 1, 100_001);
    // The same a second time: a sum over many parts is bounded as well.
    let mut twice = whole.clone();
    twice.merge(&whole);
    assert_eq!(runs(&twice), 200_100);
    let bytes = postcard::to_stdvec(&rollup).unwrap().len();
    assert!(bytes < 1 << 20, "{bytes}");
}

#[test]
fn long_names_do_not_fill_a_summary() {
    let long = (0..400).map(|n| with_operation(&format!("{n}{}", "x".repeat(10_000)), n));
    let requests: Vec<Request> = long.collect();
    let rollup = Rollup::of(requests.iter());
    let runs = |sums: &Sums| sums.hops.values().map(|hop| hop.runs).sum::<u64>();
    assert_eq!(runs(&sums(&rollup, &group::ALL)), 400);
    let bytes = postcard::to_stdvec(&rollup).unwrap().len();
    assert!(bytes < 2 << 20, "{bytes}");
}

#[test]
fn times_that_cannot_be_have_a_minute() {
    let starts = [0, 1, MINUTE, i64::MAX as u64, u64::MAX];
    let requests = starts.map(|start| Request {
        start: UnixNanos(start),
        trace_id: TraceId(u128::from(start).to_be_bytes()),
        ..request()
    });
    let rollup = Rollup::of(requests.iter());
    assert_eq!(sums(&rollup, &group::ALL).all().all, 5);
    assert_eq!(sums(&rollup, &(0..1)).all().all, 2);
    assert_eq!(sums(&rollup, &(1..u64::MAX)).all().all, 3);
    assert_eq!(sums(&rollup, &(2..3)), Sums::default());
}

#[test]
fn whatever_byte_of_a_file_changes_is_found() {
    use std::io::Write as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.sum");
    let rollup = Rollup::of([request()].iter());
    rollup.save(&path).unwrap();
    let read = Rollup::load(&path).unwrap().unwrap();
    assert_eq!(sums(&read, &group::ALL), sums(&rollup, &group::ALL));
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&bytes).unwrap();
        assert!(Rollup::load(&path).is_err(), "{at}");
    }
}
