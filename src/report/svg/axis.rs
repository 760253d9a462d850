//! The head of the time axis: round times and the flag of the deadline.

use std::fmt;

use super::Scale;
use super::scale::Percent;
use crate::model::Nanos;
use crate::report::number;

/// Ticks this near to the flag's line are dropped.
const CLEAR: Percent = Percent::hundredths(9);

/// A flag whose line is further left than this hangs to the right of it.
const TURN: Percent = Percent::hundredths(35);

/// The axis above the rows.
#[derive(Debug, Clone, Copy)]
pub struct AxisHead<'a> {
    /// The axis.
    pub scale: Scale,
    /// Its round times.
    pub ticks: &'a [Nanos],
    /// The request's deadline.
    pub deadline: Option<Nanos>,
}

impl fmt::Display for AxisHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="bars ax" aria-hidden="true">"#)?;
        let (near, far) = match self.deadline {
            Some(deadline) if self.scale.shows(deadline) => (Some(deadline), None),
            far => (None, far),
        };
        let flag = near.map(|deadline| (self.scale.at(deadline), deadline));
        let last = self.ticks.len().saturating_sub(1);
        for (i, tick) in self.ticks.iter().enumerate() {
            let x = self.scale.at(*tick);
            if flag.is_some_and(|(at, _)| at.less(x) < CLEAR && x.less(at) < CLEAR) {
                continue;
            }
            let anchor = if x == Percent::ZERO {
                "start"
            } else {
                "middle"
            };
            // Every second one goes where the bars are narrow.
            let class = if i % 2 == 1 { "tk2" } else { "tk" };
            let text = if i == last {
                number::ms_unit(*tick)
            } else {
                number::ms(*tick)
            };
            write!(
                f,
                r#"<text class="{class}" x="{x}" y="86%" text-anchor="{anchor}">{text}</text>"#
            )?;
        }
        if let Some((x, deadline)) = flag {
            let text = format!("deadline {}", number::ms_unit(deadline));
            // In tenths of an em: six and a half a character, six of air; fits wide faces too.
            let wide = text.chars().count() * 13 / 2 + 6;
            let (left, middle) = if x < TURN {
                ("-.1".to_owned(), tenths(wide / 2))
            } else {
                (
                    format!("-{}", tenths(wide)),
                    format!("-{}", tenths(wide / 2)),
                )
            };
            let width = tenths(wide + 1);
            write!(
                f,
                r#"<svg class="fl" x="{x}" y="0"><rect class="flag" x="{left}em" y=".2em" width="{width}em" height="1.65em"/><text class="flagt" x="{middle}em" y="1.03em" dy=".35em" text-anchor="middle">{text}</text></svg><line class="dl" x1="{x}" x2="{x}" y1=".5em" y2="100%"/>"#
            )?;
        }
        if let Some(deadline) = far {
            // The axis does not show it; an arrow says where it would be.
            let time = number::ms_unit(deadline);
            let text = format!("deadline {time} \u{2192}");
            let wide = text.chars().count() * 13 / 2 + 6;
            if self.scale.reaches(deadline) {
                write!(
                    f,
                    r#"<svg class="fl" x="0%" y="0"><rect class="flag" x="0" y=".2em" width="{width}em" height="1.65em"/><text class="flagt" x="{middle}em" y="1.03em" dy=".35em" text-anchor="middle">← deadline {time}</text></svg>"#,
                    width = tenths(wide),
                    middle = tenths(wide / 2),
                )?;
            } else {
                write!(
                    f,
                    r#"<svg class="fl" x="100%" y="0"><rect class="flag" x="-{width}em" y=".2em" width="{width}em" height="1.65em"/><text class="flagt" x="-{middle}em" y="1.03em" dy=".35em" text-anchor="middle">{text}</text></svg>"#,
                    width = tenths(wide),
                    middle = tenths(wide / 2),
                )?;
            }
        }
        f.write_str("</svg>")
    }
}

fn tenths(value: usize) -> String {
    format!("{}.{}", value / 10, value % 10)
}
