//! What the receivers answer: the OTLP specification as a table.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use dwindle::budget::Policy;
use dwindle::ingest::{Config as Assembly, Durable, Ingest, Pace, Setup, log};
use dwindle::model::Nanos;
use dwindle::otlp::{Limits, traces_to_json, traces_to_proto};
use dwindle::receive::{Config, Connections, Receiver, serve};
use dwindle::store::Store;
use dwindle::telemetry::Telemetry;
use http_body_util::BodyExt as _;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse, logs_service_client::LogsServiceClient,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    metrics_service_client::MetricsServiceClient,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse, trace_service_client::TraceServiceClient,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric::Data,
};
use proptest::prelude::*;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::codec::CompressionEncoding;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use tower::ServiceExt as _;

use crate::durable::eventually;
use crate::spans::span;

const PROTO: &str = "application/x-protobuf";
const JSON: &str = "application/json";
const CAP: usize = 64 << 10;

/// A receiver whose clock stands still, so that nothing is sealed; at most `spans` fit in.
fn receiver_of(spans: usize, change: impl FnOnce(&mut Config)) -> (Arc<Receiver>, Arc<Ingest>) {
    receiver_on(spans, change, None)
}

fn receiver_on(
    spans: usize,
    change: impl FnOnce(&mut Config),
    log: Option<Durable>,
) -> (Arc<Receiver>, Arc<Ingest>) {
    let assembly = Assembly {
        max_spans: spans,
        ..Assembly::default()
    };
    let store = Arc::new(Store::in_memory(100, usize::MAX));
    let telemetry = Arc::new(Telemetry::new());
    let ingest = Ingest::start(Setup {
        config: assembly,
        policy: Policy::default(),
        store,
        telemetry,
        clock: || Nanos::ZERO,
        analyse: dwindle::budget::analyse,
        threads: 1,
        log,
    });
    let ingest = Arc::new(ingest.unwrap());
    let mut config = Config {
        limits: Limits {
            max_message_bytes: CAP,
            ..Limits::default()
        },
        max_inflight_bytes: 1 << 20,
        body_timeout: Duration::from_secs(20),
        threads: 2,
        cors_origins: Vec::new(),
    };
    change(&mut config);
    (Receiver::new(Arc::clone(&ingest), config), ingest)
}

fn receiver() -> (Arc<Receiver>, Arc<Ingest>) {
    receiver_of(1_000_000, |_| {})
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body of a failure: its code and message, in whichever encoding it came.
    fn problem(&self) -> (i32, String) {
        match self.header("content-type") {
            JSON => {
                let json = self.json();
                let code = json["code"].as_i64().unwrap();
                (code as i32, json["message"].as_str().unwrap().to_owned())
            }
            PROTO => {
                let status = tonic_types::Status::decode(self.body.clone()).unwrap();
                (status.code, status.message)
            }
            other => panic!("{other}"),
        }
    }
}

