//! What was not met, stacked, over all requests as a second pane.

use std::fmt;

use super::{COUNTS, TimeAxis, rungs};
use crate::model::UnixNanos;
use crate::report::number;
use crate::report::svg::{Escaped, Percent};

/// How a piece of a stack looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackLook {
    /// Expired before it was begun.
    Expired,
    /// Ran out of time.
    Exceeded,
    /// Missed in another way.
    Other,
    /// Another error.
    Failed,
    /// Its caller left.
    Cancelled,
    /// In time.
    Met,
    /// No budget known.
    NoBudget,
}

impl StackLook {
    fn attributes(self) -> &'static str {
        match self {
            Self::Expired => r#"class="sk lh" fill="url(#h-after)""#,
            Self::Exceeded => r#"class="sk ls""#,
            Self::Other => r#"class="sk lo""#,
            Self::Failed => r#"class="sk fa" fill="url(#h-failed)""#,
            Self::Cancelled => r#"class="sk ca" fill="url(#h-cancel)""#,
            Self::Met => r#"class="sk me""#,
            Self::NoBudget => r#"class="sk nb""#,
        }
    }

    /// The same as a small square.
    pub fn swatch(self) -> String {
        format!(
            r#"<svg class="lg sw" aria-hidden="true"><rect {} x="0" y="0" width="100%" height="100%"/></svg>"#,
            self.attributes()
        )
    }
}

/// A bucket of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Its first instant.
    pub since: UnixNanos,
    /// The first instant after it.
    pub until: UnixNanos,
    /// What was not met, from the bottom.
    pub upper: Vec<(StackLook, u64)>,
    /// All requests, from the bottom.
    pub lower: Vec<(StackLook, u64)>,
    /// The page about this bucket alone.
    pub href: String,
    /// It in words.
    pub label: String,
}

/// The chart.
#[derive(Debug, Clone, Copy)]
pub struct Stacked<'a> {
    /// The whole in words, for who cannot see it.
    pub label: &'a str,
    /// Its axis.
    pub axis: TimeAxis,
    /// What it shows.
    pub stacks: &'a [Stack],
    /// After the top number of the upper pane: `not met per minute`.
    pub unit: &'a str,
    /// The head of the lower pane.
    pub below: &'a str,
    /// Where something changed, and what.
    pub change: Option<(UnixNanos, &'a str)>,
}

