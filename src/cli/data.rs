//! `--data`: what a server keeps in its folder, instead of files.

use std::path::Path;

use anyhow::bail;

use super::input::ambiguous;
use super::printer::Printer;
use super::serve::LOG;
use super::store::bytes;
use super::{Exit, Setup};
use crate::ingest::log;
use crate::model::TraceId;
use crate::query::number;
use crate::query::requests::{self, Query};
use crate::store::{Options, Snapshot, Store};

/// Candidates of an ambiguous id that are looked for.
const CANDIDATES: usize = 100;

/// How often a question is asked while the store changes.
const TIMES: usize = 4;

/// A store, opened to read.
pub(super) struct Data {
    store: Store,
}

impl Data {
    /// Opens the folder and says how new what is in it is.
    pub(super) fn open(folder: &Path, setup: &Setup, printer: &Printer) -> anyhow::Result<Self> {
        let options = Options {
            policy: setup.policy.clone(),
            ..Options::default()
        };
        let store = Store::open_to_read(folder, options)?;
        let data = Self { store };
        let newest = Query {
            limit: 1,
            ..Query::default()
        };
        let page = data.ask(|snapshot| requests::page(snapshot, &newest))?;
        let waiting = log::waiting(&folder.join(LOG)).unwrap_or_default();
        let folder = folder.display();
        printer.say(&match page.rows.first() {
            None => format!("`{folder}` has no requests yet"),
            Some(newest) => format!(
                "`{folder}` has {}, the newest of {}; what a running server got in the last \
                 seconds is in its memory alone",
                number::counted(page.held, "request", "requests").replace(number::NBSP, " "),
                number::instant(newest.start)
            ),
        });
        if waiting > 0 {
            printer.say(&format!(
                "its log holds {} that are in no table yet: a running server brings them there; if \
                 none runs, start `dwindle serve --data {folder}` once",
                bytes(waiting)
            ));
        }
        Ok(data)
    }

    /// Asks a question; again of the newer state if a server merged or removed parts meanwhile.
    pub(super) fn ask<T, E: Into<anyhow::Error>>(
        &self,
        question: impl Fn(&Snapshot) -> Result<T, E>,
    ) -> anyhow::Result<T> {
        let mut left = TIMES;
        loop {
            let error = match question(&self.store.snapshot()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error.into(),
            };
            left -= 1;
            if left == 0 || !self.store.refresh()? {
                return Err(error);
            }
        }
    }

    /// The store.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// The only trace whose id begins so.
    pub(super) fn pick(&self, prefix: &str) -> anyhow::Result<TraceId> {
        let mut found = self.store.find_prefix(prefix, CANDIDATES)?;
        match (found.pop(), found.is_empty()) {
            (Some(one), true) => Ok(one),
            (None, _) => {
                let snapshot = self.store.snapshot();
                if let Some(fault) = snapshot.faults().first() {
                    bail!(
                        "no trace id begins with `{prefix}` in what can be read ({fault}; `dwindle \
                         store verify` lists what is damaged)"
                    )
                }
                let traces = snapshot.counts().traces;
                let traces = usize::try_from(traces).unwrap_or(usize::MAX);
                let among = number::counted(traces, "trace", "traces");
                let among = among.replace(number::NBSP, " ");
                bail!("no trace id begins with `{prefix}`; there are {among}")
            }
            (Some(last), false) => {
                found.push(last);
                bail!("{}", ambiguous(prefix, &found))
            }
        }
    }

    /// Says which files could not be read.
    pub(super) fn exit(&self, printer: &Printer) -> Exit {
        let faults = self.store.snapshot().faults();
        for fault in &faults {
            printer.say(fault);
        }
        if faults.is_empty() {
            Exit::Done
        } else {
            Exit::Partial
        }
    }
}
