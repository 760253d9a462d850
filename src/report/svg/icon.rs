//! Icons: twelve pixels, drawn as small waterfalls. The upright stroke is the deadline.

use std::fmt;

use crate::model::{Outcome, Severity, Verdict};

/// A sign; always beside a word, so hidden from screen readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// ◆: held the clock most.
    Culprit,
    /// ⚑: where the failure surfaced.
    Surfaced,
    /// A hop's or call's verdict.
    Verdict(Verdict),
    /// A request's outcome.
    Outcome(Outcome),
    /// A finding's severity.
    Severity(Severity),
    /// The next page.
    Next,
    /// Sorted downwards.
    Down,
    /// Sorted upwards.
    Up,
    /// Much more than before.
    Rise,
    /// Stop refreshing.
    Pause,
    /// Go on refreshing.
    Play,
}

impl Icon {
    fn shapes(self) -> &'static str {
        match self {
            Self::Culprit => r#"<path class="f" d="M6 0l6 6-6 6-6-6z"/>"#,
            Self::Surfaced => r#"<path d="M2.5 12V1h7.5l-2.2 2.75L10 6.5H2.5"/>"#,
            Self::Verdict(verdict) => verdict_shapes(verdict),
            Self::Outcome(outcome) => outcome_shapes(outcome),
            Self::Severity(Severity::Error) => {
                r#"<path class="f" d="M0 0h12v12H0z"/><path class="cutout" d="M6 2v5M6 8.5v2"/>"#
            }
            Self::Severity(Severity::Warning) => {
                r#"<path d="M6 1 11.3 11H.7z"/><path d="M6 4.5v3M6 8.4v1.4"/>"#
            }
            Self::Severity(Severity::Info) => {
                r#"<circle cx="6" cy="6" r="5"/><path d="M6 5.2v4M6 2.6v1.4"/>"#
            }
            Self::Next => r#"<path d="M4.5 2.5 8 6l-3.5 3.5"/>"#,
            Self::Down => r#"<path d="M2.5 4.5 6 8l3.5-3.5"/>"#,
            Self::Up => r#"<path d="M2.5 7.5 6 4l3.5 3.5"/>"#,
            Self::Rise => r#"<path class="f" d="M6 2l5 8H1z"/>"#,
            Self::Pause => r#"<path d="M4 2v8M8 2v8"/>"#,
            Self::Play => r#"<path class="f" d="M3 1.5 10.5 6 3 10.5z"/>"#,
        }
    }

    /// The class that colours it where it stands in text.
    fn class(self) -> &'static str {
        match self {
            Self::Culprit => "i cu",
            Self::Surfaced => "i flg",
            Self::Severity(Severity::Warning) => "i w",
            _ => "i",
        }
    }
}

impl fmt::Display for Icon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, shapes) = (self.class(), self.shapes());
        write!(
            f,
            r#"<svg class="{class}" viewBox="0 0 12 12" aria-hidden="true">{shapes}</svg>"#
        )
    }
}

fn verdict_shapes(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => r#"<path d="M1.5 6.5 4.5 9.5 10.5 2.5"/>"#,
        Verdict::Failed => r#"<path d="M2 2l8 8M10 2l-8 8"/>"#,
        Verdict::ExceededHere => r#"<path class="f" d="M0 3.5h9v5H0z"/><path d="M10.25 .5v11"/>"#,
        Verdict::ExceededDownstream => {
            r#"<path d="M1 2.5h4.5v6h2.5M6 6.2l2.4 2.3L6 10.8"/><path d="M11 .5v11"/>"#
        }
        Verdict::ExpiredOnArrival => r#"<path d="M2 .5v11"/><path d="M5 4h6v4H5z"/>"#,
        Verdict::ExpiredBeforeSend => {
            r#"<path d="M2 .5v11"/><path stroke-dasharray="1.6 1.4" d="M5 4h6v4H5z"/>"#
        }
        Verdict::FinishedLate => {
            r#"<path class="f" d="M0 3.5h6v5H0z"/><path d="M6 .5v11"/><path d="M7 4.2h4.2v3.6H7"/>"#
        }
        Verdict::TimedOutEarly => {
            r#"<path class="f" d="M0 3.5h3v5H0z"/><path d="M4 3.5l4 5M8 3.5l-4 5M11 .5v11"/>"#
        }
        Verdict::CancelledByCaller => {
            r#"<circle cx="6" cy="6" r="4.75"/><path d="M2.7 9.3 9.3 2.7"/>"#
        }
    }
}

fn outcome_shapes(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Met => verdict_shapes(Verdict::Ok),
        Outcome::Missed => {
            r#"<path class="f" d="M0 3.5h7v5H0z"/><path d="M7.5 .5v11M8 4.2h3.4v3.6H8"/>"#
        }
        Outcome::Failed => verdict_shapes(Verdict::Failed),
        Outcome::Cancelled => verdict_shapes(Verdict::CancelledByCaller),
        Outcome::NoBudget => r#"<path stroke-dasharray="2 1.5" d="M1 3.5h10v5H1z"/>"#,
    }
}

/// An icon and its word; the weight follows the blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Badge {
    /// Of a hop or call.
    Verdict(Verdict),
    /// Of a request.
    Outcome(Outcome),
}

impl Badge {
    fn class(self) -> &'static str {
        match self {
            Self::Verdict(Verdict::ExceededHere) => "fill",
            Self::Verdict(
                Verdict::ExpiredOnArrival | Verdict::ExpiredBeforeSend | Verdict::TimedOutEarly,
            )
            | Self::Outcome(Outcome::Missed) => "bad",
            Self::Verdict(Verdict::ExceededDownstream | Verdict::FinishedLate) => "sym",
            Self::Verdict(Verdict::CancelledByCaller) | Self::Outcome(Outcome::Cancelled) => "warn",
            Self::Verdict(Verdict::Failed) | Self::Outcome(Outcome::Failed) => "err",
            Self::Verdict(Verdict::Ok) | Self::Outcome(Outcome::Met | Outcome::NoBudget) => "ok",
        }
    }
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.class();
        let (icon, words) = match self {
            Self::Verdict(verdict) => (Icon::Verdict(*verdict), verdict.words()),
            Self::Outcome(outcome) => (Icon::Outcome(*outcome), outcome.as_str().replace('_', " ")),
        };
        write!(f, r#"<span class="bd {class}">{icon}{words}</span>"#)
    }
}
