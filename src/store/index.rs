//! Small files beside the parts: a filter over the trace ids of each, so that a look-up opens only
//! those that have the trace, and lists of traces that later parts superseded.
//!
//! Both begin with eight bytes of magic that name the format and end with the XXH3-64 of all bytes
//! before it; numbers are little-endian. A filter is a Bloom filter over the XXH3-64 (seed 0) of
//! the sixteen bytes of an id; a few of its own ids stand in it, so that one whose bits are read
//! in another way than they were set is noticed. It can be made again from its part. A list is the
//! ids in order.

use std::io::{self, Write as _};
use std::path::Path;

use fastbloom::BloomFilter;
use polars::prelude::{Column, DataFrame, PlSmallStr, PolarsResult};
use xxhash_rust::xxh3::{Xxh3DefaultBuilder, xxh3_64};

use super::whole::{Existing, Whole};
use crate::model::TraceId;

const FILTER: &[u8; 8] = b"DWINIDS1";
const DEAD: &[u8; 8] = b"DWINDED1";
/// So often a look hits a part that does not have the trace. Each new trace is looked for in all
/// parts of its time, and one that is hit for nothing costs as much as ten new traces; at three
/// bytes a trace that is no cost any more.
const FALSE_HITS: f64 = 0.000_01;
/// Ids that stand in a filter to check it.
const KNOWN: usize = 8;

/// Which traces a part may have.
pub(super) struct Filter {
    bits: BloomFilter<Xxh3DefaultBuilder>,
    /// Traces of which other parts may have rows too, because their requests lie in several hours;
    /// in order.
    split: Vec<TraceId>,
    known: Vec<TraceId>,
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

/// The hash by which filters know an id.
pub(super) fn hash(id: TraceId) -> u64 {
    xxh3_64(&id.0)
}

impl Filter {
    pub(super) fn of(ids: &[TraceId], mut split: Vec<TraceId>) -> Self {
        let mut bits = BloomFilter::with_false_pos(FALSE_HITS)
            .hasher(Xxh3DefaultBuilder)
            .expected_items(ids.len().max(1));
        for id in ids {
            bits.insert_hash(hash(*id));
        }
        split.sort_unstable();
        split.dedup();
        let step = (ids.len() / KNOWN).max(1);
        let known = ids.iter().step_by(step).take(KNOWN).copied().collect();
        Self { bits, split, known }
    }

    /// One of a part of which nobody knows any more which of its traces others have too: all may be.
    pub(super) fn of_unknown(ids: &[TraceId]) -> Self {
        Self::of(ids, ids.to_vec())
    }

    /// Whether the part may have the trace with this [`hash`].
    pub(super) fn may_have(&self, hash: u64) -> bool {
        self.bits.contains_hash(hash)
    }

    pub(super) fn is_split(&self, id: TraceId) -> bool {
        self.split.binary_search(&id).is_ok()
    }

    pub(super) fn split(&self) -> &[TraceId] {
        &self.split
    }

    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = FILTER.to_vec();
        bytes.extend(u64::from(self.bits.num_hashes()).to_le_bytes());
        let words: Vec<u64> = self.bits.iter().collect();
        bytes.extend((words.len() as u64).to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        put_ids(&mut bytes, &self.split);
        put_ids(&mut bytes, &self.known);
        seal(path, bytes)
    }

    /// Reads one; an error says why it cannot be used.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let bytes = open(path, *FILTER)?;
        let mut rest = bytes.as_slice();
        let short = || "it is cut off".to_owned();
        let hashes = take_number(&mut rest).ok_or_else(short)?;
        let words = take_number(&mut rest).ok_or_else(short)?;
        let size = usize::try_from(words).ok().and_then(|n| n.checked_mul(8));
        let (words, mut rest) = size
            .and_then(|size| rest.split_at_checked(size))
            .ok_or_else(short)?;
        let words: Vec<u64> = words.chunks_exact(8).map(number).collect();
        if words.is_empty() || !(1..=64).contains(&hashes) {
            return Err("it is no filter".to_owned());
        }
        let bits = BloomFilter::from_vec(words)
            .hasher(Xxh3DefaultBuilder)
            .hashes(hashes as u32);
        let split = take_ids(&mut rest).ok_or_else(short)?;
        let known = take_ids(&mut rest).ok_or_else(short)?;
        let filter = Self { bits, split, known };
        if !filter.known.iter().all(|id| filter.may_have(hash(*id))) {
            return Err("it was made in another way".to_owned());
        }
        Ok(filter)
    }
}

