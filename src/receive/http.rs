//! OTLP/HTTP: `POST /v1/traces`, `/v1/logs` and `/v1/metrics`, protobuf or JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, CONTENT_ENCODING, CONTENT_TYPE,
    ORIGIN, RETRY_AFTER, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tonic::Code;

use super::intake::{Refusal, Taken};
use super::{Format, Receiver, Signal, body, reply};
use crate::otlp::Encoding;
use crate::telemetry::Export;

/// Why a request failed, in HTTP's terms.
struct Failure {
    status: StatusCode,
    code: Code,
    message: String,
    retry_after: Option<Duration>,
}

/// Answers a request to the HTTP port.
pub(super) async fn answer(receiver: &Arc<Receiver>, request: Request<Body>) -> Response<Body> {
    let signal = signal(request.uri().path());
    let origin = allowed_origin(request.headers(), &receiver.config.cors_origins);
    let mut response = if request.method() == Method::OPTIONS
        && let (Some(_), Some(_)) = (signal, &origin)
    {
        preflight(request.headers())
    } else {
        answer_export(receiver, signal, request).await
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    response
}

async fn answer_export(
    receiver: &Arc<Receiver>,
    signal: Option<Signal>,
    request: Request<Body>,
) -> Response<Body> {
    let format = format(request.headers());
    // Whoever sends what we do not know gets an answer that can be read with the eye.
    let speaks = format.unwrap_or(Format::Json);
    let Some(signal) = signal else {
        let message = "OTLP is taken at /v1/traces, /v1/logs and /v1/metrics";
        return failed(
            speaks,
            &Failure::new(StatusCode::NOT_FOUND, Code::NotFound, message),
        );
    };
    let result = if request.method() == Method::POST {
        export(receiver, signal, format, request).await
    } else {
        let message = "OTLP is sent with POST";
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Err(Failure::new(status, Code::Unimplemented, message))
    };
    let status = match &result {
        Ok(_) => StatusCode::OK,
        Err(failure) => failure.status,
    };
    let export = Export {
        protocol: "http",
        signal: signal.as_str(),
        code: status.as_u16(),
    };
    let telemetry = receiver.ingest.telemetry();
    telemetry.exports.get_or_create(&export).inc();
    match result {
        Ok(taken) => respond(
            StatusCode::OK,
            speaks,
            Body::from(reply::taken(signal, speaks, &taken)),
        ),
        Err(failure) => failed(speaks, &failure),
    }
}

async fn export(
    receiver: &Arc<Receiver>,
    signal: Signal,
    format: Option<Format>,
    request: Request<Body>,
) -> Result<Taken, Failure> {
    let unsupported = |message| {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Failure::new(status, Code::InvalidArgument, message)
    };
    let format = format.ok_or_else(|| {
        unsupported(
            "the Content-Type is not supported; application/x-protobuf and application/json are",
        )
    })?;
    let encoding = encoding(request.headers()).ok_or_else(|| {
        unsupported("the Content-Encoding is not supported; gzip, zstd and identity are")
    })?;
    let config = &receiver.config;
    let cap = config.limits.max_message_bytes;
    let body = request.into_body();
    let held = body::read(body, cap, &receiver.inflight, config.body_timeout).await?;
    let telemetry = receiver.ingest.telemetry();
    telemetry.wire_bytes.inc_by(held.bytes.len() as u64);
    Ok(receiver
        .take(signal, format, encoding, held.bytes.clone())
        .await?)
}

fn signal(path: &str) -> Option<Signal> {
    match path {
        "/v1/traces" => Some(Signal::Traces),
        "/v1/logs" => Some(Signal::Logs),
        "/v1/metrics" => Some(Signal::Metrics),
        _ => None,
    }
}

/// How the body is written, by its `Content-Type`: any case, parameters are ignored.
fn format(headers: &HeaderMap) -> Option<Format> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes();
    let kind = value.split(|byte| *byte == b';').next().unwrap_or(value);
    match kind.trim_ascii().to_ascii_lowercase().as_slice() {
        b"application/x-protobuf" | b"application/protobuf" => Some(Format::Protobuf),
        b"application/json" => Some(Format::Json),
        _ => None,
    }
}

/// How the body is compressed, by its `Content-Encoding`; `None` if we cannot undo it. `identity`
/// may be named beside another; two compressions on each other are not undone.
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let mut found = Encoding::Identity;
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.to_str().ok()?.split(',') {
            match (Encoding::from_name(name)?, found) {
                (Encoding::Identity, _) => {}
                (encoding, Encoding::Identity) => found = encoding,
                (_, Encoding::Gzip | Encoding::Zstd) => return None,
            }
        }
    }
    Some(found)
}

