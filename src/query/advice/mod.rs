//! Why each rule's findings hurt, and what to change in the code. Between backquotes stands code.

mod budgets;
mod waste;

use crate::model::Rule;
use budgets::{
    ACCOUNTING_MISMATCH, ASYNC_INHERITS_DEADLINE, BAD_DEADLINE_VALUE, BUDGET_RESET, CLOCK_SKEW,
    INVERTED_TIMEOUT, NO_RESERVE, NONCRITICAL_FULL_BUDGET, NOT_PROPAGATED, OUTCOME_MISMATCH,
    OVER_PROVISIONED, STARVED,
};
use waste::{
    AMBIGUOUS_WRITE, CANCEL_NOT_PROPAGATED, DOOMED_RETRY, HEDGE_NOT_CANCELLED, QUEUED,
    RETRY_AMPLIFICATION, RETRY_RESET, STARTED_EXPIRED, WORKED_AFTER_DEADLINE,
};

/// What to know about a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// Why it hurts.
    pub why: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// The same in code: where (a protocol or a language), and what.
    pub code: &'static [(&'static str, &'static str)],
}

/// Why a rule's findings hurt, and what to do.
pub fn advice(rule: Rule) -> Advice {
    let (why, fix, code) = match rule {
        Rule::NotPropagated => NOT_PROPAGATED,
        Rule::AmbiguousWrite => AMBIGUOUS_WRITE,
        Rule::BudgetReset => BUDGET_RESET,
        Rule::StartedExpired => STARTED_EXPIRED,
        Rule::InvertedTimeout => INVERTED_TIMEOUT,
        Rule::RetryAmplification => RETRY_AMPLIFICATION,
        Rule::CancelNotPropagated => CANCEL_NOT_PROPAGATED,
        Rule::WorkedAfterDeadline => WORKED_AFTER_DEADLINE,
        Rule::NoReserve => NO_RESERVE,
        Rule::DoomedRetry => DOOMED_RETRY,
        Rule::RetryReset => RETRY_RESET,
        Rule::HedgeNotCancelled => HEDGE_NOT_CANCELLED,
        Rule::Starved => STARVED,
        Rule::NoncriticalFullBudget => NONCRITICAL_FULL_BUDGET,
        Rule::AsyncInheritsDeadline => ASYNC_INHERITS_DEADLINE,
        Rule::Queued => QUEUED,
        Rule::BadDeadlineValue => BAD_DEADLINE_VALUE,
        Rule::ClockSkew => CLOCK_SKEW,
        Rule::OverProvisioned => OVER_PROVISIONED,
        Rule::AccountingMismatch => ACCOUNTING_MISMATCH,
        Rule::OutcomeMismatch => OUTCOME_MISMATCH,
    };
    Advice { why, fix, code }
}

/// Why, what to do, and the same in code.
type Words = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_a_reason_and_a_remedy() {
        let mut said = BTreeSet::new();
        for rule in Rule::ALL {
            let advice = advice(*rule);
            for text in [advice.why, advice.fix] {
                assert!(text.ends_with('.') && text.len() > 40, "{rule}: {text}");
                assert!(said.insert(text), "{rule}: said twice: {text}");
            }
            assert!(advice.code.len() >= 4, "{rule}");
        }
    }

    #[test]
    fn hints_name_known_places_once_and_close_their_code() {
        const PLACES: [&str; 7] = ["gRPC", "HTTP", "Go", "Java", "Node", "Python", "Rust"];
        for rule in Rule::ALL {
            let advice = advice(*rule);
            let places = advice.code.iter().map(|(place, _)| {
                let at = PLACES.iter().position(|known| known == place);
                at.unwrap_or_else(|| panic!("{rule}: {place}"))
            });
            let places: Vec<usize> = places.collect();
            assert!(places.is_sorted_by(|a, b| a < b), "{rule}: {places:?}");
            let texts = advice.code.iter().map(|(_, text)| *text);
            for text in texts.chain([advice.why, advice.fix]) {
                assert!(text.matches('`').count() % 2 == 0, "{rule}: {text}");
            }
            let code = advice.code.iter().filter(|(_, text)| text.contains('`'));
            assert!(code.count() * 2 >= advice.code.len(), "{rule}");
        }
    }
}
