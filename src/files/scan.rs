//! From the bytes of one input to its spans.

use std::io::Read;
use std::path::Path;

use super::archive;
use super::chunks::{Chunk, Chunks, first_line};
use super::foreign::Format;
use super::gather::{Gather, Piece};
use super::messages::Framing;
use super::pool;
use super::source::{Allowance, Plain};
use super::stored::{self, Stored};
use super::{binary, foreign, formats};
use crate::otlp::json::reader::{Reader, Syntax};
use crate::otlp::json::{self, Found, document};
use crate::otlp::{Batch, Limits, Mark};

/// What reading an input may cost, and who is told how far it has come.
pub(super) struct Scan<'a> {
    pub(super) limits: &'a Limits,
    /// For all that is packed in the input.
    pub(super) allowance: Allowance,
    /// Hears of the bytes taken from the input as it is stored.
    pub(super) progress: &'a mut dyn FnMut(u64),
    /// How many archives it stands in.
    pub(super) depth: usize,
    /// Who reads files of the store.
    pub(super) stored: Option<Stored<'a>>,
    /// Where the input lies; `None` in an archive or a pipe.
    pub(super) path: Option<&'a Path>,
}

impl Scan<'_> {
    /// Reads an input whole; `Err` is why nothing in it is of use, which is told nowhere yet.
    pub(super) fn input(
        &mut self,
        name: String,
        input: Result<Box<dyn Read + '_>, String>,
        gather: &mut Gather,
    ) -> Result<(), String> {
        let around = gather.begin(name);
        match input {
            Ok(input) => match Plain::new(input, &self.allowance) {
                Ok(source) => self.content(source, gather),
                Err(error) => gather.problem(None, None, format!("cannot be read: {error}")),
            },
            Err(reason) => gather.problem(None, None, reason),
        }
        gather.end(around)
    }

    fn content(&mut self, source: Plain<'_>, gather: &mut Gather) {
        let limits = self.limits;
        let mut chunks = Chunks::new(source, limits.max_document_bytes);
        let head = chunks.head(|head| !binary::is_binary(head));
        let text = head.strip_prefix(json::MARK).unwrap_or(head);
        if text.iter().all(u8::is_ascii_whitespace) && chunks.has_ended() {
            match chunks.take_fault() {
                Some(fault) => gather.problem(None, None, fault),
                None => gather.refuse("file is empty".to_owned()),
            }
        } else if archive::is_tar(chunks.pending()) {
            return archive::members(self, chunks, gather);
        } else if let Some(stored) = self.stored.filter(|s| (s.is_stored)(chunks.pending())) {
            stored::input(stored, self.path, &mut chunks, gather);
        } else if binary::is_binary(chunks.pending()) {
            match Framing::of(chunks.pending(), limits) {
                Some(framing) => self.pieces(
                    &mut chunks,
                    |chunks| framing.next(chunks, limits),
                    |batch, chunk| framing.piece(&chunk, batch),
                    gather,
                ),
                None => gather.refuse(binary::refusal(chunks.pending())),
            }
        } else if let Some(format) = foreign::text(chunks.pending()) {
            gather.refuse(format.refusal());
        } else if is_lines(chunks.pending()) {
            self.pieces(
                &mut chunks,
                Chunks::lines,
                |batch, chunk| documents(&chunk, Lay::Lines, batch).whole(),
                gather,
            );
        } else if let Some(chunk) = chunks.all() {
            (self.progress)(chunks.taken());
            gather.add(documents(&chunk, Lay::Free, &mut Batch::new(limits)).whole());
        }
        (self.progress)(chunks.taken());
        if let Some(fault) = chunks.take_fault() {
            gather.problem(None, None, fault);
        }
    }

    /// Reads pieces on all cores and joins them in order; what is short, on this one.
    fn pieces<'r>(
        &mut self,
        chunks: &mut Chunks<'r>,
        next: impl Fn(&mut Chunks<'r>) -> Option<Chunk>,
        piece: impl Fn(&mut Batch<'_>, Chunk) -> Piece + Sync,
        gather: &mut Gather,
    ) {
        let mut first = next(chunks);
        if chunks.has_ended() {
            let mut batch = Batch::new(self.limits);
            while let Some(chunk) = first {
                gather.add(piece(&mut batch, chunk));
                first = next(chunks);
            }
            return;
        }
        let next = || {
            (self.progress)(chunks.taken());
            first.take().or_else(|| next(chunks))
        };
        let limits = self.limits;
        pool::ordered(
            next,
            || Batch::new(limits),
            piece,
            |piece| gather.add(piece),
        );
    }
}

/// True when the first line is a whole document, so that the next line begins another.
fn is_lines(head: &[u8]) -> bool {
    first_line(head).is_some_and(|line| {
        let text = json::text(line);
        let mut reader = Reader::new(&text);
        reader.skip().is_ok() && reader.is_at_end()
    })
}

/// Reads the documents of a message that is JSON. An error is what is wrong with it.
pub(super) fn message(
    bytes: Vec<u8>,
    batch: &mut Batch<'_>,
    piece: &mut Piece,
) -> Result<(), String> {
    let chunk = Chunk {
        bytes,
        line: 1,
        offset: 0,
    };
    piece.join(documents(&chunk, Lay::Free, batch))
}

