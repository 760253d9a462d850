//! Adds requests up, row by row, whether the rows are in memory or in tables.

use std::collections::BTreeMap;

use super::group::Table;
use super::values::{Sum, Value, count};
use super::{
    Break, Call, Culprit, Example, Finding, Hop, MINUTE, Miss, Oldest, Pair, Passed, Requests,
    Rollup, Worst,
};
use crate::model::{
    CallKind, How, Nanos, Outcome, Part, Request, Rule, SpanId, Text, TraceId, UnixNanos, Verdict,
};
use crate::store::Names;

/// How far a callee may be told more than is left, at least and as a part in a hundred: what
/// `budget_reset` tolerates unless it was set otherwise.
const TOLERANCE: Nanos = Nanos::from_millis(2);

/// A longer sentence is cut.
const LONGEST: usize = 400;

/// Groups from which on what was added so far is folded.
const MANY: usize = 40_000;

/// A row of `requests`.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestRow<'a> {
    pub(super) trace_id: TraceId,
    pub(super) request: SpanId,
    pub(super) start: UnixNanos,
    pub(super) elapsed: Nanos,
    pub(super) budget: Option<Nanos>,
    pub(super) outcome: Outcome,
    pub(super) wasted: Nanos,
    /// Service, operation and verdict.
    pub(super) surfaced: Option<(&'a str, &'a str, Verdict)>,
    pub(super) culprit: Option<CulpritRow<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CulpritRow<'a> {
    pub(super) service: &'a str,
    pub(super) operation: &'a str,
    pub(super) part: Part,
    pub(super) to: Option<&'a str>,
    pub(super) consumed: Nanos,
}

/// A row of `ledger`.
#[derive(Debug, Clone, Copy)]
pub(super) struct LedgerRow<'a> {
    pub(super) service: &'a str,
    pub(super) operation: &'a str,
    pub(super) part: Part,
    pub(super) to: Option<&'a str>,
    pub(super) time: Nanos,
    pub(super) after_deadline: Nanos,
}

/// A row of `hops`.
#[derive(Debug, Clone, Copy)]
pub(super) struct HopRow<'a> {
    pub(super) root: bool,
    pub(super) service: &'a str,
    pub(super) operation: &'a str,
    pub(super) elapsed: Nanos,
    pub(super) remaining: Option<Nanos>,
    pub(super) how: How,
    pub(super) deadline: Option<Nanos>,
    pub(super) own_deadline: Option<Nanos>,
    pub(super) local: Nanos,
    pub(super) queue: Option<Nanos>,
    pub(super) verdict: Verdict,
    pub(super) wasted: Nanos,
}

/// A row of `calls`.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRow<'a> {
    pub(super) hop: usize,
    pub(super) to: &'a str,
    pub(super) operation: &'a str,
    pub(super) kind: CallKind,
    pub(super) to_hop: Option<usize>,
    pub(super) attempt: u32,
    pub(super) start: Nanos,
    pub(super) elapsed: Nanos,
    pub(super) sent: Option<Nanos>,
    pub(super) timeout: Option<Nanos>,
    pub(super) transit: Option<Nanos>,
    pub(super) waited: bool,
    pub(super) verdict: Verdict,
}

/// A row of `findings`.
#[derive(Debug, Clone, Copy)]
pub(super) struct FindingRow<'a> {
    pub(super) rule: Rule,
    pub(super) service: &'a str,
    pub(super) to: Option<&'a str>,
    pub(super) count: u64,
    pub(super) weight: Nanos,
    pub(super) message: &'a str,
    pub(super) hint: &'a str,
}

