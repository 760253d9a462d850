//! What the server is told: each setting resolved once, and from where its value came.
//!
//! The order is flag over environment over (later) `dwindle.toml` over default. [`resolve`] is a
//! pure function over look-ups, so that no test touches the process's environment.

mod value;

use std::fmt;
use std::time::Duration;

pub use value::{Wanted, parse_bytes, parse_duration};

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A command-line flag.
    Flag,
    /// An environment variable, `DWINDLE_…`.
    Environment,
    // `dwindle.toml` comes here, between the environment and the default.
    /// Nobody said anything.
    Default,
}

/// A setting's value and where it came from. Derefs to the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

/// Everything that the server can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where OTLP/gRPC listens, as `host:port`.
    pub grpc_addr: Set<String>,
    /// Where OTLP/HTTP listens, as `host:port`.
    pub http_addr: Set<String>,
    /// Where the pages and the API listen, as `host:port`.
    pub web_addr: Set<String>,
    /// The most bytes of one message, after decompression.
    pub max_message_bytes: Set<u64>,
    /// The most bytes of request bodies being read, over all connections.
    pub max_inflight_bytes: Set<u64>,
    /// The most connections per port.
    pub max_connections: Set<u64>,
    /// The longest time that a request's body may take to arrive.
    pub body_timeout: Set<Duration>,
    /// The most traces being assembled.
    pub max_open_traces: Set<u64>,
    /// The most spans being assembled.
    pub max_open_spans: Set<u64>,
    /// About the most bytes being assembled.
    pub max_open_bytes: Set<u64>,
    /// The most spans of one trace; what is over is rejected and noted on the trace.
    pub max_trace_spans: Set<u64>,
    /// The most finished requests kept.
    pub max_requests: Set<u64>,
    /// About the most bytes of finished requests kept.
    pub max_kept_bytes: Set<u64>,
    /// How long a trace that seems whole waits for more.
    pub quiet: Set<Duration>,
    /// How long a trace with missing spans waits for more.
    pub quiet_incomplete: Set<Duration>,
    /// How long a trace waits at most, from its first span.
    pub longest: Set<Duration>,
    /// How long shutting down may take.
    pub drain_timeout: Set<Duration>,
    /// Web origins whose pages may export over HTTP (CORS); `*` is any; none by default.
    pub cors_origins: Set<Vec<String>>,
    /// Start without the samples.
    pub no_samples: Set<bool>,
}

/// A value that does not fit its setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: `{value}` is not {wanted}")]
pub struct SettingError {
    /// The flag or variable that was set.
    pub name: String,
    /// What it was set to.
    pub value: String,
    /// What is wanted instead, with an example.
    pub wanted: &'static str,
}

/// Every setting's name and the text that stands for it when nobody says anything.
pub const DEFAULTS: &[(&str, &str)] = &[
    ("grpc_addr", "127.0.0.1:4317"),
    ("http_addr", "127.0.0.1:4318"),
    ("web_addr", "127.0.0.1:4319"),
    ("max_message_bytes", "16MiB"),
    ("max_inflight_bytes", "256MiB"),
    ("max_connections", "1024"),
    ("body_timeout", "10s"),
    ("max_open_traces", "200000"),
    ("max_open_spans", "1000000"),
    ("max_open_bytes", "1GiB"),
    ("max_trace_spans", "200000"),
    ("max_requests", "20000"),
    ("max_kept_bytes", "1GiB"),
    ("quiet", "2s"),
    ("quiet_incomplete", "10s"),
    ("longest", "120s"),
    ("drain_timeout", "10s"),
    ("cors_origins", ""),
    ("no_samples", "false"),
];

