//! What can be typed after `dwindle serve`.

/// `dwindle serve`. Everything is a text here; `settings` knows what it means.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Each option can be set by an environment variable, too: --grpc-addr by \
DWINDLE_GRPC_ADDR, and so on. An option wins.

Examples:
  dwindle serve
  dwindle serve --grpc-addr 0.0.0.0:4317 --no-samples
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 your-service"
)]
pub struct ServeArgs {
    /// Where OTLP/gRPC listens [default: 127.0.0.1:4317]
    #[arg(long, value_name = "HOST:PORT")]
    grpc_addr: Option<String>,
    /// Where OTLP/HTTP listens [default: 127.0.0.1:4318]
    #[arg(long, value_name = "HOST:PORT")]
    http_addr: Option<String>,
    /// Where the pages and the API listen [default: 127.0.0.1:4319]
    #[arg(long, value_name = "HOST:PORT")]
    web_addr: Option<String>,
    /// Start empty, without the sample traces
    #[arg(long)]
    no_samples: bool,
    /// Web origins whose pages may export over HTTP; `*` is any [default: none]
    #[arg(long, value_name = "ORIGINS")]
    cors_origins: Option<String>,
    /// Wait so long after the last span of a trace that seems whole [default: 2s]
    #[arg(long, value_name = "TIME", help_heading = "Assembly")]
    quiet: Option<String>,
    /// Wait so long after the last span of a trace with something missing [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Assembly")]
    quiet_incomplete: Option<String>,
    /// Wait so long after the first span of a trace at most [default: 120s]
    #[arg(long, value_name = "TIME", help_heading = "Assembly")]
    longest: Option<String>,
    /// The most bytes of one message, decompressed [default: 16MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_message_bytes: Option<String>,
    /// The most bytes of messages being received at once [default: 256MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_inflight_bytes: Option<String>,
    /// The most connections per port [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_connections: Option<String>,
    /// The longest time for a message to arrive [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    body_timeout: Option<String>,
    /// The most traces being assembled [default: 200000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_open_traces: Option<String>,
    /// The most spans being assembled [default: 1000000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_open_spans: Option<String>,
    /// About the most bytes being assembled [default: 1GiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_open_bytes: Option<String>,
    /// The most spans of one trace [default: 200000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_trace_spans: Option<String>,
    /// The most finished requests kept [default: 20000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_requests: Option<String>,
    /// About the most bytes of finished requests kept [default: 1GiB]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    max_kept_bytes: Option<String>,
    /// The longest time that stopping may take [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    drain_timeout: Option<String>,
}

impl ServeArgs {
    /// What was typed for a setting.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        match name {
            "grpc_addr" => self.grpc_addr.clone(),
            "http_addr" => self.http_addr.clone(),
            "web_addr" => self.web_addr.clone(),
            "no_samples" => self.no_samples.then(|| "true".to_owned()),
            "cors_origins" => self.cors_origins.clone(),
            "quiet" => self.quiet.clone(),
            "quiet_incomplete" => self.quiet_incomplete.clone(),
            "longest" => self.longest.clone(),
            "max_message_bytes" => self.max_message_bytes.clone(),
            "max_inflight_bytes" => self.max_inflight_bytes.clone(),
            "max_connections" => self.max_connections.clone(),
            "body_timeout" => self.body_timeout.clone(),
            "max_open_traces" => self.max_open_traces.clone(),
            "max_open_spans" => self.max_open_spans.clone(),
            "max_open_bytes" => self.max_open_bytes.clone(),
            "max_trace_spans" => self.max_trace_spans.clone(),
            "max_requests" => self.max_requests.clone(),
            "max_kept_bytes" => self.max_kept_bytes.clone(),
            "drain_timeout" => self.drain_timeout.clone(),
            _ => None,
        }
    }
}
