//! `dwindle store verify`.

use std::path::Path;

use super::{bytes, counted};
use crate::cli::progress::Progress;
use crate::cli::serve::LOG;
use crate::cli::{Exit, Printer};
use crate::ingest::log;
use crate::store::Store;

pub(super) fn run(folder: &Path, store: &Store, printer: &mut Printer) -> anyhow::Result<Exit> {
    let progress = Progress::work(printer.is_watched(), "looking at every file");
    let found = store.verify();
    let log = log::look(&folder.join(LOG));
    progress.done();
    let mut found = found?;
    let log = log?;
    let damage = log.damage.iter();
    let damage =
        damage.map(|damage| format!("the log is damaged: {damage}; what stood there is lost"));
    found.faults.extend(damage);
    if log.missing > 0 {
        let records = counted(
            log.missing,
            "record of the log is",
            "records of the log are",
        );
        found
            .faults
            .push(format!("{records} not there, between segments that are"));
    }
    for fault in &found.faults {
        printer.line(fault)?;
    }
    let faults = found.faults.len() as u64;
    printer.say(&format!(
        "{} in {} of {}, {}: {}",
        counted(found.rows, "row", "rows"),
        counted(found.files, "file", "files"),
        counted(found.parts, "part", "parts"),
        bytes(found.bytes),
        match faults {
            0 => "all as it was written".to_owned(),
            _ => counted(faults, "fault", "faults"),
        }
    ));
    if log.records > 0 || log.torn.is_some() {
        printer.say(&format!(
            "{} in the log, {}, in no table yet; the next server brings them there{}",
            counted(log.records, "record is", "records are"),
            bytes(log.bytes),
            match &log.torn {
                Some(torn) => format!(" (a write broke off, or is under way, at {torn})"),
                None => String::new(),
            }
        ));
    }
    if let Some(stray) = found.strays.first() {
        printer.say(&format!(
            "{} left over from writers that were stopped or by others, and not part of the store; \
             the next server removes those of its kind: {}",
            counted(found.strays.len() as u64, "file is", "files are"),
            stray.display(),
        ));
    }
    Ok(if found.is_clean() {
        Exit::Done
    } else {
        Exit::Partial
    })
}
