//! Parquet files of the [`tables`](super::tables): zstd, with statistics, and plain enough that
//! `DuckDB`, Trino, `ClickHouse` or pandas read them unasked.
//!
//! The metadata of a file says who wrote it:
//!
//! | key | value |
//! |---|---|
//! | `dwindle.format` | [`FORMAT`]; a file of a newer one is refused by name |
//! | `dwindle.version` | the version that wrote it |
//! | `dwindle.table` | the table |
//! | `dwindle.checksum` | `xxh3:` and the XXH3-64 of all other bytes of the file |
//!
//! Parquet readers find no flipped bit in a page: the format's own checksums are optional and
//! hardly anybody writes them. So the whole file has one, and what reads it back looks first.

mod read;
mod sum;
mod tables;
mod write;

pub use read::{FileError, Source, is_parquet, read_spans};
pub(super) use read::{check, guarded, read_spans_of};
pub use tables::TablesWriter;
pub(super) use write::{Encoding, Groups, other};
pub use write::{SpanWriter, write};

/// The format that is written. It rises when a reader of the older one would misread the file.
pub const FORMAT: u32 = 1;

const FORMAT_KEY: &str = "dwindle.format";
const VERSION_KEY: &str = "dwindle.version";
const TABLE_KEY: &str = "dwindle.table";
