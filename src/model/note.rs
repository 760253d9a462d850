//! What qualifies the numbers of a request.

use serde::ser::{Serialize, Serializer};

use super::{Text, TraceId};

/// Something about the input that qualifies the numbers. Prints as a sentence without full stop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// Spans whose parent never came.
    MissingParent(usize),
    /// Spans in parent cycles, each cut at its earliest span.
    Cycle(usize),
    /// Spans that end before they start; taken as of no length.
    NegativeDuration(usize),
    /// Copies of a span that were dropped.
    Duplicate(usize),
    /// Ids that came with different contents from one service; the later end won.
    ConflictingDuplicate(usize),
    /// Stretches that were clipped to fit their caller's.
    Clipped(usize),
    /// Two hosts whose calls contradict each other.
    ClockConflict(Text, Text),
    /// Spans that start before their parent on the same host.
    BeforeParent(usize),
    /// Spans that were dropped because the trace is larger than the limit.
    Truncated(usize),
    /// A key that may tell a deadline and is not read, with the id of the rule that would read it,
    /// if there is one.
    Unread(Text, Option<Text>),
    /// As many more keys of that sort.
    MoreUnread(usize),
    /// What was told its budget by values that disagree, and these.
    ToldTwice(Text, Text),
    /// As many more of that sort.
    MoreToldTwice(usize),
    /// A timeout that a statement set on a connection, of which no call can be told to have it.
    Untied(Text),
    /// Another trace that a link of the request's first span names.
    LinkedFrom(TraceId),
    /// As many more traces of that sort.
    MoreLinked(usize),
    /// Stored before; with the settings of today it comes to another end than these words say.
    AnalysedAgain(Text),
    /// More spans come than are drawn, or the like: free text for later readers of old data.
    Other(Text),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = |n: usize| if n == 1 { "" } else { "s" };
        match self {
            Self::MissingParent(1) => {
                f.write_str("1 span of the trace names a parent that never came")
            }
            Self::MissingParent(n) => {
                write!(f, "{n} spans of the trace name a parent that never came")
            }
            Self::Cycle(n) => write!(f, "{n} parent cycle{} cut at the earliest span", s(*n)),
            Self::NegativeDuration(1) => f.write_str(
                "1 span ends before it starts (negative_duration); taken as of no length",
            ),
            Self::NegativeDuration(n) => {
                write!(
                    f,
                    "{n} spans end before they start (negative_duration); taken as of no length"
                )
            }
            Self::Duplicate(1) => f.write_str("1 copy of a span was dropped"),
            Self::Duplicate(n) => write!(f, "{n} copies of spans were dropped"),
            Self::ConflictingDuplicate(n) => write!(
                f,
                "{n} span id{} came with different contents (conflicting_duplicate); the later end counts",
                s(*n)
            ),
            Self::Clipped(n) => write!(
                f,
                "{n} stretch{} clipped to the caller's",
                if *n == 1 { " was" } else { "es were" }
            ),
            Self::ClockConflict(a, b) => {
                write!(
                    f,
                    "the clocks of {a} and {b} contradict each other (clock_conflict)"
                )
            }
            Self::BeforeParent(1) => {
                f.write_str("1 span starts before its parent (clock or instrumentation)")
            }
            Self::BeforeParent(n) => {
                write!(
                    f,
                    "{n} spans start before their parents (clock or instrumentation)"
                )
            }
            Self::Truncated(n) => write!(
                f,
                "{n} span{} over the limit of one trace were dropped",
                s(*n)
            ),
            Self::Unread(key, Some(rule)) => write!(
                f,
                "{key} may tell a deadline and is not read: turn on its rule (enable_rules = [\"{rule}\"] below [analysis]), or add one that says its unit"
            ),
            Self::Unread(key, None) => write!(
                f,
                "{key} looks like a deadline and no rule reads it: if it is one, add a rule to the configuration that says its unit"
            ),
            Self::MoreUnread(1) => f.write_str("1 more key looks like a deadline and is not read"),
            Self::MoreUnread(n) => write!(f, "{n} more keys look like deadlines and are not read"),
            Self::ToldTwice(whom, values) => write!(
                f,
                "{whom} was told its budget more than once, and the strictest binds: {values}"
            ),
            Self::MoreToldTwice(1) => f.write_str("1 more hop was told its budget more than once"),
            Self::MoreToldTwice(n) => {
                write!(f, "{n} more hops were told their budgets more than once")
            }
            Self::Untied(setting) => write!(
                f,
                "`{setting}` is taken to bound no call: which statements went over its connection cannot be told"
            ),
            Self::LinkedFrom(trace) => write!(
                f,
                "linked from trace {trace}: what began there may have handed this over"
            ),
            Self::MoreLinked(1) => f.write_str("linked from 1 more trace"),
            Self::MoreLinked(n) => write!(f, "linked from {n} more traces"),
            Self::AnalysedAgain(told) => write!(
                f,
                "analysed again with today's settings; when it came: {told}"
            ),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
