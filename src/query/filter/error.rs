//! What is wrong with a filter, and where.

use std::fmt;
use std::ops::Range;

/// Why a text is no filter. Prints as a sentence without full stop, with what to do where that is
/// known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FilterError {
    /// The bytes of the text that are at fault; empty at the end of a text that is too short.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl FilterError {
    pub(super) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn maybe(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// The text before the fault, the fault, and the text after it.
    pub fn parts<'t>(&self, text: &'t str) -> (&'t str, &'t str, &'t str) {
        let (before, rest) = text.split_at_checked(self.at.start).unwrap_or((text, ""));
        let length = self.at.end.saturating_sub(self.at.start);
        let (fault, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        (before, fault, after)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}
