//! Values per (service, operation), by patterns with `*`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use globset::{GlobBuilder, GlobMatcher};

use crate::model::Text;

/// Answers that are remembered; operations with ids in their names would otherwise fill memory.
const REMEMBERED: usize = 10_000;

/// A pattern for a name: `*` stands for any characters, also none and `/`; everything else for
/// itself, so that `GET /orders/{id}` means just that.
#[derive(Clone)]
pub struct Pattern {
    text: Text,
    /// Absent without a `*`, and where the `*` stands alone.
    matcher: Option<GlobMatcher>,
}

/// A pattern that cannot be compiled: it is too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern is too long")]
pub struct PatternError;

/// What is said of services and operations, the most specific first.
///
/// Of several that match, the most specific counts: the service's pattern decides before the
/// operation's, a name without `*` before one with, more other characters before fewer, and at
/// last the one that was given first.
pub struct Patterns<T> {
    entries: Vec<(Pattern, Pattern, T)>,
    /// What was found for a service and an operation.
    remembered: RwLock<Remembered<T>>,
}

#[derive(Clone)]
struct Remembered<T> {
    count: usize,
    found: HashMap<Text, HashMap<Text, Option<T>>>,
}

impl Pattern {
    /// Compiles a pattern.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let mut glob = String::new();
        for c in text.chars() {
            match c {
                '*' if glob.ends_with('*') => {}
                '*' => glob.push('*'),
                c => glob.push_str(&globset::escape(c.encode_utf8(&mut [0; 4]))),
            }
        }
        let matcher = if text.contains('*') && glob != "*" {
            let glob = GlobBuilder::new(&glob)
                .literal_separator(false)
                .backslash_escape(false)
                .build();
            Some(glob.map_err(|_| PatternError)?.compile_matcher())
        } else {
            None
        };
        Ok(Self {
            text: if glob == "*" { "*" } else { text }.into(),
            matcher,
        })
    }

    /// Matches everything.
    pub fn any() -> Self {
        Self {
            text: "*".into(),
            matcher: None,
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this is a name's pattern.
    pub fn matches(&self, name: &str) -> bool {
        match &self.matcher {
            Some(matcher) => matcher.is_match(name),
            None => self.text == "*" || self.text == name,
        }
    }

    /// How much it says: greater is more specific.
    fn rank(&self) -> (bool, usize) {
        let stars = self.text.bytes().filter(|byte| *byte == b'*').count();
        (stars == 0, self.text.len() - stars)
    }
}

impl<T: Copy> Patterns<T> {
    /// What is said, in the order in which it was.
    pub fn new(mut entries: Vec<(Pattern, Pattern, T)>) -> Self {
        let rank = |(service, operation, _): &(Pattern, Pattern, T)| {
            std::cmp::Reverse((service.rank(), operation.rank()))
        };
        entries.sort_by_key(rank);
        Self {
            entries,
            remembered: RwLock::default(),
        }
    }

    /// True if nothing is said of anything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is said of an operation of a service.
    pub fn get(&self, service: &str, operation: &str) -> Option<T> {
        if self.entries.is_empty() {
            return None;
        }
        let known = self.remembered.read();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        let found = known.found.get(service).and_then(|of| of.get(operation));
        if let Some(found) = found {
            return *found;
        }
        drop(known);
        let found = self.find(service, operation);
        let known = self.remembered.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if known.count >= REMEMBERED {
            *known = Remembered::default();
        }
        let of = known.found.entry(service.into()).or_default();
        if of.insert(operation.into(), found).is_none() {
            known.count += 1;
        }
        found
    }

    fn find(&self, service: &str, operation: &str) -> Option<T> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|(of, named, _)| of.matches(service) && named.matches(operation));
        entry.map(|(_, _, value)| *value)
    }
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self {
            count: 0,
            found: HashMap::new(),
        }
    }
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            remembered: RwLock::default(),
        }
    }
}

impl<T: Clone> Clone for Patterns<T> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            remembered: RwLock::default(),
        }
    }
}

impl<T: PartialEq> PartialEq for Patterns<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<T: fmt::Debug> fmt::Debug for Patterns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(entries: &[(&str, &str)]) -> Patterns<usize> {
        let pattern = |text| Pattern::new(text).unwrap();
        let entries = entries.iter().enumerate();
        Patterns::new(
            entries
                .map(|(nr, (service, operation))| (pattern(service), pattern(operation), nr))
                .collect(),
        )
    }

    #[test]
    fn a_star_is_any_text_and_nothing_else_is_special() {
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).unwrap().matches(name);
        assert!(matches("payments/*", "payments/charge/card"));
        assert!(matches("payments/*", "payments/"));
        assert!(matches("*Charge*", "v1.Charge"));
        assert!(matches("**", "") && matches("a**b", "ab"));
        assert!(matches("GET /orders/{id}", "GET /orders/{id}"));
        assert!(matches("GET /orders/{id}*", "GET /orders/{id}/items?x=[1]"));
        assert!(matches("*[1]\\*", "x[1]\\y") && matches("über*", "überweisung"));
        assert!(!matches("payments/*", "payments"));
        assert!(!matches("Charge", "charge"));
        assert!(!matches("GET /orders/{a,b}*", "GET /orders/a"));
        assert!(!matches("a?*", "abc"));
        assert!(!matches("a[bc]*", "ab"));
    }

    #[test]
    fn the_most_specific_entry_wins_wherever_it_stands() {
        let patterns = patterns(&[
            ("*", "*"),
            ("pay*", "Charge"),
            ("payments", "*"),
            ("payments", "Ch*"),
            ("payments", "Charge"),
            ("pay*", "*"),
            ("paym*", "*"),
            ("*ments", "*"),
        ]);
        let expected = [
            ("payments", "Charge", 4),
            ("payments", "Check", 3),
            ("payments", "Refund", 2),
            ("payouts", "Charge", 1),
            ("payouts", "Refund", 5),
            // The service decides first: more of it is named.
            ("paymaster", "Charge", 6),
            ("shipments", "Charge", 7),
            ("orders", "Charge", 0),
        ];
        for (service, operation, nr) in expected {
            // The second time it is remembered.
            for _ in 0..2 {
                let found = patterns.get(service, operation);
                assert_eq!(found, Some(nr), "{service} {operation}");
            }
        }
        // Of equally specific ones, the first.
        let twins = self::patterns(&[("*ab", "*"), ("ab*", "*")]);
        assert_eq!(twins.get("ab", "x"), Some(0));
        assert_eq!(twins.get("abc", "x"), Some(1));
        assert_eq!(twins.get("c", "x"), None);
    }

    #[test]
    fn what_is_remembered_stays_bounded() {
        let patterns = patterns(&[("a", "*")]);
        for nr in 0..=REMEMBERED {
            assert_eq!(patterns.get("a", &format!("GET /{nr}")), Some(0));
            assert_eq!(patterns.get("b", &format!("GET /{nr}")), None);
        }
        let known = patterns.remembered.read().unwrap();
        let held: usize = known.found.values().map(HashMap::len).sum();
        assert!(known.count <= REMEMBERED && held == known.count, "{held}");
        assert!(held > 0);
    }
}