impl fmt::Display for Stacked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = Escaped(self.label);
        f.write_str(r#"<figure class="c-bar plot" id="plot" role="group" aria-label="Outcomes over time; with script, arrows mark a stretch and Enter zooms to it">"#)?;
        write!(f, r#"<div role="img" aria-label="{label}">"#)?;
        self.upper(f)?;
        self.lower(f)?;
        write!(f, "</div>{}", self.axis)?;
        self.pick(f)?;
        f.write_str(r#"<p class="said sr" role="status"></p></figure>"#)
    }
}

impl Stacked<'_> {
    fn upper(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rungs = rungs(most(self.stacks, |stack| &stack.upper), &COUNTS);
        let top = rungs.last().copied().unwrap_or(1);
        f.write_str(r#"<svg class="tc1" aria-hidden="true"><line class="base" x1="0" x2="100%" y1="100%" y2="100%"/>"#)?;
        for rung in &rungs {
            let y = Percent::FULL.less(Percent::of(*rung, top));
            write!(
                f,
                r#"<line class="tick" x1="0" x2="100%" y1="{y}" y2="{y}"/>"#
            )?;
        }
        self.pane(top, |stack| &stack.upper, f)?;
        for rung in &rungs {
            let y = Percent::FULL.less(Percent::of(*rung, top));
            let unit = if *rung == top {
                format!(r#"<tspan class="k k30"> {}</tspan>"#, Escaped(self.unit))
            } else {
                String::new()
            };
            let number = number::sum(*rung);
            write!(
                f,
                r#"<text class="yl halo" x="2" y="{y}" dy="-4">{number}{unit}</text>"#
            )?;
        }
        if let Some((at, words)) = self.change {
            let x = self.axis.at(at);
            let (anchor, dx) = if x > Percent::hundredths(50) {
                ("end", -6)
            } else {
                ("start", 6)
            };
            write!(
                f,
                r#"<line class="chg" x1="{x}" x2="{x}" y1="-12" y2="100%"/><text class="chgt halo" x="{x}" dx="{dx}" y="-3" text-anchor="{anchor}">{}</text>"#,
                Escaped(words)
            )?;
        }
        f.write_str("</svg>")
    }

    fn lower(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top = most(self.stacks, |stack| &stack.lower).max(1);
        // The head has a line of its own over the highest bar.
        let room = top.saturating_add(top / 2);
        f.write_str(r#"<svg class="tc2" aria-hidden="true"><line class="base" x1="0" x2="100%" y1="100%" y2="100%"/>"#)?;
        self.pane(room, |stack| &stack.lower, f)?;
        if let Some((at, _)) = self.change {
            let x = self.axis.at(at);
            write!(
                f,
                r#"<line class="chg" x1="{x}" x2="{x}" y1="0" y2="100%"/>"#
            )?;
        }
        write!(
            f,
            r#"<text class="yl halo" x="2" y="9" dominant-baseline="central">{}</text></svg>"#,
            Escaped(self.below)
        )
    }

    fn pane(
        &self,
        top: u64,
        pieces: impl Fn(&Stack) -> &Vec<(StackLook, u64)>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        for stack in self.stacks {
            let (x, width) = self.axis.span(stack.since, stack.until);
            let (x, width) = (x.plus(width.scaled(8, 100)), width.scaled(84, 100));
            let mut below = 0_u64;
            for (look, count) in pieces(stack).iter().filter(|(_, count)| *count > 0) {
                let above = below.saturating_add(*count);
                let (low, high) = (Percent::of(below, top), Percent::of(above, top));
                below = above;
                let (y, tall, look) = (Percent::FULL.less(high), high.less(low), look.attributes());
                write!(
                    f,
                    r#"<rect {look} x="{x}" width="{width}" y="{y}" height="{tall}"/>"#
                )?;
            }
        }
        Ok(())
    }

    /// A link for each bucket, for the pointer; the keyboard has those of the table.
    fn pick(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="pick" aria-hidden="true">"#)?;
        for stack in self.stacks {
            let (x, width) = self.axis.span(stack.since, stack.until);
            let (href, label) = (Escaped(&stack.href), Escaped(&stack.label));
            write!(
                f,
                r#"<a href="{href}" tabindex="-1" data-label="{label}"><rect x="{x}" width="{width}" y="0" height="100%"/></a>"#
            )?;
        }
        f.write_str(r#"<rect class="mark" x="0" width="0" y="0" height="100%"/></svg>"#)
    }
}

/// The highest stack.
fn most(stacks: &[Stack], pieces: impl Fn(&Stack) -> &Vec<(StackLook, u64)>) -> u64 {
    let sum = |stack| {
        let counts = pieces(stack).iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    };
    stacks.iter().map(sum).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_on_each_other_and_each_bucket_is_a_link() {
        let minute = 60_000_000_000;
        let since = UnixNanos(1_791_364_500_000_000_000);
        let at = |n: u64| UnixNanos(since.0 + n * minute);
        let stack = |n: u64, expired, failed| Stack {
            since: at(n),
            until: at(n + 1),
            upper: vec![(StackLook::Expired, expired), (StackLook::Failed, failed)],
            lower: vec![(StackLook::Met, 300)],
            href: format!("/?since={n}&until=x"),
            label: format!("minute <{n}>"),
        };
        let stacks = [stack(0, 0, 0), stack(1, 50, 100)];
        let chart = Stacked {
            label: "two \"minutes\"",
            axis: TimeAxis {
                since,
                until: at(2),
            },
            stacks: &stacks,
            unit: "not met per minute",
            below: "all",
            change: Some((at(1), "misses rise")),
        };
        let svg = chart.to_string();
        for part in [
            r#"aria-label="two &quot;minutes&quot;""#,
            r#"<rect class="sk lh" fill="url(#h-after)" x="54%" width="42%" y="66.667%" height="33.333%"/>"#,
            r#"<rect class="sk fa" fill="url(#h-failed)" x="54%" width="42%" y="0%" height="66.667%"/>"#,
            r#">150<tspan class="k k30"> not met per minute</tspan></text>"#,
            r#"<a href="/?since=1&amp;until=x" tabindex="-1" data-label="minute &lt;1&gt;"><rect x="50%" width="50%""#,
            r#"<line class="chg" x1="50%" x2="50%""#,
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        // Nothing draws nothing.
        assert!(!svg.contains(r#"x="4%" width="42%" y="100%""#));
        let empty = Stacked {
            stacks: &[],
            ..chart
        };
        assert!(empty.to_string().contains("</figure>"));
    }
}
