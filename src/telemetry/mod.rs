//! What the server counts, its Prometheus text, and the one reading of the clock.
//!
//! **Invariant**: `received = stored + rejected + shed + open`, always; at quiescence nothing is
//! open. `expired` is a part of `stored`. Knows nothing of the domain: reasons are words.

pub mod clock;
mod routes;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

pub use routes::routes;

/// All counters of one server. Cheap to count with from any thread; share it in an `Arc`.
pub struct Telemetry {
    /// Spans in decoded messages, the bad ones among them.
    pub spans_received: Counter,
    /// Spans that were analysed and put into the table of requests.
    pub spans_stored: Counter,
    /// Spans that can never be taken, by reason; the sender was told.
    pub spans_rejected: ByReason,
    /// Spans that there was no room for, by reason; the sender was told to come again.
    pub spans_shed: ByReason,
    /// Stored spans that made room for newer requests; a part of stored.
    pub spans_expired: Counter,
    /// Spans received and not yet stored.
    pub spans_open: Gauge,
    /// Traces being assembled.
    pub traces_open: Gauge,
    /// Traces sealed, by what sealed them.
    pub traces_sealed: ByReason,
    /// Requests in the table.
    pub requests_held: Gauge,
    /// About how many bytes the table takes.
    pub bytes_held: Gauge,
    /// Verdicts that late spans changed.
    pub revisions: Counter,
    /// Log records in decoded messages.
    pub logs_received: Counter,
    /// Log records that joined a trace.
    pub logs_kept: Counter,
    /// Log records that were not taken, by reason.
    pub logs_rejected: ByReason,
    /// Metric data points, none of which is taken.
    pub points_rejected: Counter,
    /// Export calls, by protocol, signal and what they were answered.
    pub exports: Family<Export, Counter>,
    /// Bytes of export calls, as they came over the wire.
    pub wire_bytes: Counter,
    /// Time that analysis took, in nanoseconds, summed over threads.
    pub analysis_nanos: Counter,
    ready: AtomicBool,
    registry: Registry,
}

/// A counter per reason, and their sum.
#[derive(Debug, Clone, Default)]
pub struct ByReason {
    family: Family<Reason, Counter>,
    total: Arc<AtomicU64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// What an export call was and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Export {
    /// `grpc` or `http`.
    pub protocol: &'static str,
    /// `traces`, `logs` or `metrics`.
    pub signal: &'static str,
    /// The HTTP or gRPC status code.
    pub code: u16,
}

impl ByReason {
    /// Counts `count` more for `reason`.
    pub fn add(&self, reason: &'static str, count: u64) {
        if count > 0 {
            self.family.get_or_create(&Reason { reason }).inc_by(count);
            self.total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// The sum over all reasons.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The count for one reason.
    pub fn get(&self, reason: &'static str) -> u64 {
        self.family
            .get(&Reason { reason })
            .map_or(0, |counter| counter.get())
    }
}

impl Telemetry {
    /// Counters that all stand at 0.
    pub fn new() -> Self {
        let mut telemetry = Self {
            spans_received: Counter::default(),
            spans_stored: Counter::default(),
            spans_rejected: ByReason::default(),
            spans_shed: ByReason::default(),
            spans_expired: Counter::default(),
            spans_open: Gauge::default(),
            traces_open: Gauge::default(),
            traces_sealed: ByReason::default(),
            requests_held: Gauge::default(),
            bytes_held: Gauge::default(),
            revisions: Counter::default(),
            logs_received: Counter::default(),
            logs_kept: Counter::default(),
            logs_rejected: ByReason::default(),
            points_rejected: Counter::default(),
            exports: Family::default(),
            wire_bytes: Counter::default(),
            analysis_nanos: Counter::default(),
            ready: AtomicBool::new(false),
            registry: Registry::with_prefix("dwindle"),
        };
        telemetry.register();
        telemetry
    }

    /// Everything as Prometheus text (`OpenMetrics` 1.0).
    pub fn render(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            // Writing into a string cannot fail; half a text would be worse than none.
            Err(fmt::Error) => String::new(),
        }
    }

    /// Says that the server takes spans (true), or no longer does (false).
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Whether the server takes spans.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register(
            "spans_received",
            "Spans in decoded messages",
            self.spans_received.clone(),
        );
        r.register(
            "spans_stored",
            "Spans analysed and put into the table of requests",
            self.spans_stored.clone(),
        );
        r.register(
            "spans_rejected",
            "Spans that can never be taken",
            self.spans_rejected.family.clone(),
        );
        r.register(
            "spans_shed",
            "Spans that there was no room for",
            self.spans_shed.family.clone(),
        );
        r.register(
            "spans_expired",
            "Stored spans that made room for newer requests",
            self.spans_expired.clone(),
        );
        r.register(
            "spans_open",
            "Spans received and not yet stored",
            self.spans_open.clone(),
        );
        r.register(
            "traces_open",
            "Traces being assembled",
            self.traces_open.clone(),
        );
        r.register(
            "traces_sealed",
            "Traces sealed, by what sealed them",
            self.traces_sealed.family.clone(),
        );
        r.register(
            "requests_held",
            "Requests in the table",
            self.requests_held.clone(),
        );
        r.register_with_unit(
            "held",
            "About how much memory the table of requests takes",
            Unit::Bytes,
            self.bytes_held.clone(),
        );
        r.register(
            "revisions",
            "Verdicts that late spans changed",
            self.revisions.clone(),
        );
        r.register(
            "logs_received",
            "Log records in decoded messages",
            self.logs_received.clone(),
        );
        r.register(
            "logs_kept",
            "Log records that joined a trace",
            self.logs_kept.clone(),
        );
        r.register(
            "logs_rejected",
            "Log records that were not taken",
            self.logs_rejected.family.clone(),
        );
        r.register(
            "points_rejected",
            "Metric data points, none of which is taken",
            self.points_rejected.clone(),
        );
        r.register(
            "exports",
            "Export calls by protocol, signal and answer",
            self.exports.clone(),
        );
        r.register_with_unit(
            "wire",
            "Size of export calls as they came",
            Unit::Bytes,
            self.wire_bytes.clone(),
        );
        r.register_with_unit(
            "analysis",
            "Time that analysis took, summed over threads",
            Unit::Other("nanoseconds".into()),
            self.analysis_nanos.clone(),
        );
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("spans_received", &self.spans_received.get())
            .field("spans_stored", &self.spans_stored.get())
            .field("spans_rejected", &self.spans_rejected.total())
            .field("spans_shed", &self.spans_shed.total())
            .field("spans_open", &self.spans_open.get())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_out_as_prometheus_text() {
        let telemetry = Telemetry::new();
        telemetry.spans_received.inc_by(3);
        telemetry.spans_rejected.add("zero_span_id", 2);
        telemetry.spans_rejected.add("never", 0);
        let text = telemetry.render();
        assert!(
            text.contains("\ndwindle_spans_received_total 3\n"),
            "{text}"
        );
        assert!(
            text.contains("\ndwindle_spans_rejected_total{reason=\"zero_span_id\"} 2\n"),
            "{text}"
        );
        assert!(!text.contains("reason=\"never\""), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert_eq!(telemetry.spans_rejected.total(), 2);
    }
}
