//! How the log looks on disk, version 1. Numbers are little-endian.
//!
//! ```text
//! segment  "DWNDLLOG" | version u16 | 0 u16 | 0 u32 | first seq u64 | created, unix ns u64 | check u64
//! record   "dwR\x01" | kind u8 | 0 [3] | length u32 | header check u32 | seq u64 | payload check u64 | payload
//! ```
//!
//! Checks are XXH3; the header's covers everything else in it, so that a length is never believed
//! before it was checked, and a record can be found again after damage.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes before a segment's first record.
pub(super) const SEGMENT_HEADER: usize = 40;
/// Bytes before a record's payload.
pub(super) const RECORD_HEADER: usize = 32;
/// What a record begins with.
pub(super) const RECORD_MAGIC: [u8; 4] = *b"dwR\x01";

const SEGMENT_MAGIC: [u8; 8] = *b"DWNDLLOG";
const VERSION: u16 = 1;

/// What a record carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An OTLP trace export request.
    Traces,
    /// An OTLP logs export request.
    Logs,
    /// Nothing: written to see whether the disk takes bytes again.
    Probe,
}

/// What a segment's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) first_seq: u64,
    /// Unix time in nanoseconds.
    pub(super) created: u64,
}

/// Why a segment's header cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadHeader {
    /// A later version of the format.
    Newer(u16),
    /// Too short, or not what was written.
    Damaged,
}

/// A record's header that has passed its own check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) kind: Kind,
    pub(super) length: usize,
    pub(super) seq: u64,
    check: u64,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Traces => 1,
            Self::Logs => 2,
            Self::Probe => 3,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        [Self::Traces, Self::Logs, Self::Probe]
            .into_iter()
            .find(|kind| kind.number() == number)
    }
}

impl SegmentHeader {
    pub(super) fn encode(self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_seq.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.created.to_le_bytes());
        let check = xxh3_64(&bytes[..32]);
        bytes[32..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let bytes = bytes.get(..SEGMENT_HEADER).ok_or(BadHeader::Damaged)?;
        if bytes[..8] != SEGMENT_MAGIC || u64_at(bytes, 32) != xxh3_64(&bytes[..32]) {
            return Err(BadHeader::Damaged);
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            return Err(BadHeader::Newer(version));
        }
        Ok(Self {
            first_seq: u64_at(bytes, 16),
            created: u64_at(bytes, 24),
        })
    }
}

impl RecordHeader {
    /// Appends a whole record to `into`.
    pub(super) fn write(kind: Kind, seq: u64, payload: &[u8], into: &mut Vec<u8>) {
        let mut bytes = [0; RECORD_HEADER];
        bytes[..4].copy_from_slice(&RECORD_MAGIC);
        bytes[4] = kind.number();
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes[16..24].copy_from_slice(&seq.to_le_bytes());
        bytes[24..].copy_from_slice(&xxh3_64(payload).to_le_bytes());
        let check = header_check(&bytes);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        into.extend_from_slice(&bytes);
        into.extend_from_slice(payload);
    }

    /// The header that `bytes` begin with.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; RECORD_HEADER] = bytes.get(..RECORD_HEADER)?.try_into().ok()?;
        if bytes[..4] != RECORD_MAGIC || u32_at(&bytes, 12) != header_check(&bytes) {
            return None;
        }
        Some(Self {
            kind: Kind::from_number(bytes[4])?,
            length: u32_at(&bytes, 8) as usize,
            seq: u64_at(&bytes, 16),
            check: u64_at(&bytes, 24),
        })
    }

    /// Whether this is the payload that was written.
    pub(super) fn fits(&self, payload: &[u8]) -> bool {
        xxh3_64(payload) == self.check
    }
}

/// Of everything but the check itself.
fn header_check(header: &[u8; RECORD_HEADER]) -> u32 {
    let mut rest = *header;
    rest[12..16].fill(0);
    xxh3_64(&rest) as u32
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    u32::from_le_bytes(part.unwrap_or_default())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
    u64::from_le_bytes(part.unwrap_or_default())
}
