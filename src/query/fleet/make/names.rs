//! Names that are known, for whoever completes a filter.

use std::collections::BTreeSet;

use super::Frame;
use crate::model::Text;
use crate::query::error::QueryError;
use crate::query::fleet::Ask;
use crate::query::fleet::services::Names;
use crate::store::Snapshot;
use crate::store::rollup::Wanted;

/// The names of a stretch of time, in their own order; of each kind at most `rows`.
///
/// # Errors
/// The store cannot be read.
pub fn names(snapshot: &Snapshot, ask: &Ask) -> Result<Names, QueryError> {
    let frame = Frame::of(ask);
    let wanted = Wanted {
        hops: true,
        calls: true,
        ..Wanted::default()
    };
    let sums = snapshot.sums(&frame.now, &wanted)?;
    let services: BTreeSet<Text> = sums
        .hops
        .keys()
        .map(|[service, _]| service.clone())
        .collect();
    let operations = sums.hops.keys().map(|[_, operation]| operation.clone());
    let called = sums.calls.keys().map(|[_, _, to, ..]| to.clone());
    let dependencies = called.filter(|to| !services.contains(to));
    let first = |names: BTreeSet<Text>| names.into_iter().take(frame.rows).collect();
    Ok(Names {
        window: frame.window,
        operations: first(operations.collect()),
        dependencies: first(dependencies.collect()),
        services: first(services),
    })
}
