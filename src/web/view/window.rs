//! What of a request a page shows, and the addresses of what else it can show.

use super::words::link_to;
use crate::model::{Nanos, Request, SpanId};
use crate::query::waterfall::{Folding, Line, Range, Shown};
use crate::report::number;
use crate::web::error::Problem;
use crate::web::params::{Link, Params, bad, in_millis};

/// Rows that a page shows, unless it is asked for fewer or more.
pub(in crate::web) const ROWS: usize = 200;

/// The most rows that one page can be asked for.
const MOST_ROWS: usize = 500;

/// The most subtrees that can be folded or opened by hand.
const MOST_FOLDS: usize = 100;

/// The longest text that is looked for.
pub(super) const MOST_FIND: usize = 200;

/// Which part of a request the page shows.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::web) struct Select {
    /// Each row on its host's own clock.
    pub(in crate::web) raw: bool,
    /// The part of the time axis.
    pub(in crate::web) from: Option<Nanos>,
    pub(in crate::web) to: Option<Nanos>,
    /// The first line, from 0; `None` is where what was asked for is.
    pub(in crate::web) from_row: Option<usize>,
    /// How many lines.
    pub(in crate::web) rows: usize,
    /// What is folded.
    pub(in crate::web) folding: Folding,
    /// What is looked for, and which of the rows that have it, from 1.
    pub(in crate::web) find: Option<String>,
    pub(in crate::web) hit: Option<usize>,
    /// The row that is opened, with everything.
    pub(in crate::web) open: Option<usize>,
    /// The span whose row is opened.
    pub(in crate::web) span: Option<SpanId>,
}

impl Select {
    /// Reads an address.
    pub(in crate::web) fn read(params: &Params) -> Result<Self, Problem> {
        let place = |name: &str| match params.get(name) {
            Some(_) => params.number(name, 0, 0, usize::MAX).map(Some),
            None => Ok(None),
        };
        let select = Self {
            raw: params
                .choice("clock", &[("aligned", false), ("raw", true)])?
                .unwrap_or(false),
            from: params.time("from")?,
            to: params.time("to")?,
            from_row: place("from_row")?,
            rows: params.number("rows", ROWS, 1, MOST_ROWS)?,
            folding: folding(params)?,
            find: params.get("find").map(str::to_owned),
            hit: place("hit")?,
            open: place("open")?,
            span: match params.get("span") {
                Some(text) => Some(text.parse().map_err(|error| {
                    bad(
                        "span",
                        text,
                        &format!("16 hex digits of a span's id ({error})"),
                    )
                })?),
                None => None,
            },
        };
        if select
            .find
            .as_ref()
            .is_some_and(|find| find.chars().count() > MOST_FIND)
        {
            let find = select.find.as_deref().unwrap_or_default();
            return Err(bad(
                "find",
                find,
                &format!("at most {MOST_FIND} characters long"),
            ));
        }
        Ok(select)
    }

    /// Its address.
    pub(in crate::web) fn href(&self, request: &Request) -> String {
        let pairs = self.pairs();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (*name, value.as_deref()))
            .collect();
        Link {
            path: &link_to(request.trace_id, request.request),
            pairs: &pairs,
        }
        .to_string()
    }

    /// What a form that asks for something else has to say, too.
    pub(super) fn hidden(&self) -> Vec<(&'static str, String)> {
        let pairs = self.pairs().into_iter();
        pairs
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    fn pairs(&self) -> Vec<(&'static str, Option<String>)> {
        let number = |number: Option<usize>| number.map(|number| number.to_string());
        vec![
            ("clock", self.raw.then(|| "raw".to_owned())),
            ("from", self.from.map(in_millis)),
            ("to", self.to.map(in_millis)),
            ("fold", fold_text(&self.folding)),
            ("find", self.find.clone()),
            ("hit", number(self.hit)),
            ("rows", number(Some(self.rows).filter(|rows| *rows != ROWS))),
            ("from_row", number(self.from_row)),
            ("open", number(self.open)),
            ("span", self.span.map(|span| span.to_string())),
        ]
    }

    /// The same view of the same rows, with nothing in it asked for.
    pub(super) fn still(&self) -> Self {
        Self {
            hit: None,
            open: None,
            span: None,
            ..self.clone()
        }
    }

    /// With another part of the axis; the whole is said by saying nothing.
    pub(super) fn zoomed(&self, shown: &Shown, range: Range) -> Self {
        let whole = shown.whole;
        Self {
            from: (range.from != whole.from).then_some(range.from),
            to: (range.to != whole.to).then_some(range.to),
            ..self.still()
        }
    }

    /// From where what it asks for is.
    pub(super) fn anywhere(&self) -> Self {
        Self {
            from_row: None,
            ..self.still()
        }
    }
}

