//! What an address of the list asks for, and the addresses of lists like it.

use crate::model::{Outcome, UnixNanos};
use crate::query::filter::{Filter, FilterError};
use crate::query::requests::{Query, Sort};
use crate::query::scan::Selection;
use crate::report::svg::display_name;
use crate::store::Window;
use crate::telemetry::clock;
use crate::web::error::Problem;
use crate::web::params::{Link, Params, bad};
use crate::web::period;
use crate::web::trace::is_prefix;
use crate::web::view::SHORT;

use super::ROWS;
use super::form::Form;

/// The most rows that can be asked for.
const MOST_ROWS: usize = 500;

/// What an address asks for.
#[derive(Debug)]
pub(in crate::web) struct Asked {
    pub(in crate::web) query: Query,
    /// The filter as it was typed.
    pub(super) q: Option<String>,
    /// What the form says beside it.
    pub(super) form: Form,
    /// The stretch of time as it was typed: `since`, `until`.
    typed: (Option<String>, Option<String>),
}

/// Why an address makes no sense.
#[derive(Debug)]
pub(in crate::web) enum Refused {
    /// A parameter is wrong.
    Problem(Problem),
    /// The filter is; everything else is as asked.
    Filter(Box<(FilterError, Asked)>),
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Problem(problem) => problem,
            Refused::Filter(refused) => {
                let (error, asked) = *refused;
                let text = asked.q.unwrap_or_default();
                let (before, marked, _) = error.parts(&text);
                let column = before.chars().count() + 1;
                let at = match marked {
                    "" => format!("column {column}"),
                    marked => format!("column {column}, `{}`", display_name(marked, SHORT)),
                };
                Self::Bad(format!("`q`, {at}: {error}"))
            }
        }
    }
}

