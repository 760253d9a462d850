//! Requests in protobuf, and requests that tonic has decoded.

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric};
use opentelemetry_proto::tonic::resource::v1::Resource as ProtoResource;
use opentelemetry_proto::tonic::trace::v1::Span as ProtoSpan;
use prost::Message;

use super::convert;
use super::wire::{Broken, Fields, Payload};
use crate::model::{Resource, Scope, Text};
use crate::otlp::{Batch, DecodeError, Decoded, Limits, Reject};

/// Reads an `ExportTraceServiceRequest` or `TracesData`.
pub fn traces_from_proto(bytes: &[u8], limits: &Limits) -> Result<Decoded, DecodeError> {
    let mut batch = Batch::new(limits);
    traces_into(bytes, &mut batch)?;
    Ok(batch.take())
}

/// As [`traces_from_proto`], into a batch that shares resources with messages before.
pub(crate) fn traces_into(bytes: &[u8], batch: &mut Batch<'_>) -> Result<(), DecodeError> {
    let limits = batch.limits;
    each(bytes, limits, |entry| resource_spans(entry, batch))
}

/// Reads an `ExportLogsServiceRequest` or `LogsData`.
pub fn logs_from_proto(bytes: &[u8], limits: &Limits) -> Result<Decoded, DecodeError> {
    let mut batch = Batch::new(limits);
    each(bytes, limits, |entry| {
        each_in(entry, 2, |scope| {
            each_in(scope, 2, |record| {
                match LogRecord::decode(record) {
                    Ok(record) => log(record, &mut batch),
                    Err(error) => batch.reject(Reject::LogUnreadable, || error.to_string()),
                }
                Ok(())
            })
        })
    })?;
    Ok(batch.take())
}

/// How many data points an `ExportMetricsServiceRequest` has.
pub fn metrics_count_from_proto(bytes: &[u8], limits: &Limits) -> Result<u64, DecodeError> {
    let mut points = 0;
    each(bytes, limits, |entry| {
        each_in(entry, 2, |scope| {
            each_in(scope, 2, |metric| {
                // gauge, sum, histogram …: each keeps its points in field 1.
                for field in Fields::of(metric) {
                    if let (5 | 7 | 9..=11, Payload::Bytes(data)) = field? {
                        each_in(data, 1, |_| {
                            points += 1;
                            Ok(())
                        })?;
                    }
                }
                Ok(())
            })
        })
    })?;
    Ok(points)
}

/// The spans of a request that is already decoded.
pub fn traces_from_request(request: ExportTraceServiceRequest, limits: &Limits) -> Decoded {
    let mut batch = Batch::new(limits);
    for entry in request.resource_spans {
        let schema_url = Text::from(entry.schema_url);
        let resource = match entry.resource {
            None if schema_url.is_empty() => Ok(batch.no_resource()),
            resource => {
                convert::resource(resource.unwrap_or_default(), schema_url, limits.max_depth)
                    .map(Arc::new)
            }
        };
        for entry in entry.scope_spans {
            let schema_url = Text::from(entry.schema_url);
            let scope = match entry.scope {
                None if schema_url.is_empty() => Ok(batch.no_scope()),
                scope => convert::scope(scope.unwrap_or_default(), schema_url, limits.max_depth)
                    .map(Arc::new),
            };
            batch.spans.reserve(entry.spans.len());
            for one in entry.spans {
                match (&resource, &scope) {
                    (Ok(resource), Ok(scope)) => span(one, resource, scope, &mut batch),
                    _ => surroundings(&mut batch),
                }
            }
        }
    }
    batch.take()
}

/// The log records of a request that is already decoded.
pub fn logs_from_request(request: ExportLogsServiceRequest, limits: &Limits) -> Decoded {
    let mut batch = Batch::new(limits);
    for entry in request.resource_logs {
        for record in entry
            .scope_logs
            .into_iter()
            .flat_map(|scope| scope.log_records)
        {
            log(record, &mut batch);
        }
    }
    batch.take()
}

/// How many data points a decoded request has.
pub fn metrics_count_from_request(request: &ExportMetricsServiceRequest) -> u64 {
    let points = |metric: &Metric| match &metric.data {
        None => 0,
        Some(metric::Data::Gauge(data)) => data.data_points.len(),
        Some(metric::Data::Sum(data)) => data.data_points.len(),
        Some(metric::Data::Histogram(data)) => data.data_points.len(),
        Some(metric::Data::ExponentialHistogram(data)) => data.data_points.len(),
        Some(metric::Data::Summary(data)) => data.data_points.len(),
    };
    let scopes = request
        .resource_metrics
        .iter()
        .flat_map(|entry| &entry.scope_metrics);
    scopes
        .flat_map(|scope| &scope.metrics)
        .map(points)
        .sum::<usize>() as u64
}