/// Traces of a part that are superseded, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dead(Vec<TraceId>);

impl Dead {
    pub(super) fn of(ids: impl IntoIterator<Item = TraceId>) -> Self {
        let mut ids: Vec<TraceId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }

    pub(super) fn has(&self, id: TraceId) -> bool {
        self.0.binary_search(&id).is_ok()
    }

    pub(super) fn ids(&self) -> &[TraceId] {
        &self.0
    }

    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = DEAD.to_vec();
        put_ids(&mut bytes, &self.0);
        seal(path, bytes)
    }

    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let bytes = open(path, *DEAD)?;
        let mut rest = bytes.as_slice();
        let ids = take_ids(&mut rest).ok_or("it is cut off")?;
        if !ids.is_sorted() {
            return Err("its ids are not in order".to_owned());
        }
        Ok(Self(ids))
    }
}

/// Ids as a frame of one column, `trace_id`.
pub(super) fn frame_of(ids: impl Iterator<Item = TraceId>) -> PolarsResult<DataFrame> {
    let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    let height = ids.len();
    let column = Column::new(PlSmallStr::from_static("trace_id"), ids);
    DataFrame::new(height, vec![column])
}

fn put_ids(bytes: &mut Vec<u8>, ids: &[TraceId]) {
    bytes.extend((ids.len() as u64).to_le_bytes());
    bytes.extend(ids.iter().flat_map(|id| id.0));
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let (first, after) = rest.split_at_checked(8)?;
    *rest = after;
    Some(number(first))
}

fn take_ids(rest: &mut &[u8]) -> Option<Vec<TraceId>> {
    let count = usize::try_from(take_number(rest)?).ok()?;
    let (ids, after) = rest.split_at_checked(count.checked_mul(TraceId::BYTES)?)?;
    *rest = after;
    let ids = ids.chunks_exact(TraceId::BYTES);
    Some(
        ids.map(|id| TraceId(id.try_into().unwrap_or_default()))
            .collect(),
    )
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap_or_default())
}

pub(super) fn seal(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    let mut file = Whole::create(path, Existing::Replace)?;
    file.write_all(&bytes)?;
    file.finish()
}

/// What was sealed as a file of this kind.
pub(super) fn open(path: &Path, magic: [u8; 8]) -> Result<Vec<u8>, String> {
    match unseal(path)? {
        (found, body) if found == magic => Ok(body),
        _ => Err(SOMETHING_ELSE.to_owned()),
    }
}

pub(super) const SOMETHING_ELSE: &str = "it is something else";

/// What was sealed, whatever it is: its magic and what follows.
pub(super) fn unseal(path: &Path) -> Result<([u8; 8], Vec<u8>), String> {
    let mut bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let sum = bytes.len().checked_sub(8).ok_or("it is cut off")?;
    if xxh3_64(bytes.get(..sum).unwrap_or_default()) != number(bytes.get(sum..).unwrap_or_default())
    {
        return Err("its checksum does not match".to_owned());
    }
    bytes.truncate(sum);
    match bytes.split_first_chunk() {
        Some((magic, body)) => Ok((*magic, body.to_vec())),
        None => Err(SOMETHING_ELSE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> TraceId {
        let mut id = [7; 16];
        id[8..].copy_from_slice(&n.to_be_bytes());
        TraceId(id)
    }

    #[test]
    fn a_filter_comes_back_and_has_all_its_ids_and_few_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ids");
        let ids: Vec<TraceId> = (0..10_000).map(id).collect();
        Filter::of(&ids, vec![id(5), id(3)]).save(&path).unwrap();
        let filter = Filter::load(&path).unwrap();
        assert!(ids.iter().all(|id| filter.may_have(hash(*id))));
        let others = (10_000..110_000)
            .filter(|n| filter.may_have(hash(id(*n))))
            .count();
        // One is to be expected.
        assert!((1..10).contains(&others), "{others}");
        assert!(filter.is_split(id(3)) && filter.is_split(id(5)) && !filter.is_split(id(4)));
    }

    #[test]
    fn whatever_byte_of_an_index_file_changes_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.dead");
        let dead = Dead::of([id(9), id(1), id(9)]);
        dead.save(&path).unwrap();
        assert_eq!(Dead::load(&path).unwrap(), dead);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            let mut file = Whole::create(&path, Existing::Replace).unwrap();
            file.write_all(&bytes).unwrap();
            file.finish().unwrap();
            assert!(Dead::load(&path).is_err(), "{at}");
            assert!(Filter::load(&path).is_err(), "{at}");
        }
    }
}
