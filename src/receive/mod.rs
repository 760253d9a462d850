//! OTLP from sockets: gRPC and HTTP, traces, logs and metrics.
//!
//! ```text
//!  socket ─► listen ─► grpc (tonic, statuses)      ─┐
//!                  └─► http (types, statuses, CORS) ─┴─► body (capped) ─► intake (inflate, decode, offer)
//! ```
//!
//! Both protocols read a whole body under the caps and hand it to the same [`Receiver::take`]; they
//! differ in how they say what came of it. Neither trusts a length that was announced: memory is
//! taken as bytes arrive. gRPC's framing is tonic's, with a codec that leaves messages as bytes, so
//! that a message is decoded once and its bytes can go to a log as they came.
//!
//! **Invariant**: nothing that a client sends can panic, nor allocate past the limits. A header is
//! parsed once, into an enum, and the enum is what is carried.

mod body;
mod grpc;
mod http;
mod intake;
mod listen;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

pub use listen::{Connections, serve};

use crate::ingest::Ingest;
use crate::otlp::Limits;

/// What a client may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What one message may cost.
    pub limits: Limits,
    /// The most bytes of bodies being held, over all connections.
    pub max_inflight_bytes: usize,
    /// The longest time for a body to arrive.
    pub body_timeout: Duration,
    /// How many large bodies are decoded at once.
    pub threads: usize,
    /// Web origins that may export; `*` is any.
    pub cors_origins: Vec<String>,
}

/// Takes what the two protocols bring. Share it in an `Arc`.
#[derive(Debug)]
pub struct Receiver {
    ingest: Arc<Ingest>,
    config: Config,
    /// A permit per byte of body being held.
    inflight: Arc<Semaphore>,
    /// A permit per large body being decoded.
    large: Semaphore,
}

/// What kind of telemetry an export carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Traces,
    Logs,
    Metrics,
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Protobuf,
    Json,
}

impl Receiver {
    /// A receiver that hands over to `ingest`.
    pub fn new(ingest: Arc<Ingest>, config: Config) -> Arc<Self> {
        let inflight = config.max_inflight_bytes.min(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            ingest,
            inflight: Arc::new(Semaphore::new(inflight)),
            large: Semaphore::new(config.threads.max(1)),
            config,
        })
    }

    /// The service of the OTLP/gRPC port.
    pub fn grpc(self: &Arc<Self>) -> axum::Router {
        let receiver = Arc::clone(self);
        axum::Router::new().fallback(async move |request| grpc::answer(&receiver, request).await)
    }

    /// The service of the OTLP/HTTP port.
    pub fn http(self: &Arc<Self>) -> axum::Router {
        let receiver = Arc::clone(self);
        axum::Router::new().fallback(async move |request| http::answer(&receiver, request).await)
    }
}

impl Signal {
    fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
        }
    }
}
