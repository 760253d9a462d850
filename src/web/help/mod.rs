//! The help page: where to point an exporter, what to emit, and how to read what is drawn.

mod emit;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::asking::Site;
use super::error;
use super::params::Link;
use super::view::{Chrome, with_code};
use crate::budget::Rules;
use crate::model::{How, Nanos, Outcome, Part, Verdict};
use crate::query::filter;
use crate::query::waterfall::{Row, Stretch, StretchKind};
use crate::report::svg::{Badge, Icon, RowBars, Scale};
use emit::{Emitted, Sdk};

#[derive(Template)]
#[template(path = "help.html")]
struct HelpPage {
    chrome: Chrome,
    grpc_addr: String,
    http_addr: String,
    verdicts: Vec<Specimen>,
    states: Vec<Specimen>,
    outcomes: Vec<(String, &'static str)>,
    culprit: String,
    surfaced: String,
    syntax: Vec<(Example, String)>,
    fields: Vec<FieldView>,
    word_lists: Vec<(String, String)>,
    rules: Vec<Read>,
    attributes: &'static [Emitted],
    sdks: &'static [Sdk],
    keys: Vec<KeyView>,
    glossary: &'static [(&'static str, &'static str)],
}

/// A key, with the name of its page where that changes.
struct KeyView {
    page: &'static str,
    keys: &'static [&'static str],
    does: &'static str,
}

fn keys() -> Vec<KeyView> {
    let mut last = "";
    let keys = emit::KEYS.iter().map(|(page, keys, does)| {
        let same = std::mem::replace(&mut last, page) == *page;
        let page = if same { "" } else { page };
        KeyView { page, keys, does }
    });
    keys.collect()
}

/// A rule of the table of what is read.
struct Read {
    /// Keys, or an example of a text.
    keys: String,
    place: &'static str,
    words: &'static str,
    /// The id to turn it on by, if it is off.
    off: Option<&'static str>,
}

/// Every rule that reads anything, in the order of the table.
fn rules() -> Vec<Read> {
    let rules = Rules::listed().into_iter();
    rules
        .filter(|rule| rule.grammar.is_some())
        .map(|rule| Read {
            keys: rule.keys.join(", "),
            place: rule.place,
            words: rule.words,
            off: (!rule.on).then_some(rule.id),
        })
        .collect()
}

/// A filter to try.
struct Example {
    href: String,
    text: &'static str,
}

/// A field of filters.
struct FieldView {
    name: &'static str,
    kind: String,
    meaning: &'static str,
}

/// A drawn row with what it means.
struct Specimen {
    /// A badge or a name, as markup.
    name: String,
    bars: String,
    words: &'static str,
}

/// `GET /help`.
pub(super) async fn page(State(site): State<Site>) -> Response {
    error::render(&HelpPage {
        chrome: Chrome::new("help"),
        grpc_addr: site.state().grpc_addr.clone(),
        http_addr: site.state().http_addr.clone(),
        verdicts: verdicts(),
        states: states(),
        outcomes: outcomes(),
        culprit: Icon::Culprit.to_string(),
        surfaced: Icon::Surfaced.to_string(),
        rules: rules(),
        attributes: emit::ATTRIBUTES,
        sdks: emit::SDKS,
        keys: keys(),
        glossary: emit::GLOSSARY,
        syntax: filter::SYNTAX
            .iter()
            .map(|(text, words)| (example(text), with_code(words)))
            .collect(),
        fields: filter::fields()
            .iter()
            .map(|field| FieldView {
                name: field.name,
                kind: format!(
                    "{}{}",
                    field.kind.name(),
                    if field.nullable { " or null" } else { "" }
                ),
                meaning: field.doc,
            })
            .collect(),
        word_lists: filter::word_lists()
            .into_iter()
            .map(|(names, words)| (names.join(", "), words.join(", ")))
            .collect(),
    })
}

