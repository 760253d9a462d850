//! From hops and times to the [`Request`]s that everyone reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    Analysis, Call, CallKind, HandedOver, Hop, How, LedgerRow, LocalSource, Nanos, Note, Outcome,
    Part, PathSegment, Request, Source, SpanId, Surfaced, Text, TraceId, Verdict,
};

use super::conventions::Unread;
use super::culprit;
use super::findings;
use super::hops::{AttemptId, HopId, Hops};
use super::known::Known;
use super::names::host;
use super::path::{self, Stretch};
use super::policy::Policy;
use super::reasons;
use super::timing::{Timing, attempts_of};
use super::told;
use super::tree::{Children, Forest, NodeId};
use super::verdict;

/// Puts the requests of a trace together, ordered by start, then by id.
pub(super) fn requests(known: &Known<'_>) -> Analysis {
    let hops = &known.hops.all;
    let order = depth_first(known);
    let mut handed: BTreeMap<HopId, Vec<HandedOver>> = BTreeMap::new();
    let trace_id = known.forest.trace.id;
    for hop in hops {
        let request = known.forest.span(hop.entry).span_id;
        let linked = hop.linked_from.iter().map(|(by, _)| *by);
        for by in hop.handed_from.into_iter().chain(linked) {
            let over = HandedOver { trace_id, request };
            handed.entry(by).or_default().push(over);
        }
    }
    // To the number, here and below: these stay in memory until they are in a file.
    let roots = order.iter().filter(|hop| hops[**hop].root == **hop).count();
    let mut requests = Vec::with_capacity(roots);
    let mut numbers = vec![0; hops.len()];
    let begins = |hop: &HopId| hops[*hop].root == *hop;
    for members in order.chunk_by(|_, next| !begins(next)) {
        for (number, &hop) in members.iter().enumerate() {
            numbers[hop] = number;
        }
        requests.push(request(known, members, &numbers, &handed));
    }
    requests.sort_by_key(|request| (request.start, request.request));
    Analysis {
        trace_id: known.forest.trace.id,
        requests,
        failed: false,
    }
}

/// All hops, request by request, depth first, siblings by aligned start.
fn depth_first(known: &Known<'_>) -> Vec<HopId> {
    let hops = &known.hops.all;
    let children = Children::of(hops.iter().map(|hop| hop.caller));
    let by_start = |ids: &mut Vec<HopId>| {
        ids.sort_by_key(|&id| {
            (
                known.timing.hops[id].start,
                known.forest.span(hops[id].entry).span_id,
                id,
            )
        });
    };
    let mut roots: Vec<HopId> = (0..hops.len())
        .filter(|&id| hops[id].caller.is_none())
        .collect();
    by_start(&mut roots);
    roots.reverse();
    let mut order = Vec::with_capacity(hops.len());
    let mut stack = roots;
    while let Some(id) = stack.pop() {
        order.push(id);
        let mut below = children.of_node(id).to_vec();
        by_start(&mut below);
        stack.extend(below.into_iter().rev());
    }
    order
}

