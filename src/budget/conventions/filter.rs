//! A quick look at a key: nearly every one is none of ours.

use crate::model::Value;

use super::grammar::{Grammar, Parsed, parse};

/// Tells keys that cannot be in the table from those that may: one bit for each hash of a key's
/// last eight bytes. What it lets through is looked up.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    bits: Vec<u64>,
}

/// Hashes have so many bits: 150 keys set under 2 % of what they can be.
const HASH_BITS: u32 = 13;

impl Filter {
    /// A filter that lets these keys through.
    pub(super) fn of<'a>(keys: impl Iterator<Item = &'a str>) -> Self {
        let mut bits = vec![0; 1 << (HASH_BITS - 6)];
        for key in keys {
            let hash = hash(key);
            bits[hash >> 6] |= 1 << (hash & 63);
        }
        Self { bits }
    }

    /// False if the key is in no table, whatever its case and its `_` and `-`.
    pub(super) fn may_hold(&self, key: &str) -> bool {
        let hash = hash(key);
        self.bits
            .get(hash >> 6)
            .is_some_and(|word| word >> (hash & 63) & 1 == 1)
    }
}

fn hash(key: &str) -> usize {
    let bytes = key.as_bytes();
    let end = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or(bytes);
    let packed = end
        .iter()
        .fold(0_u64, |packed, byte| packed << 8 | u64::from(folded(*byte)));
    (packed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASH_BITS)) as usize
}

fn folded(byte: u8) -> u8 {
    match byte {
        b'_' => b'-',
        other => other.to_ascii_lowercase(),
    }
}

/// What a budget's key ends in, before its unit.
const WORDS: [&str; 6] = [
    "deadline",
    "timeout",
    "budget",
    "timebudget",
    "timeleft",
    "remaining",
];
/// What may follow.
const UNITS: [&str; 17] = [
    "ms",
    "millis",
    "milliseconds",
    "s",
    "sec",
    "secs",
    "seconds",
    "us",
    "micros",
    "ns",
    "nanos",
    "at",
    "abs",
    "epoch",
    "remaining",
    "left",
    "millisecond",
];

/// True for a key that looks like a budget's, though no rule knows it: its last word, less units,
/// is one of [`WORDS`], and none of `never` is in it.
pub(super) fn looks_like_budget(key: &str, never: &[String]) -> bool {
    if !may_end_so(key) {
        return false;
    }
    let mut rest = key;
    loop {
        let at = rest.rfind(['.', '_', '/', '-']);
        let last = at.map_or(Some(rest), |at| rest.get(at + 1..));
        let Some(last) = last.filter(|last| !last.is_empty()) else {
            return false;
        };
        if ends_in_budget(last) {
            break;
        }
        if !is_one_of(&UNITS, last) {
            return false;
        }
        let Some(before) = at.and_then(|at| rest.get(..at)) else {
            return false;
        };
        // "time_left" has a separator within its word.
        if last.eq_ignore_ascii_case("left") && ends_with(before, "time") {
            break;
        }
        rest = before;
    }
    let lower = key.to_ascii_lowercase();
    !never.iter().any(|word| lower.contains(word.as_str()))
}

/// False for keys that end like none of [`WORDS`] and none of [`UNITS`]: most of them.
fn may_end_so(key: &str) -> bool {
    let Some((_, &[before, last])) = key.as_bytes().split_last_chunk() else {
        return false;
    };
    let end = [before, last].map(|byte| byte.to_ascii_lowercase());
    match last.to_ascii_lowercase() {
        b's' => b"mdcuonib._/-".contains(&end[0]),
        _ => matches!(
            &end,
            b"ne" | b"ut" | b"et" | b"ft" | b"ng" | b"ec" | b"at" | b"ch" | b"nd"
        ),
    }
}

/// The word alone, or with its unit grown on: `timeoutMs`. A plural is not one of seconds.
fn ends_in_budget(segment: &str) -> bool {
    is_one_of(&WORDS, segment)
        || WORDS.iter().any(|word| {
            let unit = segment.get(word.len()..).filter(|unit| unit.len() > 1);
            segment
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
                && unit.is_some_and(|unit| is_one_of(&UNITS, unit))
        })
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn ends_with(text: &str, end: &str) -> bool {
    let from = text.len().checked_sub(end.len());
    from.and_then(|from| text.get(from..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// True for a value that could be a duration or an instant.
pub(super) fn could_be_time(key: &str, value: &Value) -> bool {
    let readable = |grammar, value| matches!(parse(grammar, key, value), Some(Parsed::Time(_)));
    match value {
        Value::Array(values) => values
            .first()
            .is_some_and(|first| !matches!(first, Value::Array(_)) && could_be_time(key, first)),
        Value::Int(_) | Value::Double(_) => readable(Grammar::Millis, value),
        Value::Str(_) => {
            readable(Grammar::Millis, value) || parse(Grammar::Guess, key, value).is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_pass_in_any_case_and_spelling_and_others_hardly() {
        let filter = Filter::of(["x-deadline-remaining-ms", "-to", "timeout"].into_iter());
        for key in [
            "x-deadline-remaining-ms",
            "X_Deadline_Remaining_MS",
            "_to",
            "timeout",
        ] {
            assert!(filter.may_hold(key), "{key}");
        }
        let others = ["http.request.method", "url.path", "server.port", "a", ""];
        assert!(others.iter().all(|key| !filter.may_hold(key)));
    }

    #[test]
    fn no_word_and_no_unit_is_turned_away_by_its_end() {
        for word in WORDS.into_iter().chain(UNITS) {
            for key in [
                format!("a.{word}"),
                format!("a_{word}"),
                word.to_uppercase(),
            ] {
                assert!(may_end_so(&key) || key.len() == 1, "{key}");
            }
        }
        for word in WORDS {
            for unit in UNITS {
                for between in ["", "_", "."] {
                    // Grown on, one letter is a plural's.
                    let is_budget = !between.is_empty() || unit.len() > 1;
                    let key = format!("call.{word}{between}{unit}");
                    assert_eq!(looks_like_budget(&key, &[]), is_budget, "{key}");
                }
            }
        }
        let others = [
            "http.request.method",
            "http.response.status_code",
            "s",
            "",
            "url.path",
        ];
        assert!(others.iter().all(|key| !may_end_so(key)));
    }

    #[test]
    fn a_suggestion_needs_a_value_that_could_be_a_time() {
        let text = |s: &str| Value::Str(s.into());
        for value in [
            text("12.3"),
            text("30s"),
            Value::Int(5),
            text("2030-01-01T00:00:00Z"),
        ] {
            assert!(could_be_time("timeout", &value), "{value:?}");
        }
        for value in [text("default"), Value::Bool(true), Value::Empty, text("")] {
            assert!(!could_be_time("timeout", &value), "{value:?}");
        }
    }
}
