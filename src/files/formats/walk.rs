//! Finding the records of a format in whatever lists and wrappers they stand.

use crate::otlp::Batch;
use crate::otlp::json::reader::{Read, Reader, Shape};

/// How many wrappers are opened.
const LEVELS: usize = 6;

/// A record under way: an object that may be a span.
pub(super) trait Record: Sized {
    /// What the records of one document share.
    type Shared: Default;

    /// A record of which nothing is known yet.
    fn new(batch: &Batch<'_>) -> Self;

    /// Reads the value of `key`; false, and nothing read, when the key is not the format's.
    fn field(&mut self, reader: &mut Reader<'_>, batch: &mut Batch<'_>, key: &str) -> Read<bool>;

    /// The object is read. `holds_others` when there were records in it: then it may be a wrapper.
    fn finish(
        self,
        batch: &mut Batch<'_>,
        shared: &mut Self::Shared,
        holds_others: bool,
    ) -> Read<()>;
}

/// Reads every record of a document; what came before a fault in the text stays.
pub(super) fn records<R: Record>(
    text: &str,
    batch: &mut Batch<'_>,
    shared: &mut R::Shared,
) -> Read<()> {
    walk::<R>(&mut Reader::new(text), batch, shared, LEVELS)
}

fn walk<R: Record>(
    reader: &mut Reader<'_>,
    batch: &mut Batch<'_>,
    shared: &mut R::Shared,
    levels: usize,
) -> Read<()> {
    match reader.shape()? {
        Shape::Array if levels > 0 => {
            reader.array(|reader| walk::<R>(reader, batch, shared, levels - 1))
        }
        Shape::Object if levels > 0 => {
            let before = batch.received();
            let mut record = R::new(batch);
            reader.object(|reader, key| {
                if record.field(reader, batch, key)? {
                    return Ok(());
                }
                walk::<R>(reader, batch, shared, levels - 1)
            })?;
            let holds_others = batch.received() > before;
            record.finish(batch, shared, holds_others)
        }
        _ => reader.skip().map(drop),
    }
}
