//! `dwindle convert`: traces in another format.

mod spool;
mod target;

use std::io::{self, Write as _};

use anyhow::Context as _;
use clap::Args as ClapArgs;

pub use target::{Compress, TargetArgs, To};

use super::input::{self, Analysed};
use super::select::Selection;
use super::{Exit, InputArgs, Printer, Setup};
use crate::budget::analyse;
use crate::files::write::{Losses, Packed};
use crate::model::Trace;
use crate::store::parquet::SpanWriter;
use spool::{Piece, Spool};
pub(super) use target::{Form, Target, counted, form};

/// `dwindle convert`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Formats:
  otlp-json   OTLP/JSON, a request a line and a trace in each, as the Collector's `file` exporter
              has it; log records that carry a span's ids follow their trace
  otlp-proto  OTLP protobuf, one `TracesData` (no lengths before messages)
  jaeger      the JSON of Jaeger's API and UI, one document
  parquet     the table `spans` of `dwindle sql --schema`, a row per span

Traces are written whole: all spans of those that have a request which --where asks for.
OTLP keeps every field. What another format cannot hold is counted and said on stderr.

Examples:
  dwindle convert trace-from-jaeger.json -o spans.ndjson
  dwindle convert spans.ndjson.zst --id 7ac30b9e -o slow.jaeger.json
  dwindle convert *.json -o all.ndjson.zst
  dwindle convert zipkin.json -o - --to otlp-proto --compress gzip |
    curl --data-binary @- -H 'Content-Type: application/x-protobuf' -H 'Content-Encoding: gzip' \\
      http://collector:4318/v1/traces")]
pub struct ConvertArgs {
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// What to write.
    #[command(flatten)]
    pub target: TargetArgs,
}

pub(super) fn run(
    args: &ConvertArgs,
    setup: &Setup,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let target = Target::of(&args.target, &args.input.files)?;
    let spool = Spool::default();
    let selection = Selection::of(&args.input.select, printer)?;
    let wanted = |trace: &Trace| {
        // An analysis is made only where it is asked for.
        selection.is_all() || {
            let analysis = analyse(trace, &setup.policy, &setup.typical);
            analysis.requests.iter().any(|one| selection.takes(one))
        }
    };
    let Analysed { results, exit } = input::each(&args.input, setup, printer, |trace: Trace| {
        let trace = Some(trace).filter(wanted);
        let piece = trace.map(|trace| match target.form {
            Form::Traces(format, _) => spool.put(&trace, format.encode(&trace)),
            Form::Parquet => spool.put_whole(&trace),
        });
        piece.into_iter().collect()
    })?;
    let pieces = results.into_iter().collect::<io::Result<Vec<Piece>>>();
    let pieces = pieces.context("cannot keep traces in a temporary file")?;
    if pieces.is_empty() {
        let why = if selection.is_all() {
            "no traces in what was read".to_owned()
        } else {
            selection.nothing()
        };
        anyhow::bail!("{why}; {} is not written", target.name());
    }
    let mut losses = Losses::default();
    for piece in &pieces {
        losses.join(&piece.losses);
    }
    let (traces, spans) = (pieces.len(), pieces.iter().map(|piece| piece.spans).sum());
    target.write(printer, |out| match target.form {
        Form::Traces(format, compression) => {
            let mut out = Packed::new(out, compression)?;
            let mut before = format.head();
            for piece in &pieces {
                out.write_all(before.as_bytes())?;
                before = format.between();
                spool.copy(piece, &mut out)?;
            }
            out.write_all(format.tail().as_bytes())?;
            out.finish().map(drop)
        }
        Form::Parquet => {
            let mut out = SpanWriter::new(out)?;
            for piece in &pieces {
                let trace = spool.trace(piece)?;
                // Each row says to which hop of which request its span belongs.
                let analysis = analyse(&trace, &setup.policy, &setup.typical);
                out.add(&trace, Some(&analysis))?;
            }
            out.finish().map(drop)
        }
    })?;
    let what = target.form.describe("Parquet, the table `spans`");
    let name = target.name();
    printer.say(&format!("{name}: {} ({what})", counted(traces, spans)));
    for line in losses.lines() {
        printer.say(&format!("note: {line}"));
    }
    Ok(exit)
}
