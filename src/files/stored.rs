//! Files of the store. What is in them is none of this module's knowledge: whoever gathers brings
//! the reader along.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::chunks::Chunks;
use super::gather::{Gather, Piece};
use crate::model::{Span, SpanLog};
use crate::otlp::Decoded;

/// Where the bytes of a stored file are.
#[derive(Debug)]
pub enum Content {
    /// In a file on the disk, from its beginning.
    File(File),
    /// Here: the file came through a pipe, or stood in an archive or under a compression.
    Bytes(Vec<u8>),
}

/// Why a stored file gives no spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// It is not for Dwindle, or not for reading traces.
    Refused(String),
    /// It should have given some.
    Broken(String),
}

/// Takes spans and log records piece by piece. False when there is no sense in going on.
pub type Take<'a> = &'a mut dyn FnMut(Vec<Span>, Vec<SpanLog>) -> bool;

/// Knows stored files and reads them.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    /// Whether a file that begins so is one.
    pub is_stored: fn(&[u8]) -> bool,
    /// Reads one.
    pub read: &'a dyn Fn(Content, Take<'_>) -> Result<(), Unread>,
}

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stored")
    }
}

/// Reads a stored file; `path` is where it lies, if it lies there as it is.
pub(super) fn input(
    stored: Stored<'_>,
    path: Option<&Path>,
    chunks: &mut Chunks<'_>,
    gather: &mut Gather,
) {
    let content = match path.and_then(|path| as_it_is(stored, path)) {
        Some(file) => Content::File(file),
        None => Content::Bytes(chunks.all().map(|all| all.bytes).unwrap_or_default()),
    };
    let mut take = |spans: Vec<Span>, logs: Vec<SpanLog>| {
        let mut piece = Piece::default();
        let decoded = Decoded {
            received: (spans.len() + logs.len()) as u64,
            spans,
            logs,
            ..Decoded::default()
        };
        piece.add(decoded, 0, None);
        piece.has.traces = true;
        gather.add(piece.whole())
    };
    match (stored.read)(content, &mut take) {
        Ok(()) => gather.has_use(),
        Err(Unread::Refused(reason)) => gather.refuse(reason),
        Err(Unread::Broken(reason)) => gather.problem(None, None, reason),
    }
}

/// The file, if nothing has to be taken off it.
fn as_it_is(stored: Stored<'_>, path: &Path) -> Option<File> {
    let mut head = Vec::new();
    let opened = File::open(path).ok()?;
    opened.take(64).read_to_end(&mut head).ok()?;
    (stored.is_stored)(&head).then(|| File::open(path).ok())?
}
