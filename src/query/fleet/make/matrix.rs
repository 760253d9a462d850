//! Where misses surfaced against where their time was spent.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::spent::{named, part_of};
use crate::model::Text;
use crate::query::fleet::overview::{Matrix, Spender, Surfacing};
use crate::store::rollup::Pair;

type Held = [Text; 3];

/// What there is, and how much of it.
type Counted<K> = Vec<(K, u64)>;

pub(super) fn matrix(pairs: &BTreeMap<[Text; 4], Pair>, all: u64, rows: usize) -> Matrix {
    let mut surfaced: BTreeMap<&Text, u64> = BTreeMap::new();
    let mut spent: BTreeMap<Held, u64> = BTreeMap::new();
    let mut cells: BTreeMap<(&Text, Held), u64> = BTreeMap::new();
    let mut same = 0;
    let missed = pairs.iter().filter(|(_, pair)| pair.missed > 0);
    for ([at, service, part, to], pair) in missed {
        let held = [service.clone(), part.clone(), to.clone()];
        *surfaced.entry(at).or_default() += pair.missed;
        *spent.entry(held.clone()).or_default() += pair.missed;
        *cells.entry((at, held)).or_default() += pair.missed;
        if at == service {
            same += pair.missed;
        }
    }
    let (rows_of, other_rows) = most(surfaced, rows);
    let (columns, other_columns) = most(spent, rows);
    let cell = |at: &Text, held: &Held| cells.get(&(at, held.clone())).copied().unwrap_or(0);
    let table: Vec<Vec<u64>> = rows_of
        .iter()
        .map(|(at, _)| columns.iter().map(|(held, _)| cell(at, held)).collect())
        .collect();
    let others = rows_of.iter().zip(&table);
    Matrix {
        others: others
            .map(|((_, all), row)| all - row.iter().sum::<u64>())
            .collect(),
        surfaced: rows_of
            .into_iter()
            .map(|(service, all)| Surfacing {
                service: service.clone(),
                all,
            })
            .collect(),
        spent: columns
            .into_iter()
            .map(|([service, part, to], all)| Spender {
                service,
                part: part_of(&part),
                to: named(&to),
                all,
            })
            .collect(),
        cells: table,
        other_spenders: other_columns.len() as u64,
        other_surfaced: other_rows.iter().map(|(_, count)| count).sum(),
        other_surfacing: other_rows.len() as u64,
        all,
        same,
    }
}

/// Those with the greatest counts, the greatest first, of equal ones the first by name; and the
/// others.
fn most<K>(counts: BTreeMap<K, u64>, rows: usize) -> (Counted<K>, Counted<K>) {
    let mut counts: Counted<K> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let others = counts.split_off(counts.len().min(rows));
    (counts, others)
}
