//! One record as it stands, of either version.

use crate::model::{Kind, Text, Value};
use crate::otlp::Batch;
use crate::otlp::ids;
use crate::otlp::json::fields;
use crate::otlp::json::reader::{Read, Reader, Scalar};

use super::super::draft::Draft;
use super::super::plain;

const KINDS: [(&str, Kind); 4] = [
    ("CLIENT", Kind::Client),
    ("SERVER", Kind::Server),
    ("PRODUCER", Kind::Producer),
    ("CONSUMER", Kind::Consumer),
];

/// Who was at one end of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) service: Text,
    pub(super) ipv4: Text,
    pub(super) ipv6: Text,
    /// 0 for none.
    pub(super) port: u16,
}

impl Endpoint {
    /// The address, the fourth version first.
    pub(super) fn ip(&self) -> Option<&Text> {
        [&self.ipv4, &self.ipv6]
            .into_iter()
            .find(|ip| !ip.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Something at an instant; in version 1 also the edges of a call, by two letters.
#[derive(Debug, Default)]
pub(super) struct Annotation {
    /// Nanoseconds since the epoch.
    pub(super) time: Option<i64>,
    pub(super) value: Text,
    pub(super) endpoint: Endpoint,
}

/// A record under way.
#[derive(Debug)]
pub(super) struct Record {
    /// Ids, name, and what became an attribute.
    pub(super) draft: Draft,
    pub(super) kind: Option<Kind>,
    /// Nanoseconds since the epoch; 0 counts as absent, as in Zipkin.
    pub(super) start: Option<i64>,
    /// Nanoseconds.
    pub(super) duration: Option<i64>,
    pub(super) local: Endpoint,
    pub(super) remote: Endpoint,
    pub(super) annotations: Vec<Annotation>,
    /// Version 1: the far side's address under `sa` (server), `ca` (client) or `ma` (broker).
    pub(super) far: Option<(Text, Endpoint)>,
    /// Version 1: who reported a tag.
    pub(super) reporter: Endpoint,
    /// Version 1: the record says that it is of one process alone (`lc`).
    pub(super) is_local: bool,
    /// The text of an `error` tag.
    pub(super) error: Option<Text>,
    has_id: bool,
    has_trace: bool,
}

impl Record {
    pub(super) fn begin(batch: &Batch<'_>) -> Self {
        Self {
            draft: Draft::new(batch),
            kind: None,
            start: None,
            duration: None,
            local: Endpoint::default(),
            remote: Endpoint::default(),
            annotations: Vec::new(),
            far: None,
            reporter: Endpoint::default(),
            is_local: false,
            error: None,
            has_id: false,
            has_trace: false,
        }
    }

    /// True when it names a trace and itself.
    pub(super) fn is_span(&self) -> bool {
        self.has_id && self.has_trace
    }

    /// True when it names one of them: a span that is incomplete, or a wrapper of spans.
    pub(super) fn may_be_span(&self) -> bool {
        self.has_id || self.has_trace
    }

    /// Reads the value of `key`; false, and nothing read, when it may be a wrapper of records.
    pub(super) fn read_field(
        &mut self,
        reader: &mut Reader<'_>,
        batch: &mut Batch<'_>,
        key: &str,
    ) -> Read<bool> {
        match key {
            "traceId" => {
                self.has_trace = true;
                self.draft.trace_id(&id(reader)?);
            }
            "id" => {
                self.has_id = true;
                self.draft.span_id(&id(reader)?);
            }
            "parentId" => self.draft.parent_id(&id(reader)?),
            "name" => self.draft.span.name = fields::text(reader)?.unwrap_or_default(),
            "kind" => self.kind = kind(&fields::text(reader)?.unwrap_or_default()),
            "timestamp" => match plain::micros(reader)? {
                Ok(time) => self.start = time.filter(|&time| time != 0),
                Err(()) => self.draft.fault(key),
            },
            "duration" => match plain::micros(reader)? {
                Ok(duration) => self.duration = duration,
                Err(()) => self.draft.fault(key),
            },
            "localEndpoint" => self.local = endpoint(reader)?,
            "remoteEndpoint" => self.remote = endpoint(reader)?,
            "annotations" => self.annotations(reader)?,
            "binaryAnnotations" => self.binary_annotations(reader, batch)?,
            "tags" => {
                let tags = plain::attributes(reader, batch, 0)?.unwrap_or_default();
                for (key, value) in tags.0 {
                    self.tag(key, value);
                }
            }
            "debug" | "shared" => {
                if reader.scalar()? == Scalar::Bool(true) {
                    let name = if key == "debug" {
                        "zipkin.debug"
                    } else {
                        "zipkin.shared"
                    };
                    self.draft.attribute(name, Value::Bool(true));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tag(&mut self, key: Text, value: Value) {
        if key == "error" {
            self.error = Some(match &value {
                Value::Str(text) => text.clone(),
                other => compact_str::format_compact!("{other}"),
            });
        }
        self.draft.attribute(key, value);
    }

    fn annotations(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        let read = fields::list(reader, |reader| {
            let mut one = Annotation::default();
            let read = fields::object(reader, |reader, key| {
                match key {
                    // An instant that cannot be read costs the annotation, not the span.
                    "timestamp" => one.time = plain::micros(reader)?.unwrap_or_default(),
                    "value" => one.value = fields::text(reader)?.unwrap_or_default(),
                    "endpoint" => one.endpoint = endpoint(reader)?,
                    _ => {
                        reader.skip()?;
                    }
                }
                Ok(())
            })?;
            match read {
                Ok(()) if one.time.is_some() => self.annotations.push(one),
                _ => self.draft.span.dropped_events += 1,
            }
            Ok(())
        })?;
        if read.is_err() {
            self.draft.fault("annotations");
        }
        Ok(())
    }

    fn binary_annotations(&mut self, reader: &mut Reader<'_>, batch: &mut Batch<'_>) -> Read<()> {
        let read = fields::list(reader, |reader| {
            let mut name = Text::default();
            let mut value = Value::Empty;
            let mut kind = Text::default();
            let mut place = Endpoint::default();
            let read = fields::object(reader, |reader, key| {
                match key {
                    "key" => name = fields::text(reader)?.unwrap_or_default(),
                    "value" => value = plain::value(reader, batch, 0)?,
                    "type" => kind = fields::text(reader)?.unwrap_or_default(),
                    "endpoint" => place = endpoint(reader)?,
                    _ => {
                        reader.skip()?;
                    }
                }
                Ok(())
            })?;
            if read.is_err() {
                self.draft.span.dropped_attributes += 1;
                return Ok(());
            }
            match name.as_str() {
                "sa" | "ca" | "ma" => {
                    self.far = Some((name, place));
                    return Ok(());
                }
                "lc" => self.is_local = true,
                _ => {}
            }
            if self.reporter.is_empty() {
                self.reporter = place;
            }
            self.tag(name, typed(value, &kind));
            Ok(())
        })?;
        if read.is_err() {
            self.draft.fault("binaryAnnotations");
        }
        Ok(())
    }
}

/// An id as it is written; a number is taken for its digits.
fn id(reader: &mut Reader<'_>) -> Read<Text> {
    Ok(fields::text(reader)?.unwrap_or_default())
}

fn kind(name: &str) -> Option<Kind> {
    KINDS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name.trim()))
        .map(|&(_, kind)| kind)
}

fn endpoint(reader: &mut Reader<'_>) -> Read<Endpoint> {
    let mut endpoint = Endpoint::default();
    // What is no object says nothing about an endpoint.
    let _nothing = fields::object(reader, |reader, key| {
        match key {
            "serviceName" => endpoint.service = fields::text(reader)?.unwrap_or_default(),
            "ipv4" => endpoint.ipv4 = fields::text(reader)?.unwrap_or_default(),
            "ipv6" => endpoint.ipv6 = fields::text(reader)?.unwrap_or_default(),
            "port" => endpoint.port = u16::try_from(fields::count(reader)?).unwrap_or_default(),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(endpoint)
}

/// A version 1 value whose type stands beside it.
fn typed(value: Value, kind: &str) -> Value {
    let Value::Str(text) = &value else {
        return value;
    };
    let other = match kind.to_ascii_uppercase().as_str() {
        "BOOL" => text.trim().parse().ok().map(Value::Bool),
        "I16" | "I32" | "I64" => fields::signed(text.trim()).map(Value::Int),
        "DOUBLE" => text.trim().parse().ok().map(Value::Double),
        "BYTES" => ids::base64(text.as_bytes()).map(Value::Bytes),
        _ => None,
    };
    other.unwrap_or(value)
}
