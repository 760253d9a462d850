//! The ledger: one bar and its table.

use super::words::{Markup, name};
use crate::model::{Nanos, Part, Request};
use crate::query::ledger::{Ledger, Row, ledger};
use crate::report::number;
use crate::report::svg::{Escaped, Icon, LedgerBar, LedgerPiece, PieceLook, Swatch};

/// The ledger, ready to print.
#[derive(Debug)]
pub(in crate::web) struct LedgerView {
    pub(in crate::web) subtitle: String,
    pub(in crate::web) bar: String,
    pub(in crate::web) share_of: &'static str,
    pub(in crate::web) rows: Vec<LedgerRowView>,
    pub(in crate::web) total_name: &'static str,
    pub(in crate::web) total: String,
    pub(in crate::web) total_share: String,
    pub(in crate::web) late: Option<Late>,
}

#[derive(Debug)]
pub(in crate::web) struct LedgerRowView {
    pub(in crate::web) swatch: String,
    pub(in crate::web) name: Markup,
    pub(in crate::web) part: &'static str,
    pub(in crate::web) time: String,
    pub(in crate::web) share: String,
    pub(in crate::web) typical: String,
    pub(in crate::web) times: String,
    pub(in crate::web) strong: bool,
}

/// What came after the deadline.
#[derive(Debug)]
pub(in crate::web) struct Late {
    pub(in crate::web) name: &'static str,
    pub(in crate::web) time: String,
}

/// From here on a factor is bold, in tenths.
const TIMES_STRONG: u64 = 30;

impl LedgerView {
    pub(in crate::web) fn new(request: &Request) -> Self {
        let ledger = ledger(request);
        let pieces = pieces(&ledger);
        let whole = number::ms_unit(ledger.whole);
        Self {
            subtitle: format!("where the {whole} went; every millisecond has one owner"),
            bar: LedgerBar {
                pieces: &pieces,
                whole: ledger.whole,
            }
            .to_string(),
            share_of: if ledger.is_budget {
                "of budget"
            } else {
                "of the time"
            },
            rows: rows(&ledger),
            total_name: if ledger.is_budget {
                "budget"
            } else {
                "elapsed"
            },
            total: number::ms(ledger.whole),
            total_share: number::percent(ledger.whole, ledger.whole),
            late: (ledger.after_deadline > Nanos::ZERO).then(|| Late {
                name: "then late, before the answer",
                time: format!("+{}", number::ms(ledger.after_deadline)),
            }),
        }
    }
}

fn look(row: &Row) -> PieceLook {
    PieceLook::Part(row.kind.unwrap_or(Part::TransitOut))
}

/// The bar's pieces: the table's rows in its order.
fn pieces(ledger: &Ledger) -> Vec<LedgerPiece> {
    let mut pieces: Vec<LedgerPiece> = ledger
        .rows
        .iter()
        .map(|row| LedgerPiece {
            name: full_name(row),
            label: long_name(row),
            short: short_name(row),
            time: row.time,
            look: look(row),
            culprit: row.culprit,
        })
        .collect();
    if let Some(more) = ledger.more {
        let name = format!("{} more", number::count(more.rows));
        pieces.push(LedgerPiece {
            label: name.clone(),
            short: name.clone(),
            name,
            time: more.time,
            look: PieceLook::Rest,
            culprit: false,
        });
    }
    if ledger.unspent > Nanos::ZERO {
        pieces.push(LedgerPiece {
            name: "left unspent".to_owned(),
            label: "left unspent".to_owned(),
            short: "unspent".to_owned(),
            time: ledger.unspent,
            look: PieceLook::Unspent,
            culprit: false,
        });
    }
    pieces
}

fn full_name(row: &Row) -> String {
    match row.each {
        Some(each) if row.merged > 1 => {
            format!("{}, {} each", name(&row.name), number::ms_unit(each))
        }
        _ => name(&row.name),
    }
}

/// What the bar says where there is room: of an edge the far side, as short as it can be said.
fn long_name(row: &Row) -> String {
    match row.kind {
        Some(Part::Dependency | Part::Unreported) => short_name(row),
        _ => full_name(row),
    }
}

/// For the bar: of an edge its far side, of own work the service.
fn short_name(row: &Row) -> String {
    match row.kind {
        Some(Part::Dependency | Part::Unreported) => {
            let far = row.name.rsplit(" \u{2192} ").next().unwrap_or(&row.name);
            name(far)
        }
        Some(_) => name(&row.service),
        None => name(&row.name),
    }
}

fn rows(ledger: &Ledger) -> Vec<LedgerRowView> {
    let plain = |swatch: Swatch, name: String, time: Nanos| LedgerRowView {
        swatch: swatch.to_string(),
        name: Markup(name),
        part: "",
        time: number::ms(time),
        share: number::percent(time, ledger.whole),
        typical: number::UNKNOWN.to_owned(),
        times: number::UNKNOWN.to_owned(),
        strong: false,
    };
    let mut rows: Vec<LedgerRowView> = ledger
        .rows
        .iter()
        .map(|row| {
            let name = format!("<bdi dir=\"ltr\">{}</bdi>", Escaped(&full_name(row)));
            let name = if row.culprit {
                format!(
                    r#"<span class="nw">{}<span class="sr">culprit </span>{}</span><b>{name}</b>"#,
                    Icon::Culprit,
                    number::NBSP
                )
            } else {
                name
            };
            let swatch = Swatch {
                look: look(row),
                culprit: row.culprit,
            };
            LedgerRowView {
                part: row.part,
                typical: number::ms_or_unknown(row.typical),
                times: row
                    .times_typical
                    .map_or_else(|| number::UNKNOWN.to_owned(), number::times),
                strong: row.times_typical.is_some_and(|times| times >= TIMES_STRONG),
                ..plain(swatch, name, row.time)
            }
        })
        .collect();
    if let Some(more) = ledger.more {
        let swatch = Swatch {
            look: PieceLook::Rest,
            culprit: false,
        };
        let name = format!(
            "{} more, each {} or less",
            number::count(more.rows),
            number::ms_unit(more.each_at_most)
        );
        rows.push(plain(swatch, name, more.time));
    }
    if ledger.unspent > Nanos::ZERO {
        let swatch = Swatch {
            look: PieceLook::Unspent,
            culprit: false,
        };
        rows.push(plain(swatch, "left unspent".to_owned(), ledger.unspent));
    }
    rows
}
