//! Reading back.

use std::any::Any;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use polars::prelude::{
    BooleanChunked, DataFrame, NewChunkedArray as _, ParallelStrategy, ParquetReader, PolarsError,
    PolarsResult, SerReader,
};

use super::sum::{self, Checked};
use super::{FORMAT, FORMAT_KEY, TABLE_KEY, VERSION_KEY};
use crate::model::{Span, SpanLog};
use crate::store::tables::{ReadError, SpanRows, Table};

const MAGIC: &[u8; 4] = b"PAR1";
/// The length of the footer and the magic after it.
const TAIL: u64 = 8;
/// Bytes of a footer; larger ones are damage.
const MAX_FOOTER: u64 = 256 << 20;
/// Columns of somebody else's file that are named.
const NAMED: usize = 12;

/// Why a Parquet file cannot be read. Prints as a sentence without its name.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system's word.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It does not end as a Parquet file does.
    #[error("is a Parquet file that is cut off: its end is missing; copy it again from its source")]
    CutOff,
    /// Bytes differ from what was written.
    #[error("is a damaged Parquet file: {0}; copy it again from its source")]
    Damaged(String),
    /// Somebody else's.
    #[error(
        "is a Parquet file that Dwindle did not write ({columns}); Dwindle reads its own, which \
         `dwindle convert` makes of trace files"
    )]
    Foreign {
        /// Its columns, the first ones.
        columns: String,
    },
    /// Of a later Dwindle.
    #[error(
        "is a Dwindle Parquet file of format {format} (written by Dwindle {version}); this is \
         Dwindle {}, which reads up to format {FORMAT}; use a newer one", env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// Its format.
        format: String,
        /// Who wrote it.
        version: String,
    },
    /// Another table.
    #[error("holds the table `{0}`, and traces are read from `spans`; `{0}` is for SQL engines")]
    Table(String),
}

impl FileError {
    /// True if nothing is wrong with the file: it is not one to read traces from.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Table(_))
    }
}

