//! Cutting an input into pieces that can be read apart.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use super::source::Plain;

/// Bytes read before a cut is looked for.
const PIECE: usize = 1 << 20;

/// A piece of an input: whole lines or messages, or all that is left.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The line that it begins on, from 1.
    pub(super) line: u64,
    /// The byte of the unpacked input that it begins at, from 0.
    pub(super) offset: u64,
}

/// Where a text or a run of messages can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// What stands before this byte is whole.
    At(usize),
    /// Nothing is whole yet.
    More,
    /// Nothing will be, however much follows.
    Never,
}

/// The pieces of an input, in order.
pub(super) struct Chunks<'r> {
    source: Plain<'r>,
    /// What is read and not yet given out.
    pending: Vec<u8>,
    /// Bytes of `pending` that were looked through for the end of the first line.
    searched: usize,
    /// Whether the first line has begun in them.
    in_line: bool,
    line: u64,
    offset: u64,
    most: usize,
    ended: bool,
    fault: Option<String>,
}

impl<'r> Chunks<'r> {
    pub(super) fn new(source: Plain<'r>, most: usize) -> Self {
        Self {
            source,
            pending: Vec::new(),
            searched: 0,
            in_line: false,
            line: 1,
            offset: 0,
            most,
            ended: false,
            fault: None,
        }
    }

    /// Bytes taken from the input as it is stored.
    pub(super) fn taken(&self) -> u64 {
        self.source.taken().get()
    }

    /// Why reading stopped before the end.
    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    /// True when all of the input is in `pending`.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// What is read and not yet given out.
    pub(super) fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// What stands at the beginning: at least the first line that is not blank, if one piece
    /// after another brings its end within the cap; of what is no text, one piece.
    pub(super) fn head(&mut self, is_text: impl Fn(&[u8]) -> bool) -> &[u8] {
        if self.pending.is_empty() {
            self.fill();
        }
        if is_text(&self.pending) {
            while !self.ended && !self.has_line() {
                self.fill();
            }
        }
        &self.pending
    }

    /// True if `pending` holds a whole line that is not blank. No byte is looked at twice.
    fn has_line(&mut self) -> bool {
        let new = |searched: usize| self.pending.get(searched..).unwrap_or_default();
        if !self.in_line {
            let blank = new(self.searched)
                .iter()
                .take_while(|b| b.is_ascii_whitespace());
            self.searched += blank.count();
            self.in_line = self.searched < self.pending.len();
        }
        let has_end = self.in_line && memchr::memchr(b'\n', new(self.searched)).is_some();
        self.searched = self.pending.len();
        has_end
    }

    /// The next piece that ends before a line which can begin a document.
    pub(super) fn lines(&mut self) -> Option<Chunk> {
        self.units(|bytes, searched| {
            // The last byte of what was looked through may be a line end that is followed by
            // what is new.
            let from = searched.saturating_sub(1);
            match last_cut(bytes.get(from..).unwrap_or_default()) {
                Some(cut) => Cut::At(from + cut),
                None => Cut::More,
            }
        })
    }

    /// The next piece that ends where `cut` says; it is given what is pending, and how much of
    /// that it has seen before. At the end of the input, and where nothing can be cut any more,
    /// all that is pending.
    pub(super) fn units(&mut self, cut: impl Fn(&[u8], usize) -> Cut) -> Option<Chunk> {
        if self.pending.is_empty() {
            self.fill();
        }
        let mut seen = 0;
        loop {
            match cut(&self.pending, seen) {
                Cut::At(at) if at > 0 => return Some(self.give(at)),
                Cut::Never => self.ended = true,
                Cut::At(_) | Cut::More => {}
            }
            if self.ended {
                let all = self.pending.len();
                return (all > 0).then(|| self.give(all));
            }
            seen = self.pending.len();
            self.fill();
        }
    }

    /// All that is left, as one piece.
    pub(super) fn all(&mut self) -> Option<Chunk> {
        while !self.ended {
            self.fill();
        }
        let all = self.pending.len();
        (all > 0).then(|| self.give(all))
    }

    /// The bytes from where the last piece ended, and the bytes taken from the input for them.
    pub(super) fn into_reader(self) -> (impl Read + 'r, Rc<Cell<u64>>) {
        let taken = self.source.taken();
        let error = self.fault.map(Fault);
        let read = Cursor::new(self.pending).chain(error.unwrap_or_default());
        (read.chain(self.source), taken)
    }

    fn give(&mut self, cut: usize) -> Chunk {
        let rest = self.pending.split_off(cut);
        let chunk = Chunk {
            bytes: std::mem::replace(&mut self.pending, rest),
            line: self.line,
            offset: self.offset,
        };
        self.line += memchr::memchr_iter(b'\n', &chunk.bytes).count() as u64;
        self.offset += chunk.bytes.len() as u64;
        chunk
    }

    fn fill(&mut self) {
        if self.ended {
            return;
        }
        if self.pending.len() >= self.most {
            self.ended = true;
            self.fault = Some(format!(
                "a document of more than {} MiB: split it, one request per line",
                self.most >> 20
            ));
            self.pending.clear();
            return;
        }
        match self.source.read_into(&mut self.pending, PIECE) {
            Ok(got) => self.ended = got < PIECE,
            Err(error) => {
                self.ended = true;
                self.fault = Some(self.stopped(&error));
            }
        }
    }

    fn stopped(&self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::UnexpectedEof && self.source.is_compressed() {
            let taken = self.taken();
            format!("cut off at byte {taken}: the compressed data ends in the middle")
        } else {
            format!("reading stopped: {error}")
        }
    }
}

/// Ends a reader with a fault, or with nothing.
#[derive(Default)]
struct Fault(String);

impl Read for Fault {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        Err(io::Error::other(std::mem::take(&mut self.0)))
    }
}

/// The first line that is not blank, without its end.
pub(super) fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let line = bytes.get(start..)?;
    let end = memchr::memchr(b'\n', line)?;
    line.get(..end)
}

/// The last line end that is followed by what can begin a document.
fn last_cut(bytes: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'\n', bytes)
        .map(|newline| newline + 1)
        .find(|&next| matches!(bytes.get(next), Some(b'{' | b'[')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_made_before_a_line_that_can_begin_a_document() {
        assert_eq!(last_cut(b"{}\n{}\n{\n  \"a\": 1\n}\n"), Some(6));
        assert_eq!(last_cut(b"{\n  \"a\": 1\n}\n"), None);
        assert_eq!(first_line(b"\n \r\n{} \n"), Some(&b"{} "[..]));
        assert_eq!(first_line(b"\n{}"), None);
    }
}
