//! The command line, exactly as it is typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use super::config::ConfigArgs;
use super::convert::ConvertArgs;
use super::diff::DiffArgs;
use super::filter::FilterArgs;
use super::import::ImportArgs;
use super::overview::OverviewArgs;
use super::select::{ListArgs, SelectArgs};
use super::serve::ServeArgs;
use super::shell::{CompletionsArgs, ManArgs};
use super::sql::SqlArgs;
use super::store::StoreArgs;

/// Shows where a request's time budget went, hop by hop, and which hop used it up.
#[derive(Debug, Parser)]
#[command(
    name = "dwindle",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Examples:
  dwindle serve                       receive spans, show them on http://127.0.0.1:4319
  dwindle trace checkout.otlp.json    draw where each request's time went
  dwindle traces spans.ndjson         list the requests, a line each
  dwindle sql 'SELECT …' spans.ndjson ask them in SQL"
)]
pub struct Args {
    /// How the output looks.
    #[command(flatten)]
    pub look: LookArgs,
    /// Read this configuration file [default: the variable `DWINDLE_CONFIG`, `./dwindle.toml`, or
    /// `~/.config/dwindle/dwindle.toml`, if there is one]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Configuration"
    )]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How the output looks.
#[derive(Debug, Clone, Copy, ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct LookArgs {
    /// When to colour: `auto` is on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Columns to draw in [default: the terminal's, 100 into a pipe]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=2000))]
    pub width: Option<u16>,
    /// Draw with ASCII characters only
    #[arg(long, global = true)]
    pub ascii: bool,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless the environment asks otherwise.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Receive OTLP and show the requests on a web page
    Serve(Box<ServeArgs>),
    /// Draw the budget waterfall of each request in trace files
    Trace(TraceArgs),
    /// List the requests in trace files, a line each
    Traces(TracesArgs),
    /// Sum up the hops of many requests: a line per service and operation
    #[command(after_help = "Examples:
  dwindle hops spans.ndjson
  dwindle hops spans.ndjson --where 'operation = \"POST /checkout\"' --sort -local_p99
  dwindle hops *.json.gz --since 1h --format csv > hops.csv

Percentiles are nearest ranks: times that were measured. JSON and CSV have more columns.")]
    Hops(OverviewArgs),
    /// Sum up the calls of many requests: a line per caller, callee and operation
    #[command(after_help = "Examples:
  dwindle calls spans.ndjson
  dwindle calls spans.ndjson --where 'call.to=postgresql' --sort -elapsed_p99
  dwindle calls spans.ndjson --format json | jq '.[] | select(.retries_per_call > 0.1)'")]
    Calls(OverviewArgs),
    /// Sum up the findings of many requests, the worst first
    #[command(after_help = "Examples:
  dwindle findings spans.ndjson
  dwindle findings spans.ndjson --where 'finding.severity=error' --format markdown
  dwindle findings spans.ndjson --sort -requests --limit 5")]
    Findings(OverviewArgs),
    /// Compare two traces, or two files of many: who spends more than before
    Diff(DiffArgs),
    /// Ask the requests, hops, calls and spans in trace files with SQL
    Sql(SqlArgs),
    /// Explain the filter language of --where, with all its fields
    Filter(FilterArgs),
    /// Write traces in another format: OTLP, Jaeger JSON, Parquet
    Convert(ConvertArgs),
    /// Read trace files into the folder that `serve` keeps requests in
    Import(ImportArgs),
    /// Look after the folder that `serve` keeps requests in: verify, compact, prune, stats, export
    Store(StoreArgs),
    /// Show or check the configuration, or print an example of it
    Config(ConfigArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
}

/// What a command over files or a store reads.
#[derive(Debug, Clone, ClapArgs)]
pub struct SourceArgs {
    /// Trace files; `-` is stdin
    #[arg(required_unless_present = "data", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Instead of files, the folder in which `dwindle serve` keeps what it receives; it may be
    /// running
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub data: Option<PathBuf>,
    /// Only the trace with this id, or with the only id that begins so (4 hex digits or more)
    #[arg(long, value_name = "HEX", value_parser = parse_prefix)]
    pub id: Option<String>,
    /// Which of the requests.
    #[command(flatten)]
    pub select: SelectArgs,
}

impl SourceArgs {
    /// The files.
    pub(super) fn input(&self) -> InputArgs {
        InputArgs {
            files: self.files.clone(),
            id: self.id.clone(),
            select: self.select.clone(),
        }
    }
}

/// What a command over files reads.
#[derive(Debug, Clone, ClapArgs)]
pub struct InputArgs {
    /// Trace files; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only the trace with this id, or with the only id that begins so (4 hex digits or more)
    #[arg(long, value_name = "HEX", value_parser = parse_prefix)]
    pub id: Option<String>,
    /// Which of the requests.
    #[command(flatten)]
    pub select: SelectArgs,
}

/// `dwindle trace`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle trace checkout.otlp.json
  dwindle trace spans.ndjson.gz --id 7ac30b9e
  dwindle trace --data /var/lib/dwindle --id 7ac30b9e
  kubectl exec deploy/collector -- cat /data/traces.json | dwindle trace - --format json")]
pub struct TraceArgs {
    /// What to read.
    #[command(flatten)]
    pub input: SourceArgs,
    /// Text for people, or JSON: one object a line per request
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = TraceFormat::Text)]
    pub format: TraceFormat,
}

/// How `dwindle trace` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// The waterfall, drawn.
    Text,
    /// One JSON object a line.
    Json,
}

/// `dwindle traces`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle traces spans.ndjson
  dwindle traces spans.ndjson --where 'outcome=missed and wasted > 200ms' --sort -wasted --limit 20
  dwindle traces *.json --since 15m --format csv > requests.csv
  dwindle traces --data /var/lib/dwindle --since 1h --sort -wasted
  zstdcat traces.zst | dwindle traces - --format ndjson | jq 'select(.outcome == \"missed\")'

Of a store the newest 1,000 are listed, or the first 1,000 by --sort, unless --limit says otherwise.")]
pub struct TracesArgs {
    /// What to read.
    #[command(flatten)]
    pub input: SourceArgs,
    /// How the list is printed.
    #[command(flatten)]
    pub list: ListArgs,
}

/// A trace id or the beginning of one, as lower-case hex digits.
pub(super) fn parse_prefix(text: &str) -> Result<String, String> {
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("a trace id has hex digits only".to_owned());
    }
    match text.len() {
        0..4 => Err("at least 4 hex digits are needed".to_owned()),
        4..=32 => Ok(text.to_ascii_lowercase()),
        more => Err(format!("a trace id has 32 hex digits, not {more}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_tree_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn an_id_is_four_to_thirty_two_hex_digits() {
        assert_eq!(parse_prefix("4BF9"), Ok("4bf9".to_owned()));
        assert!(parse_prefix("4bf").is_err());
        assert!(parse_prefix("4bfg").is_err());
        assert!(parse_prefix(&"a".repeat(33)).is_err());
    }
}
