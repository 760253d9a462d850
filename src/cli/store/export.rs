//! `dwindle store export`: traces of the store in a file, or its tables in a folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args as ClapArgs;

use super::open_to_read;
use crate::budget::{Policy, Typical};
use crate::cli::convert::{Form, Target, TargetArgs, counted, form};
use crate::cli::progress::Progress;
use crate::cli::select::{SelectArgs, Selection};
use crate::cli::signals;
use crate::cli::{Exit, Printer, learn, typical_window};
use crate::files;
use crate::files::write::{Encoded, Format, Losses, Packed};
use crate::model::Request;
use crate::query::QueryError;
use crate::settings::Settings;
use crate::store::parquet::TablesWriter;
use crate::store::tables::Table;
use crate::store::whole::{Existing, Whole};
use crate::store::{Kept, Piece, Store, StoreError, Stored, Wanted};

/// `dwindle store export`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Formats:
  otlp-json   OTLP/JSON, a request a line and a trace in each; log records follow their trace
  otlp-proto  OTLP protobuf, one `TracesData`
  jaeger      the JSON of Jaeger's API and UI, one document
  parquet     OUT is a folder: requests.parquet, hops.parquet and so on, the tables of
              `dwindle sql --schema`, without what was superseded

Traces are written whole: all spans of those that have a request which is asked for; the tables
have the rows of these requests alone.

Examples:
  dwindle store export -o day.ndjson.zst --since 2026-10-07 --until 2026-10-08
  dwindle store export -o missed.ndjson.gz --where 'outcome=missed and service=checkout'
  dwindle store export -o tables --to parquet --since 24h
  dwindle store export -o - --to otlp-proto --since 1h | curl --data-binary @- \\
    -H 'Content-Type: application/x-protobuf' http://collector:4318/v1/traces")]
pub(super) struct ExportArgs {
    /// What to write.
    #[command(flatten)]
    target: TargetArgs,
    /// Which of the requests.
    #[command(flatten)]
    select: SelectArgs,
}

pub(super) fn run(
    args: &ExportArgs,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.select, printer)?;
    let form = form(&args.target)?;
    let store = open_to_read(settings)?;
    learn(&store, typical_window(&settings.values));
    let mut export = Export {
        policy: &settings.policy,
        typical: store.typical(),
        store,
        selection,
        sum: Sum::default(),
        watched: printer.is_watched(),
    };
    let name = if let Form::Traces(format, compression) = form {
        let target = Target::of(&args.target, &[])?;
        let written = target.write(printer, |out| {
            let mut out = Packed::new(out, compression)?;
            out.write_all(format.head().as_bytes())?;
            export.traces(format, &mut out)?;
            out.write_all(format.tail().as_bytes())?;
            out.finish().map(drop)
        });
        export.sum.written(written)?;
        target.name()
    } else {
        let folder = &args.target.output;
        let written = tables(folder, args.target.force, &mut export);
        export.sum.written(written)?;
        folder.display().to_string()
    };
    let Export { selection, sum, .. } = export;
    if sum.traces == 0 {
        printer.say(if selection.is_all() {
            "no requests in what was read"
        } else {
            "none of the requests that are stored is one of those asked for"
        });
    }
    let what = form.describe("Parquet, a file for each table");
    let counted = counted(sum.traces, sum.spans);
    printer.say(&format!("{name}: {counted} ({what})"));
    for line in sum.losses.lines() {
        printer.say(&format!("note: {line}"));
    }
    for fault in &sum.faults {
        printer.say(&format!("{fault}; its traces are left out"));
    }
    Ok(if sum.faults.is_empty() {
        Exit::Done
    } else {
        Exit::Partial
    })
}

struct Export<'a> {
    policy: &'a Policy,
    typical: Arc<Typical>,
    store: Store,
    selection: Selection,
    sum: Sum,
    watched: bool,
}

/// What was written.
#[derive(Default)]
struct Sum {
    traces: usize,
    spans: usize,
    losses: Losses,
    /// Files that could not be read.
    faults: Vec<String>,
    /// The store failed, and not what is written.
    failed: Option<StoreError>,
}

impl Sum {
    /// Of two errors the one behind the other.
    fn written(&mut self, written: anyhow::Result<()>) -> anyhow::Result<()> {
        match self.failed.take() {
            Some(failed) => Err(failed.into()),
            None => written,
        }
    }
}