/// The request's origin, if its pages may export here.
fn allowed_origin(headers: &HeaderMap, allowed: &[String]) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let name = origin.to_str().ok()?;
    allowed
        .iter()
        .any(|entry| entry == "*" || entry.eq_ignore_ascii_case(name))
        .then(|| origin.clone())
}

/// The answer to a browser that asks whether a page may export.
fn preflight(asked: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let wanted = asked
        .get(ACCESS_CONTROL_REQUEST_HEADERS)
        .cloned()
        .unwrap_or(HeaderValue::from_static("content-type, content-encoding"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST"),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    response
}

fn failed(format: Format, failure: &Failure) -> Response<Body> {
    let (code, message) = (failure.code, &failure.message);
    let body = reply::status_body(format, code, message, failure.retry_after);
    let mut response = respond(failure.status, format, Body::from(body));
    let headers = response.headers_mut();
    if let Some(delay) = failure.retry_after {
        // Whole seconds, rounded up: earlier would be refused again.
        let seconds = delay.as_millis().div_ceil(1000).max(1);
        if let Ok(value) = HeaderValue::try_from(seconds.to_string()) {
            headers.insert(RETRY_AFTER, value);
        }
    }
    if failure.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

fn respond(status: StatusCode, format: Format, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = match format {
        Format::Protobuf => "application/x-protobuf",
        Format::Json => "application/json",
    };
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

impl Failure {
    fn new(status: StatusCode, code: Code, message: &str) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
            retry_after: None,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match &refusal {
            Refusal::Malformed(_) | Refusal::Broken(_) | Refusal::Gone => {
                (StatusCode::BAD_REQUEST, Code::InvalidArgument)
            }
            Refusal::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Code::ResourceExhausted),
            Refusal::Full { .. } => (StatusCode::TOO_MANY_REQUESTS, Code::ResourceExhausted),
            Refusal::Unavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
            Refusal::TooSlow => (StatusCode::REQUEST_TIMEOUT, Code::DeadlineExceeded),
            Refusal::Internal => (StatusCode::INTERNAL_SERVER_ERROR, Code::Internal),
        };
        let retry_after = match &refusal {
            Refusal::Full { retry_after } | Refusal::Unavailable { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        };
        Self {
            status,
            code,
            message: refusal.to_string(),
            retry_after,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(name: &HeaderName, values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_content_type_is_read_in_any_case_and_with_parameters() {
        let read = |value: &[u8]| format(&headers(&CONTENT_TYPE, &[value]));
        assert_eq!(read(b"application/json"), Some(Format::Json));
        assert_eq!(
            read(b"Application/JSON ; charset=UTF-8"),
            Some(Format::Json)
        );
        assert_eq!(read(b"application/x-protobuf"), Some(Format::Protobuf));
        assert_eq!(read(b"text/plain"), None);
        assert_eq!(read(b""), None);
        assert_eq!(read(b"\xff\xfe"), None);
        assert_eq!(format(&HeaderMap::new()), None);
    }

    #[test]
    fn one_compression_is_undone_and_no_other() {
        let read = |values: &[&[u8]]| encoding(&headers(&CONTENT_ENCODING, values));
        assert_eq!(read(&[]), Some(Encoding::Identity));
        assert_eq!(read(&[b"identity"]), Some(Encoding::Identity));
        assert_eq!(read(&[b"GZIP"]), Some(Encoding::Gzip));
        assert_eq!(read(&[b"identity, zstd"]), Some(Encoding::Zstd));
        assert_eq!(read(&[b"gzip", b"zstd"]), None);
        assert_eq!(read(&[b"br"]), None);
        assert_eq!(read(&[b"\xff"]), None);
    }

    #[test]
    fn only_listed_origins_may_export() {
        let from = |origin: &str, allowed: &[&str]| {
            let allowed: Vec<String> = allowed.iter().map(|&o| o.to_owned()).collect();
            allowed_origin(&headers(&ORIGIN, &[origin.as_bytes()]), &allowed).is_some()
        };
        assert!(from("https://shop.example", &["https://shop.example"]));
        assert!(from("https://shop.example", &["*"]));
        assert!(!from("https://shop.example", &[]));
        assert!(!from(
            "https://shop.example.evil",
            &["https://shop.example"]
        ));
    }
}
