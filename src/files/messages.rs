//! Files of protobuf: one message, or many with their lengths before them, as the Collector's file
//! exporter writes them (a 4-byte big-endian length, then the message, which may be compressed on
//! its own and may then be JSON as well). They flow: messages are cut off the input in pieces that
//! threads decode.
//!
//! A message that stands alone is taken as its top-level entries, each of which is a message of
//! the same kind; so a large one flows, too.

use std::ops::Range;

use super::chunks::{Chunk, Chunks, Cut};
use super::gather::Piece;
use super::scan;
use crate::otlp::{
    Batch, Encoding, InflateError, Limits, Reject, inflate, logs_from_proto,
    metrics_count_from_proto, traces_into,
};

/// Tag of the one field that export requests of all signals have: number 1, length-delimited.
const ENTRY: u8 = 0x0a;
/// Tag of the lists in an entry and in a scope: number 2, length-delimited.
const LIST: u8 = 0x12;

/// How messages stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Each behind its length.
    Lengths,
    /// One alone.
    Alone,
}

/// No message begins here.
struct Strange;

impl Framing {
    /// The framing that a file has which begins so; `None` for other binary files.
    pub(super) fn of(head: &[u8], limits: &Limits) -> Option<Self> {
        [Self::Alone, Self::Lengths]
            .into_iter()
            .find(|framing| framing.fits(head, limits))
    }

    /// Whether the first message that says anything can be read. What is a message by chance
    /// holds no spans.
    fn fits(self, head: &[u8], limits: &Limits) -> bool {
        let mut batch = Batch::new(limits);
        let mut piece = Piece::default();
        let mut rest = head;
        loop {
            let Ok(Some(first)) = self.first(rest) else {
                return false;
            };
            let start = rest.get(first.start..).unwrap_or_default();
            let Some(bytes) = rest.get(first.clone()) else {
                // More of it follows, or nothing does: what is there tells as well.
                return first.end <= limits.max_document_bytes
                    && (Encoding::from_magic(start) != Encoding::Identity
                        || message(&mended(start, &[ENTRY, LIST]), &mut batch, &mut piece)
                            .is_ok()
                            && piece.has.any());
            };
            match message(bytes, &mut batch, &mut piece) {
                Ok(()) if piece.has.any() => return true,
                Ok(()) => rest = rest.get(first.end..).unwrap_or_default(),
                Err(_) => return false,
            }
        }
    }

    /// Where the first message stands, if its length is there.
    fn first(self, bytes: &[u8]) -> Result<Option<Range<usize>>, Strange> {
        match self {
            Self::Lengths => Ok(bytes.first_chunk::<4>().map(|length| {
                let length = u32::from_be_bytes(*length) as usize;
                4..4_usize.saturating_add(length)
            })),
            Self::Alone if bytes.first().is_some_and(|&tag| tag != ENTRY) => Err(Strange),
            Self::Alone => Ok(field(bytes)?.map(|field| 0..field.end)),
        }
    }

    /// The end of the last whole message in `bytes`.
    fn cut(self, bytes: &[u8], most: usize) -> Cut {
        let mut end = 0;
        loop {
            match self.first(bytes.get(end..).unwrap_or_default()) {
                Ok(Some(message)) if message.end <= bytes.len() - end => end += message.end,
                Ok(Some(message)) if end == 0 && message.end > most => return Cut::Never,
                Err(Strange) if end == 0 => return Cut::Never,
                _ if end == 0 => return Cut::More,
                _ => return Cut::At(end),
            }
        }
    }

    /// The next piece of whole messages, or what is left behind the last one.
    pub(super) fn next(self, chunks: &mut Chunks<'_>, limits: &Limits) -> Option<Chunk> {
        chunks.units(|bytes, _| self.cut(bytes, limits.max_document_bytes))
    }

    /// Reads the messages of a piece.
    pub(super) fn piece(self, chunk: &Chunk, batch: &mut Batch<'_>) -> Piece {
        let mut piece = Piece::default();
        let mut rest = chunk.bytes.as_slice();
        while !rest.is_empty() {
            let at = chunk.offset + (chunk.bytes.len() - rest.len()) as u64;
            let first = match self.first(rest) {
                Ok(Some(first)) => first,
                Ok(None) => {
                    let end = at + rest.len() as u64;
                    let reason = format!("cut off at byte {end}, in the length of a message");
                    piece.fault(None, None, reason);
                    break;
                }
                Err(Strange) => {
                    let reason = format!("from byte {at} on, this is no OTLP protobuf");
                    piece.fault(None, None, reason);
                    break;
                }
            };
            let Some(bytes) = rest.get(first.clone()) else {
                let bytes = rest.get(first.start..).unwrap_or_default();
                let end = chunk.offset + chunk.bytes.len() as u64;
                tail(bytes, first.len(), at..end, batch, &mut piece);
                break;
            };
            if let Err(reason) = message(bytes, batch, &mut piece) {
                let reason = format!("the message at byte {at} is left out: {reason}");
                piece.fault(None, None, reason);
            }
            rest = rest.get(first.end..).unwrap_or_default();
        }
        piece.whole()
    }
}

