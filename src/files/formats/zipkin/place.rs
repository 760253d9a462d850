//! Records that leave out what others with the same ids say.
//!
//! Zipkin's reporters send a span in parts, and only one part needs the time and the service. A
//! record without a start is put where its own trace says it was: at the start of the record that
//! shares its id, else of its earliest child, else of its parent, else of the trace; its
//! `dwindle.missing` attribute tells. A record that names neither service nor side is of the
//! service of the record that shares its id, the caller's if there are two.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{Resource, Span, SpanId, TraceId, UnixNanos};
use crate::otlp::Batch;
use crate::otlp::json::reader::Read;

use super::span::Timed;

/// The incomplete records of a document.
#[derive(Debug, Default)]
pub(super) struct Incomplete {
    records: Vec<Gap>,
    /// Where the document's first span stands in the batch.
    first: Option<usize>,
}

/// What a record leaves out.
#[derive(Debug)]
struct Gap {
    /// Its place among the spans of the document.
    place: usize,
    /// Its length in nanoseconds, if its start is not known.
    unplaced: Option<i64>,
    nobodys: bool,
}

/// What is known of a span's id.
#[derive(Debug)]
struct Known {
    start: Option<UnixNanos>,
    first_child: Option<UnixNanos>,
    owner: Option<(bool, Arc<Resource>)>,
}

impl Incomplete {
    /// Keeps a span or rejects it, and remembers what it leaves out.
    pub(super) fn keep(&mut self, timed: Timed, batch: &mut Batch<'_>) -> Read<()> {
        let place = batch.spans.len();
        let first = *self.first.get_or_insert(place);
        let unplaced = (!timed.has_start).then_some(timed.duration);
        let nobodys = timed.is_nobodys();
        timed.into_draft(batch)?.finish(batch);
        if (unplaced.is_some() || nobodys) && batch.spans.len() > place {
            self.records.push(Gap {
                place: place - first,
                unplaced,
                nobodys,
            });
        }
        Ok(())
    }

    /// Fills the gaps; `spans` are those of the document.
    pub(super) fn complete(self, spans: &mut [Span]) {
        if self.records.is_empty() {
            return;
        }
        let (known, traces) = self.known(spans);
        for gap in self.records {
            let Some(span) = spans.get_mut(gap.place) else {
                continue;
            };
            let own = known.get(&(span.trace_id, span.span_id));
            if let (true, Some((_, resource))) =
                (gap.nobodys, own.and_then(|own| own.owner.as_ref()))
            {
                span.resource = Arc::clone(resource);
            }
            let Some(duration) = gap.unplaced else {
                continue;
            };
            let parent = span
                .parent_id
                .and_then(|id| known.get(&(span.trace_id, id)));
            let start = own
                .and_then(|own| own.start.or(own.first_child))
                .or_else(|| parent?.start)
                .or_else(|| traces.get(&span.trace_id).copied());
            if let Some(start) = start {
                span.start = start;
                span.end = UnixNanos(start.0.saturating_add_signed(duration));
            }
        }
    }

    /// What the complete records say of each id, and when each trace began.
    fn known(
        &self,
        spans: &[Span],
    ) -> (
        HashMap<(TraceId, SpanId), Known>,
        HashMap<TraceId, UnixNanos>,
    ) {
        let mut known: HashMap<(TraceId, SpanId), Known> = HashMap::new();
        let mut traces: HashMap<TraceId, UnixNanos> = HashMap::new();
        let earlier = |known: &mut Option<UnixNanos>, start: UnixNanos| {
            *known = Some(known.map_or(start, |known| known.min(start)));
        };
        let mut gaps = self.records.iter().peekable();
        for (i, span) in spans.iter().enumerate() {
            let gap = gaps.next_if(|gap| gap.place == i);
            let trace = span.trace_id;
            let nothing = || Known {
                start: None,
                first_child: None,
                owner: None,
            };
            let own = known.entry((trace, span.span_id)).or_insert_with(nothing);
            if gap.is_none_or(|gap| !gap.nobodys) {
                let calls = span.kind.is_outbound();
                let better = own.owner.as_ref().is_none_or(|(known, _)| calls && !known);
                if better {
                    own.owner = Some((calls, Arc::clone(&span.resource)));
                }
            }
            if gap.is_some_and(|gap| gap.unplaced.is_some()) {
                continue;
            }
            earlier(&mut own.start, span.start);
            let first = traces.entry(trace).or_insert(span.start);
            *first = span.start.min(*first);
            if let Some(parent) = span.parent_id {
                let parent = known.entry((trace, parent)).or_insert_with(nothing);
                earlier(&mut parent.first_child, span.start);
            }
        }
        (known, traces)
    }
}
