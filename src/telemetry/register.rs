//! The names under which everything is shown, with what each means.

use prometheus_client::registry::{Registry, Unit};

use super::Telemetry;

/// Registers all that counts spans, and then all around it.
pub(super) fn register(telemetry: &mut Telemetry) {
    let mut registry = std::mem::take(&mut telemetry.registry);
    spans(telemetry, &mut registry);
    traffic(telemetry, &mut registry);
    log(telemetry, &mut registry);
    store(telemetry, &mut registry);
    telemetry.registry = registry;
}

fn spans(t: &Telemetry, r: &mut Registry) {
    r.register(
        "spans_received",
        "Spans in decoded messages and in what the log replayed; stored + rejected + shed + open",
        t.spans_received.clone(),
    );
    r.register(
        "spans_replayed",
        "Spans that the log brought back at the start, a part of received",
        t.spans_replayed.clone(),
    );
    r.register(
        "spans_stored",
        "Spans analysed and put into the store",
        t.spans_stored.clone(),
    );
    r.register(
        "spans_duplicate",
        "Spans that were there already, exactly so, a part of stored",
        t.spans_duplicate.clone(),
    );
    r.register(
        "spans_rejected",
        "Spans that can never be taken",
        t.spans_rejected.family.clone(),
    );
    r.register(
        "spans_shed",
        "Spans that there was no room for",
        t.spans_shed.family.clone(),
    );
    r.register(
        "spans_expired",
        "Stored spans that made room for newer requests, a part of stored",
        t.spans_expired.clone(),
    );
    r.register(
        "spans_open",
        "Spans received and not yet stored",
        t.spans_open.clone(),
    );
    r.register(
        "traces_open",
        "Traces being assembled",
        t.traces_open.clone(),
    );
    r.register(
        "traces_sealed",
        "Traces sealed, by what sealed them",
        t.traces_sealed.family.clone(),
    );
    r.register(
        "revisions",
        "Verdicts that late spans changed",
        t.revisions.clone(),
    );
    r.register_with_unit(
        "analysis",
        "Time that analysis took, summed over threads",
        Unit::Other("nanoseconds".into()),
        t.analysis_nanos.clone(),
    );
}

fn traffic(t: &Telemetry, r: &mut Registry) {
    r.register(
        "logs_received",
        "Log records in decoded messages",
        t.logs_received.clone(),
    );
    r.register(
        "logs_kept",
        "Log records that joined a trace",
        t.logs_kept.clone(),
    );
    r.register(
        "logs_rejected",
        "Log records that were not taken",
        t.logs_rejected.family.clone(),
    );
    r.register(
        "points_rejected",
        "Metric data points, none of which is taken",
        t.points_rejected.clone(),
    );
    r.register(
        "exports",
        "Export calls by protocol, signal and answer",
        t.exports.clone(),
    );
    r.register_with_unit(
        "wire",
        "Size of export calls as they came",
        Unit::Bytes,
        t.wire_bytes.clone(),
    );
    r.register_with_unit(
        "query_duration",
        "How long a query took, by kind",
        Unit::Seconds,
        t.queries.clone(),
    );
}

fn log(t: &Telemetry, r: &mut Registry) {
    r.register(
        "log_records",
        "Records committed to the durable log",
        t.log_records.clone(),
    );
    r.register(
        "log_commits",
        "Groups of records that were committed together",
        t.log_commits.clone(),
    );
    r.register_with_unit(
        "log_fsync",
        "How long fdatasync of a group took",
        Unit::Seconds,
        t.log_fsync.clone(),
    );
    r.register(
        "log_failures",
        "Groups that the disk did not take",
        t.log_failures.clone(),
    );
    r.register_with_unit(
        "log_torn",
        "Size of broken writes that were cut off the log's end at the start",
        Unit::Bytes,
        t.log_torn_bytes.clone(),
    );
    r.register(
        "log_damages",
        "Places of the log that were found damaged",
        t.log_damages.clone(),
    );
    r.register(
        "log_lag_records",
        "Records of the log that are not in parts yet",
        t.log_lag_records.clone(),
    );
    r.register_with_unit(
        "log_lag",
        "Size of the log on disk",
        Unit::Bytes,
        t.log_lag_bytes.clone(),
    );
    r.register_with_unit(
        "log_lag",
        "How long ago the oldest segment of the log was begun",
        Unit::Seconds,
        t.log_lag_seconds.clone(),
    );
}

fn store(t: &Telemetry, r: &mut Registry) {
    r.register(
        "requests_held",
        "Requests in memory",
        t.requests_held.clone(),
    );
    r.register_with_unit(
        "held",
        "About how much memory the requests in memory take",
        Unit::Bytes,
        t.bytes_held.clone(),
    );
    r.register(
        "fresh_spans",
        "Spans that are stored and not yet in a part",
        t.fresh_spans.clone(),
    );
    r.register_with_unit(
        "fresh",
        "About how much memory they and their analyses take",
        Unit::Bytes,
        t.fresh_bytes.clone(),
    );
    r.register_with_unit(
        "flush",
        "How long a flush into parts took",
        Unit::Seconds,
        t.flush_seconds.clone(),
    );
    r.register(
        "analysis_failures",
        "Analyses that broke off; their spans are kept and belong to no request",
        t.analysis_failures.clone(),
    );
    r.register(
        "lookup_failures",
        "Look-ups of traces in the parts that failed and are tried again",
        t.lookup_failures.clone(),
    );
    r.register(
        "lookups_given_up",
        "Traces whose parts could not be read, and whose new spans were stored by themselves",
        t.lookups_given_up.clone(),
    );
    r.register(
        "traces_put_off",
        "Traces that wait until their parts can be read",
        t.traces_put_off.clone(),
    );
    r.register(
        "flush_failures",
        "Flushes that failed and were tried again",
        t.flush_failures.clone(),
    );
    r.register(
        "parts",
        "Parts, each with a file for every table that has rows",
        t.parts.clone(),
    );
    r.register(
        "damaged_files",
        "Files of parts that were found damaged or missing; what they hold is in no answer",
        t.damaged_files.clone(),
    );
    r.register(
        "part_rows",
        "Rows of the parts, by table, superseded ones included",
        t.part_rows.clone(),
    );
    r.register_with_unit(
        "part",
        "Size of the parts on disk, by table",
        Unit::Bytes,
        t.part_bytes.clone(),
    );
    r.register(
        "upkeep_runs",
        "Runs of compaction and retention, by result",
        t.upkeep.clone(),
    );
}
