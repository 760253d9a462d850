//! The facts line above the waterfall: label and value.

use std::collections::BTreeSet;

use super::number::{self, counted, ms_unit};
use crate::model::{CallKind, How, Nanos, Request, Text};

/// A label over a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What.
    pub label: &'static str,
    /// How much.
    pub value: String,
    /// True if the value is about time after a deadline, or a deadline lost.
    pub late: bool,
    /// What qualifies the value; may be empty.
    pub more: String,
}

/// What became of the deadline on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Propagation {
    /// Calls to other hops whose caller had a deadline and waited.
    pub calls: usize,
    /// Of these, how many were told one.
    pub told: usize,
    /// Hops that were told more than was left.
    pub resets: usize,
}

/// Counts how far the deadline was passed on.
pub fn propagation(request: &Request) -> Propagation {
    let mut out = Propagation::default();
    for hop in &request.hops {
        let known = !matches!(hop.remaining_in_source.how, How::None | How::Inferred);
        if !known || hop.deadline.is_none() {
            continue;
        }
        for call in hop.calls.iter().filter(|call| call.waited) {
            let Some(callee) = call.hop.and_then(|id| request.hops.get(id)) else {
                continue;
            };
            out.calls += 1;
            let told =
                callee.remaining_in_source.how.is_propagated() || call.remaining_out.is_some();
            out.told += usize::from(told);
        }
    }
    let reset = |finding: &&crate::model::Finding| finding.rule == crate::model::Rule::BudgetReset;
    out.resets = request.findings.iter().filter(reset).count();
    out
}

/// The facts, in order.
pub fn facts(request: &Request) -> Vec<Fact> {
    let quiet = |label, value, more| Fact {
        label,
        value,
        late: false,
        more,
    };
    let mut out = vec![
        match request.budget {
            Some(budget) => {
                let how = request.budget_source.how.as_str().to_owned();
                quiet("budget", ms_unit(budget), how)
            }
            None => quiet("budget", "none known".to_owned(), String::new()),
        },
        quiet("elapsed", ms_unit(request.elapsed), String::new()),
    ];
    let wasting = request.hops.iter().filter(|hop| hop.wasted > Nanos::ZERO);
    out.push(if request.wasted > Nanos::ZERO {
        Fact {
            label: "wasted",
            value: ms_unit(request.wasted),
            late: true,
            more: format!("in {}", counted(wasting.count(), "hop", "hops")),
        }
    } else {
        quiet("wasted", "nothing".to_owned(), String::new())
    });
    let Propagation {
        calls,
        told,
        resets,
    } = propagation(request);
    if calls > 0 {
        out.push(Fact {
            label: "deadline passed on",
            value: format!(
                "{} of {}",
                number::count(told),
                counted(calls, "call", "calls")
            ),
            late: told < calls,
            more: match resets {
                0 => String::new(),
                n => counted(n, "reset", "resets"),
            },
        });
    }
    let trace = if request.complete {
        "complete"
    } else {
        "incomplete"
    };
    let mut more = counted(request.spans, "span", "spans");
    if request.revision > 1 {
        more = format!("{more}, revision{}{}", number::NBSP, request.revision);
    }
    out.push(quiet("trace", trace.to_owned(), more));
    out.push(quiet("clocks", clocks(request), String::new()));
    out
}

/// `agree`, or by how much the moved ones were moved.
fn clocks(request: &Request) -> String {
    let mut seen = BTreeSet::new();
    let moved: Vec<(&Text, Nanos)> = request
        .hops
        .iter()
        .map(|hop| (&hop.service, hop.clock_offset))
        .filter(|one| one.1 != Nanos::ZERO && seen.insert(*one))
        .collect();
    let signed = |offset| format!("{}{}ms", number::signed(offset), number::NBSP);
    match moved.as_slice() {
        [] => "agree".to_owned(),
        [(service, offset)] => format!("{service} {}, aligned", signed(*offset)),
        [(service, offset), rest @ ..] => format!(
            "{service} {} and {} more, aligned",
            signed(*offset),
            number::count(rest.len())
        ),
    }
}

/// `4 hops, 4 dependency calls, 31 spans`.
pub fn size(request: &Request) -> String {
    let dependencies = request
        .hops
        .iter()
        .flat_map(|hop| &hop.calls)
        .filter(|call| matches!(call.kind, CallKind::Dependency | CallKind::Unreported))
        .count();
    let mut out = counted(request.hops.len(), "hop", "hops");
    if dependencies > 0 {
        out.push_str(", ");
        out.push_str(&counted(
            dependencies,
            "dependency call",
            "dependency calls",
        ));
    }
    out.push_str(", ");
    out.push_str(&counted(request.spans, "span", "spans"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{chain, fan_out, ms};

    fn told(request: &Request) -> Vec<String> {
        facts(request)
            .iter()
            .map(|fact| {
                format!("{}: {} {}", fact.label, fact.value, fact.more).replace('\u{a0}', " ")
            })
            .collect()
    }

    #[test]
    fn the_facts_are_those_of_the_references() {
        assert_eq!(
            told(&chain()),
            [
                "budget: 1,000 ms observed",
                "elapsed: 1,000 ms ",
                "wasted: 915 ms in 3 hops",
                "deadline passed on: 0 of 3 calls ",
                "trace: complete 6 spans",
                "clocks: agree ",
            ]
        );
        let mut request = fan_out();
        request.hops[8].clock_offset = Nanos(3_100_000);
        request.complete = false;
        assert_eq!(
            told(&request)[3..],
            [
                "deadline passed on: 8 of 9 calls 1 reset",
                "trace: incomplete 31 spans, revision 2",
                "clocks: payments +3.1 ms, aligned ",
            ]
        );
        request.budget = None;
        request.wasted = ms(0);
        assert_eq!(told(&request)[0], "budget: none known ");
        assert_eq!(told(&request)[2], "wasted: nothing ");
    }

    #[test]
    fn the_size_counts_what_left_no_spans() {
        let size = size(&fan_out()).replace('\u{a0}', " ");
        assert_eq!(size, "10 hops, 4 dependency calls, 31 spans");
    }
}
