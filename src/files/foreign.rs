//! What a file is that Dwindle does not read, and what to do about it.

use crate::model::Text;
use crate::otlp::json::reader::Shape;
use crate::otlp::json::{Found, MARK};

/// What a file may be, for whoever has another one.
pub(super) const READS: &str = "Dwindle reads OTLP (JSON, NDJSON or protobuf), Jaeger, Zipkin and \
     Tempo JSON, and what the Go and Python SDKs print";

/// A kind of file that is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    /// One with a name.
    Named(&'static Known),
    /// JSON that nobody here has seen before: its first keys.
    Keys(Vec<Text>),
    /// A JSON scalar.
    Scalar,
    /// `{}`, `[]` and the like.
    Nothing,
    /// No JSON: how it begins.
    Text(String),
}

/// A format that people have and Dwindle does not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// What it is, as a phrase with its article.
    name: &'static str,
    /// How to come by OTLP.
    advice: &'static str,
    /// Keys, all of which a document of the format has, in one of these sets.
    keys: &'static [&'static [&'static str]],
}

const COLLECTOR: &str = "send it through an OpenTelemetry Collector with a `file` exporter";

/// The first whose keys are there is it: those with the most telling keys stand first.
const KNOWN: &[Known] = &[
    Known {
        name: "a Langfuse trace export",
        advice: "export the same run with an OTLP exporter",
        keys: &[&["trace", "observations"], &["trace", "projectId"]],
    },
    Known {
        name: "Elastic APM intake events",
        advice: COLLECTOR,
        keys: &[
            &["metadata", "service", "agent"],
            &["transaction", "trace_id"],
            &["span", "transaction_id"],
        ],
    },
    Known {
        name: "a Chrome trace",
        advice: "Dwindle needs spans of a distributed trace",
        keys: &[&["traceEvents"], &["ph", "ts", "pid"]],
    },
    Known {
        name: "a TruLens record",
        advice: "export the same run with an OTLP exporter",
        keys: &[&["record_attributes", "event_id"]],
    },
    Known {
        name: "a SigNoz query reply",
        advice: "send the spans to Dwindle by OTLP instead",
        keys: &[&["result", "list", "spanID"]],
    },
    Known {
        name: "spans in SigNoz's test format",
        advice: COLLECTOR,
        keys: &[&["span_id", "duration", "resources"]],
    },
    Known {
        name: "OpenSearch trace documents",
        advice: COLLECTOR,
        keys: &[
            &["traceGroup"],
            &["data_stream", "spanId"],
            &["instrumentationScope", "traceId"],
        ],
    },
];

/// Spans that hardly tell what they are.
const BARE: &[Known] = &[
    Known {
        name: "flat spans without `resourceSpans` around them",
        advice: "wrap them as OTLP has it: resourceSpans, scopeSpans, spans",
        keys: &[
            &["trace_id", "span_id", "start_time_unix_nano"],
            &["traceId", "spanId", "startTimeUnixNano"],
        ],
    },
    Known {
        name: "bare spans of a format that does not tell itself",
        advice: COLLECTOR,
        keys: &[
            &["traceID", "spanID"],
            &["traceId", "spanId"],
            &["trace_id", "span_id"],
        ],
    },
];

impl Format {
    /// What a document is in which no OTLP was found.
    pub(super) fn of(found: &Found) -> Self {
        if found.shape == Shape::Other {
            return Self::Scalar;
        }
        if found.keys.is_empty() {
            return Self::Nothing;
        }
        KNOWN
            .iter()
            .chain(BARE)
            .find(|known| has(found, known.keys))
            .map_or_else(
                || Self::Keys(found.keys.iter().take(5).cloned().collect()),
                Self::Named,
            )
    }

    /// What is said to who wanted to read it.
    pub(super) fn refusal(&self) -> String {
        match self {
            Self::Named(known) => format!("this is {}; {READS}: {}", known.name, known.advice),
            Self::Keys(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                format!(
                    "no `resourceSpans` in this JSON (its keys: {}); {READS}",
                    keys.join(", ")
                )
            }
            Self::Scalar => format!("a bare JSON value and no OTLP; {READS}"),
            Self::Nothing => "no spans: the JSON is empty".to_owned(),
            Self::Text(start) => format!("not JSON (begins with `{start}`); {READS}"),
        }
    }
}

/// True when a document is of a format that tells itself and is not read.
pub(super) fn is_named(found: &Found) -> bool {
    KNOWN.iter().any(|known| has(found, known.keys))
}

/// True when a document has all keys of one of these sets.
pub(super) fn has(found: &Found, sets: &[&[&str]]) -> bool {
    let has = |key: &&str| found.keys.iter().any(|known| known == *key);
    sets.iter().any(|set| set.iter().all(has))
}

/// What a text is that cannot be JSON at all.
pub(super) fn text(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(MARK).unwrap_or(head).trim_ascii_start();
    match head.first()? {
        b'{' | b'[' => None,
        _ => {
            let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let start: String = String::from_utf8_lossy(line).chars().take(40).collect();
            Some(Format::Text(start.trim_end().to_owned()))
        }
    }
}
