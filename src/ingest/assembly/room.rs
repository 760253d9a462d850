//! How much there is room for, and who must go when there is none.

use super::{Assembly, SEALED, Why};
use crate::model::{Nanos, Span, SpanLog, TraceId};

/// How much is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Traces.
    pub traces: usize,
    /// Spans.
    pub spans: usize,
    /// Log records.
    pub logs: usize,
    /// About how many bytes.
    pub bytes: usize,
}

/// There is no room for the batch; nothing of it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for more spans")]
pub struct Full {
    /// When to come again.
    pub retry_after: Nanos,
}

/// Room that is kept for a batch until it is pushed or [released](Assembly::release).
#[derive(Debug)]
#[must_use]
pub struct Room(Load);

impl Full {
    /// Come again in a second.
    pub fn for_a_second() -> Self {
        Self {
            retry_after: Nanos::from_secs(1),
        }
    }
}

impl Assembly {
    /// Keeps room for a batch of about so many bytes, or refuses all of it.
    pub fn reserve(
        &mut self,
        spans: &[Span],
        logs: &[SpanLog],
        bytes: usize,
        now: Nanos,
    ) -> Result<Room, Full> {
        let mut need = Load {
            traces: spans.len() + logs.len(),
            spans: spans.len(),
            logs: logs.len(),
            bytes,
        };
        if !self.fits(need) {
            // Which of its traces are new is only worth finding out when it matters.
            let ids = spans.iter().map(|span| span.trace_id);
            let mut ids: Vec<TraceId> = ids.chain(logs.iter().map(|log| log.trace_id)).collect();
            ids.sort_unstable();
            ids.dedup();
            let new = ids.iter().filter(|id| !self.open.contains_key(id));
            need.traces = new.count();
            if !self.fits(need) {
                self.relieve(need, &ids, now);
            }
        }
        if !self.fits(need) {
            let retry_after = (self.none_quiet_until - now)
                .max(Nanos::from_millis(500))
                .min(Nanos::from_secs(5));
            return Err(Full { retry_after });
        }
        self.reserved.add(need);
        Ok(Room(need))
    }

    /// The batch does not come.
    #[expect(clippy::needless_pass_by_value, reason = "room is given back once")]
    pub fn release(&mut self, room: Room) {
        self.reserved.subtract(room.0);
    }

    /// Says how much is stored and in no part yet: it takes of the same room. Its traces are not
    /// counted; they are not being assembled.
    pub fn set_fresh(&mut self, fresh: Load) {
        self.fresh = fresh;
    }

    /// Seals traces, those that have been quiet the longest first, as far as there is room among
    /// the sealed; for a replay, in which every trace seems busy.
    pub fn seal_quietest(&mut self) {
        for (_, id) in self.by_last() {
            if !self.may_seal(SEALED) {
                return;
            }
            self.seal(id, Why::Pressure);
        }
    }

    fn fits(&self, need: Load) -> bool {
        let most = &self.config;
        let mut all = self.open();
        for part in [self.reserved, self.fresh, need] {
            all.add(part);
        }
        all.traces <= most.max_traces
            && all.spans + all.logs <= most.max_spans
            && all.bytes <= most.max_bytes
    }

    /// Whether stored rows alone leave so little room that sealing traces gains nothing.
    fn is_flush_behind(&self) -> bool {
        let (have, most) = (self.fresh, &self.config);
        have.spans + have.logs > most.max_spans / 2 || have.bytes > most.max_bytes / 2
    }

    /// Seals the oldest quiet traces until there is room for `need` and a tenth to spare, so that
    /// the next batches need not search. `busy` (in order) are just getting more and stay.
    fn relieve(&mut self, need: Load, busy: &[TraceId], now: Nanos) {
        // The search is only worth its time if a good part of what it finds can be sealed: while
        // analysis is behind, every batch would search all traces to seal one.
        if now < self.none_quiet_until || !self.may_seal(8) || self.is_flush_behind() {
            return;
        }
        let wanted = Load {
            traces: need.traces + self.config.max_traces / 10,
            spans: need.spans + self.config.max_spans / 10,
            logs: need.logs,
            bytes: need.bytes + self.config.max_bytes / 10,
        };
        for (last, id) in self.by_last() {
            if self.fits(wanted) || !self.may_seal(SEALED) {
                return;
            }
            if now < last + self.config.quiet_under_pressure {
                self.none_quiet_until = last + self.config.quiet_under_pressure;
                return;
            }
            if busy.binary_search(&id).is_err() {
                self.seal(id, Why::Pressure);
            }
        }
    }

    /// Whether what is sealed is below this part of the ceilings.
    pub(super) fn may_seal(&self, part: usize) -> bool {
        let (have, most) = (self.sealed_load, &self.config);
        have.traces == 0
            || (have.traces < most.max_traces.div_ceil(part)
                && have.spans + have.logs < most.max_spans.div_ceil(part)
                && have.bytes < most.max_bytes.div_ceil(part))
    }
}

impl Load {
    pub(super) fn add(&mut self, other: Self) {
        self.traces += other.traces;
        self.spans += other.spans;
        self.logs += other.logs;
        self.bytes += other.bytes;
    }

    pub(super) fn subtract(&mut self, other: Self) {
        self.traces = self.traces.saturating_sub(other.traces);
        self.spans = self.spans.saturating_sub(other.spans);
        self.logs = self.logs.saturating_sub(other.logs);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}
