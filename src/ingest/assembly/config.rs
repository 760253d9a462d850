//! How long traces wait, and what they may take.

use crate::model::Nanos;

/// How long traces wait, and how many may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// From the last span of a trace that seems whole to its analysis.
    pub quiet: Nanos,
    /// The same for a trace without a root, or with a parent missing.
    pub quiet_incomplete: Nanos,
    /// From the first span of any trace.
    pub longest: Nanos,
    /// How long a trace must have been quiet to be sealed early when there is no room.
    pub quiet_under_pressure: Nanos,
    /// The most traces being assembled.
    pub max_traces: usize,
    /// The most spans and log records being assembled.
    pub max_spans: usize,
    /// About the most bytes being assembled.
    pub max_bytes: usize,
    /// The most spans of one trace, and the most log records.
    pub max_trace_spans: usize,
    /// Over how long before the newest request typical times are taken.
    pub typical_window: Nanos,
    /// About the most bytes of one trace; at most a quarter of `max_bytes`.
    pub max_trace_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            quiet: Nanos::from_secs(2),
            quiet_incomplete: Nanos::from_secs(10),
            longest: Nanos::from_secs(120),
            quiet_under_pressure: Nanos::from_millis(500),
            max_traces: 200_000,
            max_spans: 1_000_000,
            max_bytes: 1 << 30,
            max_trace_spans: 200_000,
            typical_window: Nanos::from_secs(86_400),
            max_trace_bytes: 256 << 20,
        }
    }
}

impl Config {
    /// About how many bytes one trace may take.
    pub fn trace_bytes(&self) -> usize {
        self.max_trace_bytes.min(self.max_bytes / 4)
    }
}
