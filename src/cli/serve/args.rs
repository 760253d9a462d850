//! What can be typed after `dwindle serve`: a flag for each setting that the server has.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

use crate::settings::{DEFINITIONS, Definition, Written};

const EXAMPLES: &str = "Each option can be set in dwindle.toml, too (`dwindle config example` \
prints one), and by an environment variable: --grpc-addr by DWINDLE_GRPC_ADDR, and so on. An \
option wins over a variable, a variable over the file.

Examples:
  dwindle serve
  dwindle serve --data /var/lib/dwindle --retain-for 90d --retain-bytes 200GiB
  dwindle serve --grpc-addr 0.0.0.0:4317 --no-samples
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 your-service";

/// `dwindle serve`. Everything is a text here; `settings` knows what it means, and defines each
/// flag.
#[derive(Debug, Default)]
pub struct ServeArgs {
    given: BTreeMap<&'static str, String>,
}

impl ServeArgs {
    /// What was typed for a setting.
    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.given.get(key).cloned()
    }
}

fn flags() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().filter(|definition| definition.is_flag())
}

impl clap::Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        let args = flags().map(arg);
        command.args(args).after_help(EXAMPLES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn arg(definition: &Definition) -> Arg {
    let arg = Arg::new(definition.key).long(definition.flag());
    let summary = definition.summary();
    let arg = match definition.section {
        "store" => arg.help_heading("Store"),
        "assembly" => arg.help_heading("Assembly"),
        "limits" => arg.help_heading("Limits"),
        _ => arg,
    };
    if definition.form.written == Written::Switch {
        return arg.action(ArgAction::SetTrue).help(summary);
    }
    let default = match definition.default {
        "" => "none",
        default => default,
    };
    arg.value_name(definition.form.placeholder)
        .help(format!("{summary} [default: {default}]"))
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for definition in flags() {
            let text = if definition.form.written == Written::Switch {
                matches.get_flag(definition.key).then(|| "true".to_owned())
            } else {
                matches.get_one::<String>(definition.key).cloned()
            };
            self.given.extend(text.map(|text| (definition.key, text)));
        }
        Ok(())
    }
}
