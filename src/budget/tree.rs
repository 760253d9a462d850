//! From the spans of a trace to a forest: duplicates dropped, parents resolved, cycles cut.
//!
//! Everything is ordered by content (start, end, id), never by arrival, so that the same spans in
//! any order give the same forest. O(n log n), no recursion.

use std::cmp::Reverse;

use crate::model::{Kind, Nanos, Note, Span, SpanId, Trace, UnixNanos};

use super::policy::Policy;

/// Index of a [`Node`].
pub(super) type NodeId = usize;

/// One distinct span in its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Index in the trace's spans.
    pub span: usize,
    /// Its parent, if that came.
    pub parent: Option<NodeId>,
    /// It names a parent that never came.
    pub orphan: bool,
    /// Start on its own host's clock, from [`Forest::base`].
    pub start: Nanos,
    /// End on the same clock; never before `start`.
    pub end: Nanos,
}

/// The spans of a trace as a forest.
#[derive(Debug)]
pub(super) struct Forest<'a> {
    /// What was analysed.
    pub trace: &'a Trace,
    /// The earliest start of the trace, the zero of all [`Node`] times.
    pub base: UnixNanos,
    /// Distinct spans, ordered by (start, end, id, side).
    pub nodes: Vec<Node>,
    /// Every node, parents before children, siblings by start.
    pub preorder: Vec<NodeId>,
    /// The side of each node's span: as it says, or as its place says where it says nothing.
    kinds: Vec<Kind>,
    /// What qualifies the numbers.
    pub notes: Vec<Note>,
    /// True if no span names a parent that never came.
    pub complete: bool,
}

impl<'a> Forest<'a> {
    /// Builds the forest of a trace.
    pub(super) fn build(trace: &'a Trace, policy: &Policy) -> Self {
        let mut counts = Counts::default();
        let spans = distinct(&trace.spans, policy.max_spans, &mut counts);
        let base = spans
            .first()
            .map_or(UnixNanos(0), |&i| trace.spans[i].start);
        let mut nodes: Vec<Node> = spans
            .iter()
            .map(|&i| {
                let span = &trace.spans[i];
                counts.negative += usize::from(span.end < span.start);
                Node {
                    span: i,
                    parent: None,
                    orphan: false,
                    start: span.start.since(base),
                    end: span.end.max(span.start).since(base),
                }
            })
            .collect();
        resolve_parents(trace, &mut nodes, &mut counts);
        let preorder = preorder(&mut nodes, &mut counts);
        Self {
            trace,
            base,
            complete: counts.missing == 0,
            notes: counts.into_notes(),
            kinds: kinds(trace, &nodes),
            nodes,
            preorder,
        }
    }

    /// Whether a node's span makes a call or sends a message.
    pub(super) fn is_outbound(&self, node: NodeId) -> bool {
        self.kind(node).is_outbound()
    }

    /// Which side of a call a node's span is.
    pub(super) fn kind(&self, node: NodeId) -> Kind {
        self.kinds[node]
    }

    /// The span of a node.
    pub(super) fn span(&self, node: NodeId) -> &'a Span {
        &self.trace.spans[self.nodes[node].span]
    }
}

/// The kind of each span. One that says none, inside its service, with nothing below it but one
/// span of another service, is the caller's side of that call: formats that know no kinds leave
/// exactly this, and without it the network between the two would be the caller's own time. And
/// gRPC's own tracing says of no kind of its attempts that they are calls, but by their names.
fn kinds(trace: &Trace, nodes: &[Node]) -> Vec<Kind> {
    let span = |node: &Node| &trace.spans[node.span];
    let mut below = vec![(0_usize, false); nodes.len()];
    for node in nodes {
        let Some(parent) = node.parent else { continue };
        let (count, foreign) = &mut below[parent];
        *count += 1;
        let kind = span(node).kind;
        *foreign |= span(node).service() != span(&nodes[parent]).service()
            && matches!(kind, Kind::Unspecified | Kind::Server);
    }
    let inside = |node: &Node| {
        let parent = node.parent.map(|parent| span(&nodes[parent]));
        parent.is_some_and(|parent| parent.service() == span(node).service())
    };
    let is_attempt = |node: &Node| {
        let parent = node.parent.map(|parent| span(&nodes[parent]));
        let sent = |parent: &Span| parent.kind == Kind::Client && parent.name.starts_with("Sent.");
        span(node).name.starts_with("Attempt.") && inside(node) && parent.is_some_and(sent)
    };
    nodes
        .iter()
        .zip(below)
        .map(|(node, below)| match span(node).kind {
            Kind::Unspecified | Kind::Internal if is_attempt(node) => Kind::Client,
            Kind::Unspecified if below == (1, true) && inside(node) => Kind::Client,
            kind => kind,
        })
        .collect()
}

