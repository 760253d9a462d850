//! `dwindle config`: what is set and by whom, whether a file is right, and what one looks like.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{Exit, Printer, warn_of_variables};
use crate::settings::{
    self, DEFINITIONS, Definition, Entry, Given, LISTINGS, Origin, Settings, Written, as_toml,
};

/// `dwindle config`.
#[derive(Debug, ClapArgs)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  dwindle config example > dwindle.toml
  dwindle config check dwindle.toml
  dwindle config show"
)]
pub struct ConfigArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub(super) command: ConfigCommand,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every setting with its value and where that came from
    #[command(after_help = "Examples:
  dwindle config show
  dwindle config show --config staging.toml
  DWINDLE_QUIET=5s dwindle config show --format json | jq '.settings[] | select(.source != \"default\")'")]
    Show(ShowArgs),
    /// Tell everything that is wrong with a configuration file
    #[command(after_help = "Examples:
  dwindle config check dwindle.toml")]
    Check(CheckArgs),
    /// Print a configuration file with every setting, commented out
    #[command(after_help = "Examples:
  dwindle config example > dwindle.toml")]
    Example,
}

/// `dwindle config show`.
#[derive(Debug, ClapArgs)]
pub(super) struct ShowArgs {
    /// A table for people, or one JSON object
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ShowFormat::Table)]
    format: ShowFormat,
}

/// How `dwindle config show` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    /// Columns for people.
    Table,
    /// One JSON object.
    Json,
}

/// `dwindle config check`.
#[derive(Debug, ClapArgs)]
pub(super) struct CheckArgs {
    /// The configuration file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(
    args: &ConfigArgs,
    named: Option<&Path>,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    match &args.command {
        ConfigCommand::Show(args) => {
            let settings = settings::load(named, &|_| None, &settings::environment)?;
            warn_of_variables(printer);
            match args.format {
                ShowFormat::Table => table(&settings, printer)?,
                ShowFormat::Json => printer.line(&format!("{:#}", object(&settings)))?,
            }
        }
        // The file alone: what the environment says is no matter of it.
        ConfigCommand::Check(args) => {
            settings::load(Some(&args.file), &|_| None, &|_| None)?;
            printer.line(&format!("{} is right", args.file.display()))?;
        }
        ConfigCommand::Example => printer.data(&settings::example())?,
    }
    Ok(Exit::Done)
}

fn table(settings: &Settings, printer: &mut Printer) -> anyhow::Result<()> {
    let mut rows: Vec<[String; 3]> = vec![["setting", "value", "from"].map(str::to_owned)];
    for (definition, given) in settings_of(settings) {
        rows.push([
            definition.name(),
            as_toml(definition.form.written, &given.text),
            from(&given.origin),
        ]);
    }
    for entry in &settings.entries {
        let values: Vec<String> = fields(entry)
            .map(|(key, written, text)| format!("{key} = {}", as_toml(written, text)))
            .collect();
        rows.push([
            format!("[[{}]]", entry.listing),
            values.join(", "),
            from(&Origin::File(entry.place.clone())),
        ]);
    }
    // Values are of any length: they come last.
    let widths = [0, 2].map(|column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    });
    for [name, value, from] in &rows {
        let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(width(text)));
        let [first, second] = widths;
        let (after_name, after_from) = (pad(name, first), pad(from, second));
        printer.line(&format!("{name}{after_name}  {from}{after_from}  {value}"))?;
    }
    let file = settings.file.as_deref();
    printer.say(&file.map_or_else(
        || "no configuration file was found; `dwindle config example` prints one".to_owned(),
        |file| format!("configuration file: {file}"),
    ));
    Ok(())
}

fn object(settings: &Settings) -> Value {
    let rows = settings_of(settings).map(|(definition, given)| {
        let mut row = json!({
            "name": definition.name(),
            "value": value(definition.form.written, &given.text),
            "default": value(definition.form.written, definition.default),
            "variable": definition.variable(),
            "flag": definition.is_flag().then(|| format!("--{}", definition.flag())),
        });
        merge(&mut row, source(&given.origin));
        row
    });
    let rows: Vec<Value> = rows.collect();
    let mut object = json!({ "file": settings.file.as_deref(), "settings": rows });
    for listing in LISTINGS {
        let own = settings.entries.iter();
        let entries = own.filter(|entry| entry.listing == listing.name);
        let entries: Vec<Value> = entries
            .map(|entry| {
                let mut row = source(&Origin::File(entry.place.clone()));
                let values = fields(entry)
                    .map(|(key, written, text)| (key.to_owned(), value(written, text)));
                merge(&mut row, Value::Object(values.collect()));
                row
            })
            .collect();
        merge(&mut object, json!({ listing.name: entries }));
    }
    object
}

fn settings_of(settings: &Settings) -> impl Iterator<Item = (&'static Definition, &Given)> {
    DEFINITIONS.iter().zip(&settings.given)
}

/// Key, form and text of what an entry says, in the order of the definition.
fn fields(entry: &Entry) -> impl Iterator<Item = (&'static str, Written, &str)> {
    let listing = LISTINGS
        .iter()
        .filter(|listing| listing.name == entry.listing);
    listing
        .flat_map(|listing| listing.fields)
        .filter_map(|field| Some((field.key, field.form.written, entry.get(field.key)?)))
}

fn value(written: Written, text: &str) -> Value {
    let items = || {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
    };
    match written {
        Written::Text | Written::TextOrInteger => json!(text.trim()),
        Written::Integer => text
            .replace('_', "")
            .trim()
            .parse::<u64>()
            .map_or(Value::Null, Value::from),
        Written::Switch => json!(as_toml(written, text) == "true"),
        Written::List => json!(items().collect::<Vec<_>>()),
        Written::Table => {
            let pairs = items().filter_map(|pair| pair.split_once('='));
            pairs
                .map(|(key, value)| (key.trim().to_owned(), json!(value.trim())))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}

fn from(origin: &Origin) -> String {
    match origin {
        Origin::Flag(name) => format!("flag {name}"),
        Origin::Environment(name) => format!("environment {name}"),
        Origin::File(place) => format!("{}:{}", place.file, place.line),
        Origin::Default => "default".to_owned(),
    }
}

fn source(origin: &Origin) -> Value {
    let (source, line) = match origin {
        Origin::Flag(_) => ("flag", None),
        Origin::Environment(_) => ("environment", None),
        Origin::File(place) => ("file", Some(place.line)),
        Origin::Default => ("default", None),
    };
    json!({ "source": source, "line": line })
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}
