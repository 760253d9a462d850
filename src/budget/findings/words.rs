//! Findings in words: the evidence as one sentence, and what to do as another.

use crate::model::number::ms;
use crate::model::{Nanos, Rule};

use super::Case;

/// The evidence of a case as a sentence.
pub(super) fn message(case: &Case) -> String {
    let (service, to) = (
        case.service.as_str(),
        case.to.as_deref().unwrap_or("its callee"),
    );
    handing_over(case, service, to)
        .or_else(|| work(case, service, to))
        .unwrap_or_else(|| telemetry(case, service, to))
}

impl Case {
    fn time(&self, name: &str) -> Nanos {
        let found = self.times.iter().find(|(key, _)| *key == name);
        found.map_or(Nanos::ZERO, |(_, time)| *time)
    }

    fn ms(&self, name: &str) -> String {
        format!("{} ms", ms(self.time(name)))
    }

    fn has(&self, name: &str) -> bool {
        self.times.iter().any(|(key, _)| *key == name)
    }

    fn text(&self, name: &str) -> &str {
        let found = self.texts.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, text)| text.as_str())
    }

    fn number(&self, name: &str) -> u64 {
        let found = self.counts.iter().find(|(key, _)| *key == name);
        found.map_or(0, |(_, count)| *count)
    }
}

/// Rules about what was given to whom.
fn handing_over(case: &Case, service: &str, to: &str) -> Option<String> {
    Some(match case.rule {
        Rule::NotPropagated if case.time("ran_on_ms") > Nanos::ZERO => format!(
            "{service} had {} left and told {to} nothing; {to} ran on {} after {service} had left.",
            case.ms("left_ms"),
            case.ms("ran_on_ms"),
        ),
        Rule::NotPropagated => {
            format!(
                "{service} had {} left and told {to} nothing.",
                case.ms("left_ms")
            )
        }
        Rule::BudgetReset if case.to.is_none() => format!(
            "{service} was sent what its caller had left, {}, and took {} for it.",
            case.ms("left_ms"),
            case.ms("told_ms"),
        ),
        Rule::BudgetReset => {
            format!(
                "{service} had {} left and gave {to} {}.",
                case.ms("left_ms"),
                case.ms("told_ms")
            )
        }
        Rule::InvertedTimeout => format!(
            "{service} was ready to wait {} for {to} with {} left.",
            case.ms("timeout_ms"),
            case.ms("left_ms"),
        ),
        Rule::NoReserve => format!(
            "{service} gave {to} {} of the {} it had left, then worked {} more and was {} late.",
            case.ms("given_ms"),
            case.ms("left_ms"),
            case.ms("after_ms"),
            case.ms("late_ms"),
        ),
        Rule::Starved => format!(
            "{service} arrived with {} left; a good run takes {}.",
            case.ms("left_ms"),
            case.ms("typical_ms"),
        ),
        Rule::NoncriticalFullBudget => format!(
            "{service} survived the failure of {to}, but had given it {} of the {} it had left; it took {}.",
            case.ms("given_ms"),
            case.ms("left_ms"),
            case.ms("took_ms"),
        ),
        Rule::AsyncInheritsDeadline => format!(
            "{service} works on a {} under its producer's deadline: it was told {}, the producer had {} left.",
            case.text("kind"),
            case.ms("told_ms"),
            case.ms("producer_left_ms"),
        ),
        Rule::OverProvisioned => format!(
            "{service} was given {}; a good run takes {}.",
            case.ms("budget_ms"),
            case.ms("typical_ms"),
        ),
        _ => return None,
    })
}

