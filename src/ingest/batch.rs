//! A decoded message on its way in, and what becomes of it.

use std::collections::HashSet;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use prost::Message as _;
use tokio::sync::oneshot;

use super::assembly::{Config, Full, Pushed, Room};
use super::log::{Kind, NotTaken, Record};
use crate::model::{Nanos, Span, SpanLog, TraceId};
use crate::otlp::{logs_to_proto, traces_to_proto};
use crate::store;

/// The good spans and log records of one message, and what was wrong with the others.
#[derive(Debug, Default)]
pub struct Batch {
    /// The good spans.
    pub spans: Vec<Span>,
    /// How many spans are bad, by reason.
    pub rejected_spans: Vec<(&'static str, u64)>,
    /// The log records that name a span.
    pub logs: Vec<SpanLog>,
    /// How many log records are not taken, by reason.
    pub rejected_logs: Vec<(&'static str, u64)>,
    /// The first thing that was wrong, for the sender.
    pub first_error: Option<String>,
    /// The protobuf message that the spans, or else the log records, were decoded from: it goes to
    /// the log as it came. Without it they are encoded again.
    pub message: Option<Bytes>,
}

/// Why a batch was not taken; nothing of it was. The sender may come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Memory is full.
    #[error(transparent)]
    Full(#[from] Full),
    /// It cannot be kept safely now.
    #[error("{why}")]
    Unavailable {
        /// What is in the way.
        why: &'static str,
        /// When to come again.
        retry_after: Nanos,
    },
}

/// A batch that is being brought to the disk. It is kept or refused also if the ticket is dropped.
#[derive(Debug)]
pub struct Ticket(State);

#[derive(Debug)]
enum State {
    Known(Accepted),
    Waiting(oneshot::Receiver<Result<Accepted, Refused>>),
}

/// A batch that waits for the log.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<SpanLog>,
    pub(super) sizes: Vec<usize>,
    pub(super) room: Room,
    pub(super) accepted: Accepted,
    pub(super) reply: oneshot::Sender<Result<Accepted, Refused>>,
}

/// A batch was taken; all of it unless these are above zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accepted {
    /// Spans that can never be taken.
    pub rejected_spans: u64,
    /// Log records that can never be taken.
    pub rejected_logs: u64,
    /// Why, for the sender.
    pub message: Option<String>,
}

impl Batch {
    /// Cuts off what would never fit: a sender that is told to come again would do so for ever.
    /// Half of a ceiling is what one batch can fill. Returns about how many bytes each span, then
    /// each log record takes.
    pub(super) fn cut(&mut self, config: &Config) -> Vec<usize> {
        let (spans, sizes) = self.fitting(config);
        let logs = sizes.len() - spans;
        let (spans_over, logs_over) = (self.spans.len() - spans, self.logs.len() - logs);
        self.spans.truncate(spans);
        self.logs.truncate(logs);
        if spans_over + logs_over > 0 {
            let over = |count: usize| (count > 0).then_some(("batch_too_large", count as u64));
            self.rejected_spans.extend(over(spans_over));
            self.rejected_logs.extend(over(logs_over));
            // What the message holds beyond the cut would come back with a replay.
            self.message = None;
            self.first_error
                .get_or_insert_with(|| "the batch is larger than what is taken at once".to_owned());
        }
        sizes
    }

    /// Splits off as much from the front as fits, with about how many bytes each span, then each
    /// log record takes; one that alone does not fit is rejected.
    pub(super) fn front(&mut self, config: &Config) -> (Self, Vec<usize>) {
        let (spans, sizes) = self.fitting(config);
        let logs = sizes.len() - spans;
        let mut front = Self {
            spans: self.spans.drain(..spans).collect(),
            logs: self.logs.drain(..logs).collect(),
            ..Self::default()
        };
        if sizes.is_empty() {
            let one = || vec![("batch_too_large", 1)];
            if !self.spans.is_empty() {
                self.spans.remove(0);
                front.rejected_spans = one();
            } else if !self.logs.is_empty() {
                self.logs.remove(0);
                front.rejected_logs = one();
            }
        }
        (front, sizes)
    }

