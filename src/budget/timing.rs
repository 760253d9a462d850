//! Deadlines (semantics, section 4): aligned times, what each hop was told, its effective
//! deadline, which calls were waited for. Callers before callees, one pass.

use crate::model::{How, Kind, Nanos, Source, SpanId};

use super::TOLERANCE;
use super::clocks::Clocks;
use super::conventions::{Field, Reading};
use super::hops::{AttemptId, CallId, HopId, Hops};
use super::policy::Policy;
use super::sessions::Sessions;
use super::told::{self, Bounds, Given, Told};
use super::tree::{Forest, NodeId};

/// How long a hop may fail after a call of its own failed, and still have failed because of it.
pub(super) const BECAUSE_OF: Nanos = Nanos::from_millis(10);
/// A call that outlives its hop by more was not waited for.
pub(super) const OUTLIVES: Nanos = Nanos::from_millis(1);

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
    /// When the first of its spans ended, those around it included: nobody listened any more.
    pub heard_until: Nanos,
    /// The timeout that the caller set for it.
    pub timeout: Option<Told>,
    /// When that ends, or its top-level call's.
    pub limit: Option<Nanos>,
    /// What the caller says it sent.
    pub sent: Option<Told>,
    /// Its hop waited for the call that it belongs to.
    pub waited: bool,
    /// It failed by deadline, by its own words, its callee's or by time.
    pub by_deadline: bool,
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
    /// What connections were set to.
    pub sessions: Sessions,
}

impl Timing {
    /// Aligns everything and works out who had how much left.
    ///
    /// Whether a hop waited for a call that outlives it depends on how the hop failed, and that
    /// on deadlines, which are passed on by calls that are waited for. Down a chain of calls one
    /// pass finds it all; where a hop failed because a callee was late, which is known only then,
    /// that is the ground of another round. Each can only find more hops that failed, and one more
    /// is nearly always the last; for very odd traces there is a bound.
    pub(super) fn find(forest: &Forest<'_>, hops: &Hops, clocks: &Clocks, policy: &Policy) -> Self {
        const ROUNDS: usize = 8;
        let bounds = Bounds::find(forest, hops);
        let mut this = Self {
            hops: vec![HopTime::default(); hops.all.len()],
            calls: vec![CallTime::default(); hops.attempts.len()],
            failed_by_deadline: hops.all.iter().map(|hop| hop.evidence.deadline).collect(),
            sessions: Sessions::find(forest, hops),
        };
        for _ in 1..ROUNDS {
            this.round(forest, hops, clocks, policy, &bounds);
            if !this.waited_for_more(hops) {
                return this;
            }
            this.hops.fill(HopTime::default());
            this.calls.fill(CallTime::default());
        }
        this.round(forest, hops, clocks, policy, &bounds);
        this
    }

    /// Works out everything, by what is known so far of who failed by deadline.
    fn round(
        &mut self,
        forest: &Forest<'_>,
        hops: &Hops,
        clocks: &Clocks,
        policy: &Policy,
        bounds: &Bounds,
    ) {
        self.align(forest, hops, clocks);
        self.fail_with_callees(hops);
        self.fail_because_of_calls(forest, hops);
        for id in 0..hops.all.len() {
            self.read_budget(forest, hops, clocks, policy, id);
            self.read_calls(forest, hops, bounds, id);
            self.read_texts_of_calls(forest, hops, id);
        }
        for id in 0..hops.all.len() {
            self.failed_by_deadline[id] |= self.fails_by_time(hops, id);
            // A CLIENT root is its own call.
            self.failed_by_deadline[id] |= attempts_of(hops, id)
                .any(|call| hops.is_root_call(forest, call) && self.calls[call].by_deadline);
        }
        self.fail_because_of_calls(forest, hops);
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
            let nested = attempt
                .spans
                .is_some_and(|(first, innermost)| first != innermost);
            let around = hops.calls[attempt.call].attempts.len() > 1;
            let heard_until = if nested || around {
                let around = hops.spans_around(forest, attempt.call);
                let spans = hops.spans_of(forest, id).into_iter().chain(around);
                let ends = spans.map(|node| forest.nodes[node].end);
                ends.min().unwrap_or(inner.1)
            } else {
                inner.1
            };
            let call = &mut self.calls[id];
            (call.start, call.end) = (start + offset, end + offset);
            call.inner = (inner.0 + offset, inner.1 + offset);
            call.heard_until = heard_until + offset;
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
        let budget = told::observed(forest, hops, id)
            .map(|told| Budget::of(id, told.time, told.source(How::Observed)))
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
                let own = self.calls[via].heard_until;
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
        self.limit_itself(forest, hops, id);
        let time = &mut self.hops[id];
        time.unreadable = hop
            .nodes
            .iter()
            .any(|&node| !forest.is_outbound(node) && bad(node))
            || call_spans.is_some_and(|(first, last)| bad(first) || bad(last));
    }

