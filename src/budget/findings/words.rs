//! Findings in words: the evidence as one sentence, and what to do as another.

use crate::model::number::ms;
use crate::model::{Nanos, Rule};

use super::Case;

/// The evidence of a case as a sentence.
pub(super) fn message(case: &Case) -> String {
    let service = &case.service;
    let to = case.to.as_deref().unwrap_or("its callee");
    let time = |name: &str| {
        case.times
            .iter()
            .find(|(key, _)| *key == name)
            .map_or(Nanos::ZERO, |(_, time)| *time)
    };
    let has = |name: &str| case.times.iter().any(|(key, _)| *key == name);
    let text = |name: &str| {
        case.texts
            .iter()
            .find(|(key, _)| *key == name)
            .map_or("", |(_, text)| text.as_str())
    };
    let count = |name: &str| {
        let found = case.counts.iter().find(|(key, _)| *key == name);
        found.map_or(0, |(_, count)| *count)
    };
    let t = |name: &str| format!("{} ms", ms(time(name)));
    match case.rule {
        Rule::NotPropagated if time("ran_on_ms") > Nanos::ZERO => format!(
            "{service} had {} left and told {to} nothing; {to} ran on {} after {service} had left.",
            t("left_ms"),
            t("ran_on_ms"),
        ),
        Rule::NotPropagated => {
            format!("{service} had {} left and told {to} nothing.", t("left_ms"))
        }
        Rule::BudgetReset if case.to.is_none() => format!(
            "{service} was sent what its caller had left, {}, and took {} for it.",
            t("left_ms"),
            t("told_ms"),
        ),
        Rule::BudgetReset => {
            format!(
                "{service} had {} left and gave {to} {}.",
                t("left_ms"),
                t("told_ms")
            )
        }
        Rule::InvertedTimeout => format!(
            "{service} was ready to wait {} for {to} with {} left.",
            t("timeout_ms"),
            t("left_ms"),
        ),
        Rule::StartedExpired if case.to.is_none() => format!(
            "{service} arrived with {} left (min useful {}) and worked {}.",
            t("left_ms"),
            t("min_useful_ms"),
            t("ran_ms"),
        ),
        Rule::StartedExpired => format!(
            "{service} called {to} with {} left (min useful {}).",
            t("left_ms"),
            t("min_useful_ms"),
        ),
        Rule::RetryAmplification => format!(
            "{} layers retry: one request became up to {} attempts at {}.",
            count("layers"),
            count("attempts"),
            text("innermost"),
        ),
        Rule::AmbiguousWrite if has("finished_ms") => format!(
            "The call ({}) was given up by {service} at {}; {to} finished it without error at {}.",
            text("method"),
            t("gave_up_ms"),
            t("finished_ms"),
        ),
        Rule::AmbiguousWrite if has("written_ms") => format!(
            "The call ({}) was given up by {service} at {}; {to} failed, but had its write to {} done at {}.",
            text("method"),
            t("gave_up_ms"),
            text("written_to"),
            t("written_ms"),
        ),
        Rule::AmbiguousWrite => format!(
            "The call ({}) was given up by {service} at {}; how it ended at {to} is unknown.",
            text("method"),
            t("gave_up_ms"),
        ),
        Rule::CancelNotPropagated => {
            format!(
                "{service} ran on {} after its caller had left.",
                t("ran_on_ms")
            )
        }
        Rule::WorkedAfterDeadline => match &case.to {
            None => format!("{service} ran {} after its deadline.", t("after_ms")),
            Some(to) => {
                format!(
                    "{to} ran {} after the deadline of {service}.",
                    t("after_ms")
                )
            }
        },
        Rule::NoReserve => format!(
            "{service} gave {to} {} of the {} it had left, then worked {} more and was {} late.",
            t("given_ms"),
            t("left_ms"),
            t("after_ms"),
            t("late_ms"),
        ),
        Rule::DoomedRetry if has("typical_ms") => format!(
            "{service} tried {to} again with {} left; a good run takes {}.",
            t("left_ms"),
            t("typical_ms"),
        ),
        Rule::DoomedRetry => format!("{service} tried {to} again with {} left.", t("left_ms")),
        Rule::RetryReset => format!(
            "{service} gave a later attempt at {to} the whole {} again with {} left.",
            t("timeout_ms"),
            t("left_ms"),
        ),
        Rule::HedgeNotCancelled => format!(
            "An attempt at {to} ran on {} after another one had answered.",
            t("ran_on_ms"),
        ),
        Rule::Starved => format!(
            "{service} arrived with {} left; a good run takes {}.",
            t("left_ms"),
            t("typical_ms"),
        ),
        Rule::NoncriticalFullBudget => format!(
            "{service} survived the failure of {to}, but had given it {} of the {} it had left; it took {}.",
            t("given_ms"),
            t("left_ms"),
            t("took_ms"),
        ),
        Rule::AsyncInheritsDeadline => format!(
            "{service} works on a {} under its producer's deadline: it was told {}, the producer had {} left.",
            text("kind"),
            t("told_ms"),
            t("producer_left_ms"),
        ),
        Rule::Queued => format!(
            "The request waited {} of its {} at {service} before work began.",
            t("queue_ms"),
            t("budget_ms"),
        ),
        Rule::BadDeadlineValue => {
            format!(
                "{service}: `{}` = `{}` cannot be read.",
                text("key"),
                text("value")
            )
        }
        Rule::ClockSkew => {
            let range = match (has("least_ms"), has("greatest_ms")) {
                (true, true) if time("least_ms") > time("greatest_ms") => {
                    " (its calls contradict each other)".to_owned()
                }
                (true, true) => format!(
                    " ({} to {} ms fit)",
                    ms(time("least_ms")),
                    ms(time("greatest_ms")),
                ),
                (true, false) => format!(" ({} ms at least)", ms(time("least_ms"))),
                (false, true) => format!(" ({} ms at most)", ms(time("greatest_ms"))),
                (false, false) => String::new(),
            };
            let offset = time("offset_ms");
            let side = if offset < Nanos::ZERO {
                "ahead of"
            } else {
                "behind"
            };
            format!(
                "{to}'s clock is {} ms {side} {service}'s{range}; an absolute deadline that crosses them is off by that.",
                ms(offset.abs()),
            )
        }
        Rule::OverProvisioned => format!(
            "{service} was given {}; a good run takes {}.",
            t("budget_ms"),
            t("typical_ms"),
        ),
        Rule::AccountingMismatch => format!(
            "{service} reports {} of its own time; its time less its calls is {}.",
            t("reported_ms"),
            t("computed_ms"),
        ),
        Rule::OutcomeMismatch => format!(
            "{service} reports `{}`; its spans say `{}`.",
            text("reported"),
            text("verdict"),
        ),
    }
}

