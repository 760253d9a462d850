//! `dwindle store compact` and `dwindle store prune`.

use std::time::Duration;

use clap::Args as ClapArgs;

use super::{bytes, counted, open, open_to_read, retention};
use crate::cli::progress::Progress;
use crate::cli::serve::assembly;
use crate::cli::{Exit, Printer};
use crate::ingest;
use crate::model::UnixNanos;
use crate::settings::{Settings, parse_age, parse_bytes};
use crate::store::Retention;
use crate::telemetry::clock;

/// `dwindle store prune`.
#[derive(Debug, ClapArgs)]
pub(super) struct PruneArgs {
    /// Remove hours that ended longer ago, whenever their requests came: 14d, 12h
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Remove the oldest hours until the files take no more than this: 50GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_bytes: Option<u64>,
    /// Only tell what would go
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn compact(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    let store = open(settings, "compact")?;
    let progress = Progress::work(printer.is_watched(), "merging files");
    let config = assembly(&settings.values);
    let rejoined = ingest::rejoin(&store, &settings.policy, &config);
    let done = store.compact(None);
    progress.done();
    let rejoined = rejoined?;
    let done = done?;
    if rejoined > 0 {
        printer.say(&format!(
            "{} of a part that could not be read before put together",
            counted(rejoined, "trace", "traces")
        ));
    }
    printer.say(&if done.merged == 0 {
        "nothing to merge".to_owned()
    } else {
        format!(
            "{} became {}, {} became {}; {} dropped",
            counted(done.merged, "part", "parts"),
            done.made,
            bytes(done.bytes_before),
            bytes(done.bytes_after),
            counted(done.dropped, "superseded trace", "superseded traces"),
        )
    });
    Ok(Exit::Done)
}

pub(super) fn prune(
    args: &PruneArgs,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let retention = match (args.older_than, args.max_bytes) {
        (None, None) => retention(&settings.values),
        (max_past, max_bytes) => Retention {
            max_past,
            max_bytes,
            ..Retention::default()
        },
    };
    if retention == Retention::default() {
        anyhow::bail!(
            "nothing says what to remove: give --older-than or --max-bytes, or set retain_for or \
             retain_bytes"
        );
    }
    let now = UnixNanos(clock::unix_nanos());
    let pruned = if args.dry_run {
        open_to_read(settings)?.would_prune(now, &retention)
    } else {
        open(settings, "prune")?.prune_to(now, &retention)?
    };
    let verb = if args.dry_run { "would go" } else { "removed" };
    let left = match pruned.over {
        0 => String::new(),
        over => format!(
            "; the newest hour stays, and what is left is {} more than asked for",
            bytes(over)
        ),
    };
    printer.say(&match pruned.hours {
        0 => format!("nothing to remove{left}"),
        hours => format!(
            "{verb}: {}, {}, {} in {}{left}",
            counted(hours, "hour", "hours"),
            counted(pruned.requests, "request", "requests"),
            bytes(pruned.bytes),
            counted(pruned.parts, "part", "parts"),
        ),
    });
    Ok(Exit::Done)
}

fn age(text: &str) -> Result<Duration, String> {
    let age = parse_age(text).filter(|age| !age.is_zero());
    age.ok_or_else(|| "not an age such as 14d or 12h".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text).filter(|size| *size > 0);
    size.ok_or_else(|| "not a size such as 50GiB or 500MB".to_owned())
}
