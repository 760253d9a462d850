//! The kinds of values that settings have: how each is written, read and asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::link::TraceUrl;
use crate::budget::{Field, Grammar, Rules, Share};
use crate::model::{Rule, Severity, Text};

/// What would have been right, as the end of "`x` is not …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted(pub String);

/// How a kind of value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// What stands for it in a flag's help.
    pub placeholder: &'static str,
    /// What it is, with an example: the end of "`x` is not …".
    pub wanted: &'static str,
    /// How TOML writes it.
    pub written: Written,
}

/// How a value is written in TOML. In a flag or a variable all are texts, lists with commas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// `"text"`.
    Text,
    /// `1024`.
    Integer,
    /// `"64MiB"` or `67108864`.
    TextOrInteger,
    /// `true`.
    Switch,
    /// `["a", "b"]`; `a,b` elsewhere.
    List,
    /// `{ a = "b" }`; `a=b` elsewhere.
    Table,
}

/// A kind of value: its form and what a text means.
pub(super) struct Kind<T> {
    pub form: Form,
    pub parse: fn(&str) -> Result<T, Wanted>,
}

impl Written {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "an integer",
            Self::TextOrInteger => "a string or an integer",
            Self::Switch => "true or false",
            Self::List => "a list of strings",
            Self::Table => "a table of strings",
        }
    }
}

/// When an acknowledged span is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogMode {
    /// When the disk has it: a power cut loses nothing that was acknowledged.
    Sync,
    /// When the operating system has it: a killed process loses nothing, a power cut may.
    Os,
}

macro_rules! kinds {
    ($($name:ident: $type:ty = $parse:expr, $written:ident, $placeholder:literal, $wanted:literal;)*) => {
        $(pub(super) const $name: Kind<$type> = Kind {
            form: Form { placeholder: $placeholder, wanted: $wanted, written: Written::$written },
            parse: |text| {
                let parse: fn(&str) -> Option<$type> = $parse;
                parse(text).ok_or_else(|| Wanted($wanted.to_owned()))
            },
        };)*
    };
}

kinds! {
    ADDRESS: String = address, Text, "HOST:PORT", "an address with a port such as 127.0.0.1:4317";
    BYTES: u64 = bytes, TextOrInteger, "SIZE", "a size of 1kB or more such as 1048576, 64MiB or 1GiB";
    COUNT: u64 = count, Integer, "N", "a count from 1 to 1000000000";
    TIMES: u32 = times, Integer, "N", "a whole number from 1 to 1000000";
    DURATION: Duration = parse_duration, Text, "TIME", "a duration such as 500ms, 10s or 2m";
    AGE: Duration = parse_age, TextOrInteger, "AGE", "an age such as 30d or 12h, or 0 for ever";
    ROOM: u64 = room, TextOrInteger, "SIZE", "a size of 1MiB or more such as 20GiB, or 0 for no limit";
    FOLDER: PathBuf = folder, Text, "DIR", "a folder such as /var/lib/dwindle";
    LOG_MODE: LogMode = log_mode, Text, "MODE", "a mode of the log: sync or os";
    SHARE: Share = parse_share, Text, "SHARE", "a share such as 20% or 0.5%";
    SWITCH: bool = switch, Switch, "BOOL", "true or false";
    ORIGINS: Vec<String> = origins, List, "ORIGINS",
        "a list of origins such as https://shop.example, or `*` for any";
    LOG: String = log, Text, "FILTER", "a filter such as `info`";
    PATTERN: String = pattern, Text, "PATTERN", "a name or a pattern such as payments/*, of 1 to 500 characters";
    NAME: Text = |text| pattern(text).map(Text::from), Text, "NAME", "a name of 1 to 500 characters";
}

/// Grammars of values, by name.
pub(super) const GRAMMAR: Kind<Grammar> = Kind {
    form: Form {
        placeholder: "GRAMMAR",
        wanted: "a grammar such as grpc_timeout or go_duration",
        written: Written::Text,
    },
    parse: |text| named(&Grammar::ALL, text, "a grammar"),
};

/// Units of plain numbers.
pub(super) const UNIT: Kind<Grammar> = Kind {
    form: Form {
        placeholder: "UNIT",
        wanted: "a unit: s, ms, us or ns",
        written: Written::Text,
    },
    parse: |text| named(&UNITS, text, "a unit"),
};

const UNITS: [(&str, Grammar); 4] = [
    ("s", Grammar::Seconds),
    ("ms", Grammar::Millis),
    ("us", Grammar::Micros),
    ("ns", Grammar::Nanos),
];

/// What values mean, by name.
pub(super) const MEANING: Kind<Field> = Kind {
    form: Form {
        placeholder: "MEANING",
        wanted: "a meaning such as remaining_in, timeout or deadline",
        written: Written::Text,
    },
    parse: |text| named(&Field::ALL, text, "a meaning"),
};