/// Field 1 of a request of any signal, each entry.
fn each(
    bytes: &[u8],
    limits: &Limits,
    entry: impl FnMut(&[u8]) -> Result<(), Broken>,
) -> Result<(), DecodeError> {
    if bytes.len() > limits.max_message_bytes {
        return Err(DecodeError::TooLarge {
            got: bytes.len(),
            limit: limits.max_message_bytes,
        });
    }
    each_in(bytes, 1, entry).map_err(|Broken(what)| DecodeError::Proto(what.to_owned()))
}

/// Every message in field `number`.
fn each_in<'a>(
    message: &'a [u8],
    number: u64,
    mut entry: impl FnMut(&'a [u8]) -> Result<(), Broken>,
) -> Result<(), Broken> {
    for field in Fields::of(message) {
        match field? {
            (found, Payload::Bytes(bytes)) if found == number => entry(bytes)?,
            (found, Payload::Number) if found == number => {
                return Err(Broken("a number where a message is due"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn resource_spans(entry: &[u8], batch: &mut Batch<'_>) -> Result<(), Broken> {
    let around = Around::of(entry)?;
    let resource = around.resource(batch);
    // 1000 is where collectors of 2021 put `instrumentation_library_spans`.
    for number in [2, 1000] {
        each_in(entry, number, |entry| {
            let scope = Around::of(entry)?.scope(batch);
            each_in(entry, 2, |bytes| {
                match (&resource, &scope) {
                    (Some(resource), Some(scope)) => match ProtoSpan::decode(bytes) {
                        Ok(one) => span(one, resource, scope, batch),
                        Err(error) => batch.reject(Reject::Malformed, || error.to_string()),
                    },
                    _ => surroundings(batch),
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// What an entry says of all that is in it: field 1, and the schema in field 3.
#[derive(Debug)]
struct Around<'a> {
    bytes: Option<&'a [u8]>,
    schema_url: &'a [u8],
}

impl<'a> Around<'a> {
    fn of(entry: &'a [u8]) -> Result<Self, Broken> {
        let mut around = Self {
            bytes: None,
            schema_url: &[],
        };
        for field in Fields::of(entry) {
            match field? {
                (1, Payload::Bytes(bytes)) => around.bytes = Some(bytes),
                (3, Payload::Bytes(bytes)) => around.schema_url = bytes,
                _ => {}
            }
        }
        Ok(around)
    }

    fn resource(&self, batch: &mut Batch<'_>) -> Option<Arc<Resource>> {
        if self.is_none() {
            return Some(batch.no_resource());
        }
        let key = self.key();
        if let Some(known) = batch.resources.get(&key) {
            return Some(known);
        }
        let decoded = ProtoResource::decode(self.bytes.unwrap_or_default()).ok()?;
        let resource = convert::resource(decoded, self.schema()?, batch.limits.max_depth).ok()?;
        let resource = Arc::new(resource);
        batch.resources.put(&key, Arc::clone(&resource));
        Some(resource)
    }

    fn scope(&self, batch: &mut Batch<'_>) -> Option<Arc<Scope>> {
        if self.is_none() {
            return Some(batch.no_scope());
        }
        let key = self.key();
        if let Some(known) = batch.scopes.get(&key) {
            return Some(known);
        }
        let decoded = InstrumentationScope::decode(self.bytes.unwrap_or_default()).ok()?;
        let scope = convert::scope(decoded, self.schema()?, batch.limits.max_depth).ok()?;
        let scope = Arc::new(scope);
        batch.scopes.put(&key, Arc::clone(&scope));
        Some(scope)
    }

    fn is_none(&self) -> bool {
        self.bytes.is_none() && self.schema_url.is_empty()
    }

    fn schema(&self) -> Option<Text> {
        std::str::from_utf8(self.schema_url).ok().map(Text::from)
    }

    fn key(&self) -> Vec<u8> {
        let bytes = self.bytes.unwrap_or_default();
        [&bytes.len().to_le_bytes(), bytes, self.schema_url].concat()
    }
}

fn span(one: ProtoSpan, resource: &Arc<Resource>, scope: &Arc<Scope>, batch: &mut Batch<'_>) {
    match convert::span(one, resource, scope, batch.limits.max_depth) {
        Ok(span) => batch.spans.push(span),
        Err((why, name)) => batch.reject(why, || format!("span `{name}`: {}", why.words())),
    }
}

fn log(record: LogRecord, batch: &mut Batch<'_>) {
    match convert::log(record, batch.limits.max_depth) {
        Ok(log) => batch.keep_log(log),
        Err(why) => batch.reject(why, || why.words().to_owned()),
    }
}

fn surroundings(batch: &mut Batch<'_>) {
    let why = Reject::Surroundings;
    batch.reject(why, || why.words().to_owned());
}
