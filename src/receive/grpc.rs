//! OTLP/gRPC: unary calls, framed and decompressed by tonic.
//!
//! tonic is given a codec that leaves messages as bytes: `otlp` decodes them once, span by span, and
//! they can go to a log as they came. The body is read whole under the caps before tonic sees it,
//! so that its part of the work neither waits nor holds more than one message a thread.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use bytes::{Buf as _, BufMut as _, Bytes};
use futures::future::{self, BoxFuture, Either, FutureExt as _};
use http_body_util::Full;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::UnaryService;
use tonic::{Code, Status};

use super::intake::Refusal;
use super::{Format, Receiver, Signal, body, reply};
use crate::otlp::Encoding;
use crate::telemetry::Export;

/// A message's prefix: one byte that says whether it is compressed, four of length.
const PREFIX: usize = 5;

/// The header in which a call without an answer says how it ended.
const STATUS: &str = "grpc-status";

/// Answers a request to the gRPC port.
pub(super) async fn answer(receiver: &Arc<Receiver>, request: Request<Body>) -> Response<Body> {
    if let Some(refused) = not_grpc(&request) {
        return refused;
    }
    let Some(signal) = signal(request.uri().path()) else {
        let path = request.uri().path();
        return reply::status(Code::Unimplemented, &format!("no method `{path}`"), None)
            .into_http();
    };
    let response = match export(receiver, signal, request).await {
        Ok(response) => response,
        Err(refusal) => Status::from(refusal).into_http(),
    };
    let export = Export {
        protocol: "grpc",
        signal: signal.as_str(),
        code: u16::try_from(code(response.headers()) as i32).unwrap_or_default(),
    };
    let telemetry = receiver.ingest.telemetry();
    telemetry.exports.get_or_create(&export).inc();
    response
}

async fn export(
    receiver: &Arc<Receiver>,
    signal: Signal,
    request: Request<Body>,
) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let config = &receiver.config;
    let cap = config.limits.max_message_bytes.saturating_add(PREFIX);
    let held = body::read(body, cap, &receiver.inflight, config.body_timeout).await?;
    let telemetry = receiver.ingest.telemetry();
    telemetry.wire_bytes.inc_by(held.bytes.len() as u64);
    let compressed = parts.headers.contains_key("grpc-encoding");
    let request = Request::from_parts(parts, Full::new(held.bytes.clone()));
    let call = Call {
        receiver: Arc::clone(receiver),
        signal,
    };
    // Decoding is done when this is first polled; then there is only the commit to wait for.
    let begun = receiver.in_turn(held.bytes.len(), compressed, move || {
        let mut running = call.run(request).boxed();
        match (&mut running).now_or_never() {
            Some(response) => Either::Left(future::ready(response)),
            None => Either::Right(running),
        }
    });
    begun.await?.await
}

/// One call, its body in memory.
struct Call {
    receiver: Arc<Receiver>,
    signal: Signal,
}

impl Call {
    async fn run(self, request: Request<Full<Bytes>>) -> Result<Response<Body>, Refusal> {
        let limit = self.receiver.config.limits.max_message_bytes;
        let mut grpc = tonic::server::Grpc::new(Raw)
            .accept_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Zstd)
            .max_decoding_message_size(limit);
        let response = grpc.unary(self, request).await;
        // To a sender of telemetry tonic's code for a message over the limit means "try again".
        if code(response.headers()) == Code::OutOfRange {
            return Err(Refusal::TooLarge { limit });
        }
        Ok(response.map(Body::new))
    }
}

impl UnaryService<Bytes> for Call {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let (signal, message) = (self.signal, request.into_inner());
        let offered =
            self.receiver
                .offer_now(signal, Format::Protobuf, Encoding::Identity, &message);
        async move {
            let taken = offered?.taken().await?;
            let answer = reply::taken(signal, Format::Protobuf, &taken);
            Ok(tonic::Response::new(answer))
        }
        .boxed()
    }
}

/// Messages as they came.
#[derive(Debug, Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// How a call ended, by the headers of its answer; an answer with a message ended well.
fn code(headers: &HeaderMap) -> Code {
    headers
        .get(STATUS)
        .map_or(Code::Ok, |status| Code::from_bytes(status.as_bytes()))
}

fn signal(path: &str) -> Option<Signal> {
    match path {
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Some(Signal::Traces),
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Some(Signal::Logs),
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Some(Signal::Metrics),
        _ => None,
    }
}

/// The answer to what is not gRPC at all; most often OTLP/HTTP sent to the wrong port.
fn not_grpc(request: &Request<Body>) -> Option<Response<Body>> {
    let is_grpc = request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| is_grpc(kind.as_bytes()));
    if is_grpc && request.method() == Method::POST {
        return None;
    }
    let words = "this port speaks OTLP/gRPC; OTLP/HTTP has a port of its own, 4318 by default\n";
    let mut response = Response::new(Body::from(words));
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Some(response)
}

/// `application/grpc`, `application/grpc+proto`, parameters allowed.
fn is_grpc(kind: &[u8]) -> bool {
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or(kind);
    let kind = kind.trim_ascii().to_ascii_lowercase();
    kind == b"application/grpc" || kind == b"application/grpc+proto"
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let (code, retry_after) = match &refusal {
            Refusal::Malformed(_) => (Code::InvalidArgument, None),
            Refusal::Broken(_) | Refusal::Internal => (Code::Internal, None),
            // Without a delay this code tells the sender not to try again, which is meant.
            Refusal::TooLarge { .. } => (Code::ResourceExhausted, None),
            Refusal::Full { retry_after } => (Code::ResourceExhausted, Some(*retry_after)),
            Refusal::Unavailable { retry_after, .. } => (Code::Unavailable, Some(*retry_after)),
            Refusal::TooSlow => (Code::DeadlineExceeded, None),
            Refusal::Gone => (Code::Cancelled, None),
        };
        reply::status(code, &refusal.to_string(), retry_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_of_grpc_are_told_from_others() {
        for kind in ["application/grpc", "Application/GRPC+proto; x=y"] {
            assert!(is_grpc(kind.as_bytes()), "{kind}");
        }
        for kind in ["application/grpc-web", "application/grpcx", "", ";"] {
            assert!(!is_grpc(kind.as_bytes()), "{kind}");
        }
    }
}
