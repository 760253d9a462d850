//! Where written traces wait for their turn: all cores write them, in any order.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

use prost::Message as _;
use tempfile::SpooledTempFile;

use crate::files::write::{Encoded, Loss, Losses};
use crate::model::Trace;
use crate::otlp::{
    DecodeError, Limits, logs_from_proto, logs_to_proto, traces_from_proto, traces_to_proto,
};

/// Bytes that wait in memory; more wait in a temporary file.
const WAITING: usize = 64 << 20;

/// Written traces, as they came.
pub(super) struct Spool(Mutex<SpooledTempFile>);

/// A written trace in the spool.
pub(super) struct Piece {
    at: u64,
    bytes: u64,
    /// How many of the bytes are spans, where log records stand behind them.
    spans_end: usize,
    pub(super) spans: usize,
    pub(super) losses: Losses,
}

impl Default for Spool {
    fn default() -> Self {
        Self(Mutex::new(SpooledTempFile::new(WAITING)))
    }
}

impl Spool {
    /// Keeps a trace as it is written.
    pub(super) fn put(&self, trace: &Trace, encoded: Encoded) -> io::Result<Piece> {
        let Encoded { bytes, losses } = encoded;
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = file.stream_position()?;
        file.write_all(&bytes)?;
        Ok(Piece {
            at,
            bytes: bytes.len() as u64,
            spans_end: bytes.len(),
            spans: trace.spans.len(),
            losses,
        })
    }

    /// Keeps a trace with all that is in it, for [`Spool::trace`].
    pub(super) fn put_whole(&self, trace: &Trace) -> io::Result<Piece> {
        let mut bytes = traces_to_proto(&trace.spans).encode_to_vec();
        let spans_end = bytes.len();
        let mut losses = Losses::default();
        if !trace.logs.is_empty() {
            losses.add(Loss::LogParts, trace.logs.len());
            bytes.extend(logs_to_proto(&trace.logs).encode_to_vec());
        }
        let piece = self.put(trace, Encoded { bytes, losses })?;
        Ok(Piece { spans_end, ..piece })
    }

    /// Copies a trace to `out`.
    pub(super) fn copy(&self, piece: &Piece, out: &mut impl Write) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(piece.at))?;
        let copied = io::copy(&mut (&mut *file).take(piece.bytes), out)?;
        if copied < piece.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Gives back what [`Spool::put_whole`] kept.
    pub(super) fn trace(&self, piece: &Piece) -> io::Result<Trace> {
        let mut bytes = Vec::new();
        self.copy(piece, &mut bytes)?;
        // What was read before is within the limits already.
        let limits = Limits {
            max_message_bytes: usize::MAX,
            ..Limits::default()
        };
        let broken = |error: DecodeError| io::Error::other(error);
        let (spans, logs) = bytes
            .split_at_checked(piece.spans_end)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let spans = traces_from_proto(spans, &limits).map_err(broken)?.spans;
        let logs = logs_from_proto(logs, &limits).map_err(broken)?.logs;
        Ok(Trace {
            id: spans.first().map(|span| span.trace_id).unwrap_or_default(),
            spans,
            logs,
        })
    }
}
