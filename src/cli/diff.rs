//! `dwindle diff`: who spends more than before.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args as ClapArgs;

use super::data::Data;
use super::overview::Shards;
use super::select::Selection;
use super::{Exit, InputArgs, ListArgs, Printer, SelectArgs, Setup, args, input, learn, list};
use crate::query::diff::{OF_SETS, OF_TRACES, Spent, columns, compare};
use crate::query::number;

/// `dwindle diff`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  dwindle diff yesterday.ndjson today.ndjson
  dwindle diff 7ac30b9e 91f04c22 spans.ndjson
  dwindle diff 7ac30b9e 91f04c22 --data /var/lib/dwindle
  dwindle diff before.json after.json --where 'service=checkout' --format markdown")]
pub struct DiffArgs {
    /// What was: a trace file, or a trace id (or its only beginning) in the files
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// What is: a trace file, or a trace id in the files
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Trace files in which to look for the ids
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Instead of files, the folder in which `dwindle serve` keeps what it receives; it may be
    /// running
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub data: Option<PathBuf>,
    /// Which of the requests.
    #[command(flatten)]
    pub select: SelectArgs,
    /// How the list is printed.
    #[command(flatten)]
    pub list: ListArgs,
}

pub(super) fn run(args: &DiffArgs, setup: &Setup, printer: &mut Printer) -> anyhow::Result<Exit> {
    let selection = Selection::of(&args.select, printer)?;
    // Which columns there are depends on what was read, so a name may be one of either.
    if list::order(&args.list, OF_SETS).is_err() {
        list::order(&args.list, OF_TRACES)?;
    }
    let [before, after] = [&args.before, &args.after];
    let ((before, first), (after, second)) = if let Some(folder) = &args.data {
        let data = Data::open(folder, setup, printer)?;
        learn(data.store(), setup.typical_window);
        let [before, after] = [before, after].map(|side| stored(side, &data, &selection));
        let exit = data.exit(printer);
        ((before?, exit), (after?, exit))
    } else {
        let [before, after] = [before, after].map(|side| side_of(side, args));
        (
            spent(&before?, &selection, setup, printer)?,
            spent(&after?, &selection, setup, printer)?,
        )
    };
    for (side, spent) in [(&args.before, &before), (&args.after, &after)] {
        if spent.requests() == 0 {
            bail!(
                "`{}` has no request to compare; {}",
                side.display(),
                selection.nothing()
            );
        }
    }
    let by = list::order(&args.list, columns(&before, &after))?;
    if let (Some(was), Some(is)) = (before.mean_elapsed(), after.mean_elapsed()) {
        let side = |spent: &Spent, elapsed| {
            let requests = usize::try_from(spent.requests()).unwrap_or(usize::MAX);
            let of = number::counted(requests, "request", "requests");
            format!("{of} of {} on average", number::ms_unit(elapsed))
        };
        let (was, is) = (side(&before, was), side(&after, is));
        printer.say(&format!("before: {was}; after: {is}").replace(number::NBSP, " "));
    }
    list::print(
        compare(before, after),
        by,
        &args.list,
        "nothing was spent",
        printer,
    )?;
    Ok(if first == Exit::Done { second } else { first })
}

/// What the trace that a side names spent, from a store.
fn stored(side: &Path, data: &Data, selection: &Selection) -> anyhow::Result<Spent> {
    let prefix = side.to_str().and_then(|text| args::parse_prefix(text).ok());
    let Some(prefix) = prefix else {
        bail!(
            "`{}` is no trace id; of a store two traces are compared by their ids",
            side.display()
        );
    };
    let stored = data.store().get(data.pick(&prefix)?)?;
    let requests = stored.iter().flat_map(|stored| &stored.analysis.requests);
    let mut spent = Spent::default();
    spent.add(requests.filter(|request| selection.takes(request)));
    Ok(spent)
}

/// What a side is read from.
fn side_of(side: &Path, args: &DiffArgs) -> anyhow::Result<InputArgs> {
    let input = |files: Vec<PathBuf>, id| InputArgs {
        files,
        id,
        select: SelectArgs::default(),
    };
    let prefix = side.to_str().and_then(|text| args::parse_prefix(text).ok());
    match (prefix, args.files.as_slice()) {
        (Some(id), [_, ..]) if !side.exists() => Ok(input(args.files.clone(), Some(id))),
        (Some(id), []) if !side.exists() => {
            bail!("`{id}` is a trace id: name the files that have the trace after the two ids")
        }
        (_, []) => Ok(input(vec![side.to_owned()], None)),
        _ => bail!(
            "`{}` is no trace id; compare two ids in the files, or two files and no others",
            side.display()
        ),
    }
}

fn spent(
    input: &InputArgs,
    selection: &Selection,
    setup: &Setup,
    printer: &Printer,
) -> anyhow::Result<(Spent, Exit)> {
    let sums = Shards::<Spent>::new();
    let read = input::analysed(input, setup, printer, |_, analysis| {
        let requests = analysis.requests.iter();
        sums.one()
            .add(requests.filter(|request| selection.takes(request)));
        Vec::<()>::new()
    })?;
    let mut spent = Spent::default();
    sums.into_parts().for_each(|part| spent.merge(part));
    Ok((spent, read.exit))
}
