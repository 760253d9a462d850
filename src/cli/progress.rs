//! A progress bar on stderr, for long work that somebody watches.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Inputs up to so many bytes are read before a bar could be seen.
const SHORT: u64 = 16 << 20;

/// Tells how far reading has come.
pub(super) struct Progress {
    watched: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// One that shows itself only if stderr is watched.
    pub(super) fn new(watched: bool) -> Self {
        Self { watched, bar: None }
    }

    /// One for work of which nobody knows how far it is.
    pub(super) fn work(watched: bool, what: &'static str) -> Self {
        let bar = watched.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            bar.set_style(style("{spinner} {msg}"));
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self { watched, bar }
    }

    /// `done` of `total` traces are read.
    pub(super) fn traces(&mut self, done: u64, total: u64) {
        if !self.watched {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(total), target);
            bar.set_style(style(
                "reading {bar:32} {human_pos}/{human_len} traces {eta}",
            ));
            bar
        });
        bar.set_position(done.min(total));
    }

    /// `done` of `total` bytes are read; `total` is 0 if that is not known.
    pub(super) fn read(&mut self, done: u64, total: u64) {
        if !self.watched || done.max(total) < SHORT {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| bar(total));
        bar.set_position(done);
    }

    /// Everything is read; what follows takes a moment, too.
    pub(super) fn analyse(&self) {
        if let Some(bar) = &self.bar {
            bar.set_style(style("{spinner} {msg}"));
            bar.set_message("analysing");
            bar.tick();
        }
    }

    /// Takes the bar away: it was talk.
    pub(super) fn done(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let (length, template) = match total {
        0 => (None, "{spinner} reading {bytes} {bytes_per_sec}"),
        total => (
            Some(total),
            "reading {bar:32} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        ),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(style(template));
    bar
}

/// The style of a template; templates are ours, and a mistake in one costs its looks only.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
