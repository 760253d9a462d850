//! Small series without axes, on a scale from nothing to their largest.

use std::fmt;

use crate::report::svg::Percent;

/// A series; what is not known leaves a gap.
#[derive(Debug, Clone, Copy)]
pub struct Spark<'a> {
    /// Its values, in order of time.
    pub values: &'a [Option<u64>],
    /// Bars in the colour of what comes too late, instead of a line.
    pub late: bool,
    /// Stands in a table's row.
    pub in_row: bool,
    /// What its height stands for, if not the largest of its values.
    pub top: Option<u64>,
}

impl fmt::Display for Spark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.values.iter().flatten().copied().max().unwrap_or(0);
        let most = self.top.unwrap_or(most);
        let row = if self.in_row { " in-row" } else { "" };
        if self.late {
            return self.bars(most, row, f);
        }
        let wide = self.values.len().saturating_mul(2).max(2);
        write!(
            f,
            r#"<svg class="spark{row}" viewBox="0 0 {wide} 100" preserveAspectRatio="none" aria-hidden="true">"#
        )?;
        for run in runs(self.values) {
            f.write_str(r#"<polyline class="sl" points=""#)?;
            for (index, value) in &run {
                let y = height(*value, most);
                let x = index * 2 + 1;
                write!(f, "{x},{y} ")?;
                // A lone value is a short line.
                if run.len() == 1 {
                    write!(f, "{},{y} ", x + 1)?;
                }
            }
            f.write_str(r#""/>"#)?;
        }
        f.write_str("</svg>")
    }
}

impl Spark<'_> {
    fn bars(&self, most: u64, row: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"<svg class="spark late{row}" aria-hidden="true">"#)?;
        let count = u64::try_from(self.values.len()).unwrap_or(u64::MAX);
        for (index, value) in (0..).zip(self.values) {
            let Some(value) = value.filter(|value| *value > 0) else {
                continue;
            };
            let (from, to) = (Percent::of(index, count), Percent::of(index + 1, count));
            let width = to.less(from).scaled(75, 100);
            let tall = Percent::of(value, most);
            let y = Percent::FULL.less(tall);
            write!(
                f,
                r#"<rect x="{from}" width="{width}" y="{y}" height="{tall}"/>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

/// Neighbouring known values, each with its index.
fn runs(values: &[Option<u64>]) -> Vec<Vec<(usize, u64)>> {
    let mut runs: Vec<Vec<(usize, u64)>> = Vec::new();
    let mut open = false;
    for (index, value) in values.iter().enumerate() {
        match (value, runs.last_mut()) {
            (Some(value), Some(run)) if open => run.push((index, *value)),
            (Some(value), _) => runs.push(vec![(index, *value)]),
            (None, _) => {}
        }
        open = value.is_some();
    }
    runs
}

/// From the top, in hundredths of the height with one decimal; a hair below the edge.
fn height(value: u64, most: u64) -> String {
    super::lines::from_top(u128::from(value), u128::from(most.max(1)), 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_part_the_line_and_zero_is_at_the_bottom() {
        let values = [Some(0), Some(10), None, Some(5)];
        let spark = Spark {
            values: &values,
            late: false,
            in_row: false,
            top: None,
        };
        let svg = spark.to_string();
        assert!(svg.contains(r#"viewBox="0 0 8 100""#), "{svg}");
        assert!(svg.contains(r#"points="1,100 3,4 ""#), "{svg}");
        assert!(svg.contains(r#"points="7,52 8,52 ""#), "{svg}");
    }

    #[test]
    fn bars_are_of_the_largest_and_nothing_is_no_bar() {
        let values = [Some(0), Some(10), None, Some(5)];
        let spark = Spark {
            values: &values,
            late: true,
            in_row: true,
            top: None,
        };
        assert_eq!(
            spark.to_string(),
            r#"<svg class="spark late in-row" aria-hidden="true"><rect x="25%" width="18.75%" y="0%" height="100%"/><rect x="75%" width="18.75%" y="50%" height="50%"/></svg>"#
        );
    }
}
