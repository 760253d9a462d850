//! Deadlines (semantics, section 4): aligned times, what each hop was told, its effective
//! deadline, which calls were waited for. Callers before callees, one pass.

use crate::model::{How, Kind, Nanos, Source, SpanId, Text};

use super::clocks::Clocks;
use super::conventions::{Field, Reading};
use super::hops::{AttemptId, CallId, HopId, Hops};
use super::policy::Policy;
use super::tree::{Forest, NodeId};
use super::{TOLERANCE, near};

/// How long a hop may fail after a call of its own failed, and still have failed because of it.
const BECAUSE_OF: Nanos = Nanos::from_millis(10);
/// A call that outlives its hop by more was not waited for.
const OUTLIVES: Nanos = Nanos::from_millis(1);

/// A hop on the root's clock. Times count from [`Forest::base`].
#[derive(Debug, Clone, Default)]
pub(super) struct HopTime {
    /// Arrival.
    pub start: Nanos,
    /// Answer.
    pub end: Nanos,
    /// The budget on arrival.
    pub told: Option<Nanos>,
    /// Where that was read.
    pub source: Source,
    /// Arrival + `told`.
    pub own: Option<Nanos>,
    /// The earliest of its own and its callers' deadlines.
    pub effective: Option<Nanos>,
    /// Who set it.
    pub from: Option<HopId>,
    /// It rests on the length of a call that timed out, on nothing better.
    pub inferred: bool,
    /// Its own deadline, unless that is merely inferred.
    pub own_known: Option<Nanos>,
    /// The earliest of its own and its callers' deadlines that are not merely inferred.
    pub known: Option<Nanos>,
    /// When the first call above it (its own included) ended: who asked for it has left then.
    pub patience: Option<Nanos>,
    /// It is part of something that was not waited for.
    pub detached: bool,
    /// A value on its own spans or its call could not be read.
    pub unreadable: bool,
    /// When the last of the calls that it waited for ended.
    pub last_call_end: Option<Nanos>,
}

/// An attempt on the root's clock.
#[derive(Debug, Clone, Default)]
pub(super) struct CallTime {
    /// Start.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
    /// Start and end of its innermost span.
    pub inner: (Nanos, Nanos),
    /// The timeout that the caller set for it.
    pub timeout: Option<Told>,
    /// When that ends, or its top-level call's.
    pub limit: Option<Nanos>,
    /// What the caller says it sent.
    pub sent: Option<Told>,
    /// Its hop waited for it.
    pub waited: bool,
}

/// A duration with its origin.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// The duration.
    pub time: Nanos,
    /// The key that it was read from.
    pub key: Text,
    /// What stood there.
    pub raw: Text,
    /// The span that carried it.
    pub span: SpanId,
    /// It was told as an instant: what is left of it shrinks on the way.
    pub is_instant: bool,
}

impl Told {
    fn source(&self, how: How) -> Source {
        Source {
            how,
            key: Some(self.key.clone()),
            span_id: Some(self.span),
            value: Some(self.raw.clone()),
        }
    }
}

/// What a hop had on arrival, and how that is known.
#[derive(Debug)]
struct Budget {
    told: Nanos,
    source: Source,
    from: Option<HopId>,
    inferred: bool,
}

impl Budget {
    fn of(from: HopId, told: Nanos, source: Source) -> Self {
        Self {
            told,
            source,
            from: Some(from),
            inferred: false,
        }
    }
}

/// All times of a trace.
#[derive(Debug)]
pub(super) struct Timing {
    /// By [`HopId`].
    pub hops: Vec<HopTime>,
    /// By [`AttemptId`].
    pub calls: Vec<CallTime>,
    /// By [`HopId`]: it failed by deadline, by any evidence or by time.
    pub failed_by_deadline: Vec<bool>,
}