fn example(text: &'static str) -> Example {
    let link = Link {
        path: "/requests",
        pairs: &[("q", Some(text))],
    };
    Example {
        href: link.to_string(),
        text,
    }
}

/// Every specimen has a deadline here, in milliseconds, on an axis half as long again.
const DEADLINE: i64 = 1000;

fn verdicts() -> Vec<Specimen> {
    use StretchKind::{Held, Late, Waiting};
    let specimen = |verdict: Verdict, row: Row, words| Specimen {
        name: Badge::Verdict(verdict).to_string(),
        bars: draw(&row),
        words,
    };
    vec![
        specimen(
            Verdict::ExceededHere,
            row(100, &[(Held, 100, 1000), (Late, 1000, 1180)]),
            "Its own time crossed the line. The only filled badge: its owner acts.",
        ),
        specimen(
            Verdict::ExceededDownstream,
            Row {
                given_up: vec![Nanos::from_millis(DEADLINE)],
                ..row(100, &[(Held, 100, 180), (Waiting, 180, 1000)])
            },
            "One call took most of it; the cross is where it gave up.",
        ),
        specimen(
            Verdict::ExpiredOnArrival,
            row(988, &[(Held, 988, 1000), (Late, 1000, 1090)]),
            "Starts at the line. Look left of it: somebody above spent the budget.",
        ),
        specimen(
            Verdict::ExpiredBeforeSend,
            row(1060, &[(Late, 1060, 1130)]),
            "The call began after the line.",
        ),
        specimen(
            Verdict::FinishedLate,
            row(100, &[(Held, 100, 1000), (Late, 1000, 1240)]),
            "Answered without error, to nobody.",
        ),
        specimen(
            Verdict::TimedOutEarly,
            Row {
                given_up: vec![Nanos::from_millis(340)],
                ..row(
                    100,
                    &[(Held, 100, 140), (Waiting, 140, 340), (Held, 340, 360)],
                )
            },
            "A short timeout ended it with budget unspent: the empty part of the expected bar.",
        ),
        specimen(
            Verdict::CancelledByCaller,
            Row {
                given_up: vec![Nanos::from_millis(420)],
                ..row(100, &[(Held, 100, 420)])
            },
            "Stopped because the caller left, before its own deadline.",
        ),
        specimen(
            Verdict::Failed,
            row(100, &[(Held, 100, 240)]),
            "Another error, with time left. Not a deadline problem.",
        ),
        specimen(
            Verdict::Ok,
            row(100, &[(Held, 100, 620)]),
            "Answered before its deadline. Grey: nothing to do here.",
        ),
    ]
}

