//! Running plans over the store's tables, piece by piece.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use polars::prelude::{
    DataFrame, DataType, Engine, Expr as Plan, JoinArgs, JoinType, LazyFrame, MaintainOrderJoin,
    NamedFrom as _, PlanCallback, PolarsResult, Series, TimeUnit, UniqueKeepStrategy, col, lit,
};

use super::error::{QueryError, panic_words};
use super::filter::Filter;
use super::requests::Counts;
use super::rows::{Cells, IDENTITY};
use crate::model::{TraceId, UnixNanos};
use crate::store::tables::Table;
use crate::store::{Piece, Snapshot, StoreError, Window};

/// Nanoseconds of an hour, the stretch by which the store keeps requests apart.
pub(super) const HOUR: u64 = 3_600_000_000_000;

/// Which requests of the store are asked about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Only those that match.
    pub filter: Option<Filter>,
    /// Only those that start in it.
    pub window: Window,
}

impl Selection {
    /// True if every request is one of them.
    pub fn is_all(&self) -> bool {
        self.filter.is_none() && self.window == Window::ALL
    }

    /// The stretch of time in which all of them lie: what need not be opened is outside of it.
    pub fn stretch(&self) -> Window {
        let Some(filter) = &self.filter else {
            return self.window;
        };
        let (since, last) = filter.window();
        let until = last.map(|last| UnixNanos(last.0.saturating_add(1)));
        narrowed(self.window, Window { since, until })
    }

    /// Those of their rows in a table that lie within; those of a request stand together, in their
    /// order.
    pub(super) fn rows(
        &self,
        snapshot: &Snapshot,
        table: Table,
        within: &Within,
    ) -> Result<LazyFrame, StoreError> {
        if table == Table::Requests {
            return self.requests(snapshot, within);
        }
        let within = within.narrowed(self.stretch());
        let rows = within.rows(snapshot, table)?;
        // A span does not tell when its request began.
        if self.is_all() || self.filter.is_none() && table != Table::Spans {
            return Ok(rows);
        }
        let ids = self.requests(snapshot, &within)?;
        let on = IDENTITY.map(col);
        let args = JoinArgs {
            maintain_order: MaintainOrderJoin::Left,
            ..JoinArgs::new(JoinType::Semi)
        };
        Ok(rows.join(ids.select(on.clone()), on.clone(), on, args))
    }

    /// The traces of a piece that have one of them.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn traces(&self, piece: &Piece<'_>) -> Result<HashSet<TraceId>, QueryError> {
        let rows = self.in_piece(piece)?.select([col("trace_id")]);
        let rows = collect(rows.unique(None, UniqueKeepStrategy::Any))?;
        let ids = Cells(&rows).texts("trace_id")?.iter().flatten();
        Ok(ids.filter_map(|id| id.parse().ok()).collect())
    }

    /// Those of their rows in `requests` that are in a piece.
    pub(super) fn in_piece(&self, piece: &Piece<'_>) -> Result<LazyFrame, StoreError> {
        let window = self.stretch();
        let scan = |table| piece.scan(table, &window);
        let rows = scan(Table::Requests)?;
        match &self.filter {
            None => Ok(rows),
            Some(filter) => filter.tabled().rows(rows, scan),
        }
    }

    /// Whether `requests` alone does not tell which they are.
    pub(super) fn needs_others(&self) -> bool {
        let filter = self.filter.as_ref();
        filter.is_some_and(|filter| filter.tabled().needs_others())
    }

    /// Those that may be some of them, as far as `requests` alone tells.
    pub(super) fn by_requests(&self, snapshot: &Snapshot) -> Result<LazyFrame, StoreError> {
        let rows = snapshot.scan(Table::Requests, &self.stretch())?;
        Ok(match &self.filter {
            Some(filter) => filter.tabled().by_requests(rows),
            None => rows,
        })
    }

    /// Those of their rows in `requests` that lie within.
    pub(super) fn requests(
        &self,
        snapshot: &Snapshot,
        within: &Within,
    ) -> Result<LazyFrame, StoreError> {
        let within = within.narrowed(self.stretch());
        let scan = |table| within.rows(snapshot, table);
        let rows = scan(Table::Requests)?;
        match &self.filter {
            None => Ok(rows),
            Some(filter) => filter.tabled().rows(rows, scan),
        }
    }
}

/// Instants that each row is compared with, at most.
const MOST_STARTS: usize = 10_000;

