//! Query strings, read once: every value is checked here, and every link is written here.

use std::fmt;

use super::error::Problem;
use crate::model::Nanos;
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

    /// The same with another value of one.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(known, _)| known != name).cloned();
        Self(
            others
                .chain([(name.to_owned(), value.to_owned())])
                .collect(),
        )
    }

    /// A link with all of them.
    pub(super) fn link(&self, path: &str) -> String {
        let pairs: Vec<_> = self
            .0
            .iter()
            .map(|(name, value)| (&**name, Some(&**value)))
            .collect();
        Link {
            path,
            pairs: &pairs,
        }
        .to_string()
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

    /// A time in milliseconds with up to six decimals.
    pub(super) fn time(&self, name: &str) -> Result<Option<Nanos>, Problem> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let time = millis(text).map(Some);
        time.ok_or_else(|| bad(name, text, "milliseconds such as 900 or 12.5"))
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

fn millis(text: &str) -> Option<Nanos> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number =
        |text: &str, most| text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole, 12) || !is_number(fraction, 6) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let fraction: i64 = format!("{fraction:0<6}").parse().ok()?;
    Some(Nanos(sign * (whole * 1_000_000 + fraction)))
}

/// Milliseconds as an address has them, without a rest.
pub(super) fn in_millis(time: Nanos) -> String {
    let sign = if time < Nanos::ZERO { "-" } else { "" };
    let time = time.0.unsigned_abs();
    let text = format!("{sign}{}.{:06}", time / 1_000_000, time % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A text as one step of a path.
pub(super) fn step(text: &str) -> String {
    let mut out = String::new();
    escape(text, &mut out).unwrap_or_default();
    // A step of dots alone would be taken for a way up.
    if out.bytes().all(|byte| byte == b'.') {
        out = out.replace('.', "%2E");
    }
    out
}

fn escape(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    text.bytes().try_for_each(|byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.write_char(char::from(byte))
        } else {
            write!(out, "%{byte:02X}")
        }
    })
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
            escape(value, f)?;
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
    fn times_are_read_as_they_are_written() {
        for (text, nanos) in [
            ("900", 900_000_000),
            ("12.5", 12_500_000),
            ("-0.000001", -1),
            ("0", 0),
        ] {
            let params = Params::read(Some(&format!("from={text}")));
            assert_eq!(params.time("from"), Ok(Some(Nanos(nanos))), "{text}");
            assert_eq!(in_millis(Nanos(nanos)), text);
        }
        for text in [
            "1e3",
            ".5",
            "-",
            "1.0000001",
            "9999999999999",
            "1.-5",
            "\u{661}",
        ] {
            let params = Params(vec![("from".to_owned(), text.to_owned())]);
            assert!(params.time("from").is_err(), "{text}");
        }
        assert_eq!(Params::default().time("from"), Ok(None));
        assert_eq!(step("a b/c"), "a%20b%2Fc");
        assert_eq!(step(".."), "%2E%2E");
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