fn states() -> Vec<Specimen> {
    use StretchKind::{Backoff, Beside, Held, HeldDependency, HeldUnreported, Transit, Waiting};
    let specimen = |name: &str, row: Row, words| Specimen {
        name: format!("<b>{name}</b>"),
        bars: draw(&row),
        words,
    };
    let known = |how, row: Row| Row { how, ..row };
    vec![
        specimen(
            "deadline passed on",
            row(100, &[(Held, 100, 400)]),
            "The upper bar is what was expected: from arrival to the deadline. Solid: the hop\u{2019}s own telemetry or its caller\u{2019}s says so.",
        ),
        specimen(
            "not passed on",
            known(How::Inherited, row(100, &[(Held, 100, 400)])),
            "Dashed: it binds, but nobody told the hop. The tree shows the break.",
        ),
        specimen(
            "guessed",
            known(How::Inferred, row(100, &[(Held, 100, 1000)])),
            "Dotted: taken from a timeout of about this length. Least trusted.",
        ),
        specimen(
            "no budget",
            Row {
                expected: None,
                deadline: None,
                how: How::None,
                ..row(100, &[(Held, 100, 640)])
            },
            "No expected bar, no line, no tint. Never drawn as if it were met.",
        ),
        specimen(
            "budget reset",
            Row {
                overhang: Some((Nanos::from_millis(DEADLINE), Nanos::from_millis(1380))),
                ..row(600, &[(Held, 600, 900)])
            },
            "Dashed vermilion beyond the line: promised time that does not exist.",
        ),
        specimen(
            "dependency",
            known(How::Inherited, row(200, &[(HeldDependency, 200, 760)])),
            "Dots on blue: the far side left no spans.",
        ),
        specimen(
            "unreported callee",
            Row {
                given_up: vec![Nanos::from_millis(DEADLINE)],
                ..known(How::Inherited, row(200, &[(HeldUnreported, 200, 1000)]))
            },
            "Sparse dots in a dashed frame: a hung, killed or unsampled service.",
        ),
        specimen(
            "ran beside",
            row(200, &[(Beside, 200, 520)]),
            "Parallel to the path: pale, took nothing from the budget.",
        ),
        specimen(
            "retry",
            Row {
                given_up: vec![Nanos::from_millis(420)],
                ..row(
                    60,
                    &[
                        (Held, 60, 100),
                        (Waiting, 100, 420),
                        (Backoff, 420, 500),
                        (Waiting, 500, 840),
                        (Held, 840, 880),
                    ],
                )
            },
            "Attempts are rows of their own (1/2, 2/2); backoff is an empty dashed box on the caller.",
        ),
        specimen(
            "transit",
            row(
                100,
                &[
                    (Held, 100, 160),
                    (Transit, 160, 420),
                    (Waiting, 420, 800),
                    (Transit, 800, 840),
                    (Held, 840, 900),
                ],
            ),
            "Grey hatch: between the call and the arrival, or the reply and the end. Network, queue, connect.",
        ),
        specimen(
            "aligned clock",
            Row {
                arrival_range: Some((Nanos::from_millis(260), Nanos::from_millis(340))),
                ..row(300, &[(Held, 300, 700)])
            },
            "Whisker under the arrival: where its clock may stand, by the calls around it.",
        ),
    ]
}

fn outcomes() -> Vec<(String, &'static str)> {
    Outcome::ALL
        .into_iter()
        .map(|outcome| {
            let words = match outcome {
                Outcome::Missed => "a timeout or the deadline ended it, or it answered late",
                Outcome::Failed => "another error",
                Outcome::Cancelled => "its caller left",
                Outcome::NoBudget => {
                    "no deadline is known; shown with its time, never counted as met"
                }
                Outcome::Met => "answered in time",
            };
            (Badge::Outcome(outcome).to_string(), words)
        })
        .collect()
}

fn draw(row: &Row) -> String {
    RowBars {
        row,
        above: None,
        scale: Scale::new(Nanos::from_millis(DEADLINE / 2 * 3)),
        ticks: &[],
    }
    .to_string()
}

/// A hop that arrived at `start`, with its stretches, in milliseconds.
fn row(start: i64, stretches: &[(StretchKind, i64, i64)]) -> Row {
    let end = stretches.last().map_or(start, |(_, _, end)| *end);
    let deadline = Nanos::from_millis(DEADLINE);
    let start = Nanos::from_millis(start);
    let end = Nanos::from_millis(end);
    Row {
        left: Some(deadline - start),
        how: How::Observed,
        start,
        end,
        deadline: Some(deadline),
        expected: (start < deadline).then_some((start, deadline)),
        stretches: stretches
            .iter()
            .map(|(kind, start, end)| Stretch {
                start: Nanos::from_millis(*start),
                end: Nanos::from_millis(*end),
                kind: *kind,
                part: Some(Part::Local),
                row: 0,
                culprit: false,
            })
            .collect(),
        late: (end - deadline.max(start)).at_least_zero(),
        ..Row::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_and_outcome_is_explained() {
        assert_eq!(verdicts().len(), Verdict::ALL.len());
        for verdict in Verdict::ALL {
            let badge = Badge::Verdict(verdict).to_string();
            assert!(
                verdicts().iter().any(|specimen| specimen.name == badge),
                "{badge}"
            );
        }
        assert_eq!(outcomes().len(), Outcome::ALL.len());
    }
}