async fn send(receiver: &Arc<Receiver>, request: Request<Body>) -> Answer {
    let response = receiver.http().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

async fn post(
    receiver: &Arc<Receiver>,
    path: &str,
    kind: &str,
    encoding: &str,
    body: impl Into<Body>,
) -> Answer {
    let mut request = Request::post(path).header("content-type", kind);
    if !encoding.is_empty() {
        request = request.header("content-encoding", encoding);
    }
    send(receiver, request.body(body.into()).unwrap()).await
}

type Pack = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Two good spans.
fn request() -> ExportTraceServiceRequest {
    traces_to_proto(&[span(1, 1, None), span(1, 2, Some(1))])
}

/// Two good spans, and one without an id between them.
fn request_with_a_bad_span() -> ExportTraceServiceRequest {
    let mut request = traces_to_proto(&[span(1, 1, None), span(1, 2, None), span(1, 3, None)]);
    request.resource_spans[0].scope_spans[0].spans[1].span_id = Vec::new();
    request
}

fn logs() -> ExportLogsServiceRequest {
    let budget = KeyValue {
        key: "deadline.remaining_in_ms".into(),
        value: Some(AnyValue {
            value: Some(any_value::Value::IntValue(400)),
        }),
        ..KeyValue::default()
    };
    let good = LogRecord {
        trace_id: vec![7; 16],
        span_id: vec![7; 8],
        attributes: vec![budget],
        ..LogRecord::default()
    };
    let lonely = LogRecord {
        trace_id: Vec::new(),
        ..good.clone()
    };
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs: vec![ScopeLogs {
                log_records: vec![lonely.clone(), good, lonely],
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    }
}

fn metrics() -> ExportMetricsServiceRequest {
    let gauge = Gauge {
        data_points: vec![NumberDataPoint::default(); 3],
    };
    let metric = Metric {
        name: "queue".into(),
        data: Some(Data::Gauge(gauge)),
        ..Metric::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![ScopeMetrics {
                metrics: vec![metric],
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

#[tokio::test]
async fn good_exports_are_answered_in_their_encoding_with_nothing_to_report() {
    let proto = request().encode_to_vec();
    let json = traces_to_json(&[span(1, 1, None), span(1, 2, Some(1))]).into_bytes();
    let identity: Pack = <[u8]>::to_vec;
    let packings: [(&str, Pack); 5] = [
        ("", identity),
        ("identity", identity),
        ("gzip", gzip),
        ("GZip", gzip),
        ("zstd", zstd),
    ];
    let kinds = [
        (PROTO, &proto, PROTO),
        ("Application/X-Protobuf; v=1", &proto, PROTO),
        (JSON, &json, JSON),
        ("APPLICATION/JSON; charset=utf-8", &json, JSON),
    ];
    let (receiver, ingest) = receiver();
    let mut sent = 0;
    for (encoding, pack) in packings {
        for (kind, body, answered) in kinds {
            let answer = post(&receiver, "/v1/traces", kind, encoding, pack(body)).await;
            assert_eq!(answer.status, StatusCode::OK, "{kind} {encoding}");
            assert_eq!(answer.header("content-type"), answered);
            match answered {
                JSON => assert_eq!(answer.body, "{}"),
                _ => assert_eq!(answer.body, ""),
            }
            sent += 2;
        }
    }
    assert_eq!(ingest.account().open, sent);
}

#[tokio::test]
async fn empty_exports_succeed() {
    let (receiver, _ingest) = receiver();
    for path in ["/v1/traces", "/v1/logs", "/v1/metrics"] {
        for (kind, body) in [(PROTO, ""), (JSON, "{}")] {
            let answer = post(&receiver, path, kind, "", body).await;
            assert_eq!(answer.status, StatusCode::OK, "{path} {kind}");
            assert_eq!(answer.body, if kind == JSON { "{}" } else { "" });
        }
    }
}

#[tokio::test]
async fn one_bad_span_costs_itself_alone_and_is_told() {
    let (receiver, ingest) = receiver();
    let body = request_with_a_bad_span().encode_to_vec();
    let answer = post(&receiver, "/v1/traces", PROTO, "", body).await;
    assert_eq!(answer.status, StatusCode::OK);
    let response = ExportTraceServiceResponse::decode(answer.body).unwrap();
    let partial = response.partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert!(
        partial.error_message.contains("span id"),
        "{}",
        partial.error_message
    );

    let json = traces_to_json(&[span(2, 1, None), span(2, 2, None)]);
    let json = json.replace("0000000000000002", "0000000000000000");
    let answer = post(&receiver, "/v1/traces", JSON, "gzip", gzip(json.as_bytes())).await;
    assert_eq!(answer.status, StatusCode::OK);
    let partial = &answer.json()["partialSuccess"];
    assert_eq!(partial["rejectedSpans"], "1");
    assert!(
        partial["errorMessage"]
            .as_str()
            .is_some_and(|m| !m.is_empty())
    );

    let account = ingest.account();
    assert_eq!(
        (account.received, account.open, account.rejected),
        (5, 3, 2)
    );
}

/// Path, content type, content encoding, body; HTTP status and code.
type Case<'a> = (&'a str, &'a str, &'a str, &'a [u8], u16, i32);

#[tokio::test]
async fn what_is_no_export_is_refused_with_a_status_that_says_why() {
    let good = request().encode_to_vec();
    let packed = gzip(&good);
    let cut = &packed[..packed.len() - 5];
    let text = "text/plain";
    let large = vec![0x0a; CAP + 1];
    let bomb = gzip(&vec![0; 40 << 20]);
    let zbomb = zstd(&vec![0; 40 << 20]);
    let cases: &[Case<'_>] = &[
        ("/v1/traces", PROTO, "", b"\xff\xff\xff", 400, 3),
        ("/v1/traces", JSON, "", b"{\"resourceSpans\": [", 400, 3),
        ("/v1/traces", JSON, "", b"", 400, 3),
        ("/v1/traces", PROTO, "gzip", cut, 400, 3),
        ("/v1/traces", PROTO, "gzip", &good, 400, 3),
        ("/v1/traces", JSON, "zstd", b"x", 400, 3),
        ("/v1/logs", PROTO, "", b"\xff\xff\xff", 400, 3),
        ("/v1/metrics", JSON, "", b"[", 400, 3),
        ("/v1/traces", text, "", &good, 415, 3),
        ("/v1/traces", "", "", &good, 415, 3),
        ("/v1/traces", PROTO, "br", &good, 415, 3),
        ("/v1/traces", PROTO, "gzip, zstd", &good, 415, 3),
        ("/v1/traces", PROTO, "", &large, 413, 8),
        ("/v1/traces", JSON, "", &large, 413, 8),
        ("/v1/traces", PROTO, "gzip", &bomb, 413, 8),
        ("/v1/traces", PROTO, "zstd", &zbomb, 413, 8),
        ("/v1/profiles", PROTO, "", &good, 404, 5),
        ("/v1/traces/", JSON, "", &good, 404, 5),
        ("/", JSON, "", b"", 404, 5),
    ];
    let (receiver, ingest) = receiver();
    assert!(bomb.len() < CAP && zbomb.len() < CAP);
    for (path, kind, encoding, body, status, code) in cases {
        let answer = post(&receiver, path, kind, encoding, body.to_vec()).await;
        let case = format!("{path} {kind} {encoding} {}", body.len());
        assert_eq!(answer.status.as_u16(), *status, "{case}");
        let (got, message) = answer.problem();
        assert_eq!(got, *code, "{case}");
        assert!(!message.is_empty(), "{case}");
        let expected = if *kind == PROTO { PROTO } else { JSON };
        assert_eq!(answer.header("content-type"), expected, "{case}");
    }
    assert_eq!(ingest.account().received, 0);
}

#[tokio::test]
async fn other_methods_are_told_that_post_is_meant() {
    let (receiver, _ingest) = receiver();
    for method in ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"] {
        let request = Request::builder().method(method).uri("/v1/traces");
        let answer = send(&receiver, request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.header("allow"), "POST");
        assert!(answer.headers.get("access-control-allow-origin").is_none());
    }
}

#[tokio::test]
async fn a_full_server_says_when_to_come_again() {
    let (receiver, ingest) = receiver_of(4, |_| {});
    let body = || request().encode_to_vec();
    for _ in 0..2 {
        let answer = post(&receiver, "/v1/traces", PROTO, "", body()).await;
        assert_eq!(answer.status, StatusCode::OK);
    }
    let answer = post(&receiver, "/v1/traces", PROTO, "", body()).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.header("retry-after"), "1");
    let status = tonic_types::Status::decode(answer.body).unwrap();
    assert_eq!(status.code, Code::ResourceExhausted as i32);
    assert_eq!(
        status.details[0].type_url,
        "type.googleapis.com/google.rpc.RetryInfo"
    );

    let json = traces_to_json(&[span(9, 1, None)]);
    let answer = post(&receiver, "/v1/traces", JSON, "", json).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    let details = &answer.json()["details"][0];
    assert_eq!(details["@type"], "type.googleapis.com/google.rpc.RetryInfo");
    assert_eq!(details["retryDelay"], "0.500s");
    let account = ingest.account();
    assert_eq!((account.received, account.open, account.shed), (7, 4, 3));
}

#[tokio::test]
async fn log_records_of_spans_are_kept_and_the_others_rejected() {
    let (receiver, ingest) = receiver();
    let body = logs().encode_to_vec();
    let answer = post(&receiver, "/v1/logs", PROTO, "", body).await;
    assert_eq!(answer.status, StatusCode::OK);
    let response = ExportLogsServiceResponse::decode(answer.body).unwrap();
    let partial = response.partial_success.unwrap();
    assert_eq!(partial.rejected_log_records, 2);
    assert!(partial.error_message.starts_with("Dwindle takes traces"));
    let telemetry = ingest.telemetry();
    assert_eq!(telemetry.logs_received.get(), 3);
    assert_eq!(telemetry.logs_kept.get(), 1);
    assert_eq!(telemetry.logs_rejected.total(), 2);
    assert_eq!(ingest.account().received, 0);
}

#[tokio::test]
async fn metrics_are_rejected_in_all_politeness() {
    let (receiver, ingest) = receiver();
    let body = metrics().encode_to_vec();
    let answer = post(&receiver, "/v1/metrics", PROTO, "zstd", zstd(&body)).await;
    assert_eq!(answer.status, StatusCode::OK);
    let response = ExportMetricsServiceResponse::decode(answer.body).unwrap();
    let partial = response.partial_success.unwrap();
    assert_eq!(partial.rejected_data_points, 3);
    assert!(partial.error_message.starts_with("Dwindle takes traces"));

    let json = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[
        {"name":"m","sum":{"dataPoints":[{"asInt":"1"},{"asInt":"2"}]}}]}]}]}"#;
    let answer = post(&receiver, "/v1/metrics", JSON, "", json).await;
    assert_eq!(answer.json()["partialSuccess"]["rejectedDataPoints"], "2");
    assert_eq!(ingest.telemetry().points_rejected.get(), 5);
}

