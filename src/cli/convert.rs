//! `dwindle convert`: traces in another format.

mod spool;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args as ClapArgs, ValueEnum};

use super::input::{self, Analysed};
use super::printer::PrintError;
use super::select::Selection;
use super::{Exit, InputArgs, Printer, Setup};
use crate::budget::analyse;
use crate::files::write::{Compression, Format, Losses, Packed};
use crate::model::Trace;
use crate::store::parquet::SpanWriter;
use crate::store::whole::{Existing, Whole};
use spool::{Piece, Spool};

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
    /// The file to write; `-` is stdout
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    /// The format [default: what OUT's name says; of stdout `otlp-json`]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<To>,
    /// The compression [default: what OUT's name says, `.gz` or `.zst`]
    #[arg(long, value_enum, value_name = "KIND")]
    pub compress: Option<Compress>,
    /// Replace OUT if it is there
    #[arg(long)]
    pub force: bool,
}

/// What `dwindle convert` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// OTLP/JSON, a request a line.
    OtlpJson,
    /// OTLP protobuf.
    OtlpProto,
    /// Jaeger's JSON.
    Jaeger,
    /// The table of spans.
    Parquet,
}

/// How `dwindle convert` compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compress {
    /// Not at all.
    None,
    /// As `gzip` does.
    Gzip,
    /// As `zstd` does.
    Zstd,
}

pub(super) fn run(
    args: &ConvertArgs,
    setup: &Setup,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let plan = Plan::of(args)?;
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
        let piece = trace.map(|trace| match plan.form {
            Form::Text(format, _) => spool.put(&trace, format.encode(&trace)),
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
        anyhow::bail!("{why}; {} is not written", plan.name());
    }
    let mut losses = Losses::default();
    for piece in &pieces {
        losses.join(&piece.losses);
    }
    let (traces, spans) = (pieces.len(), pieces.iter().map(|piece| piece.spans).sum());
    let failed = || format!("cannot write {}", plan.name());
    match &plan.out {
        Out::Stdout => {
            // A reader who has left is no failure: the printer knows.
            let written = plan.write(&spool, &pieces, setup, printer.out());
            written.map(drop).map_err(PrintError::from)?;
        }
        Out::Device(path) => {
            let open = fs::File::options().write(true).open(path);
            let written = open.and_then(|file| plan.write(&spool, &pieces, setup, file));
            written.map(drop).with_context(failed)?;
        }
        Out::File(path, existing) => {
            let file = Whole::create(path, *existing).with_context(failed)?;
            let written = plan.write(&spool, &pieces, setup, file);
            written.and_then(Whole::finish).with_context(failed)?;
        }
    }
    printer.say(&plan.summary(traces, spans));
    for line in losses.lines() {
        printer.say(&format!("note: {line}"));
    }
    Ok(exit)
}

/// What is to be written, and where to.
struct Plan {
    out: Out,
    form: Form,
}

/// What is to be written.
enum Form {
    /// Traces one behind another, with text around them.
    Text(Format, Compression),
    /// The table `spans`.
    Parquet,
}

enum Out {
    Stdout,
    /// A pipe or a device, which cannot be replaced.
    Device(PathBuf),
    File(PathBuf, Existing),
}

impl Plan {
    fn of(args: &ConvertArgs) -> anyhow::Result<Self> {
        let path = &args.output;
        let is_stdout = path.as_os_str() == "-";
        if path.is_dir() {
            anyhow::bail!("{} is a directory; name a file in it", path.display());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let guess = Guess::of(if is_stdout { "" } else { &name });
        let to = match args.to.or(guess.to) {
            Some(to) => to,
            None if is_stdout => To::OtlpJson,
            None => anyhow::bail!(
                "the name `{}` tells no format; add --to otlp-json, otlp-proto, jaeger or parquet",
                path.display()
            ),
        };
        let compression = match args.compress.or(guess.compress) {
            None | Some(Compress::None) => Compression::None,
            Some(Compress::Gzip) => Compression::Gzip,
            Some(Compress::Zstd) => Compression::Zstd,
        };
        let form = match to {
            To::OtlpJson => Form::Text(Format::OtlpJson, compression),
            To::OtlpProto => Form::Text(Format::OtlpProto, compression),
            To::Jaeger => Form::Text(Format::Jaeger, compression),
            To::Parquet if compression == Compression::None => Form::Parquet,
            To::Parquet => {
                anyhow::bail!("Parquet is compressed inside; leave --compress, .gz and .zst out")
            }
        };
        let out = if is_stdout {
            Out::Stdout
        } else {
            place(path, args)?
        };
        Ok(Self { out, form })
    }

    fn name(&self) -> String {
        match &self.out {
            Out::Stdout => "standard output".to_owned(),
            Out::Device(path) | Out::File(path, _) => path.display().to_string(),
        }
    }

    /// Writes the pieces in their order; gives the writer back.
    fn write<W: Write>(
        &self,
        spool: &Spool,
        pieces: &[Piece],
        setup: &Setup,
        out: W,
    ) -> io::Result<W> {
        match self.form {
            Form::Text(format, compression) => {
                let mut out = Packed::new(out, compression)?;
                let mut before = format.head();
                for piece in pieces {
                    out.write_all(before.as_bytes())?;
                    before = format.between();
                    spool.copy(piece, &mut out)?;
                }
                out.write_all(format.tail().as_bytes())?;
                out.finish()
            }
            Form::Parquet => {
                let mut out = SpanWriter::new(out)?;
                for piece in pieces {
                    let trace = spool.trace(piece)?;
                    // Each row says to which hop of which request its span belongs.
                    let analysis = analyse(&trace, &setup.policy, &setup.typical);
                    out.add(&trace, Some(&analysis))?;
                }
                out.finish()
            }
        }
    }

    fn summary(&self, traces: usize, spans: usize) -> String {
        let (format, compression) = match self.form {
            Form::Text(Format::OtlpJson, packed) => ("OTLP/JSON, a trace a line", packed),
            Form::Text(Format::OtlpProto, packed) => ("OTLP protobuf", packed),
            Form::Text(Format::Jaeger, packed) => ("Jaeger JSON", packed),
            Form::Parquet => ("Parquet, the table `spans`", Compression::None),
        };
        let packed = match compression {
            Compression::None => "",
            Compression::Gzip => ", gzip",
            Compression::Zstd => ", zstd",
        };
        let s = |count| if count == 1 { "" } else { "s" };
        format!(
            "{}: {traces} trace{}, {spans} span{} ({format}{packed})",
            self.name(),
            s(traces),
            s(spans)
        )
    }
}

/// What the name of a file says of it.
#[derive(Debug, PartialEq, Eq)]
struct Guess {
    to: Option<To>,
    compress: Option<Compress>,
}

impl Guess {
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let packed = [
            (".gz", Compress::Gzip),
            (".zst", Compress::Zstd),
            (".zstd", Compress::Zstd),
        ];
        let packed = packed.into_iter().find_map(|(end, compress)| {
            let bare = name.strip_suffix(end)?;
            Some((bare, compress))
        });
        let (bare, compress) = match packed {
            Some((bare, compress)) => (bare, Some(compress)),
            None => (name.as_str(), None),
        };
        let (stem, end) = bare.rsplit_once('.').unwrap_or((bare, ""));
        let to = match end {
            "json" if stem.split(['.', '-', '_']).any(|word| word == "jaeger") => Some(To::Jaeger),
            "json" | "jsonl" | "ndjson" => Some(To::OtlpJson),
            "pb" | "binpb" | "proto" | "protobuf" | "otlp" => Some(To::OtlpProto),
            "parquet" => Some(To::Parquet),
            _ => None,
        };
        Self { to, compress }
    }
}

/// Where a path leads, and whether it may be written there.
fn place(path: &Path, args: &ConvertArgs) -> anyhow::Result<Out> {
    let name = path.display();
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(Out::File(path.to_owned(), Existing::Keep));
    };
    if !metadata.is_file() {
        return Ok(Out::Device(path.to_owned()));
    }
    let out = fs::canonicalize(path).with_context(|| format!("cannot find {name}"))?;
    if args.input.files.iter().any(|file| holds(file, &out)) {
        anyhow::bail!("{name} is one of the inputs; write to another file");
    }
    if !args.force {
        anyhow::bail!("{name} is there already; --force replaces it");
    }
    Ok(Out::File(path.to_owned(), Existing::Replace))
}

