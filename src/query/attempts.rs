//! Calls that were tried more than once: what each attempt took of the budget.

use super::waterfall::Waterfall;
use crate::model::{Call, Hop, Nanos, Part, PathSegment, Request, SpanId, Text, Verdict, share};

/// The attempts of one call.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Tried {
    /// The calling hop.
    pub hop: usize,
    /// Its service.
    pub service: Text,
    /// The callee: a service, or the name of a dependency.
    pub to: Text,
    /// What was asked of it.
    pub operation: Text,
    /// What all attempts held of the clock before the deadline.
    #[serde(rename = "consumed_ms")]
    pub consumed: Nanos,
    /// Of the budget; without one, of the elapsed time.
    #[serde(serialize_with = "share")]
    pub share: (Nanos, Nanos),
    /// The attempts by start.
    pub attempts: Vec<Attempt>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Attempt {
    /// 1 for the first.
    pub attempt: u32,
    /// How many there were.
    pub attempts: u32,
    /// Its CLIENT span, or the callee's entry.
    pub span_id: SpanId,
    /// The row of the waterfall that shows it.
    #[serde(skip)]
    pub row: Option<usize>,
    /// When it began, from the request's start.
    #[serde(rename = "start_ms")]
    pub start: Nanos,
    /// From the end of the attempt before it; negative if they overlapped.
    #[serde(rename = "waited_ms")]
    pub waited: Option<Nanos>,
    /// What its hop had left of the effective deadline when it began.
    #[serde(rename = "left_ms")]
    pub left: Option<Nanos>,
    /// The budget that was passed on.
    #[serde(rename = "remaining_out_ms")]
    pub sent: Option<Nanos>,
    /// The timeout that was set.
    #[serde(rename = "timeout_ms")]
    pub timeout: Option<Nanos>,
    /// How long it took.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// What it held of the clock before the deadline, with everything below it.
    #[serde(rename = "consumed_ms")]
    pub consumed: Nanos,
    /// Of the budget; without one, of the elapsed time.
    #[serde(serialize_with = "share")]
    pub share: (Nanos, Nanos),
    /// How it ended.
    pub verdict: Verdict,
}

/// The calls that were tried more than once, those that took the most first. `waterfall` tells the
/// rows and may be left out.
pub fn attempts(request: &Request, waterfall: Option<&Waterfall>) -> Vec<Tried> {
    let ends = subtree_ends(request);
    let whole = request.budget.unwrap_or(request.elapsed);
    let mut out = Vec::new();
    for hop in &request.hops {
        let Some(groups) = groups(hop) else { continue };
        let mut members: Vec<(usize, usize)> = groups
            .into_iter()
            .enumerate()
            .map(|(call, group)| (group, call))
            .collect();
        members.sort_by_key(|&(group, call)| (group, hop.calls[call].start, call));
        for group in members.chunk_by(|one, next| one.0 == next.0) {
            if group.len() < 2 {
                continue;
            }
            let calls = group.iter().map(|&(_, call)| call);
            let attempts = of_group(request, hop, calls, &ends, whole);
            let Some(last) = group.last().map(|&(_, call)| &hop.calls[call]) else {
                continue;
            };
            let consumed = attempts.iter().map(|attempt| attempt.consumed).sum();
            out.push(Tried {
                hop: hop.id,
                service: hop.service.clone(),
                to: last.to.clone(),
                operation: last.operation.clone(),
                consumed,
                share: (consumed, whole),
                attempts,
            });
        }
    }
    out.sort_by_key(|tried| -tried.consumed);
    if let Some(waterfall) = waterfall {
        add_rows(request, waterfall, &mut out);
    }
    out
}

fn of_group(
    request: &Request,
    hop: &Hop,
    calls: impl Iterator<Item = usize>,
    ends: &[usize],
    whole: Nanos,
) -> Vec<Attempt> {
    let mut out: Vec<Attempt> = Vec::new();
    let mut before: Option<Nanos> = None;
    for call in calls.map(|call| &hop.calls[call]) {
        let consumed = consumed(request, hop, call, ends);
        out.push(Attempt {
            attempt: call.attempt,
            attempts: call.attempts,
            span_id: call.span_id,
            row: None,
            start: call.start,
            waited: before.map(|end| call.start - end),
            left: hop.deadline.map(|deadline| deadline - call.start),
            sent: call.remaining_out,
            timeout: call.timeout,
            elapsed: call.elapsed,
            consumed,
            share: (consumed, whole),
            verdict: call.verdict,
        });
        before = Some(call.start + call.elapsed.at_least_zero());
    }
    out
}

/// What a call held of the clock before the deadline: what of the path lies in it and belongs to
/// it, which is everything below the callee, and the caller's own way there and back.
fn consumed(request: &Request, hop: &Hop, call: &Call, ends: &[usize]) -> Nanos {
    let end = call.start + call.elapsed.at_least_zero();
    let path = &request.path;
    let first = path.partition_point(|segment| segment.end <= call.start);
    let below = call
        .hop
        .map(|callee| callee..ends.get(callee).copied().unwrap_or(callee));
    let is_its = |segment: &&PathSegment| {
        let own = segment.hop == hop.id
            && !matches!(segment.part, Part::Local | Part::Backoff)
            && segment.to.as_ref() == Some(&call.to);
        own || below
            .as_ref()
            .is_some_and(|below| below.contains(&segment.hop))
    };
    let deadline = request.budget.unwrap_or(Nanos::MAX);
    path.get(first..)
        .unwrap_or_default()
        .iter()
        .take_while(|segment| segment.start < end)
        .filter(is_its)
        .map(|segment| {
            let to = segment.end.min(end).min(deadline);
            (to - segment.start.max(call.start)).at_least_zero()
        })
        .sum()
}

