//! The log of the files: a table with a row per file, and what its uniform answers say.

use std::path::{Path, PathBuf};

use super::check::Check;

/// A row of the log.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) path: PathBuf,
    /// The file, as the log names it.
    pub(super) name: String,
    /// Records and distinct traces, where the log counts them.
    pub(super) counts: Option<(u64, u64)>,
    /// What is special about the file.
    pub(super) special: String,
    /// What a correct reader answers.
    pub(super) answer: String,
}

/// Every row of the log.
pub(super) fn rows(corpus: &Path) -> Vec<Row> {
    let folder = corpus.join("traces");
    let log = std::fs::read_to_string(folder.join("LOG.md")).unwrap();
    let rows: Vec<Row> = log
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, _, _, _, counts, special, answer @ ..] = &cells[..] else {
                return None;
            };
            name.split_once('/')?;
            let number = |text: &str| text.trim().parse().ok();
            Some(Row {
                path: folder.join(name),
                name: (*name).to_owned(),
                counts: counts
                    .split_once('/')
                    .and_then(|(records, traces)| Some((number(records)?, number(traces)?))),
                special: (*special).to_owned(),
                answer: answer.join(" | "),
            })
        })
        .collect();
    assert_eq!(rows.len(), 149, "rows of the log");
    rows
}

impl Row {
    /// What the row says in uniform words; prose has none of them.
    pub(super) fn said(&self) -> Vec<Check> {
        let mut said = Vec::new();
        // Clauses end in `; `, or in `, ` before the next one.
        for clause in self.answer.split("; ") {
            if let Some(rest) = clause.strip_prefix("root ") {
                let names = rest.split_once(" / ");
                said.extend(names.map(|(s, o)| Check::Root(s.to_owned(), o.to_owned())));
                continue;
            }
            if let Some(rest) = clause.strip_prefix("longest trace ") {
                let (longest, critical) = rest.split_once(" ms").unwrap();
                said.push(Check::Longest(longest.parse().unwrap()));
                said.extend(
                    critical
                        .strip_prefix(", most critical-path time: ")
                        .map(whose),
                );
                continue;
            }
            for part in clause.split(", ") {
                let mut words = part.split(' ');
                let (Some(number), Some(unit)) = (words.next(), words.next()) else {
                    continue;
                };
                if let Some(names) = part.strip_prefix("deepest ") {
                    let (s, o) = names.split_once(" / ").unwrap();
                    said.push(Check::DeepestError(s.to_owned(), o.to_owned()));
                }
                let Ok(number) = number.parse() else { continue };
                match (unit, words.next()) {
                    ("trace" | "traces" | "trace(s)", None) => said.push(Check::Traces(number)),
                    ("span" | "spans", None) => said.push(Check::Spans(number as u64)),
                    ("services" | "service(s)", _) => said.push(Check::Services(number)),
                    ("error", Some("span(s)" | "span")) | ("errors", None) => {
                        said.push(Check::Errors(number));
                    }
                    ("orphan" | "orphans", None) => said.push(Check::Orphans(number)),
                    _ => {}
                }
            }
        }
        said.extend(self.noted());
        if let Some((records, traces)) = self.counts {
            said.push(Check::Spans(records));
            said.push(Check::Traces(usize::try_from(traces).unwrap()));
        }
        said.sort_by_key(|check| format!("{check:?}"));
        said.dedup();
        said
    }

    /// What the notes in brackets count.
    fn noted(&self) -> Vec<Check> {
        let notes = self.special.rsplit_once('[').map_or("", |(_, notes)| notes);
        let notes = notes.trim_end_matches(']').split([';', ',']);
        notes
            .filter_map(|note| {
                let (number, what) = note.trim().split_once(' ')?;
                let number = number.parse().ok()?;
                match what {
                    "orphans" => Some(Check::Orphans(number)),
                    "repeated span ids" => Some(Check::Repeated(number)),
                    _ => None,
                }
            })
            .collect()
    }
}

/// `SERVICE / OPERATION 12.5 ms`.
fn whose(text: &str) -> Check {
    let (names, time) = text.trim_end_matches(" ms").rsplit_once(' ').unwrap();
    let (service, operation) = names.split_once(" / ").unwrap();
    Check::Critical(
        service.to_owned(),
        operation.to_owned(),
        time.parse().unwrap(),
    )
}
