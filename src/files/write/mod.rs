//! Traces in the formats that other tools read.
//!
//! Each trace is written alone ([`Format::encode`]); what stands around and between them is fixed
//! text, so that a file of any length is written trace by trace. OTLP keeps everything that the
//! model has of spans. What another format cannot hold is counted, never dropped in silence
//! ([`Losses`]).

mod jaeger;
mod losses;
mod pack;

use prost::Message;

use crate::model::Trace;
use crate::otlp::{logs_to_json, traces_to_json, traces_to_proto};

pub use losses::{Loss, Losses};
pub use pack::{Compression, Packed};

/// A format to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OTLP/JSON, one request a line and a trace in each, as the Collector's `file` exporter
    /// writes it. Log records follow their trace in a line of their own: their ids, time,
    /// attributes and text, which is all that is kept of them.
    OtlpJson,
    /// OTLP protobuf: one `TracesData`. Messages that stand behind one another are one message
    /// in protobuf, so each trace is written when it comes, and whoever reads `TracesData` or
    /// `ExportTraceServiceRequest` reads the file.
    OtlpProto,
    /// The JSON of Jaeger's API and UI: one document, as the UI takes it.
    Jaeger,
}

/// One trace, written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Encoded {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What the format could not hold as it was.
    pub losses: Losses,
}

impl Format {
    /// What stands before the first trace.
    pub fn head(self) -> &'static str {
        match self {
            Self::OtlpJson | Self::OtlpProto => "",
            Self::Jaeger => "{\"data\":[\n",
        }
    }

    /// What stands between two traces.
    pub fn between(self) -> &'static str {
        match self {
            Self::OtlpJson | Self::OtlpProto => "",
            Self::Jaeger => ",\n",
        }
    }

    /// What stands behind the last trace.
    pub fn tail(self) -> &'static str {
        match self {
            Self::OtlpJson | Self::OtlpProto => "",
            Self::Jaeger => "\n]}\n",
        }
    }

    /// Writes one trace.
    pub fn encode(self, trace: &Trace) -> Encoded {
        let mut losses = Losses::default();
        let bytes = match self {
            Self::OtlpJson => {
                let mut text = traces_to_json(&trace.spans);
                text.push('\n');
                if !trace.logs.is_empty() {
                    losses.add(Loss::LogParts, trace.logs.len());
                    text.push_str(&logs_to_json(&trace.logs));
                    text.push('\n');
                }
                text.into_bytes()
            }
            Self::OtlpProto => {
                losses.add(Loss::Log, trace.logs.len());
                traces_to_proto(&trace.spans).encode_to_vec()
            }
            Self::Jaeger => jaeger::trace(trace, &mut losses).into_bytes(),
        };
        Encoded { bytes, losses }
    }
}
