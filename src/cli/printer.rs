//! The one module that prints. stdout is data, stderr is talk.

use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};

use super::args::{Color, LookArgs};
use crate::report::Look;
use crate::report::visible;
use crate::settings;

/// Why nothing more can be printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrintError {
    /// The reader has gone; nobody is left to tell, and that is no failure.
    #[error("stdout is closed")]
    Closed,
    /// Anything else: a full disk, a broken device.
    #[error("cannot write to stdout")]
    Io(#[source] io::Error),
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// Where a command's words go.
pub struct Printer {
    out: BufWriter<io::Stdout>,
    err: io::Stderr,
    look: Look,
    talks_to_terminal: bool,
    said: RefCell<Vec<Vec<String>>>,
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Printer")
            .field("look", &self.look)
            .finish_non_exhaustive()
    }
}

impl Printer {
    pub(super) fn new(args: LookArgs) -> Self {
        let stdout = io::stdout();
        let color = match args.color {
            Color::Always => true,
            Color::Never => false,
            // Heeds NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM=dumb.
            Color::Auto => AutoStream::choice(&stdout) != ColorChoice::Never,
        };
        let width = args.width.or_else(|| {
            terminal_size::terminal_size_of(&stdout)
                .map(|(terminal_size::Width(columns), _)| columns)
        });
        Self {
            look: Look {
                color,
                ascii: args.ascii || !is_utf8(&settings::environment),
                width: width.map_or(100, |columns| usize::from(columns.max(40))),
            },
            out: BufWriter::with_capacity(64 * 1024, stdout),
            err: io::stderr(),
            talks_to_terminal: io::stderr().is_terminal(),
            said: RefCell::default(),
        }
    }

    /// How the output looks.
    pub(super) fn look(&self) -> Look {
        self.look
    }

    /// True if somebody watches stderr: progress is worth showing.
    pub(super) fn is_watched(&self) -> bool {
        self.talks_to_terminal
    }

    /// Prints data as it is.
    pub(super) fn data(&mut self, text: &str) -> Result<(), PrintError> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Where data goes that is no text.
    pub(super) fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Prints data and ends the line.
    pub(super) fn line(&mut self, text: &str) -> Result<(), PrintError> {
        self.data(text)?;
        self.data("\n")
    }

    /// Prints JSON values as one array, each on its line.
    pub(super) fn array(
        &mut self,
        values: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<(), PrintError> {
        self.data("[")?;
        let mut end = "]";
        for (index, value) in values.into_iter().enumerate() {
            self.data(if index == 0 { "\n" } else { ",\n" })?;
            self.data(value.as_ref())?;
            end = "\n]";
        }
        self.line(end)
    }

    /// Says something to whoever runs the command. A closed stderr is ignored: there is no other
    /// place to say it.
    pub(super) fn say(&self, text: &str) {
        let line = format!("{}\n", visible(text));
        (&self.err).write_all(line.as_bytes()).ok();
    }

    /// Says these lines, unless they were all said before: what is read twice is wrong once.
    pub(super) fn say_once(&self, lines: Vec<String>) {
        let mut said = self.said.borrow_mut();
        if !said.contains(&lines) {
            for line in &lines {
                self.say(line);
            }
            said.push(lines);
        }
    }

    /// Hands over what is still held back.
    pub(super) fn finish(&mut self) -> Result<(), PrintError> {
        Ok(self.out.flush()?)
    }
}

/// Whether the locale can show UTF-8: by the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set;
/// where none is, as in most pipes and containers, it is taken to.
fn is_utf8(environment: &dyn Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| environment(name))
        .find(|value| !value.is_empty())
        .is_none_or(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        })
}

#[cfg(test)]
mod tests {
    use super::is_utf8;

    #[test]
    fn the_first_locale_that_is_set_tells_whether_glyphs_show() {
        let with = |pairs: &'static [(&str, &str)]| {
            is_utf8(&move |name| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[]));
        assert!(with(&[("LANG", "de_DE.UTF-8")]));
        assert!(with(&[("LC_ALL", ""), ("LANG", "C.utf8")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!with(&[("LC_CTYPE", "POSIX")]));
    }
}