/// True if the input is that file, a folder above it, or a pattern that matches it.
fn holds(input: &Path, out: &Path) -> bool {
    match fs::canonicalize(input) {
        Ok(input) => out.starts_with(input),
        Err(_) => glob::glob(&input.to_string_lossy()).is_ok_and(|mut found| {
            found.any(|path| {
                path.is_ok_and(|path| fs::canonicalize(path).is_ok_and(|path| path == out))
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_format_and_compression() {
        let guess = |name| {
            let Guess { to, compress } = Guess::of(name);
            (to, compress)
        };
        let json = Some(To::OtlpJson);
        assert_eq!(guess("a.ndjson"), (json, None));
        assert_eq!(guess("a.jsonl.GZ"), (json, Some(Compress::Gzip)));
        assert_eq!(guess("a.otlp.json.zst"), (json, Some(Compress::Zstd)));
        assert_eq!(guess("a.pb"), (Some(To::OtlpProto), None));
        assert_eq!(
            guess("a.jaeger.json.gz"),
            (Some(To::Jaeger), Some(Compress::Gzip))
        );
        assert_eq!(guess("jaeger-7.json"), (Some(To::Jaeger), None));
        assert_eq!(guess("jaegers.json"), (json, None));
        assert_eq!(guess("a.parquet"), (Some(To::Parquet), None));
        assert_eq!(guess("a.gz"), (None, Some(Compress::Gzip)));
        assert_eq!(guess("json"), (None, None));
    }
}
