//! Zipkin's JSON, version 2 and version 1, in whatever list or wrapper it stands.
//!
//! Each record becomes one span. Two records that share an id, one on either side of a call, stay
//! two. A version 1 record that holds both sides of a call becomes the caller's span, whose time is
//! the record's own; of the far side it keeps the name, the address and the instants.
//!
//! Source of the format: Zipkin's `zipkin2-api.yaml` and `zipkin-api.yaml`.

mod place;
mod record;
mod span;

use crate::otlp::Batch;
use crate::otlp::json::reader::{Read, Reader};

use super::walk;
use place::Incomplete;
use record::Record;

/// Keys of records that tell themselves.
pub(super) const KEYS: &[&[&str]] = &[
    &["traceId", "localEndpoint"],
    &["traceId", "remoteEndpoint"],
    &["traceId", "binaryAnnotations"],
    &["traceId", "annotations", "endpoint"],
];

/// Keys of records with hardly anything in them; other formats have them too, so they count only
/// where nothing else fits.
pub(super) const FEW_KEYS: &[&[&str]] = &[
    &["traceId", "id", "timestamp"],
    &["traceId", "id", "duration"],
    &["traceId", "id", "kind"],
    &["traceId", "id", "parentId"],
    &["traceId", "id", "tags"],
    &["traceId", "id", "annotations"],
];

/// Reads the spans of a document.
pub(super) fn read(text: &str, batch: &mut Batch<'_>) -> Read<()> {
    let first = batch.spans.len();
    let mut incomplete = Incomplete::default();
    let read = walk::records::<Record>(text, batch, &mut incomplete);
    incomplete.complete(batch.spans.get_mut(first..).unwrap_or_default());
    read
}

impl walk::Record for Record {
    type Shared = Incomplete;

    fn new(batch: &Batch<'_>) -> Self {
        Self::begin(batch)
    }

    fn field(&mut self, reader: &mut Reader<'_>, batch: &mut Batch<'_>, key: &str) -> Read<bool> {
        self.read_field(reader, batch, key)
    }

    fn finish(
        self,
        batch: &mut Batch<'_>,
        shared: &mut Incomplete,
        holds_others: bool,
    ) -> Read<()> {
        // What holds records and is none itself is a wrapper.
        if self.is_span() || (self.may_be_span() && !holds_others) {
            shared.keep(self.into_span(), batch)?;
        }
        Ok(())
    }
}
