//! The spans that are held in memory, up to a bound.

use std::collections::{HashMap, HashSet};

use super::gather::bytes_of;
use super::spill::{Spill, SpillError};
use crate::model::{SpanLog, Trace, TraceId};
use crate::otlp::Limits;

/// The spans of all inputs so far: in memory up to a bound, beyond it in a temporary file.
#[derive(Debug)]
pub(super) struct Held {
    traces: Traces,
    /// About how many bytes they take.
    bytes: usize,
    limits: Limits,
    spill: Option<Spill>,
    fault: Option<SpillError>,
    only: Option<Only>,
}

/// The one id, or beginning of one, that is asked for.
#[derive(Debug)]
struct Only {
    prefix: String,
    /// Traces that were left out.
    others: HashSet<TraceId>,
}

/// What was held at the end.
#[derive(Debug, Default)]
pub(super) struct Rest {
    pub(super) traces: Vec<Trace>,
    /// If this is there, `traces` is empty.
    pub(super) spill: Option<Spill>,
    /// Traces that were left out, since another was asked for.
    pub(super) others: usize,
}

impl Held {
    pub(super) fn new(limits: &Limits, only: Option<&str>) -> Self {
        Self {
            traces: Traces::default(),
            bytes: 0,
            limits: limits.clone(),
            spill: None,
            fault: None,
            only: only.map(|prefix| Only {
                prefix: prefix.to_owned(),
                others: HashSet::new(),
            }),
        }
    }

    /// Takes more spans and logs of about so many `bytes`.
    pub(super) fn add(&mut self, mut traces: Vec<Trace>, mut logs: Vec<SpanLog>, bytes: usize) {
        if self.fault.is_some() {
            return;
        }
        let mut bytes = bytes;
        if let Some(only) = &mut self.only {
            traces.retain(|trace| only.wants(trace.id));
            logs.retain(|log| only.is_wanted(log.trace_id));
            let spans = traces.iter().map(|trace| bytes_of(&trace.spans, &[]));
            bytes = spans.sum::<usize>() + bytes_of(&[], &logs);
        }
        self.bytes += bytes;
        self.traces.add(traces, logs);
        if self.bytes > self.limits.max_held_bytes {
            self.put_aside();
        }
    }

    fn put_aside(&mut self) {
        let held = std::mem::take(&mut self.traces);
        let traces = held.parts.into_iter().flatten();
        self.bytes = 0;
        let spill = match &mut self.spill {
            Some(spill) => Ok(spill),
            None => Spill::new(&self.limits, 0).map(|spill| self.spill.insert(spill)),
        };
        if let Err(error) = spill.and_then(|spill| spill.put(traces, held.logs)) {
            self.fault = Some(error);
        }
    }

    /// False once spans could not be put aside.
    pub(super) fn is_well(&self) -> bool {
        self.fault.is_none()
    }

    /// Nothing more will come.
    pub(super) fn finish(mut self) -> Result<Rest, SpillError> {
        if self.spill.is_some() {
            self.put_aside();
        }
        if let Some(error) = self.fault {
            return Err(error);
        }
        Ok(Rest {
            traces: self.traces.finish(),
            spill: self.spill,
            others: self.only.map_or(0, |only| only.others.len()),
        })
    }
}

impl Only {
    fn is_wanted(&self, id: TraceId) -> bool {
        id.to_string().starts_with(&self.prefix)
    }

    fn wants(&mut self, id: TraceId) -> bool {
        let wanted = self.is_wanted(id);
        if !wanted {
            self.others.insert(id);
        }
        wanted
    }
}

/// Traces under way, in parts as they came: joined only at the end, so that no list has slack.
#[derive(Debug, Default)]
pub(super) struct Traces {
    parts: Vec<Vec<Trace>>,
    logs: Vec<SpanLog>,
}

impl Traces {
    /// Takes more spans and logs; a trace may come in any number of parts.
    pub(super) fn add(&mut self, traces: Vec<Trace>, logs: Vec<SpanLog>) {
        self.parts.push(traces);
        self.logs.extend(logs);
    }

    /// Nothing more will come: the traces whole, in the order of their first spans. Log records go
    /// to the traces that they name.
    pub(super) fn finish(self) -> Vec<Trace> {
        let mut places: HashMap<TraceId, usize> = HashMap::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut place_of = Vec::new();
        for trace in self.parts.iter().flatten() {
            let place = *places.entry(trace.id).or_insert_with(|| {
                counts.push(0);
                counts.len() - 1
            });
            place_of.push(place);
            if let Some(count) = counts.get_mut(place) {
                *count += trace.spans.len();
            }
        }
        let mut whole: Vec<Trace> = Vec::with_capacity(counts.len());
        for (part, place) in self.parts.into_iter().flatten().zip(place_of) {
            if let Some(known) = whole.get_mut(place) {
                known.spans.extend(part.spans);
                continue;
            }
            // Places were given in this order.
            let count = counts.get(place).copied().unwrap_or_default();
            let mut trace = part;
            trace.spans.reserve_exact(count - trace.spans.len());
            whole.push(trace);
        }
        for log in self.logs {
            let place = places.get(&log.trace_id);
            if let Some(trace) = place.and_then(|&place| whole.get_mut(place)) {
                trace.logs.push(log);
            }
        }
        whole
    }
}
