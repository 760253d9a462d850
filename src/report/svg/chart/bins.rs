//! What was left on arrival, as a histogram over what became of it.

use std::fmt;

use crate::model::Nanos;
use crate::query::fleet::services::Bin;
use crate::report::number;
use crate::report::svg::{Escaped, Percent};

/// The histogram.
#[derive(Debug, Clone, Copy)]
pub struct Bins<'a> {
    /// The whole in words, for who cannot see it.
    pub label: &'a str,
    /// What it shows; the bounds rise.
    pub bins: &'a [Bin],
    /// Below it nothing can succeed.
    pub min_useful: Nanos,
    /// Below it an arrival is starved.
    pub typical: Option<Nanos>,
}

/// The most bins that are named.
const NAMED: usize = 9;

/// Thousandths of a decade below one arrival, so that one can be seen.
const FOOT: u64 = 300;

impl fmt::Display for Bins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = Escaped(self.label);
        write!(
            f,
            r#"<figure class="c-bar hf" role="img" aria-label="{label}"><p class="yl2">arrivals, log count</p>"#
        )?;
        self.counts(f)?;
        self.names(f)?;
        f.write_str(r#"<p class="yl2">of these, answered in time</p>"#)?;
        self.in_time(f)?;
        f.write_str("</figure>")
    }
}

impl Bins<'_> {
    fn counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.bins.iter().map(|bin| bin.arrivals).max().unwrap_or(0);
        let decades = u64::from(most.max(1).ilog10()) + 1;
        let top = decades * 1000 + FOOT;
        f.write_str(r#"<svg class="h2" aria-hidden="true">"#)?;
        let (zero, useful) = (self.at(Nanos::ZERO), self.at(self.min_useful));
        write!(
            f,
            r#"<rect class="after" x="0" width="{zero}" y="0" height="100%"/>"#
        )?;
        let width = useful.less(zero);
        write!(
            f,
            r#"<rect x="{zero}" width="{width}" y="0" height="100%" fill="url(#h-mu)"/>"#
        )?;
        for decade in 1..=decades {
            let y = Percent::FULL.less(Percent::of(decade * 1000 + FOOT, top));
            let name = ["10", "100", "1k", "10k", "100k", "1M", "10M", "100M"];
            let name = usize::try_from(decade - 1).ok().and_then(|i| name.get(i));
            let name = name.copied().unwrap_or_default();
            write!(
                f,
                r#"<line class="tick" x1="0" x2="100%" y1="{y}" y2="{y}"/><text class="yl" x="100%" dx="5" y="{y}" dy="3.5">{name}</text>"#
            )?;
        }
        f.write_str(r#"<line class="base" x1="0" x2="100%" y1="100%" y2="100%"/>"#)?;
        for (index, bin) in self.bins.iter().enumerate() {
            if bin.arrivals == 0 {
                continue;
            }
            let (x, width) = self.bar(index);
            let tall = Percent::of(log(bin.arrivals) + FOOT, top);
            let y = Percent::FULL.less(tall);
            let middle = x.middle(width);
            let class = self.label_class(number::sum(bin.arrivals).chars().count());
            write!(
                f,
                r#"<rect class="hok" x="{x}" width="{width}" y="{y}" height="{tall}"/><text class="yl v halo {class}" x="{middle}" y="{y}" dy="-5" text-anchor="middle">{}</text>"#,
                number::sum(bin.arrivals)
            )?;
        }
        self.marks(useful, f)?;
        f.write_str("</svg>")
    }

    /// The line of min useful, and that of the typical run.
    fn marks(&self, useful: Percent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            r#"<line class="dl" x1="{useful}" x2="{useful}" y1="0" y2="100%"/><text class="mt1 halo" x="{useful}" dx="6" y="9" dominant-baseline="central">min useful {}</text>"#,
            number::ms_unit(self.min_useful)
        )?;
        if let Some(typical) = self.typical {
            let x = self.at(typical);
            let (anchor, dx) = if x > Percent::hundredths(60) {
                ("end", -6)
            } else {
                ("start", 6)
            };
            write!(
                f,
                r#"<line class="chg" x1="{x}" x2="{x}" y1="18%" y2="100%"/><text class="yl halo" x="{x}" dx="{dx}" y="18%" dy="6" text-anchor="{anchor}">typical run {}<tspan class="k k30">: less is starved</tspan></text>"#,
                number::ms_unit(typical)
            )?;
        }
        Ok(())
    }

    fn names(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="tc3" aria-hidden="true">"#)?;
        // Of many bins only some have room for their bounds.
        let every = self.bins.len().div_ceil(NAMED).max(1);
        for (index, bin) in self.bins.iter().enumerate().step_by(every) {
            let (x, width) = self.bar(index);
            let middle = x.middle(width);
            let name = bin_words(bin);
            // In narrow charts every second of these goes.
            let needed = match (index / every) % 2 {
                0 => name.chars().count() / 2,
                _ => name.chars().count(),
            };
            let class = self.label_class(needed / every);
            write!(
                f,
                r#"<text class="yl {class}" x="{middle}" y="12" text-anchor="middle">{}</text>"#,
                Escaped(&name)
            )?;
        }
        f.write_str("</svg>")
    }

    fn in_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="h3" aria-hidden="true">"#)?;
        for (index, bin) in self.bins.iter().enumerate() {
            if bin.arrivals == 0 {
                continue;
            }
            let (x, width) = self.bar(index);
            let good = Percent::of(bin.in_time, bin.arrivals);
            let bad = Percent::FULL.less(good);
            write!(
                f,
                r#"<rect class="sok" x="{x}" width="{width}" y="{bad}" height="{good}"/>"#
            )?;
            if bad > Percent::ZERO {
                write!(
                    f,
                    r#"<rect class="hno" x="{x}" width="{width}" y="0" height="{bad}" fill="url(#h-after)"/>"#
                )?;
            }
            let (middle, class) = (x.middle(width), self.label_class(5));
            write!(
                f,
                r#"<text class="pl2 {class}" x="{middle}" y="50%" text-anchor="middle" dominant-baseline="central">{}</text>"#,
                number::share(bin.in_time, bin.arrivals, 0)
            )?;
        }
        let useful = self.at(self.min_useful);
        write!(
            f,
            r#"<line class="dl" x1="{useful}" x2="{useful}" y1="0" y2="100%"/></svg>"#
        )
    }

    /// From where a bin's bar goes, and how wide it is.
    fn bar(&self, index: usize) -> (Percent, Percent) {
        let place = |n: usize| Percent::of(n as u64, self.bins.len() as u64);
        let width = place(index + 1).less(place(index));
        (
            place(index).plus(width.scaled(6, 100)),
            width.scaled(88, 100),
        )
    }

    fn label_class(&self, characters: usize) -> &'static str {
        let width = Percent::of(1, self.bins.len() as u64);
        width.label_class(characters).unwrap_or("k")
    }

    /// Where a time lies: within its bin in proportion, beyond all bins at the end.
    fn at(&self, time: Nanos) -> Percent {
        let place = |n: usize| Percent::of(n as u64, self.bins.len() as u64);
        for (index, bin) in self.bins.iter().enumerate() {
            if bin.to.is_some_and(|to| to <= time) {
                continue;
            }
            let within = match (bin.from, bin.to) {
                (Some(from), _) if time <= from => Percent::ZERO,
                (Some(from), Some(to)) => {
                    let part = (time - from).0.unsigned_abs();
                    let width = place(index + 1).less(place(index));
                    let share = Percent::of(part, (to - from).0.unsigned_abs());
                    width.scaled(share.hundredth(), 100)
                }
                _ => Percent::ZERO,
            };
            return place(index).plus(within);
        }
        Percent::FULL
    }
}

