//! Joining what the pieces of all inputs held, and what is to be said of each input.

use std::collections::HashMap;

use super::foreign::Format;
use super::held::{Held, Rest};
use super::spill::SpillError;
use super::{Loaded, PassedOver, Problem, Signal, Skipped};
use crate::model::{Resource, Scope, Span, SpanLog, Trace, TraceId, size};
use crate::otlp::{Decoded, Limits};

/// Problems of one input that are told one by one.
const TOLD: usize = 20;

/// A bad place: line, column, reason.
pub(super) type Fault = (Option<u64>, Option<u64>, String);

/// What one piece of an input held.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) traces: Vec<Trace>,
    pub(super) logs: Vec<SpanLog>,
    /// About how many bytes `traces` and `logs` take.
    pub(super) bytes: usize,
    faults: Vec<Fault>,
    /// Faults beyond those in `faults`.
    more_faults: u64,
    foreign: Foreign,
    /// Spans that are not yet in `traces`.
    spans: Vec<Span>,
    /// Spans in `traces`.
    spans_count: u64,
    rejected: u64,
    /// Line and reason of the first rejected span.
    first_rejected: Option<(Option<u64>, String)>,
    log_records: u64,
    points: u64,
    replaced_ids: u64,
    pub(super) has: Has,
}

/// Which signals are there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Has {
    pub(super) traces: bool,
    pub(super) logs: bool,
    pub(super) metrics: bool,
}

impl Has {
    pub(super) fn any(self) -> bool {
        self.traces || self.logs || self.metrics
    }

    pub(super) fn join(&mut self, other: Self) {
        self.traces |= other.traces;
        self.logs |= other.logs;
        self.metrics |= other.metrics;
    }
}

impl Piece {
    /// Takes what a batch decoded; `line` is where its first rejected span stands.
    pub(super) fn add(&mut self, decoded: Decoded, points: u64, line: Option<u64>) {
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
        append(&mut self.logs, decoded.logs);
        append(&mut self.spans, decoded.spans);
    }

    /// Nothing more is to be added: the spans go to their traces.
    pub(super) fn whole(mut self) -> Self {
        let spans = std::mem::take(&mut self.spans);
        self.bytes = bytes_of(&spans, &self.logs);
        self.spans_count = spans.len() as u64;
        self.traces = group(spans);
        self.bytes += self.traces.len() * size_of::<Trace>();
        self
    }

    /// Takes a document that stands in a message: what is wrong with it comes back.
    pub(super) fn join(&mut self, inner: Self) -> Result<(), String> {
        let has_any = inner.has.any();
        let foreign = inner.foreign.refusal();
        let fault = inner.faults.into_iter().next().map(|(_, _, reason)| reason);
        append(&mut self.logs, inner.logs);
        append(&mut self.spans, inner.spans);
        self.has.join(inner.has);
        self.rejected += inner.rejected;
        self.log_records += inner.log_records;
        self.points += inner.points;
        self.replaced_ids += inner.replaced_ids;
        if let Some((_, reason)) = inner.first_rejected {
            self.first_rejected.get_or_insert((None, reason));
        }
        match fault.or(foreign) {
            Some(reason) if has_any => Err(format!("a part of it: {reason}")),
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }

    /// Data points of metrics.
    pub(super) fn points(&mut self, count: u64) {
        self.points += count;
    }

    pub(super) fn fault(&mut self, line: Option<u64>, column: Option<u64>, reason: String) {
        if self.faults.len() < TOLD {
            self.faults.push((line, column, reason));
        } else {
            self.more_faults += 1;
        }
    }

    /// A document that is whole and of no format that is read.
    pub(super) fn foreign(&mut self, format: Format, line: u64) {
        self.foreign.add(format, line);
    }
}

/// Documents of formats that are not read: the first ones, and how many there are.
#[derive(Debug, Default)]
struct Foreign {
    first: Vec<(Format, u64)>,
    count: u64,
    differ: bool,
}

impl Foreign {
    fn add(&mut self, format: Format, line: u64) {
        self.count += 1;
        if let Some((first, _)) = self.first.first() {
            self.differ |= *first != format;
        }
        if self.first.len() < TOLD {
            self.first.push((format, line));
        }
    }