/// Resolves every setting: `flag` and `environment` answer a setting's name (`grpc_addr`; the
/// variable's, `DWINDLE_GRPC_ADDR`) with the text that was given, if any. An empty variable
/// counts as not set.
pub fn resolve(
    flag: &dyn Fn(&str) -> Option<String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, SettingError> {
    let from = Sources { flag, environment };
    Ok(Settings {
        grpc_addr: from.get("grpc_addr", value::address)?,
        http_addr: from.get("http_addr", value::address)?,
        web_addr: from.get("web_addr", value::address)?,
        max_message_bytes: from.get("max_message_bytes", value::bytes)?,
        max_inflight_bytes: from.get("max_inflight_bytes", value::bytes)?,
        max_connections: from.get("max_connections", value::count)?,
        body_timeout: from.get("body_timeout", value::duration)?,
        max_open_traces: from.get("max_open_traces", value::count)?,
        max_open_spans: from.get("max_open_spans", value::count)?,
        max_open_bytes: from.get("max_open_bytes", value::bytes)?,
        max_trace_spans: from.get("max_trace_spans", value::count)?,
        max_requests: from.get("max_requests", value::count)?,
        max_kept_bytes: from.get("max_kept_bytes", value::bytes)?,
        quiet: from.get("quiet", value::duration)?,
        quiet_incomplete: from.get("quiet_incomplete", value::duration)?,
        longest: from.get("longest", value::duration)?,
        drain_timeout: from.get("drain_timeout", value::duration)?,
        cors_origins: from.get("cors_origins", value::origins)?,
        no_samples: from.get("no_samples", value::flag)?,
    })
}

/// The process's environment, for [`resolve`].
#[expect(
    clippy::disallowed_methods,
    reason = "the wrapper that everyone else uses"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The name of a setting's environment variable: `DWINDLE_GRPC_ADDR`.
pub fn variable(name: &str) -> String {
    format!("DWINDLE_{}", name.to_ascii_uppercase())
}

/// The name of a setting's flag: `--grpc-addr`.
pub fn flag_name(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

struct Sources<'a> {
    flag: &'a dyn Fn(&str) -> Option<String>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Sources<'_> {
    fn get<T>(
        &self,
        name: &str,
        parse: fn(&str) -> Result<T, Wanted>,
    ) -> Result<Set<T>, SettingError> {
        let variable = variable(name);
        let (text, origin, given_as) = if let Some(text) = (self.flag)(name) {
            (text, Origin::Flag, flag_name(name))
        } else if let Some(text) =
            (self.environment)(&variable).filter(|text| !text.trim().is_empty())
        {
            (text, Origin::Environment, variable)
        } else {
            let default = DEFAULTS.iter().find(|(named, _)| *named == name);
            let text = default.map_or("", |(_, text)| text);
            (text.to_owned(), Origin::Default, name.to_owned())
        };
        match parse(text.trim()) {
            Ok(value) => Ok(Set { value, origin }),
            Err(Wanted(wanted)) => Err(SettingError {
                name: given_as,
                value: text,
                wanted,
            }),
        }
    }
}

impl<T> std::ops::Deref for Set<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::Default => "default",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn settings(flags: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let (flags, env) = (map(flags), map(env));
        resolve(&|name| flags.get(name).cloned(), &|name| {
            env.get(name).cloned()
        })
    }

    #[test]
    fn nothing_given_listens_on_loopback() {
        let settings = settings(&[], &[]).unwrap();
        assert_eq!(*settings.grpc_addr, "127.0.0.1:4317");
        assert_eq!(*settings.http_addr, "127.0.0.1:4318");
        assert_eq!(*settings.web_addr, "127.0.0.1:4319");
        assert_eq!(*settings.max_message_bytes, 16 << 20);
        assert_eq!(*settings.quiet, Duration::from_secs(2));
        assert_eq!(settings.cors_origins.value, Vec::<String>::new());
        assert!(!*settings.no_samples);
        assert_eq!(settings.grpc_addr.origin, Origin::Default);
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_default() {
        let env = [
            ("DWINDLE_GRPC_ADDR", "[::1]:1"),
            ("DWINDLE_HTTP_ADDR", "0.0.0.0:2"),
            ("DWINDLE_WEB_ADDR", "  "),
        ];
        let settings = settings(&[("grpc_addr", "localhost:0")], &env).unwrap();
        assert_eq!(*settings.grpc_addr, "localhost:0");
        assert_eq!(settings.grpc_addr.origin, Origin::Flag);
        assert_eq!(*settings.http_addr, "0.0.0.0:2");
        assert_eq!(settings.http_addr.origin, Origin::Environment);
        assert_eq!(settings.web_addr.origin, Origin::Default);
    }

    #[test]
    fn an_error_names_the_setting_the_value_and_what_is_wanted() {
        let error = settings(&[("grpc_addr", "4317")], &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--grpc-addr: `4317` is not an address with a port such as 127.0.0.1:4317"
        );
        let error = settings(&[], &[("DWINDLE_QUIET", "soon")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "DWINDLE_QUIET: `soon` is not a duration such as 500ms, 10s or 2m"
        );
    }
}
