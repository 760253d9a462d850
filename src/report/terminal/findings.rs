//! The findings, grouped by rule.

use crate::model::{Request, Severity};
use crate::query::findings::groups;
use crate::report::pen::{self, Ink, Pen};

/// Columns before the text of a finding: the severity and a blank.
const INDENT: usize = 6;

/// Draws the findings.
pub(super) fn draw(pen: &mut Pen, request: &Request) {
    let groups = groups(request);
    pen.write(Ink::Bold, "Findings");
    if groups.is_empty() {
        pen.write(Ink::Plain, "  none");
    }
    pen.end();
    for group in groups {
        let (word, ink) = match group.severity {
            Severity::Error => ("error", Ink::BoldRed),
            Severity::Warning => ("warn", Ink::Yellow),
            Severity::Info => ("info", Ink::Dim),
        };
        pen.column(ink, word, INDENT);
        let rule = match group.count {
            1 => group.rule.to_string(),
            count => pen.text(&format!("{} \u{d7}{count}", group.rule)),
        };
        pen.write(Ink::Bold, &rule);
        let place = pen.text(&group.place);
        let used = INDENT + rule.chars().count() + 2;
        if used + pen::width(&place) <= pen.look().width {
            pen.pad(2);
            pen.write(Ink::Plain, &place);
            pen.end();
        } else {
            pen.end();
            pen.paragraph(&group.place, INDENT, Ink::Plain);
        }
        if !group.evidence.is_empty() {
            pen.paragraph(&group.evidence.join(" "), INDENT, Ink::Plain);
        }
        if !group.hints.is_empty() {
            pen.paragraph(&format!("do: {}", group.hints.join(" ")), INDENT, Ink::Dim);
        }
    }
}