    fn extend(&mut self, other: Self) {
        let beyond = other.count - other.first.len() as u64;
        for (format, line) in other.first {
            self.add(format, line);
        }
        self.count += beyond;
        self.differ |= other.differ;
    }
}

fn append<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.append(&mut more);
    }
}

/// About how many bytes these take with what they share.
pub(super) fn bytes_of(spans: &[Span], logs: &[SpanLog]) -> usize {
    // Shared things are counted once; there are few of them in a piece.
    let mut resources: Vec<*const Resource> = Vec::new();
    let mut scopes: Vec<*const Scope> = Vec::new();
    let mut shared = 0;
    for span in spans {
        let (resource, scope) = (&*span.resource, &*span.scope);
        if is_new(&mut resources, resource) {
            shared += size::of_resource(resource);
        }
        if is_new(&mut scopes, scope) {
            shared += size::of_scope(scope);
        }
    }
    shared
        + spans.iter().map(size::of_span).sum::<usize>()
        + logs.iter().map(size::of_log).sum::<usize>()
}

/// Whether `one` is not among the last few.
fn is_new<T>(known: &mut Vec<*const T>, one: *const T) -> bool {
    const FEW: usize = 16;
    if known.contains(&one) {
        return false;
    }
    if known.len() == FEW {
        known.remove(0);
    }
    known.push(one);
    true
}

/// Spans by trace, in the order of first appearance; no list has slack.
pub(super) fn group(spans: Vec<Span>) -> Vec<Trace> {
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

/// What is known of the input that is being read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    file: String,
    faults: u64,
    foreign: Foreign,
    spans: u64,
    rejected: u64,
    first_rejected: Option<(Option<u64>, String)>,
    log_records: u64,
    points: u64,
    has: Has,
    has_use: bool,
    /// Why all of it is of no use.
    refusal: Option<String>,
}

/// Files that were found and not named: those that are no traces are passed over.
#[derive(Debug, Default)]
pub(super) struct Found {
    good: u64,
    passed: u64,
    first: Option<(String, String)>,
}

impl Found {
    /// Takes how reading a file went: `Err` is why it is of no use.
    pub(super) fn count(&mut self, file: &str, ended: Result<(), String>) {
        match ended {
            Ok(()) => self.good += 1,
            Err(reason) => {
                self.passed += 1;
                self.first.get_or_insert_with(|| (file.to_owned(), reason));
            }
        }
    }

    /// Why none of the files is of use, if none is; `what` says where they were.
    pub(super) fn none_good(&self, what: &str) -> Option<String> {
        if self.good > 0 {
            return None;
        }
        Some(match &self.first {
            None => format!("no files in this {what}"),
            Some((file, reason)) => {
                let of = match self.passed {
                    1 => "its only file".to_owned(),
                    many => format!("any of its {many} files; the first"),
                };
                format!("no traces in {of}, {file}: {reason}")
            }
        })
    }
}

/// All inputs so far.
#[derive(Debug)]
pub(super) struct Gather {
    report: Loaded,
    held: Held,
    tally: Tally,
}

impl Gather {
    /// Keeps spans in memory up to the bound of `limits`, and of `only` the traces whose id
    /// begins so.
    pub(super) fn new(limits: &Limits, only: Option<&str>) -> Self {
        Self {
            report: Loaded::default(),
            held: Held::new(limits, only),
            tally: Tally::default(),
        }
    }

    /// Begins an input; what is known of the one around it comes back, for [`Self::end`].
    pub(super) fn begin(&mut self, file: String) -> Tally {
        let tally = Tally {
            file,
            ..Tally::default()
        };
        std::mem::replace(&mut self.tally, tally)
    }

    /// What the present input is called.
    pub(super) fn file(&self) -> &str {
        &self.tally.file
    }

    pub(super) fn problem(&mut self, line: Option<u64>, column: Option<u64>, reason: String) {
        self.tally.faults += 1;
        if self.tally.faults <= TOLD as u64 {
            self.report.problems.push(Problem {
                file: self.tally.file.clone(),
                line,
                column,
                reason,
            });
        }
    }

    /// All of the present input is of no use. Whether that is a problem depends on who named it.
    pub(super) fn refuse(&mut self, reason: String) {
        self.tally.refusal.get_or_insert(reason);
    }

    pub(super) fn tell(&mut self, problem: Problem) {
        self.report.problems.push(problem);
    }

