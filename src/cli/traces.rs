//! `dwindle traces`: a line per request.

use super::{Exit, Printer, TracesArgs};

pub(super) fn run(_args: &TracesArgs, _printer: &mut Printer) -> anyhow::Result<Exit> {
    anyhow::bail!("`traces` waits for the file reader")
}
