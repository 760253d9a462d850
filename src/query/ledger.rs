//! The ledger for reading: rows merged over hops, the largest first, small ones folded.

use std::collections::BTreeMap;

use super::waterfall::tenths;
use crate::model::{Culprit, LedgerRow, Nanos, Part, Request, Text};

/// Rows that are shown before the rest is folded into "n more".
const SHOWN: usize = 6;

/// Transit that took less than this many per cent of the whole is an edge among others.
const SMALL_EDGE_PER_CENT: i64 = 2;

/// Where the budget went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The largest rows, the largest first.
    pub rows: Vec<Row>,
    /// What was folded; rows with `rows` make up all that was spent.
    pub more: Option<More>,
    /// What was left.
    pub unspent: Nanos,
    /// What the rows sum to: the budget, without one the elapsed time.
    pub whole: Nanos,
    /// True if `whole` is the budget.
    pub is_budget: bool,
    /// Time on the path after the deadline, before the answer.
    pub after_deadline: Nanos,
}

/// One owner of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Who: `pricing Quote`, `inventory → postgresql stock`, `3 network edges`.
    pub name: String,
    /// The owner's service; empty for folded edges.
    pub service: Text,
    /// On what: `local`, `dependency`, `transit` ...
    pub part: &'static str,
    /// Which part; `None` for folded edges of both directions.
    pub kind: Option<Part>,
    /// How many owners: 1, or the number of folded edges.
    pub merged: usize,
    /// What each of the folded edges took, if all took the same.
    pub each: Option<Nanos>,
    /// How much, before the deadline.
    pub time: Nanos,
    /// What the largest of its owners took: `time`, unless edges were folded.
    at_most: Nanos,
    /// The median of successful runs.
    pub typical: Option<Nanos>,
    /// Time ÷ typical, in tenths.
    pub times_typical: Option<u64>,
    /// It is the culprit.
    pub culprit: bool,
}

/// Rows that were folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct More {
    /// How many.
    pub rows: usize,
    /// What they took together.
    pub time: Nanos,
    /// What the largest of them took.
    pub each_at_most: Nanos,
}

/// Merges a request's ledger for reading.
pub fn ledger(request: &Request) -> Ledger {
    let whole = request.budget.unwrap_or(request.elapsed).at_least_zero();
    let mut rows = merge(request);
    let (small, large): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| {
        is_transit(row.kind) && !row.culprit && row.time < whole.scaled(SMALL_EDGE_PER_CENT, 100)
    });
    rows = large;
    match small.len() {
        0 | 1 => rows.extend(small),
        count => rows.push(edges(&small, count)),
    }
    rows.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
    let spent = rows.iter().map(|row| row.time).sum();
    let more = fold(&mut rows);
    Ledger {
        rows,
        more,
        unspent: (whole - spent).at_least_zero(),
        whole,
        is_budget: request.budget.is_some(),
        after_deadline: request.ledger.iter().map(|row| row.after_deadline).sum(),
    }
}

fn is_transit(part: Option<Part>) -> bool {
    matches!(part, Some(Part::TransitOut | Part::TransitBack))
}

/// One row per (service, operation, part, to) with time before the deadline.
fn merge(request: &Request) -> Vec<Row> {
    type Key<'a> = (&'a Text, &'a Text, Part, Option<&'a Text>);
    let mut times: BTreeMap<Key<'_>, Nanos> = BTreeMap::new();
    for row in &request.ledger {
        let LedgerRow {
            service,
            operation,
            part,
            to,
            time,
            after_deadline,
            ..
        } = row;
        *times
            .entry((service, operation, *part, to.as_ref()))
            .or_default() += *time - *after_deadline;
    }
    // Two operations that call the same are told apart by naming them.
    let mut alike: BTreeMap<(&Text, Part, Option<&Text>), usize> = BTreeMap::new();
    for (service, _, part, to) in times.keys() {
        *alike.entry((service, *part, *to)).or_default() += 1;
    }
    times
        .iter()
        .filter(|(_, time)| **time > Nanos::ZERO)
        .map(|(&(service, operation, part, to), &time)| {
            let alone = alike.get(&(service, part, to)) == Some(&1);
            let culprit = request
                .culprit
                .as_ref()
                .filter(|culprit| is_culprit(culprit, service, operation, part, to));
            let typical = culprit.and_then(|culprit| culprit.typical);
            Row {
                name: name(service, operation, part, to, alone),
                service: service.clone(),
                part: part_word(part),
                kind: Some(part),
                merged: 1,
                each: None,
                time,
                at_most: time,
                typical,
                times_typical: typical.and_then(|typical| tenths(time, typical)),
                culprit: culprit.is_some(),
            }
        })
        .collect()
}

