//! Requests as comma-separated values (RFC 4180: a header, CR LF, quotes doubled).
//!
//! Names come from strangers and the file goes into spreadsheets: a cell of text that would be
//! taken for a formula begins with an apostrophe. Numbers stay numbers.

use crate::model::{Nanos, Rule};
use crate::query::requests::Listed;

const HEADER: [&str; 24] = [
    "start",
    "trace_id",
    "request",
    "service",
    "operation",
    "outcome",
    "budget_ms",
    "budget_how",
    "elapsed_ms",
    "wasted_ms",
    "surfaced_service",
    "surfaced_operation",
    "surfaced_verdict",
    "culprit_service",
    "culprit_operation",
    "culprit_part",
    "culprit_to",
    "culprit_consumed_ms",
    "culprit_share",
    "culprit_typical_ms",
    "findings",
    "spans",
    "complete",
    "revision",
];

/// The header, with its line end.
pub fn header() -> String {
    write(HEADER.iter().map(|name| (*name).to_owned()))
}

/// A request, with its line end. Unknown is empty.
pub fn record<'a, T: Into<Listed<'a>>>(request: T) -> String {
    let request: Listed<'a> = request.into();
    let time = |time: Option<Nanos>| time.map_or_else(String::new, number);
    let (surfaced, culprit) = (request.surfaced, request.culprit);
    let of_surfaced =
        |get: fn(&crate::model::Surfaced) -> String| surfaced.map_or_else(String::new, get);
    let of_culprit =
        |get: fn(&crate::model::Culprit) -> String| culprit.map_or_else(String::new, get);
    let rules = request.rules().into_iter();
    let rules: Vec<&str> = rules.map(Rule::as_str).collect();
    write([
        request.start.to_string(),
        request.trace_id.to_string(),
        request.request.to_string(),
        text(request.service),
        text(request.operation),
        request.outcome.as_str().to_owned(),
        time(request.budget),
        request.budget_source.how.as_str().to_owned(),
        number(request.elapsed),
        number(request.wasted),
        of_surfaced(|s| text(&s.service)),
        of_surfaced(|s| text(&s.operation)),
        of_surfaced(|s| s.verdict.as_str().to_owned()),
        of_culprit(|c| text(&c.service)),
        of_culprit(|c| text(&c.operation)),
        of_culprit(|c| c.part.as_str().to_owned()),
        of_culprit(|c| c.to.as_deref().map_or_else(String::new, text)),
        of_culprit(|c| number(c.consumed)),
        of_culprit(|c| {
            let Nanos(millionths) = Nanos(1_000_000).scaled(c.share.0.0, c.share.1.0);
            json_number(millionths as f64 / 1e6)
        }),
        time(culprit.and_then(|culprit| culprit.typical)),
        rules.join(" "),
        request.spans.to_string(),
        request.complete.to_string(),
        request.revision.to_string(),
    ])
}

/// Milliseconds as in JSON.
pub(super) fn number(time: Nanos) -> String {
    json_number(time.as_millis_f64())
}

fn json_number(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(String::new, |number| number.to_string())
}

/// A text from outside, harmless in a spreadsheet.
pub(super) fn text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

/// A record with its line end.
pub(super) fn write(cells: impl IntoIterator<Item = String>) -> String {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    // Writing to memory fails on records of unequal length only, and there is one.
    writer.write_record(cells).ok();
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::chain;

    #[test]
    fn a_record_has_a_cell_for_each_column() {
        let record = record(&chain());
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(record.as_bytes());
        let cells = reader.records().next().unwrap().unwrap();
        assert_eq!(cells.len(), HEADER.len());
        assert_eq!(&cells[0], "2026-10-07T09:15:00.000000000Z");
        assert_eq!(&cells[17], "497.0");
        assert_eq!(&cells[18], "0.497");
        assert!(record.ends_with("\r\n") && header().ends_with("revision\r\n"));
    }

    #[test]
    fn names_are_quoted_and_are_no_formulas() {
        let mut request = chain();
        request.service = "=HYPERLINK(\"http://x\",\"a\")".into();
        request.operation = "two\nlines, \"quoted\"".into();
        request.budget = Some(Nanos(-5_000_000));
        let record = record(&request);
        assert!(
            record.contains("\"'=HYPERLINK(\"\"http://x\"\",\"\"a\"\")\""),
            "{record}"
        );
        assert!(
            record.contains("\"two\nlines, \"\"quoted\"\"\""),
            "{record}"
        );
        assert!(record.contains(",-5.0,"), "{record}");
        for start in ["+1", "-1", "@x", "\tx", "\rx"] {
            assert!(text(start).starts_with('\''));
        }
    }
}