/// How documents lie in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lay {
    /// One a line: where one breaks off, the next line begins another.
    Lines,
    /// Over any number of lines.
    Free,
}

/// Reads the documents of a piece of text; its spans are not yet sorted by trace.
fn documents(chunk: &Chunk, lay: Lay, batch: &mut Batch<'_>) -> Piece {
    let text = json::text(&chunk.bytes);
    let mut reader = Reader::new(&text);
    batch.make_room();
    let mut piece = Piece::default();
    let mut lines = Lines::new(&text, chunk);
    let mut rejected_on = chunk.line;
    while !reader.is_at_end() {
        let start = reader.at();
        let mark = batch.mark();
        match document(&mut reader, batch) {
            Ok(found) if found.any() => {
                piece.has.traces |= found.traces;
                piece.has.logs |= found.logs;
                piece.has.metrics |= found.metrics;
                if batch.is_first_span_rejection(mark) {
                    rejected_on = lines.at(start).0;
                }
            }
            Ok(found) => {
                batch.back_to(mark);
                let whole = text.get(start..reader.at()).unwrap_or_default();
                if formats::read(&found, whole, batch) {
                    piece.has.traces = true;
                    if batch.is_first_span_rejection(mark) {
                        rejected_on = lines.at(start).0;
                    }
                } else {
                    piece.foreign(Format::of(&found), lines.at(start).0);
                }
            }
            Err((found, fault)) => {
                let is_last = fault.what == Syntax::CUT_OFF && lay == Lay::Free;
                let next = if is_last {
                    text.len()
                } else {
                    resume(&text, start)
                };
                let kept = is_last && first_part(&found, &text, start, mark, batch);
                if !kept {
                    batch.back_to(mark);
                }
                let (line, column, mut reason) = fault_at(fault, start, next, &mut lines);
                if kept {
                    piece.has.traces = true;
                    reason.push_str("; the spans before that were read");
                }
                piece.fault(Some(line), column, reason);
                reader.seek(next);
            }
        }
    }
    let points = batch.points;
    piece.add(batch.take(), points, Some(rejected_on));
    piece
}

/// Keeps the spans that stand whole in a document that is cut off; false when there is none.
fn first_part(found: &Found, text: &str, start: usize, mark: Mark, batch: &mut Batch<'_>) -> bool {
    if !found.any() {
        batch.back_to(mark);
        formats::read(found, text.get(start..).unwrap_or_default(), batch);
    }
    batch.has_spans_since(mark)
}

/// What is wrong with the document that begins at `start`, where the next one may begin at `next`.
fn fault_at(
    fault: Syntax,
    start: usize,
    next: usize,
    lines: &mut Lines<'_>,
) -> (u64, Option<u64>, String) {
    let begin = lines.at(start).0;
    let (line, column) = lines.at(fault.at);
    if fault.what == Syntax::CUT_OFF {
        let at = lines.byte(next);
        let at = at.map_or_else(String::new, |at| format!(" at byte {at}"));
        let reason = format!("the document that begins here is cut off{at}");
        (begin, None, reason)
    } else if line == begin {
        (line, Some(column), format!("not JSON: {}", fault.what))
    } else {
        let reason = format!(
            "not JSON: {} (the document begins on line {begin})",
            fault.what
        );
        (line, Some(column), reason)
    }
}

/// Where to go on after a document that began at `start` and is broken: at the next line that
/// can begin one.
fn resume(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let rest = bytes.get(start..).unwrap_or_default();
    memchr::memchr_iter(b'\n', rest)
        .map(|newline| start + newline + 1)
        .find(|&next| matches!(bytes.get(next), Some(b'{' | b'[')))
        .unwrap_or(bytes.len())
}

/// Line and column of offsets that mostly grow.
#[derive(Debug)]
struct Lines<'a> {
    text: &'a str,
    chunk: &'a Chunk,
    known: (usize, u64),
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, chunk: &'a Chunk) -> Self {
        Self {
            text,
            chunk,
            known: (0, chunk.line),
        }
    }

    /// The byte of the input; not known where the text had to be repaired.
    fn byte(&self, offset: usize) -> Option<u64> {
        let bytes = &self.chunk.bytes;
        let mark = bytes.starts_with(json::MARK).then_some(json::MARK.len());
        let mark = mark.unwrap_or_default();
        (self.text.len() + mark == bytes.len()).then(|| self.chunk.offset + (mark + offset) as u64)
    }

    fn at(&mut self, offset: usize) -> (u64, u64) {
        let bytes = self.text.as_bytes();
        let offset = offset.min(bytes.len());
        if offset < self.known.0 {
            self.known = (0, self.chunk.line);
        }
        let between = bytes.get(self.known.0..offset).unwrap_or_default();
        self.known = (
            offset,
            self.known.1 + memchr::memchr_iter(b'\n', between).count() as u64,
        );
        let before = bytes.get(..offset).unwrap_or_default();
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        (self.known.1, (offset - line_start) as u64 + 1)
    }
}
