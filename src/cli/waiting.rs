//! Texts that wait to be printed in another order than the one in which they came.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

/// Bytes of texts that wait in memory; more of them wait in a temporary file.
const ROOM: usize = 64 << 20;
/// Bytes that are written at once.
const BLOCK: usize = 1 << 20;

/// Texts by the place that each got; threads may add to them at once.
#[derive(Debug)]
pub(super) struct Waiting {
    all: Mutex<All>,
}

#[derive(Debug)]
struct All {
    room: usize,
    /// It has no name: nothing is left behind, however the process ends.
    file: Option<File>,
    written: u64,
    /// What comes behind what is written.
    unwritten: Vec<u8>,
    fault: Option<io::Error>,
}

/// A text that waits.
#[derive(Debug)]
pub(super) enum Text {
    /// In memory.
    Here(Box<str>),
    /// In the file.
    There {
        /// Where it begins.
        at: u64,
        /// Its bytes.
        length: usize,
    },
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self::with_room(ROOM)
    }

    fn with_room(room: usize) -> Self {
        Self {
            all: Mutex::new(All {
                room,
                file: None,
                written: 0,
                unwritten: Vec::new(),
                fault: None,
            }),
        }
    }

    /// Takes a text. That it could not be kept is told when it is asked for.
    pub(super) fn put(&self, text: String) -> Text {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = all.room.checked_sub(text.len()) {
            all.room = room;
            return Text::Here(text.into());
        }
        // The order of what is in the file is that of its coming: once one is there, all are.
        all.room = 0;
        let at = all.written + all.unwritten.len() as u64;
        all.unwritten.extend_from_slice(text.as_bytes());
        if all.unwritten.len() >= BLOCK {
            all.write();
        }
        Text::There {
            at,
            length: text.len(),
        }
    }

    /// Nothing more comes; the texts can be asked for.
    pub(super) fn ready(self) -> anyhow::Result<Ready> {
        let mut all = self
            .all
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if all.file.is_some() || !all.unwritten.is_empty() {
            all.write();
        }
        let folder = std::env::temp_dir();
        match all.fault {
            Some(error) => Err(error).with_context(|| {
                format!(
                    "what is to be printed does not fit in memory and cannot be put into a \
                     temporary file in `{}`; set TMPDIR to a folder with room",
                    folder.display()
                )
            }),
            None => Ok(Ready { file: all.file }),
        }
    }
}

impl All {
    fn write(&mut self) {
        let block = std::mem::take(&mut self.unwritten);
        self.written += block.len() as u64;
        if self.fault.is_some() {
            return;
        }
        let file = match &mut self.file {
            Some(file) => Ok(file),
            none => tempfile::tempfile().map(|file| none.insert(file)),
        };
        self.fault = file.and_then(|file| file.write_all(&block)).err();
    }
}

/// Texts that can be asked for.
#[derive(Debug)]
pub(super) struct Ready {
    file: Option<File>,
}

impl Ready {
    /// The text that waited.
    pub(super) fn take<'t>(&mut self, text: &'t Text) -> anyhow::Result<Cow<'t, str>> {
        let (at, length) = match text {
            Text::Here(text) => return Ok(Cow::Borrowed(text)),
            Text::There { at, length } => (*at, *length),
        };
        let mut bytes = vec![0; length];
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(at))
                .and_then(|_| file.read_exact(&mut bytes))
                .context("what was put into a temporary file cannot be read back")?;
        }
        Ok(Cow::Owned(String::from_utf8(bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_from_memory_and_from_the_file() {
        let waiting = Waiting::with_room(5_000);
        let text = |i: usize| format!("{i} {}", "x".repeat(i % 700));
        let places: Vec<Text> = (0..9_000).map(|i| waiting.put(text(i))).collect();
        let here = |text: &&Text| matches!(text, Text::Here(_));
        let few = places.iter().filter(here).count();
        assert!((1..200).contains(&few), "{few} in memory");
        let mut ready = waiting.ready().unwrap();
        for (i, place) in places.iter().enumerate().rev() {
            assert_eq!(ready.take(place).unwrap(), text(i));
        }
    }
}
