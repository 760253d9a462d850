//! OTLP/protobuf: the generated types of `opentelemetry-proto`, one span at a time.
//!
//! `prost` gives up a whole message for one bad string in one span. So the three outer messages
//! are walked here ([`wire`]) and each span is decoded alone: a bad one costs itself, and only one
//! is in memory in its generated form.

mod convert;
mod decode;
mod encode;
mod wire;

pub use decode::{
    logs_from_proto, logs_from_request, metrics_count_from_proto, metrics_count_from_request,
    traces_from_proto, traces_from_request,
};
pub use encode::{logs_to_proto, traces_to_proto};

pub(crate) use convert::{kind, kind_number, status_code, status_number};
pub(crate) use decode::traces_into;
pub(super) use encode::runs;