#[derive(Debug, Default)]
struct Counts {
    duplicate: usize,
    conflicting: usize,
    negative: usize,
    missing: usize,
    cycles: usize,
    truncated: usize,
}

impl Counts {
    fn into_notes(self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut note = |count: usize, make: fn(usize) -> Note| {
            if count > 0 {
                notes.push(make(count));
            }
        };
        note(self.missing, Note::MissingParent);
        note(self.cycles, Note::Cycle);
        note(self.negative, Note::NegativeDuration);
        note(self.duplicate, Note::Duplicate);
        note(self.conflicting, Note::ConflictingDuplicate);
        note(self.truncated, Note::Truncated);
        notes
    }
}

/// Indices of the distinct spans in the order of [`Forest::nodes`].
fn distinct(spans: &[Span], max: usize, counts: &mut Counts) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let place = |i: usize| {
        let span = &spans[i];
        (span.start, span.end, span.span_id, !span.kind.is_outbound())
    };
    // Copies of one span stand together; of these the one that ends last comes first.
    let identity = |i: usize| {
        let span = &spans[i];
        (span.span_id, !span.kind.is_outbound(), span.service())
    };
    order.sort_by(|&a, &b| {
        identity(a)
            .cmp(&identity(b))
            .then_with(|| spans[b].end.cmp(&spans[a].end))
            .then_with(|| spans[b].start.cmp(&spans[a].start))
            .then_with(|| content_order(&spans[a], &spans[b]))
    });
    let mut kept: Vec<usize> = Vec::with_capacity(order.len());
    let mut conflict_counted = false;
    for i in order {
        match kept.last() {
            Some(&first) if identity(first) == identity(i) => {
                if spans[first] == spans[i] {
                    counts.duplicate += 1;
                } else if !conflict_counted {
                    counts.conflicting += 1;
                    conflict_counted = true;
                }
            }
            _ => {
                kept.push(i);
                conflict_counted = false;
            }
        }
    }
    kept.sort_by(|&a, &b| {
        place(a)
            .cmp(&place(b))
            .then_with(|| spans[a].service().cmp(spans[b].service()))
    });
    if kept.len() > max {
        counts.truncated = kept.len() - max;
        kept.truncate(max);
    }
    kept
}

/// A total order over the contents of two spans with the same id and times; the texts are only
/// made where everything cheap is equal and the contents are not.
fn content_order(a: &Span, b: &Span) -> std::cmp::Ordering {
    if a == b {
        return std::cmp::Ordering::Equal;
    }
    let cheap = |s: &Span| {
        (
            s.status.code,
            s.kind,
            s.parent_id,
            Reverse(s.attributes.len()),
        )
    };
    cheap(b)
        .cmp(&cheap(a))
        .then_with(|| a.name.cmp(&b.name))
        .then_with(|| format!("{a:?}").cmp(&format!("{b:?}")))
}

