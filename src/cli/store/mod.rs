//! `dwindle store`: looking after the folder that `dwindle serve` keeps requests in.

mod export;
mod prune;
mod stats;
mod verify;

use std::path::Path;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::{Exit, Printer};
use crate::query::number::count;
use crate::settings::{self, Settings, Values};
use crate::store::{Compaction, OpenError, Options, Retention, Store};

/// `dwindle store`.
#[derive(Debug, ClapArgs)]
#[command(
    arg_required_else_help = true,
    after_help = "verify, stats and export work while a server has the folder; they see what it has \
brought into files, which is all but the last seconds. compact and prune want the folder for \
themselves: a running server does both by itself.

Examples:
  dwindle store stats
  dwindle store verify --data /var/lib/dwindle
  dwindle store export -o missed.ndjson.zst --since 1h --where 'outcome=missed'"
)]
pub struct StoreArgs {
    /// Which folder.
    #[command(flatten)]
    data: DataArgs,
    /// What to do.
    #[command(subcommand)]
    command: StoreCommand,
}

/// Which folder.
#[derive(Debug, Clone, ClapArgs)]
pub(super) struct DataArgs {
    /// The folder of the store [default: the variable `DWINDLE_DATA`, `data` in dwindle.toml, or
    /// `dwindle` in the user's folder for data]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
}

/// What to do with the store.
#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Look at every byte, and tell each file that is not as it was written
    #[command(
        after_help = "Ends with 2 if anything is wrong. A damaged part is left out of all \
answers; the rest is served.

Examples:
  dwindle store verify
  dwindle store verify --data /mnt/backup/dwindle"
    )]
    Verify,
    /// Merge small files and drop what newer verdicts superseded
    #[command(after_help = "Examples:
  dwindle store compact")]
    Compact,
    /// Remove the oldest hours, by age or until the rest is small enough
    #[command(
        after_help = "Without --older-than and --max-bytes: what retain_for and retain_bytes \
say.

Examples:
  dwindle store prune --older-than 14d --dry-run
  dwindle store prune --max-bytes 50GiB"
    )]
    Prune(prune::PruneArgs),
    /// Tell how much is there
    #[command(after_help = "Examples:
  dwindle store stats
  dwindle store stats --format json | jq .bytes")]
    Stats(stats::StatsArgs),
    /// Write traces into a file, or all tables into a folder
    Export(export::ExportArgs),
}

pub(super) fn run(
    args: &StoreArgs,
    named: Option<&Path>,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let settings = load(&args.data, named)?;
    match &args.command {
        StoreCommand::Verify => verify::run(
            &settings.values.store.data,
            &open_to_read(&settings)?,
            printer,
        ),
        StoreCommand::Compact => prune::compact(&settings, printer),
        StoreCommand::Prune(args) => prune::prune(args, &settings, printer),
        StoreCommand::Stats(args) => stats::run(args, &open_to_read(&settings)?, printer),
        StoreCommand::Export(args) => export::run(args, &settings, printer),
    }
}

/// The settings, where the folder may be typed.
pub(super) fn load(data: &DataArgs, named: Option<&Path>) -> anyhow::Result<Settings> {
    let flag = |key: &str| data.data.clone().filter(|_| key == "data");
    let settings = settings::load(named, &flag, &settings::environment)?;
    known(&settings.values)?;
    Ok(settings)
}

/// Where nobody knows the user's home, nobody knows the folder.
pub(super) fn known(values: &Values) -> anyhow::Result<()> {
    if values.store.data.starts_with("~") {
        anyhow::bail!("no home folder is known to keep data in; say where with --data DIR");
    }
    Ok(())
}

/// How the settings want the store.
pub(super) fn options(settings: &Settings) -> Options {
    let store = &settings.values.store;
    Options {
        policy: settings.policy.clone(),
        grace: *store.grace,
        compaction: Compaction {
            fan_in: super::size(*store.compact_fan_in),
            settle: *store.compact_settle,
            max_spans: *store.compact_max_spans,
            dead_percent: u64::from(store.compact_dead_share.0.div_ceil(100)),
        },
        retention: retention(&settings.values),
        ..Options::default()
    }
}

/// The same for whoever has the folder alone and goes when the work is done: what was replaced goes
/// at once.
pub(super) fn alone(settings: &Settings) -> Options {
    Options {
        grace: Duration::ZERO,
        ..options(settings)
    }
}

/// What is kept; 0 is no limit.
pub(super) fn retention(values: &Values) -> Retention {
    let store = &values.store;
    Retention {
        max_age: Some(*store.retain_for).filter(|age| !age.is_zero()),
        max_bytes: Some(*store.retain_bytes).filter(|bytes| *bytes > 0),
        ..Retention::default()
    }
}

fn open_to_read(settings: &Settings) -> Result<Store, OpenError> {
    Store::open_to_read(&settings.values.store.data, options(settings))
}

/// Opens a store that is there, to write; `work` is what a server does by itself.
fn open(settings: &Settings, work: &str) -> anyhow::Result<Store> {
    let folder = &settings.values.store.data;
    // Writing would make one where there is none.
    Store::open_to_read(folder, options(settings))?;
    Store::open(folder, alone(settings)).map_err(|error| match error {
        OpenError::Locked { .. } => {
            anyhow::Error::new(error).context(format!("cannot {work}; a server does it by itself"))
        }
        other => other.into(),
    })
}

/// `1.2 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// `1 part`, `1,204 parts`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", self::number(number))
}

/// `1,204`.
pub(super) fn number(number: u64) -> String {
    count(super::size(number))
}
