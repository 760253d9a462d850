//! The heads of the list's columns: each sorts by its column, and the other way round when it
//! already does.

use super::asked::{Asked, Other};
use crate::query::requests::Sort;
use crate::report::svg::Icon;

/// A column's head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) text: &'static str,
    pub(super) href: String,
    /// The value of `aria-sort`, if the list is sorted by it.
    pub(super) sorted: Option<&'static str>,
    pub(super) icon: String,
    pub(super) class: &'static str,
    /// What the link does, for who cannot see the table.
    pub(super) does: &'static str,
}

/// A column: its words, the field, and whether the largest come first when it is first chosen.
type Column = (&'static str, &'static str, bool, &'static str);

/// The columns before the bar.
const BEFORE: [Column; 3] = [
    ("when, UTC", "start", true, ""),
    ("outcome", "outcome", false, ""),
    ("request", "service", false, ""),
];

/// The columns after the bar.
const AFTER: [Column; 8] = [
    ("used", "used", true, "num"),
    ("elapsed, ms", "elapsed", true, "num"),
    ("budget", "budget", true, "num"),
    ("who held most", "culprit.service", false, ""),
    ("ms", "culprit.consumed", true, "num"),
    ("share", "culprit.share", true, "num"),
    ("surfaced at", "surfaced.service", false, ""),
    ("wasted, ms", "wasted", true, "num"),
];

/// The heads before and after the bar.
pub(super) fn heads(asked: &Asked) -> (Vec<Head>, Vec<Head>) {
    let head = |column| head(asked, column);
    (
        BEFORE.into_iter().map(head).collect(),
        AFTER.into_iter().map(head).collect(),
    )
}

fn head(asked: &Asked, (text, field, falling, class): Column) -> Head {
    let order = |falling| order(field, falling);
    let current = asked.query.sort;
    let sorted = [true, false]
        .into_iter()
        .find(|falling| order(*falling) == current);
    let next = sorted.map_or(falling, |falling| !falling);
    Head {
        text,
        href: asked.address(Other::Sort(order(next))),
        sorted: sorted.map(|falling| if falling { "descending" } else { "ascending" }),
        icon: match sorted {
            Some(true) => Icon::Down.to_string(),
            Some(false) => Icon::Up.to_string(),
            None => String::new(),
        },
        class,
        does: if next {
            "sort, the largest first"
        } else {
            "sort, the least first"
        },
    }
}

/// The order by a field. The latest start first has a name of its own.
fn order(field: &str, falling: bool) -> Sort {
    if field == "start" && falling {
        return Sort::Newest;
    }
    let sign = if falling { "-" } else { "" };
    format!("{sign}{field}").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::list::asked::read;
    use crate::web::params::Params;

    fn heads_of(address: &str) -> Vec<Head> {
        let asked = read(&Params::read(Some(address)), super::super::ROWS).unwrap();
        let (mut all, after) = heads(&asked);
        all.extend(after);
        all
    }

    #[test]
    fn every_column_can_be_sorted_both_ways() {
        for (number, head) in heads_of("q=used%20%3E%201%25").into_iter().enumerate() {
            let query = head.href.strip_prefix("/requests").unwrap();
            let query = query.strip_prefix('?').unwrap_or_default();
            assert!(query.starts_with("q=used"), "{query}");
            let sorted = &heads_of(query)[number];
            assert!(sorted.sorted.is_some(), "{query}");
            let back = &heads_of(sorted.href.split_once('?').unwrap().1)[number];
            assert_ne!(back.sorted, sorted.sorted, "{query}");
        }
    }

    #[test]
    fn one_column_says_that_the_list_is_sorted_by_it() {
        let sorted = |address| {
            let heads = heads_of(address);
            let of = heads
                .iter()
                .filter_map(|head| Some((head.text, head.sorted?)));
            of.collect::<Vec<_>>()
        };
        assert_eq!(sorted(""), [("when, UTC", "descending")]);
        assert_eq!(sorted("sort=start"), [("when, UTC", "ascending")]);
        assert_eq!(sorted("sort=-used"), [("used", "descending")]);
        assert_eq!(sorted("sort=worst"), []);
    }
}
