//! From a record to a span: whose it is, when it ran, and what is left of the far side.

use std::sync::Arc;

use crate::model::{Attributes, Event, Kind, Resource, StatusCode, Text, UnixNanos, Value};
use crate::otlp::Batch;
use crate::otlp::json::reader::Read;

use super::super::draft::{self, Draft};
use super::record::{Endpoint, Record};

/// A span whose start may still be unknown.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) draft: Draft,
    /// Nanoseconds.
    pub(super) duration: i64,
    /// False when nothing in the record says when it began; its start is 0 so far.
    pub(super) has_start: bool,
    local: Endpoint,
}

/// The two annotations that stand for the edges of a call in version 1, and the span's kind.
const EDGES: [(&str, &str, Kind); 4] = [
    ("cs", "cr", Kind::Client),
    ("sr", "ss", Kind::Server),
    ("ms", "", Kind::Producer),
    ("mr", "", Kind::Consumer),
];

impl Record {
    /// What the record says, as a span.
    pub(super) fn into_span(mut self) -> Timed {
        self.take_sides();
        let edges = self.edges();
        let (begin, end) = edges.map_or((None, None), |(from, to, _)| (self.at(from), self.at(to)));
        let earliest = self.annotations.iter().filter_map(|one| one.time).min();
        let start = self.start.or(begin).or(earliest);
        let duration = self
            .duration
            .or_else(|| Some(end?.saturating_sub(begin.or(start)?)));
        let has_start = self.start.or(begin).is_some();
        self.draft.missing(has_start, duration.is_some());
        let duration = duration.unwrap_or_default();
        let first = start.unwrap_or_default();
        let last = first.saturating_add(duration);
        self.draft.span.start = nanos(first);
        self.draft.span.end = nanos(last);
        self.take_events(first, last);
        self.take_status();
        self.take_far_side();
        Timed {
            draft: self.draft,
            duration,
            has_start: start.is_some(),
            local: self.local,
        }
    }

    /// The instant of a version 1 annotation.
    fn at(&self, value: &str) -> Option<i64> {
        let found = self.annotations.iter().find(|one| one.value == value);
        found.and_then(|one| one.time)
    }

