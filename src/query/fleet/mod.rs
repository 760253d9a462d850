//! What the pages about many requests show (semantics, section 8): an answer for a stretch of time,
//! from the store's summaries, without reading rows.
//!
//! **Invariant**: an answer is the same whichever way the requests lie in parts and memory. Counts
//! and sums are exact; percentiles are within the stated error of the summaries' histograms.

pub mod bands;
pub mod coverage;
pub mod findings;
#[cfg(test)]
pub(crate) mod fixtures;
mod make;
pub mod map;
pub mod overview;
pub mod services;

pub use make::{coverage, findings, map, names, overview, service, services};

use serde::{Serialize, Serializer};

use crate::model::number::fixed;
use crate::model::{Nanos, UnixNanos};
use crate::query::requests::{Listed, Row};

/// A stretch of time, whole minutes: from `since` up to but without `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// Its first instant.
    pub since: UnixNanos,
    /// The first instant after it.
    pub until: UnixNanos,
}

impl Stretch {
    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.until.since(self.since)
    }

    /// Whether it is longer than a day, so that the time of day does not tell an instant.
    pub fn is_long(&self) -> bool {
        self.length() > Nanos::from_secs(86_400)
    }

    /// The stretch of the same length right before it.
    #[must_use]
    pub fn before(&self) -> Self {
        Self {
            since: self.since.shifted(-self.length()),
            until: self.since,
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The stretch of time, by the requests' start; it is widened to whole minutes.
    pub window: Stretch,
    /// The time at which it is asked: what is later is not over yet.
    pub now: UnixNanos,
    /// The most buckets of a series.
    pub buckets: usize,
    /// The most rows of a list; what is cut is counted in the answer.
    pub rows: usize,
}

/// A part of a whole; in JSON a number from 0 to 1 with at most six decimals, `null` of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// The part.
    pub part: u64,
    /// The whole.
    pub whole: u64,
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.whole == 0 {
            return serializer.serialize_none();
        }
        let millionths = u128::from(self.part) * 1_000_000 / u128::from(self.whole);
        serializer.serialize_f64(millionths as f64 / 1e6)
    }
}

/// A number without a unit, in thousandths: slots, attempts per call, times typical. In JSON a
/// number with at most three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Thousandths(pub i64);

impl Thousandths {
    /// With up to so many decimals, rounded.
    pub fn with_decimals(self, decimals: u32) -> String {
        fixed(self.0, 1000, decimals)
    }
}

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e3)
    }
}

/// How some times are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Spread {
    /// How many there are; without any the percentiles are `null`.
    pub count: u64,
    /// The 5th percentile.
    #[serde(rename = "p5_ms")]
    pub p5: Option<Nanos>,
    /// The median.
    #[serde(rename = "p50_ms")]
    pub p50: Option<Nanos>,
    /// The 95th percentile.
    #[serde(rename = "p95_ms")]
    pub p95: Option<Nanos>,
    /// The 99th percentile.
    #[serde(rename = "p99_ms")]
    pub p99: Option<Nanos>,
}

/// How deadlines were handed to a hop or over an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Passing {
    /// Runs or calls in all.
    pub all: u64,
    /// Those to which the deadline was passed on.
    pub propagated: u64,
    /// Those to which it was not, though the caller had one.
    pub not_propagated: u64,
    /// Those of the propagated that were told more than their caller had left.
    pub reset: u64,
    /// Those of which the caller had none to pass on.
    pub no_deadline: u64,
}

impl Passing {
    /// Passed on, of those that had one to pass on.
    pub fn share(&self) -> Share {
        Share {
            part: self.propagated,
            whole: self.propagated + self.not_propagated,
        }
    }
}

/// Requests as lists show them, under the names of the request's JSON.
fn rows<S: Serializer>(rows: &[Row], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(Listed::from))
}

/// Counts under the word of what was counted.
fn counts<K: Serialize, S: Serializer>(
    counts: &[(K, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(what, count)| (what, count)))
}

/// A request as an example: where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The trace.
    pub trace_id: crate::model::TraceId,
    /// The span id of the root hop's entry.
    pub request: crate::model::SpanId,
    /// When the request started.
    pub start: UnixNanos,
}
