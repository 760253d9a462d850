//! The first page.

use super::change::change;
use super::findings::new_groups;
use super::matrix::matrix;
use super::spent::{held, holders, spent};
use super::totals::{buckets, totals};
use super::{Frame, words};
use crate::model::{Outcome, SpanId, TraceId};
use crate::query::error::QueryError;
use crate::query::fleet::Ask;
use crate::query::fleet::overview::Overview;
use crate::query::requests::Row;
use crate::store::Snapshot;
use crate::store::rollup::{Example, Wanted};

/// What is missed, who held the clock, and where it showed.
///
/// # Errors
/// The store cannot be read.
pub fn overview(snapshot: &Snapshot, ask: &Ask) -> Result<Overview, QueryError> {
    let frame = Frame::of(ask);
    let wanted = Wanted {
        requests: true,
        edges: true,
        culprits: true,
        pairs: true,
        findings: true,
        ..Wanted::default()
    };
    let now = snapshot.sums(&frame.now, &wanted)?;
    let wanted = Wanted {
        pairs: false,
        findings: false,
        ..wanted
    };
    let before = snapshot.sums(&frame.before, &wanted)?;
    let wanted = Wanted {
        culprits: false,
        ..wanted
    };
    let series = snapshot.series(&frame.now, frame.step, &wanted)?;
    let series = buckets(&frame, &series);

    let length = frame.window.length();
    let (totals, totals_before) = (totals(&now, length), totals(&before, length));
    let holders = holders(&now.culprits, &before.culprits, snapshot.typical());
    let missed = totals.of(Outcome::Missed);
    let matrix = matrix(&now.pairs, missed, frame.rows);
    let change = change(&series);
    let new_findings = new_groups(snapshot, &frame, &now.findings)?;

    let all = now.all();
    let id = |example: &Example| (example.trace_id, example.request);
    let worst: Vec<_> = all.worst.iter().map(|miss| id(&miss.example)).collect();
    let newest: Vec<_> = all.newest.iter().map(id).collect();
    // One look at the parts for both.
    let rows = Row::of_these(snapshot, &[worst.as_slice(), &newest].concat())?;
    let of = |ids: &[(TraceId, SpanId)]| -> Vec<Row> {
        let row = |id: &(TraceId, SpanId)| {
            let mut rows = rows.iter();
            rows.find(|row| (row.trace_id, row.request) == *id).cloned()
        };
        ids.iter().filter_map(row).collect()
    };
    let (worst, newest) = (of(&worst), of(&newest));
    Ok(Overview {
        window: frame.window,
        sentence: words::overview(
            frame.window,
            &totals,
            &totals_before,
            change.as_ref(),
            holders.first(),
        ),
        second: words::second(frame.window, &matrix, &new_findings),
        now: totals,
        before: totals_before,
        series,
        step: frame.length(),
        change,
        spent: spent(&holders, held(&now.culprits), frame.rows),
        matrix,
        worst,
        newest,
        new_findings,
        samples: snapshot.is_sample(),
    })
}