/// Where rows are looked for. Every table but `spans` has the start of its rows' request, so that
/// of none more is read than of what is asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Within {
    window: Window,
    starts: Option<Plan>,
}

impl From<Window> for Within {
    fn from(window: Window) -> Self {
        Self {
            window,
            starts: None,
        }
    }
}

impl Within {
    /// Requests that start at one of these instants. Of very many only the stretch between the
    /// first and the last counts: looking for each would take longer than reading what is there.
    pub(super) fn starts(starts: Vec<UnixNanos>) -> Result<Self, QueryError> {
        let window = Window {
            since: starts.iter().min().copied(),
            until: starts
                .iter()
                .max()
                .map(|last| UnixNanos(last.0.saturating_add(1))),
        };
        if starts.len() > MOST_STARTS {
            return Ok(window.into());
        }
        let nanos = starts
            .into_iter()
            .map(|start| i64::try_from(start.0).unwrap_or(i64::MAX));
        let nanos = Series::new("start".into(), nanos.collect::<Vec<i64>>());
        let nanos = nanos.cast(&DataType::Datetime(TimeUnit::Nanoseconds, None))?;
        let starts = col("start").is_in(lit(nanos).implode(false), false);
        Ok(Self {
            window,
            starts: Some(starts),
        })
    }

    /// The rows of a table of such requests, whatever else they are; of `spans` there are more.
    pub(super) fn rows(&self, snapshot: &Snapshot, table: Table) -> Result<LazyFrame, StoreError> {
        let rows = snapshot.scan(table, &self.window)?;
        Ok(match &self.starts {
            Some(starts) if table != Table::Spans => rows.filter(starts.clone()),
            _ => rows,
        })
    }

    fn narrowed(&self, window: Window) -> Self {
        Self {
            window: narrowed(self.window, window),
            starts: self.starts.clone(),
        }
    }
}

/// What lies in both.
pub(super) fn narrowed(one: Window, other: Window) -> Window {
    let later = |a: Option<UnixNanos>, b: Option<UnixNanos>| a.max(b);
    let earlier = |a: Option<UnixNanos>, b: Option<UnixNanos>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Window {
        since: later(one.since, other.since),
        until: earlier(one.until, other.until),
    }
}

/// The rows of a plan, which has few; of much that is read, few rows are held at a time.
pub(super) fn collect(plan: LazyFrame) -> Result<DataFrame, QueryError> {
    guarded(|| {
        let found = plan.collect_with_engine(Engine::Streaming)?;
        Ok(found.unwrap_single())
    })
}

/// Polars panics on a file that was damaged after the store looked at it.
fn guarded<T>(run: impl FnOnce() -> PolarsResult<T>) -> Result<T, QueryError> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => Ok(done?),
        Err(panic) => Err(QueryError::Engine(panic_words(panic.as_ref()).to_owned())),
    }
}

/// Takes the rows of a plan into `state`, some at a time, so that memory holds few of them,
/// whatever the plan gives. With `ordered` they come in their order.
pub(super) fn fold<T: Send + 'static>(
    plan: LazyFrame,
    ordered: bool,
    state: T,
    step: impl Fn(&mut T, &DataFrame) -> Result<(), QueryError> + Send + Sync + 'static,
) -> Result<T, QueryError> {
    let shared = Arc::new(Mutex::new((Some(state), None::<QueryError>)));
    let inside = Arc::clone(&shared);
    let callback = PlanCallback::new(move |batch: DataFrame| {
        let mut inside = inside.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, fault) = &mut *inside;
        let Some(state) = state else { return Ok(true) };
        if let Err(error) = step(state, &batch) {
            *fault = Some(error);
        }
        Ok(fault.is_some())
    });
    let plan = plan.sink_batches(callback, ordered, None)?;
    guarded(|| plan.collect_with_engine(Engine::Streaming))?;
    let mut inside = shared.lock().unwrap_or_else(PoisonError::into_inner);
    match std::mem::take(&mut *inside) {
        (_, Some(error)) => Err(error),
        (Some(state), None) => Ok(state),
        (None, None) => Err(QueryError::Engine("the rows were lost".to_owned())),
    }
}

/// Requests by outcome, by the hour in which they start; opens no file.
pub(super) fn hours(snapshot: &Snapshot) -> BTreeMap<UnixNanos, Counts> {
    let hours = snapshot.hours().into_iter();
    hours
        .map(|(hour, outcomes)| (hour, Counts::from(&outcomes)))
        .collect()
}