#[tokio::test]
async fn listed_origins_may_export_from_a_browser_and_no_others() {
    let (receiver, _ingest) = receiver_of(100, |c| {
        c.cors_origins = vec!["https://shop.example".into()];
    });
    let ask = |origin: &str| {
        Request::builder()
            .method("OPTIONS")
            .uri("/v1/traces")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type, x-key")
            .body(Body::empty())
            .unwrap()
    };
    let answer = send(&receiver, ask("https://shop.example")).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://shop.example"
    );
    assert_eq!(
        answer.header("access-control-allow-headers"),
        "content-type, x-key"
    );
    assert_eq!(answer.header("access-control-allow-methods"), "POST");
    let answer = send(&receiver, ask("https://evil.example")).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(answer.headers.get("access-control-allow-origin").is_none());

    let export = Request::post("/v1/traces")
        .header("origin", "https://shop.example")
        .header("content-type", JSON)
        .body(Body::from("{}"))
        .unwrap();
    let answer = send(&receiver, export).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://shop.example"
    );
    assert_eq!(answer.header("vary"), "origin");
}

#[tokio::test]
async fn bodies_in_flight_have_a_common_cap() {
    let (receiver, _ingest) = receiver_of(100, |c| c.max_inflight_bytes = 10_000);
    // One that holds most of it, and does not end.
    let (sender, body) = channel_body();
    sender.send(Ok(Bytes::from(vec![0; 9_000]))).await.unwrap();
    let slow = tokio::spawn({
        let receiver = Arc::clone(&receiver);
        async move { post(&receiver, "/v1/traces", PROTO, "", body).await }
    });
    let large = vec![b' '; 5_000];
    // Until the slow one has been read, this is merely no JSON.
    let mut answer = post(&receiver, "/v1/traces", JSON, "", large.clone()).await;
    for _ in 0..1000 {
        if answer.status != StatusCode::BAD_REQUEST {
            break;
        }
        tokio::task::yield_now().await;
        answer = post(&receiver, "/v1/traces", JSON, "", large.clone()).await;
    }
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.header("retry-after"), "1");
    drop(sender);
    assert_eq!(slow.await.unwrap().status, StatusCode::BAD_REQUEST);
    // What it held is free again.
    let answer = post(&receiver, "/v1/traces", JSON, "", large).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up() {
    let (receiver, _ingest) = receiver_of(100, |c| c.body_timeout = Duration::from_millis(20));
    let (sender, body) = channel_body();
    let answer = post(&receiver, "/v1/traces", PROTO, "", body).await;
    assert_eq!(answer.status, StatusCode::REQUEST_TIMEOUT);
    drop(sender);
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_off_at_the_cap() {
    let (receiver, _ingest) = receiver();
    let (sender, body) = channel_body();
    let feeding = tokio::spawn(async move {
        let mut sent = 0;
        while sent < 100 && sender.send(Ok(Bytes::from(vec![0; 1024]))).await.is_ok() {
            sent += 1;
        }
    });
    let answer = post(&receiver, "/v1/traces", PROTO, "", body).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    feeding.await.unwrap();
}

type Chunk = Result<Bytes, std::io::Error>;

fn channel_body() -> (tokio::sync::mpsc::Sender<Chunk>, Body) {
    let (sender, mut chunks) = tokio::sync::mpsc::channel::<Chunk>(1);
    let stream = futures::stream::poll_fn(move |context| chunks.poll_recv(context));
    (sender, Body::from_stream(stream))
}

/// Serves gRPC on a port of its own until the sender is dropped.
async fn grpc(receiver: &Arc<Receiver>) -> (String, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopping) = watch::channel(false);
    let connections = Connections {
        max: 10,
        header_timeout: Duration::from_secs(10),
        drain_timeout: Duration::from_secs(1),
    };
    tokio::spawn(serve(listener, receiver.grpc(), connections, stopping));
    (address, stop)
}

