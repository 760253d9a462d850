//! Rules about telemetry that contradicts itself or cannot be read.

use crate::model::{Nanos, Rule, Text, Verdict};

use super::super::hops::HopId;
use super::super::path::local_time;
use super::Cases;

/// Every rule about what a hop reports.
pub(super) fn of_hop(cases: &mut Cases<'_>, id: HopId) {
    bad_deadline_value(cases, id);
    accounting_mismatch(cases, id);
    outcome_mismatch(cases, id);
}

fn bad_deadline_value(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    for &node in &known.hops.all[id].nodes {
        for bad in known
            .hops
            .facts(node)
            .into_iter()
            .flat_map(|facts| &facts.bad)
        {
            let texts = vec![("key", bad.key.clone()), ("value", bad.raw.clone())];
            cases.push(Rule::BadDeadlineValue, id, None, Nanos::ZERO, &[], texts);
        }
    }
}

/// What the hop says of its own time against its time less its calls.
fn accounting_mismatch(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let reported = known.hops.reported_local(known.forest, id);
    let Some(reported) = reported else { return };
    let computed = local_time(known.forest, known.hops, known.timing, id);
    let apart = (reported - computed).abs();
    let thresholds = cases.thresholds();
    let share = thresholds.accounting_mismatch_share.of(computed);
    if apart > thresholds.accounting_mismatch.max(share) {
        let times = [("reported_ms", reported), ("computed_ms", computed)];
        cases.at_hop(Rule::AccountingMismatch, id, apart, &times);
    }
}

/// A reported outcome that is a verdict, and another than the spans tell.
fn outcome_mismatch(cases: &mut Cases<'_>, id: HopId) {
    let known = cases.known;
    let reported = known.hops.reported_outcome(known.forest, id);
    let Some(reported) = reported else { return };
    let verdict = known.verdicts[id].0;
    let said = match reported {
        "met" | "success" => Some(Verdict::Ok),
        "cancelled" | "canceled" => Some(Verdict::CancelledByCaller),
        word => Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.as_str() == word),
    };
    if said.is_some_and(|said| said != verdict) {
        let texts = vec![
            ("reported", Text::from(reported)),
            ("verdict", verdict.as_str().into()),
        ];
        cases.push(Rule::OutcomeMismatch, id, None, Nanos::ZERO, &[], texts);
    }
}