impl Timing {
    /// Aligns everything and works out who had how much left.
    pub(super) fn find(forest: &Forest<'_>, hops: &Hops, clocks: &Clocks, policy: &Policy) -> Self {
        let mut this = Self {
            hops: vec![HopTime::default(); hops.all.len()],
            calls: vec![CallTime::default(); hops.attempts.len()],
            failed_by_deadline: hops.all.iter().map(|hop| hop.evidence.deadline).collect(),
        };
        this.align(forest, hops, clocks);
        this.fail_because_of_calls(forest, hops);
        for id in 0..hops.all.len() {
            this.read_budget(forest, hops, clocks, policy, id);
            this.read_calls(forest, hops, id);
        }
        for (id, hop) in hops.all.iter().enumerate() {
            let failed = hop.evidence.error || hop.evidence.cancelled;
            this.failed_by_deadline[id] |= failed && this.is_late(id);
        }
        this.fail_because_of_calls(forest, hops);
        this
    }

    /// True if the hop ended after its effective deadline.
    pub(super) fn is_late(&self, hop: HopId) -> bool {
        let time = &self.hops[hop];
        time.effective
            .is_some_and(|deadline| time.end > deadline + TOLERANCE)
    }

    /// Start and end of a whole call, on the root's clock: a call with nested attempts reaches
    /// beyond them.
    pub(super) fn call_interval(
        &self,
        forest: &Forest<'_>,
        hops: &Hops,
        call: CallId,
    ) -> (Nanos, Nanos) {
        let raw = &hops.calls[call];
        let Some(&first) = raw.attempts.first() else {
            return (Nanos::ZERO, Nanos::ZERO);
        };
        let time = &self.calls[first];
        match (raw.span, hops.attempts[first].spans) {
            (Some(outer), Some((inner, _))) => {
                let offset = time.start - forest.nodes[inner].start;
                let outer = &forest.nodes[outer];
                (outer.start + offset, outer.end + offset)
            }
            _ => (time.start, time.end),
        }
    }

    fn align(&mut self, forest: &Forest<'_>, hops: &Hops, clocks: &Clocks) {
        for (id, hop) in hops.all.iter().enumerate() {
            let (node, offset) = (&forest.nodes[hop.entry], clocks.offsets[id]);
            self.hops[id].start = node.start + offset;
            self.hops[id].end = node.end + offset;
        }
        for (id, attempt) in hops.attempts.iter().enumerate() {
            let owner = match (attempt.spans, attempt.callees.first()) {
                (None, Some(&callee)) => callee,
                _ => attempt.hop,
            };
            let offset = clocks.offsets[owner];
            let (start, end) = hops.interval(forest, attempt);
            let inner = attempt.spans.map_or((start, end), |(_, innermost)| {
                (forest.nodes[innermost].start, forest.nodes[innermost].end)
            });
            let call = &mut self.calls[id];
            (call.start, call.end) = (start + offset, end + offset);
            call.inner = (inner.0 + offset, inner.1 + offset);
        }
    }

    /// A hop that fails right after a call of its own failed by deadline failed because of it.
    /// Callees before callers.
    fn fail_because_of_calls(&mut self, forest: &Forest<'_>, hops: &Hops) {
        for (id, hop) in hops.all.iter().enumerate().rev() {
            if self.failed_by_deadline[id] || hop.evidence.cancelled || !hop.evidence.error {
                continue;
            }
            let end = self.hops[id].end;
            let is_just_before =
                |ended: Nanos| ended <= end + OUTLIVES && end - ended <= BECAUSE_OF;
            let whole = hop.calls.iter().any(|&call| {
                let raw = &hops.calls[call];
                raw.evidence.deadline && is_just_before(self.call_interval(forest, hops, call).1)
            });
            let because = whole
                || attempts_of(hops, id).any(|attempt| {
                    let time = &self.calls[attempt];
                    let just_before = is_just_before(time.end);
                    let callee_failed = hops.attempts[attempt].callees.iter().any(|&callee| {
                        self.failed_by_deadline[callee]
                            && self.hops[callee].end <= time.end + OUTLIVES
                    });
                    just_before && (hops.attempts[attempt].evidence.deadline || callee_failed)
                });
            self.failed_by_deadline[id] = because;
        }
    }

