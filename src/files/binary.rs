//! Files that are no text and no OTLP: what to refuse, by name.

use super::foreign::READS;

/// How many bytes are looked at.
const LOOK: usize = 64 << 10;

/// True for what cannot be JSON: it has control characters.
pub(super) fn is_binary(head: &[u8]) -> bool {
    let head = head.get(..LOOK).unwrap_or(head);
    head.iter()
        .any(|&byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// What a binary file is that begins so, and what to do about it.
pub(super) fn refusal(bytes: &[u8]) -> String {
    const PICKLE: &str = "a Python pickle";
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
        (b"\x80\x02", PICKLE, "write the spans with an OTLP exporter"),
        (b"\x80\x03", PICKLE, "write the spans with an OTLP exporter"),
        (b"\x80\x04", PICKLE, "write the spans with an OTLP exporter"),
        (b"\x80\x05", PICKLE, "write the spans with an OTLP exporter"),
        (b"\x7fELF", "a program", "name a file of traces"),
        (b"%PDF", "a PDF", "name a file of traces"),
        (b"\x89PNG", "a picture", "name a file of traces"),
        (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
        (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    ];
    // A profile begins with its sample types; their names stand in a table further on.
    let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    let units = has("nanoseconds") || has("bytes") || has("count");
    if bytes.starts_with(b"\n") && units && (has("samples") || has("inuse_space") || has("cpu")) {
        return format!("this is a pprof profile; {READS}");
    }
    MAGIC
        .iter()
        .find(|(magic, ..)| bytes.starts_with(magic))
        .map_or_else(
            || format!("binary, and not OTLP protobuf; {READS}"),
            |(_, name, advice)| format!("this is {name}: {advice}"),
        )
}
