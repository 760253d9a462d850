//! From the bytes of one input to its spans.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZero;
use std::sync::{Mutex, mpsc};
use std::thread;

use super::chunks::{Chunk, Chunks, first_line};
use super::foreign::Format;
use super::gather::{Gather, Piece};
use super::source::Plain;
use super::{binary, foreign, formats};
use crate::otlp::json::reader::{Reader, Syntax};
use crate::otlp::json::{self, document};
use crate::otlp::{Batch, Limits};

/// Reads an input whole.
pub(super) fn input<'r>(
    input: Box<dyn Read + Send + 'r>,
    limits: &Limits,
    gather: &mut Gather,
    progress: &mut dyn FnMut(u64),
) {
    let source = match Plain::new(input, limits.max_inflated_bytes) {
        Ok(source) => source,
        Err(error) => return gather.problem(None, None, format!("cannot be read: {error}")),
    };
    let mut chunks = Chunks::new(source, limits.max_document_bytes);
    let head = chunks.head();
    let text = head.strip_prefix(json::MARK).unwrap_or(head);
    if text.iter().all(u8::is_ascii_whitespace) && chunks.has_ended() {
        let empty = chunks
            .take_fault()
            .unwrap_or_else(|| "file is empty".to_owned());
        gather.problem(None, None, empty);
    } else if binary::is_binary(chunks.head()) {
        if let Some(chunk) = chunks.all() {
            gather.add(binary::piece(&chunk.bytes, limits));
        }
    } else if let Some(format) = foreign::text(chunks.head()) {
        gather.problem(None, None, format.refusal());
    } else if is_lines(chunks.head()) {
        lines(&mut chunks, limits, gather, progress);
    } else if let Some(chunk) = chunks.all() {
        progress(chunks.taken());
        gather.add(piece(&chunk, &mut Batch::new(limits)));
    }
    progress(chunks.taken());
    if let Some(fault) = chunks.take_fault() {
        gather.problem(None, None, fault);
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

/// Reads pieces on all cores and joins them in order. Threads take the next piece when they are
/// done with one; no more than two each wait.
fn lines(
    chunks: &mut Chunks<'_>,
    limits: &Limits,
    gather: &mut Gather,
    progress: &mut dyn FnMut(u64),
) {
    let Some(first) = chunks.lines() else { return };
    if chunks.has_ended() {
        let mut batch = Batch::new(limits);
        gather.add(piece(&first, &mut batch));
        while let Some(chunk) = chunks.lines() {
            gather.add(piece(&chunk, &mut batch));
        }
        return;
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (work, todo) = mpsc::sync_channel::<(u64, Chunk)>(2 * threads);
    let (done, results) = mpsc::channel::<(u64, Piece)>();
    let todo = Mutex::new(todo);
    thread::scope(|scope| {
        for _ in 0..threads {
            let done = done.clone();
            let todo = &todo;
            scope.spawn(move || {
                let mut batch = Batch::new(limits);
                loop {
                    let Ok(next) = todo.lock().map(|todo| todo.recv()) else {
                        return;
                    };
                    let Ok((number, chunk)) = next else { return };
                    if done.send((number, piece(&chunk, &mut batch))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut joined = Joined::default();
        let mut next = Some(first);
        let mut number = 0;
        while let Some(chunk) = next {
            if work.send((number, chunk)).is_err() {
                break;
            }
            number += 1;
            while let Ok(result) = results.try_recv() {
                joined.add(result, gather);
            }
            progress(chunks.taken());
            next = chunks.lines();
        }
        drop(work);
        for result in results {
            joined.add(result, gather);
        }
    });
}

/// Pieces that came before their turn.
#[derive(Debug, Default)]
struct Joined {
    next: u64,
    waiting: BTreeMap<u64, Piece>,
}

impl Joined {
    fn add(&mut self, (number, piece): (u64, Piece), gather: &mut Gather) {
        self.waiting.insert(number, piece);
        while let Some(piece) = self.waiting.remove(&self.next) {
            gather.add(piece);
            self.next += 1;
        }
    }
}

/// Reads the documents of a piece of text.
pub(super) fn piece(chunk: &Chunk, batch: &mut Batch<'_>) -> Piece {
    let text = json::text(&chunk.bytes);
    let mut reader = Reader::new(&text);
    let mut piece = Piece::default();
    let mut lines = Lines::new(&text, chunk.line);
    let mut rejected_on = chunk.line;
    while !reader.is_at_end() {
        let start = reader.at();
        let mark = batch.mark();
        match document(&mut reader, batch) {
            Ok(found) if found.any() => {
                piece.has_traces |= found.traces;
                piece.has_logs |= found.logs;
                piece.has_metrics |= found.metrics;
                if batch.is_first_span_rejection(mark) {
                    rejected_on = lines.at(start).0;
                }
            }
            Ok(found) => {
                batch.back_to(mark);
                let whole = text.get(start..reader.at()).unwrap_or_default();
                if formats::read(&found, whole, batch) {
                    piece.has_traces = true;
                    if batch.is_first_span_rejection(mark) {
                        rejected_on = lines.at(start).0;
                    }
                } else {
                    piece.foreign.push((Format::of(&found), lines.at(start).0));
                }
            }
            Err(fault) => {
                batch.back_to(mark);
                piece.faults.push(fault_at(fault, start, &mut lines));
                reader.seek(resume(&text, start));
            }
        }
    }
    let points = batch.points;
    piece.take(batch.take(), points, rejected_on);
    piece
}

fn fault_at(fault: Syntax, start: usize, lines: &mut Lines<'_>) -> (u64, Option<u64>, String) {
    let begin = lines.at(start).0;
    let (line, column) = lines.at(fault.at);
    if fault.what == Syntax::CUT_OFF {
        (
            begin,
            None,
            "the document that begins here is cut off".to_owned(),
        )
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
    first: u64,
    known: (usize, u64),
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, first: u64) -> Self {
        Self {
            text,
            first,
            known: (0, first),
        }
    }

    fn at(&mut self, offset: usize) -> (u64, u64) {
        let bytes = self.text.as_bytes();
        let offset = offset.min(bytes.len());
        if offset < self.known.0 {
            self.known = (0, self.first);
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
