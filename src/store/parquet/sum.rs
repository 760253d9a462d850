//! A checksum inside the file that it is of: its place is written as zeros first, counts as zeros,
//! and is filled in at the end, while the footer is still in memory.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::Xxh3Default;

/// The metadata's key.
pub(super) const KEY: &str = "dwindle.checksum";

const SCHEME: &[u8] = b"xxh3:";
const DIGITS: usize = 16;

/// What stands in the metadata before the sum is known.
pub(super) fn placeholder() -> String {
    format!("xxh3:{}", "0".repeat(DIGITS))
}

/// A writer that sums what passes. Clones share it: one is given away, one ends the file.
pub(super) struct Summed<W>(Arc<Mutex<State<W>>>);

struct State<W> {
    inner: Option<W>,
    sum: Xxh3Default,
    /// The end of the file, held back until its sum is known.
    footer: Option<Vec<u8>>,
}

impl<W> Clone for Summed<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> Summed<W> {
    pub(super) fn new(inner: W) -> Self {
        Self(Arc::new(Mutex::new(State {
            inner: Some(inner),
            sum: Xxh3Default::new(),
            footer: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on all is footer.
    pub(super) fn begin_footer(&self) {
        self.state().footer = Some(Vec::new());
    }

    /// Fills the sum in and hands the writer back, with everything written to it.
    pub(super) fn finish(self) -> io::Result<W> {
        let mut state = self.state();
        let mut footer = state.footer.take().unwrap_or_default();
        let place = place(&footer).ok_or_else(|| io::Error::other("no place for the checksum"))?;
        state.sum.update(&footer);
        let digits = format!("{:016x}", state.sum.digest());
        if let Some(zeros) = footer.get_mut(place..place + DIGITS) {
            zeros.copy_from_slice(digits.as_bytes());
        }
        let mut inner = state
            .inner
            .take()
            .ok_or_else(|| io::Error::other("the file is already ended"))?;
        inner.write_all(&footer)?;
        Ok(inner)
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        if let Some(footer) = &mut state.footer {
            footer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let Some(inner) = &mut state.inner else {
            return Err(io::Error::other("the file is already ended"));
        };
        let written = inner.write(bytes)?;
        state.sum.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state().inner {
            Some(inner) => inner.flush(),
            None => Ok(()),
        }
    }
}

/// Where the digits stand in a footer: behind the key and the scheme (and a few bytes of framing
/// between them).
fn place(footer: &[u8]) -> Option<usize> {
    const BETWEEN: usize = 8;
    let key = memchr::memmem::rfind(footer, KEY.as_bytes())? + KEY.len();
    let near = footer.get(key..footer.len().min(key + BETWEEN + SCHEME.len()))?;
    let digits = key + memchr::memmem::find(near, SCHEME)? + SCHEME.len();
    (digits + DIGITS <= footer.len()).then_some(digits)
}

/// What a look at the sum of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    /// All bytes are as they were written.
    Whole,
    /// They are not.
    Damaged,
    /// The file has no sum.
    None,
}

/// Sums `length` bytes, of which the last are `footer`, and compares.
pub(super) fn check(mut bytes: impl Read, length: u64, footer: &[u8]) -> io::Result<Checked> {
    let Some(place) = place(footer) else {
        return Ok(Checked::None);
    };
    let mut left = length.saturating_sub(footer.len() as u64);
    let mut sum = Xxh3Default::new();
    let mut buffer = vec![0; 256 << 10];
    while left > 0 {
        let most = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(room) = buffer.get_mut(..most) else {
            break;
        };
        bytes.read_exact(room)?;
        sum.update(room);
        left -= most as u64;
    }
    let (before, rest) = footer.split_at(place);
    let (digits, after) = rest.split_at(DIGITS.min(rest.len()));
    sum.update(before);
    sum.update(&[b'0'; DIGITS]);
    sum.update(after);
    let expected = format!("{:016x}", sum.digest());
    Ok(if expected.as_bytes() == digits {
        Checked::Whole
    } else {
        Checked::Damaged
    })
}
