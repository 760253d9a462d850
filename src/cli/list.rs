//! What `hops`, `calls`, `findings`, `diff` and `filter` share: a sheet, sorted, cut and printed.

use super::select::say_cut;
use super::{ListArgs, ListFormat, Printer};
use crate::query::sheet::{ByColumn, Column, Sheet};
use crate::report::sheet;

/// The order that was asked for; checked before any file is read.
pub(super) fn order(
    args: &ListArgs,
    columns: &'static [Column],
) -> anyhow::Result<Option<ByColumn>> {
    let by = args
        .sort
        .as_ref()
        .map(|wanted| ByColumn::of(columns, wanted));
    by.transpose()
        .map_err(|error| anyhow::anyhow!("--sort: {error}"))
}

/// Prints a sheet in its own order or the one that was asked for; says what a limit or the width
/// cut. `nothing` is said of a table without rows.
pub(super) fn print(
    mut rows: Sheet,
    by: Option<ByColumn>,
    args: &ListArgs,
    nothing: &str,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if let Some(by) = by {
        rows.sort(by);
    }
    let all = rows.rows.len();
    if let Some(Ok(limit)) = args.limit.map(usize::try_from) {
        rows.rows.truncate(limit);
    }
    match args.format {
        ListFormat::Table => {
            let drawn = sheet::table(&rows, printer.look());
            for line in &drawn.lines {
                printer.line(line)?;
            }
            if !drawn.left_out.is_empty() && all > 0 {
                let heads = drawn.left_out.join(", ");
                printer.say(&format!(
                    "left out for want of width: {heads}; --width 200 shows them"
                ));
            }
        }
        ListFormat::Markdown => {
            for line in sheet::markdown(&rows) {
                printer.line(&line)?;
            }
        }
        ListFormat::Ndjson => {
            for line in sheet::json(&rows) {
                printer.line(&line)?;
            }
        }
        ListFormat::Json => printer.array(sheet::json(&rows))?,
        ListFormat::Csv => {
            for record in sheet::csv(&rows) {
                printer.data(&record)?;
            }
        }
    }
    if rows.rows.len() < all {
        say_cut(printer, rows.rows.len(), &all.to_string());
    }
    if all == 0 && args.format == ListFormat::Table {
        printer.say(nothing);
    }
    Ok(())
}
