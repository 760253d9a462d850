//! OTLP/gRPC: one unary call per export, framed and answered here.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use tonic::Code;

use super::intake::{Refusal, Taken};
use super::{Format, Receiver, Signal, body, reply};
use crate::otlp::Encoding;
use crate::telemetry::Export;

/// A message's prefix: one byte that says whether it is compressed, four of length.
const PREFIX: usize = 5;

/// Why a call failed, in gRPC's terms.
struct Failure {
    code: Code,
    message: String,
    retry_after: Option<std::time::Duration>,
}

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
    let result = export(receiver, signal, request).await;
    let code = match &result {
        Ok(_) => Code::Ok,
        Err(failure) => failure.code,
    };
    let export = Export {
        protocol: "grpc",
        signal: signal.as_str(),
        code: u16::try_from(code as i32).unwrap_or_default(),
    };
    let telemetry = receiver.ingest.telemetry();
    telemetry.exports.get_or_create(&export).inc();
    match result {
        Ok(taken) => success(&reply::taken(signal, Format::Protobuf, &taken)),
        Err(failure) => {
            let status = reply::status(failure.code, &failure.message, failure.retry_after);
            let mut response = status.into_http();
            response.headers_mut().insert(
                "grpc-accept-encoding",
                HeaderValue::from_static("identity,gzip,zstd"),
            );
            response
        }
    }
}

async fn export(
    receiver: &Arc<Receiver>,
    signal: Signal,
    request: Request<Body>,
) -> Result<Taken, Failure> {
    let (parts, body) = request.into_parts();
    let encoding = encoding(&parts.headers)?;
    let config = &receiver.config;
    let cap = config.limits.max_message_bytes.saturating_add(PREFIX);
    let held = body::read(body, cap, &receiver.inflight, config.body_timeout).await?;
    let telemetry = receiver.ingest.telemetry();
    telemetry.wire_bytes.inc_by(held.bytes.len() as u64);
    let (encoding, message) = unframe(&held.bytes, encoding)?;
    Ok(receiver
        .take(signal, Format::Protobuf, encoding, message)
        .await?)
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

/// The encoding of compressed messages of this call; `None` if it announces none.
fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, Failure> {
    let Some(value) = headers.get("grpc-encoding") else {
        return Ok(None);
    };
    let known = value.to_str().ok().and_then(Encoding::from_name);
    match known {
        Some(Encoding::Identity) => Ok(None),
        Some(encoding) => Ok(Some(encoding)),
        None => Err(Failure {
            code: Code::Unimplemented,
            message: "this grpc-encoding is not supported; identity, gzip and zstd are".to_owned(),
            retry_after: None,
        }),
    }
}

/// The one message of a unary call, and how it is compressed.
fn unframe(body: &Bytes, encoding: Option<Encoding>) -> Result<(Encoding, Bytes), Failure> {
    let malformed = |message: &str| Failure {
        code: Code::InvalidArgument,
        message: message.to_owned(),
        retry_after: None,
    };
    let Some((&[compressed, a, b, c, d], message)) = body.split_first_chunk::<PREFIX>() else {
        return Err(malformed("the call carries no whole message"));
    };
    if u32::from_be_bytes([a, b, c, d]) as usize != message.len() {
        return Err(malformed(
            "the message is not as long as its prefix says, or there are several",
        ));
    }
    let encoding = match (compressed, encoding) {
        (0, _) => Encoding::Identity,
        (1, Some(encoding)) => encoding,
        (1, None) => {
            return Err(Failure {
                code: Code::Internal,
                message: "the message is compressed and no grpc-encoding says how".to_owned(),
                retry_after: None,
            });
        }
        _ => return Err(malformed("the message's prefix is not gRPC's")),
    };
    Ok((encoding, body.slice(PREFIX..)))
}

fn success(message: &[u8]) -> Response<Body> {
    let mut frame = BytesMut::with_capacity(PREFIX + message.len());
    frame.put_u8(0);
    frame.put_u32(message.len() as u32);
    frame.put_slice(message);
    let trailers = async {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Some(Ok(trailers))
    };
    let body = Full::new(frame.freeze()).with_trailers(trailers);
    let mut response = Response::new(Body::new(body));
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (code, retry_after) = match &refusal {
            Refusal::Malformed(_) => (Code::InvalidArgument, None),
            Refusal::Broken(_) | Refusal::Internal => (Code::Internal, None),
            // Without a delay this code tells the sender not to try again, which is meant.
            Refusal::TooLarge { .. } => (Code::ResourceExhausted, None),
            Refusal::Full { retry_after } => (Code::ResourceExhausted, Some(*retry_after)),
            Refusal::TooSlow => (Code::DeadlineExceeded, None),
            Refusal::Gone => (Code::Cancelled, None),
        };
        Self {
            code,
            message: refusal.to_string(),
            retry_after,
        }
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

    #[test]
    fn a_frame_is_one_whole_message() {
        let cut = |bytes: &'static [u8], encoding| {
            unframe(&Bytes::from_static(bytes), encoding)
                .map(|(encoding, message)| (encoding, message.to_vec()))
                .map_err(|failure| failure.code)
        };
        let gzip = Some(Encoding::Gzip);
        assert_eq!(
            cut(&[0, 0, 0, 0, 1, 7], gzip),
            Ok((Encoding::Identity, vec![7]))
        );
        assert_eq!(
            cut(&[1, 0, 0, 0, 1, 7], gzip),
            Ok((Encoding::Gzip, vec![7]))
        );
        assert_eq!(
            cut(&[0, 0, 0, 0, 0], None),
            Ok((Encoding::Identity, vec![]))
        );
        assert_eq!(cut(&[1, 0, 0, 0, 0], None), Err(Code::Internal));
        assert_eq!(cut(&[], None), Err(Code::InvalidArgument));
        assert_eq!(cut(&[0, 0, 0, 0], None), Err(Code::InvalidArgument));
        assert_eq!(
            cut(&[0, 255, 255, 255, 255, 7], None),
            Err(Code::InvalidArgument)
        );
        assert_eq!(cut(&[2, 0, 0, 0, 0], gzip), Err(Code::InvalidArgument));
        assert_eq!(
            cut(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0], None),
            Err(Code::InvalidArgument)
        );
    }
}
