//! How many requests there are, as far as that is soon known.

use std::collections::BTreeMap;

use polars::prelude::{DataType, col, len};

use super::stretches::Stretches;
use super::{Counts, Matching};
use crate::model::{Outcome, UnixNanos};
use crate::query::error::QueryError;
use crate::query::rows::{Cells, there};
use crate::query::scan::{HOUR, Selection, Within, collect, hours};
use crate::store::{Snapshot, Window};

/// How far requests of a filter are counted, the newest first. Whoever looks at a list wants to know
/// whether there are few or many; of many the exact number is not worth reading all of them.
struct Bounds {
    /// Matching ones after which no more are counted.
    enough: usize,
    /// How many are looked at first; each further look is at [`GROWTH`] times as many.
    first: usize,
}

const BOUNDS: Bounds = Bounds {
    enough: 10_000,
    first: 4096,
};
const GROWTH: usize = 4;

/// How many requests a selection has of each outcome.
pub(super) struct Counted {
    pub(super) counts: Counts,
    /// Whether these are all of them: else there are at least so many.
    pub(super) is_all: bool,
}

impl Counted {
    /// By what the store knows without opening a file, as far as the selection is one of whole
    /// hours; by a look at the rows of hours that it cuts. Of a filter, up to [`BOUNDS`].
    pub(super) fn of(snapshot: &Snapshot, selection: &Selection) -> Result<Self, QueryError> {
        let hours = hours(snapshot);
        match &selection.filter {
            None => Self::of_window(snapshot, selection, hours),
            Some(_) => Self::of_filter(snapshot, selection, &hours, &BOUNDS),
        }
    }

    fn of_window(
        snapshot: &Snapshot,
        selection: &Selection,
        hours: BTreeMap<UnixNanos, Counts>,
    ) -> Result<Self, QueryError> {
        let mut counts = Counts::default();
        let window = selection.window;
        for (hour, of_hour) in hours {
            let last = UnixNanos(hour.0.saturating_add(HOUR - 1));
            let next = UnixNanos(hour.0.saturating_add(HOUR));
            let is_before = window.since.is_some_and(|since| since > last);
            let is_after = window.until.is_some_and(|until| until <= hour);
            if is_before || is_after {
                continue;
            }
            if window.has(hour) && window.has(last) {
                counts.merge(&of_hour);
                continue;
            }
            let hour = Window {
                since: Some(hour),
                until: Some(next),
            };
            counts.merge(&looked_at(snapshot, selection, hour)?);
        }
        Ok(Self {
            counts,
            is_all: true,
        })
    }

    fn of_filter(
        snapshot: &Snapshot,
        selection: &Selection,
        hours: &BTreeMap<UnixNanos, Counts>,
        bounds: &Bounds,
    ) -> Result<Self, QueryError> {
        let hours = hours.iter().map(|(hour, counts)| (*hour, counts.total()));
        let mut stretches = Stretches::new(hours, true, selection.stretch());
        let mut counts = Counts::default();
        let mut wanted = bounds.first;
        while let Some(window) = stretches.next(wanted) {
            if counts.total() >= bounds.enough {
                return Ok(Self {
                    counts,
                    is_all: false,
                });
            }
            counts.merge(&looked_at(snapshot, selection, window)?);
            wanted = wanted.saturating_mul(GROWTH);
        }
        Ok(Self {
            counts,
            is_all: true,
        })
    }

    /// How many match, of which a page shows so many, and whether more follow.
    pub(super) fn matching(
        &self,
        outcome: Option<Outcome>,
        shown: usize,
        (is_first, more): (bool, bool),
    ) -> Matching {
        let count = self.counts.asked(outcome);
        if self.is_all {
            return Matching {
                count,
                is_all: true,
            };
        }
        Matching {
            count: count.max(shown + usize::from(more)),
            is_all: is_first && !more,
        }
    }
}

