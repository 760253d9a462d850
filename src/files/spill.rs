//! Spans beyond what may be held in memory: in a temporary file, in parts by trace id.
//!
//! The file has no name (it is unlinked, or deleted on close, from the beginning), so nothing is
//! left behind however the process ends. A part holds all spans of its traces; it is read back
//! whole, and put into parts again if it is itself too large. What is written is OTLP protobuf,
//! each block compressed: the temporary folder may itself be memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use prost::Message;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::gather::{bytes_of, group};
use super::held::Traces;
use super::pool::each_large;
use crate::model::{Span, SpanLog, Trace, TraceId};
use crate::otlp::{
    Encoding, InflateError, Limits, inflate, logs_from_proto, logs_to_proto, traces_from_proto,
    traces_to_proto,
};

/// Parts that traces are put into.
const PARTS: usize = 64;
/// How often a part that is too large is put into parts again.
const LEVELS: u64 = 4;
/// Spans are written to be read once, soon.
const ZSTD_LEVEL: i32 = 1;

/// Why spans could not be put aside, or not be read back.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    /// The folder for temporary files has no room, or none may be made there.
    #[error(
        "the spans do not fit in memory and cannot be put into a temporary file in `{folder}`; \
         set TMPDIR to a folder with room"
    )]
    Write {
        /// The folder for temporary files.
        folder: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// What was written cannot be read.
    #[error("spans that were put into a temporary file cannot be read back")]
    Read(#[source] io::Error),
}

impl SpillError {
    fn write(source: io::Error) -> Self {
        Self::Write {
            folder: std::env::temp_dir().display().to_string(),
            source,
        }
    }

    fn changed() -> Self {
        Self::Read(io::Error::other("other bytes than were written"))
    }
}

/// A temporary file of spans.
#[derive(Debug)]
pub(super) struct Spill {
    file: File,
    /// Where the next block goes.
    end: u64,
    parts: Vec<Part>,
    limits: Limits,
    /// How often these spans were put into parts before.
    level: u64,
}

/// Some traces, whole.
#[derive(Debug, Default)]
struct Part {
    blocks: Vec<Block>,
    /// About how many bytes it takes in memory.
    bytes: usize,
    /// Its trace, as long as it has only one.
    only: Option<TraceId>,
    several: bool,
}

/// A stretch of the file, compressed alone.
#[derive(Debug, Clone, Copy)]
struct Block {
    at: u64,
    length: usize,
    /// Bytes before compression.
    plain: usize,
    spans: u64,
    logs: u64,
}

/// What goes to a part at once.
#[derive(Debug, Default)]
struct Share {
    traces: Vec<Trace>,
    logs: Vec<SpanLog>,
}

impl Spill {
    pub(super) fn new(limits: &Limits, level: u64) -> Result<Self, SpillError> {
        let mut parts = Vec::new();
        parts.resize_with(PARTS, Part::default);
        Ok(Self {
            file: tempfile::tempfile().map_err(SpillError::write)?,
            end: 0,
            parts,
            limits: Limits {
                max_message_bytes: usize::MAX,
                ..limits.clone()
            },
            level,
        })
    }

    /// Writes these to the parts of their traces.
    pub(super) fn put(
        &mut self,
        traces: impl IntoIterator<Item = Trace>,
        logs: Vec<SpanLog>,
    ) -> Result<(), SpillError> {
        let mut shares: Vec<Share> = Vec::new();
        shares.resize_with(PARTS, Share::default);
        for trace in traces {
            if let Some(share) = shares.get_mut(self.part_of(trace.id)) {
                share.traces.push(trace);
            }
        }
        for log in logs {
            if let Some(share) = shares.get_mut(self.part_of(log.trace_id)) {
                share.logs.push(log);
            }
        }
        let blocks = each_large(shares, Share::encode);
        for (place, block) in blocks.into_iter().enumerate() {
            let Some(Encoded {
                bytes,
                block,
                size,
                only,
                several,
            }) = block.map_err(SpillError::write)?
            else {
                continue;
            };
            self.file.write_all(&bytes).map_err(SpillError::write)?;
            if let Some(part) = self.parts.get_mut(place) {
                part.several |= several || part.only.is_some_and(|known| Some(known) != only);
                part.only = only;
                part.bytes += size;
                part.blocks.push(Block {
                    at: self.end,
                    ..block
                });
            }
            self.end += bytes.len() as u64;
        }
        Ok(())
    }

    fn part_of(&self, id: TraceId) -> usize {
        // Another seed on each level, so that what fell together falls apart.
        (xxh3_64_with_seed(&id.0, self.level) % PARTS as u64) as usize
    }

    /// Hands all traces to `take`, whole, many at a time: a quarter of the bound, for what is made
    /// of them stays and grows meanwhile. More only if one trace alone takes more.
    pub(super) fn drain(self, take: &mut dyn FnMut(Vec<Trace>)) -> Result<(), SpillError> {
        let bound = self.limits.max_held_bytes / 4;
        let mut todo = vec![self];
        while let Some(mut spill) = todo.pop() {
            let mut batch = Vec::new();
            let mut bytes = 0;
            for part in std::mem::take(&mut spill.parts) {
                if part.bytes > bound && part.several && spill.level < LEVELS {
                    todo.push(spill.divided(&part)?);
                    continue;
                }
                if bytes + part.bytes > bound && !batch.is_empty() {
                    take(spill.read(&std::mem::take(&mut batch))?);
                    bytes = 0;
                }
                bytes += part.bytes;
                batch.extend(part.blocks);
            }
            if !batch.is_empty() {
                take(spill.read(&batch)?);
            }
        }
        Ok(())
    }

    /// A part that is too large, in a file of its own with parts of its own.
    fn divided(&mut self, part: &Part) -> Result<Self, SpillError> {
        let mut divided = Self::new(&self.limits, self.level + 1)?;
        let mut held = Share::default();
        let mut bytes = 0;
        for block in &part.blocks {
            let share = block.decode(&self.fetch(block)?, &self.limits)?;
            bytes += share.bytes();
            held.traces.extend(share.traces);
            held.logs.extend(share.logs);
            if bytes > self.limits.max_held_bytes / 4 {
                let held = std::mem::take(&mut held);
                divided.put(held.traces, held.logs)?;
                bytes = 0;
            }
        }
        divided.put(held.traces, held.logs)?;
        Ok(divided)
    }

    /// The traces of these blocks, which hold all of each.
    fn read(&mut self, blocks: &[Block]) -> Result<Vec<Trace>, SpillError> {
        let fetched: Result<Vec<(Block, Vec<u8>)>, SpillError> = blocks
            .iter()
            .map(|block| Ok((*block, self.fetch(block)?)))
            .collect();
        let limits = &self.limits;
        let shares = each_large(fetched?, |(block, bytes)| block.decode(&bytes, limits));
        let mut traces = Traces::default();
        for share in shares {
            let share = share?;
            traces.add(share.traces, share.logs);
        }
        Ok(traces.finish())
    }

    fn fetch(&mut self, block: &Block) -> Result<Vec<u8>, SpillError> {
        let mut bytes = vec![0; block.length];
        self.file
            .seek(SeekFrom::Start(block.at))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(SpillError::Read)?;
        Ok(bytes)
    }
}

/// A block that is not yet written.
struct Encoded {
    bytes: Vec<u8>,
    block: Block,
    size: usize,
    only: Option<TraceId>,
    several: bool,
}

impl Share {
    fn bytes(&self) -> usize {
        let spans = self.traces.iter().map(|trace| bytes_of(&trace.spans, &[]));
        spans.sum::<usize>() + bytes_of(&[], &self.logs)
    }

    /// Its bytes in the file; nothing if it is empty.
    fn encode(self) -> io::Result<Option<Encoded>> {
        let ids = self.traces.iter().map(|trace| trace.id);
        let mut ids = ids.chain(self.logs.iter().map(|log| log.trace_id));
        let Some(only) = ids.next() else {
            return Ok(None);
        };
        let several = ids.any(|id| id != only);
        let spans = by_maker(self.traces);
        let size = bytes_of(&spans, &self.logs);
        let mut plain = traces_to_proto(&spans).encode_length_delimited_to_vec();
        let logs = self.logs.len() as u64;
        if logs > 0 {
            plain.extend(logs_to_proto(&self.logs).encode_to_vec());
        }
        let bytes = zstd::bulk::compress(&plain, ZSTD_LEVEL)?;
        Ok(Some(Encoded {
            block: Block {
                at: 0,
                length: bytes.len(),
                plain: plain.len(),
                spans: spans.len() as u64,
                logs,
            },
            bytes,
            size,
            only: Some(only),
            several,
        }))
    }
}

impl Block {
    fn decode(&self, bytes: &[u8], limits: &Limits) -> Result<Share, SpillError> {
        let changed = |_| SpillError::changed();
        let plain = inflate(Encoding::Zstd, bytes, self.plain).map_err(|error| match error {
            InflateError::Broken { source, .. } => SpillError::Read(source),
            InflateError::TooLarge { .. } => SpillError::changed(),
        })?;
        let mut rest = &*plain;
        let length =
            prost::decode_length_delimiter(&mut rest).map_err(|_| SpillError::changed())?;
        let (spans, logs) = rest
            .split_at_checked(length)
            .ok_or_else(SpillError::changed)?;
        let spans = traces_from_proto(spans, limits).map_err(changed)?;
        let logs = logs_from_proto(logs, limits).map_err(changed)?.logs;
        if (spans.spans.len() as u64, logs.len() as u64) != (self.spans, self.logs) {
            return Err(SpillError::changed());
        }
        Ok(Share {
            traces: group(spans.spans),
            logs,
        })
    }
}

/// The spans, those of one resource and scope together: what they share is then written once.
fn by_maker(traces: Vec<Trace>) -> Vec<Span> {
    let mut spans: Vec<Span> = traces.into_iter().flat_map(|trace| trace.spans).collect();
    let mut order = HashMap::new();
    spans.sort_by_cached_key(|span| {
        let next = order.len();
        let maker = (
            std::sync::Arc::as_ptr(&span.resource),
            std::sync::Arc::as_ptr(&span.scope),
        );
        *order.entry(maker).or_insert(next)
    });
    spans
}