impl From<ReadError> for FileError {
    fn from(error: ReadError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Where a file comes from.
#[derive(Debug)]
pub enum Source {
    /// A file on the disk, which must not change while it is read.
    File(File),
    /// Its bytes.
    Bytes(Vec<u8>),
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// The file system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self::File)
    }
}

/// True if a file that begins so is Parquet.
pub fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads the spans of a file that [`SpanWriter`](super::SpanWriter) wrote, and hands them over
/// piece by piece in the order in which they were added, until `take` is false. Nothing is handed
/// over of a file that is not whole.
///
/// # Errors
/// The file is somebody else's, of a newer format, of another table, cut off or damaged.
pub fn read_spans(
    source: Source,
    take: &mut dyn FnMut(Vec<Span>, Vec<SpanLog>) -> bool,
) -> Result<(), FileError> {
    read_spans_of(source, None, take)
}

/// Whether the spans of a trace are wanted; its id in hex.
type Wanted<'a> = &'a dyn Fn(&str) -> bool;

/// The same, of the traces that are wanted: of the others no more than the ids is read.
pub(in crate::store) fn read_spans_of(
    source: Source,
    wanted: Option<Wanted<'_>>,
    take: &mut dyn FnMut(Vec<Span>, Vec<SpanLog>) -> bool,
) -> Result<(), FileError> {
    match source {
        Source::File(file) => read(&file, || file.try_clone(), wanted, take),
        Source::Bytes(bytes) => {
            let bytes = bytes.as_slice();
            read(Cursor::new(bytes), || Ok(Cursor::new(bytes)), wanted, take)
        }
    }
}

/// Reads what `open` opens, again for each row group; `first` is the same.
fn read<R: polars_reader::Mapped>(
    mut first: impl Read + Seek,
    open: impl Fn() -> io::Result<R>,
    wanted: Option<Wanted<'_>>,
    take: &mut dyn FnMut(Vec<Span>, Vec<SpanLog>) -> bool,
) -> Result<(), FileError> {
    let (length, footer) = footer(&mut first)?;
    first.seek(SeekFrom::Start(0))?;
    let checked = sum::check(&mut first, length, &footer)?;
    if checked == Checked::Damaged {
        return Err(FileError::Damaged("its checksum does not match".to_owned()));
    }
    let mut opened = ParquetReader::new(open()?);
    let metadata = guarded(|| opened.get_metadata().cloned())?;
    let key = |key: &str| {
        let pairs = metadata.key_value_metadata.iter().flatten();
        pairs
            .filter(|pair| pair.key == key)
            .find_map(|pair| pair.value.as_deref())
    };
    let Some(format) = key(FORMAT_KEY) else {
        let names: Vec<&str> = {
            let fields = metadata.schema_descr.fields().iter();
            fields
                .map(|field| field.get_field_info().name.as_str())
                .collect()
        };
        return Err(FileError::Foreign {
            columns: columns(&names),
        });
    };
    if format.parse::<u32>().is_ok_and(|format| format > FORMAT) {
        return Err(FileError::Newer {
            format: format.to_owned(),
            version: key(VERSION_KEY)
                .unwrap_or("of an unknown version")
                .to_owned(),
        });
    }
    if checked == Checked::None {
        return Err(FileError::Damaged("its checksum is missing".to_owned()));
    }
    match key(TABLE_KEY) {
        Some(table) if table == Table::Spans.as_str() => {}
        table => return Err(FileError::Table(table.unwrap_or("?").to_owned())),
    }
    let mut rows = SpanRows::default();
    let mut row = 0;
    let slice = |from: usize, count: usize, columns: Option<Vec<String>>| {
        let reader = ParquetReader::new(open()?)
            .read_parallel(ParallelStrategy::Columns)
            .with_columns(columns)
            .with_slice(Some((from, count)));
        guarded(|| reader.finish())
    };
    for group in &metadata.row_groups {
        let (first, height) = (row, group.num_rows());
        row += height;
        let frame = match wanted {
            None => slice(first, height, None)?,
            Some(wanted) => {
                let ids = slice(first, height, Some(vec!["trace_id".to_owned()]))?;
                let Some((from, mask)) = guarded(|| chosen(&ids, wanted))? else {
                    continue;
                };
                let frame = slice(first + from, mask.len(), None)?;
                guarded(|| frame.filter(&mask))?
            }
        };
        let (spans, logs) = rows.read(&frame)?;
        if !take(spans, logs) {
            break;
        }
    }
    Ok(())
}

/// The first row of a wanted trace, and from there to the last one whether each row is of one;
/// `None` if there is none. The rows of a trace stand together.
fn chosen(ids: &DataFrame, wanted: Wanted<'_>) -> PolarsResult<Option<(usize, BooleanChunked)>> {
    let mut mask = Vec::with_capacity(ids.height());
    let mut last: Option<(&str, bool)> = None;
    for id in ids.column("trace_id")?.str()?.iter() {
        let id = id.unwrap_or_default();
        let is = match last {
            Some((known, is)) if known == id => is,
            _ => wanted(id),
        };
        last = Some((id, is));
        mask.push(is);
    }
    let first = mask.iter().position(|is| *is);
    let end = mask.iter().rposition(|is| *is).map_or(0, |last| last + 1);
    let rows = first.and_then(|first| Some((first, mask.get(first..end)?)));
    Ok(rows.map(|(first, mask)| {
        let mask = BooleanChunked::from_slice("wanted".into(), mask);
        (first, mask)
    }))
}

/// Checks that a file is one of this table, of a known format, and as it was written, down to the
/// last byte. Returns how many rows and row groups it has.
pub(in crate::store) fn check(mut file: File, table: Table) -> Result<(u64, u64), FileError> {
    let (length, footer) = footer(&mut file)?;
    file.seek(SeekFrom::Start(0))?;
    match sum::check(&mut file, length, &footer)? {
        Checked::Whole => {}
        Checked::Damaged => {
            return Err(FileError::Damaged("its checksum does not match".to_owned()));
        }
        Checked::None => return Err(FileError::Damaged("its checksum is missing".to_owned())),
    }
    let mut reader = ParquetReader::new(file);
    let metadata = guarded(|| reader.get_metadata().cloned())?;
    let key = |key: &str| {
        let pairs = metadata.key_value_metadata.iter().flatten();
        let mut values = pairs.filter(|pair| pair.key == key);
        values.find_map(|pair| pair.value.as_deref())
    };
    let format = key(FORMAT_KEY).unwrap_or("?");
    if format.parse::<u32>().map_or(true, |format| format > FORMAT) {
        return Err(FileError::Newer {
            format: format.to_owned(),
            version: key(VERSION_KEY).unwrap_or("?").to_owned(),
        });
    }
    match key(TABLE_KEY) {
        Some(name) if name == table.as_str() => {}
        name => return Err(FileError::Table(name.unwrap_or("?").to_owned())),
    }
    Ok((metadata.num_rows as u64, metadata.row_groups.len() as u64))
}

mod polars_reader {
    //! Polars has a name for what it reads from, and does not export it.
    pub(super) trait Mapped: polars::io::mmap::MmapBytesReader {}
    impl<T: polars::io::mmap::MmapBytesReader> Mapped for T {}
}

/// The file's length, and its end from the footer on.
fn footer(file: &mut (impl Read + Seek)) -> Result<(u64, Vec<u8>), FileError> {
    let length = file.seek(SeekFrom::End(0))?;
    if length < MAGIC.len() as u64 + TAIL {
        return Err(FileError::CutOff);
    }
    let mut tail = [0; TAIL as usize];
    file.seek(SeekFrom::Start(length - TAIL))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != *MAGIC {
        return Err(FileError::CutOff);
    }
    let size = u64::from(u32::from_le_bytes([a, b, c, d]));
    if size > MAX_FOOTER || size + TAIL + MAGIC.len() as u64 > length {
        return Err(FileError::Damaged(
            "its footer has no possible length".to_owned(),
        ));
    }
    let size = size + TAIL;
    let mut footer = vec![0; size as usize];
    file.seek(SeekFrom::Start(length - size))?;
    file.read_exact(&mut footer)?;
    Ok((length, footer))
}

fn columns(names: &[&str]) -> String {
    let shown = names
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len() {
        0 => "no columns".to_owned(),
        n if n > NAMED => format!("columns {shown} and {} more", n - NAMED),
        _ => format!("columns {shown}"),
    }
}

/// Parquet from anywhere must not end the program, and Polars panics on some of what it does not
/// expect. A checksum was compared before pages are decoded, so this is for footers of others.
pub(in crate::store) fn guarded<T>(
    work: impl FnOnce() -> Result<T, PolarsError>,
) -> Result<T, FileError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(FileError::Damaged(error.to_string())),
        Err(panic) => Err(FileError::Damaged(panic_text(panic.as_ref()))),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it cannot be decoded").to_owned()
}
