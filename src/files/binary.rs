//! Files that are no text: OTLP protobuf, or something to refuse by name.

use super::gather::Piece;
use crate::otlp::{
    Decoded, Limits, Reject, logs_from_proto, metrics_count_from_proto, traces_from_proto,
};

/// How many bytes are looked at.
const LOOK: usize = 64 << 10;

/// True for what cannot be JSON: it has control characters.
pub(super) fn is_binary(head: &[u8]) -> bool {
    let head = head.get(..LOOK).unwrap_or(head);
    head.iter()
        .any(|&byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// Reads a file of protobuf, or says what the file is.
pub(super) fn piece(bytes: &[u8], limits: &Limits) -> Piece {
    let limits = Limits {
        max_message_bytes: limits.max_document_bytes,
        ..limits.clone()
    };
    let mut piece = Piece::default();
    if let Some(decoded) = traces(bytes, &limits) {
        piece.has_traces = true;
        piece.take(decoded, 0, 1);
    } else if let Some(decoded) = logs(bytes, &limits) {
        piece.has_logs = true;
        piece.take(decoded, 0, 1);
    } else if let Ok(points @ 1..) = metrics_count_from_proto(bytes, &limits) {
        piece.has_metrics = true;
        piece.points = points;
    } else {
        piece.faults.push((1, None, refusal(bytes)));
    }
    piece
}

/// One request, or several with their lengths before them, as the Collector's file exporter
/// writes them. Bytes of another kind do not come apart into spans with whole ids.
fn traces(bytes: &[u8], limits: &Limits) -> Option<Decoded> {
    let good = |decoded: &Decoded| {
        !decoded.spans.is_empty()
            && !decoded
                .rejected
                .iter()
                .any(|(why, _)| *why == Reject::Malformed)
    };
    if let Ok(decoded) = traces_from_proto(bytes, limits) {
        return Some(decoded).filter(good);
    }
    let mut all = Decoded::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let (message, behind) = behind.split_at_checked(length)?;
        let one = traces_from_proto(message, limits).ok()?;
        all.received += one.received;
        all.spans.extend(one.spans);
        all.rejected.extend(one.rejected);
        all.first_error = all.first_error.or(one.first_error);
        rest = behind;
    }
    Some(all).filter(good)
}

fn logs(bytes: &[u8], limits: &Limits) -> Option<Decoded> {
    let decoded = logs_from_proto(bytes, limits).ok()?;
    let bad = decoded
        .rejected
        .iter()
        .any(|(why, _)| *why == Reject::LogUnreadable);
    (decoded.received > 0 && !bad).then_some(decoded)
}

fn refusal(bytes: &[u8]) -> String {
    const MAGIC: &[(&[u8], &str, &str)] = &[
        (b"PAR1", "a Parquet file", "export the spans as OTLP"),
        (b"PK\x03\x04", "a zip archive", "unpack it first"),
        (
            b"BZh",
            "a bzip2 file",
            "unpack it first, or use gzip or zstd",
        ),
        (
            b"\xfd7zXZ\0",
            "an xz file",
            "unpack it first, or use gzip or zstd",
        ),
        (
            b"\x04\x22\x4d\x18",
            "an lz4 file",
            "unpack it first, or use gzip or zstd",
        ),
        (
            b"SQLite format 3\0",
            "an SQLite database",
            "export the spans as OTLP",
        ),
        (b"\x7fELF", "a program", "name a file of traces"),
        (b"%PDF", "a PDF", "name a file of traces"),
        (b"\x89PNG", "a picture", "name a file of traces"),
        (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
        (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    ];
    MAGIC
        .iter()
        .find(|(magic, ..)| bytes.starts_with(magic))
        .map_or_else(
            || {
                "binary, and not OTLP protobuf; Dwindle reads OTLP (JSON, NDJSON or protobuf)"
                    .to_owned()
            },
            |(_, name, advice)| format!("this is {name}: {advice}"),
        )
}
