//! What a span says of how it ended: a deadline failure, a cancellation, another error, and who
//! gave up (semantics, section 5). What systems write is data: [`table`] holds it.

mod read;
mod table;
#[cfg(test)]
mod tests;
mod words;

use crate::model::{Attributes, Reason, Span, SpanLog, Text};

use super::names::db_system;
use super::tree::{Forest, NodeId};
pub(super) use table::Outcomes;
use table::{Code, Group, Rank};

/// How a span ended, by its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Evidence {
    /// A timeout or a deadline ended it.
    pub deadline: bool,
    /// Somebody cancelled it; never together with `deadline`.
    pub cancelled: bool,
    /// It failed, by a deadline or for another reason, but not merely by a cancellation.
    pub error: bool,
    /// A timeout, if a second sign says so.
    pub maybe_deadline: bool,
    /// Who gave up, by its own words; `None` where it is neither late nor cancelled.
    pub reason: Option<Reason>,
    /// What says so.
    pub sign: Option<Sign>,
    /// How much that counts.
    rank: Option<Rank>,
}

/// Where a sign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sign {
    node: NodeId,
    place: Place,
}

/// Where in a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Its attribute of this index.
    Attribute(usize),
    /// The description of its status.
    Status,
    /// The name of its event of this index.
    Event(usize),
    /// An event's attribute.
    EventAttribute(usize, usize),
    /// The attribute of a log record of the trace.
    LogAttribute(usize, usize),
    /// The text of a log record of the trace.
    LogBody(usize),
    /// Its `deadline.outcome`, wherever that was reported.
    Outcome,
}

impl Evidence {
    /// It did not end well, in whatever way.
    pub(super) fn failed(self) -> bool {
        self.error || self.cancelled || self.deadline
    }

    /// What both say together. A timeout often ends what it hits by cancelling it: then the
    /// timeout is the reason, and both words tell of one failure.
    pub(super) fn and(self, other: Self) -> Self {
        let weight = |of: &Self| (of.deadline, of.cancelled, of.rank);
        let told = if weight(&other) > weight(&self) {
            other
        } else {
            self
        };
        let deadline = self.deadline || other.deadline;
        Self {
            deadline,
            cancelled: !deadline && (self.cancelled || other.cancelled),
            error: self.error || other.error,
            maybe_deadline: self.maybe_deadline || other.maybe_deadline,
            ..told
        }
    }
}

/// Words of `deadline.outcome` that tell of a deadline failure or a cancellation.
const OUTCOMES: &[(&str, Reason)] = &[
    ("expired_on_arrival", Reason::ExpiredOnArrival),
    ("expired_before_send", Reason::ExpiredBeforeSend),
    ("exceeded_here", Reason::OwnDeadline),
    ("exceeded_downstream", Reason::DependencyTimeout),
    ("timed_out_early", Reason::OwnDeadline),
    ("deadline_exceeded", Reason::OwnDeadline),
    ("cancelled_by_caller", Reason::CallerGone),
    ("cancelled", Reason::CallerGone),
    ("canceled", Reason::CallerGone),
];

/// Reads a span. `logs` are the records of the trace with its ids, `outcome` is its
/// `deadline.outcome`, in lower case.
pub(super) fn of_span(
    outcomes: &Outcomes,
    forest: &Forest<'_>,
    node: NodeId,
    logs: &[usize],
    outcome: Option<&str>,
) -> Evidence {
    let all = &forest.trace.logs;
    let log = |&at: &usize| Some((at, all.get(at)?));
    let logs: Vec<(usize, &SpanLog)> = logs.iter().filter_map(log).collect();
    let (span, outbound) = (forest.span(node), forest.is_outbound(node));
    let found = read::read(outcomes, span, &logs, outbound, node);
    match outcome {
        Some(word) => found.and(of_outcome(word, node)),
        None => found,
    }
}

/// Reads a `deadline.outcome`, in lower case.
pub(super) fn of_outcome(word: &str, node: NodeId) -> Evidence {
    let Some((_, reason)) = OUTCOMES.iter().find(|(known, _)| *known == word) else {
        return Evidence::default();
    };
    let cancelled = *reason == Reason::CallerGone;
    Evidence {
        deadline: !cancelled,
        cancelled,
        error: !cancelled,
        maybe_deadline: false,
        reason: Some(*reason),
        sign: Some(Sign {
            node,
            place: Place::Outcome,
        }),
        rank: Some(Rank::Word),
    }
}

/// True if a database said that it stopped this statement: then nothing of it stands.
pub(super) fn is_rolled_back(outcomes: &Outcomes, attributes: &Attributes) -> bool {
    let Some(system) = db_system(attributes) else {
        return false;
    };
    let system = system.to_lowercase();
    attributes.iter().any(|(key, value)| {
        let of_database = outcomes
            .key(key)
            .is_some_and(|uses| uses.groups.contains(&Group::Database));
        let code = Code::of(value).filter(|_| of_database);
        code.is_some_and(|code| {
            let ids = outcomes.code(Group::Database, code).iter();
            ids.map(|&id| outcomes.rule(id)).any(|rule| {
                let its_own = rule
                    .system
                    .iter()
                    .any(|part| system.contains(part.as_str()));
                rule.undone && (rule.system.is_empty() || its_own)
            })
        })
    })
}

/// What a sign reads like: `http.response.status_code 504`.
pub(super) fn shown(sign: Sign, forest: &Forest<'_>, outcome: Option<&str>) -> Text {
    let span: &Span = forest.span(sign.node);
    let pair = |attributes: &Attributes, at: usize| {
        attributes
            .0
            .get(at)
            .map(|(key, value)| compact_str::format_compact!("{key} {value}"))
    };
    let text = match sign.place {
        Place::Attribute(at) => pair(&span.attributes, at),
        Place::Status => Some(compact_str::format_compact!(
            "status.message {}",
            span.status.message
        )),
        Place::Event(at) => span
            .events
            .get(at)
            .map(|event| compact_str::format_compact!("event {}", event.name)),
        Place::EventAttribute(event, at) => span
            .events
            .get(event)
            .and_then(|event| pair(&event.attributes, at)),
        Place::LogAttribute(log, at) => forest
            .trace
            .logs
            .get(log)
            .and_then(|log| pair(&log.attributes, at)),
        Place::LogBody(at) => forest
            .trace
            .logs
            .get(at)
            .map(|log| compact_str::format_compact!("log.body {}", log.body)),
        Place::Outcome => {
            outcome.map(|word| compact_str::format_compact!("deadline.outcome {word}"))
        }
    };
    shortened(text.unwrap_or_default())
}

/// A text of which enough is kept to know it by.
fn shortened(text: Text) -> Text {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => compact_str::format_compact!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