#[tokio::test]
async fn grpc_takes_exports_in_every_compression() {
    let (receiver, ingest) = receiver();
    let (address, _stop) = grpc(&receiver).await;
    let compressions = [
        None,
        Some(CompressionEncoding::Gzip),
        Some(CompressionEncoding::Zstd),
    ];
    for compression in compressions {
        let client = TraceServiceClient::connect(address.clone()).await.unwrap();
        let mut client = match compression {
            Some(encoding) => client.send_compressed(encoding),
            None => client,
        };
        let response = client.export(request()).await.unwrap().into_inner();
        assert_eq!(response.partial_success, None);
        let response = client.export(request_with_a_bad_span()).await.unwrap();
        let partial = response.into_inner().partial_success.unwrap();
        assert_eq!(partial.rejected_spans, 1);
        let empty = ExportTraceServiceRequest::default();
        let response = client.export(empty).await.unwrap().into_inner();
        assert_eq!(response.partial_success, None);
    }
    let account = ingest.account();
    assert_eq!((account.open, account.rejected), (12, 3));
}

#[tokio::test]
async fn grpc_takes_logs_and_refuses_metrics_like_http() {
    let (receiver, _ingest) = receiver();
    let (address, _stop) = grpc(&receiver).await;
    let mut client = LogsServiceClient::connect(address.clone()).await.unwrap();
    let response = client.export(logs()).await.unwrap().into_inner();
    assert_eq!(response.partial_success.unwrap().rejected_log_records, 2);
    let mut client = MetricsServiceClient::connect(address).await.unwrap();
    let response = client.export(metrics()).await.unwrap().into_inner();
    assert_eq!(response.partial_success.unwrap().rejected_data_points, 3);
}

