//! What a file is that Dwindle does not read, and what to do about it.

use crate::model::Text;
use crate::otlp::json::reader::{Reader, Shape};
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
        name: "a HAR file of a browser's network log",
        advice: "Dwindle needs spans of a distributed trace",
        keys: &[&["log", "entries", "startedDateTime"]],
    },
    Known {
        name: "a list of what a search in Tempo found, without the spans",
        advice: "fetch each trace from Tempo's `/api/traces/{id}`",
        keys: &[&["traces", "traceID", "rootServiceName"]],
    },
    Known {
        name: "AWS X-Ray segments",
        advice: COLLECTOR,
        keys: &[&["Segments", "Document"], &["trace_id", "subsegments"]],
    },
    Known {
        name: "Datadog traces",
        advice: COLLECTOR,
        keys: &[&["trace_id", "span_id", "meta", "resource", "start"]],
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

/// A kind of text that is no JSON.
struct Words {
    name: &'static str,
    advice: &'static str,
    /// How it begins, in lower case: one of these.
    starts: &'static [&'static str],
}

const TEXTS: &[Words] = &[
    Words {
        name: "a web page (HTML)",
        advice: "the address may want a login, or is the page and not the API",
        starts: &["<!doctype html", "<html", "<head"],
    },
    Words {
        name: "XML",
        advice: "name a file of traces",
        starts: &["<?xml"],
    },
    Words {
        name: "a Python pickle",
        advice: "write the spans with an OTLP exporter",
        starts: &["(lp0", "(dp0", "ccopy_reg", "c__builtin__", "ccollections"],
    },
    Words {
        name: "what .NET's console exporter prints",
        advice: "use the OTLP exporter",
        starts: &["activity.traceid", "resource associated with activity"],
    },
];

impl Words {
    fn is(&self, start: &str) -> bool {
        let start = start.to_ascii_lowercase();
        self.starts.iter().any(|known| start.starts_with(known))
    }
}

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
            Self::Scalar => format!("a bare JSON value, so no traces in this file; {READS}"),
            Self::Nothing => "no spans: the JSON is empty".to_owned(),
            Self::Text(start) => match TEXTS.iter().find(|known| known.is(start)) {
                Some(known) => format!("this is {}; {READS}: {}", known.name, known.advice),
                None => format!("not JSON (begins with `{start}`); {READS}"),
            },
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

/// What a text is that cannot hold spans.
pub(super) fn text(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(MARK).unwrap_or(head).trim_ascii_start();
    match head.first()? {
        b'{' | b'[' => None,
        _ if is_scalar(head) => Some(Format::Scalar),
        _ => {
            let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let start: String = String::from_utf8_lossy(line).chars().take(40).collect();
            Some(Format::Text(start.trim_end().to_owned()))
        }
    }
}

/// True for `null`, a number, a string and the like, and nothing behind it.
fn is_scalar(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut reader = Reader::new(&text);
    reader.scalar().is_ok() && reader.is_at_end()
}
