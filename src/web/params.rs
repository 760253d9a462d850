//! Query strings, read once: every value is checked here, and every link is written here.

use std::fmt;

use super::error::Problem;
use crate::report::svg::display_name;

/// The pairs of a query string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// Reads `a=1&b=2` with `%` and `+` escapes; bytes that are no UTF-8 become U+FFFD.
    pub(super) fn read(query: Option<&str>) -> Self {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(name), decode(value))
            })
            .collect();
        Self(pairs)
    }

    /// Pairs that were read before.
    pub(super) fn of(pairs: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let pairs = pairs.into_iter();
        Self(
            pairs
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// The value of a parameter; an empty one counts as absent, of several the first counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// A number between `least` and `most`; `default` when it is absent.
    pub(super) fn number(
        &self,
        name: &str,
        default: usize,
        least: usize,
        most: usize,
    ) -> Result<usize, Problem> {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(bad(name, text, &format!("a number from {least} to {most}"))),
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*choice));
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        Err(bad(name, text, &format!("one of {}", words.join(", "))))
    }
}

/// Says which parameter is wrong, what stood there and what may stand there.
pub(super) fn bad(name: &str, value: &str, wanted: &str) -> Problem {
    Problem::Bad(format!(
        "`{name}` is `{}`; it has to be {wanted}.",
        display_name(value, 60)
    ))
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut ahead = rest.clone();
                let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
                match (digit(ahead.next()), digit(ahead.next())) {
                    (Some(high), Some(low)) => {
                        bytes.push((high * 16 + low) as u8);
                        rest = ahead;
                    }
                    _ => bytes.push(b'%'),
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A link: a path and those parameters that have a value.
#[derive(Debug, Clone)]
pub(super) struct Link<'a> {
    pub(super) path: &'a str,
    pub(super) pairs: &'a [(&'a str, Option<&'a str>)],
}

impl fmt::Display for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)?;
        let pairs = self
            .pairs
            .iter()
            .filter_map(|(name, value)| Some((name, (*value)?)));
        for (i, (name, value)) in pairs.enumerate() {
            f.write_str(if i == 0 { "?" } else { "&" })?;
            write!(f, "{name}=")?;
            for byte in value.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    write!(f, "{}", char::from(byte))?;
                } else {
                    write!(f, "%{byte:02X}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_strings_are_read_and_written() {
        let params = Params::read(Some("q=a%20b+c&x=%zz&y=&z=%e2%82%ac&q=2"));
        assert_eq!(params.get("q"), Some("a b c"));
        assert_eq!(params.get("x"), Some("%zz"));
        assert_eq!(params.get("y"), None);
        assert_eq!(params.get("z"), Some("\u{20ac}"));
        let link = Link {
            path: "/requests",
            pairs: &[
                ("outcome", None),
                ("cursor", Some("a b&c")),
                ("sort", Some("worst")),
            ],
        };
        assert_eq!(link.to_string(), "/requests?cursor=a%20b%26c&sort=worst");
    }

    #[test]
    fn what_is_wrong_is_named_with_what_may_stand_there() {
        let params = Params::read(Some("limit=0&sort=best"));
        assert_eq!(
            params.number("limit", 50, 1, 500),
            Err(Problem::Bad(
                "`limit` is `0`; it has to be a number from 1 to 500.".to_owned()
            ))
        );
        assert_eq!(
            params.choice("sort", &[("newest", 1), ("worst", 2)]),
            Err(Problem::Bad(
                "`sort` is `best`; it has to be one of newest, worst.".to_owned()
            ))
        );
        assert_eq!(params.number("rows", 200, 1, 500), Ok(200));
    }
}