fn is_culprit(
    culprit: &Culprit,
    service: &Text,
    operation: &Text,
    part: Part,
    to: Option<&Text>,
) -> bool {
    culprit.service == *service
        && culprit.operation == *operation
        && culprit.part == part
        && culprit.to.as_ref() == to
}

/// Who holds a part of the time: for the way back the arrow points back.
pub(crate) fn name(
    service: &str,
    operation: &str,
    part: Part,
    to: Option<&Text>,
    alone: bool,
) -> String {
    let arrow = match part {
        Part::Local => return format!("{service} {operation}"),
        Part::TransitBack => '\u{2190}',
        _ => '\u{2192}',
    };
    let to = to.map_or("", Text::as_str);
    if alone {
        format!("{service} {arrow} {to}")
    } else {
        format!("{service} {operation} {arrow} {to}")
    }
}

fn part_word(part: Part) -> &'static str {
    match part {
        Part::TransitOut | Part::TransitBack => "transit",
        part => part.as_str(),
    }
}

fn edges(small: &[Row], count: usize) -> Row {
    let first = small.first().map(|row| row.time);
    Row {
        name: format!("{} network edges", super::number::count(count)),
        service: Text::default(),
        part: "transit",
        kind: None,
        merged: count,
        each: first.filter(|time| small.iter().all(|row| row.time == *time)),
        time: small.iter().map(|row| row.time).sum(),
        at_most: small.iter().map(|row| row.time).max().unwrap_or_default(),
        typical: None,
        times_typical: None,
        culprit: false,
    }
}

/// Keeps the largest rows, and the culprit's in any case.
fn fold(rows: &mut Vec<Row>) -> Option<More> {
    // A fold of one row would take the place of that row.
    if rows.len() <= SHOWN + 1 {
        return None;
    }
    if let Some(place) = rows.iter().position(|row| row.culprit)
        && place >= SHOWN
    {
        let row = rows.remove(place);
        rows.insert(SHOWN - 1, row);
    }
    let folded = rows.split_off(SHOWN);
    Some(More {
        rows: folded.iter().map(|row| row.merged).sum(),
        time: folded.iter().map(|row| row.time).sum(),
        each_at_most: folded
            .iter()
            .map(|row| row.at_most)
            .max()
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{chain, fan_out, ms};

    fn lines(ledger: &Ledger) -> Vec<(&str, &str, i64)> {
        ledger
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.part, row.time.0 / 1_000_000))
            .collect()
    }

    #[test]
    fn the_chain_has_three_owners_and_its_edges() {
        let ledger = ledger(&chain());
        assert_eq!(
            lines(&ledger),
            [
                ("pricing Quote", "local", 497),
                ("inventory Reserve", "local", 300),
                ("orders POST /orders", "local", 200),
                ("3 network edges", "transit", 3),
            ]
        );
        assert_eq!(ledger.rows[0].times_typical, Some(121));
        assert_eq!(ledger.rows[3].each, Some(ms(1)));
        assert_eq!((ledger.unspent, ledger.after_deadline), (ms(0), ms(0)));
    }

    #[test]
    fn attempts_are_one_row_and_small_rows_are_counted() {
        let ledger = ledger(&fan_out());
        assert_eq!(
            lines(&ledger)[0],
            ("inventory \u{2192} postgresql stock", "dependency", 956)
        );
        assert!(ledger.rows[0].culprit);
        assert_eq!(ledger.rows.len(), SHOWN);
        let shown: Nanos = ledger.rows.iter().map(|row| row.time).sum();
        let more = ledger.more.unwrap();
        assert_eq!(shown + more.time + ledger.unspent, ms(1500));
        assert_eq!(ledger.after_deadline, ms(4));
    }

    #[test]
    fn what_was_not_spent_is_told() {
        let mut request = chain();
        request.budget = Some(ms(1500));
        assert_eq!(ledger(&request).unspent, ms(500));
        request.budget = None;
        let ledger = ledger(&request);
        assert_eq!(
            (ledger.whole, ledger.unspent, ledger.is_budget),
            (ms(1000), ms(0), false)
        );
    }

    #[test]
    fn two_operations_on_one_edge_are_told_apart() {
        let mut request = chain();
        let mut other = request.ledger[0].clone();
        other.operation = "GET /orders".into();
        (other.time, request.ledger[0].time) = (ms(100), ms(100));
        request.ledger.push(other);
        let ledger = ledger(&request);
        let names: Vec<_> = ledger.rows.iter().map(|row| row.name.as_str()).collect();
        assert!(
            names.contains(&"client GET /orders \u{2192} orders"),
            "{names:?}"
        );
        assert!(
            names.contains(&"client POST /orders \u{2192} orders"),
            "{names:?}"
        );
    }
}
