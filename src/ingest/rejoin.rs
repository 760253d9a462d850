//! Puts traces together of which more came while a part that has them could not be read.

use super::Config;
use super::add::put;
use super::merge::merge;
use crate::budget::Policy;
use crate::model::Trace;
use crate::store::{Former, Store, StoreError};

/// So many traces are read at once.
const AT_ONCE: usize = 64;
/// From so many spans on they are written.
const WAITING: usize = 100_000;

/// Gives each trace one state again that has two, because it came again while a part was damaged
/// or missing that is there now; returns how many. While it runs nobody else may put traces.
///
/// # Errors
/// The folder cannot be read or written. What was done stays, and the rest is done the next time.
pub fn rejoin(store: &Store, policy: &Policy, config: &Config) -> Result<u64, StoreError> {
    let returned = store.returned();
    if returned.is_empty() {
        return Ok(0);
    }
    let mut count = 0;
    for traces in returned.traces() {
        for some in traces?.chunks(AT_ONCE) {
            for mut former in store.formers(some) {
                // A part that is still damaged keeps what it has, and its mark.
                if let Some(error) = former.take_unknown() {
                    return Err(error);
                }
                count += u64::from(one(store, policy, config, &former));
            }
            if store.fresh().spans >= WAITING {
                store.flush()?;
            }
        }
    }
    store.flush()?;
    store.rejoined(returned)?;
    Ok(count)
}

/// Puts a trace as one state; true if it had several.
fn one(store: &Store, policy: &Policy, config: &Config, former: &Former) -> bool {
    let Some(known) = former.stored.as_ref().filter(|_| former.is_of_several()) else {
        return false;
    };
    let merged = merge(None, Trace::clone(&known.trace), config);
    put(store, policy, merged, former);
    true
}
