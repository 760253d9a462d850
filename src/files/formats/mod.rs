//! Spans in formats other than OTLP, told by their keys and read into the batch that OTLP goes to.
//!
//! A document is read twice: once to look for OTLP in it, which leaves its keys, and once by the
//! reader that its keys name. What is wrong with one span costs that one ([`draft::Draft`]).

mod draft;
pub(crate) mod jaeger;
pub(crate) mod lists;
mod plain;
mod sdk;
mod walk;
mod zipkin;

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
const KNOWN: &[Known] = &[
    Known {
        keys: sdk::go::KEYS,
        read: sdk::go::read,
    },
    Known {
        keys: jaeger::KEYS,
        read: jaeger::read,
    },
    Known {
        keys: zipkin::KEYS,
        read: zipkin::read,
    },
];

/// Those with keys that other formats have too: they count where no format tells itself.
const LESS_TELLING: &[Known] = &[
    Known {
        keys: sdk::python::KEYS,
        read: sdk::python::read,
    },
    Known {
        keys: zipkin::FEW_KEYS,
        read: zipkin::read,
    },
];

/// Reads a JSON document in which no OTLP was found: its spans go to `batch`, what is wrong with
/// one costs that one. Of a document that is cut off, what stands before the cut is read. False if
/// the document is of no format that is known here; then nothing was added.
pub(super) fn read(found: &Found, text: &str, batch: &mut Batch<'_>) -> bool {
    let of = |table: &'static [Known]| table.iter().find(|known| foreign::has(found, known.keys));
    let less_telling = || of(LESS_TELLING).filter(|_| !foreign::is_named(found));
    let Some(known) = of(KNOWN).or_else(less_telling) else {
        return false;
    };
    // Whoever calls knows already whether and where the text breaks off.
    let _whole = (known.read)(text, batch);
    true
}
