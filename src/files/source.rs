//! Opening inputs and taking off their compression.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Input;
use crate::otlp::Encoding;
use crate::otlp::inflate;

/// Compression within compression that is taken off.
const LAYERS: usize = 4;
const BUFFER: usize = 256 << 10;

/// Bytes to come, as far as the files tell; 0 when one of them cannot.
pub(super) fn total_bytes(inputs: &[Input]) -> u64 {
    let size = |input: &Input| match input {
        Input::Path(path) => fs::metadata(path).ok().filter(fs::Metadata::is_file),
        Input::Stdin => None,
    };
    let sizes: Option<Vec<_>> = inputs.iter().map(size).collect();
    sizes.map_or(0, |sizes| sizes.iter().map(fs::Metadata::len).sum())
}

/// The bytes of an input as they are stored, or why there are none.
pub(super) fn open(input: &Input) -> Result<Box<dyn Read + Send>, String> {
    let Input::Path(path) = input else {
        return Ok(Box::new(io::stdin()));
    };
    let metadata = fs::metadata(path).map_err(|error| refusal(&error))?;
    if metadata.is_dir() {
        return Err("is a directory; name the files in it".to_owned());
    }
    let file = File::open(path).map_err(|error| refusal(&error))?;
    Ok(Box::new(file))
}

fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be opened: {error}"),
    }
}

/// The bytes of an input without its compression.
pub(super) struct Plain<'r> {
    reader: Box<dyn BufRead + Send + 'r>,
    /// Bytes taken from the input as it is stored.
    taken: Arc<AtomicU64>,
    /// Bytes that may still come out, when they are compressed.
    left: Option<u64>,
}

impl<'r> Plain<'r> {
    pub(super) fn new(input: Box<dyn Read + Send + 'r>, cap: u64) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            inner: input,
            taken: Arc::clone(&taken),
        };
        let mut reader: Box<dyn BufRead + Send + 'r> =
            Box::new(BufReader::with_capacity(BUFFER, counted));
        let mut left = None;
        for _ in 0..LAYERS {
            let start = reader.fill_buf()?;
            let encoding = Encoding::from_magic(start);
            if encoding == Encoding::Identity {
                break;
            }
            left = Some(cap);
            reader = Box::new(BufReader::with_capacity(
                BUFFER,
                inflate::stream(encoding, reader)?,
            ));
        }
        Ok(Self {
            reader,
            taken,
            left,
        })
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Adds up to `most` bytes to `out`; 0 at the end.
    pub(super) fn read_into(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let got = (&mut self.reader).take(most as u64).read_to_end(out)?;
        if let Some(left) = &mut self.left {
            *left = left
                .checked_sub(got as u64)
                .ok_or_else(|| io::Error::other("more comes out of it than a file may hold"))?;
        }
        Ok(got)
    }
}

struct Counted<'r> {
    inner: Box<dyn Read + Send + 'r>,
    taken: Arc<AtomicU64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.taken.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}
