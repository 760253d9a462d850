//! Cutting a text into pieces that can be read apart.

use super::source::Plain;

/// Bytes read before a cut is looked for.
const PIECE: usize = 1 << 20;

/// A piece of a text: whole lines, or all that is left.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The line that it begins on, from 1.
    pub(super) line: u64,
}

/// The pieces of an input, in order.
pub(super) struct Chunks<'r> {
    source: Plain<'r>,
    /// What is read and not yet given out.
    pending: Vec<u8>,
    line: u64,
    most: usize,
    ended: bool,
    fault: Option<String>,
}

impl<'r> Chunks<'r> {
    pub(super) fn new(source: Plain<'r>, most: usize) -> Self {
        Self {
            source,
            pending: Vec::new(),
            line: 1,
            most,
            ended: false,
            fault: None,
        }
    }

    /// Bytes taken from the input as it is stored.
    pub(super) fn taken(&self) -> u64 {
        self.source.taken()
    }

    /// Why reading stopped before the end.
    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    /// True when all of the input is in `pending`.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// What stands at the beginning: at least the first line that is not blank, if one piece
    /// after another brings its end within the cap.
    pub(super) fn head(&mut self) -> &[u8] {
        while !self.ended && first_line(&self.pending).is_none() {
            self.fill();
        }
        &self.pending
    }

    /// The next piece that ends before a line which can begin a document.
    pub(super) fn lines(&mut self) -> Option<Chunk> {
        if self.pending.is_empty() {
            self.fill();
        }
        loop {
            if let Some(cut) = last_cut(&self.pending) {
                return Some(self.give(cut));
            }
            if self.ended {
                let all = self.pending.len();
                return (all > 0).then(|| self.give(all));
            }
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

    fn give(&mut self, cut: usize) -> Chunk {
        let rest = self.pending.split_off(cut);
        let chunk = Chunk {
            bytes: std::mem::replace(&mut self.pending, rest),
            line: self.line,
        };
        self.line += memchr::memchr_iter(b'\n', &chunk.bytes).count() as u64;
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
                self.fault = Some(format!("reading stopped: {error}"));
            }
        }
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