#[tokio::test]
async fn grpc_tells_what_to_send_again_from_what_not() {
    let (receiver, _ingest) = receiver_of(4, |_| {});
    let (address, _stop) = grpc(&receiver).await;
    let mut client = TraceServiceClient::connect(address)
        .await
        .unwrap()
        .send_compressed(CompressionEncoding::Gzip);
    for _ in 0..2 {
        client.export(request()).await.unwrap();
    }
    let full = client.export(request()).await.unwrap_err();
    assert_eq!(full.code(), Code::ResourceExhausted);
    let delay = full.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert_eq!(delay, Duration::from_millis(500));

    let mut large = request();
    large.resource_spans[0].scope_spans[0].spans[0].name = "x".repeat(CAP + 1);
    let too_large = client.export(large).await.unwrap_err();
    assert_eq!(too_large.code(), Code::ResourceExhausted);
    assert!(too_large.get_details_retry_info().is_none());
}

/// A receiver with a log in this folder, which begins a segment with every group.
fn durable(dir: &Path) -> (Arc<Receiver>, Arc<Ingest>) {
    let log = Durable {
        dir: dir.to_owned(),
        options: log::Options {
            segment_bytes: 1,
            ..log::Options::default()
        },
        pace: Pace::default(),
    };
    let (receiver, ingest) = receiver_on(1_000, |_| {}, Some(log));
    eventually("the replay", || ingest.has_replayed());
    (receiver, ingest)
}

