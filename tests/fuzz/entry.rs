//! What is tried on hostile bytes, by `cargo fuzz` and by the ordinary tests alike.
//!
//! Nothing may panic; nothing may be lost without a count; what was read can be written and read
//! again; and what is kept is bounded by what came in.

use std::sync::LazyLock;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{Loaded, load_bytes};
use dwindle::model::{Attributes, Event, Kind, Span, SpanId, Text, Trace, TraceId, Value};
use dwindle::otlp::{
    Decoded, Limits, logs_from_json, logs_from_proto, metrics_count_from_json,
    metrics_count_from_proto, traces_from_json, traces_from_proto, traces_to_json, traces_to_proto,
};
use dwindle::query::filter::Filter;
use dwindle::store::parquet::SpanWriter;
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
    load(bytes);
}

/// A file of messages with lengths: the bytes come apart at `0xff 0x00` into messages, and each
/// gets the length that it has; the last one may get another.
pub fn messages(bytes: &[u8]) {
    let (length, bytes) = bytes.split_first_chunk::<4>().unwrap_or((&[0; 4], bytes));
    let mut file = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.windows(2).position(|two| two == [0xff, 0x00]) {
        let (message, behind) = rest.split_at(end);
        file.extend((message.len() as u32).to_be_bytes());
        file.extend(message);
        rest = &behind[2..];
    }
    file.extend(length);
    file.extend(rest);
    load(&file);
}

/// An archive with the bytes as they are in one member, and packed in an archive in another.
pub fn archive(bytes: &[u8]) {
    load(bytes);
    let mut header = [0; 512];
    header[..6].copy_from_slice(b"member");
    header[100..107].copy_from_slice(b"0000644");
    let size = format!("{:011o}", bytes.len());
    header[124..135].copy_from_slice(size.as_bytes());
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut file = header.to_vec();
    file.extend(bytes);
    file.resize(file.len().next_multiple_of(512) + 1024, 0);
    let loaded = load(&file);
    assert!(loaded.spans == 0 || loaded.problems.iter().all(|p| p.file.starts_with("fuzz")));
    // Cut anywhere it is still an archive.
    load(&file[..512 + bytes.len() / 2]);
}

/// Parquet: the bytes as a file, behind the magic that makes one of them, and as changes to a file
/// that Dwindle wrote. A changed file gives what was written, or nothing and a reason.
pub fn parquet(bytes: &[u8]) {
    load(&[b"PAR1", bytes, b"PAR1"].concat());
    if let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        // A footer of the length that the file says.
        let length = u32::from(u16::from_le_bytes(*length)).min(rest.len() as u32);
        load(&[b"PAR1", rest, &length.to_le_bytes(), b"PAR1"].concat());
    }
    let (trace, whole) = &*WRITTEN;
    let mut changed = whole.clone();
    for change in bytes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[place] ^= change[2];
    }
    if bytes.len() % 3 == 1 {
        changed.truncate(usize::from(bytes[bytes.len() - 1]) * changed.len() / 256);
    }
    let loaded = load(&changed);
    if loaded.spans > 0 {
        assert_eq!(&loaded.traces, std::slice::from_ref(trace));
        assert!(&changed == whole, "a change that nothing noticed");
    }
}

/// A trace, and the file that Dwindle writes of it.
static WRITTEN: LazyLock<(Trace, Vec<u8>)> = LazyLock::new(|| {
    let span = Span {
        trace_id: TraceId([7; 16]),
        span_id: SpanId([7; 8]),
        name: "root".into(),
        attributes: [("deadline.timeout", Value::Int(100))]
            .into_iter()
            .collect(),
        ..Span::default()
    };
    let trace = Trace {
        id: span.trace_id,
        spans: vec![span],
        logs: Vec::new(),
    };
    let mut writer = SpanWriter::new(Vec::new()).expect("memory takes all");
    writer.add(&trace, None).expect("memory takes all");
    let file = writer.finish().expect("memory takes all");
    (trace, file)
});

/// Jaeger's spans in the document that they come in.
pub fn jaeger(bytes: &[u8]) {
    load(bytes);
    within(
        br#"{"data":[{"traceID":"7","processes":{"p1":{"serviceName":"a"}},"spans":["#,
        bytes,
        b"]}]}",
    );
}

/// Zipkin's spans in the list that they come in.
pub fn zipkin(bytes: &[u8]) {
    load(bytes);
    within(
        br#"[{"traceId":"7","id":"1","localEndpoint":{"serviceName":"a"}},"#,
        bytes,
        b"]",
    );
    within(
        br#"[{"traceId":"7","id":"1","binaryAnnotations":[]},"#,
        bytes,
        b"]",
    );
}

/// Spans as SDKs dump them, one behind another.
pub fn sdk(bytes: &[u8]) {
    load(bytes);
    within(
        br#"{"Name":"a","SpanContext":{"TraceID":"7","SpanID":"1"},"SpanKind":1}"#,
        bytes,
        b"",
    );
    within(
        br#"{"name":"a","context":{"trace_id":"0x7","span_id":"0x1"},"parent_id":null,"start_time":"#,
        bytes,
        b"}",
    );
}