/// Requests by outcome, by a look at each row.
fn looked_at(
    snapshot: &Snapshot,
    selection: &Selection,
    window: Window,
) -> Result<Counts, QueryError> {
    let rows = selection.requests(snapshot, &Within::from(window))?;
    let rows = rows.select([col("outcome")]).group_by([col("outcome")]);
    let found = collect(rows.agg([len().cast(DataType::Int64).alias("count")]))?;
    let cells = Cells(&found);
    let mut counts = Counts::default();
    for number in 0..found.height() {
        let row = cells.row(number);
        let outcome = row.word("outcome", &Outcome::ALL, Outcome::as_str)?;
        let count = there("count", row.whole("count")?)?;
        counts.add(
            there("outcome", outcome)?,
            usize::try_from(count).unwrap_or(0),
        );
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;
    use crate::query::filter::Filter;
    use crate::store::Store;

    /// Twelve requests in four hours, of which every third missed.
    fn store() -> Store {
        let store = Store::in_memory(100, usize::MAX);
        for n in 0..12 {
            let start = HOUR + u64::from(n) * HOUR / 3;
            let outcome = if n % 3 == 0 {
                Outcome::Missed
            } else {
                Outcome::Met
            };
            put(&store, n, start, 0, outcome);
        }
        store
    }

    fn counted(text: &str, enough: usize) -> (usize, usize, bool) {
        let snapshot = store().snapshot();
        let selection = Selection {
            filter: Some(Filter::parse(text).unwrap()),
            window: Window::ALL,
        };
        let bounds = Bounds { enough, first: 2 };
        let counted = Counted::of_filter(&snapshot, &selection, &hours(&snapshot), &bounds);
        let Counted { counts, is_all } = counted.unwrap();
        (counts.total(), counts.of(Outcome::Missed), is_all)
    }

    #[test]
    fn of_a_filter_enough_are_counted_and_few_are_all_counted() {
        assert_eq!(counted("hop.service=pricing", 1000), (12, 4, true));
        let (total, missed, is_all) = counted("hop.service=pricing", 3);
        assert!(
            (3..12).contains(&total) && missed <= 4 && !is_all,
            "{total}"
        );
        assert_eq!(counted("outcome=missed", 5), (4, 4, true));
        assert_eq!(counted("hop.service=nobody", 1), (0, 0, true));
        // What was reached with the last look is exact.
        assert_eq!(counted("hop.service=pricing", 12), (12, 4, true));
    }

    #[test]
    fn a_window_is_counted_whole() {
        let snapshot = store().snapshot();
        for (since, until, want) in [
            (HOUR, 5 * HOUR, 12),
            (HOUR + 1, 5 * HOUR, 11),
            (2 * HOUR, 3 * HOUR, 3),
            (2 * HOUR, 2 * HOUR + HOUR / 3 + 1, 2),
            (2 * HOUR + HOUR / 3, 4 * HOUR + 1, 6),
            (4 * HOUR + HOUR / 3, 4 * HOUR + HOUR / 2, 1),
            (6 * HOUR, 7 * HOUR, 0),
        ] {
            let window = Window {
                since: Some(UnixNanos(since)),
                until: Some(UnixNanos(until)),
            };
            let selection = Selection {
                filter: None,
                window,
            };
            let Counted { counts, is_all } = Counted::of(&snapshot, &selection).unwrap();
            assert_eq!((counts.total(), is_all), (want, true), "{window:?}");
        }
    }

    #[test]
    fn a_page_never_shows_more_than_were_counted() {
        let mut counts = Counts::default();
        counts.add(Outcome::Met, 7);
        let matching = |is_all, shown, place| {
            let counted = Counted { counts, is_all };
            let tally = counted.matching(Some(Outcome::Met), shown, place);
            (tally.count, tally.is_all)
        };
        assert_eq!(matching(true, 5, (true, true)), (7, true));
        assert_eq!(matching(false, 5, (true, true)), (7, false));
        assert_eq!(matching(false, 50, (true, true)), (51, false));
        // All that there are stand on the page.
        assert_eq!(matching(false, 50, (true, false)), (50, true));
        assert_eq!(matching(false, 50, (false, false)), (50, false));
    }
}
