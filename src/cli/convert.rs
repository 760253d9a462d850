//! `dwindle convert`: traces in another format.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use clap::{Args as ClapArgs, ValueEnum};
use tempfile::SpooledTempFile;

use super::input::{self, Analysed};
use super::printer::PrintError;
use super::select::Selection;
use super::{Exit, InputArgs, Printer, Setup};
use crate::budget::analyse;
use crate::files;
use crate::files::write::{Compression, Encoded, Format, Losses, Packed};
use crate::model::Trace;
use crate::otlp::Limits;
use crate::store::parquet::SpanWriter;
use crate::store::whole::{Existing, Whole};

/// Bytes of written traces that wait in memory for their turn; more wait in a temporary file.
const WAITING: usize = 64 << 20;

/// `dwindle convert`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Formats:
  otlp-json   OTLP/JSON, a request a line and a trace in each, as the Collector's `file` exporter
              has it; log records that carry a span's ids follow their trace
  otlp-proto  OTLP protobuf, one `TracesData` (no lengths before messages)
  jaeger      the JSON of Jaeger's API and UI, one document
  parquet     the table `spans`, a row per span

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
    let format = plan.format;
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
        let piece = trace.map(|trace| spool.put(&trace, format.encode(&trace)));
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
            let written = spool.copy(&pieces, &plan, printer.out());
            written.map(drop).map_err(PrintError::from)?;
        }
        Out::Device(path) => {
            let open = fs::File::options().write(true).open(path);
            let written = open.and_then(|file| spool.copy(&pieces, &plan, file));
            written.map(drop).with_context(failed)?;
        }
        Out::File(path, existing) => {
            let file = Whole::create(path, *existing).with_context(failed)?;
            let written = spool.copy(&pieces, &plan, file);
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
    format: Format,
    /// What is written in the format is put into a table then.
    is_table: bool,
    compression: Compression,
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
        let format = match to {
            To::OtlpProto => Format::OtlpProto,
            To::Jaeger => Format::Jaeger,
            // For a table, traces wait for their turn in a form that keeps all of them.
            To::OtlpJson | To::Parquet => Format::OtlpJson,
        };
        let is_table = to == To::Parquet;
        if is_table && matches!(args.compress, Some(Compress::Gzip | Compress::Zstd)) {
            anyhow::bail!("Parquet is compressed inside; leave --compress out");
        }
        if is_table && guess.compress.is_some() {
            anyhow::bail!(
                "Parquet is compressed inside; let `{}` end in .parquet",
                path.display()
            );
        }
        let compression = match args.compress.or(guess.compress) {
            None | Some(Compress::None) => Compression::None,
            Some(Compress::Gzip) => Compression::Gzip,
            Some(Compress::Zstd) => Compression::Zstd,
        };
        let out = if is_stdout {
            Out::Stdout
        } else {
            place(path, args)?
        };
        Ok(Self {
            out,
            format,
            is_table,
            compression,
        })
    }

    fn name(&self) -> String {
        match &self.out {
            Out::Stdout => "standard output".to_owned(),
            Out::Device(path) | Out::File(path, _) => path.display().to_string(),
        }
    }

    fn summary(&self, traces: usize, spans: usize) -> String {
        let format = match self.format {
            _ if self.is_table => "Parquet, the table `spans`",
            Format::OtlpJson => "OTLP/JSON, a trace a line",
            Format::OtlpProto => "OTLP protobuf",
            Format::Jaeger => "Jaeger JSON",
        };
        let packed = match self.compression {
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

/// Written traces that wait for their turn: they are written by all cores, in any order.
struct Spool(Mutex<SpooledTempFile>);

/// A written trace in the spool.
struct Piece {
    at: u64,
    bytes: u64,
    spans: usize,
    losses: Losses,
}

impl Default for Spool {
    fn default() -> Self {
        Self(Mutex::new(SpooledTempFile::new(WAITING)))
    }
}

impl Spool {
    fn put(&self, trace: &Trace, encoded: Encoded) -> io::Result<Piece> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = file.stream_position()?;
        file.write_all(&encoded.bytes)?;
        Ok(Piece {
            at,
            bytes: encoded.bytes.len() as u64,
            spans: trace.spans.len(),
            losses: encoded.losses,
        })
    }

    /// Writes the pieces in their order, with what stands around them.
    fn copy<W: Write>(&self, pieces: &[Piece], plan: &Plan, out: W) -> io::Result<W> {
        if plan.is_table {
            return self.table(pieces, out);
        }
        let (format, compression) = (plan.format, plan.compression);
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = Packed::new(out, compression)?;
        let mut before = format.head();
        for piece in pieces {
            out.write_all(before.as_bytes())?;
            before = format.between();
            file.seek(SeekFrom::Start(piece.at))?;
            let copied = io::copy(&mut (&mut *file).take(piece.bytes), &mut out)?;
            if copied < piece.bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        out.write_all(format.tail().as_bytes())?;
        out.finish()
    }

    /// Reads the pieces back in their order and writes them as a table.
    fn table<W: Write>(&self, pieces: &[Piece], out: W) -> io::Result<W> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = SpanWriter::new(out)?;
        for piece in pieces {
            file.seek(SeekFrom::Start(piece.at))?;
            let mut text = Vec::new();
            (&mut *file).take(piece.bytes).read_to_end(&mut text)?;
            let read = files::load_bytes("a trace", &text, &Limits::default());
            if let Some(problem) = read.problems.first() {
                return Err(io::Error::other(problem.to_string()));
            }
            if read.spans != piece.spans as u64 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for trace in &read.traces {
                table.add(trace, None)?;
            }
        }
        table.finish()
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
