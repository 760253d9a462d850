//! Joining what the pieces of all inputs held.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use super::foreign::Format;
use super::{Loaded, Problem, Signal, Skipped};
use crate::model::{Span, SpanLog, Trace, TraceId};
use crate::otlp::Decoded;

/// Problems of one input that are told one by one.
const TOLD: usize = 20;

/// What one piece of an input held.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) traces: Vec<Trace>,
    pub(super) logs: Vec<SpanLog>,
    /// Bad places: line, column, reason.
    pub(super) faults: Vec<(u64, Option<u64>, String)>,
    /// Documents that are whole and no OTLP: what they are, and the line.
    pub(super) foreign: Vec<(Format, u64)>,
    /// Spans in `traces`.
    pub(super) spans: u64,
    pub(super) rejected: u64,
    /// Line and reason of the first rejected span.
    pub(super) first_rejected: Option<(u64, String)>,
    pub(super) log_records: u64,
    pub(super) points: u64,
    pub(super) replaced_ids: u64,
    pub(super) has_traces: bool,
    pub(super) has_logs: bool,
    pub(super) has_metrics: bool,
}

impl Piece {
    /// Takes what a batch decoded; `line` is where its first rejected span stands.
    pub(super) fn take(&mut self, decoded: Decoded, points: u64, line: u64) {
        let logs_rejected: u64 = decoded
            .rejected
            .iter()
            .filter(|(why, _)| why.is_log())
            .map(|(_, count)| count)
            .sum();
        let spans_rejected = decoded.rejected_total() - logs_rejected;
        self.log_records += logs_rejected + decoded.logs.len() as u64;
        self.points += points;
        self.rejected += spans_rejected;
        self.replaced_ids += decoded.replaced_ids;
        if spans_rejected > 0 && self.first_rejected.is_none() {
            let reason = decoded.first_error.unwrap_or_default();
            self.first_rejected = Some((line, reason));
        }
        self.logs.extend(decoded.logs);
        self.spans += decoded.spans.len() as u64;
        self.traces = group(decoded.spans);
    }
}

