//! The axis of time under a chart.

use std::fmt;

use crate::model::{Nanos, UnixNanos};
use crate::query::fleet::Stretch;
use crate::report::number;
use crate::report::svg::{Percent, Scale};

/// Minutes between two labels, the closest first.
const STEPS: [i64; 18] = [
    1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 40_320, 131_040, 262_080,
    524_160,
];

/// The most labels.
const LABELS: i64 = 6;

/// A stretch of time along the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeAxis {
    /// Its first instant.
    pub since: UnixNanos,
    /// The first instant after it.
    pub until: UnixNanos,
}

impl TimeAxis {
    /// Where an instant lies, kept within the axis.
    pub fn at(self, time: UnixNanos) -> Percent {
        Scale::new(self.until.since(self.since)).at(time.since(self.since))
    }

    /// Where a stretch begins and how wide it is, kept within the axis.
    pub fn span(self, since: UnixNanos, until: UnixNanos) -> (Percent, Percent) {
        let (from, to) = (self.at(since), self.at(until));
        (from, to.less(from))
    }

    /// Round instants inside it, with what to call them.
    fn labels(self) -> Vec<(Percent, String)> {
        let minute = Nanos::from_secs(60).0;
        let minutes = self.until.since(self.since).0 / minute;
        let step = STEPS.into_iter().find(|step| minutes / step <= LABELS);
        let step = step.unwrap_or(524_160).unsigned_abs() * minute.unsigned_abs();
        let first = self.since.0.div_ceil(step);
        (first..)
            .map(|n| UnixNanos(n.saturating_mul(step)))
            .take_while(|time| *time < self.until)
            .take(64)
            .map(|time| (self.at(time), self.name(time)))
            .collect()
    }

    /// The time of day; where that is midnight in a long stretch, the day, and the month where
    /// days of several years stand beside each other.
    fn name(self, time: UnixNanos) -> String {
        let clock = number::clock(time);
        if !self.is_long() || clock != "00:00" {
            return clock;
        }
        let mut day = number::day(time);
        if self.has_years() {
            day.truncate(7);
            day
        } else {
            day.split_off(5)
        }
    }

    /// Its first or last instant: the day in a long stretch.
    fn end(self, time: UnixNanos) -> String {
        let mut day = number::day(time);
        match (self.is_long(), self.has_years()) {
            (false, _) => number::clock(time),
            (true, true) => day,
            (true, false) => day.split_off(5),
        }
    }

    fn is_long(self) -> bool {
        let Self { since, until, .. } = self;
        Stretch { since, until }.is_long()
    }

    fn has_years(self) -> bool {
        let year = |time| number::day(time).get(..4).map(str::to_owned);
        year(self.since) != year(self.until)
    }
}

impl fmt::Display for TimeAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="tc3" aria-hidden="true">"#)?;
        let begin = self.end(self.since);
        write!(f, r#"<text class="yl" x="0" y="12">{begin}</text>"#)?;
        let edge = if self.has_years() { 16 } else { 9 };
        let (low, high) = (Percent::hundredths(edge), Percent::hundredths(95 - edge));
        let inner = self.labels();
        let inner = inner.iter().filter(|(x, _)| *x > low && *x < high);
        for (index, (x, name)) in inner.enumerate() {
            // Every second one goes where the chart is narrow.
            let class = if index % 2 == 0 { "yl k k30" } else { "yl" };
            write!(
                f,
                r#"<text class="{class}" x="{x}" y="12" text-anchor="middle">{name}</text>"#
            )?;
        }
        let end = self.end(self.until);
        write!(
            f,
            r#"<text class="yl" x="100%" y="12" text-anchor="end">{end} UTC</text></svg>"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(minutes: u64) -> TimeAxis {
        let since = UnixNanos(1_791_361_800_000_000_000);
        TimeAxis {
            since,
            until: UnixNanos(since.0 + minutes * 60_000_000_000),
        }
    }

    #[test]
    fn labels_are_round_and_few() {
        let names = |minutes| {
            let labels = axis(minutes).labels();
            let names: Vec<String> = labels.into_iter().map(|(_, name)| name).collect();
            names.join(" ")
        };
        assert_eq!(names(60), "08:30 08:40 08:50 09:00 09:10 09:20");
        assert_eq!(names(15), "08:30 08:35 08:40");
        assert_eq!(names(360), "09:00 10:00 11:00 12:00 13:00 14:00");
        assert_eq!(names(4 * 1440), "10-08 10-09 10-10 10-11");
        let years = axis(2 * 365 * 1440);
        let labels = years.labels();
        assert!(labels.len() <= 7, "{labels:?}");
        assert!(
            labels.iter().any(|(_, name)| name == "2027-04"),
            "{labels:?}"
        );
        let drawn = years.to_string();
        assert!(drawn.contains(">2026-10-07</text>") && drawn.contains(">2028-10-06 UTC</text>"));
        assert!(axis(4 * 1440).to_string().contains(">10-11 UTC</text>"));
        assert!(axis(100_000_000).labels().len() <= 64);
        assert!(axis(60).to_string().contains(">09:30 UTC</text>"));
    }
}
