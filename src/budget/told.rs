//! What the spans of a hop say of budgets (semantics, section 4): on arrival, for its calls, and of
//! the limits that it sets itself.

use crate::model::{How, Kind, Nanos, Source, SpanId, Text, Value};

use super::conventions::{Field, Reading, Trust, shortened, strictest};
use super::hops::{AttemptId, CallId, HopId, Hops};
use super::tree::{Forest, NodeId};
use super::{near, tolerance};

/// A duration with its origin.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// The duration.
    pub time: Nanos,
    /// The key that it was read from.
    pub key: Text,
    /// What stood there.
    pub raw: Value,
    /// The span that carried it.
    pub span: SpanId,
    /// It was told as an instant: what is left of it shrinks on the way.
    pub is_instant: bool,
}

impl Told {
    /// This much, from a reading on a span.
    pub(super) fn new(span: SpanId, reading: &Reading, time: Nanos) -> Self {
        Self {
            time,
            key: reading.key.clone(),
            raw: reading.raw.clone(),
            span,
            is_instant: reading.field == Field::Deadline,
        }
    }

    /// Where it was read.
    pub(super) fn source(&self, how: How) -> Source {
        Source {
            how,
            key: Some(self.key.clone()),
            span_id: Some(self.span),
            value: Some(shortened(&self.raw)),
        }
    }
}

/// What spans say that a call was given, each with the instant that it ends.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// What the caller is ready to wait.
    pub timeout: Option<(Nanos, Told)>,
    /// What it passed on.
    pub sent: Option<(Nanos, Told)>,
    /// What it is ready to wait for each try.
    per_try: Option<Told>,
}

impl Given {
    /// Reads spans, the innermost first: the timeout that ends first, and what the innermost one
    /// says it sent. `answered`: there is a callee, whose words may have come back.
    pub(super) fn read(
        forest: &Forest<'_>,
        hops: &Hops,
        spans: Vec<NodeId>,
        answered: bool,
        offset: Nanos,
    ) -> Self {
        spans.into_iter().fold(Self::default(), |given, node| {
            let start = forest.nodes[node].start;
            let until = |told: Told| (start + offset + told.time, told);
            let told = |field| told_by_caller(forest, hops, node, field, answered);
            given.within(&Self {
                timeout: told(Field::Timeout).map(until),
                sent: sent_by(forest, hops, node, answered).map(until),
                per_try: told(Field::PerTry),
            })
        })
    }

    /// For a call that began then: a timeout, if one is known.
    pub(super) fn of_timeout(start: Nanos, timeout: Option<&Told>) -> Self {
        Self {
            timeout: timeout.map(|told| (start + told.time, told.clone())),
            ..Self::default()
        }
    }

    /// With what spans around these say.
    pub(super) fn within(self, outer: &Self) -> Self {
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
            per_try: self.per_try.or_else(|| outer.per_try.clone()),
        }
    }

    /// For a try that began then: what each try has counts too.
    pub(super) fn of_try(mut self, start: Nanos) -> Self {
        let per_try = self.per_try.take();
        self.within(&Self::of_timeout(start, per_try.as_ref()))
    }
}

/// Limits that spans inside a hop set to the calls below them.
#[derive(Debug)]
pub(super) struct Bounds {
    /// By [`NodeId`]: when the earliest ends that the node is under, and who set it. Empty if no
    /// span sets any.
    by_node: Vec<Option<(Nanos, NodeId)>>,
}

impl Bounds {
    /// Callers before callees, one pass.
    pub(super) fn find(forest: &Forest<'_>, hops: &Hops) -> Self {
        let sets_one =
            |node: NodeId| !forest.is_outbound(node) && bound(forest, hops, node).is_some();
        if !(0..forest.nodes.len()).any(sets_one) {
            return Self { by_node: vec![] };
        }
        let mut by_node = vec![None; forest.nodes.len()];
        for hop in &hops.all {
            for &node in &hop.nodes {
                if node == hop.entry {
                    continue;
                }
                let above: Option<(Nanos, NodeId)> =
                    forest.nodes[node].parent.and_then(|parent| by_node[parent]);
                let own = bound(forest, hops, node)
                    .filter(|_| !forest.is_outbound(node))
                    .map(|told| (forest.nodes[node].start + told.time, node));
                by_node[node] = [above, own].into_iter().flatten().min();
            }
        }
        Self { by_node }
    }

    /// What bounds a call.
    pub(super) fn of_call(
        &self,
        forest: &Forest<'_>,
        hops: &Hops,
        call: CallId,
        offset: Nanos,
    ) -> Given {
        let timeout = || {
            let callee = || {
                let attempt = hops.calls[call].attempts.first()?;
                let callee = hops.attempts[*attempt].callees.first()?;
                Some(hops.all[*callee].entry)
            };
            let outermost = hops.calls[call].span.or_else(callee)?;
            let around = forest.nodes[outermost].parent?;
            let (until, by) = (*self.by_node.get(around)?)?;
            Some((until + offset, bound(forest, hops, by)?))
        };
        Given {
            timeout: timeout(),
            ..Given::default()
        }
    }
}