/// Ids of built-in rules that read deadlines.
pub(super) const RULE_IDS: Kind<BTreeSet<Text>> = Kind {
    form: Form {
        placeholder: "IDS",
        wanted: "a list of built-in rules such as hdr.x-request-timeout",
        written: Written::List,
    },
    parse: |text| {
        let ids: BTreeSet<Text> = list(text).map(Text::from).collect();
        let enabled: Vec<Text> = ids.iter().cloned().collect();
        match Rules::new(&[], &enabled) {
            Ok(_) => Ok(ids),
            Err(error) => Err(Wanted(format!("a list of built-in rules: {error}"))),
        }
    },
};

/// The one of a name, where `-` is `_`.
fn named<T: Copy>(all: &[(&'static str, T)], text: &str, what: &str) -> Result<T, Wanted> {
    let name = text.replace('-', "_");
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, one)| *one).ok_or_else(|| {
        let near = super::near(&name, all.iter().map(|(known, _)| *known));
        Wanted(if let Some(near) = near {
            format!("{what}; did you mean `{near}`?")
        } else {
            let names: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
            format!("{what}; there are {}", names.join(", "))
        })
    })
}

/// The address of a trace in another program.
pub(super) const TRACE_URL: Kind<Option<TraceUrl>> = Kind {
    form: Form {
        placeholder: "URL",
        wanted: "an address such as https://jaeger.example/trace/{trace_id}?uiFind={span_id}",
        written: Written::Text,
    },
    parse: TraceUrl::parse,
};

/// Rules of findings.
pub(super) const RULES: Kind<BTreeSet<Rule>> = Kind {
    form: Form {
        placeholder: "RULES",
        wanted: "a list of rules such as clock_skew",
        written: Written::List,
    },
    parse: |text| list(text).map(rule).collect(),
};

/// Severities by rule.
pub(super) const SEVERITIES: Kind<BTreeMap<Rule, Severity>> = Kind {
    form: Form {
        placeholder: "RULE=SEVERITY",
        wanted: "a table such as { queued = \"error\" }",
        written: Written::Table,
    },
    parse: |text| {
        let pairs = list(text).map(|pair| {
            let (id, word) = pair.split_once('=').ok_or_else(|| {
                Wanted("a list such as queued=error,clock_skew=warning".to_owned())
            })?;
            Ok((rule(id.trim())?, severity(word.trim())?))
        });
        pairs.collect()
    },
};

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn rule(id: &str) -> Result<Rule, Wanted> {
    let found = Rule::ALL.iter().copied().find(|rule| rule.as_str() == id);
    found.ok_or_else(|| {
        let near = super::near(id, Rule::ALL.iter().map(|rule| rule.as_str()));
        Wanted(match near {
            Some(near) => {
                format!("a list of rules: there is no rule `{id}`; did you mean `{near}`?")
            }
            None => format!("a list of rules: there is no rule `{id}`; clock_skew is one"),
        })
    })
}

fn severity(word: &str) -> Result<Severity, Wanted> {
    [Severity::Error, Severity::Warning, Severity::Info]
        .into_iter()
        .find(|severity| severity.as_str() == word)
        .ok_or_else(|| {
            Wanted(format!(
                "a table of severities: `{word}` is none of error, warning, info"
            ))
        })
}

/// Reads a size: `1048576`, `64MiB`, `1 GiB`, `500kB`; a power of 1024 with an `i`, else of 1000.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "t" | "tb" => 1_000_000_000_000,
        "ti" | "tib" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(scale)
}

/// Reads a duration: `300us`, `500ms`, `10s`, `2m`, `1h`; the unit is needed.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "us" => 1,
        "ms" => 1000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return None,
    };
    // Above a day no duration here means anything, and sums stay far from any limit.
    let us = number
        .checked_mul(scale)
        .filter(|us| *us <= 86_400_000_000)?;
    Some(Duration::from_micros(us))
}

/// Reads an age: `90m`, `12h`, `30d`, `4w`; 0 is for ever.
pub fn parse_age(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "" if number == 0 => 0,
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    // A hundred years, far from the end of any clock.
    let age = number
        .checked_mul(seconds)
        .filter(|age| *age <= 36_500 * 86_400)?;
    Some(Duration::from_secs(age))
}

/// Reads a share: `20%`, `0.5 %`; at most two decimals, at most 100 %.
pub fn parse_share(text: &str) -> Option<Share> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 2 {
        return None;
    }
    let scale = if decimals.len() == 1 { 10 } else { 1 };
    let hundredths = decimals.parse::<u32>().ok()? * scale;
    let whole = whole.parse::<u32>().ok()?.checked_mul(100)?;
    let share = whole.checked_add(hundredths)?;
    (share <= 10_000).then_some(Share(share))
}

fn address(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host_fits = match bare {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', ' ']),
    };
    (host_fits && port.parse::<u16>().is_ok()).then(|| text.to_owned())
}

fn bytes(text: &str) -> Option<u64> {
    parse_bytes(text).filter(|bytes| (1024..=1 << 40).contains(bytes))
}