/// The rows of a request.
pub(super) trait Rows {
    fn request(&self) -> RequestRow<'_>;
    fn hops(&self) -> usize;
    /// A hop by its id.
    fn hop(&self, id: usize) -> Option<HopRow<'_>>;
    fn calls(&self, take: impl FnMut(CallRow<'_>));
    fn ledger(&self, take: impl FnMut(LedgerRow<'_>));
    fn findings(&self, take: impl FnMut(FindingRow<'_>));
}

/// Sums under way: by group, by minute.
#[derive(Debug)]
struct Grown<const N: usize, V> {
    names: Names<N>,
    groups: Vec<Vec<(u64, Box<V>)>>,
}

impl<const N: usize, V> Default for Grown<N, V> {
    fn default() -> Self {
        Self {
            names: Names::default(),
            groups: Vec::new(),
        }
    }
}

impl<const N: usize, V: Value> Grown<N, V> {
    fn at(&mut self, names: [&str; N], minute: u64) -> Option<&mut V> {
        let number = self.names.number(names);
        if number >= self.groups.len() {
            self.groups.resize_with(number + 1, Vec::new);
        }
        let minutes = self.groups.get_mut(number)?;
        let place = minutes.partition_point(|(known, _)| *known < minute);
        if minutes.get(place).is_none_or(|(known, _)| *known != minute) {
            minutes.insert(place, (minute, Box::default()));
        }
        minutes.get_mut(place).map(|(_, value)| &mut **value)
    }

    fn finish(self) -> Table<N, V> {
        let keys = self.names.into_list().into_iter();
        let mut groups: BTreeMap<[Text; N], BTreeMap<u64, V>> = BTreeMap::new();
        for (key, minutes) in keys.zip(self.groups) {
            let minutes = minutes.into_iter().map(|(minute, mut value)| {
                value.settle();
                (minute, *value)
            });
            groups.insert(key, minutes.collect());
        }
        Table::of(groups)
    }
}

/// Adds requests up.
#[derive(Debug, Default)]
pub(super) struct Builder {
    requests: Grown<0, Requests>,
    hops: Grown<2, Hop>,
    calls: Grown<6, Call>,
    edges: Grown<2, Passed>,
    breaks: Grown<3, Break>,
    culprits: Grown<4, Culprit>,
    pairs: Grown<4, Pair>,
    findings: Grown<3, Finding>,
    span: Option<(u64, u64)>,
    /// What was folded already.
    before: Option<Rollup>,
    /// The breaks of the request at hand.
    broken: Vec<[Text; 3]>,
}

impl Builder {
    pub(super) fn add(&mut self, rows: &impl Rows) {
        let mut row = rows.request();
        // The tables hold what is later at their end.
        row.start = row.start.min(UnixNanos(i64::MAX as u64));
        let minute = row.start.0 / MINUTE;
        let (first, last) = self.span.unwrap_or((minute, minute));
        self.span = Some((first.min(minute), last.max(minute)));
        let example = Example {
            start: row.start,
            trace_id: row.trace_id,
            request: row.request,
        };
        self.request(&row, minute, example);
        for id in 0..rows.hops() {
            if let Some(hop) = rows.hop(id) {
                self.hop(&hop, minute);
            }
        }
        self.broken.clear();
        rows.calls(|call| {
            let caller = rows.hop(call.hop);
            let callee = call.to_hop.and_then(|id| rows.hop(id));
            if let Some(caller) = caller {
                self.call(&call, &caller, callee.as_ref(), minute, example);
            }
        });
        if row.outcome == Outcome::Missed {
            rows.ledger(|ledger| self.held(&ledger, minute));
        }
        rows.findings(|finding| self.finding(&finding, minute, example));
        let groups = [
            self.hops.groups.len(),
            self.calls.groups.len(),
            self.findings.groups.len(),
            self.culprits.groups.len(),
        ];
        if groups.iter().sum::<usize>() > MANY {
            let full = std::mem::take(self);
            self.before = Some(full.finish());
        }
    }

    fn request(&mut self, row: &RequestRow<'_>, minute: u64, example: Example) {
        let Some(sum) = self.requests.at([], minute) else {
            return;
        };
        let missed = row.outcome == Outcome::Missed;
        sum.all += 1;
        count(&mut sum.outcomes, &Outcome::ALL, &row.outcome);
        sum.budgeted += u64::from(row.budget.is_some() || missed);
        if let Some(budget) = row.budget.filter(|budget| *budget > Nanos::ZERO) {
            sum.used.add(row.elapsed.scaled(1_000_000, budget.0).0);
        }
        sum.elapsed.add(row.elapsed.0);
        sum.wasted += i128::from(row.wasted.0);
        if missed {
            if let Some((.., verdict)) = row.surfaced {
                count(&mut sum.missed_by, &Verdict::ALL, &verdict);
            }
            sum.worst.add(Miss {
                wasted: row.wasted.0,
                example,
            });
            sum.newest.add(example);
        }
        if let Some((service, operation, _)) = row.surfaced
            && let Some(hop) = self.hops.at([service, operation], minute)
        {
            hop.surfaced += 1;
            hop.surfaced_missed += u64::from(missed);
        }
        let Some(culprit) = &row.culprit else {
            return;
        };
        let part = culprit.part.as_str();
        let to = culprit.to.unwrap_or_default();
        let names = [culprit.service, culprit.operation, part, to];
        if let Some(sum) = self.culprits.at(names, minute) {
            let consumed = i128::from(culprit.consumed.0);
            sum.weight += 1;
            if missed {
                sum.missed += 1;
                sum.taken += consumed;
            } else {
                sum.others += 1;
                sum.others_taken += consumed;
            }
        }
        if let Some((surfaced, ..)) = row.surfaced
            && let Some(pair) = self.pairs.at([surfaced, culprit.service, part, to], minute)
        {
            pair.all += 1;
            pair.missed += u64::from(missed);
        }
    }

    fn hop(&mut self, row: &HopRow<'_>, minute: u64) {
        let Some(sum) = self.hops.at([row.service, row.operation], minute) else {
            return;
        };
        let ok = row.verdict == Verdict::Ok;
        sum.runs += 1;
        sum.roots += u64::from(row.root);
        count(&mut sum.hows, &How::ALL, &row.how);
        count(&mut sum.verdicts, &Verdict::ALL, &row.verdict);
        sum.passed.all += 1;
        sum.passed.told += u64::from(row.root && row.how.is_propagated());
        if let Some(remaining) = row.remaining {
            let histogram = if ok {
                &mut sum.remaining_ok
            } else {
                &mut sum.remaining_not
            };
            histogram.add(remaining.0);
        }
        let (elapsed, local) = if ok {
            (&mut sum.elapsed_ok, &mut sum.local_ok)
        } else {
            (&mut sum.elapsed_not, &mut sum.local_not)
        };
        elapsed.add(row.elapsed.0);
        local.add(row.local.0);
        if let Some(queue) = row.queue {
            sum.queue.add(queue.0);
        }
        sum.wasted += i128::from(row.wasted.0);
    }

    fn call(
        &mut self,
        row: &CallRow<'_>,
        caller: &HopRow<'_>,
        callee: Option<&HopRow<'_>>,
        minute: u64,
        example: Example,
    ) {
        let passed = passed(row, caller, callee);
        let names = [
            caller.service,
            caller.operation,
            row.to,
            row.operation,
            callee.map_or("", |callee| callee.operation),
            row.kind.as_str(),
        ];
        if let Some(sum) = self.calls.at(names, minute) {
            sum.calls += 1;
            sum.firsts += u64::from(row.attempt <= 1);
            count(&mut sum.verdicts, &Verdict::ALL, &row.verdict);
            sum.passed.merge(&passed);
            let times = [
                (&mut sum.sent, row.sent),
                (&mut sum.timeout, row.timeout),
                (&mut sum.transit, row.transit),
            ];
            for (histogram, time) in times {
                if let Some(time) = time {
                    histogram.add(time.0);
                }
            }
            if let Some(arrived) = callee.and_then(|callee| callee.remaining) {
                sum.arrived.add(arrived.0);
                if let Some(left) = left(row, caller) {
                    sum.lost.add((left - arrived).0);
                }
            }
            let elapsed = if row.verdict == Verdict::Ok {
                &mut sum.elapsed_ok
            } else {
                &mut sum.elapsed_not
            };
            elapsed.add(row.elapsed.0);
        }
        let Some(callee) = callee else {
            return;
        };
        if let Some(sum) = self.edges.at([caller.service, row.to], minute) {
            sum.merge(&passed);
        }
        if let Some(sum) = self.hops.at([callee.service, callee.operation], minute) {
            // The run itself was counted with the hop.
            sum.passed.merge(&Passed {
                all: 0,
                ..passed.clone()
            });
        }
        // Behind a break every hop only inherits: there it does not begin.
        let has_its_own = matches!(caller.how, How::Observed | How::Sent | How::Configured);
        if passed.not_told > 0 && has_its_own {
            let names = [caller.service, caller.operation, row.to];
            let known = self
                .broken
                .iter()
                .any(|broken| broken.iter().zip(names).all(|(a, b)| a == b));
            if let Some(sum) = self.breaks.at(names, minute) {
                sum.calls += 1;
                if !known {
                    sum.requests += 1;
                    sum.newest.add(example);
                    self.broken.push(names.map(Text::from));
                }
            }
        }
    }

    fn held(&mut self, row: &LedgerRow<'_>, minute: u64) {
        let time = row.time - row.after_deadline;
        let to = row.to.unwrap_or_default();
        let names = [row.service, row.operation, row.part.as_str(), to];
        if time > Nanos::ZERO
            && let Some(sum) = self.culprits.at(names, minute)
        {
            sum.weight += 1;
            sum.rows += 1;
            sum.held += i128::from(time.0);
        }
    }

    fn finding(&mut self, row: &FindingRow<'_>, minute: u64, example: Example) {
        let names = [row.rule.as_str(), row.service, row.to.unwrap_or_default()];
        let Some(sum) = self.findings.at(names, minute) else {
            return;
        };
        sum.count += row.count;
        sum.requests += 1;
        sum.newest.add(example);
        sum.oldest.add(Oldest(std::cmp::Reverse(example)));
        let worse = (row.weight.0, example);
        if sum.worst.takes(|last| (last.weight, last.example) < worse) {
            sum.worst.add(Worst {
                weight: row.weight.0,
                example,
                message: shortened(row.message),
                hint: shortened(row.hint),
            });
        } else {
            sum.worst.pass();
        }
    }

    /// The summary.
    pub(super) fn finish(self) -> Rollup {
        let (first, last) = self.span.unwrap_or_default();
        let mut rollup = Rollup {
            requests: self.requests.finish(),
            hops: self.hops.finish(),
            calls: self.calls.finish(),
            edges: self.edges.finish(),
            breaks: self.breaks.finish(),
            culprits: self.culprits.finish(),
            pairs: self.pairs.finish(),
            findings: self.findings.finish(),
            first,
            last,
        };
        if let Some(before) = &self.before {
            rollup.merge(before);
        }
        rollup.cap();
        rollup
    }
}

/// What the caller had left of its own deadline when the call began, if it knew of one.
fn left(call: &CallRow<'_>, caller: &HopRow<'_>) -> Option<Nanos> {
    let known = !matches!(caller.how, How::None | How::Inferred);
    let deadline = caller.own_deadline.or(caller.deadline).filter(|_| known)?;
    Some(deadline - call.start)
}

/// How a call passed the deadline on; nothing but `all` for one whose caller had none to pass on or
/// did not wait, and nothing at all for one to what is no hop.
fn passed(call: &CallRow<'_>, caller: &HopRow<'_>, callee: Option<&HopRow<'_>>) -> Passed {
    let Some(callee) = callee else {
        return Passed::default();
    };
    let mut passed = Passed {
        all: 1,
        ..Passed::default()
    };
    let Some(left) = left(call, caller).filter(|_| call.waited) else {
        return passed;
    };
    let told = callee.how.is_propagated() || call.sent.is_some();
    passed.told = u64::from(told);
    passed.not_told = u64::from(!told);
    let observed = callee.remaining.filter(|_| callee.how == How::Observed);
    let slack = TOLERANCE.max(left.abs().scaled(1, 100));
    let over = |told: Nanos| told - left.at_least_zero() > slack;
    passed.reset = u64::from(observed.or(call.sent).is_some_and(over));
    passed
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    match text.get(..end) {
        Some(short) if end < text.len() => format!("{short}…"),
        _ => text.to_owned(),
    }
}

impl Rows for Request {
    fn request(&self) -> RequestRow<'_> {
        RequestRow {
            trace_id: self.trace_id,
            request: self.request,
            start: self.start,
            elapsed: self.elapsed,
            budget: self.budget,
            outcome: self.outcome,
            wasted: self.wasted,
            surfaced: self.surfaced.as_ref().map(|surfaced| {
                let (service, operation) = (&surfaced.service, &surfaced.operation);
                (service.as_str(), operation.as_str(), surfaced.verdict)
            }),
            culprit: self.culprit.as_ref().map(|culprit| CulpritRow {
                service: &culprit.service,
                operation: &culprit.operation,
                part: culprit.part,
                to: culprit.to.as_deref(),
                consumed: culprit.consumed,
            }),
        }
    }

    fn hops(&self) -> usize {
        self.hops.len()
    }

    fn hop(&self, id: usize) -> Option<HopRow<'_>> {
        self.hops.get(id).map(|hop| HopRow {
            root: hop.parent.is_none(),
            service: &hop.service,
            operation: &hop.operation,
            elapsed: hop.elapsed,
            remaining: hop.remaining_in,
            how: hop.remaining_in_source.how,
            deadline: hop.deadline,
            own_deadline: hop.own_deadline,
            local: hop.local,
            queue: hop.queue,
            verdict: hop.verdict,
            wasted: hop.wasted,
        })
    }

    fn calls(&self, mut take: impl FnMut(CallRow<'_>)) {
        for hop in &self.hops {
            for call in &hop.calls {
                take(CallRow {
                    hop: hop.id,
                    to: &call.to,
                    operation: &call.operation,
                    kind: call.kind,
                    to_hop: call.hop,
                    attempt: call.attempt,
                    start: call.start,
                    elapsed: call.elapsed,
                    sent: call.remaining_out,
                    timeout: call.timeout,
                    transit: transit(call.transit_out, call.transit_back),
                    waited: call.waited,
                    verdict: call.verdict,
                });
            }
        }
    }

    fn ledger(&self, mut take: impl FnMut(LedgerRow<'_>)) {
        for row in &self.ledger {
            take(LedgerRow {
                service: &row.service,
                operation: &row.operation,
                part: row.part,
                to: row.to.as_deref(),
                time: row.time,
                after_deadline: row.after_deadline,
            });
        }
    }

    fn findings(&self, mut take: impl FnMut(FindingRow<'_>)) {
        for finding in &self.findings {
            take(FindingRow {
                rule: finding.rule,
                service: &finding.service,
                to: finding.to.as_deref(),
                count: finding.evidence.count.max(1),
                weight: finding.evidence.weight,
                message: &finding.message,
                hint: finding.hint,
            });
        }
    }
}

/// On the way there and back.
pub(super) fn transit(out: Option<Nanos>, back: Option<Nanos>) -> Option<Nanos> {
    Some(out? + back?)
}