fn resolve_parents(trace: &Trace, nodes: &mut [Node], counts: &mut Counts) {
    let id = |node: &Node| trace.spans[node.span].span_id;
    let mut by_id: Vec<(SpanId, NodeId)> = nodes
        .iter()
        .enumerate()
        .map(|(i, node)| (id(node), i))
        .collect();
    by_id.sort_unstable();
    let with_id = |wanted: SpanId| {
        let from = by_id.partition_point(|(id, _)| *id < wanted);
        let to = from + by_id[from..].partition_point(|(id, _)| *id == wanted);
        &by_id[from..to]
    };
    for i in 0..nodes.len() {
        let span = &trace.spans[nodes[i].span];
        // The far side of a shared id hangs below the near side.
        if !span.kind.is_outbound() {
            let near = with_id(span.span_id).iter().find(|(_, other)| {
                *other != i && trace.spans[nodes[*other].span].kind.is_outbound()
            });
            if let Some(&(_, client)) = near {
                nodes[i].parent = Some(client);
                continue;
            }
        }
        let Some(parent) = span.parent_id.filter(|parent| *parent != span.span_id) else {
            continue;
        };
        // Of two spans that share the id, a child of the same service belongs to that service's;
        // any other was caused by the far side.
        let same_service = |&&(_, node): &&(SpanId, NodeId)| {
            trace.spans[nodes[node].span].service() == span.service()
        };
        let far_side =
            |&&(_, node): &&(SpanId, NodeId)| !trace.spans[nodes[node].span].kind.is_outbound();
        let candidates = with_id(parent);
        let found = candidates
            .iter()
            .filter(far_side)
            .find(same_service)
            .or_else(|| candidates.iter().find(same_service))
            .or_else(|| candidates.iter().find(far_side))
            .or_else(|| candidates.first());
        if let Some(&(_, node)) = found {
            nodes[i].parent = Some(node);
        } else {
            nodes[i].orphan = true;
            counts.missing += 1;
        }
    }
    // Of several without a parent that share an id the first is above the others: a request is
    // known by the id of its first span.
    for same in by_id.chunk_by(|(one, _), (other, _)| one == other) {
        let is_top = |node: &NodeId| nodes[*node].parent.is_none();
        let tops: Vec<NodeId> = same.iter().map(|(_, node)| *node).filter(is_top).collect();
        let Some((first, others)) = tops.split_first() else {
            continue;
        };
        for other in others {
            nodes[*other].parent = Some(*first);
        }
    }
}

/// Cuts cycles at their earliest span and lists the nodes parents first, siblings in node order
/// (which is by start).
fn preorder(nodes: &mut [Node], counts: &mut Counts) -> Vec<NodeId> {
    cut_cycles(nodes, counts);
    let children = Children::of(nodes.iter().map(|node| node.parent));
    let mut order = Vec::with_capacity(nodes.len());
    let mut stack: Vec<NodeId> = (0..nodes.len())
        .rev()
        .filter(|&i| nodes[i].parent.is_none())
        .collect();
    while let Some(node) = stack.pop() {
        order.push(node);
        stack.extend(children.of_node(node).iter().rev());
    }
    order
}

fn cut_cycles(nodes: &mut [Node], counts: &mut Counts) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnWay(usize),
        Done,
    }
    let mut seen = vec![Seen::No; nodes.len()];
    for start in 0..nodes.len() {
        let mut at = start;
        while seen[at] == Seen::No {
            seen[at] = Seen::OnWay(start);
            match nodes[at].parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        if seen[at] == Seen::OnWay(start) && nodes[at].parent.is_some() {
            // Went round: nodes are ordered by start, so the least index is the earliest span.
            let (mut earliest, mut walk) = (at, nodes[at].parent);
            while let Some(next) = walk.filter(|next| *next != at) {
                earliest = earliest.min(next);
                walk = nodes[next].parent;
            }
            nodes[earliest].parent = None;
            counts.cycles += 1;
        }
        let mut at = Some(start);
        while let Some(node) = at.filter(|node| seen[*node] != Seen::Done) {
            seen[node] = Seen::Done;
            at = nodes[node].parent;
        }
    }
}

/// Children lists packed into one vector.
#[derive(Debug)]
pub(super) struct Children {
    first: Vec<usize>,
    list: Vec<usize>,
}

impl Children {
    /// Packs the children of each parent, in ascending order of index.
    pub(super) fn of(parents: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let count = parents.clone().count();
        let mut first = vec![0; count + 1];
        for parent in parents.clone().flatten() {
            first[parent + 1] += 1;
        }
        for i in 0..count {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut list = vec![0; first[count]];
        for (child, parent) in parents.enumerate() {
            if let Some(parent) = parent {
                list[next[parent]] = child;
                next[parent] += 1;
            }
        }
        Self { first, list }
    }

    /// The children of one node.
    pub(super) fn of_node(&self, node: usize) -> &[usize] {
        &self.list[self.first[node]..self.first[node + 1]]
    }
}
