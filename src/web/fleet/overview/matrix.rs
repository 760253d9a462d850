//! Where misses surfaced against where the time was spent.

use crate::query::filter;
use crate::query::fleet::overview::{Matrix, Spender};
use crate::report::number;
use crate::report::svg::{Escaped, heat};
use crate::web::fleet::parts::{
    culprit_filter, linked, named, other_ones, requests, service_link, who,
};
use crate::web::period::Period;
use crate::web::view::name;

pub(super) struct MatrixView {
    pub(super) heads: Vec<String>,
    pub(super) others: Option<String>,
    pub(super) rows: Vec<MatrixRow>,
    pub(super) more: Option<MatrixMore>,
    pub(super) sums: Vec<String>,
    pub(super) other_sum: String,
    pub(super) all: String,
    pub(super) caption: String,
}

pub(super) struct MatrixRow {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
    pub(super) all: String,
}

/// Services where misses surfaced beyond the rows.
pub(super) struct MatrixMore {
    pub(super) name: String,
    pub(super) all: String,
}

pub(super) struct Cell {
    pub(super) class: String,
    pub(super) text: String,
}

/// The order of the requests of a cell.
const WORST: &[(&str, Option<&str>)] = &[("sort", Some("worst"))];

impl MatrixView {
    pub(super) fn new(matrix: &Matrix, period: &Period) -> Self {
        let has_others = matrix.other_spenders > 0 || matrix.others.iter().any(|n| *n > 0);
        Self {
            heads: matrix.spent.iter().map(label).collect(),
            others: has_others.then(|| match matrix.other_spenders {
                0 => "others".to_owned(),
                count => other_ones(count),
            }),
            rows: (0..matrix.surfaced.len().min(matrix.cells.len()))
                .filter_map(|index| MatrixRow::new(matrix, index, has_others, period))
                .collect(),
            more: (matrix.other_surfaced > 0).then(|| MatrixMore {
                name: other_ones(matrix.other_surfacing),
                all: number::sum(matrix.other_surfaced),
            }),
            sums: matrix
                .spent
                .iter()
                .map(|spender| number::sum(spender.all))
                .collect(),
            other_sum: number::sum(matrix.all_others()),
            all: number::sum(matrix.all),
            caption: caption(matrix),
        }
    }
}

/// What the outline means, and for how many misses it does not hold.
fn caption(matrix: &Matrix) -> String {
    let same = format!(
        "Outlined: surfaced where the time was spent, {} of {} ({}).",
        number::sum(matrix.same),
        number::sum(matrix.all),
        number::share(matrix.same, matrix.all, 0)
    );
    match matrix.elsewhere() {
        0 => same,
        elsewhere => format!(
            "{same} The other {} page a team that did not spend it.",
            number::share(elsewhere, matrix.all, 0)
        ),
    }
}

fn label(spender: &Spender) -> String {
    if spender.to.is_none() {
        return name(&spender.service);
    }
    let Spender {
        service, part, to, ..
    } = spender;
    let (label, word) = who(service, service, *part, to.as_ref());
    format!("{label} {word}").trim_end().to_owned()
}

impl MatrixRow {
    fn new(matrix: &Matrix, index: usize, has_others: bool, period: &Period) -> Option<Self> {
        let surfaced = matrix.surfaced.get(index)?;
        let counts = matrix.cells.get(index)?;
        let at = format!(
            "outcome=missed and {}",
            filter::is("surfaced.service", &surfaced.service)
        );
        let by =
            |spender: &Spender| culprit_filter(&spender.service, spender.part, spender.to.as_ref());
        let mut cells: Vec<Cell> = matrix
            .spent
            .iter()
            .zip(counts)
            .map(|(spender, count)| {
                let href = requests(period, &format!("{at} and {}", by(spender)), WORST);
                let same = matrix.is_same(index, spender);
                let names = (surfaced.service.as_str(), label(spender));
                cell(*count, matrix, same, names, href)
            })
            .collect();
        if has_others {
            let spenders = matrix.spent.iter();
            let not: Vec<String> = spenders
                .map(|spender| format!(" and not ({})", by(spender)))
                .collect();
            let not = not.concat();
            let count = matrix.others.get(index).copied().unwrap_or(0);
            let href = requests(period, &format!("{at}{not}"), WORST);
            let names = (surfaced.service.as_str(), "others".to_owned());
            cells.push(cell(count, matrix, false, names, href));
        }
        let all = requests(period, &at, WORST);
        Some(Self {
            name: named(
                &name(&surfaced.service),
                &service_link(period, &surfaced.service, None),
            ),
            cells,
            all: linked(&number::sum(surfaced.all), all.as_deref()),
        })
    }
}

fn cell(
    count: u64,
    matrix: &Matrix,
    same: bool,
    (surfaced, spent): (&str, String),
    href: Option<String>,
) -> Cell {
    let outline = if same && count > 0 { " dg" } else { "" };
    let class = format!("num {}{outline}", heat(count, matrix.all));
    if count == 0 {
        return Cell {
            class,
            text: r#"<span class="qq">·</span>"#.to_owned(),
        };
    }
    let number = number::sum(count);
    let text = match href {
        Some(href) => {
            let label = format!(
                "{number} misses surfaced at {}, spent in {spent}",
                name(surfaced)
            );
            format!(
                r#"<a href="{}" aria-label="{}">{number}</a>"#,
                Escaped(&href),
                Escaped(&label)
            )
        }
        None => number,
    };
    Cell { class, text }
}
