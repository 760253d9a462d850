//! A request as JSON, for the command line and the web API, byte for byte the same.

use serde::Serialize;

use crate::model::{
    Culprit, Finding, Nanos, Note, Outcome, Request, Source, SpanId, Surfaced, Text, TraceId,
    UnixNanos,
};

/// The whole request as one line of JSON without a line end.
pub fn one(request: &Request) -> String {
    to_line(request)
}

/// The request for lists: without `hops`, `ledger` and `path`.
pub fn listed(request: &Request) -> String {
    to_line(&Listed::from(request))
}

fn to_line(value: &impl Serialize) -> String {
    // Serialising to memory fails on maps with keys that are not text only; there are none.
    serde_json::to_string(value).unwrap_or_default()
}

/// The fields of [`Request`] that lists show, in its order and under its names.
#[derive(Serialize)]
struct Listed<'a> {
    trace_id: TraceId,
    request: SpanId,
    revision: u32,
    complete: bool,
    notes: &'a [Note],
    service: &'a Text,
    operation: &'a Text,
    start: UnixNanos,
    spans: usize,
    #[serde(rename = "elapsed_ms")]
    elapsed: Nanos,
    #[serde(rename = "budget_ms")]
    budget: Option<Nanos>,
    budget_source: &'a Source,
    outcome: Outcome,
    #[serde(rename = "wasted_ms")]
    wasted: Nanos,
    surfaced: &'a Option<Surfaced>,
    culprit: &'a Option<Culprit>,
    findings: &'a [Finding],
}

impl<'a> From<&'a Request> for Listed<'a> {
    fn from(request: &'a Request) -> Self {
        // Named one by one, so that a new field of `Request` has to be thought of here.
        let Request {
            trace_id,
            request,
            revision,
            complete,
            notes,
            service,
            operation,
            start,
            spans,
            elapsed,
            budget,
            budget_source,
            outcome,
            wasted,
            surfaced,
            culprit,
            hops: _,
            path: _,
            ledger: _,
            findings,
        } = request;
        Self {
            trace_id: *trace_id,
            request: *request,
            revision: *revision,
            complete: *complete,
            notes,
            service,
            operation,
            start: *start,
            spans: *spans,
            elapsed: *elapsed,
            budget: *budget,
            budget_source,
            outcome: *outcome,
            wasted: *wasted,
            surfaced,
            culprit,
            findings,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::query::fixtures::chain;

    fn keys(text: &str) -> Vec<String> {
        // In the order of the text, which a map would lose.
        let Value::Object(map) = serde_json::from_str(text).unwrap() else {
            panic!("not an object: {text}");
        };
        let mut keys: Vec<String> = map.keys().cloned().collect();
        keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
        keys
    }

    #[test]
    fn lists_have_the_keys_of_a_request_but_for_three() {
        let request = chain();
        let mut whole = keys(&one(&request));
        let left_out = ["hops", "path", "ledger"];
        assert!(left_out.iter().all(|key| whole.iter().any(|k| k == key)));
        whole.retain(|key| !left_out.contains(&key.as_str()));
        assert_eq!(keys(&listed(&request)), whole);
    }

    #[test]
    fn what_both_show_is_the_same() {
        let request = chain();
        let whole: Value = serde_json::from_str(&one(&request)).unwrap();
        let list: Value = serde_json::from_str(&listed(&request)).unwrap();
        for (key, value) in list.as_object().unwrap() {
            assert_eq!(&whole[key], value, "{key}");
        }
    }
}
