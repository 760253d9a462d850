//! `dwindle trace`: the waterfall of each request.

use super::{Exit, Printer, TraceArgs};

pub(super) fn run(_args: &TraceArgs, _printer: &mut Printer) -> anyhow::Result<Exit> {
    anyhow::bail!("`trace` waits for the file reader")
}
