//! Words in texts and in the names of error types.

use memchr::memmem::Finder;

/// Pieces that stand in a text one after another, as whole words, in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase {
    /// In lower case, none empty.
    pieces: Vec<Piece>,
}

/// A text, with what is worked out once to look for it in others.
#[derive(Debug, Clone)]
struct Piece {
    text: String,
    finder: Finder<'static>,
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Piece {}

impl Piece {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            finder: Finder::new(text).into_owned(),
        }
    }

    /// Where it stands in a text, and where it ends, from a place on.
    fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let at = from + self.finder.find(text.as_bytes().get(from..)?)?;
        Some((at, at + self.text.len()))
    }
}

impl Phrase {
    /// Reads a phrase; `*` is anything in between.
    pub(super) fn new(text: &str) -> Self {
        let pieces = text.to_lowercase();
        let pieces = pieces.split('*').filter(|piece| !piece.is_empty());
        Self {
            pieces: pieces.map(Piece::new).collect(),
        }
    }

    /// True if it stands in the text, which is in lower case.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let Some((first, others)) = self.pieces.split_first() else {
            return false;
        };
        let mut from = 0;
        // A piece may stand in another word at first and as a word later.
        while let Some((at, end)) = first.find(text, from) {
            let mut last = end;
            let all = others.iter().all(|piece| match piece.find(text, last) {
                Some((_, end)) => {
                    last = end;
                    true
                }
                None => false,
            });
            if all && starts_word(text, at, &first.text) && ends_word(text, last, self.last()) {
                return true;
            }
            from = end;
        }
        false
    }

    fn last(&self) -> &str {
        self.pieces.last().map_or("", |piece| piece.text.as_str())
    }
}

fn starts_word(text: &str, at: usize, piece: &str) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    !is_word(piece.chars().next()) || !is_word(before)
}

fn ends_word(text: &str, at: usize, piece: &str) -> bool {
    let after = text.get(at..).and_then(|after| after.chars().next());
    !is_word(piece.chars().next_back()) || !is_word(after)
}

fn is_word(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
}

/// True of a whole text such as "redis timeout": at most three words, the last one "timeout". The
/// text is in lower case.
pub(super) fn is_short_timeout(text: &str) -> bool {
    let text = text.trim_end_matches(|end: char| end.is_ascii_punctuation() || end == ' ');
    let words = text.split_whitespace();
    let plain = |word: &str| word.chars().all(char::is_alphanumeric);
    let mut count = 0;
    let mut last = "";
    for word in words {
        count += 1;
        last = word;
        // An option's name, a key or a path: no sentence.
        if count > 3 || !plain(word) {
            return false;
        }
    }
    matches!(last, "timeout" | "timedout")
}

/// What follows the last dot or `::` of a type's name.
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// What an unknown type's name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// A timer of its own.
    Timeout,
    /// A socket's or a pool's timer.
    SocketTimeout,
    /// A cancellation.
    Cancel,
}

/// Reads the last part of a type's name, in lower case.
pub(super) fn of_type(part: &str) -> Option<Told> {
    let name: String = part.chars().filter(|c| c.is_alphanumeric()).collect();
    let bare = ["exception", "error", "err", "fault"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(&name);
    let ends = |words: &[&str]| words.iter().any(|word| bare.ends_with(word));
    let begins = |words: &[&str]| words.iter().any(|word| bare.starts_with(word));
    if ends(&[
        "timeout",
        "timedout",
        "deadlineexceeded",
        "timelimitexceeded",
        "timeoutexpired",
        "timeoutexceeded",
    ]) {
        let faulty = begins(&["invalid", "illegal", "bad", "missing", "unknown"]);
        let socket = [
            "socket", "read", "write", "connect", "pool", "open", "headers", "body",
        ]
        .iter()
        .any(|word| bare.contains(word));
        return (!faulty).then_some(if socket {
            Told::SocketTimeout
        } else {
            Told::Timeout
        });
    }
    let cancels = bare.contains("cancel") || matches!(bare, "abort" | "clientabort");
    cancels.then_some(Told::Cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(phrase: &str, text: &str) -> bool {
        Phrase::new(phrase).is_in(&text.to_lowercase())
    }

    #[test]
    fn phrases_are_whole_words_with_gaps() {
        assert!(says("timed out", "Operation timed out."));
        assert!(!says("timed out", "retimed outer rings"));
        assert!(says("timed out", "mistimed outage, then it timed out"));
        assert!(says(
            "timeout of *ms exceeded",
            "timeout of 5000ms exceeded"
        ));
        assert!(!says(
            "timeout of *ms exceeded",
            "timeout of 5000 is too much"
        ));
        assert!(says("read timeout=", "Read timed out. (read timeout=5)"));
        assert!(!says("a * b", "b then a"));
        assert!(!says("*", "anything"));
        assert!(says("ümlaut * ende", "der Ümlaut am Ende"));
    }

    #[test]
    fn a_short_text_that_ends_in_timeout_tells_of_one() {
        for text in ["timeout", "redis timeout", "upstream read timeout!"] {
            assert!(is_short_timeout(text), "{text}");
        }
        for text in [
            "bad value for --timeout",
            "--timeout",
            "spec.timeout",
            "the job has no timeout",
            "timeout ignored",
            "",
        ] {
            assert!(!is_short_timeout(text), "{text}");
        }
    }

    #[test]
    fn unknown_types_are_read_by_their_endings() {
        for name in ["ShopTimeoutError", "deadline_exceeded", "QueryTimedOut"] {
            assert_eq!(of_type(&name.to_lowercase()), Some(Told::Timeout), "{name}");
        }
        for name in ["PoolTimeoutError", "ConnectionTimeout", "SocketTimeout"] {
            let told = of_type(&name.to_lowercase());
            assert_eq!(told, Some(Told::SocketTimeout), "{name}");
        }
        for name in ["JobCancelledError", "AbortError", "ClientAbortException"] {
            assert_eq!(of_type(&name.to_lowercase()), Some(Told::Cancel), "{name}");
        }
        for name in [
            "TimeoutConfiguration",
            "InvalidTimeoutError",
            "ConnectionRefused",
            "",
        ] {
            assert_eq!(of_type(&name.to_lowercase()), None, "{name}");
        }
        assert_eq!(last_part("a::b::Elapsed"), "Elapsed");
        assert_eq!(
            last_part("java.net.SocketTimeoutException"),
            "SocketTimeoutException"
        );
        assert_eq!(last_part("timeout"), "timeout");
    }
}