fn room(text: &str) -> Option<u64> {
    parse_bytes(text).filter(|bytes| *bytes == 0 || (1 << 20..=1 << 60).contains(bytes))
}

fn folder(text: &str) -> Option<PathBuf> {
    let fits = !text.is_empty() && !text.chars().any(char::is_control);
    fits.then(|| PathBuf::from(text))
}

fn log_mode(text: &str) -> Option<LogMode> {
    match text.to_ascii_lowercase().as_str() {
        "sync" => Some(LogMode::Sync),
        "os" => Some(LogMode::Os),
        _ => None,
    }
}

fn count(text: &str) -> Option<u64> {
    let count = text.replace('_', "").parse().ok();
    count.filter(|count| (1..=1_000_000_000).contains(count))
}

fn times(text: &str) -> Option<u32> {
    let times = text.replace('_', "").parse().ok();
    times.filter(|times| (1..=1_000_000).contains(times))
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

fn origins(text: &str) -> Option<Vec<String>> {
    let origin = |origin: &str| match origin.split_once("://") {
        _ if origin == "*" => Some(origin.to_owned()),
        Some((scheme, host))
            if !scheme.is_empty()
                && !host.is_empty()
                && !host.contains('/')
                && origin.bytes().all(|byte| byte.is_ascii_graphic()) =>
        {
            Some(origin.to_ascii_lowercase())
        }
        _ => None,
    };
    list(text).map(origin).collect()
}

fn log(text: &str) -> Option<String> {
    let fits = tracing_subscriber::EnvFilter::try_new(text).is_ok();
    fits.then(|| text.to_owned())
}

fn pattern(text: &str) -> Option<String> {
    let length = text.chars().count();
    ((1..=500).contains(&length) && !text.trim().is_empty()).then(|| text.to_owned())
}

/// Splits `64 MiB` into 64 and `MiB`.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_read_with_their_units() {
        assert_eq!(parse_bytes("64MiB"), Some(64 << 20));
        assert_eq!(parse_bytes(" 2 kb "), Some(2000));
        assert_eq!(parse_bytes("17"), Some(17));
        assert_eq!(parse_bytes("17 boxes"), None);
        assert_eq!(parse_bytes("18446744073709551615GiB"), None);
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Some(Duration::from_mins(2)));
        assert_eq!(parse_duration("10"), None);
        assert_eq!(parse_duration("999999h"), None);
    }

    #[test]
    fn what_is_kept_is_read_with_its_units_and_0_is_no_limit() {
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        for (text, age) in [("30d", days(30)), ("2 w", days(14)), ("48h", days(2))] {
            assert_eq!(parse_age(text), age, "{text}");
        }
        assert_eq!(parse_age("0"), Some(Duration::ZERO));
        for bad in ["30", "1y", "", "d", "-1d", "36501d", "1.5d"] {
            assert_eq!(parse_age(bad), None, "{bad}");
        }
        assert_eq!(room("20GiB"), Some(20 << 30));
        assert_eq!(room("2TiB"), Some(2 << 40));
        assert_eq!(room("0"), Some(0));
        assert_eq!(room("1000"), None);
    }

    #[test]
    fn an_address_needs_a_host_and_a_port() {
        for good in ["127.0.0.1:4317", "localhost:0", "[::1]:80", "0.0.0.0:65535"] {
            assert_eq!(address(good).as_deref(), Some(good));
        }
        for bad in [
            "",
            "4317",
            ":4317",
            "host:",
            "host:70000",
            "::1:80",
            "[zz]:80",
            "http://x:1",
        ] {
            assert!(address(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn origins_are_a_list_of_scheme_and_host() {
        assert_eq!(
            origins("https://A.example, http://b:8080"),
            Some(vec!["https://a.example".into(), "http://b:8080".into()])
        );
        assert_eq!(origins(""), Some(vec![]));
        assert!(origins("a.example").is_none());
        assert!(origins("https://a.example/path").is_none());
    }

    #[test]
    fn shares_are_percent_with_two_decimals_at_most() {
        for (text, share) in [
            ("20%", 2000),
            ("0.5 %", 50),
            ("1.25%", 125),
            ("100%", 10_000),
        ] {
            assert_eq!(parse_share(text), Some(Share(share)), "{text}");
        }
        for bad in [
            "",
            "20",
            "%",
            "101%",
            "-1%",
            "1.234%",
            "1.%",
            ".5%",
            "1e1%",
            "99999999999%",
        ] {
            assert_eq!(parse_share(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_unknown_rule_or_severity_is_named() {
        let wanted = |text| (SEVERITIES.parse)(text).unwrap_err().0;
        assert!(wanted("queued").contains("queued=error"));
        assert!(wanted("queud=error").contains("did you mean `queued`?"));
        assert!(wanted("queued=bad").contains("`bad` is none of error, warning, info"));
        assert!(
            (RULES.parse)("nonsense")
                .unwrap_err()
                .0
                .contains("`nonsense`")
        );
        assert_eq!((RULES.parse)(" , ").unwrap(), BTreeSet::new());
    }
}
