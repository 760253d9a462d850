//! Requests laid out, the last few of them kept: a large one is scrolled through in many small
//! questions, none of which should analyse and lay it out again.
//!
//! **Invariant**: what is kept is what the store has; another state of the trace is another key.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::model::{Request, SpanId, TraceId};
use crate::query::waterfall::{Waterfall, find, waterfall};
use crate::store::{Store, StoreError, Stored, Version};

/// Requests that are kept at most,
const KEPT: usize = 4;
/// and the spans of their traces, beyond the newest one's.
const KEPT_SPANS: usize = 250_000;

/// A request laid out.
#[derive(Debug)]
pub(super) struct Laid {
    version: Version,
    request: SpanId,
    pub(super) stored: Stored,
    index: usize,
    aligned: Waterfall,
    raw: OnceLock<Waterfall>,
    /// What was looked for last, and the rows that have it.
    found: Mutex<Option<(String, Arc<Vec<usize>>)>>,
}

impl Laid {
    /// Lays a request of the trace out; `None` if it has no such request.
    pub(super) fn new(stored: Stored, request: SpanId, version: Version) -> Option<Self> {
        let mut requests = stored.analysis.requests.iter();
        let index = requests.position(|one| one.request == request)?;
        let aligned = waterfall(stored.analysis.requests.get(index)?);
        Some(Self {
            version,
            request,
            index,
            aligned,
            raw: OnceLock::new(),
            found: Mutex::new(None),
            stored,
        })
    }

    /// The request.
    pub(super) fn request(&self) -> &Request {
        &self.stored.analysis.requests[self.index]
    }

    /// Its waterfall, on the root's clock or on each host's own.
    pub(super) fn waterfall(&self, raw: bool) -> &Waterfall {
        if raw {
            let own = || self.aligned.on_own_clocks(self.request());
            self.raw.get_or_init(own)
        } else {
            &self.aligned
        }
    }

    /// The rows in which a text is found.
    pub(super) fn find(&self, wanted: &str) -> Arc<Vec<usize>> {
        let mut last = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((text, rows)) = &*last
            && text == wanted
        {
            return Arc::clone(rows);
        }
        let rows = find(self.request(), &self.stored.trace, &self.aligned, wanted);
        let rows = Arc::new(rows);
        *last = Some((wanted.to_owned(), Arc::clone(&rows)));
        rows
    }
}

/// The last requests that were looked at, the newest first.
#[derive(Debug, Default)]
pub(super) struct Laids(Mutex<VecDeque<Arc<Laid>>>);

/// What there is of a request.
pub(super) enum Found {
    Laid(Arc<Laid>),
    /// The trace is there, the request is not.
    NoRequest,
    NoTrace,
}

impl Laids {
    /// A request in its newest state.
    pub(super) fn get(
        &self,
        store: &Store,
        trace: TraceId,
        request: SpanId,
    ) -> Result<Found, StoreError> {
        // Before the state is read: one that comes meanwhile is another version.
        let version = store.version(trace);
        let kept = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_it = |laid: &Arc<Laid>| {
                laid.request == request
                    && laid.stored.analysis.trace_id == trace
                    && laid.version == version
            };
            let at = all.iter().position(is_it);
            let laid = at.and_then(|at| all.remove(at));
            if let Some(laid) = &laid {
                all.push_front(Arc::clone(laid));
            }
            laid
        };
        if let Some(laid) = kept {
            return Ok(Found::Laid(laid));
        }
        let Some(stored) = store.get(trace)? else {
            return Ok(Found::NoTrace);
        };
        let Some(laid) = Laid::new(stored, request, version) else {
            return Ok(Found::NoRequest);
        };
        let laid = Arc::new(laid);
        self.keep(&laid);
        Ok(Found::Laid(laid))
    }

    /// A trace in its newest state: that of a request that is kept, else as the store has it.
    pub(super) fn trace(&self, store: &Store, id: TraceId) -> Result<Option<Stored>, StoreError> {
        let version = store.version(id);
        let kept = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_it =
                |laid: &&Arc<Laid>| laid.stored.analysis.trace_id == id && laid.version == version;
            all.iter().find(is_it).map(|laid| laid.stored.clone())
        };
        match kept {
            Some(stored) => Ok(Some(stored)),
            None => store.get(id),
        }
    }

    fn keep(&self, laid: &Arc<Laid>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Other states of the trace are of no use any more.
        all.retain(|other| {
            other.stored.analysis.trace_id != laid.stored.analysis.trace_id
                || (other.version == laid.version && other.request != laid.request)
        });
        all.push_front(Arc::clone(laid));
        let mut room = KEPT_SPANS;
        let mut fits = 0;
        for (nth, laid) in all.iter().enumerate() {
            let spans = laid.stored.trace.spans.len();
            if nth >= KEPT || (nth > 0 && spans > room) {
                break;
            }
            room = room.saturating_sub(spans);
            fits = nth + 1;
        }
        all.truncate(fits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Analysis, Trace};
    use crate::query::fixtures::chain;

    fn put(store: &Store, trace: u8) -> Request {
        let mut request = chain();
        request.trace_id = TraceId([trace; 16]);
        store.put(Stored {
            trace: Arc::new(Trace {
                id: request.trace_id,
                ..Trace::default()
            }),
            analysis: Arc::new(Analysis {
                trace_id: request.trace_id,
                requests: vec![request.clone()],
                ..Analysis::default()
            }),
            sample: false,
            log_from: u64::MAX,
        });
        request
    }

    fn laid(laids: &Laids, store: &Store, request: &Request) -> Arc<Laid> {
        match laids.get(store, request.trace_id, request.request).unwrap() {
            Found::Laid(laid) => laid,
            Found::NoRequest | Found::NoTrace => panic!("not there"),
        }
    }

    #[test]
    fn a_request_is_laid_out_once_until_its_trace_changes() {
        let (store, laids) = (Store::in_memory(100, usize::MAX), Laids::default());
        let request = put(&store, 1);
        let first = laid(&laids, &store, &request);
        assert!(Arc::ptr_eq(&first, &laid(&laids, &store, &request)));
        put(&store, 2);
        assert!(Arc::ptr_eq(&first, &laid(&laids, &store, &request)));
        put(&store, 1);
        let second = laid(&laids, &store, &request);
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &laid(&laids, &store, &request)));
        let nobody = SpanId([9; 8]);
        let found = laids.get(&store, request.trace_id, nobody).unwrap();
        assert!(matches!(found, Found::NoRequest));
        let found = laids.get(&store, TraceId([9; 16]), nobody).unwrap();
        assert!(matches!(found, Found::NoTrace));
    }

    #[test]
    fn only_the_last_few_are_kept() {
        let (store, laids) = (Store::in_memory(100, usize::MAX), Laids::default());
        let requests: Vec<Request> = (1..=6).map(|nth| put(&store, nth)).collect();
        let first = laid(&laids, &store, &requests[0]);
        for request in &requests {
            laid(&laids, &store, request);
        }
        assert_eq!(laids.0.lock().unwrap().len(), KEPT);
        assert!(!Arc::ptr_eq(&first, &laid(&laids, &store, &requests[0])));
    }
}
