//! What grows while a batch is decoded, whatever its encoding.

use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::json::Recent;
use super::{Decoded, Limits, Reject};
use crate::model::{Attributes, Resource, Scope, Span, SpanLog, Text, TraceId, Value};

/// Resources that are remembered at once; a file of a thousand services still finds most.
const REMEMBERED: usize = 1024;

/// A batch under way. It may take several messages; resources are shared across them.
#[derive(Debug)]
pub(crate) struct Batch<'l> {
    pub(crate) limits: &'l Limits,
    pub(crate) spans: Vec<Span>,
    pub(crate) logs: Vec<SpanLog>,
    /// Data points of metrics seen.
    pub(crate) points: u64,
    pub(crate) replaced_ids: u64,
    /// The trace of spans that name none: some writers say it once, around them.
    pub(crate) outer_trace: TraceId,
    /// Set when a value was nested too deeply; whoever reads a span looks and clears it.
    pub(crate) too_deep: bool,
    /// Room for lists while they grow, so that the kept ones have no slack.
    pub(crate) pairs: Vec<(Text, Value)>,
    pub(crate) resources: Seen<Resource>,
    pub(crate) scopes: Seen<Scope>,
    pub(crate) recent_resources: Recent,
    pub(crate) recent_scopes: Recent,
    /// Spans in what was last taken: about so many will be in the next.
    usual: usize,
    no_resource: Arc<Resource>,
    no_scope: Arc<Scope>,
    rejected: [u64; Reject::ALL.len()],
    first_error: Option<(Reject, String)>,
}

/// A place in a batch to go back to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    spans: usize,
    logs: usize,
    points: u64,
    replaced_ids: u64,
    rejected: [u64; Reject::ALL.len()],
    had_error: bool,
}

impl<'l> Batch<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Self {
        Self {
            limits,
            spans: Vec::new(),
            logs: Vec::new(),
            points: 0,
            replaced_ids: 0,
            outer_trace: TraceId::default(),
            too_deep: false,
            pairs: Vec::new(),
            resources: Seen::default(),
            scopes: Seen::default(),
            recent_resources: Recent::default(),
            recent_scopes: Recent::default(),
            usual: 0,
            no_resource: Arc::default(),
            no_scope: Arc::default(),
            rejected: [0; Reject::ALL.len()],
            first_error: None,
        }
    }

    /// Counts a rejected span or log record; `detail` is asked for the first one only.
    pub(crate) fn reject(&mut self, why: Reject, detail: impl FnOnce() -> String) {
        self.rejected[why as usize] += 1;
        // A bad span is worse than a log record that is of no use.
        let first = match &self.first_error {
            None => true,
            Some((known, _)) => known.is_log() && !why.is_log(),
        };
        if first {
            self.first_error = Some((why, detail()));
        }
    }

    /// Rejects the spans from `first` on for what is around them.
    pub(crate) fn reject_since(&mut self, first: usize, detail: &str) {
        let lost = self.spans.len().saturating_sub(first);
        self.spans.truncate(first);
        for _ in 0..lost {
            self.reject(Reject::Surroundings, || detail.to_owned());
        }
    }

    /// What stands for a resource that was left out; one for the whole batch.
    pub(crate) fn no_resource(&self) -> Arc<Resource> {
        Arc::clone(&self.no_resource)
    }

    /// What stands for a scope that was left out; one for the whole batch.
    pub(crate) fn no_scope(&self) -> Arc<Scope> {
        Arc::clone(&self.no_scope)
    }

    /// Keeps a log record that can say something about a span.
    pub(crate) fn keep_log(&mut self, log: SpanLog) {
        let why = if log.trace_id.is_zero() || log.span_id.is_zero() {
            Reject::LogWithoutSpan
        } else if log.attributes.is_empty() && log.body.is_empty() {
            Reject::LogWithoutAttributes
        } else {
            self.logs.push(log);
            return;
        };
        self.reject(why, || why.words().to_owned());
    }

    /// The attributes that were pushed on `pairs` since it had `from`.
    pub(crate) fn take_pairs(&mut self, from: usize) -> Attributes {
        let from = from.min(self.pairs.len());
        Attributes(self.pairs.drain(from..).collect())
    }

    /// Spans, logs and rejections so far.
    pub(crate) fn received(&self) -> u64 {
        (self.spans.len() + self.logs.len()) as u64 + self.rejected.iter().sum::<u64>()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            spans: self.spans.len(),
            logs: self.logs.len(),
            points: self.points,
            replaced_ids: self.replaced_ids,
            rejected: self.rejected,
            had_error: self.first_error.is_some(),
        }
    }

    /// True when the first span that was rejected was so since `mark`.
    pub(crate) fn is_first_span_rejection(&self, mark: Mark) -> bool {
        let spans = |counts: &[u64]| -> u64 {
            let all = Reject::ALL.into_iter().zip(counts);
            all.filter(|(why, _)| !why.is_log())
                .map(|(_, count)| count)
                .sum()
        };
        spans(&mark.rejected) == 0 && spans(&self.rejected) > 0
    }

    /// True when spans were kept since `mark`.
    pub(crate) fn has_spans_since(&self, mark: Mark) -> bool {
        self.spans.len() > mark.spans
    }

    /// Forgets what came since `mark`: a document that broke off counts for nothing.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.spans.truncate(mark.spans);
        self.logs.truncate(mark.logs);
        self.points = mark.points;
        self.replaced_ids = mark.replaced_ids;
        self.rejected = mark.rejected;
        self.pairs.clear();
        self.too_deep = false;
        if !mark.had_error {
            self.first_error = None;
        }
        self.outer_trace = TraceId::default();
    }

    /// Makes room for about as much as was taken last.
    pub(crate) fn make_room(&mut self) {
        self.spans.reserve(self.usual);
    }

    /// What came, leaving the batch empty; resources stay remembered.
    pub(crate) fn take(&mut self) -> Decoded {
        let received = self.received();
        let counts = std::mem::take(&mut self.rejected);
        self.points = 0;
        self.usual = self.spans.len();
        Decoded {
            spans: std::mem::take(&mut self.spans),
            logs: std::mem::take(&mut self.logs),
            received,
            rejected: Reject::ALL
                .into_iter()
                .zip(counts)
                .filter(|(_, count)| *count > 0)
                .collect(),
            first_error: self.first_error.take().map(|(_, detail)| detail),
            replaced_ids: std::mem::take(&mut self.replaced_ids),
        }
    }
}

/// Things that come again and again, by their encoded bytes: decoded once, kept once.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    /// By a fast hash of the bytes; of two with one hash, the last is remembered.
    known: HashMap<u64, (Box<[u8]>, Arc<T>)>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
        }
    }
}

impl<T> Seen<T> {
    pub(crate) fn get(&self, bytes: &[u8]) -> Option<Arc<T>> {
        let (known, value) = self.known.get(&xxh3_64(bytes))?;
        (**known == *bytes).then(|| Arc::clone(value))
    }

    pub(crate) fn put(&mut self, bytes: &[u8], value: Arc<T>) {
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(xxh3_64(bytes), (bytes.into(), value));
    }
}
