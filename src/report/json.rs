//! A request as JSON, for the command line and the web API, byte for byte the same.

use serde::Serialize;

use crate::model::Request;
use crate::query::requests::Listed;

/// The whole request as one line of JSON without a line end.
pub fn one(request: &Request) -> String {
    to_line(request)
}

/// The request for lists: without `hops`, `ledger` and `path`.
pub fn listed<'a, T: Into<Listed<'a>>>(request: T) -> String {
    to_line(&request.into())
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
