//! What the server counts, its Prometheus text, and the one reading of the clock.
//!
//! **Invariant**: `received = stored + rejected + shed + open`, always; at quiescence nothing is
//! open. All count from the start of the process. What the log replays at the start is received
//! once more (`replayed`, a part of `received`); what was there already is `duplicate`, a part of
//! `stored`, as is `expired`. Knows nothing of the domain: reasons are words.

pub mod clock;
mod register;
mod routes;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub use routes::routes;

/// From a fast disk's cache to one that is in trouble.
const FSYNC_SECONDS: [f64; 10] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0,
];

/// From a look-up in memory to a scan of everything.
const WORK_SECONDS: [f64; 11] = [
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// All counters of one server. Cheap to count with from any thread; share it in an `Arc`.
pub struct Telemetry {
    /// Spans in decoded messages, the bad ones among them.
    pub spans_received: Counter,
    /// Spans that the log brought back at the start; a part of received.
    pub spans_replayed: Counter,
    /// Spans that were analysed and are in the store.
    pub spans_stored: Counter,
    /// Spans that were there already, exactly so; a part of stored.
    pub spans_duplicate: Counter,
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
    /// Spans that are stored and not yet in a part.
    pub fresh_spans: Gauge,
    /// About how many bytes of memory they take, their analyses with them.
    pub fresh_bytes: Gauge,
    /// Records that the durable log took.
    pub log_records: Counter,
    /// Groups that were committed together.
    pub log_commits: Counter,
    /// How long `fdatasync` took per group, in seconds.
    pub log_fsync: Histogram,
    /// Groups that the disk did not take.
    pub log_failures: Counter,
    /// Bytes that a broken write left at the log's end and that were cut off.
    pub log_torn_bytes: Counter,
    /// Places of the log that were found damaged.
    pub log_damages: Counter,
    /// Records that are not in parts yet.
    pub log_lag_records: Gauge,
    /// Size of the log on disk.
    pub log_lag_bytes: Gauge,
    /// How long ago the oldest segment of the log was begun.
    pub log_lag_seconds: Gauge,
    /// How long a flush of fresh rows into parts took, in seconds.
    pub flush_seconds: Histogram,
    /// Analyses that broke off, which is a fault of Dwindle; their traces are kept without requests.
    pub analysis_failures: Counter,
    /// Look-ups of a trace in the parts that failed and are tried again.
    pub lookup_failures: Counter,
    /// Traces whose parts could not be read any longer: what came was stored by itself.
    pub lookups_given_up: Counter,
    /// Sealed traces that wait until their parts can be read.
    pub traces_put_off: Gauge,
    /// Flushes that failed; their rows stay fresh.
    pub flush_failures: Counter,
    /// Parts: files of one flush or merge, up to one a table.
    pub parts: Gauge,
    /// Files of parts that were found damaged or missing.
    pub damaged_files: Gauge,
    /// Rows of the parts by table, superseded ones included.
    pub part_rows: Family<Table, Gauge>,
    /// Size of the parts on disk, by table.
    pub part_bytes: Family<Table, Gauge>,
    /// Runs of the upkeep of parts by kind (`compaction`, `retention`) and result.
    pub upkeep: Family<Upkeep, Counter>,
    queries: Family<Query, Histogram>,
    serving: AtomicBool,
    replaying: AtomicBool,
    log_writable: AtomicBool,
    log_full: AtomicBool,
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

/// A table of the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Table {
    /// Its name.
    pub table: &'static str,
}

/// A run of the upkeep.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Upkeep {
    /// `compaction` or `retention`.
    pub kind: &'static str,
    /// `ok` or `failed`.
    pub result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Query {
    kind: &'static str,
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
            spans_replayed: Counter::default(),
            spans_stored: Counter::default(),
            spans_duplicate: Counter::default(),
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
            fresh_spans: Gauge::default(),
            fresh_bytes: Gauge::default(),
            log_records: Counter::default(),
            log_commits: Counter::default(),
            log_fsync: Histogram::new(FSYNC_SECONDS),
            log_failures: Counter::default(),
            log_torn_bytes: Counter::default(),
            log_damages: Counter::default(),
            log_lag_records: Gauge::default(),
            log_lag_bytes: Gauge::default(),
            log_lag_seconds: Gauge::default(),
            flush_seconds: Histogram::new(WORK_SECONDS),
            analysis_failures: Counter::default(),
            lookup_failures: Counter::default(),
            lookups_given_up: Counter::default(),
            traces_put_off: Gauge::default(),
            flush_failures: Counter::default(),
            parts: Gauge::default(),
            damaged_files: Gauge::default(),
            part_rows: Family::default(),
            part_bytes: Family::default(),
            upkeep: Family::default(),
            queries: Family::new_with_constructor(|| Histogram::new(WORK_SECONDS)),
            serving: AtomicBool::new(false),
            replaying: AtomicBool::new(false),
            log_writable: AtomicBool::new(true),
            log_full: AtomicBool::new(false),
            registry: Registry::with_prefix("dwindle"),
        };
        register::register(&mut telemetry);
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

    /// Counts a query of this kind (`trace`, `requests`, `sql`, ...) and how long it took.
    pub fn observe_query(&self, kind: &'static str, took: Duration) {
        let queries = self.queries.get_or_create(&Query { kind });
        queries.observe(took.as_secs_f64());
    }

    /// Says that the server's ports are open (true), or that it stops (false).
    pub fn set_ready(&self, ready: bool) {
        self.serving.store(ready, Ordering::Release);
    }

    /// Says whether what the log holds is still being brought back.
    pub fn set_replaying(&self, replaying: bool) {
        self.replaying.store(replaying, Ordering::Release);
    }

    /// Says whether the log could be written when that was last tried.
    pub fn set_log_writable(&self, writable: bool) {
        self.log_writable.store(writable, Ordering::Release);
    }

    /// Sets whether the log is as large as it may be.
    pub fn set_log_full(&self, full: bool) {
        self.log_full.store(full, Ordering::Release);
    }

    /// Whether the server takes spans.
    pub fn is_ready(&self) -> bool {
        self.not_ready().is_none()
    }

    /// Why the server takes no spans, if it does not.
    pub fn not_ready(&self) -> Option<&'static str> {
        if !self.serving.load(Ordering::Acquire) {
            Some("the server starts or stops")
        } else if self.replaying.load(Ordering::Acquire) {
            Some("the log is being replayed")
        } else if !self.log_writable.load(Ordering::Acquire) {
            Some("the log cannot be written")
        } else if self.log_full.load(Ordering::Acquire) {
            Some("the log is full until its traces are in the tables")
        } else {
            None
        }
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

        telemetry.observe_query("sql", Duration::from_millis(30));
        telemetry.log_fsync.observe(0.002);
        let text = telemetry.render();
        for line in [
            "dwindle_query_duration_seconds_bucket{le=\"0.025\",kind=\"sql\"} 0",
            "dwindle_query_duration_seconds_bucket{le=\"0.05\",kind=\"sql\"} 1",
            "dwindle_log_fsync_seconds_count 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_server_is_ready_when_nothing_keeps_it_from_taking_spans() {
        let telemetry = Telemetry::new();
        assert!(!telemetry.is_ready());
        telemetry.set_ready(true);
        assert!(telemetry.is_ready());
        telemetry.set_replaying(true);
        assert_eq!(telemetry.not_ready(), Some("the log is being replayed"));
        telemetry.set_replaying(false);
        telemetry.set_log_writable(false);
        assert_eq!(telemetry.not_ready(), Some("the log cannot be written"));
        telemetry.set_log_writable(true);
        telemetry.set_log_full(true);
        assert!(
            telemetry
                .not_ready()
                .unwrap()
                .starts_with("the log is full")
        );
        telemetry.set_log_full(false);
        assert!(telemetry.is_ready());
    }
}
