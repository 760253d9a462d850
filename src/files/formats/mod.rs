//! Spans in formats other than OTLP, told by their keys and read into the batch that OTLP goes to.
//!
//! A document is read twice: once to look for OTLP in it, which leaves its keys, and once by the
//! reader that its keys name. What is wrong with one span costs that one ([`draft::Draft`]).

mod draft;
pub(crate) mod jaeger;
mod plain;

use super::foreign;
use crate::otlp::Batch;
use crate::otlp::json::Found;
use crate::otlp::json::reader::Read;

/// A format that is read.
struct Known {
    /// Keys, all of which a document of the format has, in one of these sets.
    keys: &'static [&'static [&'static str]],
    /// Reads the spans of a document.
    read: fn(&str, &mut Batch<'_>) -> Read<()>,
}

/// The first whose keys are there is it: those with the most telling keys stand first.
const KNOWN: &[Known] = &[Known {
    keys: jaeger::KEYS,
    read: jaeger::read,
}];

/// Reads a whole JSON document in which no OTLP was found: its spans go to `batch`, what is wrong
/// with one costs that one. False if the document is of no format that is known here; then
/// nothing was added.
pub(super) fn read(found: &Found, text: &str, batch: &mut Batch<'_>) -> bool {
    let known = KNOWN.iter().find(|known| foreign::has(found, known.keys));
    // The text is known to be JSON; what was read before a fault in it stays.
    known.is_some_and(|known| (known.read)(text, batch).is_ok())
}