/// Rules about what was done with it.
fn work(case: &Case, service: &str, to: &str) -> Option<String> {
    Some(match case.rule {
        Rule::StartedExpired if case.to.is_none() => format!(
            "{service} arrived with {} left (min useful {}) and worked {}.",
            case.ms("left_ms"),
            case.ms("min_useful_ms"),
            case.ms("ran_ms"),
        ),
        Rule::StartedExpired => format!(
            "{service} called {to} with {} left (min useful {}).",
            case.ms("left_ms"),
            case.ms("min_useful_ms"),
        ),
        Rule::RetryAmplification => format!(
            "{} layers retry: one request became up to {} attempts at {}.",
            case.number("layers"),
            case.number("attempts"),
            case.text("innermost"),
        ),
        Rule::AmbiguousWrite if case.has("finished_ms") => format!(
            "The call ({}) was given up by {service} at {}; {to} finished it without error at {}.",
            case.text("method"),
            case.ms("gave_up_ms"),
            case.ms("finished_ms"),
        ),
        Rule::AmbiguousWrite if case.has("written_ms") => format!(
            "The call ({}) was given up by {service} at {}; {to} failed, but had its write to {} done at {}.",
            case.text("method"),
            case.ms("gave_up_ms"),
            case.text("written_to"),
            case.ms("written_ms"),
        ),
        Rule::AmbiguousWrite => format!(
            "The call ({}) was given up by {service} at {}; how it ended at {to} is unknown.",
            case.text("method"),
            case.ms("gave_up_ms"),
        ),
        Rule::CancelNotPropagated => {
            format!(
                "{service} ran on {} after its caller had left.",
                case.ms("ran_on_ms")
            )
        }
        Rule::WorkedAfterDeadline => match &case.to {
            None => format!("{service} ran {} after its deadline.", case.ms("after_ms")),
            Some(to) => {
                format!(
                    "{to} ran {} after the deadline of {service}.",
                    case.ms("after_ms")
                )
            }
        },
        Rule::DoomedRetry if case.has("typical_ms") => format!(
            "{service} tried {to} again with {} left; a good run takes {}.",
            case.ms("left_ms"),
            case.ms("typical_ms"),
        ),
        Rule::DoomedRetry => format!(
            "{service} tried {to} again with {} left.",
            case.ms("left_ms")
        ),
        Rule::RetryReset => format!(
            "{service} gave a later attempt at {to} the whole {} again with {} left.",
            case.ms("timeout_ms"),
            case.ms("left_ms"),
        ),
        Rule::HedgeNotCancelled => format!(
            "An attempt at {to} ran on {} after another one had answered.",
            case.ms("ran_on_ms"),
        ),
        Rule::Queued => format!(
            "The request waited {} of its {} at {service} before work began.",
            case.ms("queue_ms"),
            case.ms("budget_ms"),
        ),
        _ => return None,
    })
}

/// Rules about what was said of it.
fn telemetry(case: &Case, service: &str, to: &str) -> String {
    match case.rule {
        Rule::BadDeadlineValue => {
            format!(
                "{service}: `{}` = `{}` cannot be read.",
                case.text("key"),
                case.text("value")
            )
        }
        Rule::ClockSkew => {
            let range = match (case.has("least_ms"), case.has("greatest_ms")) {
                (true, true) if case.time("least_ms") > case.time("greatest_ms") => {
                    " (its calls contradict each other)".to_owned()
                }
                (true, true) => format!(
                    " ({} to {} ms fit)",
                    ms(case.time("least_ms")),
                    ms(case.time("greatest_ms")),
                ),
                (true, false) => format!(" ({} ms at least)", ms(case.time("least_ms"))),
                (false, true) => format!(" ({} ms at most)", ms(case.time("greatest_ms"))),
                (false, false) => String::new(),
            };
            let offset = case.time("offset_ms");
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
        Rule::AccountingMismatch => format!(
            "{service} reports {} of its own time; its time less its calls is {}.",
            case.ms("reported_ms"),
            case.ms("computed_ms"),
        ),
        Rule::OutcomeMismatch => format!(
            "{service} reports `{}`; its spans say `{}`.",
            case.text("reported"),
            case.text("verdict"),
        ),
        rule => rule.as_str().to_owned(),
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