#[tokio::test]
async fn many_exports_at_once_share_commits_and_no_thread_waits_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let (receiver, ingest) = durable(folder.path());
    let (address, _stop) = grpc(&receiver).await;
    let client = TraceServiceClient::connect(address).await.unwrap();
    // This runtime has one thread: were it to wait in one export, no other would get on.
    let exports = (0..64u64).map(|trace| {
        let mut client = client.clone();
        let spans = [span(trace, 1, None), span(trace, 2, Some(1))];
        async move { client.export(traces_to_proto(&spans)).await }
    });
    for answer in futures::future::join_all(exports).await {
        assert_eq!(answer.unwrap().into_inner().partial_success, None);
    }
    let json = traces_to_json(&[span(100, 1, None)]);
    let answer = post(&receiver, "/v1/traces", JSON, "", json).await;
    assert_eq!(
        (answer.status, &answer.body[..]),
        (StatusCode::OK, &b"{}"[..])
    );
    let body = logs().encode_to_vec();
    let answer = post(&receiver, "/v1/logs", PROTO, "gzip", gzip(&body)).await;
    assert_eq!(answer.status, StatusCode::OK);
    let telemetry = ingest.telemetry();
    assert_eq!(telemetry.log_records.get(), 66);
    assert!(
        telemetry.log_commits.get() < 60,
        "{}",
        telemetry.log_commits.get()
    );
    assert_eq!(ingest.account().open, 129);
    drop((receiver, ingest));
    // All of it is in the log, JSON as protobuf.
    let (_receiver, ingest) = durable(folder.path());
    assert_eq!(ingest.account().open, 129);
    assert_eq!(ingest.telemetry().logs_kept.get(), 1);
    assert_eq!(ingest.telemetry().spans_replayed.get(), 129);
}

/// The next segment cannot be made where its folder is not.
#[tokio::test]
async fn a_log_that_cannot_be_written_is_said_and_recovers_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let (receiver, ingest) = durable(&dir);
    let telemetry = ingest.telemetry();
    telemetry.set_ready(true);
    let (address, _stop) = grpc(&receiver).await;
    let mut client = TraceServiceClient::connect(address).await.unwrap();
    client.export(request()).await.unwrap();
    assert!(telemetry.is_ready());
    let away = folder.path().join("away");
    std::fs::rename(&dir, &away).unwrap();
    // The first finds it out, the second is refused at once.
    for _ in 0..2 {
        let refused = client.export(request()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
        let delay = refused.get_details_retry_info().unwrap().retry_delay;
        assert_eq!(delay, Some(Duration::from_secs(1)));
        assert!(
            refused.message().contains("log cannot be written"),
            "{refused}"
        );
    }
    let body = request().encode_to_vec();
    let answer = post(&receiver, "/v1/traces", PROTO, "", body).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(answer.problem().0, Code::Unavailable as i32);
    assert_eq!(telemetry.not_ready(), Some("the log cannot be written"));
    let account = ingest.account();
    assert_eq!((account.received, account.open, account.shed), (8, 2, 6));
    assert_eq!(telemetry.spans_shed.get("log"), 6);
    // Nobody has to send anything for it to notice.
    std::fs::rename(&away, &dir).unwrap();
    eventually("a log that can be written", || telemetry.is_ready());
    client.export(request()).await.unwrap();
    assert_eq!(ingest.account().open, 4);
    drop((receiver, ingest));
    let (_receiver, ingest) = durable(&dir);
    assert_eq!(ingest.account().open, 4);
    assert_eq!(ingest.telemetry().log_damages.get(), 0);
}

/// Sends bytes as they are to the gRPC service; the status it ends with, from headers or trailers.
async fn raw(receiver: &Arc<Receiver>, request: Request<Body>) -> (StatusCode, Option<Code>) {
    let response = receiver.grpc().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let headers = body.trailers().unwrap_or(&parts.headers);
    let code = Status::from_header_map(headers).map(|status| status.code());
    (parts.status, code)
}

fn grpc_call(path: &str, encoding: &str, body: &[u8]) -> Request<Body> {
    let mut request = Request::post(path).header("content-type", "application/grpc");
    if !encoding.is_empty() {
        request = request.header("grpc-encoding", encoding);
    }
    request.body(Body::from(body.to_vec())).unwrap()
}

