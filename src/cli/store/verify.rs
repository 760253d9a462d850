//! `dwindle store verify`.

use super::{bytes, counted};
use crate::cli::progress::Progress;
use crate::cli::{Exit, Printer};
use crate::store::Store;

pub(super) fn run(store: &Store, printer: &mut Printer) -> anyhow::Result<Exit> {
    let progress = Progress::work(printer.is_watched(), "looking at every file");
    let found = store.verify();
    progress.done();
    let found = found?;
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
