//! Writing all tables at once.

use std::io::{self, Write};

use super::write::{Encoding, Groups, other};
use crate::model::{Analysis, Request, Trace};
use crate::store::tables::{Builder, Table, Wanted};

/// Rows of the largest table that wait until they are written.
const WAITING: usize = 65_536;

/// Writes the tables trace by trace, each to a writer of its own, in about the memory of a row
/// group.
#[derive(Debug)]
pub struct TablesWriter<W: Write> {
    files: Vec<Groups<W>>,
    builder: Builder,
    wanted: Wanted,
}

impl<W: Write> TablesWriter<W> {
    /// Begins all files.
    ///
    /// # Errors
    /// What `open` or a writer says.
    pub fn new(mut open: impl FnMut(Table) -> io::Result<W>) -> io::Result<Self> {
        let wanted = Wanted::tables(Table::ALL);
        let like = Builder::new(&wanted).finish().map_err(other)?;
        let begin = |(table, like)| {
            Groups::begin(table, &like, open(table)?, Encoding::FILE).map_err(other)
        };
        Ok(Self {
            files: like.into_iter().map(begin).collect::<io::Result<_>>()?,
            builder: Builder::new(&wanted),
            wanted,
        })
    }

    /// Adds the rows of those requests of a trace that `which` takes, and the spans that belong to
    /// them; without it all. Returns how many spans these are.
    ///
    /// # Errors
    /// What a writer says.
    pub fn add(
        &mut self,
        trace: &Trace,
        analysis: &Analysis,
        which: Option<&(dyn Fn(&Request) -> bool + Sync)>,
    ) -> io::Result<usize> {
        let added = self.builder.add_some(trace, analysis, which);
        if self.builder.rows() >= WAITING {
            self.flush()?;
        }
        Ok(added.spans())
    }

    fn flush(&mut self) -> io::Result<()> {
        let full = std::mem::replace(&mut self.builder, Builder::new(&self.wanted));
        let frames = full.finish().map_err(other)?;
        for (file, (_, frame)) in self.files.iter_mut().zip(frames) {
            file.add(&frame).map_err(other)?;
        }
        Ok(())
    }

    /// Ends the files and gives the writers back, flushed, in the order of [`Table::ALL`].
    ///
    /// # Errors
    /// What a writer says.
    pub fn finish(mut self) -> io::Result<Vec<W>> {
        self.flush()?;
        self.files.into_iter().map(Groups::finish).collect()
    }
}
