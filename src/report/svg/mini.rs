//! One request in a list: budget over elapsed time, the deadline at two thirds in every row.

use std::fmt;

use super::scale::Percent;
use crate::model::Part;
use crate::query::minibar;

/// The bar, up to 150 % of the budget.
#[derive(Debug, Clone, Copy)]
pub struct MiniBar {
    /// Its stretches.
    pub bar: minibar::MiniBar,
    /// What kind of time the largest part is, for its texture.
    pub part: Part,
}

impl fmt::Display for MiniBar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bar = self.bar;
        f.write_str(r#"<svg class="mini" aria-hidden="true">"#)?;
        let line = bar.expected.map(Percent::thousandths);
        if let Some(line) = line {
            let after = Percent::FULL.less(line);
            write!(
                f,
                r#"<rect class="after" x="{line}" width="{after}" height="100%"/><rect class="exp" x="0" width="{line}"/>"#
            )?;
        }
        let spent = Percent::thousandths(bar.largest + bar.rest);
        write!(f, r#"<rect class="mo" x="0" width="{spent}"/>"#)?;
        let look = match self.part {
            Part::Local => r#"class="mc""#,
            Part::Dependency => r#"class="mc depd" fill="url(#h-dep)""#,
            Part::Unreported => r#"class="mc unrep" fill="url(#h-unrep)""#,
            Part::TransitOut | Part::TransitBack | Part::Backoff => {
                r#"class="mc transit" fill="url(#h-transit)""#
            }
        };
        let largest = Percent::thousandths(bar.largest);
        write!(f, r#"<rect {look} x="0" width="{largest}"/>"#)?;
        if bar.late > 0 {
            let late = Percent::thousandths(bar.late);
            write!(
                f,
                r#"<rect class="ml" x="{spent}" width="{late}" fill="url(#h-after)"/>"#
            )?;
        }
        if bar.torn {
            f.write_str(r#"<svg x="100%" y="57%"><path class="clip" d="M-7-7-2 0-7 7"/></svg>"#)?;
        }
        if let Some(line) = line {
            write!(
                f,
                r#"<line class="dl" x1="{line}" x2="{line}" y1="0" y2="100%"/>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nanos;

    fn bar(elapsed: i64) -> String {
        let ms = Nanos::from_millis;
        let bar = minibar::mini_bar(ms(elapsed), Some(ms(1000)), ms(497), true);
        MiniBar {
            bar,
            part: Part::Dependency,
        }
        .to_string()
    }

    #[test]
    fn the_deadline_is_at_two_thirds_and_the_late_part_right_of_it() {
        let late = bar(1469);
        assert!(late.contains(r#"<rect class="mo" x="0" width="66.667%"/>"#));
        assert!(late.contains(r#"class="mc depd" fill="url(#h-dep)" x="0" width="33.133%"/>"#));
        assert!(late.contains(r#"<rect class="ml" x="66.667%" width="31.266%""#));
        assert!(!late.contains("clip"));
        assert!(bar(4010).contains(r#"class="clip""#));
        assert!(!bar(900).contains(r#"class="ml""#));
    }
}
