//! Elapsed against budget as a histogram: logarithmic counts, the deadline as the line.

use std::fmt;

use super::escape::Escaped;
use super::scale::Percent;
use crate::query::requests::{BIN, BINS, Tally, Used};
use crate::report::number;

/// The budget's end, in bins.
const BUDGET: usize = (100 / BIN) as usize;

/// The histogram; what the list takes is drawn over what there is.
#[derive(Debug)]
pub struct UsedBars<'a> {
    /// The counts.
    pub used: &'a Used,
    /// The address of each bin's requests.
    pub links: &'a [String],
}

impl fmt::Display for UsedBars<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bins = &self.used.bins;
        let largest = bins.iter().map(|bin| bin.tally.all).max().unwrap_or(0);
        let scale = Log::up_to(largest);
        f.write_str(r#"<svg class="h1" aria-hidden="true">"#)?;
        let line = x(BUDGET);
        write!(
            f,
            r#"<rect class="after" x="{line}" width="{}" y="0" height="100%"/><line class="base" x1="0" x2="100%" y1="100%" y2="100%"/>"#,
            Percent::FULL.less(line)
        )?;
        for decade in 1..scale.decades {
            let y = Percent::FULL.less(scale.height(10_u64.pow(decade)));
            let text = decade_words(decade);
            write!(
                f,
                r#"<line class="tick" x1="0" x2="100%" y1="{y}" y2="{y}"/><text class="yl" x="100%" dx="5" y="{y}" dy="3.5">{text}</text>"#
            )?;
        }
        for (number, bin) in bins.iter().enumerate() {
            let late = if number < BUDGET { "" } else { " lt" };
            let fill = if number < BUDGET {
                ""
            } else {
                r#" fill="url(#h-after)""#
            };
            if bin.tally.all > bin.tally.matching {
                let class = format!("hb out{}", if number < BUDGET { "" } else { " lq" });
                bar(f, number, scale.height(bin.tally.all), &class, "")?;
            }
            if bin.tally.matching > 0 {
                let height = scale.height(bin.tally.matching);
                bar(f, number, height, &format!("hb{late}"), fill)?;
            }
        }
        write!(
            f,
            r#"<line class="dl" x1="{line}" x2="{line}" y1="0" y2="100%"/>"#
        )?;
        if let Some((first, last)) = self.selected() {
            let (from, to) = (x(first), x(last + 1));
            write!(
                f,
                r#"<rect class="sel" x="{from}" width="{}" y="0" height="100%"/>"#,
                to.less(from)
            )?;
        }
        // For the mouse; the table beneath has the same links for everybody.
        for (number, (bin, href)) in bins.iter().zip(self.links).enumerate() {
            if bin.tally.all == 0 {
                continue;
            }
            let (from, to) = (x(number), x(number + 1));
            write!(
                f,
                r#"<a href="{}" tabindex="-1"><rect class="hit" x="{from}" width="{}" y="0" height="100%"/></a>"#,
                Escaped(href),
                to.less(from)
            )?;
        }
        f.write_str(r#"</svg><svg class="tc3" aria-hidden="true">"#)?;
        for quarter in 0..=BINS / 5 {
            let bin = quarter * 5;
            let class = if quarter % 2 == 1 { "yl tk2" } else { "yl" };
            let (anchor, more) = match quarter {
                0 => ("start", ""),
                _ if bin == BINS => ("end", r#"<tspan class="k k30"> and more</tspan>"#),
                _ => ("middle", ""),
            };
            let (percent, nbsp) = (bin * BIN as usize, number::NBSP);
            write!(
                f,
                r#"<text class="{class}" x="{}" y="11" text-anchor="{anchor}">{percent}{nbsp}%{more}</text>"#,
                x(bin)
            )?;
        }
        f.write_str("</svg>")
    }
}

impl UsedBars<'_> {
    /// The first and the last bin of which the list takes some, if it leaves others out.
    fn selected(&self) -> Option<(usize, usize)> {
        let bins = &self.used.bins;
        let takes_all = bins.iter().all(|bin| bin.tally.all == bin.tally.matching);
        let taken = |bin: &crate::query::requests::Bin| bin.tally.matching > 0;
        let first = bins.iter().position(taken)?;
        let last = bins.iter().rposition(taken)?;
        (!takes_all).then_some((first, last))
    }
}

