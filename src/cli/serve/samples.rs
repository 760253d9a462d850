//! The sample traces, compiled in, so that a fresh server has something to show.

use std::sync::Arc;

use crate::budget::{Policy, Typical, analyse};
use crate::model::{Nanos, Trace, UnixNanos};
use crate::otlp::{Limits, traces_from_json};
use crate::store::{Memory, Stored};

macro_rules! samples {
    ($($name:literal,)*) => {
        /// File names and contents, in order.
        const SAMPLES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../sample-traces/", $name))),)*
        ];
    };
}

samples! {
    "01-fixed-timeouts.json",
    "02-deadline-passed-on.json",
    "03-checkout-fan-out.json",
    "04-met-with-reserve.json",
    "05-expired-on-arrival.json",
    "06-retries-ignore-budget.json",
    "07-retry-amplification.json",
    "08-hedge-loser.json",
    "09-clock-skew.json",
    "10-absolute-deadline-skew.json",
    "11-queued.json",
    "12-no-reserve.json",
    "13-cancelled-by-caller.json",
    "14-timed-out-early.json",
    "15-budget-reset.json",
    "16-unreported-callee.json",
    "17-handed-over.json",
    "18-ambiguous-write.json",
    "19-missing-root.json",
    "20-contradicting-telemetry.json",
    "21-optional-call.json",
}

/// Puts the samples into the table, marked, moved in time so that the newest ends at `now`.
/// Returns how many requests they are.
pub(super) fn load(memory: &Memory, policy: &Policy, now: UnixNanos) -> usize {
    let traces: Vec<Trace> = SAMPLES.iter().filter_map(|(_, text)| read(text)).collect();
    let spans = || traces.iter().flat_map(|trace| &trace.spans);
    let newest = spans().map(|span| span.end.max(span.start)).max();
    let by = newest.map_or(Nanos::ZERO, |newest| now.since(newest));
    let mut requests = 0;
    for mut trace in traces {
        // Analysed as written, moved afterwards: an absolute deadline in a header stays where it
        // belongs between the spans.
        let mut analysis = analyse(&trace, policy, &Typical::default());
        for request in &mut analysis.requests {
            request.start = request.start.shifted(by);
            request.revision = 1;
        }
        shift(&mut trace, by);
        requests += analysis.requests.len();
        memory.put(Stored {
            trace: Arc::new(trace),
            analysis: Arc::new(analysis),
            sample: true,
            log_from: u64::MAX,
        });
    }
    requests
}

/// The one trace of a sample; a test reads them all, so that none is left out in silence.
fn read(text: &str) -> Option<Trace> {
    let decoded = traces_from_json(text.as_bytes(), &Limits::default()).ok()?;
    Some(Trace {
        id: decoded.spans.first()?.trace_id,
        spans: decoded.spans,
        logs: Vec::new(),
    })
}

fn shift(trace: &mut Trace, by: Nanos) {
    for span in &mut trace.spans {
        span.start = span.start.shifted(by);
        span.end = span.end.shifted(by);
        for event in &mut span.events {
            event.time = event.time.shifted(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::TraceId;

    #[test]
    fn every_sample_of_the_folder_is_compiled_in_and_is_one_trace() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-traces");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        let listed: BTreeSet<String> = SAMPLES.iter().map(|(n, _)| (*n).to_owned()).collect();
        assert_eq!(files, listed);
        for (name, text) in SAMPLES {
            let trace = read(text).expect(name);
            let ids: BTreeSet<TraceId> = trace.spans.iter().map(|s| s.trace_id).collect();
            assert_eq!(ids, BTreeSet::from([trace.id]), "{name}");
        }
    }

    #[test]
    fn the_newest_sample_ends_now_and_the_others_keep_their_distance() {
        let memory = Memory::new(1000);
        let now = UnixNanos(1_900_000_000_000_000_000);
        load(&memory, &Policy::default(), now);
        let ends = |memory: &Memory| -> Vec<UnixNanos> {
            let traces = memory.find_prefix("");
            let stored = traces.iter().filter_map(|id| memory.get(*id));
            stored
                .map(|stored| {
                    assert!(stored.sample);
                    stored.trace.spans.iter().map(|s| s.end).max().unwrap()
                })
                .collect()
        };
        let shifted = ends(&memory);
        assert_eq!(shifted.len(), SAMPLES.len());
        assert_eq!(shifted.iter().max(), Some(&now));
        let oldest = shifted.iter().min().unwrap();
        assert!(now.since(*oldest) > Nanos::from_secs(60));
        memory.clear_samples();
        assert!(memory.find_prefix("").is_empty());
        assert!(!memory.has_samples());
    }
}