    /// Works out what a hop had on arrival, and its deadlines.
    fn read_budget(
        &mut self,
        forest: &Forest<'_>,
        hops: &Hops,
        clocks: &Clocks,
        policy: &Policy,
        id: HopId,
    ) {
        let hop = &hops.all[id];
        let via = hop.via;
        let waited_by = hop
            .caller
            .filter(|_| via.is_some_and(|via| self.calls[via].waited));
        let above = waited_by.map(|caller| self.hops[caller].clone());
        // The first that applies, from the best known to the least.
        let budget = observed(forest, hops, id)
            .map(|(told, source)| Budget::of(id, told, source))
            .or_else(|| self.sent_budget(clocks, via?, id))
            .or_else(|| self.inherited_budget(hops, clocks, waited_by?, via?, id))
            .or_else(|| self.root_budget(forest, hops, policy, id));
        let time = &mut self.hops[id];
        if let Some(budget) = budget {
            time.told = Some(budget.told);
            time.source = budget.source;
            time.own = Some(time.start + budget.told);
            time.effective = time.own;
            time.from = budget.from;
            time.inferred = budget.inferred;
            time.own_known = time.own.filter(|_| !budget.inferred);
            time.known = time.own_known;
        }
        if let Some(above) = above {
            time.patience = via.map(|via| {
                let own = self.calls[via].inner.1;
                above.patience.map_or(own, |theirs| theirs.min(own))
            });
            time.detached = above.detached;
            if let Some(theirs) = above.known {
                time.known = Some(time.known.map_or(theirs, |known| known.min(theirs)));
            }
            if let Some(theirs) = above.effective
                && time.effective.is_none_or(|own| theirs < own)
            {
                time.effective = Some(theirs);
                time.from = above.from;
                time.inferred = above.inferred;
            }
        } else {
            time.detached = hop.caller.is_some();
        }
        let bad = |node: NodeId| hops.facts(node).is_some_and(|facts| !facts.bad.is_empty());
        let call_spans = via.and_then(|via| hops.attempts[via].spans);
        time.unreadable = hop
            .nodes
            .iter()
            .any(|&node| !forest.is_outbound(node) && bad(node))
            || call_spans.is_some_and(|(first, last)| bad(first) || bad(last));
    }

    /// What the caller's telemetry on the call says it sent.
    fn sent_budget(&self, clocks: &Clocks, via: AttemptId, id: HopId) -> Option<Budget> {
        let call = &self.calls[via];
        let told = call.sent.as_ref()?;
        // A duration counts from the arrival; an instant has come nearer on the way.
        let transit = if told.is_instant && !clocks.conflict[id] {
            self.hops[id].start - call.start
        } else {
            Nanos::ZERO
        };
        Some(Budget::of(id, told.time - transit, told.source(How::Sent)))
    }

    /// What the caller will still wait: the earlier of its effective deadline and the call's own
    /// timeout; failing both, a timeout is inferred from a call that ended in one.
    fn inherited_budget(
        &self,
        hops: &Hops,
        clocks: &Clocks,
        caller: HopId,
        via: AttemptId,
        id: HopId,
    ) -> Option<Budget> {
        let (above, call, start) = (&self.hops[caller], &self.calls[via], self.hops[id].start);
        let Some(until) = [above.effective, call.limit].into_iter().flatten().min() else {
            return self.is_inferable(hops, via, id).then(|| Budget {
                inferred: true,
                ..Budget::of(caller, call.end - start, Source::of(How::Inferred))
            });
        };
        // Transit counts only where the two clocks can be compared.
        let since = if clocks.conflict[id] {
            call.start
        } else {
            start
        };
        let by_timeout = above.effective.is_none_or(|theirs| until < theirs);
        let source = match &call.timeout {
            Some(timeout) if by_timeout => timeout.source(How::Inherited),
            _ => Source::of(How::Inherited),
        };
        Some(Budget {
            told: until - since,
            source,
            from: if by_timeout { Some(caller) } else { above.from },
            inferred: !by_timeout && above.inferred,
        })
    }

