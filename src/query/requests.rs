//! The list of requests: filter, order, pages that stay put while rows arrive, counts.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use super::filter::Filter;
use crate::model::{Analysis, Nanos, Outcome, Request, SpanId, TraceId, UnixNanos};
use crate::store::Memory;

/// What to list.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Only requests that match.
    pub filter: Option<Filter>,
    /// Only requests with this outcome.
    pub outcome: Option<Outcome>,
    /// Only requests of traces whose id begins with these hex digits; any case.
    pub id_prefix: Option<String>,
    /// In which order.
    pub sort: Sort,
    /// Where to go on: the `next` of the page before.
    pub cursor: Option<Cursor>,
    /// How many at most.
    pub limit: usize,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            filter: None,
            outcome: None,
            id_prefix: None,
            sort: Sort::Newest,
            cursor: None,
            limit: 100,
        }
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The latest start first.
    #[default]
    Newest,
    /// The most wasted time first, then the most time over the budget, then the latest start.
    Worst,
}

impl Sort {
    /// Every order.
    pub const ALL: [Self; 2] = [Self::Newest, Self::Worst];

    /// The word in addresses and cursors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Worst => "worst",
        }
    }
}

/// A page of the list.
#[derive(Debug, Clone)]
pub struct Page {
    /// The rows, in order.
    pub rows: Vec<Listed>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<Cursor>,
    /// How many requests match, on all pages.
    pub matching: usize,
    /// How many of those that the filter takes there are of each outcome, whichever is asked for.
    pub counts: Counts,
    /// How many requests there are at all.
    pub held: usize,
}

/// A request in the list; cheap to clone.
#[derive(Debug, Clone)]
pub struct Listed {
    analysis: Arc<Analysis>,
    index: usize,
    /// It shows what Dwindle does; nobody sent it.
    pub sample: bool,
}

impl Listed {
    /// The request.
    pub fn request(&self) -> Option<&Request> {
        self.analysis.requests.get(self.index)
    }
}

/// Requests per outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([usize; Outcome::ALL.len()]);

impl Counts {
    /// How many with this outcome.
    pub fn of(&self, outcome: Outcome) -> usize {
        self.iter()
            .find(|(one, _)| *one == outcome)
            .map_or(0, |(_, count)| count)
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// Each outcome, the worst first, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, usize)> {
        Outcome::ALL.into_iter().zip(self.0)
    }

    fn add(&mut self, outcome: Outcome) {
        for (one, count) in Outcome::ALL.into_iter().zip(&mut self.0) {
            *count += usize::from(one == outcome);
        }
    }
}

/// A place in a list: the sort key of the last row that was shown. Rows that come or go before or
/// after it do not move it. Its text form is opaque and safe in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    wasted: Nanos,
    over: Nanos,
    start: UnixNanos,
    trace: TraceId,
    request: SpanId,
}

/// A text that is no cursor of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor; take the `next` of a page as it is")]
pub struct CursorError;

impl Cursor {
    fn of(request: &Request, sort: Sort) -> Self {
        let (wasted, over) = match sort {
            Sort::Newest => (Nanos::ZERO, Nanos::ZERO),
            Sort::Worst => (request.wasted, over_budget(request)),
        };
        Self {
            wasted,
            over,
            start: request.start,
            trace: request.trace_id,
            request: request.request,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            wasted,
            over,
            start,
            trace,
            request,
        } = self;
        write!(f, "{}.{}.{}.{trace}.{request}", wasted.0, over.0, start.0)
    }
}

impl std::str::FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(CursorError);
        let cursor = Self {
            wasted: Nanos(next()?.parse().map_err(|_| CursorError)?),
            over: Nanos(next()?.parse().map_err(|_| CursorError)?),
            start: UnixNanos(next()?.parse().map_err(|_| CursorError)?),
            trace: next()?.parse().map_err(|_| CursorError)?,
            request: next()?.parse().map_err(|_| CursorError)?,
        };
        match parts.next() {
            None => Ok(cursor),
            Some(_) => Err(CursorError),
        }
    }
}

/// How long the request ran past its budget.
fn over_budget(request: &Request) -> Nanos {
    request.budget.map_or(Nanos::ZERO, |budget| {
        (request.elapsed - budget).at_least_zero()
    })
}

/// The page that a query asks for.
pub fn page(memory: &Memory, query: &Query) -> Page {
    let prefix = query.id_prefix.as_ref().map(|hex| hex.to_ascii_lowercase());
    let mut counts = Counts::default();
    let mut matching = 0;
    let mut found: Vec<(Reverse<Cursor>, Listed)> = Vec::new();
    let all = memory.requests();
    let held = all.len();
    for (analysis, index, sample) in all {
        let Some(request) = analysis.requests.get(index) else {
            continue;
        };
        if let Some(prefix) = &prefix
            && !request.trace_id.to_string().starts_with(prefix)
        {
            continue;
        }
        let filter = query.filter.as_ref();
        if filter.is_some_and(|filter| !filter.matches(request)) {
            continue;
        }
        counts.add(request.outcome);
        if query
            .outcome
            .is_some_and(|outcome| outcome != request.outcome)
        {
            continue;
        }
        matching += 1;
        let key = Cursor::of(request, query.sort);
        if query.cursor.is_none_or(|cursor| key < cursor) {
            let listed = Listed {
                analysis,
                index,
                sample,
            };
            found.push((Reverse(key), listed));
        }
    }
    let limit = query.limit.max(1);
    let more = found.len() > limit;
    if more {
        // The first `limit` in any order, then in order: pages of a long list cost no full sort.
        found.select_nth_unstable_by_key(limit, |(key, _)| *key);
        found.truncate(limit);
    }
    found.sort_unstable_by_key(|(key, _)| *key);
    Page {
        next: found.last().filter(|_| more).map(|(Reverse(key), _)| *key),
        rows: found.into_iter().map(|(_, listed)| listed).collect(),
        matching,
        counts,
        held,
    }
}

