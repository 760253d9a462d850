//! A decoded message on its way in, and what becomes of it.

use super::assembly::Pushed;
use crate::model::{Span, SpanLog};
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

    /// About how many bytes each span, then each log record takes.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let spans = self.spans.iter().map(store::of_span);
        spans.chain(self.logs.iter().map(store::of_log)).collect()
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
