//! Log records and metrics.

use super::fields;
use super::reader::{Read, Reader, Shape};
use super::span::{Faults, id};
use super::value;
use crate::model::{SpanId, SpanLog, TraceId, UnixNanos};
use crate::otlp::{Batch, Reject};

/// One `ScopeLogs`.
pub(super) fn scope_logs(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    reader.object(|reader, key| {
        match key {
            "logRecords" | "log_records" | "logs" => {
                fields::list(reader, |reader| log(reader, batch))?.ok();
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })
}

fn log(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    let mut log = SpanLog::default();
    let mut observed = 0;
    let mut faults = Faults::default();
    let mut made = false;
    let mut too_deep = false;
    let read = fields::object(reader, |reader, key| {
        match key {
            "traceId" | "trace_id" => {
                let id = id(reader, batch, &mut made)?;
                log.trace_id = TraceId(faults.take(id, Reject::TraceId, key));
            }
            "spanId" | "span_id" => {
                let id = id(reader, batch, &mut made)?;
                log.span_id = SpanId(faults.take(id, Reject::SpanId, key));
            }
            "timeUnixNano" | "time_unix_nano" => {
                log.time = UnixNanos(fields::nanos(reader)?.unwrap_or_default());
            }
            "observedTimeUnixNano" | "observed_time_unix_nano" => {
                observed = fields::nanos(reader)?.unwrap_or_default();
            }
            "attributes" => {
                log.attributes = faults.field(value::attributes(reader, batch, 0)?, key);
            }
            "body" => {
                // Cut as it is read, so that a batch of long texts takes no more than what is kept.
                log.set_body(&value::any(reader, batch, 0)?);
                // A body that cannot be read is no fault of the record.
                batch.too_deep = too_deep;
            }
            _ => {
                reader.skip()?;
            }
        }
        too_deep = batch.too_deep;
        Ok(())
    })?;
    if std::mem::take(&mut batch.too_deep) {
        faults.found(Reject::TooDeep, "attributes");
    }
    faults.field(read, "logRecords");
    if log.time == UnixNanos(0) {
        log.time = UnixNanos(observed);
    }
    match faults.first {
        Some((why, key)) => batch.reject(Reject::LogUnreadable, || {
            format!("log record, `{key}`: {}", why.words())
        }),
        None => batch.keep_log(log),
    }
    Ok(())
}

/// One `ScopeMetrics`: its data points are counted.
pub(super) fn scope_metrics(reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
    reader.object(|reader, key| {
        if key != "metrics" {
            return reader.skip().map(drop);
        }
        fields::list(reader, |reader| {
            // gauge, sum, histogram …: whichever the metric is, its points are under one name.
            fields::object(reader, |reader, _| match reader.shape()? {
                Shape::Object => reader.object(|reader, key| match key {
                    "dataPoints" | "data_points" => fields::list(reader, |reader| {
                        batch.points += 1;
                        reader.skip().map(drop)
                    })
                    .map(drop),
                    _ => reader.skip().map(drop),
                }),
                _ => reader.skip().map(drop),
            })
            .map(drop)
        })
        .map(drop)
    })
}