    /// What a root has that says nothing of a budget: its route's, or for a CLIENT that timed out
    /// about the time it took.
    fn root_budget(
        &self,
        forest: &Forest<'_>,
        hops: &Hops,
        policy: &Policy,
        id: HopId,
    ) -> Option<Budget> {
        let hop = &hops.all[id];
        if hop.caller.is_some() {
            return None;
        }
        let entry = forest.span(hop.entry);
        if let Some(told) = policy.route_budget(entry.service(), &entry.name) {
            return Some(Budget::of(id, told, Source::of(How::Configured)));
        }
        let took = self.hops[id].end - self.hops[id].start;
        (entry.kind == Kind::Client && hop.evidence.deadline).then(|| Budget {
            inferred: true,
            ..Budget::of(id, took, Source::of(How::Inferred))
        })
    }

    /// A call that failed by timeout, about which nothing better is known, had a timeout of
    /// about its own length; not if the callee's own deadline failure came back within it.
    fn is_inferable(&self, hops: &Hops, via: AttemptId, callee: HopId) -> bool {
        let came_back = hops.all[callee].evidence.deadline
            && self.hops[callee].end <= self.calls[via].end + OUTLIVES;
        hops.attempts[via].evidence.deadline && !came_back
    }

    /// Works out what a hop's calls were given, and which of them it waited for.
    fn read_calls(&mut self, forest: &Forest<'_>, hops: &Hops, id: HopId) {
        let hop = &hops.all[id];
        let failed = self.failed_by_deadline[id]
            || hop.evidence.cancelled
            || (hop.evidence.error && self.is_late(id));
        let end = self.hops[id].end;
        let offset = self.hops[id].start - forest.nodes[hop.entry].start;
        let single = hop.calls.len() == 1 && hops.calls[hop.calls[0]].attempts.len() == 1;
        for &call in &hop.calls {
            let around = hops.spans_around(forest, call);
            let shared = Given::read(forest, hops, around, offset);
            for &attempt in &hops.calls[call].attempts {
                let (start, call_end) = (self.calls[attempt].start, self.calls[attempt].end);
                let own = hops.spans_of(forest, attempt);
                let given = Given::read(forest, hops, own, offset).within(&shared);
                let limit = given.timeout.as_ref().map(|(until, _)| *until);
                // Attempts share what their top-level call was given.
                let left = |(until, told): (Nanos, Told)| Told {
                    time: told.time.min(until - start),
                    ..told
                };
                let timeout = given.timeout.map(left);
                let mut sent = given.sent.map(left);
                if sent.is_none() && single {
                    // A handler with one call may say it on its own span.
                    sent = hop
                        .nodes
                        .iter()
                        .filter(|&&node| !forest.is_outbound(node))
                        .find_map(|&node| told(forest, hops, node, Field::RemainingOut));
                }
                let time = &mut self.calls[attempt];
                (time.timeout, time.limit, time.sent) = (timeout, limit, sent);
                time.waited = call_end <= end + OUTLIVES || failed;
                if time.waited {
                    let last = &mut self.hops[id].last_call_end;
                    *last = Some(last.map_or(call_end, |last| last.max(call_end)));
                }
            }
        }
    }
}

/// The attempts of a hop, call by call.
pub(super) fn attempts_of(hops: &Hops, hop: HopId) -> impl Iterator<Item = AttemptId> {
    hops.all[hop]
        .calls
        .iter()
        .flat_map(|&call| hops.calls[call].attempts.iter().copied())
}

/// What spans say that a call was given, each with the instant that it ends.
#[derive(Debug, Default)]
struct Given {
    timeout: Option<(Nanos, Told)>,
    sent: Option<(Nanos, Told)>,
}

impl Given {
    /// Reads spans, the innermost first: the timeout that ends first, and what the innermost one
    /// says it sent.
    fn read(forest: &Forest<'_>, hops: &Hops, spans: Vec<NodeId>, offset: Nanos) -> Self {
        spans.into_iter().fold(Self::default(), |given, node| {
            let start = forest.nodes[node].start;
            let until = |told: Told| (start + offset + told.time, told);
            given.within(&Self {
                timeout: told(forest, hops, node, Field::Timeout).map(until),
                sent: sent_by(forest, hops, node, start).map(until),
            })
        })
    }