/// `none` for no automatic folding, a span to fold what is below it, `-` and a span to open an
/// automatic fold.
fn folding(params: &Params) -> Result<Folding, Problem> {
    let mut folding = Folding::default();
    let text = params.get("fold").unwrap_or_default();
    let wanted = "none, or ids of spans with commas between them";
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let (set, id) = match word.strip_prefix('-') {
            Some(id) => (&mut folding.opened, id),
            None => (&mut folding.folded, word),
        };
        if word == "none" {
            folding.automatic = false;
        } else if let Ok(span) = id.parse() {
            set.insert(span);
        } else {
            return Err(bad("fold", text, wanted));
        }
    }
    if folding.opened.len() + folding.folded.len() > MOST_FOLDS {
        return Err(bad(
            "fold",
            text,
            &format!("at most {MOST_FOLDS} ids of spans"),
        ));
    }
    Ok(folding)
}

fn fold_text(folding: &Folding) -> Option<String> {
    let none = (!folding.automatic).then(|| "none".to_owned());
    let folded = folding.folded.iter().map(SpanId::to_string);
    let opened = folding.opened.iter().map(|span| format!("-{span}"));
    let words: Vec<String> = none.into_iter().chain(folded).chain(opened).collect();
    (!words.is_empty()).then(|| words.join(","))
}

/// What of the rows is not on the page, and where it is.
#[derive(Debug)]
pub(in crate::web) struct Cut {
    pub(in crate::web) shown: String,
    pub(in crate::web) rest: &'static str,
    pub(in crate::web) links: Vec<TextLink>,
}

#[derive(Debug)]
pub(in crate::web) struct TextLink {
    pub(in crate::web) href: String,
    pub(in crate::web) text: String,
}

/// What to say of the lines that are not shown; `None` if all are.
pub(super) fn cut(request: &Request, lines: &[Line], from: usize, select: &Select) -> Option<Cut> {
    let total = lines.len();
    let folds = |line: &Line| matches!(line, Line::Folded(folded) if folded.by_hand.is_none());
    let folds = lines.iter().any(folds);
    let folded = lines.iter().any(|line| matches!(line, Line::Folded(_)));
    let by_hand = select.folding != Folding::default();
    let all_shown = from == 0 && total <= select.rows;
    if all_shown && !folded && !by_hand {
        return None;
    }
    let mut links = Vec::new();
    let mut link = |text: String, select: Select| {
        links.push(TextLink {
            href: select.href(request),
            text,
        });
    };
    let at = |from_row: usize| Select {
        from_row: Some(from_row).filter(|row| *row > 0),
        ..select.still()
    };
    let last = (from + select.rows).min(total);
    if from > 0 {
        link(
            "before these".to_owned(),
            at(from.saturating_sub(select.rows)),
        );
    }
    if last < total {
        let next = number::count((total - last).min(select.rows));
        link(format!("next {next}"), at(last));
    }
    let with = |folding| Select {
        folding,
        ..select.anywhere()
    };
    if folded {
        let none = Folding {
            automatic: !folds && select.folding.automatic,
            ..Folding::default()
        };
        link("unfold all".to_owned(), with(none));
    }
    if by_hand {
        link("fold what is quiet".to_owned(), with(Folding::default()));
    }
    let shown = if all_shown {
        let rows = lines.iter().filter(|line| matches!(line, Line::Row(_)));
        let hidden = lines.iter().map(|line| match line {
            Line::Folded(folded) => folded.rows,
            Line::Row(_) | Line::HandOver(_) => 0,
        });
        let rows = rows.count();
        format!(
            "Showing {} of {} hops and calls.",
            number::count(rows),
            number::count(rows + hidden.sum::<usize>())
        )
    } else {
        format!(
            "Showing rows {}\u{2013}{} of {}.",
            number::count((from + 1).min(total)),
            number::count(last),
            number::count(total)
        )
    };
    Some(Cut {
        shown,
        rest: "All totals, the ledger and the findings are from the whole request.",
        links,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::chain;

    fn read(query: &str) -> Result<Select, Problem> {
        Select::read(&Params::read(Some(query)))
    }

    #[test]
    fn an_address_says_what_is_shown_and_no_more() {
        let request = chain();
        let path = link_to(request.trace_id, request.request);
        assert_eq!(read("").unwrap().href(&request), path);
        for query in [
            "clock=raw&from=400&to=900.5",
            "fold=none",
            "fold=0000000000000003%2C-0000000000000007",
            "find=a%20b&hit=2&rows=100&from_row=400",
            "open=3",
            "span=00f067aa0ba902b7",
        ] {
            let href = read(query).unwrap().href(&request);
            assert_eq!(href, format!("{path}?{query}"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let many: Vec<String> = (1..=101).map(|id| format!("{id:016x}")).collect();
        for query in [
            "clock=mine".to_owned(),
            "from=soon".to_owned(),
            "rows=0".to_owned(),
            "fold=abc".to_owned(),
            format!("fold={}", many.join(",")),
            "span=12".to_owned(),
            format!("find={}", "x".repeat(201)),
        ] {
            assert!(matches!(read(&query), Err(Problem::Bad(_))), "{query}");
        }
    }
}