    /// The edges that the span's own side has.
    fn edges(&self) -> Option<&'static (&'static str, &'static str, Kind)> {
        let kind = self.draft.span.kind;
        EDGES.iter().find(|(.., known)| *known == kind)
    }

    /// Whose span it is and who was at the far side: version 1 says so in the endpoints of its
    /// annotations. Of a record with both sides the caller's is taken: the record's time is its.
    fn take_sides(&mut self) {
        let endpoint = |edges: [&str; 2]| {
            let annotations = self.annotations.iter();
            let mut own = annotations.filter(|one| edges.contains(&one.value.as_str()));
            own.find(|one| !one.endpoint.is_empty())
                .map(|one| one.endpoint.clone())
        };
        let has = |from: &str, to: &str| self.at(from).is_some() || self.at(to).is_some();
        let told = EDGES.iter().find(|(from, to, _)| has(from, to));
        let kind = self.kind.or_else(|| told.map(|(.., kind)| *kind));
        let kind = kind.or_else(|| {
            Some(match self.far.as_ref()?.0.as_str() {
                "sa" => Kind::Client,
                "ca" => Kind::Server,
                _ => return None,
            })
        });
        self.draft.span.kind = match kind {
            None if self.is_local => Kind::Internal,
            kind => kind.unwrap_or_default(),
        };
        let (near, far) = match kind {
            Some(Kind::Client) => (endpoint(["cs", "cr"]), endpoint(["sr", "ss"])),
            Some(Kind::Server) => (endpoint(["sr", "ss"]), endpoint(["cs", "cr"])),
            Some(Kind::Producer) => (endpoint(["ms", "ms"]), endpoint(["mr", "mr"])),
            Some(Kind::Consumer) => (endpoint(["mr", "mr"]), endpoint(["ms", "ms"])),
            _ => (None, None),
        };
        if self.local.is_empty() {
            let any = self.annotations.iter().map(|one| &one.endpoint);
            let any = any.chain([&self.reporter]).find(|one| !one.is_empty());
            self.local = near.or_else(|| any.cloned()).unwrap_or_default();
        }
        if self.remote.is_empty() {
            let address = self.far.take().map(|(_, endpoint)| endpoint);
            self.remote = address.or(far).unwrap_or_default();
        }
    }

    /// Annotations become events, but for the span's own edges, which say its times again.
    fn take_events(&mut self, first: i64, last: i64) {
        let edges = self.edges();
        let own = |value: &str, time: i64| {
            edges.is_some_and(|(from, to, _)| {
                (value == *from && time == first) || (value == *to && time == last)
            })
        };
        let local = &self.local;
        self.draft.span.events = std::mem::take(&mut self.annotations)
            .into_iter()
            .filter_map(|one| Some((one.time?, one)))
            .filter(|(time, one)| !own(&one.value, *time))
            .map(|(time, one)| {
                let far = !one.endpoint.service.is_empty() && one.endpoint.service != local.service;
                let attributes = far.then(|| ("service.name", Value::Str(one.endpoint.service)));
                Event {
                    time: nanos(time),
                    name: one.value,
                    attributes: attributes.into_iter().collect(),
                    dropped_attributes: 0,
                }
            })
            .collect();
    }

    /// An `error` tag says that the span failed, whatever it holds but `false`; an exporter of
    /// OpenTelemetry says it in tags of its own.
    fn take_status(&mut self) {
        let tags = &self.draft.span.attributes;
        let told = tags.text("otel.status_code").map(str::to_ascii_uppercase);
        let description = tags.text("otel.status_description").map(Text::from);
        let error = self.error.take().filter(|text| text != "false");
        let code = match told.as_deref() {
            Some("OK") => StatusCode::Ok,
            Some("ERROR") => StatusCode::Error,
            _ if error.is_some() => StatusCode::Error,
            _ => return,
        };
        let message = description.or(error.filter(|text| text != "true"));
        let status = &mut self.draft.span.status;
        status.code = code;
        if code == StatusCode::Error {
            status.message = message.unwrap_or_default();
        }
    }

    fn take_far_side(&mut self) {
        let remote = std::mem::take(&mut self.remote);
        let (address, port) = match self.draft.span.kind {
            Kind::Server => ("client.address", "client.port"),
            _ => ("server.address", "server.port"),
        };
        // What a tag says itself stands.
        let mut add = |key: &'static str, value: Value| {
            if self.draft.span.attributes.get(key).is_none() {
                self.draft.attribute(Text::const_new(key), value);
            }
        };
        if let Some(ip) = remote.ip() {
            add(address, Value::Str(ip.clone()));
        }
        if remote.port > 0 {
            add(port, Value::Int(remote.port.into()));
        }
        if !remote.service.is_empty() {
            add("peer.service", Value::Str(remote.service));
        }
    }
}

impl Timed {
    /// True when it does not say who reported it, nor of which side it is.
    pub(super) fn is_nobodys(&self) -> bool {
        self.local.is_empty() && self.draft.span.kind == Kind::Unspecified
    }

    /// The span with its resource.
    pub(super) fn into_draft(mut self, batch: &mut Batch<'_>) -> Read<Draft> {
        if !self.local.is_empty() {
            self.draft.span.resource = resource(&self.local, batch)?;
        }
        Ok(self.draft)
    }
}

/// The resource of a process, one for all its spans.
fn resource(local: &Endpoint, batch: &mut Batch<'_>) -> Read<Arc<Resource>> {
    let port = local.port.to_be_bytes();
    let parts = [&local.service, &local.ipv4, &local.ipv6].map(Text::as_bytes);
    let key = [b"zipkin".as_slice(), parts[0], parts[1], parts[2], &port].join(&0);
    draft::resource(batch, &key, |_| {
        let text = |text: &Text| Value::Str(text.clone());
        let mut pairs = Vec::new();
        if !local.service.is_empty() {
            pairs.push(("service.name", text(&local.service)));
        }
        if local.ip().is_some() {
            let ips = [&local.ipv4, &local.ipv6];
            let ips = ips.into_iter().filter(|ip| !ip.is_empty());
            pairs.push(("host.ip", Value::Array(ips.map(text).collect())));
        }
        if local.port > 0 {
            pairs.push(("network.local.port", Value::Int(local.port.into())));
        }
        Ok(pairs.into_iter().collect::<Attributes>())
    })
}

/// An instant; one before the epoch is the epoch.
fn nanos(time: i64) -> UnixNanos {
    UnixNanos(u64::try_from(time).unwrap_or_default())
}
