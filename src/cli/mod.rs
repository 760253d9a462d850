//! The command line: arguments, exit codes, and which module does what for them.
//!
//! **Invariant**: stdout is data and stderr is talk, and only [`printer`] prints. Exit codes: 0 all
//! was done (also when the reader of stdout left early), 2 something kept the command from doing
//! all that it was asked.

mod args;
mod config;
mod convert;
mod data;
mod diff;
mod filter;
mod import;
mod input;
mod list;
mod overview;
mod printer;
mod progress;
mod select;
mod serve;
mod shell;
mod signals;
mod sql;
mod store;
mod trace;
mod traces;
mod waiting;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

pub use args::{
    Args, Color, Command, InputArgs, LookArgs, SourceArgs, TraceArgs, TraceFormat, TracesArgs,
};
pub use config::ConfigArgs;
pub use convert::{Compress, ConvertArgs, TargetArgs, To};
pub use diff::DiffArgs;
pub use filter::FilterArgs;
pub use import::ImportArgs;
pub use overview::OverviewArgs;
pub use printer::Printer;
pub use select::{ListArgs, ListFormat, SelectArgs};
pub use serve::ServeArgs;
pub use shell::{CompletionsArgs, ManArgs};
pub use sql::SqlArgs;
pub use store::StoreArgs;

use crate::budget::{Policy, Typical};
use crate::model::{Nanos, UnixNanos};
use crate::otlp::Limits;
use crate::query::calls::{self, Calls};
use crate::query::hops::{self, Hops};
use crate::query::rules::{self, Findings};
use crate::settings::{self, Settings, Values};
use crate::store::Store;
use crate::telemetry::clock;
use printer::PrintError;

/// How a command that ran to its end went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked is done.
    Done,
    /// Something was refused or unreadable; what is good was printed.
    Partial,
}

/// What every command is told by the configuration.
#[derive(Debug, Default)]
struct Setup {
    /// Thresholds and rules of the analysis.
    policy: Policy,
    /// Median times, where they are known.
    typical: Typical,
    /// Of so long before the newest request the runs tell typical times in a store.
    typical_window: Nanos,
    /// What reading a file may cost.
    limits: Limits,
}

impl Setup {
    fn of(settings: &Settings) -> Self {
        let files = &settings.values.files;
        Self {
            policy: settings.policy.clone(),
            typical: Typical::default(),
            typical_window: typical_window(&settings.values),
            limits: Limits {
                max_document_bytes: size(*files.max_document_bytes),
                max_inflated_bytes: *files.max_inflated_bytes,
                max_held_bytes: size(*files.max_held_bytes),
                ..Limits::default()
            },
        }
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

/// Of so long before the newest request the runs tell typical times; 0 stands for all time.
fn typical_window(values: &Values) -> Nanos {
    match nanos(*values.store.typical_window) {
        Nanos::ZERO => Nanos::MAX,
        window => window,
    }
}

/// Learns what runs take typically from the summaries that are there, as a server does: what is
/// read back is then analysed as it would be there. Without them it is analysed all the same.
fn learn(store: &Store, window: Nanos) {
    let now = UnixNanos(clock::unix_nanos());
    if let Err(error) = store.learn(now, window, false) {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(error, "no typical times");
    }
}

/// Runs the command that was typed.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are data and end with 0; a closed pipe under them is no failure.
            error.print().ok();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut printer = Printer::new(args.look);
    let result = run(&args, &mut printer);
    let result = result.and_then(|exit| {
        printer.finish()?;
        Ok(exit)
    });
    match result {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Partial) => ExitCode::from(2),
        Err(error) if is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What was printed before the fault still goes out; a second fault adds nothing.
            printer.finish().ok();
            for line in format!("error: {error:#}").lines() {
                printer.say(line);
            }
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<Exit> {
    let named = args.config.as_deref();
    let setup = || -> anyhow::Result<Setup> {
        let settings = settings::load(named, &|_| None, &settings::environment)?;
        Ok(Setup::of(&settings))
    };
    match &args.command {
        Command::Serve(args) => serve::run(args, named, printer),
        Command::Trace(args) => trace::run(args, &setup()?, printer),
        Command::Traces(args) => traces::run(args, &setup()?, printer),
        Command::Hops(args) => {
            overview::run::<Hops>(args, hops::COLUMNS, "no hops", &setup()?, printer)
        }
        Command::Calls(args) => {
            overview::run::<Calls>(args, calls::COLUMNS, "no calls", &setup()?, printer)
        }
        Command::Findings(args) => {
            overview::run::<Findings>(args, rules::COLUMNS, "no findings", &setup()?, printer)
        }
        Command::Diff(args) => diff::run(args, &setup()?, printer),
        Command::Sql(args) => sql::run(args, &setup()?, printer),
        Command::Filter(args) => filter::run(args, printer),
        Command::Convert(args) => convert::run(args, &setup()?, printer),
        Command::Import(args) => import::run(args, named, printer),
        Command::Store(args) => store::run(args, named, printer),
        Command::Config(args) => config::run(args, named, printer),
        Command::Completions(args) => shell::completions(args, printer),
        Command::Man(args) => shell::man(args, printer),
    }
}

/// Names variables that were probably meant to set something.
fn warn_of_variables(printer: &Printer) {
    for (name, meant) in settings::misspelt(&settings::environment_names()) {
        printer.say(&format!(
            "note: {name} is set and sets nothing; did you mean {meant}?"
        ));
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn is_closed(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(PrintError::Closed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_set_is_what_the_modules_do_by_themselves() {
        let settings = settings::resolve(None, &|_| None, &|_| None).unwrap();
        let setup = Setup::of(&settings);
        assert_eq!(setup.limits, Limits::default());
        assert_eq!(setup.policy, Policy::default());
        let assembly = serve::assembly(&settings.values);
        assert_eq!(assembly, crate::ingest::Config::default());
        let log = serve::keep::log(&settings);
        assert_eq!(log, crate::ingest::log::Options::default());
        assert_eq!(serve::keep::pace(&settings), crate::ingest::Pace::default());
        let (own, default) = (store::options(&settings), crate::store::Options::default());
        assert_eq!(own.compaction, default.compaction);
        assert_eq!(own.grace, default.grace);
    }
}
