//! `dwindle filter`: the filter language, explained from its own table of fields.

use clap::Args as ClapArgs;

use super::{Exit, ListArgs, ListFormat, Printer, list};
use crate::query::filter::{SYNTAX, catalog, word_lists};
use crate::report::paragraph;

/// `dwindle filter`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle filter
  dwindle filter --format ndjson | jq -r .field")]
pub struct FilterArgs {
    /// How the fields are printed.
    #[command(flatten)]
    pub list: ListArgs,
}

pub(super) fn run(args: &FilterArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let sheet = catalog();
    let by = list::order(&args.list, sheet.columns)?;
    let look = printer.look();
    let for_people = args.list.format == ListFormat::Table;
    if for_people {
        for (example, words) in SYNTAX {
            printer.line(example)?;
            printer.data(&paragraph(words, 4, look))?;
        }
        printer.line("")?;
    }
    list::print(sheet, by, &args.list, "", printer)?;
    if for_people {
        for (fields, words) in word_lists() {
            printer.line("")?;
            printer.data(&paragraph(
                &format!("{} is one of", fields.join(", ")),
                0,
                look,
            ))?;
            printer.data(&paragraph(&words.join(", "), 4, look))?;
        }
    }
    Ok(Exit::Done)
}
