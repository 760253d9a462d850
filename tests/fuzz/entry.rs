//! What is tried on hostile bytes, by `cargo fuzz` and by the ordinary tests alike.
//!
//! Nothing may panic; nothing may be lost without a count; what was read can be written and read
//! again; and what is kept is bounded by what came in.

use dwindle::files::load_bytes;
use dwindle::otlp::{
    Decoded, Limits, logs_from_json, logs_from_proto, metrics_count_from_json,
    metrics_count_from_proto, traces_from_json, traces_from_proto, traces_to_json, traces_to_proto,
};
use prost::Message;

/// OTLP/JSON, any signal.
pub fn json(bytes: &[u8]) {
    let limits = Limits::default();
    if let Ok(decoded) = traces_from_json(bytes, &limits) {
        whole(&decoded, bytes.len());
    }
    if let Ok(decoded) = logs_from_json(bytes, &limits) {
        whole(&decoded, bytes.len());
    }
    if let Ok(points) = metrics_count_from_json(bytes, &limits) {
        assert!(points <= bytes.len() as u64, "more points than bytes");
    }
}

/// OTLP protobuf, any signal.
pub fn proto(bytes: &[u8]) {
    let limits = Limits::default();
    if let Ok(decoded) = traces_from_proto(bytes, &limits) {
        whole(&decoded, bytes.len());
    }
    if let Ok(decoded) = logs_from_proto(bytes, &limits) {
        whole(&decoded, bytes.len());
    }
    if let Ok(points) = metrics_count_from_proto(bytes, &limits) {
        assert!(points <= bytes.len() as u64, "more points than bytes");
    }
}

/// A file of any kind, compressed or not.
pub fn file(bytes: &[u8]) {
    let limits = Limits {
        max_inflated_bytes: 4 << 20,
        max_document_bytes: 4 << 20,
        ..Limits::default()
    };
    let loaded = load_bytes("fuzz", bytes, &limits);
    let spans: usize = loaded.traces.iter().map(|trace| trace.spans.len()).sum();
    assert_eq!(loaded.spans, spans as u64);
    for trace in &loaded.traces {
        assert!(!trace.id.is_zero() && !trace.spans.is_empty());
        assert!(trace.spans.iter().all(|span| span.trace_id == trace.id));
        assert!(trace.logs.iter().all(|log| log.trace_id == trace.id));
    }
    let said = !loaded.problems.is_empty() || !loaded.skipped.is_empty();
    assert!(said || spans > 0, "nothing read and nothing said");
    assert!(
        loaded
            .problems
            .iter()
            .all(|problem| !problem.reason.is_empty())
    );
}

fn whole(decoded: &Decoded, bytes: usize) {
    let kept = (decoded.spans.len() + decoded.logs.len()) as u64;
    assert_eq!(decoded.received, kept + decoded.rejected_total());
    assert_eq!(decoded.first_error.is_some(), decoded.rejected_total() > 0);
    assert!(decoded.received <= bytes as u64, "more spans than bytes");
    let limits = Limits {
        max_message_bytes: usize::MAX,
        ..Limits::default()
    };
    let json = traces_from_json(traces_to_json(&decoded.spans).as_bytes(), &limits);
    let proto = traces_from_proto(&traces_to_proto(&decoded.spans).encode_to_vec(), &limits);
    // As text, because NaN is not equal to itself.
    let expected = format!("{:?}", decoded.spans);
    for again in [json, proto] {
        let again = again.map(|again| format!("{:?}", again.spans));
        assert_eq!(again.as_deref(), Ok(expected.as_str()));
    }
}
