//! The texts that settings are written in.

use std::time::Duration;

/// What would have been right, as the end of "`x` is not …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted(pub &'static str);

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
        _ => return None,
    };
    number.checked_mul(scale)
}

/// Reads a duration: `500ms`, `10s`, `2m`, `1h`; the unit is needed.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    // Above a day no duration here means anything, and sums stay far from any limit.
    let ms = number.checked_mul(scale).filter(|ms| *ms <= 86_400_000)?;
    Some(Duration::from_millis(ms))
}

pub(super) fn address(text: &str) -> Result<String, Wanted> {
    let wanted = Wanted("an address with a port such as 127.0.0.1:4317");
    let (host, port) = text.rsplit_once(':').ok_or(wanted)?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host_fits = match bare {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', ' ']),
    };
    if host_fits && port.parse::<u16>().is_ok() {
        Ok(text.to_owned())
    } else {
        Err(wanted)
    }
}

pub(super) fn bytes(text: &str) -> Result<u64, Wanted> {
    parse_bytes(text)
        .filter(|bytes| (1024..=1 << 40).contains(bytes))
        .ok_or(Wanted(
            "a size of 1kB or more such as 1048576, 64MiB or 1GiB",
        ))
}

pub(super) fn count(text: &str) -> Result<u64, Wanted> {
    text.replace('_', "")
        .parse()
        .ok()
        .filter(|count| (1..=1_000_000_000).contains(count))
        .ok_or(Wanted("a count from 1 to 1000000000"))
}

pub(super) fn duration(text: &str) -> Result<Duration, Wanted> {
    parse_duration(text).ok_or(Wanted("a duration such as 500ms, 10s or 2m"))
}

pub(super) fn flag(text: &str) -> Result<bool, Wanted> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" => Ok(false),
        _ => Err(Wanted("true or false")),
    }
}

pub(super) fn origins(text: &str) -> Result<Vec<String>, Wanted> {
    let wanted = Wanted("`*` or a comma-separated list of origins such as https://shop.example");
    text.split(',')
        .map(str::trim)
        .filter(|origin| !origin.is_empty())
        .map(|origin| match origin.split_once("://") {
            _ if origin == "*" => Ok(origin.to_owned()),
            Some((scheme, host))
                if !scheme.is_empty()
                    && !host.is_empty()
                    && !host.contains('/')
                    && origin.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                Ok(origin.to_ascii_lowercase())
            }
            _ => Err(wanted),
        })
        .collect()
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
    fn an_address_needs_a_host_and_a_port() {
        for good in ["127.0.0.1:4317", "localhost:0", "[::1]:80", "0.0.0.0:65535"] {
            assert_eq!(address(good).as_deref(), Ok(good));
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
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn origins_are_a_list_of_scheme_and_host() {
        assert_eq!(
            origins("https://A.example, http://b:8080"),
            Ok(vec!["https://a.example".into(), "http://b:8080".into()])
        );
        assert_eq!(origins(""), Ok(vec![]));
        assert!(origins("a.example").is_err());
        assert!(origins("https://a.example/path").is_err());
    }
}
