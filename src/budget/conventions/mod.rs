//! How systems put deadlines on spans: a table of rules, grammars for the values, and the reader
//! that applies them.
//!
//! ```text
//! rules.toml ─► rule ─► table (Rules) ─► read ─► Facts
//!               data    what is on       text    readings, what is bad, what is not read
//!                       quick look-up    grammar
//! ```
//!
//! A rule is data: adding a key is a line in `rules.toml`, no code. What a rule means depends on
//! the span that it is found on ([`Field::on`]).

mod filter;
mod grammar;
mod read;
mod rule;
mod table;
mod text;

pub use grammar::Grammar;
pub use rule::{CustomRule, Listed, Place, RuleError};
pub use table::Rules;

pub(super) use read::{Facts, Place as Reader, Reading, Trust, Unread, shortened, strictest};

use std::str::FromStr;

use crate::model::Kind;

/// What a value means. A rule names one of these; on a span it becomes what [`Field::on`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Budget that goes with a request: what was left on arrival where the span handles one, what
    /// was passed on where it makes a call.
    Remaining,
    /// Budget left when the request arrived.
    RemainingIn,
    /// Budget passed on with a call.
    RemainingOut,
    /// Budget that the hop itself had left when this span began.
    Left,
    /// What a caller is ready to wait for a call. On a span inside a hop it bounds the calls below.
    Timeout,
    /// The same, as a header of the call tells it: a setting of the caller, not a deadline that it
    /// passes on.
    Wait,
    /// What a caller is ready to wait for one try of a call.
    PerTry,
    /// What a statement lets those that follow it on its connection take; it bounds itself by nothing.
    Session,
    /// How long the hop lets itself run; a limit of its own, which nobody passed on.
    Limit,
    /// How long a message may live. Nobody waits that long for the sending; whoever handles the
    /// message works under it.
    Lifetime,
    /// Time that the hop says it spent itself.
    Local,
    /// Time that the request waited before work began.
    Queue,
    /// An absolute deadline.
    Deadline,
    /// The hop's own word for how it ended.
    Outcome,
    /// Attempts before this one.
    Resend,
    /// This attempt's number, from 1.
    Attempt,
    /// Known to be no budget: leases, pool settings, counts. Read as nothing, suggested never.
    Nothing,
}

impl Field {
    /// Every field, by the name that the configuration uses for it.
    pub const ALL: [(&'static str, Self); 17] = [
        ("remaining", Self::Remaining),
        ("remaining_in", Self::RemainingIn),
        ("remaining_out", Self::RemainingOut),
        ("left", Self::Left),
        ("timeout", Self::Timeout),
        ("wait", Self::Wait),
        ("per_try", Self::PerTry),
        ("session", Self::Session),
        ("limit", Self::Limit),
        ("lifetime", Self::Lifetime),
        ("local", Self::Local),
        ("queue", Self::Queue),
        ("deadline", Self::Deadline),
        ("outcome", Self::Outcome),
        ("resend", Self::Resend),
        ("attempt", Self::Attempt),
        ("nothing", Self::Nothing),
    ];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        name_in(&Self::ALL, self)
    }

    /// What a value of this field means on a span of this side; `None` where it means nothing.
    ///
    /// Section 4 of the semantics asks three things of a hop: what it had on arrival, what its
    /// callers were ready to wait, what it passed on. So a header that carries a budget is what
    /// was left where the request is handled and what was sent where it is made; between the two,
    /// on a span that only works, it cannot be told which, and bounds what that span does. A
    /// caller's timeout that the callee sees in a header is still the caller's: it binds the callee
    /// without having been passed on to it. A hop's own
    /// limit on its run (a servlet's timeout, a task's time limit) ends its deadline early, but
    /// counts for nothing as passed on.
    pub(super) fn on(self, side: Side) -> Option<Self> {
        use Side::{Entry, Inbound, Inner, Outbound};
        Some(match (self, side) {
            (Self::Remaining, Inbound | Entry) => Self::RemainingIn,
            (Self::Remaining, Outbound) => Self::RemainingOut,
            (Self::Remaining | Self::PerTry, Inner) | (Self::Wait, Outbound | Inner) => {
                Self::Timeout
            }
            (Self::Lifetime, Inbound | Entry) => Self::Limit,
            // Tries that a proxy will make below are not what arrived; nobody waits for a message
            // that was sent; what limits a callee's run limits no caller; and only a call has a
            // connection.
            (Self::PerTry | Self::Session, Inbound | Entry)
            | (Self::Session, Inner)
            | (Self::Lifetime, Outbound | Inner)
            | (Self::Limit, Outbound)
            | (Self::Nothing, _) => return None,
            (field, _) => field,
        })
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        by_name(&Self::ALL, name)
    }
}

/// Where a span stands in a hop, which decides what its values mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// SERVER and CONSUMER: it handles a request.
    Inbound,
    /// CLIENT and PRODUCER: it makes one.
    Outbound,
    /// Of no such kind, but the first of its service: a root, or below a span of another service.
    Entry,
    /// Of no such kind, below a span of its own service.
    Inner,
}

impl Side {
    /// The side of a span; `enters` says whether it is the first of its service.
    pub(super) fn of(kind: Kind, enters: bool) -> Self {
        match kind {
            Kind::Server | Kind::Consumer => Self::Inbound,
            Kind::Client | Kind::Producer => Self::Outbound,
            _ if enters => Self::Entry,
            _ => Self::Inner,
        }
    }
}

fn name_in<T: Copy + PartialEq>(all: &[(&'static str, T)], wanted: T) -> &'static str {
    let found = all.iter().find(|(_, one)| *one == wanted);
    found.map_or("", |(name, _)| *name)
}

fn by_name<T: Copy>(all: &[(&'static str, T)], wanted: &str) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == wanted);
    found.map(|(_, one)| *one).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("`{wanted}` is none of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_what_arrived_or_what_was_sent_by_the_side_it_stands_on() {
        let on = |field: Field| {
            [Side::Inbound, Side::Outbound, Side::Entry, Side::Inner].map(|side| field.on(side))
        };
        let (arrived, sent, timeout) = (
            Some(Field::RemainingIn),
            Some(Field::RemainingOut),
            Some(Field::Timeout),
        );
        assert_eq!(on(Field::Remaining), [arrived, sent, arrived, timeout]);
        let wait = Some(Field::Wait);
        assert_eq!(on(Field::Wait), [wait, timeout, wait, timeout]);
        assert_eq!(
            on(Field::PerTry),
            [None, Some(Field::PerTry), None, timeout]
        );
        let limit = Some(Field::Limit);
        assert_eq!(on(Field::Limit), [limit, None, limit, limit]);
        assert_eq!(on(Field::Lifetime), [limit, None, limit, None]);
        let session = Some(Field::Session);
        assert_eq!(on(Field::Session), [None, session, None, None]);
        assert_eq!(on(Field::Nothing), [None; 4]);
        assert_eq!(on(Field::RemainingIn), [arrived; 4]);
    }

    #[test]
    fn names_are_one_to_one() {
        for (name, field) in Field::ALL {
            assert_eq!((field.name(), name.parse()), (name, Ok(field)));
        }
        assert!("timeouts".parse::<Field>().unwrap_err().contains("timeout"));
    }
}