impl Export<'_> {
    /// Writes the traces one behind another.
    fn traces(&mut self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let mut between = "";
        let (policy, selection) = (self.policy, &self.selection);
        let typical = &*self.typical;
        let encode = |kept: Kept| -> Option<(usize, Encoded)> {
            let trace = if kept.is_known() {
                kept.into_trace()
            } else {
                let stored = kept.analysed(policy, typical);
                let requests = &stored.analysis.requests;
                // Each is asked for: what was not is counted.
                let taken = requests.iter().filter(|one| selection.takes(one)).count();
                if taken == 0 {
                    return None;
                }
                Arc::unwrap_or_clone(stored.trace)
            };
            Some((trace.spans.len(), format.encode(&trace)))
        };
        let each = |sum: &mut Sum, encoded: Option<(usize, Encoded)>| {
            let Some((spans, encoded)) = encoded else {
                return Ok(());
            };
            out.write_all(between.as_bytes())?;
            between = format.between();
            out.write_all(&encoded.bytes)?;
            sum.losses.join(&encoded.losses);
            sum.add(spans);
            Ok(())
        };
        read(
            &self.store,
            selection,
            self.watched,
            &mut self.sum,
            encode,
            each,
        )
    }

    /// Writes the rows of all tables.
    fn rows(&mut self, out: &mut TablesWriter<Whole>) -> io::Result<()> {
        let (policy, selection) = (self.policy, &self.selection);
        let typical = &*self.typical;
        let takes = |request: &Request| selection.takes(request);
        let which: Option<&(dyn Fn(&Request) -> bool + Sync)> = if selection.is_all() {
            None
        } else {
            Some(&takes)
        };
        let analyse = |kept: Kept| kept.analysed(policy, typical);
        let each = |sum: &mut Sum, stored: Stored| {
            let (trace, analysis) = (&stored.trace, &stored.analysis);
            let spans = out.add(trace, analysis, which)?;
            if spans > 0 {
                sum.add(spans);
            }
            Ok(())
        };
        read(
            &self.store,
            selection,
            self.watched,
            &mut self.sum,
            analyse,
            each,
        )
    }
}

impl Sum {
    fn add(&mut self, spans: usize) {
        self.traces += 1;
        self.spans += spans;
    }
}

/// Reads the store and does `work` with each trace on all cores, then `each` with what came of it,
/// in order.
fn read<T: Send>(
    store: &Store,
    selection: &Selection,
    watched: bool,
    sum: &mut Sum,
    work: impl Fn(Kept) -> T + Sync,
    mut each: impl FnMut(&mut Sum, T) -> io::Result<()>,
) -> io::Result<()> {
    let mut progress = Progress::new(watched);
    let mut written = Ok(());
    let asked = selection.over_store();
    // The tables tell which traces there are to read.
    let wanted = |piece: &Piece<'_>| {
        asked.traces(piece).map_err(|error| match error {
            QueryError::Store(error) => error,
            other => StoreError::Engine(other.to_string()),
        })
    };
    let wanted = Some(&wanted as &Wanted<'_>).filter(|_| !selection.is_all());
    let read = store.each(&selection.window(), wanted, &mut |kept, passed| {
        progress.traces(passed.traces, passed.of);
        let mut done = files::each(kept, &work).into_iter();
        written = done.try_for_each(|done| each(sum, done));
        written.is_ok()
    });
    progress.done();
    written?;
    match read {
        Ok(faults) => {
            sum.faults = faults;
            Ok(())
        }
        Err(error) => {
            let told = io::Error::other(error.to_string());
            sum.failed = Some(error);
            Err(told)
        }
    }
}

/// Writes a file for each table into a folder; all of them or none.
fn tables(folder: &Path, force: bool, export: &mut Export<'_>) -> anyhow::Result<()> {
    let name = folder.display();
    if folder.as_os_str() == "-" {
        anyhow::bail!("six tables do not go to standard output; name a folder");
    }
    let path = |table: Table| folder.join(format!("{table}.parquet"));
    let there = Table::ALL.into_iter().map(path).find(|path| path.exists());
    if let Some(there) = there.filter(|_| !force) {
        anyhow::bail!("{} is there already; --force replaces it", there.display());
    }
    let made = !folder.exists();
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {name}"))?;
    let existing = if force {
        Existing::Replace
    } else {
        Existing::Keep
    };
    signals::clean_up();
    let mut write = || {
        let mut out = TablesWriter::new(|table| Whole::create(&path(table), existing))?;
        export.rows(&mut out)?;
        out.finish()?.into_iter().try_for_each(Whole::finish)
    };
    let written = write();
    if written.is_err() && made {
        // Not empty if it was the last step that failed.
        fs::remove_dir(folder).ok();
    }
    written.with_context(|| format!("cannot write into {name}"))
}