    /// Says why a named input is of no use, if it is not.
    pub(super) fn tell_refusal(&mut self, file: String, ended: Result<(), String>) {
        if let Err(reason) = ended {
            self.tell(Problem {
                file,
                line: None,
                column: None,
                reason,
            });
        }
    }

    /// Something in the present input is of use, whatever else is said of it.
    pub(super) fn has_use(&mut self) {
        self.tally.has_use = true;
    }

    /// Files found in `place` were passed over.
    pub(super) fn passed_over(&mut self, place: &str, found: Found) {
        if let Some((file, reason)) = found.first {
            self.report.passed_over.push(PassedOver {
                place: place.to_owned(),
                count: found.passed,
                first: file,
                reason,
            });
        }
    }

    /// Takes the next piece of the present input. False when there is no sense in going on: what
    /// is held could not be put aside.
    pub(super) fn add(&mut self, piece: Piece) -> bool {
        for (line, column, reason) in piece.faults {
            self.problem(line, column, reason);
        }
        let whole = &mut self.tally;
        whole.faults += piece.more_faults;
        whole.spans += piece.spans_count;
        whole.foreign.extend(piece.foreign);
        whole.rejected += piece.rejected;
        whole.first_rejected = whole.first_rejected.take().or(piece.first_rejected);
        whole.log_records += piece.log_records;
        whole.points += piece.points;
        whole.has.join(piece.has);
        self.report.spans += piece.spans_count;
        self.report.replaced_ids += piece.replaced_ids;
        self.report.rejected += piece.rejected;
        self.held.add(piece.traces, piece.logs, piece.bytes);
        self.held.is_well()
    }

    /// False once what is held could not be put aside.
    pub(super) fn is_well(&self) -> bool {
        self.held.is_well()
    }

    /// The present input is read, and the one `around` it goes on. `Err` says why nothing in the
    /// input is of use; then nothing is told of it yet.
    pub(super) fn end(&mut self, around: Tally) -> Result<(), String> {
        let mut whole = std::mem::take(&mut self.tally);
        let any = whole.has.any() || whole.has_use;
        if !any && whole.faults == 0 {
            let refusal = whole.refusal.take();
            if let Some(reason) = refusal.or_else(|| whole.foreign.refusal()) {
                self.tally = around;
                return Err(reason);
            }
        }
        self.tally = whole;
        self.end_useful();
        self.tally = around;
        Ok(())
    }

    fn end_useful(&mut self) {
        let foreign = std::mem::take(&mut self.tally.foreign);
        let more = foreign.count - foreign.first.len() as u64;
        for (format, line) in foreign.first {
            self.problem(Some(line), None, format.refusal());
        }
        self.tally.faults += more;
        if let Some(reason) = self.tally.refusal.take() {
            self.problem(None, None, reason);
        }
        if let Some((line, first)) = self.tally.first_rejected.take() {
            let reason = match self.tally.rejected {
                1 => format!("1 span rejected: {first}"),
                many => format!("{many} spans rejected; the first: {first}"),
            };
            self.problem(line, None, reason);
        }
        let whole = std::mem::take(&mut self.tally);
        let untold = whole.faults.saturating_sub(TOLD as u64);
        if untold > 0 {
            self.report.problems.push(Problem {
                file: whole.file.clone(),
                line: None,
                column: None,
                reason: format!("and {untold} more problems in this file"),
            });
        }
        let no_spans = whole.has.traces && whole.spans == 0 && whole.faults == 0;
        for (has, signal, count) in [
            (no_spans, Signal::Spans, 0),
            (whole.has.logs, Signal::Logs, whole.log_records),
            (whole.has.metrics, Signal::Metrics, whole.points),
        ] {
            if has {
                self.report.skipped.push(Skipped {
                    file: whole.file.clone(),
                    signal,
                    count,
                    no_traces: !whole.has.traces,
                });
            }
        }
    }

    /// All inputs are read: what is to be said of them, and the traces.
    pub(super) fn finish(self) -> Result<(Loaded, Rest), SpillError> {
        Ok((self.report, self.held.finish()?))
    }
}

impl Foreign {
    /// What is said of an input that holds nothing else.
    fn refusal(&self) -> Option<String> {
        let (first, line) = self.first.first()?;
        Some(if self.differ {
            format!("{} (line {line}; others follow)", first.refusal())
        } else {
            first.refusal()
        })
    }
}
