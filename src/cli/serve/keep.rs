//! Where the server keeps what comes: a folder, or memory alone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{LOG, nanos, size};
use crate::cli::Printer;
use crate::cli::store::{self, bytes, counted};
use crate::ingest::log::{Durability, Options as LogOptions};
use crate::ingest::{Durable, Ingest, Pace};
use crate::settings::{LogMode, Settings, Values};
use crate::store::Store;
use crate::web::Keeping;

/// How often somebody looks whether the log is replayed.
const LOOK: Duration = Duration::from_millis(50);

/// A store and the log before it.
pub(super) struct Kept {
    pub(super) store: Arc<Store>,
    pub(super) log: Option<Durable>,
    folder: Option<PathBuf>,
}

impl Kept {
    /// Opens the folder; makes it if it is not there.
    pub(super) fn open(settings: &Settings) -> anyhow::Result<Self> {
        let values = &settings.values;
        if *values.store.memory_only {
            let limits = &values.limits;
            let (requests, bytes) = (size(*limits.max_requests), size(*limits.max_kept_bytes));
            return Ok(Self {
                store: Arc::new(Store::in_memory(requests, bytes)),
                log: None,
                folder: None,
            });
        }
        store::known(values)?;
        let folder = values.store.data.value.clone();
        let opened = Store::open(&folder, store::options(settings))?;
        Ok(Self {
            store: Arc::new(opened),
            log: Some(Durable {
                dir: folder.join(LOG),
                options: log(settings),
                pace: pace(settings),
            }),
            folder: Some(folder),
        })
    }

    /// Whether nothing is there, neither in files nor in the log.
    pub(super) fn is_empty(&self, ingest: &Ingest) -> bool {
        let log = ingest.log_size().map_or(0, |log| log.records);
        log == 0 && self.store.snapshot().counts().traces == 0
    }

    /// What stays of what comes, for the pages.
    pub(super) fn keeping(&self, values: &Values) -> Keeping {
        let age = Some(*values.store.retain_for).filter(|age| !age.is_zero());
        let in_folder = |_| Keeping::Folder(age);
        self.folder.as_ref().map_or(Keeping::Memory, in_folder)
    }

    /// Says where data lies and how much there is.
    pub(super) fn announce(&self, ingest: &Ingest, printer: &Printer) {
        let Some(folder) = &self.folder else {
            printer.say("data       in memory only: it ends with the process");
            return;
        };
        let folder = folder.display();
        let stats = self.store.stats();
        let what = match stats.oldest {
            None => "empty".to_owned(),
            Some(oldest) => format!(
                "{} since {}, {}",
                counted(stats.requests.total(), "request", "requests"),
                oldest.to_string().get(..10).unwrap_or_default(),
                bytes(stats.bytes()),
            ),
        };
        printer.say(&format!("data       {folder}: {what}"));
        for fault in &stats.faults {
            printer.say(&format!("{fault}; what it holds is left out"));
        }
        let log = ingest.log_size().map_or(0, |log| log.records);
        if log > 0 && !ingest.has_replayed() {
            let records = counted(log, "batch", "batches");
            printer.say(&format!(
                "{records} of the log are read back; spans are taken after that"
            ));
        }
    }
}

/// Ends when the log is replayed.
pub(super) async fn replayed(ingest: &Ingest) {
    while !ingest.has_replayed() {
        tokio::time::sleep(LOOK).await;
    }
}

pub(in crate::cli) fn log(settings: &Settings) -> LogOptions {
    let values = &settings.values;
    LogOptions {
        durability: match *values.store.log_mode {
            LogMode::Sync => Durability::Sync,
            LogMode::Os => Durability::Os,
        },
        max_bytes: *values.limits.max_log_bytes,
        ..LogOptions::default()
    }
}

pub(in crate::cli) fn pace(settings: &Settings) -> Pace {
    let store = &settings.values.store;
    Pace {
        after: nanos(*store.flush_after),
        spans: size(*store.flush_spans),
        bytes: size(*store.flush_bytes),
        upkeep: nanos(*store.upkeep_every),
    }
}
