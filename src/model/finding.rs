//! Findings: what is wrong with how a request's budget was handled.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Nanos, Text};

/// One thing that is wrong. In a request there is one per (rule, service, to).
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Finding {
    /// Which rule found it.
    pub rule: Rule,
    /// How much it matters.
    pub severity: Severity,
    /// The hop where it was found (the caller where a call is at fault): that of the worst case.
    pub hop: usize,
    /// The service whose owners must act.
    pub service: Text,
    /// The callee, where there is one.
    pub to: Option<Text>,
    /// The numbers of the worst case, and `count`.
    pub evidence: Evidence,
    /// The evidence as a sentence.
    pub message: String,
    /// What to do about it, in one sentence.
    pub hint: &'static str,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Budget is lost or data is at risk.
    Error,
    /// Time or capacity is wasted.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// Every severity, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// Named numbers, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Times by name; the names end in `_ms`.
    pub times: Vec<(&'static str, Nanos)>,
    /// Plain numbers by name.
    pub counts: Vec<(&'static str, u64)>,
    /// Texts by name (an attribute key and the like).
    pub texts: Vec<(&'static str, Text)>,
    /// How many cases the finding stands for.
    pub count: u64,
    /// How bad the worst case is, to compare with findings of the same rule; not printed.
    pub weight: Nanos,
}

impl Evidence {
    /// The time with this name.
    pub fn time(&self, name: &str) -> Option<Nanos> {
        self.times
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, time)| *time)
    }

    /// The text with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, text)| text.as_str())
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, time) in &self.times {
            map.serialize_entry(key, time)?;
        }
        for (key, count) in &self.counts {
            map.serialize_entry(key, count)?;
        }
        for (key, text) in &self.texts {
            map.serialize_entry(key, text)?;
        }
        map.serialize_entry("count", &self.count)?;
        map.end()
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $severity:ident;)*) => {
        /// A rule of section 7 of the semantics.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule, the severest first.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The rule's id, as in JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// How much its findings matter.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

rules! {
    /// A caller has a deadline, its synchronous callee was given none.
    NotPropagated = "not_propagated", Error;
    /// A non-idempotent call was given up while the far side succeeded or its end is unknown.
    AmbiguousWrite = "ambiguous_write", Error;
    /// A callee was told more than its caller had left.
    BudgetReset = "budget_reset", Error;
    /// A call was begun, or work was done, with less than min useful left.
    StartedExpired = "started_expired", Error;
    /// A call's own timeout is longer than what its hop has left.
    InvertedTimeout = "inverted_timeout", Error;
    /// Two or more layers of one path retry.
    RetryAmplification = "retry_amplification", Error;
    /// A callee ran on after its caller's call ended.
    CancelNotPropagated = "cancel_not_propagated", Warning;
    /// A hop or dependency ran on after its effective deadline.
    WorkedAfterDeadline = "worked_after_deadline", Warning;
    /// A call was given all that was left, and its hop's work after it made it late.
    NoReserve = "no_reserve", Warning;
    /// An attempt after the first began with too little left.
    DoomedRetry = "doomed_retry", Warning;
    /// Later attempts get the full first timeout again.
    RetryReset = "retry_reset", Warning;
    /// The loser of overlapping attempts ran on after the winner answered.
    HedgeNotCancelled = "hedge_not_cancelled", Warning;
    /// Arrived with less than its own typical time.
    Starved = "starved", Warning;
    /// A call whose failure the caller survived was given everything.
    NoncriticalFullBudget = "noncritical_full_budget", Warning;
    /// A consumer or detached job works under its producer's deadline.
    AsyncInheritsDeadline = "async_inherits_deadline", Warning;
    /// Waiting before work took a large part of the arrival budget.
    Queued = "queued", Warning;
    /// A deadline value that cannot be read.
    BadDeadlineValue = "bad_deadline_value", Warning;
    /// Two hosts' clocks differ.
    ClockSkew = "clock_skew", Info;
    /// A budget far above what it bounds.
    OverProvisioned = "over_provisioned", Info;
    /// A reported local time that is not the computed one.
    AccountingMismatch = "accounting_mismatch", Info;
    /// A reported outcome that is not the computed verdict.
    OutcomeMismatch = "outcome_mismatch", Info;
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_listed_by_severity() {
        let severities: Vec<_> = Rule::ALL.iter().map(|rule| rule.severity()).collect();
        assert!(severities.is_sorted());
        assert_eq!(Rule::ALL.len(), 21);
    }
}
