//! `dwindle hops`, `calls` and `findings`: numbers over many requests.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use clap::Args as ClapArgs;

use super::data::Data;
use super::select::Selection;
use super::{Exit, ListArgs, Printer, Setup, SourceArgs, input, list};
use crate::query::aggregate::OverStore;
use crate::query::sheet::Column;

/// `dwindle hops`, `dwindle calls` and `dwindle findings`.
#[derive(Debug, ClapArgs)]
pub struct OverviewArgs {
    /// What to read.
    #[command(flatten)]
    pub input: SourceArgs,
    /// How the list is printed.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Adds up the requests that are asked for and prints the numbers.
pub(super) fn run<T: OverStore>(
    args: &OverviewArgs,
    columns: &'static [Column],
    nothing: &str,
    setup: &Setup,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.input.select, printer)?;
    let by = list::order(&args.list, columns)?;
    if let Some(folder) = &args.input.data {
        let data = Data::open(folder, setup, printer)?;
        let selection = selection.of_store(&data, args.input.id.as_deref())?;
        let sum = data.ask(|snapshot| T::over(snapshot, &selection))?;
        list::print(sum.sheet(), by, &args.list, nothing, printer)?;
        return Ok(data.exit(printer));
    }
    let sums = Shards::<T>::new();
    let read = input::analysed(&args.input.input(), setup, printer, |_, analysis| {
        let mut sum = sums.one();
        let requests = analysis.requests.iter();
        requests
            .filter(|request| selection.takes(request))
            .for_each(|request| sum.add(request));
        Vec::<()>::new()
    })?;
    let sum = sums.into_parts().reduce(|mut sum, part| {
        sum.merge(part);
        sum
    });
    let nothing = if selection.took_any() {
        nothing.to_owned()
    } else {
        selection.nothing()
    };
    list::print(
        sum.unwrap_or_default().sheet(),
        by,
        &args.list,
        &nothing,
        printer,
    )?;
    Ok(read.exit)
}

/// A sum for each core, so that threads seldom wait for one another. Sums do not depend on which
/// of them a request was added to.
pub(super) struct Shards<T>(Vec<Mutex<T>>);

impl<T: Default> Shards<T> {
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self((0..cores).map(|_| Mutex::default()).collect())
    }

    /// One that nobody uses.
    pub(super) fn one(&self) -> MutexGuard<'_, T> {
        let free = self.0.iter().find_map(|shard| match shard.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        free.unwrap_or_else(|| match self.0.as_slice() {
            [first, ..] => first.lock().unwrap_or_else(PoisonError::into_inner),
            [] => unreachable!("there is a shard for each core, and one core at least"),
        })
    }

    pub(super) fn into_parts(self) -> impl Iterator<Item = T> {
        let shards = self.0.into_iter();
        shards.map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}
