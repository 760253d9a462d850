//! Answers, in protobuf and in JSON.

use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::{
    logs::v1::{ExportLogsPartialSuccess, ExportLogsServiceResponse},
    metrics::v1::{ExportMetricsPartialSuccess, ExportMetricsServiceResponse},
    trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse},
};
use prost::Message as _;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use super::intake::Taken;
use super::{Format, Signal};

/// Messages go into headers and logs of others; more than this helps nobody.
const LONGEST_MESSAGE: usize = 1000;

/// The export response; its partial success is unset if all was taken, as the specification
/// demands.
pub(super) fn taken(signal: Signal, format: Format, taken: &Taken) -> Bytes {
    match format {
        Format::Protobuf => taken_proto(signal, taken).into(),
        Format::Json => taken_json(signal, taken).into(),
    }
}

fn taken_proto(signal: Signal, taken: &Taken) -> Vec<u8> {
    let partial = taken.rejected > 0;
    let rejected = i64::try_from(taken.rejected).unwrap_or(i64::MAX);
    let error_message = shortened(&taken.message).to_owned();
    match signal {
        Signal::Traces => ExportTraceServiceResponse {
            partial_success: partial.then_some(ExportTracePartialSuccess {
                rejected_spans: rejected,
                error_message,
            }),
        }
        .encode_to_vec(),
        Signal::Logs => ExportLogsServiceResponse {
            partial_success: partial.then_some(ExportLogsPartialSuccess {
                rejected_log_records: rejected,
                error_message,
            }),
        }
        .encode_to_vec(),
        Signal::Metrics => ExportMetricsServiceResponse {
            partial_success: partial.then_some(ExportMetricsPartialSuccess {
                rejected_data_points: rejected,
                error_message,
            }),
        }
        .encode_to_vec(),
    }
}

fn taken_json(signal: Signal, taken: &Taken) -> String {
    if taken.rejected == 0 {
        return "{}".to_owned();
    }
    let field = match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
        Signal::Metrics => "rejectedDataPoints",
    };
    // Protobuf's JSON mapping writes 64-bit integers as strings.
    let partial = json!({
        field: taken.rejected.to_string(),
        "errorMessage": shortened(&taken.message),
    });
    json!({ "partialSuccess": partial }).to_string()
}

/// A gRPC status, with the delay after which to come again if there is one.
pub(super) fn status(code: Code, message: &str, retry_after: Option<Duration>) -> Status {
    let message = shortened(message);
    match retry_after {
        Some(_) => {
            Status::with_error_details(code, message, ErrorDetails::with_retry_info(retry_after))
        }
        None => Status::new(code, message),
    }
}

/// The same as the body of an HTTP answer: a `google.rpc.Status`.
pub(super) fn status_body(
    format: Format,
    code: Code,
    message: &str,
    retry_after: Option<Duration>,
) -> Bytes {
    match (format, retry_after) {
        (Format::Protobuf, None) => tonic_types::Status {
            code: code as i32,
            message: shortened(message).to_owned(),
            details: Vec::new(),
        }
        .encode_to_vec()
        .into(),
        // With details, a gRPC status carries its own encoding.
        (Format::Protobuf, Some(_)) => {
            Bytes::copy_from_slice(status(code, message, retry_after).details())
        }
        (Format::Json, _) => {
            let mut body = json!({ "code": code as i32, "message": shortened(message) });
            if let Some(delay) = retry_after {
                let delay = format!("{}.{:03}s", delay.as_secs(), delay.subsec_millis());
                body["details"] = json!([{
                    "@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": delay,
                }]);
            }
            body.to_string().into()
        }
    }
}

fn shortened(message: &str) -> &str {
    let end = (0..=LONGEST_MESSAGE.min(message.len()))
        .rev()
        .find(|end| message.is_char_boundary(*end));
    message.get(..end.unwrap_or(0)).unwrap_or_default()
}
