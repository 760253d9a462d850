//! A request as JSON, for the command line and the web API, byte for byte the same.

use serde::Serialize;

use crate::model::{Request, SpanId};
use crate::query::attempts::Tried;
use crate::query::clocks::Host;
use crate::query::compare::Comparison;
use crate::query::requests::Listed;

/// The whole request as one line of JSON without a line end.
pub fn one(request: &Request) -> String {
    to_line(request)
}

/// The request for lists: without `hops`, `ledger` and `path`.
pub fn listed<'a, T: Into<Listed<'a>>>(request: T) -> String {
    to_line(&request.into())
}

/// A request beside a good one.
pub fn compared(compared: &Comparison) -> String {
    to_line(compared)
}

/// The calls of a request that were tried more than once, as an array.
pub fn attempts(tried: &[Tried]) -> String {
    to_line(&tried)
}

/// The hosts of a request and what was added to their clocks, as an array.
pub fn clocks(hosts: &[Host]) -> String {
    to_line(&hosts)
}

/// What was found in a request, as an array: the hop's id, the index of its call where it is a
/// call, and the span that names it.
pub fn found(found: impl Iterator<Item = (usize, Option<usize>, SpanId)>) -> String {
    #[derive(Serialize)]
    struct Found {
        hop: usize,
        call: Option<usize>,
        span_id: SpanId,
    }
    let found: Vec<Found> = found
        .map(|(hop, call, span_id)| Found { hop, call, span_id })
        .collect();
    to_line(&found)
}

fn to_line(value: &impl Serialize) -> String {
    // Serialising to memory fails on maps with keys that are not text only; there are none.
    serde_json::to_string(value).unwrap_or_default()
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
