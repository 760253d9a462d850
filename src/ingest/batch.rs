//! A decoded message on its way in, and what becomes of it.

use std::collections::HashSet;

use super::assembly::{Config, Pushed};
use crate::model::{Span, SpanLog, TraceId};
use crate::store;
use crate::telemetry::Telemetry;

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

pub(super) struct Counted {
    pub(super) received: u64,
}

impl Batch {
    /// Counts what needs no lock, and says how many spans came.
    pub(super) fn count(&self, telemetry: &Telemetry) -> Counted {
        let rejected: u64 = self.rejected_logs.iter().map(|(_, count)| count).sum();
        telemetry
            .logs_received
            .inc_by(self.logs.len() as u64 + rejected);
        for (reason, count) in &self.rejected_logs {
            telemetry.logs_rejected.add(reason, *count);
        }
        let rejected: u64 = self.rejected_spans.iter().map(|(_, count)| count).sum();
        Counted {
            received: self.spans.len() as u64 + rejected,
        }
    }

    /// Cuts off what would never fit: a sender that is told to come again would do so for ever.
    /// Half of a ceiling is what one batch can fill. Returns about how many bytes each span, then
    /// each log record takes.
    pub(super) fn cut(&mut self, config: &Config) -> Vec<usize> {
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
        let spans_over = self.spans.len() - sizes.len();
        self.spans.truncate(sizes.len());
        for log in &self.logs {
            let bytes = store::of_log(log);
            if !fits(log.trace_id, bytes, sizes.len()) {
                break;
            }
            sizes.push(bytes);
        }
        let logs = sizes.len() - self.spans.len();
        let logs_over = self.logs.len() - logs;
        self.logs.truncate(logs);
        if spans_over + logs_over > 0 {
            let over = |count: usize| (count > 0).then_some(("batch_too_large", count as u64));
            self.rejected_spans.extend(over(spans_over));
            self.rejected_logs.extend(over(logs_over));
            self.first_error
                .get_or_insert_with(|| "the batch is larger than what is taken at once".to_owned());
        }
        sizes
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