    /// How many of its spans fit at once, and about how many bytes each of them, then each log
    /// record that fits takes.
    fn fitting(&self, config: &Config) -> (usize, Vec<usize>) {
        let mut left = config.max_bytes / 2;
        let mut traces = HashSet::new();
        let count_traces = self.spans.len() + self.logs.len() > config.max_traces / 2;
        let mut fits = |id: TraceId, bytes: usize, before: usize| {
            left = left.saturating_sub(bytes);
            if count_traces {
                traces.insert(id);
            }
            left > 0 && before < config.max_spans.div_ceil(2) && {
                traces.len() <= config.max_traces.div_ceil(2)
            }
        };
        let mut sizes = Vec::with_capacity(self.spans.len() + self.logs.len());
        for span in &self.spans {
            let bytes = store::of_span(span);
            if !fits(span.trace_id, bytes, sizes.len()) {
                break;
            }
            sizes.push(bytes);
        }
        let spans = sizes.len();
        // Log records come after all spans.
        let logs = self.logs.iter().filter(|_| spans == self.spans.len());
        for log in logs {
            let bytes = store::of_log(log);
            if !fits(log.trace_id, bytes, sizes.len()) {
                break;
            }
            sizes.push(bytes);
        }
        (spans, sizes)
    }

    /// What the log has to keep.
    pub(super) fn records(&mut self) -> Vec<Record> {
        let record = |kind, bytes| Record { kind, bytes };
        match (
            self.message.take(),
            self.spans.is_empty(),
            self.logs.is_empty(),
        ) {
            (_, true, true) => Vec::new(),
            (Some(bytes), false, true) => vec![record(Kind::Traces, bytes)],
            (Some(bytes), true, false) => vec![record(Kind::Logs, bytes)],
            (_, no_spans, no_logs) => {
                let spans = || traces_to_proto(&self.spans).encode_to_vec().into();
                let logs = || logs_to_proto(&self.logs).encode_to_vec().into();
                let spans = (!no_spans).then(|| record(Kind::Traces, spans()));
                let logs = (!no_logs).then(|| record(Kind::Logs, logs()));
                spans.into_iter().chain(logs).collect()
            }
        }
    }

    pub(super) fn rejected(&self) -> Accepted {
        Accepted {
            rejected_spans: self.rejected_spans.iter().map(|(_, count)| count).sum(),
            rejected_logs: self.rejected_logs.iter().map(|(_, count)| count).sum(),
            message: self.first_error.clone(),
        }
    }
}

impl Accepted {
    pub(super) fn with_over(mut self, pushed: &Pushed, most: usize) -> Self {
        if pushed.spans_over + pushed.logs_over > 0 {
            self.rejected_spans += pushed.spans_over as u64;
            self.rejected_logs += pushed.logs_over as u64;
            self.message.get_or_insert_with(|| {
                format!("a trace has more than {most} spans; those over it were dropped")
            });
        }
        self
    }
}

impl Refused {
    pub(super) fn unavailable(why: &'static str) -> Self {
        Self::Unavailable {
            why,
            retry_after: Nanos::from_secs(1),
        }
    }

    /// When to come again.
    pub fn retry_after(&self) -> Nanos {
        match self {
            Self::Full(full) => full.retry_after,
            Self::Unavailable { retry_after, .. } => *retry_after,
        }
    }
}

impl From<NotTaken> for Refused {
    fn from(why: NotTaken) -> Self {
        Self::unavailable(match why {
            NotTaken::Behind => "the disk is behind; try again later",
            NotTaken::Full => "the log is full until its traces are in the tables; try again later",
            NotTaken::Failed => "the log cannot be written; try again later",
            NotTaken::Closed => "the server stops",
        })
    }
}

impl Ticket {
    pub(super) fn known(accepted: Accepted) -> Self {
        Self(State::Known(accepted))
    }

    pub(super) fn waiting(reply: oneshot::Receiver<Result<Accepted, Refused>>) -> Self {
        Self(State::Waiting(reply))
    }

    /// Waits until the batch is kept or refused. Blocks: not for the threads of a runtime.
    pub fn wait(self) -> Result<Accepted, Refused> {
        match self.0 {
            State::Known(accepted) => Ok(accepted),
            State::Waiting(reply) => reply.blocking_recv().unwrap_or(Err(gone())),
        }
    }
}

impl Future for Ticket {
    type Output = Result<Accepted, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Known(accepted) => Poll::Ready(Ok(std::mem::take(accepted))),
            State::Waiting(reply) => Pin::new(reply)
                .poll(context)
                .map(|reply| reply.unwrap_or(Err(gone()))),
        }
    }
}

/// The log's thread is no more.
fn gone() -> Refused {
    Refused::unavailable("the log has ended")
}
