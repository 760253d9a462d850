//! Opening inputs and taking off their compression.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use super::Input;
use crate::otlp::Encoding;
use crate::otlp::inflate;

/// Compression within compression that is taken off.
const LAYERS: usize = 4;
const BUFFER: usize = 256 << 10;
/// Bytes of the smallest place that is made for what is read.
const LEAST: usize = 4 << 10;

/// The bytes of an input as they are stored, or why there are none.
pub(super) fn open(input: &Input) -> Result<Box<dyn Read>, String> {
    let Input::Path(path) = input else {
        return Ok(Box::new(io::stdin()));
    };
    let file = File::open(path).map_err(|error| refusal(&error))?;
    Ok(Box::new(file))
}

/// Why a path cannot be read, for people.
pub(super) fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be opened: {error}"),
    }
}

/// How many bytes of a file there are; 0 for what has no size.
pub(super) fn size(input: &Input) -> Option<u64> {
    match input {
        Input::Path(path) => fs::metadata(path)
            .ok()
            .filter(fs::Metadata::is_file)
            .map(|file| file.len()),
        Input::Stdin => None,
    }
}

/// Bytes that may still come out of compressed input: one allowance for an input and all that is
/// packed in it, so that no nesting multiplies it.
#[derive(Debug, Clone)]
pub(super) struct Allowance(Rc<Cell<u64>>);

impl Allowance {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Rc::new(Cell::new(bytes)))
    }

    fn spend(&self, bytes: u64) -> io::Result<()> {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.unwrap_or(0));
        left.map(drop)
            .ok_or_else(|| io::Error::other("more comes out of it than a file may hold"))
    }
}

/// The bytes of an input without its compression.
pub(super) struct Plain<'r> {
    reader: Box<dyn BufRead + 'r>,
    /// Bytes taken from the input as it is stored.
    taken: Rc<Cell<u64>>,
    is_compressed: bool,
    allowance: Allowance,
}

impl<'r> Plain<'r> {
    pub(super) fn new(input: Box<dyn Read + 'r>, allowance: &Allowance) -> io::Result<Self> {
        let taken = Rc::default();
        let counted = Counted {
            inner: input,
            taken: Rc::clone(&taken),
        };
        let mut reader: Box<dyn BufRead + 'r> = Box::new(BufReader::with_capacity(BUFFER, counted));
        let mut is_compressed = false;
        for _ in 0..LAYERS {
            let start = reader.fill_buf()?;
            let encoding = Encoding::from_magic(start);
            if encoding == Encoding::Identity {
                break;
            }
            is_compressed = true;
            reader = Box::new(BufReader::with_capacity(
                BUFFER,
                inflate::stream(encoding, reader)?,
            ));
        }
        Ok(Self {
            reader,
            taken,
            is_compressed,
            allowance: allowance.clone(),
        })
    }

    /// Bytes taken so far from the input as it is stored.
    pub(super) fn taken(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.taken)
    }

    /// True if the bytes of the input were compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// Adds up to `most` bytes to `out`; less than that at the end alone. What came before a
    /// fault is in `out`, too.
    pub(super) fn read_into(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let before = out.len();
        let mut got = 0;
        let mut fault = Ok(());
        while got < most {
            if before + got == out.len() {
                // Straight into its place: a buffer in between would cost a copy. As much again as
                // came so far: a small file needs no large place.
                let came = usize::try_from(self.taken.get()).unwrap_or(most);
                let more = came.max(got).max(LEAST).min(most - got);
                out.resize(before + got + more, 0);
            }
            let room = out.get_mut(before + got..).unwrap_or_default();
            match self.reader.read(room) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    fault = Err(error);
                    break;
                }
            }
        }
        out.truncate(before + got);
        if self.is_compressed {
            self.allowance.spend(got as u64)?;
        }
        fault.map(|()| got)
    }
}

impl Read for Plain<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        if self.is_compressed {
            self.allowance.spend(got as u64)?;
        }
        Ok(got)
    }
}

struct Counted<'r> {
    inner: Box<dyn Read + 'r>,
    taken: Rc<Cell<u64>>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.taken.set(self.taken.get() + got as u64);
        Ok(got)
    }
}