    /// With what spans around these say.
    fn within(self, outer: &Self) -> Self {
        let ends = |timeout: &Option<(Nanos, Told)>| timeout.as_ref().map(|(until, _)| *until);
        let earlier = match (ends(&self.timeout), ends(&outer.timeout)) {
            (Some(inner), Some(around)) => around < inner,
            (None, Some(_)) => true,
            _ => false,
        };
        Self {
            timeout: if earlier {
                outer.timeout.clone()
            } else {
                self.timeout
            },
            sent: self.sent.or_else(|| outer.sent.clone()),
        }
    }
}

fn told(forest: &Forest<'_>, hops: &Hops, node: NodeId, field: Field) -> Option<Told> {
    let reading = hops.facts(node)?.least(field)?;
    Some(from_reading(forest, node, reading, reading.time))
}

fn from_reading(forest: &Forest<'_>, node: NodeId, reading: &Reading, time: Nanos) -> Told {
    let span = forest.span(node).span_id;
    Told {
        time,
        key: reading.key.clone(),
        raw: reading.raw.clone(),
        span,
        is_instant: reading.field == Field::Deadline,
    }
}

/// What a caller's span says it sent: a remaining budget, or an absolute deadline.
fn sent_by(forest: &Forest<'_>, hops: &Hops, node: NodeId, start: Nanos) -> Option<Told> {
    let facts = hops.facts(node)?;
    let relative = facts
        .least(Field::RemainingOut)
        .map(|reading| (reading.time, reading));
    let absolute = facts
        .all(Field::Deadline)
        .map(|reading| (reading.at.since(forest.base) - start, reading))
        .min_by_key(|(time, _)| *time);
    let (time, reading) = [relative, absolute]
        .into_iter()
        .flatten()
        .min_by_key(|(time, _)| *time)?;
    Some(from_reading(forest, node, reading, time))
}

/// What a hop's own telemetry says of its budget on arrival: the strictest of all that its spans
/// say, each moved back to the arrival; the entry's own if that agrees.
fn observed(forest: &Forest<'_>, hops: &Hops, id: HopId) -> Option<(Nanos, Source)> {
    let hop = &hops.all[id];
    let arrival = forest.nodes[hop.entry].start;
    let entry_is_call = forest.is_outbound(hop.entry);
    let mut best: Option<Told> = None;
    let mut own: Option<Told> = None;
    for &node in &hop.nodes {
        if node != hop.entry && forest.is_outbound(node) {
            continue;
        }
        let Some(facts) = hops.facts(node) else {
            continue;
        };
        let lag = forest.nodes[node].start - arrival;
        let relative = facts
            .all(Field::RemainingIn)
            .map(|reading| (reading.time + lag, reading));
        let absolute = facts
            .all(Field::Deadline)
            .map(|reading| (reading.at.since(forest.base) - arrival, reading));
        for (time, reading) in relative.chain(absolute) {
            let told = from_reading(forest, node, reading, time);
            if node == hop.entry && own.as_ref().is_none_or(|own| time < own.time) {
                own = Some(told.clone());
            }
            if best.as_ref().is_none_or(|best| time < best.time) {
                best = Some(told);
            }
        }
    }
    let mut found = match (own, best) {
        (Some(own), Some(best)) if near(own.time, best.time) => Some(own),
        (_, best) => best,
    };
    if hop.caller.is_none() {
        // A root may set its budget itself: a CLIENT root always does.
        let timeout = told(forest, hops, hop.entry, Field::Timeout);
        let sent = told(forest, hops, hop.entry, Field::RemainingOut).filter(|_| entry_is_call);
        found = if entry_is_call {
            timeout.or(found).or(sent)
        } else {
            found.or(timeout)
        };
    }
    found.map(|told| (told.time, told.source(How::Observed)))
}