/// A message of `length` bytes of which the end is missing: what is whole in it is kept. It stands
/// `at` these bytes of the input.
fn tail(bytes: &[u8], length: usize, at: Range<u64>, batch: &mut Batch<'_>, piece: &mut Piece) {
    let most = batch.limits.max_document_bytes;
    let reason = if length > most {
        format!(
            "the message at byte {} says that it has {length} bytes; at most {} MiB are taken, \
             and nothing behind it is read",
            at.start,
            most >> 20
        )
    } else {
        if Encoding::from_magic(bytes) == Encoding::Identity {
            // A message of which no entry is whole holds nothing to lose.
            message(&mended(bytes, &[ENTRY, LIST]), batch, piece).ok();
        }
        format!(
            "cut off at byte {}, where {} more bytes of a message are due; what came before was read",
            at.end,
            length - bytes.len()
        )
    };
    piece.fault(None, None, reason);
}

/// Reads one message of any signal, compressed or not, protobuf or JSON. An error says what is
/// wrong with all of it.
fn message(bytes: &[u8], batch: &mut Batch<'_>, piece: &mut Piece) -> Result<(), String> {
    let cap = batch.limits.max_document_bytes;
    let bytes = match inflate(Encoding::from_magic(bytes), bytes, cap) {
        Ok(bytes) => bytes,
        Err(InflateError::TooLarge { .. }) => {
            return Err(format!("it inflates to more than {} MiB", cap >> 20));
        }
        Err(error @ InflateError::Broken { .. }) => return Err(error.to_string()),
    };
    // No white space is passed: a protobuf message begins with what JSON takes for a line end, and
    // the length behind it may look like a bracket.
    if let [b'{' | b'[', ..] = &*bytes {
        return scan::message(bytes.into_owned(), batch, piece);
    }
    proto(&bytes, batch, piece)
}

/// Requests of all signals have the same shape, and their records do not tell themselves: those of
/// another signal come apart into spans that are broken or have no ids.
fn proto(bytes: &[u8], batch: &mut Batch<'_>, piece: &mut Piece) -> Result<(), String> {
    let read = traces_into(bytes, batch);
    let spans = batch.take();
    let limits = batch.limits;
    let strange = |(why, _): &(Reject, u64)| {
        matches!(why, Reject::Malformed | Reject::TraceId | Reject::SpanId)
    };
    let are_spans =
        !spans.spans.is_empty() || spans.received > 0 && !spans.rejected.iter().any(strange);
    if read.is_ok() && !are_spans {
        let unreadable = |(why, _): &(Reject, u64)| *why == Reject::LogUnreadable;
        if let Ok(logs) = logs_from_proto(bytes, limits)
            && logs.received > 0
            && !logs.rejected.iter().any(unreadable)
        {
            piece.has.logs = true;
            piece.add(logs, 0, None);
            return Ok(());
        }
        if let Ok(points @ 1..) = metrics_count_from_proto(bytes, limits) {
            piece.has.metrics = true;
            piece.points(points);
            return Ok(());
        }
    }
    match read {
        Err(error) => Err(error.to_string()),
        Ok(()) if spans.received == 0 => Ok(()),
        Ok(()) if are_spans => {
            piece.has.traces = true;
            piece.add(spans, 0, None);
            Ok(())
        }
        Ok(()) => Err(spans.first_error.unwrap_or_default()),
    }
}

/// The message without what is cut off its end: of the lists on the way `down`, the last entry is
/// shortened to what is whole in it; anything else that is not whole is dropped.
fn mended(bytes: &[u8], down: &[u8]) -> Vec<u8> {
    let mut whole = 0;
    loop {
        let rest = bytes.get(whole..).unwrap_or_default();
        match field(rest) {
            Ok(Some(field)) if field.end <= rest.len() => whole += field.end,
            found => {
                let mut out = bytes.get(..whole).unwrap_or_default().to_vec();
                if let (Ok(Some(field)), Some((&tag, down))) = (found, down.split_first())
                    && rest.first() == Some(&tag)
                {
                    let inner = mended(rest.get(field.start..).unwrap_or_default(), down);
                    out.push(tag);
                    prost::encode_length_delimiter(inner.len(), &mut out).ok();
                    out.extend(inner);
                }
                return out;
            }
        }
    }
}

/// Where the payload of the first field stands, as its head says; `None` if the head is not all
/// there.
fn field(bytes: &[u8]) -> Result<Option<Range<usize>>, Strange> {
    let Some((tag, start)) = varint(bytes)? else {
        return Ok(None);
    };
    let rest = bytes.get(start..).unwrap_or_default();
    let payload = match tag & 7 {
        0 => varint(rest)?.map(|(_, digits)| start..start + digits),
        1 => Some(start..start + 8),
        2 => varint(rest)?.map(|(length, digits)| {
            let start = start + digits;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            start..start.saturating_add(length)
        }),
        5 => Some(start..start + 4),
        _ => return Err(Strange),
    };
    Ok(payload)
}

/// A number and how many bytes it has; `None` if its end is not there.
fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, Strange> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok(Some((value, i + 1)));
        }
    }
    if bytes.len() < 10 {
        Ok(None)
    } else {
        Err(Strange)
    }
}