/// Where a request stands among those with its outcome, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub position: usize,
    /// How many there are.
    pub of: usize,
    /// The next newer one.
    pub before: Option<(TraceId, SpanId)>,
    /// The next older one.
    pub after: Option<(TraceId, SpanId)>,
}

/// A request's place; `None` if it is not in the table.
pub fn place(memory: &Memory, request: &Request) -> Option<Place> {
    let this = (request.trace_id, request.request);
    let alike: Vec<(TraceId, SpanId)> = memory
        .requests()
        .into_iter()
        .filter_map(|(analysis, index, _)| {
            let one = analysis.requests.get(index)?;
            (one.outcome == request.outcome).then_some((one.trace_id, one.request))
        })
        .collect();
    let index = alike.iter().position(|one| *one == this)?;
    Some(Place {
        position: index + 1,
        of: alike.len(),
        before: index.checked_sub(1).and_then(|i| alike.get(i).copied()),
        after: alike.get(index + 1).copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Trace;
    use crate::query::fixtures::{chain, ms};
    use crate::store::Stored;

    fn put(memory: &Memory, n: u8, start: u64, wasted: i64, outcome: Outcome) {
        let mut request = chain();
        request.trace_id = TraceId([n; 16]);
        request.start = UnixNanos(start);
        request.wasted = ms(wasted);
        request.outcome = outcome;
        memory.put(Stored {
            trace: Arc::new(Trace::default()),
            analysis: Arc::new(Analysis {
                trace_id: request.trace_id,
                requests: vec![request],
            }),
            sample: false,
            log_from: u64::MAX,
        });
    }

    fn ids(page: &Page) -> Vec<u8> {
        page.rows
            .iter()
            .map(|row| row.request().unwrap().trace_id.0[0])
            .collect()
    }

    fn memory() -> Memory {
        let memory = Memory::new(100);
        put(&memory, 1, 10, 5, Outcome::Missed);
        put(&memory, 2, 30, 0, Outcome::Met);
        put(&memory, 3, 20, 9, Outcome::Missed);
        put(&memory, 4, 20, 0, Outcome::Met);
        memory
    }

    #[test]
    fn lists_are_in_their_order_and_filtered() {
        let memory = memory();
        let list = |query: Query| ids(&page(&memory, &query));
        assert_eq!(list(Query::default()), [2, 4, 3, 1]);
        let worst = Query {
            sort: Sort::Worst,
            ..Query::default()
        };
        assert_eq!(list(worst), [3, 1, 2, 4]);
        let missed = Query {
            outcome: Some(Outcome::Missed),
            ..Query::default()
        };
        let missed = page(&memory, &missed);
        assert_eq!((ids(&missed), missed.matching), (vec![3, 1], 2));
        assert_eq!(missed.counts.of(Outcome::Met), 2);
        assert_eq!(missed.counts.total(), 4);
        let wasteful = Query {
            filter: Some(Filter::parse("wasted > 4ms and not trace_id=03").unwrap()),
            ..Query::default()
        };
        let wasteful = page(&memory, &wasteful);
        assert_eq!((ids(&wasteful), wasteful.counts.total()), (vec![1], 1));
        assert_eq!(wasteful.held, 4);
        let prefix = Query {
            id_prefix: Some("0404".to_owned()),
            ..Query::default()
        };
        assert_eq!(list(prefix), [4]);
    }

    #[test]
    fn pages_neither_repeat_nor_skip_while_rows_arrive() {
        for (sort, want) in [(Sort::Newest, [2, 4, 3, 1]), (Sort::Worst, [3, 1, 2, 4])] {
            let memory = memory();
            let mut query = Query {
                sort,
                limit: 1,
                ..Query::default()
            };
            let mut seen = Vec::new();
            loop {
                let page = page(&memory, &query);
                seen.extend(ids(&page));
                let Some(next) = page.next else { break };
                query.cursor = Some(next.to_string().parse().unwrap());
                // Before the cursor in either order, so it belongs to a page already seen.
                put(&memory, 100 + seen.len() as u8, 99, 99, Outcome::Missed);
            }
            assert_eq!(seen, want);
        }
    }

    #[test]
    fn a_request_knows_its_neighbours_with_the_same_outcome() {
        let memory = memory();
        let found = page(&memory, &Query::default());
        let met = |row: usize| place(&memory, found.rows[row].request().unwrap()).unwrap();
        let newest = met(0);
        assert_eq!((newest.position, newest.of, newest.before), (1, 2, None));
        assert_eq!(newest.after.unwrap().0, TraceId([4; 16]));
        assert_eq!(met(1).before.unwrap().0, TraceId([2; 16]));
        assert_eq!(met(1).after, None);
    }

    #[test]
    fn a_text_that_is_no_cursor_is_refused() {
        for text in ["", "1.2.3", "a.b.c.d.e", "1.2.3.00.00", "0.0.1.2.3.4"] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError));
        }
    }
}
