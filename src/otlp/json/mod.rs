//! OTLP/JSON: our own mapping, straight into model types.
//!
//! Keys may be in camel or snake case, 64-bit integers strings or numbers, enums numbers or
//! names, ids hex or base64; unknown fields and nulls are passed over. [`document`] finds OTLP in
//! whatever wrapper it stands.

mod decode;
mod document;
mod encode;
pub(crate) mod fields;
mod out;
pub(crate) mod reader;
mod recent;
mod records;
mod span;
mod value;

use std::borrow::Cow;

use super::{Batch, DecodeError, Decoded, Limits};
use reader::{Reader, Shape, Syntax};

pub(crate) use document::{Found, document};
pub use encode::{logs_to_json, trace_to_json, traces_to_json};
pub(crate) use out::Out;
pub(crate) use recent::Recent;
pub(crate) use span::Faults;

/// Reads an `ExportTraceServiceRequest` or `TracesData` in OTLP/JSON.
pub fn traces_from_json(bytes: &[u8], limits: &Limits) -> Result<Decoded, DecodeError> {
    Ok(message(bytes, limits)?.take())
}

/// Reads an `ExportLogsServiceRequest` or `LogsData` in OTLP/JSON.
pub fn logs_from_json(bytes: &[u8], limits: &Limits) -> Result<Decoded, DecodeError> {
    Ok(message(bytes, limits)?.take())
}

/// How many data points an `ExportMetricsServiceRequest` in OTLP/JSON has.
pub fn metrics_count_from_json(bytes: &[u8], limits: &Limits) -> Result<u64, DecodeError> {
    Ok(message(bytes, limits)?.points)
}

/// One object and nothing behind it.
fn message<'l>(bytes: &[u8], limits: &'l Limits) -> Result<Batch<'l>, DecodeError> {
    if bytes.len() > limits.max_message_bytes {
        return Err(DecodeError::TooLarge {
            got: bytes.len(),
            limit: limits.max_message_bytes,
        });
    }
    let text = text(bytes);
    let mut reader = Reader::new(&text);
    let mut batch = Batch::new(limits);
    let json = |fault: Syntax| {
        let (line, column) = place(&text, fault.at);
        DecodeError::Json {
            what: fault.what,
            line,
            column,
        }
    };
    let is_object = reader.shape().map_err(json)? == Shape::Object;
    if is_object {
        decode::request(&mut reader, &mut batch).map_err(json)?;
    } else {
        reader.skip().map_err(json)?;
    }
    if !reader.is_at_end() {
        return Err(json(Syntax {
            at: reader.at(),
            what: "something stands behind the message",
        }));
    }
    if is_object {
        Ok(batch)
    } else {
        Err(DecodeError::Shape("expected a JSON object"))
    }
}

/// The byte order mark that some editors put before a text.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of these bytes, without a byte order mark; what is no UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    // Nearly everything is valid, and found to be so much faster than piece by piece.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// Line and column (in bytes) of a byte offset, from 1.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    (line, at.saturating_sub(line_start) + 1)
}