/// One request: `members` are its hops, root first, in the order in which they are shown.
fn request(
    known: &Known<'_>,
    members: &[HopId],
    numbers: &[usize],
    handed: &BTreeMap<HopId, Vec<HandedOver>>,
) -> Request {
    let root = members[0];
    let hops = &known.hops.all;
    let time = &known.timing.hops[root];
    let shown = Shown {
        hops: known.hops,
        root,
        numbers,
    };
    let (path, clipped) = path::path(known.forest, known.hops, known.timing, known.retries, root);
    let elapsed = time.end - time.start;
    let deadline = time.effective.map(|deadline| deadline - time.start);
    let outcome = outcome(known, root);
    let view = View {
        known,
        shown: &shown,
        origin: time.start,
    };
    let mut depths = vec![0; members.len()];
    let mut out = Vec::with_capacity(members.len());
    for (id, &hop) in members.iter().enumerate() {
        let parent = hops[hop].caller.and_then(|caller| shown.get(caller));
        depths[id] = parent.map_or(0, |parent| depths[parent] + 1);
        out.push(view.hop(hop, id, parent, depths[id], handed));
    }
    let mut notes = known.forest.notes.clone();
    notes.extend(known.clocks.notes.iter().cloned());
    let early = before_parent(known, members);
    if early > 0 {
        notes.push(Note::BeforeParent(early));
    }
    if clipped > 0 {
        notes.push(Note::Clipped(clipped));
    }
    notes.extend(unread(known, members));
    notes.extend(told_twice(known, members));
    notes.extend(linked(known, root));
    let untied = members
        .iter()
        .flat_map(|&hop| known.timing.sessions.untied(hop));
    let untied: BTreeSet<&Text> = untied.collect();
    notes.extend(untied.into_iter().cloned().map(Note::Untied));
    let entry = known.forest.span(hops[root].entry);
    Request {
        trace_id: known.forest.trace.id,
        request: entry.span_id,
        revision: 1,
        complete: known.forest.complete,
        notes,
        service: known.service(root).clone(),
        operation: known.operation(root).clone(),
        start: entry.start,
        spans: members.iter().map(|&hop| hops[hop].nodes.len()).sum(),
        elapsed,
        budget: time.told,
        budget_source: source(known, root),
        outcome,
        wasted: members.iter().map(|&hop| known.wasted(hop)).sum(),
        surfaced: surfaced(known, members, outcome, &shown),
        culprit: culprit::of_path(known, &path, time.start, elapsed, time.told, outcome),
        path: view.segments(&path),
        ledger: view.ledger(&path, deadline),
        hops: out,
        findings: findings::of_request(known, members, &shown),
    }
}

/// Keys on the spans of a request that may tell a deadline and are not read, each once.
fn unread(known: &Known<'_>, members: &[HopId]) -> Vec<Note> {
    /// More would bury what else there is to note; they come by the dozen or not at all.
    const NAMED: usize = 10;
    let nodes = members.iter().flat_map(|&hop| &known.hops.all[hop].nodes);
    let facts = nodes.filter_map(|&node| known.hops.facts(node));
    let keys: BTreeSet<&Unread> = facts.flat_map(|facts| &facts.unread).collect();
    let named = keys.iter().take(NAMED);
    let mut notes: Vec<Note> = named
        .map(|unread| Note::Unread(unread.key.clone(), unread.rule.clone()))
        .collect();
    if keys.len() > NAMED {
        notes.push(Note::MoreUnread(keys.len() - NAMED));
    }
    notes
}

/// Hops whose spans tell their budgets by values that disagree.
fn told_twice(known: &Known<'_>, members: &[HopId]) -> Vec<Note> {
    /// Whoever tells it twice does so in every request and at every hop.
    const NAMED: usize = 3;
    /// Of one hop.
    const VALUES: usize = 5;
    let mut notes = Vec::new();
    let mut count: usize = 0;
    for &hop in members {
        let values = told::disagreeing(known.forest, known.hops, hop);
        if values.is_empty() {
            continue;
        }
        count += 1;
        if count > NAMED {
            continue;
        }
        let shown = values.iter().take(VALUES);
        let shown = shown.map(|(value, key)| format!("{value} ({key})"));
        let mut shown: Vec<String> = shown.collect();
        if values.len() > VALUES {
            shown.push(format!("{} more", values.len() - VALUES));
        }
        let shown = shown.join(", ");
        let whom = format!("{} {}", known.service(hop), known.operation(hop));
        notes.push(Note::ToldTwice(whom.into(), shown.into()));
    }
    if count > NAMED {
        notes.push(Note::MoreToldTwice(count - NAMED));
    }
    notes
}

