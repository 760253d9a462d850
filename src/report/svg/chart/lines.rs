//! Percentiles over time as lines, each named at its end.

use std::fmt;

use super::{TIMES, TimeAxis, rungs};
use crate::model::{Nanos, UnixNanos};
use crate::report::number;
use crate::report::svg::Escaped;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineLook {
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// What was left.
    Left,
}

impl LineLook {
    fn class(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Left => "rem",
        }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How it looks.
    pub look: LineLook,
    /// What it is.
    pub name: &'static str,
    /// A value for each bucket; what is not known leaves a gap.
    pub values: Vec<Option<Nanos>>,
}

/// The chart.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// The whole in words, for who cannot see it.
    pub label: &'a str,
    /// Its axis.
    pub axis: TimeAxis,
    /// What it shows.
    pub lines: &'a [Line],
    /// Where something changed.
    pub change: Option<UnixNanos>,
}

/// How far apart two names at the ends have to be, in tenths of the height.
const APART: i64 = 110;

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.lines.iter().flat_map(|line| &line.values).flatten();
        let most = values.max().copied().unwrap_or_default().at_least_zero();
        let rungs = rungs(most.0.unsigned_abs(), &TIMES);
        let top = rungs.last().copied().unwrap_or(1);
        let label = Escaped(self.label);
        write!(
            f,
            r#"<div class="lnw c-bar" role="img" aria-label="{label}"><svg class="ln" aria-hidden="true"><line class="base" x1="0" x2="100%" y1="100%" y2="100%"/>"#
        )?;
        for rung in &rungs {
            let y = from_top(u128::from(*rung), u128::from(top), 0);
            write!(
                f,
                r#"<line class="tick" x1="0" x2="100%" y1="{y}%" y2="{y}%"/>"#
            )?;
        }
        if let Some(at) = self.change {
            let x = self.axis.at(at);
            write!(
                f,
                r#"<line class="chg" x1="{x}" x2="{x}" y1="0" y2="100%"/>"#
            )?;
        }
        let count = self.lines.iter().map(|line| line.values.len()).max();
        let wide = count.unwrap_or(1).max(1) * 2;
        write!(
            f,
            r#"<svg viewBox="0 0 {wide} 100" preserveAspectRatio="none">"#
        )?;
        for line in self.lines {
            draw(line, top, f)?;
        }
        f.write_str("</svg>")?;
        for rung in &rungs {
            let y = from_top(u128::from(*rung), u128::from(top), 0);
            let text = number::ms(Nanos(i64::try_from(*rung).unwrap_or(i64::MAX)));
            let unit = if *rung == top { "\u{a0}ms" } else { "" };
            write!(
                f,
                r#"<text class="yl halo" x="2" y="{y}%" dy="-4">{text}{unit}</text>"#
            )?;
        }
        for (line, value, tenths) in self.ends(top) {
            let (class, name) = (line.look.class(), line.name);
            let y = number::tenths(tenths);
            write!(
                f,
                r#"<text class="el {class}" x="100%" dx="6" y="{y}%">{name} {}</text>"#,
                number::ms(value)
            )?;
        }
        write!(f, "</svg>{}</div>", self.axis)
    }
}

impl Lines<'_> {
    /// The last known value of each line with where its name stands, from the top; names that would
    /// lie over each other are moved apart.
    fn ends(&self, top: u64) -> Vec<(&Line, Nanos, i64)> {
        let mut ends: Vec<_> = self
            .lines
            .iter()
            .filter_map(|line| {
                let value = line.values.iter().rev().flatten().next().copied()?;
                let wide = i128::from(value.at_least_zero().0) * 1000 / i128::from(top.max(1));
                Some((line, value, 1000 - i64::try_from(wide.min(1000)).ok()?))
            })
            .collect();
        ends.sort_by_key(|(_, _, y)| *y);
        let mut least = i64::MIN;
        for (_, _, y) in &mut ends {
            *y = (*y).max(least);
            least = *y + APART;
        }
        // What was pushed out at the bottom goes up again, and takes the others with it.
        let mut most = 1000;
        for (_, _, y) in ends.iter_mut().rev() {
            *y = (*y).min(most);
            most = *y - APART;
        }
        ends
    }
}

fn draw(line: &Line, top: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let class = line.look.class();
    let mut open = false;
    for (index, value) in line.values.iter().enumerate() {
        if let Some(value) = value {
            if !open {
                write!(f, r#"<polyline class="pl {class}" points=""#)?;
            }
            let value = u128::from(value.at_least_zero().0.unsigned_abs());
            let y = from_top(value, u128::from(top), 0);
            let x = index * 2 + 1;
            write!(f, "{x},{y} ")?;
            // A lone value is a short line.
            if !open && !line.values.get(index + 1).is_some_and(Option::is_some) {
                write!(f, "{},{y} ", x + 1)?;
            }
        } else if open {
            f.write_str(r#""/>"#)?;
        }
        open = value.is_some();
    }
    if open {
        f.write_str(r#""/>"#)?;
    }
    Ok(())
}

/// Where a value lies from the top, in hundredths of the height with up to two decimals; `least` is
/// where the largest lies.
pub(super) fn from_top(value: u128, most: u128, least: u128) -> String {
    let room = (100 - least.min(100)) * 100;
    let most = most.max(1);
    let up = (value.min(most) * room * 2 + most) / (most * 2);
    let down = 10_000 - up.min(10_000);
    let (whole, rest) = (down / 100, down % 100);
    match rest {
        0 => whole.to_string(),
        rest if rest % 10 == 0 => format!("{whole}.{}", rest / 10),
        rest => format!("{whole}.{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> TimeAxis {
        let since = UnixNanos(1_791_364_500_000_000_000);
        TimeAxis {
            since,
            until: UnixNanos(since.0 + 180_000_000_000),
        }
    }

    fn line(look: LineLook, name: &'static str, ms: &[Option<i64>]) -> Line {
        Line {
            look,
            name,
            values: ms.iter().map(|ms| ms.map(Nanos::from_millis)).collect(),
        }
    }

    #[test]
    fn lines_have_gaps_and_their_names_keep_apart() {
        let lines = [
            line(LineLook::P50, "p50", &[Some(100), None, Some(390)]),
            line(LineLook::P95, "p95", &[Some(200), Some(300), Some(400)]),
            line(LineLook::Left, "left p5", &[Some(-5), None, None]),
        ];
        let chart = Lines {
            label: "times",
            axis: axis(),
            lines: &lines,
            change: None,
        };
        let svg = chart.to_string();
        for part in [
            r#"<polyline class="pl p50" points="1,75 2,75 "/>"#,
            r#"<polyline class="pl p50" points="5,2.5 6,2.5 "/>"#,
            r#"<polyline class="pl p95" points="1,50 3,25 5,0 "/>"#,
            r#"<polyline class="pl rem" points="1,100 2,100 "/>"#,
            "y=\"0%\" dy=\"-4\">400\u{a0}ms</text>",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        let ends: Vec<_> = chart
            .ends(Nanos::from_millis(400).0.unsigned_abs())
            .into_iter()
            .map(|(line, _, y)| (line.name, y))
            .collect();
        assert_eq!(ends, [("p95", 0), ("p50", APART), ("left p5", 1000)]);
    }

    #[test]
    fn nothing_known_is_an_empty_chart() {
        let chart = Lines {
            label: "none",
            axis: axis(),
            lines: &[],
            change: Some(axis().since),
        };
        assert!(chart.to_string().ends_with("</div>"));
        assert!(chart.ends(1).is_empty());
    }
}