/// What a span inside a hop lets itself take.
fn bound(forest: &Forest<'_>, hops: &Hops, node: NodeId) -> Option<Told> {
    let start = forest.nodes[node].start;
    let readings = hops.facts(node)?.readings.iter();
    let bounding = readings.filter_map(|reading| match reading.field {
        Field::Timeout | Field::Left => Some((reading.time, reading, ())),
        Field::Deadline => Some((reading.at.since(forest.base) - start, reading, ())),
        _ => None,
    });
    let (time, reading, ()) = strictest(bounding)?;
    Some(Told::new(forest.span(node).span_id, reading, time))
}

/// The reading of a field that binds on a span.
pub(super) fn told(forest: &Forest<'_>, hops: &Hops, node: NodeId, field: Field) -> Option<Told> {
    let reading = hops.facts(node)?.least(field)?;
    Some(Told::new(forest.span(node).span_id, reading, reading.time))
}

/// The same on a caller's span. A text with a number that its timer cannot have reached came back
/// from the callee.
fn told_by_caller(
    forest: &Forest<'_>,
    hops: &Hops,
    node: NodeId,
    field: Field,
    answered: bool,
) -> Option<Told> {
    let readings = hops.facts(node)?.all(field);
    let own = readings
        .filter(|reading| fits(forest, node, reading, answered))
        .map(|reading| (reading.time, reading, ()));
    let (time, reading, ()) = strictest(own)?;
    Some(Told::new(forest.span(node).span_id, reading, time))
}

/// Whether a reading on a caller's span can be of this call: a number in a text, only if a timer
/// of that length can have ended it.
fn fits(forest: &Forest<'_>, node: NodeId, reading: &Reading, answered: bool) -> bool {
    let took = forest.nodes[node].end - forest.nodes[node].start;
    (!answered || is_own(forest, node, reading))
        && (reading.trust != Trust::Message || !outlasts(took, reading.time))
}

/// False for a number in a text that a timer of this span cannot have printed: it never fires
/// early.
fn is_own(forest: &Forest<'_>, node: NodeId, reading: &Reading) -> bool {
    let took = forest.nodes[node].end - forest.nodes[node].start;
    reading.trust != Trust::Message || reaches(took, reading.time)
}

/// True if something went on for long enough that a timer can have fired.
pub(super) fn reaches(took: Nanos, timer: Nanos) -> bool {
    took + tolerance(timer) >= timer
}

/// True if something went on for so long after a timer fired that the timer did not end it: the
/// number is of one of several tries within, of one of several reads, or of a call further down.
/// Timers fire late and clients clean up: max(50 ms, 10 %) is given.
pub(super) fn outlasts(took: Nanos, timer: Nanos) -> bool {
    let lag = Nanos::from_millis(50).max(timer.scaled(1, 10));
    timer > Nanos::ZERO && took > timer + lag
}

/// What a caller's span says it sent: a remaining budget, or an absolute deadline.
fn sent_by(forest: &Forest<'_>, hops: &Hops, node: NodeId, answered: bool) -> Option<Told> {
    let start = forest.nodes[node].start;
    let readings = hops.facts(node)?.readings.iter();
    let sent = readings.filter_map(|reading| match reading.field {
        Field::RemainingOut if fits(forest, node, reading, answered) => {
            Some((reading.time, reading, ()))
        }
        Field::Deadline => Some((reading.at.since(forest.base) - start, reading, ())),
        _ => None,
    });
    let (time, reading, ()) = strictest(sent)?;
    Some(Told::new(forest.span(node).span_id, reading, time))
}

/// The hop's own limit on its run, from its arrival.
pub(super) fn limit(forest: &Forest<'_>, hops: &Hops, id: HopId) -> Option<Told> {
    of_run(forest, hops, id, Field::Limit)
}

/// How long the hop's spans say that its caller waits, from the arrival.
pub(super) fn wait(forest: &Forest<'_>, hops: &Hops, id: HopId) -> Option<Told> {
    of_run(forest, hops, id, Field::Wait)
}

/// How long the callees of a call say that their caller waits.
pub(super) fn wait_of_call(forest: &Forest<'_>, hops: &Hops, attempt: AttemptId) -> Option<Told> {
    let callees = hops.attempts[attempt].callees.iter();
    let waits = callees.filter_map(|&callee| wait(forest, hops, callee));
    waits.min_by_key(|told| told.time)
}

