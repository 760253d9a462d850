//! Elapsed ÷ budget of many requests, as a histogram.

use polars::prelude::{DataFrame, LazyFrame, col};
use serde::Serialize;

use super::Query;
use crate::model::Outcome;
use crate::query::error::QueryError;
use crate::query::filter::Filter;
use crate::query::rows::{Cells, millionths, there};
use crate::query::scan::{Selection, Within, fold};
use crate::store::Snapshot;
use crate::store::tables::nanos;

/// How wide a bin is, in per cent.
pub const BIN: u32 = 5;

/// How many bins there are; the last is open.
pub const BINS: usize = 30;

/// Requests by the share of their budget that they took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Bins of [`BIN`] per cent, from 0; the last has everything beyond it too.
    pub bins: Vec<Bin>,
    /// Requests without such a share: no budget is known, or it was nothing.
    pub unknown: Tally,
    /// False if what the filter takes was not counted: it asks for hops, calls or the like, and to
    /// look at all of those would take too long for a page.
    pub is_counted: bool,
}

/// Requests that took about the same share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The least share, in per cent.
    #[serde(rename = "from_percent")]
    pub from: u32,
    /// The first share beyond it, in per cent; `None` for the last bin.
    #[serde(rename = "to_percent")]
    pub to: Option<u32>,
    /// How many there are.
    #[serde(flatten)]
    pub tally: Tally,
}

/// How many requests there are, and how many of them the list takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// All that start in the list's stretch of time.
    pub all: u64,
    /// Those that the filter and the outcome take.
    pub matching: u64,
}

impl Used {
    /// All bins together, without the unknown.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for bin in &self.bins {
            total.all += bin.tally.all;
            total.matching += bin.tally.matching;
        }
        total
    }
}

/// The histogram of a list: of all its pages.
///
/// # Errors
/// The store cannot be read.
pub fn used(snapshot: &Snapshot, query: &Query) -> Result<Used, QueryError> {
    let selection = &query.selection;
    let around = Selection {
        filter: None,
        window: selection.stretch(),
    };
    // Without a filter one pass tells both.
    let both = selection.filter.is_none();
    let outcome = query.outcome.filter(|_| both);
    let all = counted(around.requests(snapshot, &Within::default())?, outcome)?;
    let filter = selection.filter.as_ref();
    let is_counted = filter.is_none_or(Filter::is_of_requests);
    let matching = if both {
        all.matching
    } else if !is_counted {
        [0; BINS + 1]
    } else {
        let rows = selection.requests(snapshot, &Within::default())?;
        counted(rows, query.outcome)?.matching
    };
    let mut pairs = all.all.into_iter().zip(matching);
    let unknown = pairs.next_back().unwrap_or_default();
    let tally = |(all, matching)| Tally { all, matching };
    let bins = (0u32..).zip(pairs).map(|(number, counts)| Bin {
        from: number * BIN,
        to: (number as usize + 1 < BINS).then(|| (number + 1) * BIN),
        tally: tally(counts),
    });
    Ok(Used {
        bins: bins.collect(),
        unknown: tally(unknown),
        is_counted,
    })
}

/// Requests in each bin; the last place has those without a share.
#[derive(Default)]
struct Counted {
    all: [u64; BINS + 1],
    matching: [u64; BINS + 1],
}

fn counted(rows: LazyFrame, outcome: Option<Outcome>) -> Result<Counted, QueryError> {
    let mut columns = vec![col("elapsed_ms"), col("budget_ms")];
    columns.extend(outcome.map(|_| col("outcome")));
    let step = move |counted: &mut Counted, batch: &DataFrame| {
        let cells = Cells(batch);
        let pairs = cells.times("elapsed_ms")?.iter();
        let pairs = pairs.zip(cells.times("budget_ms")?.iter());
        let outcomes = outcome.map(|_| cells.texts("outcome")).transpose()?;
        for (row, (elapsed, budget)) in pairs.enumerate() {
            let place = place(there("elapsed_ms", elapsed)?, budget);
            let word = outcomes.and_then(|outcomes| outcomes.get(row));
            let takes = outcome.is_none_or(|outcome| word == Some(outcome.as_str()));
            if let (Some(all), Some(matching)) =
                (counted.all.get_mut(place), counted.matching.get_mut(place))
            {
                *all += 1;
                *matching += u64::from(takes);
            }
        }
        Ok(())
    };
    fold(rows.select(columns), false, Counted::default(), step)
}

/// The bin of a request, as the filter's `used` would put it.
fn place(elapsed: f64, budget: Option<f64>) -> usize {
    let Some(budget) = budget.map(nanos).filter(|budget| budget.0 > 0) else {
        return BINS;
    };
    let share = millionths(nanos(elapsed), budget).max(0);
    usize::try_from(share / (i64::from(BIN) * 10_000)).map_or(BINS - 1, |bin| bin.min(BINS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Request, TraceId};
    use crate::query::filter::Filter;
    use crate::query::fixtures::{chain, ms};
    use crate::query::requests::tests::put_request;
    use crate::store::Store;

    fn store(requests: Vec<Request>) -> Store {
        let store = Store::in_memory(100, usize::MAX);
        for (n, mut request) in (1..).zip(requests) {
            request.trace_id = TraceId([n; 16]);
            put_request(&store, request);
        }
        store
    }

    #[test]
    fn bins_are_what_the_filter_says_they_are() {
        let requests = [0, 49, 50, 999, 1000, 1449, 1450, 90_000].map(|elapsed| {
            let mut request = chain();
            request.elapsed = ms(elapsed);
            request
        });
        let store = store(requests.to_vec());
        let snapshot = store.snapshot();
        let found = used(&snapshot, &Query::default()).unwrap();
        assert_eq!(found.total().all, 8);
        for bin in &found.bins {
            let upper = bin
                .to
                .map_or(String::new(), |to| format!(" and used < {to}%"));
            let text = format!("used >= {}%{upper}", bin.from);
            let mut query = Query::default();
            query.selection.filter = Some(Filter::parse(&text).unwrap());
            let page = super::super::page(&snapshot, &query).unwrap();
            assert_eq!(bin.tally.all, page.matching.count as u64, "{text}");
            assert_eq!(
                used(&snapshot, &query).unwrap().total().matching,
                bin.tally.all
            );
        }
        assert_eq!(found.bins[0].tally.all, 2);
        assert_eq!(found.bins[BINS - 1].tally.all, 2);
    }

    #[test]
    fn a_filter_on_hops_is_not_counted_and_says_so() {
        let store = store(vec![chain(), chain()]);
        let mut query = Query::default();
        query.selection.filter = Some(Filter::parse("hop.service=pricing").unwrap());
        let found = used(&store.snapshot(), &query).unwrap();
        assert!(!found.is_counted);
        assert_eq!(
            found.total(),
            Tally {
                all: 2,
                matching: 0
            }
        );
    }

    #[test]
    fn a_request_without_a_budget_is_in_no_bin() {
        let mut none = chain();
        none.budget = None;
        let mut nothing = chain();
        nothing.budget = Some(ms(0));
        let store = store(vec![none, nothing, chain()]);
        let query = Query {
            outcome: Some(Outcome::Missed),
            ..Query::default()
        };
        let found = used(&store.snapshot(), &query).unwrap();
        assert_eq!(found.unknown.all, 2);
        assert_eq!(
            found.total(),
            Tally {
                all: 1,
                matching: 1
            }
        );
        assert_eq!(found.bins[20].tally.all, 1);
    }
}