/// Spans by trace, in the order of first appearance; no list has slack.
fn group(spans: Vec<Span>) -> Vec<Trace> {
    let mut places: HashMap<TraceId, usize> = HashMap::new();
    let mut counts: Vec<usize> = Vec::new();
    let mut last = None;
    let mut place_of = Vec::with_capacity(spans.len());
    for span in &spans {
        let place = match last {
            Some((id, place)) if id == span.trace_id => place,
            _ => *places.entry(span.trace_id).or_insert_with(|| {
                counts.push(0);
                counts.len() - 1
            }),
        };
        last = Some((span.trace_id, place));
        place_of.push(place);
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    let mut traces: Vec<Trace> = counts
        .into_iter()
        .map(|count| Trace {
            spans: Vec::with_capacity(count),
            ..Trace::default()
        })
        .collect();
    for (span, place) in spans.into_iter().zip(place_of) {
        if let Some(trace) = traces.get_mut(place) {
            trace.id = span.trace_id;
            trace.spans.push(span);
        }
    }
    traces
}

/// All inputs so far.
#[derive(Debug, Default)]
pub(super) struct Gather {
    loaded: Loaded,
    places: HashMap<TraceId, usize>,
    logs: Vec<SpanLog>,
    file: String,
    whole: Piece,
    faults: u64,
}

impl Gather {
    pub(super) fn begin(&mut self, file: String) {
        self.file = file;
        self.whole = Piece::default();
        self.faults = 0;
    }

    pub(super) fn problem(&mut self, line: Option<u64>, column: Option<u64>, reason: String) {
        self.faults += 1;
        if self.faults <= TOLD as u64 {
            self.loaded.problems.push(Problem {
                file: self.file.clone(),
                line,
                column,
                reason,
            });
        }
    }

    /// Takes the next piece of the present input.
    pub(super) fn add(&mut self, piece: Piece) {
        self.loaded.spans += piece.spans;
        for trace in piece.traces {
            let place = self.places.get(&trace.id);
            if let Some(known) = place.and_then(|&place| self.loaded.traces.get_mut(place)) {
                known.spans.extend(trace.spans);
            } else {
                self.places.insert(trace.id, self.loaded.traces.len());
                self.loaded.traces.push(trace);
            }
        }
        self.logs.extend(piece.logs);
        for (line, column, reason) in piece.faults {
            self.problem(Some(line), column, reason);
        }
        let whole = &mut self.whole;
        whole.spans += piece.spans;
        whole.foreign.extend(piece.foreign);
        whole.rejected += piece.rejected;
        whole.first_rejected = whole.first_rejected.take().or(piece.first_rejected);
        whole.log_records += piece.log_records;
        whole.points += piece.points;
        whole.has_traces |= piece.has_traces;
        whole.has_logs |= piece.has_logs;
        whole.has_metrics |= piece.has_metrics;
        self.loaded.replaced_ids += piece.replaced_ids;
        self.loaded.rejected += piece.rejected;
    }

    /// The present input is read.
    pub(super) fn end(&mut self) {
        let whole = std::mem::take(&mut self.whole);
        let any = whole.has_traces || whole.has_logs || whole.has_metrics;
        self.foreign(whole.foreign, any);
        if let Some((line, first)) = whole.first_rejected {
            let reason = match whole.rejected {
                1 => format!("1 span rejected: {first}"),
                many => format!("{many} spans rejected; the first: {first}"),
            };
            self.problem(Some(line), None, reason);
        }
        let untold = self.faults.saturating_sub(TOLD as u64);
        if untold > 0 {
            self.loaded.problems.push(Problem {
                file: self.file.clone(),
                line: None,
                column: None,
                reason: format!("and {untold} more problems in this file"),
            });
        }
        let no_spans = whole.has_traces && whole.spans == 0 && self.faults == 0;
        for (has, signal, count) in [
            (no_spans, Signal::Spans, 0),
            (whole.has_logs, Signal::Logs, whole.log_records),
            (whole.has_metrics, Signal::Metrics, whole.points),
        ] {
            if has {
                self.loaded.skipped.push(Skipped {
                    file: self.file.clone(),
                    signal,
                    count,
                    no_traces: !whole.has_traces,
                });
            }
        }
    }

    /// Documents that are no OTLP: a file of nothing else is refused once, by name; one between
    /// good documents is told with its line.
    fn foreign(&mut self, foreign: Vec<(Format, u64)>, any_good: bool) {
        let Some((first, line)) = foreign.first() else {
            return;
        };
        if !any_good && self.faults == 0 {
            let alone = foreign.len() == 1 || foreign.iter().all(|(format, _)| format == first);
            let reason = if alone {
                first.refusal()
            } else {
                format!("{} (line {line}; others follow)", first.refusal())
            };
            self.problem(None, None, reason);
            return;
        }
        for (format, line) in foreign {
            self.problem(Some(line), None, format.refusal());
        }
    }

    /// All inputs are read: log records go to the traces that they name.
    pub(super) fn finish(mut self) -> Loaded {
        for log in self.logs {
            let place = self.places.get(&log.trace_id);
            if let Some(trace) = place.and_then(|&place| self.loaded.traces.get_mut(place)) {
                trace.logs.push(log);
            }
        }
        self.loaded
    }
}

/// Does something with each of `items` on all cores; the results stand in the order of the items.
/// Each item is dropped as soon as it is used, so that memory falls as the work goes on.
pub fn each<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> T + Sync) -> Vec<T> {
    /// Items that a thread takes at once.
    const STRIDE: usize = 64;
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    if threads == 1 || items.len() <= STRIDE {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new((0, items.into_iter()));
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let (number, batch) = {
                        let Ok(mut queue) = queue.lock() else { return };
                        let batch: Vec<I> = queue.1.by_ref().take(STRIDE).collect();
                        queue.0 += 1;
                        (queue.0, batch)
                    };
                    if batch.is_empty() {
                        return;
                    }
                    let results: Vec<T> = batch.into_iter().map(&work).collect();
                    let Ok(mut done) = done.lock() else { return };
                    done.push((number, results));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(number, _): &(usize, Vec<T>)| *number);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_many_threads_keeps_the_order() {
        let items: Vec<u64> = (0..10_000).collect();
        let expected: Vec<u64> = items.iter().map(|i| i * i).collect();
        assert_eq!(each(items, |i| i * i), expected);
    }
}