/// The strictest that a hop's spans say of a field, moved back to its arrival.
fn of_run(forest: &Forest<'_>, hops: &Hops, id: HopId, field: Field) -> Option<Told> {
    let hop = &hops.all[id];
    let arrival = forest.nodes[hop.entry].start;
    let limits = hop.nodes.iter().flat_map(|&node| {
        let lag = forest.nodes[node].start - arrival;
        let facts = hops.facts(node).into_iter();
        facts.flat_map(move |facts| {
            let all = facts.all(field);
            all.map(move |reading| (reading.time + lag, reading, node))
        })
    });
    let (time, reading, node) = strictest(limits)?;
    Some(Told::new(forest.span(node).span_id, reading, time))
}

/// A reading of a hop's budget, moved back to its arrival, and the span that carries it.
type Moved<'a> = (Nanos, &'a Reading, NodeId);

/// What the spans of a hop say of its budget on arrival, and what only spans inside it say of its
/// deadline: they may work under a shorter one.
fn on_arrival<'a>(
    forest: &Forest<'_>,
    hops: &'a Hops,
    id: HopId,
) -> (Vec<Moved<'a>>, Vec<Moved<'a>>) {
    let hop = &hops.all[id];
    let arrival = forest.nodes[hop.entry].start;
    let (mut said, mut implied) = (Vec::new(), Vec::new());
    for &node in &hop.nodes {
        let Some(facts) = hops.facts(node) else {
            continue;
        };
        let lag = forest.nodes[node].start - arrival;
        let outbound = node != hop.entry && forest.is_outbound(node);
        let handles = matches!(forest.span(node).kind, Kind::Server | Kind::Consumer);
        let inside = node != hop.entry && !handles;
        for reading in &facts.readings {
            match reading.field {
                Field::RemainingIn if !outbound => said.push((reading.time + lag, reading, node)),
                Field::Deadline if !outbound => {
                    let left = reading.at.since(forest.base) - arrival;
                    let found = if inside { &mut implied } else { &mut said };
                    found.push((left, reading, node));
                }
                Field::Left if is_own(forest, node, reading) => {
                    implied.push((reading.time + lag, reading, node));
                }
                _ => {}
            }
        }
    }
    (said, implied)
}

/// The values that tell a hop's budget on arrival, the strictest first, where they disagree: each
/// as it stood, with its key.
pub(super) fn disagreeing<'a>(
    forest: &Forest<'_>,
    hops: &'a Hops,
    id: HopId,
) -> Vec<(Text, &'a Text)> {
    let (mut said, _) = on_arrival(forest, hops, id);
    // Numbers in texts are not asked beside these.
    said.retain(|(_, reading, _)| reading.trust != Trust::Message);
    said.sort_by_key(|(time, reading, _)| (*time, &reading.key));
    match (said.first(), said.last()) {
        (Some((least, ..)), Some((most, ..))) if !near(*most, *least) => {}
        _ => return vec![],
    }
    let mut values: Vec<(Text, &Text)> = Vec::new();
    for (_, reading, _) in said {
        let value = (shortened(&reading.raw), &reading.key);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// What a hop's own telemetry says of its budget on arrival: the strictest of all that its spans
/// say, each moved back to the arrival; the entry's own if that agrees. What only spans inside it
/// say of its deadline counts where these say nothing.
pub(super) fn observed(forest: &Forest<'_>, hops: &Hops, id: HopId) -> Option<Told> {
    let hop = &hops.all[id];
    let is_call = forest.is_outbound(hop.entry);
    let (said, implied) = on_arrival(forest, hops, id);
    let strictest_of = |found: &[Moved<'_>], only_entry: bool| {
        let found = found
            .iter()
            .copied()
            .filter(|(_, _, node)| !only_entry || *node == hop.entry);
        strictest(found)
            .map(|(time, reading, node)| Told::new(forest.span(node).span_id, reading, time))
    };
    let best = strictest_of(&said, false);
    let mut found = match (strictest_of(&said, true), best) {
        (Some(own), Some(best)) if near(own.time, best.time) => Some(own),
        (_, best) => best,
    };
    found = found.or_else(|| strictest_of(&implied, false));
    if hop.caller.is_some() {
        return found;
    }
    // A root may set its budget itself: a CLIENT root always does.
    if is_call {
        let answered = hop.calls.first().is_some_and(|&call| {
            let mut attempts = hops.calls[call].attempts.iter();
            attempts.any(|&attempt| !hops.attempts[attempt].callees.is_empty())
        });
        let told = |field| told_by_caller(forest, hops, hop.entry, field, answered);
        told(Field::Timeout)
            .or(found)
            .or_else(|| told(Field::RemainingOut))
            .or_else(|| told(Field::PerTry))
    } else {
        let limit = limit(forest, hops, id);
        found = found.or_else(|| told(forest, hops, hop.entry, Field::Timeout));
        match (found, limit) {
            (Some(found), Some(limit)) if limit.time < found.time => Some(limit),
            (found, limit) => found.or(limit),
        }
    }
}