/// Other traces that the links of a root name. A consumer often has no more than that of whoever
/// sent its message.
fn linked(known: &Known<'_>, root: HopId) -> Vec<Note> {
    /// A batch may come from as many traces as it has messages.
    const NAMED: usize = 3;
    let entry = known.forest.span(known.hops.all[root].entry);
    let links = entry.links.iter().map(|link| link.trace_id);
    let others = links.filter(|trace| *trace != entry.trace_id && *trace != TraceId::default());
    let others: BTreeSet<TraceId> = others.collect();
    let named = others.iter().take(NAMED).copied().map(Note::LinkedFrom);
    let more = others.len().saturating_sub(NAMED);
    let more = (more > 0).then_some(Note::MoreLinked(more));
    named.chain(more).collect()
}

/// How many spans start before their parent although both were timed by one clock.
fn before_parent(known: &Known<'_>, members: &[HopId]) -> usize {
    let (forest, hops) = (known.forest, &known.hops.all);
    let started_first = |node: NodeId| {
        let parent = forest.nodes[node].parent?;
        (forest.nodes[node].start < forest.nodes[parent].start).then_some(parent)
    };
    let nodes = members.iter().flat_map(|&hop| &hops[hop].nodes);
    nodes
        .filter(|&&node| {
            started_first(node).is_some_and(|parent| host(forest, node) == host(forest, parent))
        })
        .count()
}

/// How a hop's budget is known; `none` where it is not.
fn source(known: &Known<'_>, hop: HopId) -> Source {
    known.timing.hops[hop].source.clone()
}

fn outcome(known: &Known<'_>, root: HopId) -> Outcome {
    match known.verdicts[root].0 {
        Verdict::CancelledByCaller => Outcome::Cancelled,
        Verdict::Failed => Outcome::Failed,
        Verdict::Ok if known.timing.hops[root].told.is_none() => Outcome::NoBudget,
        Verdict::Ok => Outcome::Met,
        _ => Outcome::Missed,
    }
}

/// The deepest hop with evidence of its own that is reached through hops that are not ok; of
/// equally deep ones the one that ended first; without any the root.
fn surfaced(
    known: &Known<'_>,
    members: &[HopId],
    outcome: Outcome,
    shown: &Shown<'_>,
) -> Option<Surfaced> {
    if matches!(outcome, Outcome::Met | Outcome::NoBudget) {
        return None;
    }
    let hops = &known.hops.all;
    let speaks = |hop: HopId| {
        let evidence = hops[hop].evidence;
        match outcome {
            Outcome::Missed => evidence.deadline,
            Outcome::Cancelled => evidence.cancelled,
            _ => evidence.error,
        }
    };
    let mut depth = vec![None; members.len()];
    let mut best: Option<(usize, std::cmp::Reverse<Nanos>, HopId)> = None;
    for (id, &hop) in members.iter().enumerate() {
        let above = match hops[hop].caller.and_then(|caller| shown.get(caller)) {
            None => Some(0),
            Some(caller) => depth[caller].map(|depth: usize| depth + 1),
        };
        // What nobody waited for failed nobody.
        let counts = known.verdicts[hop].0 != Verdict::Ok && !known.timing.hops[hop].detached;
        let Some(level) = above.filter(|_| counts) else {
            continue;
        };
        depth[id] = Some(level);
        let end = std::cmp::Reverse(known.timing.hops[hop].end);
        if speaks(hop) && best.is_none_or(|(deepest, first, _)| (level, end) > (deepest, first)) {
            best = Some((level, end, hop));
        }
    }
    let hop = best.map_or(members[0], |(_, _, hop)| hop);
    Some(Surfaced {
        service: known.service(hop).clone(),
        operation: known.operation(hop).clone(),
        verdict: known.verdicts[hop].0,
        hop: shown.get(hop).unwrap_or(0),
    })
}

/// The hops of a request by the number under which they are shown.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    hops: &'a Hops,
    root: HopId,
    /// By [`HopId`]; those of other requests have no meaning.
    numbers: &'a [usize],
}

impl Shown<'_> {
    /// Its number; `None` for a hop of another request.
    pub(super) fn get(&self, hop: HopId) -> Option<usize> {
        let is_of_request = self.hops.all[hop].root == self.root;
        is_of_request.then(|| self.numbers[hop])
    }
}