/// What to do about a rule's findings.
pub(super) fn hint(rule: Rule) -> &'static str {
    match rule {
        Rule::NotPropagated => "pass the incoming deadline to every outbound call.",
        Rule::BudgetReset => {
            "derive the call's budget from the incoming deadline; remove the fixed value."
        }
        Rule::InvertedTimeout => "cap each call's timeout at what is left, less a reserve.",
        Rule::StartedExpired => "check what is left before each call, and refuse below min useful.",
        Rule::RetryAmplification => "retry at one layer only.",
        Rule::AmbiguousWrite => {
            "look the result up before repeating the call, or send an idempotency key."
        }
        Rule::CancelNotPropagated => {
            "cancel the request's context when the caller's connection closes."
        }
        Rule::WorkedAfterDeadline => "stop when the deadline of the incoming context has passed.",
        Rule::NoReserve => "keep a few milliseconds back to answer in time.",
        Rule::DoomedRetry => "fail at once when less is left than an attempt takes.",
        Rule::RetryReset => "bound each attempt by what is left, not by a fresh timeout.",
        Rule::HedgeNotCancelled => "cancel the other attempts when the first one answers.",
        Rule::Starved => "spend less before this hop, or give the route a larger budget.",
        Rule::NoncriticalFullBudget => "cap the optional call at a slice of what is left.",
        Rule::AsyncInheritsDeadline => {
            "give the message an expiry of its own instead of the request's deadline."
        }
        Rule::Queued => "shed at the queue: refuse what cannot be answered in what is left.",
        Rule::BadDeadlineValue => "send a value that follows the key's grammar and unit.",
        Rule::ClockSkew => "send remaining time instead of an absolute deadline, and check NTP.",
        Rule::OverProvisioned => "set the budget from measured percentiles.",
        Rule::AccountingMismatch => "measure local time from arrival to answer, less the calls.",
        Rule::OutcomeMismatch => "report the outcome that the budget on arrival tells.",
    }
}