    /// A hop's own limit on its run ends its deadline early, and so does what its caller waits.
    /// Nobody passed either on: a limit is nothing that it had on arrival, and what the caller
    /// waits is that only where nothing else is known, or where nobody can have passed on more.
    fn limit_itself(&mut self, forest: &Forest<'_>, hops: &Hops, id: HopId) {
        let limit = told::limit(forest, hops, id);
        let wait = told::wait(forest, hops, id);
        let time = &mut self.hops[id];
        let is_root = hops.all[id].caller.is_none();
        let counts = |wait: &&Told| time.told.is_none_or(|told| is_root && wait.time < told);
        if let Some(wait) = wait.as_ref().filter(counts) {
            time.told = Some(wait.time);
            time.source = wait.source(How::Inherited);
        }
        for ends in [limit, wait].into_iter().flatten() {
            let until = time.start + ends.time;
            let earlier =
                |known: Option<Nanos>| Some(known.map_or(until, |known| known.min(until)));
            if time.effective.is_none_or(|deadline| until < deadline) {
                time.effective = Some(until);
                time.from = Some(id);
                time.inferred = false;
            }
            time.own = earlier(time.own);
            time.own_known = earlier(time.own_known);
            time.known = earlier(time.known);
        }
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
    fn read_calls(&mut self, forest: &Forest<'_>, hops: &Hops, bounds: &Bounds, id: HopId) {
        let hop = &hops.all[id];
        let offset = self.hops[id].start - forest.nodes[hop.entry].start;
        let effective = self.hops[id].effective.filter(|_| !self.hops[id].inferred);
        let single = hop.calls.len() == 1 && hops.calls[hop.calls[0]].attempts.len() == 1;
        for &call in &hop.calls {
            let around = hops.spans_around(forest, call);
            let answered = is_answered(hops, call);
            let bound = bounds.of_call(forest, hops, call, offset);
            let shared = Given::read(forest, hops, around, answered, offset).within(&bound);
            for &attempt in &hops.calls[call].attempts {
                let (start, call_end) = (self.calls[attempt].start, self.calls[attempt].end);
                let own = hops.spans_of(forest, attempt);
                let answered = !hops.attempts[attempt].callees.is_empty();
                let given = Given::read(forest, hops, own, answered, offset).within(&shared);
                let given = match hops.attempts[attempt].callees.len() {
                    0 | 1 => given.of_try(start),
                    // Tries that a proxy makes are none of the call's own.
                    _ => given,
                };
                // What a header told the callee, and what was set on the connection.
                let wait = told::wait_of_call(forest, hops, attempt);
                let given = given.within(&Given::of_timeout(start, wait.as_ref()));
                let given = given.within(&Given::of_timeout(start, self.sessions.of_call(attempt)));
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
                        .find_map(|&node| told::told(forest, hops, node, Field::RemainingOut));
                }
                let time = &mut self.calls[attempt];
                (time.timeout, time.limit, time.sent) = (timeout, limit, sent);
                // Words for a cancellation, or for what may be a timeout, at the very time at
                // which a deadline came.
                let evidence = hops.attempts[attempt].evidence;
                let deadlines = [effective, limit].into_iter().flatten();
                time.by_deadline |= (evidence.cancelled || evidence.maybe_deadline)
                    && deadlines.into_iter().any(|limit| is_about(call_end, limit));
            }
        }
        self.wait_for_calls(forest, hops, id);
    }

    /// Gives the numbers in a hop's own error texts to the call that they tell of: the last one
    /// within the span that failed, and ran as long as its timer must have. A timer never fires
    /// early, so a shorter one did not print it.
    fn read_texts_of_calls(&mut self, forest: &Forest<'_>, hops: &Hops, id: HopId) {
        let hop = &hops.all[id];
        let offset = self.hops[id].start - forest.nodes[hop.entry].start;
        let single = attempts_of(hops, id).nth(1).is_none();
        for &node in &hop.nodes {
            let texts = hops.facts(node).map_or(&[][..], |facts| &facts.of_calls);
            for reading in texts {
                let within = &forest.nodes[node];
                let fits = |attempt: &AttemptId| {
                    let time = &self.calls[*attempt];
                    let took = time.end - time.start;
                    let known = match reading.field {
                        Field::RemainingOut => &time.sent,
                        _ => &time.timeout,
                    };
                    known.is_none()
                        && (single || hops.attempts[*attempt].evidence.failed())
                        && told::reaches(took, reading.time)
                        && !told::outlasts(took, reading.time)
                        && time.start + OUTLIVES >= within.start + offset
                        && time.end <= within.end + offset + OUTLIVES
                };
                let last = attempts_of(hops, id)
                    .filter(fits)
                    .max_by_key(|&attempt| (self.calls[attempt].end, attempt));
                let Some(attempt) = last else { continue };
                self.give(attempt, reading, forest.span(node).span_id);
            }
        }
    }

    fn give(&mut self, attempt: AttemptId, reading: &Reading, span: SpanId) {
        let call = &mut self.calls[attempt];
        let told = Told::new(span, reading, reading.time);
        if reading.field == Field::RemainingOut {
            call.sent = Some(told);
        } else {
            let until = call.start + told.time;
            call.limit = Some(call.limit.map_or(until, |limit| limit.min(until)));
            call.timeout = Some(told);
        }
    }
}

/// Whether any hop answered a call.
fn is_answered(hops: &Hops, call: CallId) -> bool {
    let mut attempts = hops.calls[call].attempts.iter();
    attempts.any(|&attempt| !hops.attempts[attempt].callees.is_empty())
}

/// Whether something ended when a deadline came: timers fire late, and values are rounded.
pub(super) fn is_about(end: Nanos, deadline: Nanos) -> bool {
    (end - deadline).abs() <= TOLERANCE
}

/// The attempts of a hop, call by call.
pub(super) fn attempts_of(hops: &Hops, hop: HopId) -> impl Iterator<Item = AttemptId> {
    hops.all[hop]
        .calls
        .iter()
        .flat_map(|&call| hops.calls[call].attempts.iter().copied())
}
