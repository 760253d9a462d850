//! Bars that stand in a table's row, and the shades of a table of counts.

use std::fmt;

use crate::model::{Nanos, Part, Verdict};
use crate::report::svg::{Percent, Scale};

/// Who held the clock over many requests: typical hollow, excess solid.
#[derive(Debug, Clone, Copy)]
pub struct RankBar {
    /// What it would have taken typically.
    pub typical: Option<Nanos>,
    /// What it held in all.
    pub held: Nanos,
    /// What the widest bar holds.
    pub most: Nanos,
    /// What the time went on; `None` for the rest of many.
    pub part: Option<Part>,
}

impl fmt::Display for RankBar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = Scale::new(self.most);
        let typical = self.typical.unwrap_or_default().min(self.held);
        f.write_str(r#"<svg class="rb" aria-hidden="true">"#)?;
        let look = match self.part {
            None => r#"class="rest""#,
            Some(Part::Local) => r#"class="own""#,
            Some(Part::Dependency) => r#"class="depd" fill="url(#h-dep)""#,
            Some(Part::Unreported) => r#"class="unrep" fill="url(#h-unrep)""#,
            Some(Part::TransitOut | Part::TransitBack) => {
                r#"class="transit" fill="url(#h-transit)""#
            }
            Some(Part::Backoff) => r#"class="backoff""#,
        };
        let (x, width) = scale.span(typical, self.held);
        if width > Percent::ZERO {
            write!(f, r#"<rect {look} x="{x}" width="{width}"/>"#)?;
        }
        let width = scale.at(typical);
        if width > Percent::ZERO {
            write!(f, r#"<rect class="typ" x="0" width="{width}"/>"#)?;
        }
        f.write_str("</svg>")
    }
}

/// Runs with a verdict.
#[derive(Debug, Clone, Copy)]
pub struct VerdictBar {
    /// The verdict.
    pub verdict: Verdict,
    /// Runs with it.
    pub runs: u64,
    /// Those of the most frequent but `ok`.
    pub most: u64,
}

impl fmt::Display for VerdictBar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="vb" aria-hidden="true">"#)?;
        let look = match self.verdict {
            // It would leave no room to the others.
            Verdict::Ok => None,
            Verdict::ExceededHere | Verdict::ExceededDownstream | Verdict::FinishedLate => {
                Some(r#"class="ls""#)
            }
            Verdict::ExpiredOnArrival | Verdict::ExpiredBeforeSend | Verdict::TimedOutEarly => {
                Some(r#"class="ha" fill="url(#h-after)""#)
            }
            Verdict::CancelledByCaller => Some(r#"class="ca" fill="url(#h-cancel)""#),
            Verdict::Failed => Some(r#"class="fa" fill="url(#h-failed)""#),
        };
        if let Some(look) = look {
            let width = Percent::of(self.runs, self.most);
            write!(f, r#"<rect {look} x="0" width="{width}"/>"#)?;
        }
        f.write_str("</svg>")
    }
}

/// How deadlines were passed on: solid, not: dashed, more than there was: over the end.
#[derive(Debug, Clone, Copy)]
pub struct CoverageBar {
    /// Passed on, and no more than there was.
    pub propagated: u64,
    /// Not passed on.
    pub not_propagated: u64,
    /// Passed on, but more than there was.
    pub reset: u64,
    /// What the whole width is.
    pub whole: u64,
}

impl fmt::Display for CoverageBar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="cv" aria-hidden="true">"#)?;
        let mut at = 0_u64;
        for (class, count) in [
            ("pr", self.propagated),
            ("rs", self.reset),
            ("np", self.not_propagated),
        ] {
            let end = at.saturating_add(count);
            let (x, to) = (Percent::of(at, self.whole), Percent::of(end, self.whole));
            at = end;
            if count > 0 {
                let width = to.less(x);
                write!(f, r#"<rect class="{class}" x="{x}" width="{width}"/>"#)?;
            }
        }
        f.write_str("</svg>")
    }
}

/// The shade of a count among `all`: none, and four steps to the strongest.
pub fn heat(count: u64, all: u64) -> &'static str {
    let count = u128::from(count);
    let reaches = |thousandths: u128| count * 1000 >= u128::from(all) * thousandths;
    match count {
        0 => "m0",
        _ if reaches(200) => "m4",
        _ if reaches(25) => "m3",
        _ if reaches(5) => "m2",
        _ => "m1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typical_is_hollow_and_excess_follows_it() {
        let ms = Nanos::from_millis;
        let bar = RankBar {
            typical: Some(ms(51)),
            held: ms(612),
            most: ms(2126),
            part: Some(Part::Local),
        };
        assert_eq!(
            bar.to_string(),
            r#"<svg class="rb" aria-hidden="true"><rect class="own" x="2.399%" width="26.387%"/><rect class="typ" x="0" width="2.399%"/></svg>"#
        );
        let less = RankBar {
            typical: Some(ms(900)),
            ..bar
        };
        assert!(!less.to_string().contains("own"));
    }

    #[test]
    fn shades_are_by_share_of_all() {
        let shades = [0, 9, 52, 88, 1512].map(|count| heat(count, 3214));
        assert_eq!(shades, ["m0", "m1", "m2", "m3", "m4"]);
        assert_eq!(heat(0, 0), "m0");
    }

    #[test]
    fn ways_of_passing_a_deadline_on_follow_each_other() {
        let bar = CoverageBar {
            propagated: 50,
            not_propagated: 25,
            reset: 25,
            whole: 100,
        };
        assert_eq!(
            bar.to_string(),
            r#"<svg class="cv" aria-hidden="true"><rect class="pr" x="0%" width="50%"/><rect class="rs" x="50%" width="25%"/><rect class="np" x="75%" width="25%"/></svg>"#
        );
        let verdict = VerdictBar {
            verdict: Verdict::Ok,
            runs: 5,
            most: 5,
        };
        assert!(!verdict.to_string().contains("rect"));
    }
}
