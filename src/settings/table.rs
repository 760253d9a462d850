//! Every setting, once: its name, type, kind, default and what it is for. The parser, the
//! defaults, the flags of `dwindle serve`, `dwindle config show` and the example come from here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::kind::{self, Form, LogMode, Wanted};
use super::link::TraceUrl;
use super::sources::{Set, Sources};
use crate::budget::Share;
use crate::model::{Rule, Severity, Text};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The table of `dwindle.toml` in which it stands.
    pub section: &'static str,
    /// Its key in that table.
    pub key: &'static str,
    /// What it is for, line by line.
    pub doc: &'static [&'static str],
    /// The text that stands for it when nobody says anything.
    pub default: &'static str,
    /// How its value is written.
    pub form: Form,
    /// Whether a text is a value of it.
    pub check: fn(&str) -> Result<(), Wanted>,
}

/// A table of `dwindle.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// What its settings have in common.
    pub doc: &'static [&'static str],
    /// Whether its settings are flags of `dwindle serve`, and bear their names without the
    /// section's.
    pub serves: bool,
}

impl Definition {
    /// The full name: `serve.grpc_addr`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// The environment variable that sets it: `DWINDLE_GRPC_ADDR`, `DWINDLE_ANALYSIS_MIN_USEFUL`.
    pub fn variable(&self) -> String {
        let key = self.key.to_ascii_uppercase();
        if self.is_flag() {
            format!("DWINDLE_{key}")
        } else {
            let section = self.section.to_ascii_uppercase();
            format!("DWINDLE_{section}_{key}")
        }
    }

    /// Whether it is a flag of `dwindle serve`.
    pub fn is_flag(&self) -> bool {
        let mut sections = SECTIONS.iter();
        sections.any(|section| section.name == self.section && section.serves)
    }

    /// The flag's name without its dashes: `grpc-addr`.
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// What it is for, in one paragraph without the full stop.
    pub fn summary(&self) -> String {
        paragraph(self.doc)
    }
}

/// The lines of a comment as a paragraph without the full stop.
pub(super) fn paragraph(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim_end_matches('.').to_owned()
}

macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+
        $section:ident: $Section:ident, $serves:literal {
            $( $(#[doc = $doc:literal])+ $key:ident: $type:ty, $kind:ident, $default:literal; )+
        }
    )+) => {
        /// Every table of settings, in the order in which they are shown.
        pub const SECTIONS: &[Section] = &[$(
            Section { name: stringify!($section), doc: &[$($about),+], serves: $serves },
        )+];

        /// Every setting, in the order in which they are shown.
        pub const DEFINITIONS: &[Definition] = &[$($(
            Definition {
                section: stringify!($section),
                key: stringify!($key),
                doc: &[$($doc),+],
                default: $default,
                form: kind::$kind.form,
                check: |text| (kind::$kind.parse)(text).map(drop),
            },
        )+)+];

        /// The value of every setting, and where it came from.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Values {
            $( $(#[doc = $about])+ pub $section: $Section, )+
        }

        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, PartialEq)]
            pub struct $Section {
                $( $(#[doc = $doc])+ pub $key: Set<$type>, )+
            }
        )+

        /// Every value, where every text is one; `None` after at least one problem was told.
        pub(super) fn values(sources: &mut Sources<'_>) -> Option<Values> {
            $($( let $key = sources.get(stringify!($section), stringify!($key), &kind::$kind); )+
            let $section = || Some($Section { $( $key: $key? ),+ });
            let $section = $section();
            )+
            Some(Values { $( $section: $section? ),+ })
        }
    };
}

