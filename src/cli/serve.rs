//! `dwindle serve`.

use super::{Exit, Printer};

/// `dwindle serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {}

/// Runs the server until it is told to stop.
pub(super) fn run(_args: &ServeArgs, _printer: &mut Printer) -> anyhow::Result<Exit> {
    anyhow::bail!("`serve` is not part of this build")
}
