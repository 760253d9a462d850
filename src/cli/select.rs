//! Which requests a command over files looks at, in which order, and how many.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use clap::{Args as ClapArgs, ValueEnum};

use super::data::Data;
use super::printer::Printer;
use crate::model::{Request, UnixNanos};
use crate::query::filter::{Filter, instant};
use crate::query::order::Wanted;
use crate::query::scan;
use crate::report::marked;
use crate::store::Window;
use crate::telemetry::clock;

/// Which requests.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Which requests")]
pub struct SelectArgs {
    /// Only requests like this: `outcome=missed and culprit.service=pricing and wasted > 200ms`.
    /// Given more than once, all must hold. `dwindle filter` explains the language
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub filters: Vec<String>,
    /// Only requests that started then or later: 2026-10-07T09:00:00Z, 2026-10-07 (UTC), or 15m
    /// for that long ago
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Only requests that started before
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
}

/// How a list is printed.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct ListArgs {
    /// A table for people, one JSON array, one JSON object a line, CSV with a header, or a
    /// Markdown table
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Table)]
    pub format: ListFormat,
    /// Sort by this field, the smallest first; FIELD:desc or -FIELD for the largest first
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    pub sort: Option<Wanted>,
    /// Print the first N only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
}

/// How lists are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Columns for people.
    Table,
    /// One JSON array.
    Json,
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
    /// A Markdown table.
    Markdown,
}

/// Which requests are looked at; counts those that it is asked of.
#[derive(Debug, Default)]
pub(super) struct Selection {
    filters: Vec<Filter>,
    since: Option<UnixNanos>,
    until: Option<UnixNanos>,
    seen: AtomicUsize,
    taken: AtomicUsize,
}

impl Selection {
    /// What was typed, checked. Times like `15m` count back from now.
    pub(super) fn of(args: &SelectArgs, printer: &Printer) -> anyhow::Result<Self> {
        let now = UnixNanos(clock::unix_nanos());
        let mut filters = Vec::new();
        for text in &args.filters {
            match Filter::parse_at(text, now) {
                Ok(filter) => filters.push(filter),
                Err(error) => {
                    let place = marked(error.parts(text), printer.look().width.saturating_sub(2));
                    bail!("--where: {error}\n  {}", place.replace('\n', "\n  "));
                }
            }
        }
        let since = time("--since", args.since.as_deref(), now)?;
        let until = time("--until", args.until.as_deref(), now)?;
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            bail!("--since {since} is not before --until {until}; nothing lies between");
        }
        Ok(Self {
            filters,
            since,
            until,
            ..Self::default()
        })
    }

    /// True when every request is one of them.
    pub(super) fn is_all(&self) -> bool {
        self.filters.is_empty() && self.since.is_none() && self.until.is_none()
    }

    /// The same over a store; with `id` only those of the trace whose id begins so.
    pub(super) fn of_store(
        &self,
        data: &Data,
        id: Option<&str>,
    ) -> anyhow::Result<scan::Selection> {
        let mut all = self.over_store();
        if let Some(prefix) = id {
            let trace = data.pick(prefix)?;
            let of_trace = Filter::parse(&format!("trace_id={trace}"))?;
            all.filter = Filter::all(all.filter.into_iter().chain([of_trace]).collect());
        }
        Ok(all)
    }

    /// The same over a store.
    pub(super) fn over_store(&self) -> scan::Selection {
        scan::Selection {
            filter: Filter::all(self.filters.clone()),
            window: self.window(),
        }
    }

    /// The stretch of time in which they begin.
    pub(super) fn window(&self) -> Window {
        Window {
            since: self.since,
            until: self.until,
        }
    }

    /// Whether a request is one of them.
    pub(super) fn takes(&self, request: &Request) -> bool {
        self.seen.fetch_add(1, Ordering::Relaxed);
        let takes = self.since.is_none_or(|since| request.start >= since)
            && self.until.is_none_or(|until| request.start < until)
            && self.filters.iter().all(|filter| filter.matches(request));
        self.taken.fetch_add(usize::from(takes), Ordering::Relaxed);
        takes
    }

    /// Whether any request was one of them.
    pub(super) fn took_any(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > 0
    }

    /// What to say when nothing was printed.
    pub(super) fn nothing(&self) -> String {
        match self.seen.load(Ordering::Relaxed) {
            0 => "no requests in what was read".to_owned(),
            1 => "the only request that was read is none of those asked for".to_owned(),
            seen => format!("none of the {seen} requests that were read is one of those asked for"),
        }
    }
}

fn time(flag: &str, text: Option<&str>, now: UnixNanos) -> anyhow::Result<Option<UnixNanos>> {
    let Some(text) = text else {
        return Ok(None);
    };
    // A bare duration is one ago.
    let read = instant(text, Some(now)).or_else(|error| {
        let ago = instant(&format!("-{text}"), Some(now));
        ago.map_err(|_| error)
    });
    match read {
        Ok(instant) => Ok(Some(instant)),
        Err(error) => bail!("{flag}: `{text}` {error}"),
    }
}

/// Says that a limit cut something.
pub(super) fn say_cut(printer: &Printer, shown: usize, all: &str) {
    printer.say(&format!(
        "{shown} of {all} shown; --limit asked for no more"
    ));
}
