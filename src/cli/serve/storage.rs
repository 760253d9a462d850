//! The store that the settings ask for, and the log before it.

use std::sync::Arc;

use super::{nanos, size};
use crate::budget::Policy;
use crate::ingest::log::{self, Durability};
use crate::ingest::{Durable, Pace};
use crate::settings::{LogMode, Values};
use crate::store::{Compaction, Options, Retention, Store};

/// The folder of the log in the store's.
const LOG: &str = "log";

/// Opens it; a store in memory alone has no log.
pub(super) fn open(
    settings: &Values,
    policy: &Policy,
) -> anyhow::Result<(Arc<Store>, Option<Durable>)> {
    let (told, limits) = (&settings.store, &settings.limits);
    if *told.memory_only {
        let store = Store::in_memory(size(*limits.max_requests), size(*limits.max_kept_bytes));
        return Ok((Arc::new(store), None));
    }
    let folder = told.data.value.as_path();
    let options = Options {
        policy: policy.clone(),
        grace: *told.grace,
        compaction: Compaction {
            fan_in: size(*told.compact_fan_in),
            settle: *told.compact_settle,
            max_spans: *told.compact_max_spans,
            dead_percent: u64::from(told.compact_dead_share.value.0.div_ceil(100)),
        },
        retention: Retention {
            max_age: Some(*told.retain_for).filter(|age| !age.is_zero()),
            max_bytes: Some(*told.retain_bytes).filter(|bytes| *bytes > 0),
        },
        ..Options::default()
    };
    let store = Store::open(folder, options)?;
    let log = Durable {
        dir: folder.join(LOG),
        options: log::Options {
            durability: match *told.log_mode {
                LogMode::Sync => Durability::Sync,
                LogMode::Os => Durability::Os,
            },
            max_bytes: *limits.max_log_bytes,
            ..log::Options::default()
        },
        pace: Pace {
            after: nanos(*told.flush_after),
            spans: size(*told.flush_spans),
            bytes: size(*told.flush_bytes),
        },
    };
    Ok((Arc::new(store), Some(log)))
}