/// The words that choose an outcome.
fn outcome_words() -> [(&'static str, Outcome); Outcome::ALL.len()] {
    Outcome::ALL.map(|outcome| (outcome.as_str(), outcome))
}

/// Reads `q`, `outcome`, the fields of the form, `sort`, `limit`, `since`, `until` and `cursor`.
pub(in crate::web) fn read(params: &Params, rows: usize) -> Result<Asked, Refused> {
    let query = query(params, rows).map_err(Refused::Problem)?;
    let mut asked = Asked {
        query,
        q: params.get("q").map(str::to_owned),
        form: Form::read(params).map_err(Refused::Problem)?,
        typed: (
            params.get("since").map(str::to_owned),
            params.get("until").map(str::to_owned),
        ),
    };
    let mut filters: Vec<Filter> = asked.form.filters();
    if let Some(text) = &asked.q {
        match filter(text) {
            Ok(filter) => filters.insert(0, filter),
            Err(error) => return Err(Refused::Filter(Box::new((error, asked)))),
        }
    }
    asked.query.selection.filter = Filter::all(filters);
    Ok(asked)
}

/// The filter that a text is; the beginning of a trace id stands for itself.
fn filter(text: &str) -> Result<Filter, FilterError> {
    let now = UnixNanos(clock::unix_nanos());
    if is_prefix(text) {
        Filter::parse_at(&format!("trace_id={text}"), now)
    } else {
        Filter::parse_at(text, now)
    }
}

fn query(params: &Params, rows: usize) -> Result<Query, Problem> {
    let cursor = params
        .get("cursor")
        .map(|text| {
            text.parse()
                .map_err(|_| bad("cursor", text, "the `next` of a page, as it came"))
        })
        .transpose()?;
    let since = instant_of(params, "since")?;
    let until = instant_of(params, "until")?;
    if let Some(since) = since {
        let end = until.unwrap_or_else(|| period::up(UnixNanos(clock::unix_nanos())));
        period::in_order(params, since, end)?;
    }
    Ok(Query {
        outcome: params.choice("outcome", &outcome_words())?,
        sort: sort(params)?,
        selection: Selection {
            filter: None,
            window: Window { since, until },
        },
        limit: params.number("limit", rows, 1, MOST_ROWS)?,
        cursor,
        ..Query::default()
    })
}

/// `newest`, `worst`, or a field of a request, with `-` before it for the largest first.
fn sort(params: &Params) -> Result<Sort, Problem> {
    let Some(text) = params.get("sort") else {
        return Ok(Sort::default());
    };
    text.parse().map_err(|error| {
        let words = Sort::NAMED.map(|sort| sort.to_string()).join(", ");
        let wanted = format!("one of {words}, or a field such as -elapsed ({error})");
        bad("sort", text, &wanted)
    })
}

fn instant_of(params: &Params, name: &str) -> Result<Option<UnixNanos>, Problem> {
    // Counted back from the end of the minute, as on the pages about many requests.
    period::at(params, name, period::up(UnixNanos(clock::unix_nanos())))
}

/// What of an address is to be another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Other<'a> {
    /// Nothing.
    Nothing,
    /// The outcome.
    Outcome(Option<Outcome>),
    /// The order.
    Sort(Sort),
    /// The page.
    Page(&'a str),
    /// The filter, which takes the place of the form's too.
    Filter(Option<&'a str>),
    /// The stretch of time: from here on.
    Since(UnixNanos),
    /// The program's form of exactly these rows.
    Format(&'a str),
}

impl Asked {
    /// The address of the same list but for one thing. Another list begins with its first page.
    pub(super) fn address(&self, other: Other<'_>) -> String {
        let query = &self.query;
        let (sort, outcome) = match other {
            Other::Sort(sort) => (sort, query.outcome),
            Other::Outcome(outcome) => (query.sort, outcome),
            _ => (query.sort, query.outcome),
        };
        let (path, format) = match other {
            Other::Format(format) => ("/api/v1/requests", Some(format)),
            _ => ("/requests", None),
        };
        let own_cursor = query.cursor.as_ref().map(ToString::to_string);
        let cursor = match other {
            Other::Page(cursor) => Some(cursor),
            Other::Format(_) => own_cursor.as_deref(),
            _ => None,
        };
        let (q, form) = match other {
            Other::Filter(q) => (q, Form::default()),
            _ => (self.q.as_deref(), self.form.clone()),
        };
        // "-1h" goes on to be an hour ago, but pages of one list are of one stretch.
        let window = query.selection.window;
        let (since, until) = match other {
            Other::Since(since) => (Some(since.to_string()), None),
            Other::Page(_) | Other::Format(_) => (
                window.since.map(|at| at.to_string()),
                window.until.map(|at| at.to_string()),
            ),
            _ => self.typed.clone(),
        };
        // A page's own number of rows is what the API has to be told.
        let limit = (query.limit != ROWS || format.is_some()).then(|| query.limit.to_string());
        let order = (sort != Sort::Newest).then(|| sort.to_string());
        let fields = form.pairs();
        let mut pairs = vec![("q", q), ("outcome", outcome.map(Outcome::as_str))];
        pairs.extend(
            fields
                .iter()
                .map(|(name, value)| (*name, Some(value.as_str()))),
        );
        pairs.extend([
            ("sort", order.as_deref()),
            ("since", since.as_deref()),
            ("until", until.as_deref()),
            ("limit", limit.as_deref()),
            ("cursor", cursor),
            ("format", format),
        ]);
        let link = Link {
            path,
            pairs: &pairs,
        };
        link.to_string()
    }

    /// What another filter keeps: parameters as they are, for a form.
    pub(super) fn kept(&self) -> Vec<(&'static str, String)> {
        let (since, until) = self.typed.clone();
        let mut kept = self.order_and_length();
        let window = [("since", since), ("until", until)].into_iter();
        kept.extend(window.filter_map(|(name, value)| Some((name, value?))));
        kept
    }

    /// What another stretch of time keeps.
    pub(super) fn beside_time(&self) -> Vec<(&'static str, String)> {
        let outcome = self.query.outcome.map(Outcome::as_str);
        let own = [("q", self.q.as_deref()), ("outcome", outcome)].into_iter();
        let own = own.filter_map(|(name, value)| Some((name, value?.to_owned())));
        let mut kept: Vec<_> = own.chain(self.form.pairs()).collect();
        kept.extend(self.order_and_length());
        kept
    }

    fn order_and_length(&self) -> Vec<(&'static str, String)> {
        let query = &self.query;
        let order = (query.sort != Sort::Newest).then(|| query.sort.to_string());
        let limit = (query.limit != ROWS).then(|| query.limit.to_string());
        let both = [("sort", order), ("limit", limit)].into_iter();
        both.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// Whether the address says since when.
    pub(super) fn is_since(&self) -> bool {
        self.typed.0.is_some()
    }
}