/// What the picture says, in words.
pub fn used_words(used: &Used) -> String {
    let of = |tally: Tally| {
        if used.is_counted {
            tally.matching
        } else {
            tally.all
        }
    };
    let late = used.bins.iter().skip(BUDGET).map(|bin| of(bin.tally));
    let late = usize::try_from(late.sum::<u64>()).unwrap_or(usize::MAX);
    let all = usize::try_from(of(used.total())).unwrap_or(usize::MAX);
    format!(
        "Elapsed against budget, logarithmic counts: of {}, {} took all of it or more.",
        number::counted(all, "request with a budget", "requests with a budget"),
        number::count(late)
    )
}

fn bar(
    f: &mut fmt::Formatter<'_>,
    number: usize,
    height: Percent,
    class: &str,
    fill: &str,
) -> fmt::Result {
    // A tenth of the bin is air, half of it on each side.
    let bin = x(1).less(Percent::ZERO);
    let air = bin.scaled(6, 100);
    let width = bin.less(air).less(air);
    let y = Percent::FULL.less(height);
    write!(
        f,
        r#"<rect class="{class}" x="{}" width="{width}" y="{y}" height="{height}"{fill}/>"#,
        x(number).plus(air)
    )
}

/// Where a bin begins.
fn x(bin: usize) -> Percent {
    Percent::FULL.scaled(bin as i64, BINS as i64)
}

fn decade_words(decade: u32) -> String {
    match decade {
        0..=2 => 10_u64.pow(decade).to_string(),
        3..=5 => format!("{}k", 10_u64.pow(decade - 3)),
        _ => format!("{}M", 10_u64.pow(decade - 6)),
    }
}

/// A logarithmic axis of counts: one is a little off the ground, nothing is on it.
#[derive(Debug, Clone, Copy)]
struct Log {
    /// Powers of ten up to the top.
    decades: u32,
}

impl Log {
    fn up_to(largest: u64) -> Self {
        let digits = largest.max(1).ilog10() + 1;
        Self {
            decades: digits.clamp(2, 19),
        }
    }

    /// Of the whole height: 1 stands at a twentieth, each further decade an equal part above.
    fn height(self, count: u64) -> Percent {
        if count == 0 {
            return Percent::ZERO;
        }
        let share = 0.05 + 0.95 * (count as f64).log10() / f64::from(self.decades);
        Percent::thousandths((share.min(1.0) * 100_000.0).round() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::requests::Bin;

    fn used(counts: &[(usize, u64, u64)]) -> Used {
        let tally = |number| {
            let of = counts.iter().find(|(bin, ..)| *bin == number);
            of.map_or(Tally::default(), |(_, all, matching)| Tally {
                all: *all,
                matching: *matching,
            })
        };
        Used {
            bins: (0..BINS)
                .map(|number| Bin {
                    from: number as u32 * BIN,
                    to: Some((number as u32 + 1) * BIN),
                    tally: tally(number),
                })
                .collect(),
            unknown: Tally::default(),
            is_counted: true,
        }
    }

    #[test]
    fn late_bars_are_hatched_and_the_line_is_where_the_budget_ends() {
        let used = used(&[(3, 100, 100), (20, 10, 10)]);
        let svg = UsedBars {
            used: &used,
            links: &[],
        }
        .to_string();
        assert!(svg.contains(r#"<line class="dl" x1="66.667%""#), "{svg}");
        assert_eq!(svg.matches(r#"class="hb lt""#).count(), 1);
        assert!(svg.contains(r#"<rect class="hb" x="10.2%""#), "{svg}");
        assert!(!svg.contains(r#"class="sel""#));
        assert!(used_words(&used).contains("10 took all of it"));
    }

    #[test]
    fn a_filter_is_framed_over_what_there_is() {
        let used = used(&[(3, 100, 0), (16, 20, 5), (20, 10, 10)]);
        let svg = UsedBars {
            used: &used,
            links: &[],
        }
        .to_string();
        assert!(
            svg.contains(r#"<rect class="sel" x="53.333%" width="16.667%""#),
            "{svg}"
        );
        assert_eq!(svg.matches(r#"class="hb out""#).count(), 2);
    }

    #[test]
    fn counts_of_any_size_stay_in_the_picture() {
        for largest in [0, 1, 9, 10, 999, 1000, 123_456_789, u64::MAX] {
            let scale = Log::up_to(largest);
            assert!(scale.height(largest) <= Percent::FULL);
            assert!(largest == 0 || scale.height(1) > Percent::ZERO);
            assert_eq!(scale.height(0), Percent::ZERO);
        }
    }
}