/// For each hop the hop after the last one below it: hops stand depth first.
fn subtree_ends(request: &Request) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=request.hops.len()).collect();
    for (id, hop) in request.hops.iter().enumerate().rev() {
        let end = ends[id];
        if let Some(above) = hop.parent.filter(|&parent| parent < id) {
            ends[above] = ends[above].max(end);
        }
    }
    ends
}

fn add_rows(request: &Request, waterfall: &Waterfall, tried: &mut [Tried]) {
    let mut wanted: std::collections::HashMap<SpanId, &mut Attempt> = tried
        .iter_mut()
        .flat_map(|tried| &mut tried.attempts)
        .map(|attempt| (attempt.span_id, attempt))
        .collect();
    if wanted.is_empty() {
        return;
    }
    // A call that has no row of its own is on the far side's.
    for hop in &request.hops {
        for call in hop.calls.iter().filter(|call| call.attempts > 1) {
            let row = call
                .hop
                .and_then(|callee| waterfall.row_of_hop.get(callee).copied());
            if let Some(attempt) = wanted.get_mut(&call.span_id) {
                attempt.row = attempt.row.or(row);
            }
        }
    }
    for (index, row) in waterfall.rows.iter().enumerate() {
        if row.call.is_some()
            && row.attempt.is_some()
            && let Some(attempt) = row.key(request).and_then(|key| wanted.get_mut(&key))
        {
            attempt.row = attempt.row.or(Some(index));
        }
    }
}

/// The group of each call of a hop: attempts of one call share one, by start. `None` if none was
/// tried again.
pub(super) fn groups(hop: &Hop) -> Option<Vec<usize>> {
    if hop.calls.iter().all(|call| call.attempts < 2) {
        return None;
    }
    let mut by_start: Vec<usize> = (0..hop.calls.len()).collect();
    by_start.sort_by_key(|&call| (hop.calls[call].start, call));
    let mut out = vec![0; hop.calls.len()];
    // Of each group that may go on: its number and its last attempt.
    let mut open: Vec<(usize, &Call)> = Vec::new();
    for (number, &index) in by_start.iter().enumerate() {
        let call = &hop.calls[index];
        out[index] = number;
        if call.attempts < 2 {
            continue;
        }
        let follows = |before: &Call| {
            before.operation == call.operation
                && before.attempts == call.attempts
                && (before.attempt + 1 == call.attempt || before.span_id == call.span_id)
        };
        // An attempt that nobody answered may bear another name than its callee's.
        let before = open
            .iter()
            .position(|(_, before)| follows(before) && before.to == call.to)
            .or_else(|| open.iter().position(|(_, before)| follows(before)));
        match before {
            Some(at) => {
                out[index] = open[at].0;
                open[at].1 = call;
                if call.attempt == call.attempts {
                    open.remove(at);
                }
            }
            None if call.attempt < call.attempts => open.push((number, call)),
            None => {}
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{fan_out, ms};
    use crate::query::waterfall::waterfall;

    #[test]
    fn attempts_of_one_call_share_what_it_took() {
        let request = fan_out();
        let drawn = waterfall(&request);
        let all = attempts(&request, Some(&drawn));
        assert_eq!(all.len(), 1);
        let tried = &all[0];
        assert_eq!(
            (tried.service.as_str(), tried.to.as_str()),
            ("checkout", "inventory")
        );
        let numbers: Vec<_> = tried.attempts.iter().map(|one| one.attempt).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(
            tried.consumed,
            tried.attempts.iter().map(|one| one.consumed).sum()
        );
        for attempt in &tried.attempts {
            // All of it is on the path, but for what lies after the caller had left.
            assert!(attempt.consumed <= attempt.elapsed && attempt.consumed > ms(400));
            assert_eq!(attempt.share, (attempt.consumed, ms(1500)));
            let row = &drawn.rows[attempt.row.unwrap()];
            assert_eq!(row.name, "inventory");
            assert_eq!(row.attempt, Some((attempt.attempt, attempt.attempts)));
        }
        assert_eq!(tried.attempts[0].waited, None);
        assert!(tried.attempts[1].waited.unwrap() > Nanos::ZERO);
    }

    #[test]
    fn what_attempts_take_is_in_the_ledger() {
        let request = fan_out();
        let tried = attempts(&request, None).remove(0);
        let of_path: Nanos = request
            .path
            .iter()
            .filter(|segment| {
                let hop = &request.hops[segment.hop];
                hop.service == "inventory"
                    || (hop.id == tried.hop
                        && segment.to.as_deref() == Some("inventory")
                        && segment.part != Part::Backoff)
            })
            .map(|segment| segment.end - segment.start)
            .sum();
        assert_eq!(tried.consumed, of_path);
    }

    #[test]
    fn calls_that_overlap_keep_to_their_own_group() {
        let mut request = fan_out();
        let hop = &mut request.hops[0];
        let call = hop.calls[0].clone();
        let one = |start, attempt, to: &str| Call {
            start: ms(start),
            attempt,
            attempts: 2,
            to: to.into(),
            span_id: SpanId([u8::try_from(start).unwrap(); 8]),
            ..call.clone()
        };
        hop.calls = vec![
            one(1, 1, "a"),
            one(2, 1, "b"),
            one(3, 2, "b"),
            one(4, 2, "a"),
            Call {
                attempts: 1,
                ..one(5, 1, "a")
            },
        ];
        assert_eq!(groups(hop), Some(vec![0, 1, 1, 0, 4]));
    }
}