/// Times from the request's start, hops by their shown number.
struct View<'a> {
    known: &'a Known<'a>,
    shown: &'a Shown<'a>,
    origin: Nanos,
}

impl View<'_> {
    fn shown(&self, hop: HopId) -> usize {
        self.shown.get(hop).unwrap_or(0)
    }

    fn hop(
        &self,
        id: HopId,
        number: usize,
        parent: Option<usize>,
        depth: usize,
        handed: &BTreeMap<HopId, Vec<HandedOver>>,
    ) -> Hop {
        let known = self.known;
        let (hop, time) = (&known.hops.all[id], &known.timing.hops[id]);
        let (verdict, blamed) = known.verdicts[id];
        let computed = path::local_time(known.forest, known.hops, known.timing, id);
        let observed = known.hops.reported_local(known.forest, id);
        let attempts = || attempts_of(known.hops, id);
        let count = attempts().map(|attempt| self.shown_as(attempt)).sum();
        let mut calls = Vec::with_capacity(count);
        for attempt in attempts() {
            self.calls(attempt, &mut calls);
        }
        calls.sort_by_key(|call| (call.start, call.span_id, call.hop));
        Hop {
            id: number,
            parent,
            depth,
            service: known.service(id).clone(),
            operation: known.operation(id).clone(),
            span_id: known.forest.span(hop.entry).span_id,
            start: time.start - self.origin,
            elapsed: time.end - time.start,
            remaining_in: time.told,
            remaining_in_source: source(known, id),
            deadline: time.effective.map(|deadline| deadline - self.origin),
            deadline_from: time.effective.and(time.from).map(|from| self.shown(from)),
            own_deadline: time.own.map(|own| own - self.origin),
            local: observed.unwrap_or(computed),
            local_source: if observed.is_some() {
                LocalSource::Observed
            } else {
                LocalSource::Computed
            },
            local_computed: computed,
            queue: known.queue(id),
            clock_offset: known.clocks.offsets[id],
            clock_interval: known.clocks.intervals[id],
            verdict,
            verdict_call: blamed.and_then(|call| {
                let first = *known.hops.calls[call].attempts.first()?;
                Some(self.call_span(first))
            }),
            reason: reasons::of_hop(known, id),
            evidence: reasons::shown(known, id),
            reported: known
                .hops
                .reported_outcome(known.forest, id)
                .map(Text::from),
            wasted: known.wasted(id),
            handed_over: handed.get(&id).cloned().unwrap_or_default(),
            calls,
            spans: hop
                .nodes
                .iter()
                .map(|&node| known.forest.nodes[node].span as u32)
                .collect(),
        }
    }

    fn call_span(&self, attempt: AttemptId) -> SpanId {
        let known = self.known;
        let attempt = &known.hops.attempts[attempt];
        let node = attempt.spans.map(|(first, _)| first).or_else(|| {
            attempt
                .callees
                .first()
                .map(|&callee| known.hops.all[callee].entry)
        });
        node.map_or_else(Default::default, |node| known.forest.span(node).span_id)
    }

    /// As how many calls an attempt is shown.
    fn shown_as(&self, id: AttemptId) -> usize {
        let attempt = &self.known.hops.attempts[id];
        if attempt.kind == CallKind::Hop {
            attempt.callees.len()
        } else {
            1
        }
    }

    /// One attempt: one call, or one per callee where several answered.
    fn calls(&self, id: AttemptId, calls: &mut Vec<Call>) {
        let known = self.known;
        let (attempt, time) = (&known.hops.attempts[id], &known.timing.calls[id]);
        let (number, attempts) = known.retries.number(known.hops, id);
        let call = |callee: Option<HopId>| {
            let far = callee.map(|callee| &known.timing.hops[callee]);
            let observed = far.filter(|far| far.source.how == How::Observed);
            // Several tries of a proxy, each with a number of its own.
            let counted = callee.filter(|_| attempt.callees.len() > 1);
            let counted = counted.and_then(|callee| known.hops.resend_of(callee));
            Call {
                span_id: self.call_span(id),
                to: callee
                    .map_or(&attempt.to, |callee| known.service(callee))
                    .clone(),
                operation: attempt.operation.clone(),
                kind: attempt.kind,
                hop: callee.map(|callee| self.shown(callee)),
                attempt: counted.map_or(number, |before| before.saturating_add(1)),
                attempts,
                start: time.start - self.origin,
                elapsed: time.end - time.start,
                remaining_out: match &time.sent {
                    Some(sent) => Some(sent.time),
                    None => observed.and_then(|far| far.told),
                },
                remaining_out_source: match &time.sent {
                    Some(sent) => sent.source(How::Sent),
                    None => observed.map_or_else(Source::default, |far| far.source.clone()),
                },
                timeout: time.timeout.as_ref().map(|timeout| timeout.time),
                timeout_source: time
                    .timeout
                    .as_ref()
                    .map_or_else(Source::default, |timeout| timeout.source(How::Observed)),
                transit_out: far.map(|far| (far.start.min(time.end) - time.start).at_least_zero()),
                transit_back: far
                    .filter(|far| far.end <= time.end)
                    .map(|far| time.end - far.end.max(time.start)),
                waited: time.waited,
                verdict: known.call_verdicts[id],
            }
        };
        if attempt.kind == CallKind::Hop {
            calls.extend(attempt.callees.iter().map(|&callee| call(Some(callee))));
        } else {
            calls.push(call(None));
        }
    }

    /// The path, neighbours with the same owner joined.
    fn segments(&self, path: &[Stretch]) -> Vec<PathSegment> {
        let mut segments: Vec<PathSegment> = Vec::with_capacity(path.len());
        for stretch in path {
            let next = PathSegment {
                hop: self.shown(stretch.hop),
                part: stretch.part,
                to: stretch.to.clone(),
                start: stretch.start - self.origin,
                end: stretch.end - self.origin,
            };
            match segments.last_mut() {
                Some(last)
                    if (last.hop, last.part, &last.to) == (next.hop, next.part, &next.to)
                        && last.end == next.start =>
                {
                    last.end = next.end;
                }
                _ => segments.push(next),
            }
        }
        segments
    }

    fn ledger(&self, path: &[Stretch], deadline: Option<Nanos>) -> Vec<LedgerRow> {
        let mut rows: Vec<LedgerRow> = Vec::new();
        let mut row_of: BTreeMap<(HopId, Part, Option<&Text>), usize> = BTreeMap::new();
        for stretch in path {
            let row = *row_of
                .entry((stretch.hop, stretch.part, stretch.to.as_ref()))
                .or_insert_with(|| {
                    rows.push(LedgerRow {
                        hop: self.shown(stretch.hop),
                        service: self.known.service(stretch.hop).clone(),
                        operation: self.known.operation(stretch.hop).clone(),
                        part: stretch.part,
                        to: stretch.to.clone(),
                        time: Nanos::ZERO,
                        after_deadline: Nanos::ZERO,
                    });
                    rows.len() - 1
                });
            let row = &mut rows[row];
            row.time += stretch.end - stretch.start;
            if let Some(deadline) = deadline {
                let from = (stretch.start - self.origin).max(deadline);
                row.after_deadline += (stretch.end - self.origin - from).at_least_zero();
            }
        }
        rows
    }
}

/// Verdicts of all hops and attempts.
pub(super) fn verdicts(
    forest: &Forest<'_>,
    hops: &Hops,
    timing: &Timing,
    policy: &Policy,
) -> (Vec<(Verdict, Option<usize>)>, Vec<Verdict>) {
    let of_hops = (0..hops.all.len())
        .map(|id| verdict::of_hop(forest, hops, timing, policy, id))
        .collect();
    let of_calls = (0..hops.attempts.len())
        .map(|id| verdict::of_call(forest, hops, timing, policy, id))
        .collect();
    (of_hops, of_calls)
}