fn framed(compressed: u8, message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[compressed], &length[..], message].concat()
}

#[tokio::test]
async fn grpc_refuses_what_is_no_export() {
    const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    let good = framed(0, &request().encode_to_vec());
    let bomb = framed(1, &gzip(&vec![0; 40 << 20]));
    let short = [&[0, 0, 0, 0, 9][..], b"x"].concat();
    let long = [&[0, 0xff, 0xff, 0xff, 0xff][..], b"x"].concat();
    let cases: &[(&str, &str, Vec<u8>, Code)] = &[
        (EXPORT, "", good.clone(), Code::Ok),
        (EXPORT, "gzip", good.clone(), Code::Ok),
        (EXPORT, "", framed(0, b""), Code::Ok),
        (
            EXPORT,
            "",
            framed(0, b"\xff\xff\xff"),
            Code::InvalidArgument,
        ),
        (EXPORT, "", b"".to_vec(), Code::Internal),
        (EXPORT, "", short, Code::Internal),
        (EXPORT, "", long, Code::ResourceExhausted),
        (EXPORT, "", framed(2, b""), Code::Internal),
        (
            EXPORT,
            "",
            framed(0, &vec![0; CAP + 1]),
            Code::ResourceExhausted,
        ),
        (EXPORT, "gzip", bomb, Code::ResourceExhausted),
        (EXPORT, "gzip", framed(1, b"no gzip"), Code::Internal),
        (EXPORT, "", framed(1, b"x"), Code::Internal),
        (EXPORT, "snappy", good.clone(), Code::Unimplemented),
        (
            "/opentelemetry.proto.collector.trace.v1.TraceService/Import",
            "",
            good.clone(),
            Code::Unimplemented,
        ),
        (
            "/grpc.health.v1.Health/Check",
            "",
            good.clone(),
            Code::Unimplemented,
        ),
    ];
    let (receiver, _ingest) = receiver();
    for (path, encoding, body, code) in cases {
        let (status, got) = raw(&receiver, grpc_call(path, encoding, body)).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(got, Some(*code), "{path} {encoding} {}", body.len());
    }
    let http = Request::post("/v1/traces").header("content-type", JSON);
    let (status, code) = raw(&receiver, http.body(Body::from("{}")).unwrap()).await;
    assert_eq!((status, code), (StatusCode::UNSUPPORTED_MEDIA_TYPE, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_header_path_or_body_brings_a_receiver_down(
        path in prop_oneof![Just("/v1/traces".to_owned()), Just("/v1/logs".to_owned()), Just("/v1/metrics".to_owned()), "/[!-~&&[^#?<>\"\\\\^`{|}]]{0,20}"],
        kind in prop_oneof![Just(b"application/json".to_vec()), Just(b"application/x-protobuf".to_vec()), Just(b"application/grpc".to_vec()), prop::collection::vec(0x20u8..0x7f, 0..30), prop::collection::vec(0x80u8..=0xff, 0..9)],
        encoding in prop_oneof![Just(b"gzip".to_vec()), Just(b"zstd".to_vec()), Just(b"".to_vec()), prop::collection::vec(0x80u8..=0xff, 0..9)],
        cut in 0..400usize,
        flips in prop::collection::vec((0..400usize, any::<u8>()), 0..4),
        packed in any::<bool>(),
    ) {
        let mut body = request().encode_to_vec();
        if packed {
            body = gzip(&body);
        }
        body.truncate(cut);
        for (at, with) in flips {
            if let Some(byte) = body.get_mut(at) {
                *byte ^= with;
            }
        }
        let (receiver, ingest) = receiver();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let build = || {
            Request::post(path.as_str())
                .header("content-type", &kind[..])
                .header("content-encoding", &encoding[..])
                .header("grpc-encoding", &encoding[..])
        };
        let status = runtime.block_on(async {
            let grpc = build().body(Body::from(framed(u8::from(packed), &body))).unwrap();
            raw(&receiver, grpc).await;
            send(&receiver, build().body(Body::from(body)).unwrap()).await.status
        });
        prop_assert!([200, 400, 404, 415].contains(&status.as_u16()), "{status}");
        let account = ingest.account();
        prop_assert_eq!(account.received, account.open + account.rejected);
    }
}
