//! Reading a segment: its records, and what is wrong between them.

use bytes::Bytes;
use memchr::memmem;

use super::format::{Kind, RECORD_HEADER, RECORD_MAGIC, RecordHeader, SEGMENT_HEADER};

/// A record as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it carries.
    pub kind: Kind,
    /// The message.
    pub bytes: Bytes,
}

/// What comes next in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A record that is as it was written.
    Record { seq: u64, record: Record },
    /// Bytes that are no record, with good ones behind them: something damaged them.
    Damage { at: usize, length: usize },
    /// Bytes that are no whole record, and nothing behind them: a write that broke off, or damage
    /// to the last record.
    Torn { at: usize },
}

/// Walks over a segment that is in memory. Sequence numbers only rise; a record that goes back is
/// as good as damage.
#[derive(Debug)]
pub(super) struct Scan {
    segment: Bytes,
    at: usize,
    least: u64,
}

impl Scan {
    /// From the first record on, none of which may have a number below `first_seq`.
    pub(super) fn new(segment: Bytes, first_seq: u64) -> Self {
        Self {
            at: SEGMENT_HEADER.min(segment.len()),
            segment,
            least: first_seq,
        }
    }

    /// The record at `at`, if there is a good one. Between it and where the last one ended there
    /// is room for so many others, which bounds its number: what a payload holds may look like a
    /// record.
    fn record_at(&self, at: usize) -> Option<(RecordHeader, Bytes)> {
        let header = RecordHeader::decode(self.segment.get(at..)?)?;
        let from = at + RECORD_HEADER;
        let payload = self.segment.get(from..from.checked_add(header.length)?)?;
        let lost = header.seq.checked_sub(self.least)?;
        let room = ((at - self.at) / RECORD_HEADER) as u64;
        let good = lost <= room && header.fits(payload);
        good.then(|| (header, self.segment.slice(from..from + header.length)))
    }

    /// Where the next good record begins, behind `at`, and its number.
    fn next_good(&self, at: usize) -> Option<(usize, u64)> {
        let rest = self.segment.get(at + 1..)?;
        memmem::find_iter(rest, &RECORD_MAGIC)
            .map(|offset| at + 1 + offset)
            .find_map(|at| Some((at, self.record_at(at)?.0.seq)))
    }
}

impl Iterator for Scan {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let at = self.at;
        if at >= self.segment.len() {
            return None;
        }
        if let Some((header, bytes)) = self.record_at(at) {
            self.at = at + RECORD_HEADER + header.length;
            self.least = header.seq + 1;
            let record = Record {
                kind: header.kind,
                bytes,
            };
            return Some(Found::Record {
                seq: header.seq,
                record,
            });
        }
        if let Some((next, seq)) = self.next_good(at) {
            self.at = next;
            self.least = seq;
            let length = next - at;
            return Some(Found::Damage { at, length });
        }
        self.at = self.segment.len();
        Some(Found::Torn { at })
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::SegmentHeader;
    use super::*;

    fn segment(payloads: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
        let header = SegmentHeader {
            first_seq: 7,
            created: 1,
        };
        let mut bytes = header.encode().to_vec();
        let mut starts = Vec::new();
        for (seq, payload) in (7..).zip(payloads) {
            starts.push(bytes.len());
            RecordHeader::write(Kind::Traces, seq, payload, &mut bytes);
        }
        (bytes, starts)
    }

    fn seqs(bytes: Vec<u8>) -> (Vec<u64>, usize, usize) {
        let (mut seqs, mut damaged, mut torn) = (Vec::new(), 0, 0);
        for found in Scan::new(bytes.into(), 7) {
            match found {
                Found::Record { seq, .. } => seqs.push(seq),
                Found::Damage { .. } => damaged += 1,
                Found::Torn { .. } => torn += 1,
            }
        }
        (seqs, damaged, torn)
    }

    #[test]
    fn whatever_a_flip_hits_all_other_records_are_found() {
        // A payload that looks like a record, too.
        let (inner, _) = segment(&[b"inner"]);
        let (bytes, starts) = segment(&[b"first", &inner[SEGMENT_HEADER..], b"", b"last"]);
        assert_eq!(seqs(bytes.clone()), (vec![7, 8, 9, 10], 0, 0));
        for at in SEGMENT_HEADER..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let hit = starts.iter().filter(|start| **start <= at).count() as u64 + 6;
                let (found, damaged, torn) = seqs(flipped);
                let mut expected = vec![7, 8, 9, 10];
                expected.retain(|seq| *seq != hit);
                // What a payload holds is a record of its own only where its number fits in.
                let found: Vec<u64> = found.into_iter().filter(|seq| *seq != hit).collect();
                assert_eq!(found, expected, "{at}.{bit}");
                assert!(damaged + torn > 0, "{at}.{bit}");
            }
        }
    }

    #[test]
    fn a_cut_segment_keeps_what_is_whole() {
        let (bytes, starts) = segment(&[b"first", b"second", b"last"]);
        for length in 0..bytes.len() {
            let (found, damaged, torn) = seqs(bytes[..length].to_vec());
            let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
            let whole = ends.filter(|end| *end <= length).count() as u64;
            assert_eq!(found, (7..7 + whole).collect::<Vec<_>>(), "{length}");
            assert_eq!(damaged, 0, "{length}");
            let clean = length <= SEGMENT_HEADER || starts.contains(&length);
            assert_eq!(torn, usize::from(!clean), "{length}");
        }
    }
}