/// The bounds of a bin: `< 0`, `20–50`, `≥ 1,000`.
pub fn bin_words(bin: &Bin) -> String {
    match (bin.from, bin.to) {
        (None, Some(to)) => format!("< {}", number::ms(to)),
        (Some(from), Some(to)) => format!("{}\u{2013}{}", number::ms(from), number::ms(to)),
        (Some(from), None) => format!("\u{2265} {}", number::ms(from)),
        (None, None) => "any".to_owned(),
    }
}

/// The decimal logarithm in thousandths; of nothing nothing.
fn log(count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    ((count as f64).log10() * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins() -> Vec<Bin> {
        let ms = |ms: i64| Some(Nanos::from_millis(ms));
        let bin = |from, to, arrivals, in_time| Bin {
            from,
            to,
            arrivals,
            in_time,
        };
        vec![
            bin(None, ms(0), 118, 0),
            bin(ms(0), ms(20), 214, 0),
            bin(ms(20), ms(60), 0, 0),
            bin(ms(60), None, 1000, 900),
        ]
    }

    #[test]
    fn times_lie_in_their_bins() {
        let bins = bins();
        let chart = Bins {
            label: "left",
            bins: &bins,
            min_useful: Nanos::from_millis(20),
            typical: Some(Nanos::from_millis(40)),
        };
        let at = |ms| chart.at(Nanos::from_millis(ms)).to_string();
        assert_eq!((at(0), at(10)), ("25%".into(), "37.5%".into()));
        assert_eq!((at(20), at(40)), ("50%".into(), "62.5%".into()));
        assert_eq!((at(-90), at(99_999)), ("0%".into(), "75%".into()));
        let svg = chart.to_string();
        for part in [
            "min useful 20\u{a0}ms",
            "typical run 40\u{a0}ms",
            ">&lt; 0</text>",
            ">\u{2265} 60</text>",
            ">1,000</text>",
            ">90\u{a0}%</text>",
            r#"<rect x="25%" width="25%" y="0" height="100%" fill="url(#h-mu)"/>"#,
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        // The empty bin has no bar and no share.
        assert_eq!(svg.matches(r#"class="hok""#).count(), 3);
        let none = Bins { bins: &[], ..chart };
        assert!(none.to_string().contains("</figure>"));
    }

    #[test]
    fn the_scale_is_logarithmic_and_one_can_be_seen() {
        assert_eq!((log(0), log(1), log(10), log(1000)), (0, 0, 1000, 3000));
        assert_eq!(log(118), 2072);
    }
}
