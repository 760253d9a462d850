//! The rule about clocks: one finding a pair of hosts, at the first call between them.

use crate::model::Rule;

use super::super::hops::HopId;
use super::Cases;

/// The skews whose first call is in this request.
pub(super) fn of_request(cases: &mut Cases<'_>, members: &[HopId]) {
    let known = cases.known;
    for skew in known.clocks.skewed.get(&members[0]).into_iter().flatten() {
        let attempt = &known.hops.attempts[skew.attempt];
        let mut times = vec![("offset_ms", skew.offset)];
        times.extend(skew.bounds.0.map(|low| ("least_ms", low)));
        times.extend(skew.bounds.1.map(|high| ("greatest_ms", high)));
        let to = Some(known.service(skew.callee).clone());
        cases.push(
            Rule::ClockSkew,
            attempt.hop,
            to,
            skew.offset.abs(),
            &times,
            vec![],
        );
    }
}
