//! From a body's bytes to the log and the assembly: inflate, decode, offer, wait for the commit.
//! Both protocols come through here. Waiting takes no thread.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{Format, Receiver, Signal};
use crate::ingest::{Accepted, Batch, Refused, Ticket};
use crate::otlp::{self, DecodeError, Decoded, Encoding, InflateError};

/// Bodies from this size on are decoded off the threads that serve connections; a compressed one
/// counts for eight times its size.
const LARGE: usize = 256 << 10;

/// An export was taken; all of it unless `rejected` is above zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Taken {
    /// Spans, log records or data points that can never be taken.
    pub(super) rejected: u64,
    /// Why.
    pub(super) message: String,
}

/// Why an export was not taken, as far as both protocols have an answer for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The bytes are no such message.
    #[error("{0}")]
    Malformed(String),
    /// The bytes cannot be decompressed.
    #[error("{0}")]
    Broken(String),
    /// Larger than a message may be.
    #[error("the message is larger than {limit} bytes, which is the most that is taken")]
    TooLarge { limit: usize },
    /// There is no room now.
    #[error("no room for more now; try again later")]
    Full { retry_after: Duration },
    /// It cannot be kept safely now.
    #[error("{why}")]
    Unavailable {
        why: &'static str,
        retry_after: Duration,
    },
    /// The body did not arrive in time.
    #[error("the body took too long to arrive")]
    TooSlow,
    /// The client left; nobody reads the answer.
    #[error("the body broke off")]
    Gone,
    /// A fault of ours.
    #[error("internal error")]
    Internal,
}

impl Refusal {
    pub(super) fn busy() -> Self {
        Self::Full {
            retry_after: Duration::from_secs(1),
        }
    }
}

/// A message that was decoded and offered, and is not answered yet.
#[derive(Debug)]
pub(super) enum Offered {
    /// There is nothing to wait for.
    Taken(Taken),
    /// It is being brought to the disk.
    Waiting(Signal, Ticket),
}

impl Offered {
    /// Waits until the message is kept or refused.
    pub(super) async fn taken(self) -> Result<Taken, Refusal> {
        match self {
            Self::Taken(taken) => Ok(taken),
            Self::Waiting(signal, ticket) => {
                let accepted = ticket.await.map_err(refused)?;
                Ok(told(signal, accepted))
            }
        }
    }
}

impl Receiver {
    /// Takes one message: what is acknowledged is in the log and in the assembly when this returns.
    pub(super) async fn take(
        self: &Arc<Self>,
        signal: Signal,
        format: Format,
        encoding: Encoding,
        body: Bytes,
    ) -> Result<Taken, Refusal> {
        let (length, compressed) = (body.len(), encoding != Encoding::Identity);
        let receiver = Arc::clone(self);
        let offered = self.in_turn(length, compressed, move || {
            receiver.offer_now(signal, format, encoding, &body)
        });
        offered.await??.taken().await
    }

    /// Does the work of one message: at once if it is small, else off the threads that serve
    /// connections, a few at a time, so that what they inflate to stays bounded.
    pub(super) async fn in_turn<T: Send + 'static>(
        &self,
        length: usize,
        compressed: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let weight = length.saturating_mul(if compressed { 8 } else { 1 });
        if weight < LARGE {
            return Ok(work());
        }
        let Ok(_permit) = self.large.acquire().await else {
            return Err(Refusal::Internal);
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "a decoder failed");
            Refusal::Internal
        })
    }

    /// Decodes and offers a message whose turn it is.
    pub(super) fn offer_now(
        &self,
        signal: Signal,
        format: Format,
        encoding: Encoding,
        body: &Bytes,
    ) -> Result<Offered, Refusal> {
        let limits = &self.config.limits;
        let bytes = otlp::inflate(encoding, body, limits.max_message_bytes).map_err(inflated)?;
        let decoded = match (signal, format) {
            (Signal::Traces, Format::Protobuf) => otlp::traces_from_proto(&bytes, limits),
            (Signal::Traces, Format::Json) => otlp::traces_from_json(&bytes, limits),
            (Signal::Logs, Format::Protobuf) => otlp::logs_from_proto(&bytes, limits),
            (Signal::Logs, Format::Json) => otlp::logs_from_json(&bytes, limits),
            (Signal::Metrics, Format::Protobuf) => {
                return self.refuse_points(otlp::metrics_count_from_proto(&bytes, limits));
            }
            (Signal::Metrics, Format::Json) => {
                return self.refuse_points(otlp::metrics_count_from_json(&bytes, limits));
            }
        };
        let decoded = decoded.map_err(decode)?;
        let message = (format == Format::Protobuf).then(|| match bytes {
            Cow::Borrowed(_) => body.clone(),
            Cow::Owned(bytes) => bytes.into(),
        });
        self.offer(signal, decoded, message)
    }

    fn offer(
        &self,
        signal: Signal,
        decoded: Decoded,
        message: Option<Bytes>,
    ) -> Result<Offered, Refusal> {
        let rejected: Vec<(&'static str, u64)> = decoded
            .rejected
            .iter()
            .map(|(why, count)| (why.as_str(), *count))
            .collect();
        let mut batch = Batch {
            spans: decoded.spans,
            logs: decoded.logs,
            first_error: decoded.first_error,
            message,
            ..Batch::default()
        };
        let is_logs = signal == Signal::Logs;
        if is_logs {
            batch.rejected_logs = rejected;
        } else {
            batch.rejected_spans = rejected;
        }
        let ticket = self.ingest.offer(batch).map_err(refused)?;
        Ok(Offered::Waiting(signal, ticket))
    }

    fn refuse_points(&self, points: Result<u64, DecodeError>) -> Result<Offered, Refusal> {
        let rejected = points.map_err(decode)?;
        self.ingest.telemetry().points_rejected.inc_by(rejected);
        let message = if rejected == 0 {
            String::new()
        } else {
            "Dwindle takes traces and the log records of their spans, no metrics".to_owned()
        };
        Ok(Offered::Taken(Taken { rejected, message }))
    }
}

fn inflated(error: InflateError) -> Refusal {
    match error {
        InflateError::TooLarge { cap } => Refusal::TooLarge { limit: cap },
        broken @ InflateError::Broken { .. } => Refusal::Broken(broken.to_string()),
    }
}

fn decode(error: DecodeError) -> Refusal {
    match error {
        DecodeError::TooLarge { limit, .. } => Refusal::TooLarge { limit },
        other => Refusal::Malformed(other.to_string()),
    }
}

fn refused(refused: Refused) -> Refusal {
    let retry_after = Duration::from_nanos(refused.retry_after().at_least_zero().0 as u64);
    match refused {
        Refused::Full(_) => Refusal::Full { retry_after },
        Refused::Unavailable { why, .. } => Refusal::Unavailable { why, retry_after },
    }
}

/// What the sender is told of a message that was taken.
fn told(signal: Signal, accepted: Accepted) -> Taken {
    let is_logs = signal == Signal::Logs;
    let rejected = if is_logs {
        accepted.rejected_logs
    } else {
        accepted.rejected_spans
    };
    let message = match (rejected, accepted.message) {
        (0, _) => String::new(),
        (_, Some(message)) if is_logs => {
            format!("Dwindle takes traces, and of logs the records of their spans: {message}")
        }
        (_, Some(message)) => message,
        (_, None) => "some were not valid".to_owned(),
    };
    Taken { rejected, message }
}