/// Values of deadlines: the bytes are the value of an attribute that carries one, and the text of
/// an error that may name one.
pub fn value(bytes: &[u8]) {
    let text = Text::from(String::from_utf8_lossy(bytes));
    for key in KEYS {
        for kind in [Kind::Server, Kind::Client] {
            said(key, Value::Str(text.clone()), kind);
        }
    }
    if let Ok(number) = text.trim().parse::<i64>() {
        for key in KEYS {
            said(key, Value::Int(number), Kind::Server);
        }
    }
    if let Some(bytes) = bytes.first_chunk::<8>() {
        for key in KEYS {
            said(key, Value::Double(f64::from_le_bytes(*bytes)), Kind::Client);
            said(key, Value::Int(i64::from_le_bytes(*bytes)), Kind::Client);
        }
    }
}

/// Attributes that carry a deadline, one of each grammar at least.
const KEYS: [&str; 12] = [
    "deadline.remaining_in_ms",
    "deadline.timeout",
    "deadline.absolute",
    "rpc.request.metadata.grpc-timeout",
    "rpc.grpc.request.metadata.grpc_timeout",
    "http.request.header.x-deadline",
    "http.request.header.x-envoy-expected-rq-timeout-ms",
    "http.request.header.connect-timeout-ms",
    "http.request.header.request-timeout",
    "http.request.resend_count",
    "deadline.outcome",
    "error.type",
];

fn said(key: &str, value: Value, kind: Kind) {
    let text = match &value {
        Value::Str(text) => text.clone(),
        _ => Text::default(),
    };
    let id = |last: u8| SpanId([0, 0, 0, 0, 0, 0, 0, last]);
    let mut root = Span {
        trace_id: TraceId([7; 16]),
        span_id: id(1),
        kind: Kind::Server,
        name: "root".into(),
        ..Span::default()
    };
    root.end.0 = 2_000_000_000;
    let mut child = Span {
        span_id: id(2),
        parent_id: Some(id(1)),
        kind,
        attributes: [(key, value)].into_iter().collect(),
        events: vec![Event {
            name: "exception".into(),
            attributes: [
                ("exception.type", Value::Str("TimeoutError".into())),
                ("exception.message", Value::Str(text.clone())),
            ]
            .into_iter()
            .collect::<Attributes>(),
            ..Event::default()
        }],
        ..root.clone()
    };
    child.status.message = text;
    let trace = Trace {
        id: root.trace_id,
        spans: vec![root, child],
        logs: Vec::new(),
    };
    let analysis = analyse(&trace, &Policy::default(), &Typical::default());
    assert!(!analysis.requests.is_empty());
    for request in &analysis.requests {
        let ledger: i64 = request.ledger.iter().map(|row| row.time.0).sum();
        assert_eq!(ledger, request.elapsed.0, "{key}");
    }
}

/// A filter: what is read prints as what reads the same; what is not, says where.
pub fn filter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Filter::parse(&text) {
        Ok(filter) => {
            let printed = filter.to_string();
            assert_eq!(Filter::parse(&printed).as_ref(), Ok(&filter), "{printed}");
        }
        Err(error) => {
            assert!(!error.message.is_empty());
            let (before, fault, after) = error.parts(&text);
            assert_eq!([before, fault, after].concat(), text);
        }
    }
}

fn within(before: &[u8], bytes: &[u8], after: &[u8]) {
    load(&[before, bytes, after].concat());
}

fn load(bytes: &[u8]) -> Loaded {
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
        again(&trace.spans);
    }
    let said = !loaded.problems.is_empty() || !loaded.skipped.is_empty();
    assert!(said || spans > 0, "nothing read and nothing said");
    assert!(
        loaded
            .problems
            .iter()
            .all(|problem| !problem.reason.is_empty())
    );
    loaded
}

fn whole(decoded: &Decoded, bytes: usize) {
    let kept = (decoded.spans.len() + decoded.logs.len()) as u64;
    assert_eq!(decoded.received, kept + decoded.rejected_total());
    assert_eq!(decoded.first_error.is_some(), decoded.rejected_total() > 0);
    assert!(decoded.received <= bytes as u64, "more spans than bytes");
    again(&decoded.spans);
}

/// What is written is read as it was.
fn again(spans: &[Span]) {
    let limits = Limits {
        max_message_bytes: usize::MAX,
        ..Limits::default()
    };
    let json = traces_from_json(traces_to_json(spans).as_bytes(), &limits);
    let proto = traces_from_proto(&traces_to_proto(spans).encode_to_vec(), &limits);
    // As text, because NaN is not equal to itself.
    let expected = format!("{spans:?}");
    for again in [json, proto] {
        let again = again.map(|again| format!("{:?}", again.spans));
        assert_eq!(again.as_deref(), Ok(expected.as_str()));
    }
}
