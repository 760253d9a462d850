//! The control of the stretch of time.

use crate::report::number;
use crate::report::svg::Icon;
use crate::web::params::Link;
use crate::web::period::{CHOICES, Period, choice, short};

/// The control, ready to print.
#[derive(Debug)]
pub(in crate::web) struct PeriodView {
    pub(in crate::web) choices: Vec<PeriodChoice>,
    pub(in crate::web) custom: bool,
    pub(in crate::web) path: String,
    /// Parameters that stay when another stretch is sent.
    pub(in crate::web) kept: Vec<(String, String)>,
    pub(in crate::web) since: String,
    pub(in crate::web) until: String,
    pub(in crate::web) label: String,
    /// When the numbers were made, where they are made anew by and by.
    pub(in crate::web) live: Option<String>,
    pub(in crate::web) pause: String,
    pub(in crate::web) play: String,
}

/// A link to a stretch that ends now.
#[derive(Debug)]
pub(in crate::web) struct PeriodChoice {
    pub(in crate::web) href: String,
    pub(in crate::web) text: &'static str,
    pub(in crate::web) current: bool,
}

impl PeriodView {
    /// For a page that is about no stretch until one is chosen.
    pub(in crate::web) fn everything(&mut self) {
        "all that is kept".clone_into(&mut self.label);
        self.custom = false;
        self.since.clear();
        self.until.clear();
        for choice in &mut self.choices {
            choice.current = false;
        }
    }

    pub(super) fn new(period: &Period, path: &str, kept: &[(&str, Option<&str>)]) -> Self {
        let current = choice(period);
        let choices = CHOICES.map(|(text, since)| {
            let pairs: Vec<_> = kept
                .iter()
                .copied()
                .chain([("since", Some(since))])
                .collect();
            PeriodChoice {
                href: Link {
                    path,
                    pairs: &pairs,
                }
                .to_string(),
                text,
                current: current == Some(since),
            }
        });
        let stretch = period.stretch();
        let clock = number::instant(period.now());
        let at = clock.get(11..19).unwrap_or_default();
        Self {
            choices: choices.into(),
            custom: current.is_none() && !period.is_narrowed(),
            path: path.to_owned(),
            kept: kept
                .iter()
                .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())))
                .collect(),
            since: short(stretch.since),
            until: short(stretch.until),
            label: number::stretch(stretch.since, stretch.until),
            live: period.is_live().then(|| format!("{at} UTC")),
            pause: Icon::Pause.to_string(),
            play: Icon::Play.to_string(),
        }
    }
}