settings! {
    /// The ports and pages of `dwindle serve`.
    serve: Serve, true {
        /// Where OTLP/gRPC listens.
        grpc_addr: String, ADDRESS, "127.0.0.1:4317";
        /// Where OTLP/HTTP listens.
        http_addr: String, ADDRESS, "127.0.0.1:4318";
        /// Where the pages and the API listen.
        web_addr: String, ADDRESS, "127.0.0.1:4319";
        /// Start empty, without the sample traces.
        no_samples: bool, SWITCH, "false";
        /// Web origins whose pages may export over HTTP; `*` is any.
        cors_origins: Vec<String>, ORIGINS, "";
        /// What is logged on stderr.
        log: String, LOG, "warn";
    }
    /// What the pages of `dwindle serve` show and where they lead.
    web: Web, true {
        /// Where your own tracing backend shows a trace, for links there:
        /// `https://jaeger.example/trace/{trace_id}?uiFind={span_id}`; empty for no link.
        trace_url: Option<TraceUrl>, TRACE_URL, "";
    }
    /// Where `dwindle serve` keeps what came, and for how long.
    store: Store, true {
        /// The folder; by default the user's for data: `$XDG_DATA_HOME/dwindle`, or the one here.
        data: PathBuf, FOLDER, "~/.local/share/dwindle";
        /// Keep nothing on disk: the oldest requests leave when memory is full, and all at the end.
        memory_only: bool, SWITCH, "false";
        /// When spans are acknowledged: `sync`, when the disk has them; `os`, when the operating
        /// system has them, so that a power cut may lose the last ones.
        log_mode: LogMode, LOG_MODE, "sync";
        /// Write finished requests into files at the latest so long after the first of them.
        flush_after: Duration, DURATION, "10s";
        /// Write finished requests into files as soon as they have so many spans.
        flush_spans: u64, COUNT, "250000";
        /// Write finished requests into files as soon as they take about so many bytes.
        flush_bytes: u64, BYTES, "256MiB";
        /// Keep requests so long from when they came, 0 for ever; whole hours go.
        retain_for: Duration, AGE, "30d";
        /// Keep at most so many bytes of files, 0 for no limit; the oldest hours go first.
        retain_bytes: u64, ROOM, "0";
        /// Look so often for files to merge and for hours to remove.
        upkeep_every: Duration, DURATION, "15s";
        /// Merge so many files of like size into one.
        compact_fan_in: u64, COUNT, "4";
        /// Make one of all files of an hour so long after its end, when few late spans come.
        compact_settle: Duration, DURATION, "10m";
        /// Let no file grow beyond so many spans by merging.
        compact_max_spans: u64, COUNT, "20000000";
        /// Write a file anew when more than this share of its traces is superseded.
        compact_dead_share: Share, SHARE, "20%";
        /// Take as typical what successful runs took so long before the newest request, 0 for ever.
        typical_window: Duration, AGE, "24h";
        /// Leave files that were replaced on disk so long, for whoever still reads them.
        grace: Duration, DURATION, "60s";
    }
    /// How long `dwindle serve` waits for the spans of a trace.
    assembly: Assembly, true {
        /// Wait so long after the last span of a trace that seems whole.
        quiet: Duration, DURATION, "2s";
        /// Wait so long after the last span of a trace with something missing.
        quiet_incomplete: Duration, DURATION, "10s";
        /// Wait so long after the first span of a trace at most.
        longest: Duration, DURATION, "120s";
    }
    /// What `dwindle serve` takes and keeps at most.
    limits: Limits, true {
        /// The most bytes of one message, decompressed.
        max_message_bytes: u64, BYTES, "16MiB";
        /// The most bytes of messages being received at once.
        max_inflight_bytes: u64, BYTES, "256MiB";
        /// The most connections per port.
        max_connections: u64, COUNT, "1024";
        /// The longest time for a message to arrive.
        body_timeout: Duration, DURATION, "10s";
        /// The most traces being assembled.
        max_open_traces: u64, COUNT, "200000";
        /// The most spans being assembled.
        max_open_spans: u64, COUNT, "1000000";
        /// About the most bytes being assembled.
        max_open_bytes: u64, BYTES, "1GiB";
        /// The most spans of one trace.
        max_trace_spans: u64, COUNT, "200000";
        /// The most bytes of the log on disk; when it cannot be written into files, senders are
        /// told to come back later.
        max_log_bytes: u64, BYTES, "8GiB";
        /// The most finished requests kept with `memory_only`.
        max_requests: u64, COUNT, "20000";
        /// About the most bytes of finished requests kept with `memory_only`.
        max_kept_bytes: u64, BYTES, "1GiB";
        /// The longest time that stopping may take.
        drain_timeout: Duration, DURATION, "10s";
    }
    /// What commands over files read at most.
    files: Files, false {
        /// The most bytes of one document: a line of NDJSON, or a whole file of one document.
        max_document_bytes: u64, BYTES, "1GiB";
        /// The most bytes that one compressed file may become.
        max_inflated_bytes: u64, BYTES, "16GiB";
        /// About the most bytes of spans in memory at once; more wait in a temporary file.
        max_held_bytes: u64, BYTES, "256MiB";
    }
    /// How requests are analysed.
    analysis: Analysis, false {
        /// The budget under which nothing can succeed.
        min_useful: Duration, DURATION, "20ms";
        /// The most spans of one trace that are analysed; the rest is dropped and noted.
        max_spans: u64, COUNT, "1000000";
        /// Built-in rules that read deadlines only where they are named here:
        enable_rules: BTreeSet<Text>, RULE_IDS, "";
    }
    /// When a finding is raised. What is measured has to exceed these.
    findings: Findings, false {
        /// Rules that raise no findings.
        disabled: BTreeSet<Rule>, RULES, "";
        /// Rules whose findings matter more or less than they do by themselves.
        severity: BTreeMap<Rule, Severity>, SEVERITIES, "";
        /// How far a time that was told or set may be over what is left, for `budget_reset`,
        /// `inverted_timeout`, `retry_reset` and `async_inherits_deadline`.
        tolerance: Duration, DURATION, "2ms";
        /// The same as a share of what is left; the larger counts.
        tolerance_share: Share, SHARE, "1%";
        /// How long a hop or dependency may run on after its deadline.
        worked_after_deadline: Duration, DURATION, "10ms";
        /// The same as a share of the budget; the larger counts.
        worked_after_deadline_share: Share, SHARE, "1%";
        /// How long a hop that arrived with too little may run.
        started_expired: Duration, DURATION, "10ms";
        /// With so much left or less a retry is doomed, where its typical time is not known.
        doomed_retry: Duration, DURATION, "2ms";
        /// How long the loser of a hedge may run on after the winner's answer.
        hedge_not_cancelled: Duration, DURATION, "50ms";
        /// How long a callee may run on after its caller's call ended.
        cancel_not_propagated: Duration, DURATION, "50ms";
        /// How many times its typical time a budget may be.
        over_provisioned: u32, TIMES, "10";
        /// The share of its budget that a request may wait before work begins.
        queued: Share, SHARE, "20%";
        /// How far a reported local time may be from the computed one.
        accounting_mismatch: Duration, DURATION, "5ms";
        /// The same as a share of the computed one; the larger counts.
        accounting_mismatch_share: Share, SHARE, "10%";
    }
}

/// The definition of a setting.
pub(super) fn definition(section: &str, key: &str) -> Option<&'static Definition> {
    let mut all = DEFINITIONS.iter();
    all.find(|definition| definition.section == section && definition.key == key)
}
