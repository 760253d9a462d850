//! Where traces are written to, in which format.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args as ClapArgs, ValueEnum};

use crate::cli::printer::PrintError;
use crate::cli::{Printer, signals};
use crate::files::write::{Compression, Format};
use crate::store::whole::{Existing, Whole};

/// What to write, and where to.
#[derive(Debug, Clone, ClapArgs)]
pub struct TargetArgs {
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

/// What is written.
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

/// How it is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compress {
    /// Not at all.
    None,
    /// As `gzip` does.
    Gzip,
    /// As `zstd` does.
    Zstd,
}

/// What is to be written, and where to.
pub(in crate::cli) struct Target {
    pub(in crate::cli) out: Out,
    pub(in crate::cli) form: Form,
}

/// What is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Form {
    /// Traces one behind another, with text around them.
    Traces(Format, Compression),
    /// Tables.
    Parquet,
}

pub(in crate::cli) enum Out {
    Stdout,
    /// A pipe or a device, which cannot be replaced.
    Device(PathBuf),
    File(PathBuf, Existing),
}

/// What is to be written, as far as arguments and the name of the file tell.
pub(in crate::cli) fn form(args: &TargetArgs) -> anyhow::Result<Form> {
    let path = &args.output;
    let is_stdout = path.as_os_str() == "-";
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
    Ok(match to {
        To::OtlpJson => Form::Traces(Format::OtlpJson, compression),
        To::OtlpProto => Form::Traces(Format::OtlpProto, compression),
        To::Jaeger => Form::Traces(Format::Jaeger, compression),
        To::Parquet if compression == Compression::None => Form::Parquet,
        To::Parquet => {
            anyhow::bail!("Parquet is compressed inside; leave --compress, .gz and .zst out")
        }
    })
}

impl Target {
    /// A file or stdout; not one of `inputs`.
    pub(in crate::cli) fn of(args: &TargetArgs, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let path = &args.output;
        if path.is_dir() {
            anyhow::bail!("{} is a directory; name a file in it", path.display());
        }
        let form = form(args)?;
        let out = if path.as_os_str() == "-" {
            Out::Stdout
        } else {
            place(path, args.force, inputs)?
        };
        Ok(Self { out, form })
    }

    pub(in crate::cli) fn name(&self) -> String {
        match &self.out {
            Out::Stdout => "standard output".to_owned(),
            Out::Device(path) | Out::File(path, _) => path.display().to_string(),
        }
    }

    /// Lets `write` write; a file is whole afterwards, or as it was before.
    pub(in crate::cli) fn write(
        &self,
        printer: &mut Printer,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let failed = || format!("cannot write {}", self.name());
        match &self.out {
            // A reader who has left is no failure: the printer knows.
            Out::Stdout => write(printer.out()).map_err(PrintError::from)?,
            Out::Device(path) => {
                let open = fs::File::options().write(true).open(path);
                open.and_then(|mut file| write(&mut file))
                    .with_context(failed)?;
            }
            Out::File(path, existing) => {
                signals::clean_up();
                let mut file = Whole::create(path, *existing).with_context(failed)?;
                let written = write(&mut file);
                written.and_then(|()| file.finish()).with_context(failed)?;
            }
        }
        Ok(())
    }
}

impl Form {
    /// What it is called; `tables` are the tables.
    pub(in crate::cli) fn describe(self, tables: &str) -> String {
        let (format, packed) = match self {
            Self::Traces(Format::OtlpJson, packed) => ("OTLP/JSON, a trace a line", packed),
            Self::Traces(Format::OtlpProto, packed) => ("OTLP protobuf", packed),
            Self::Traces(Format::Jaeger, packed) => ("Jaeger JSON", packed),
            Self::Parquet => (tables, Compression::None),
        };
        let packed = match packed {
            Compression::None => "",
            Compression::Gzip => ", gzip",
            Compression::Zstd => ", zstd",
        };
        format!("{format}{packed}")
    }
}

/// `1 trace, 7 spans`.
pub(in crate::cli) fn counted(traces: usize, spans: usize) -> String {
    let s = |count| if count == 1 { "" } else { "s" };
    format!("{traces} trace{}, {spans} span{}", s(traces), s(spans))
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
fn place(path: &Path, force: bool, inputs: &[PathBuf]) -> anyhow::Result<Out> {
    let name = path.display();
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(Out::File(path.to_owned(), Existing::Keep));
    };
    if !metadata.is_file() {
        return Ok(Out::Device(path.to_owned()));
    }
    let out = fs::canonicalize(path).with_context(|| format!("cannot find {name}"))?;
    if inputs.iter().any(|file| holds(file, &out)) {
        anyhow::bail!("{name} is one of the inputs; write to another file");
    }
    if !force {
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
