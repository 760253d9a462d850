//! Real files: each is read as their log says, or refused with words that help.
//!
//! `traces/LOG.md` is the expectation: a table with a row per file. Nothing of it is repeated
//! here but how to read a row.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dwindle::files::{Input, Loaded, load};
use dwindle::otlp::Limits;

use crate::support::corpus;

/// A row of the log.
struct Row {
    path: PathBuf,
    /// The file, as the log names it.
    name: String,
    folder: String,
    /// Records and distinct traces, where the log counts them.
    counts: Option<(u64, u64)>,
    /// The column that is no count.
    uncounted: String,
    special: String,
    answer: String,
}

impl Row {
    fn is_otlp(&self) -> bool {
        match self.folder.as_str() {
            "otlp" | "otlp-lines" | "otlp-pb" | "tempo" => true,
            "nezha" => self.name.contains(".otlp.") || self.is_jaeger(),
            _ => self.is_jaeger(),
        }
    }

    fn is_jaeger(&self) -> bool {
        self.folder.starts_with("jaeger")
            || self.name.contains("jaeger") && self.folder != "invalid"
    }

    fn load(&self) -> Loaded {
        let input = [Input::Path(self.path.clone())];
        load(&input, &Limits::default(), &mut |_, _| {})
    }
}

fn rows(corpus: &Path) -> Vec<Row> {
    let log = std::fs::read_to_string(corpus.join("traces/LOG.md")).unwrap();
    let rows: Vec<Row> = log
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, _, _, _, counts, special, answer @ ..] = &cells[..] else {
                return None;
            };
            let (folder, _) = name.split_once('/')?;
            let number = |text: &str| text.trim().parse().ok();
            Some(Row {
                path: corpus.join("traces").join(name),
                name: (*name).to_owned(),
                folder: folder.to_owned(),
                counts: counts
                    .split_once('/')
                    .and_then(|(records, traces)| Some((number(records)?, number(traces)?))),
                uncounted: (*counts).to_owned(),
                special: (*special).to_owned(),
                answer: answer.join(" | "),
            })
        })
        .collect();
    assert!(rows.len() > 100, "the log has {} rows", rows.len());
    rows
}

/// `N spans in M traces`, as an answer may say.
fn counts_in(answer: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    words.windows(5).find_map(|window| match window {
        [spans, "spans", "in", traces, after] if after.starts_with("traces") => {
            Some((spans.parse().ok()?, traces.parse().ok()?))
        }
        _ => None,
    })
}

/// What stands between the first two quotation marks.
fn quoted(answer: &str) -> Option<&str> {
    answer.split('"').nth(1)
}

#[test]
fn otlp_files_are_read_with_the_counts_of_the_log() {
    let Some(corpus) = corpus() else { return };
    let (mut counted, mut zero) = (0, 0);
    for row in rows(&corpus).iter().filter(|row| row.is_otlp()) {
        let name = &row.name;
        let loaded = row.load();
        let spans: usize = loaded.traces.iter().map(|trace| trace.spans.len()).sum();
        assert_eq!(loaded.spans, spans as u64, "{name}");
        let Some((records, traces)) = row.counts.or_else(|| counts_in(&row.answer)) else {
            println!(
                "no count for {name}: {}; read {spans}: {}",
                row.uncounted, row.answer
            );
            assert!(spans > 0 && loaded.problems.is_empty(), "{name}");
            continue;
        };
        assert_eq!(
            loaded.spans + loaded.rejected,
            records,
            "{name}: {:?}",
            loaded.problems
        );
        counted += 1;
        if loaded.rejected > 0 {
            // Only what OTLP itself calls invalid, and it is told.
            assert_eq!(loaded.problems.len(), 1, "{name}");
            assert!(loaded.problems[0].reason.contains("no trace id"), "{name}");
            zero += 1;
            continue;
        }
        assert_eq!(loaded.traces.len() as u64, traces, "{name}");
        assert_eq!(loaded.problems, [], "{name}");
    }
    assert!(counted > 50, "{counted} files with counts");
    assert!(zero < 3, "{zero} files of which nothing is left");
}

#[test]
fn one_span_split_over_lines_or_not_is_one_trace() {
    let Some(corpus) = corpus() else { return };
    let rows = rows(&corpus);
    // The log says of one file: "identical result to the NDJSON file", which stands next to it.
    let place = rows
        .iter()
        .position(|row| row.answer.contains("identical result to the NDJSON file"))
        .unwrap();
    let [a, b] = [&rows[place], &rows[place + 1]].map(Row::load);
    assert_eq!(a.traces, b.traces);
}

#[test]
fn invalid_files_are_explained() {
    let Some(corpus) = corpus() else { return };
    for row in rows(&corpus).iter().filter(|row| row.folder == "invalid") {
        let loaded = row.load();
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        let all = problems.join("\n");
        let (name, answer) = (&row.name, &row.answer);
        assert!(
            problems
                .iter()
                .all(|problem| problem.starts_with(&*row.path.to_string_lossy()))
        );
        if let Some(text) = quoted(answer) {
            assert!(all.contains(text), "{name}: {answer}: {all}");
        } else if answer.contains("id error reported") {
            assert!(all.contains("trace id"), "{name}: {all}");
            assert_eq!((loaded.spans, loaded.rejected), (0, 1), "{name}");
        } else if answer.contains("keep good span") {
            assert!(loaded.spans > 0 && problems.len() > 1, "{name}: {all}");
            for problem in &loaded.problems {
                assert!(problem.line.is_some(), "{name}: {problem}");
            }
        } else if answer.contains("explain") {
            assert!(
                loaded.traces.is_empty() && all.contains("span"),
                "{name}: {all}"
            );
        } else {
            panic!("nobody knows how to test {name}: {answer}");
        }
    }
}

#[test]
fn other_signals_are_skipped_and_no_fault() {
    let Some(corpus) = corpus() else { return };
    let mut seen = BTreeSet::new();
    for row in rows(&corpus)
        .iter()
        .filter(|row| row.name.contains("spec-file-exporter-"))
    {
        let loaded = row.load();
        assert_eq!(loaded.problems, [], "{}", row.name);
        assert_eq!((loaded.spans, loaded.traces.len()), (0, 0));
        let [skipped] = &loaded.skipped[..] else {
            panic!("{}: {:?}", row.name, loaded.skipped);
        };
        assert!(
            skipped.to_string().contains(quoted(&row.answer).unwrap()),
            "{skipped}"
        );
        assert!(skipped.count > 0);
        seen.insert(skipped.signal);
    }
    assert_eq!(seen.len(), 2, "logs and metrics");
}

#[test]
fn files_of_other_formats_are_refused_by_name() {
    let Some(corpus) = corpus() else { return };
    let mut refused = 0;
    for row in rows(&corpus) {
        let names: &[&str] = match row.folder.as_str() {
            // Its name stands in the column of specialities, as its first word or a later one.
            "other" => &[
                "Elastic APM",
                "Langfuse",
                "flat spans",
                "OpenSearch",
                "SigNoz",
                "TruLens",
            ],
            _ => continue,
        };
        if row.is_otlp() || row.name.contains("spec-file-exporter-") {
            continue;
        }
        let loaded = row.load();
        let name = &row.name;
        let [problem] = &loaded.problems[..] else {
            panic!("{name}: {:?}", loaded.problems);
        };
        assert_eq!((loaded.spans, &loaded.skipped[..]), (0, &[][..]), "{name}");
        let reason = &problem.reason;
        let named = names.iter().find(|known| reason.contains(**known));
        let named = named.unwrap_or_else(|| panic!("{name}: {reason}"));
        assert!(reason.contains("Dwindle reads"), "{name}: {reason}");
        if row.folder == "other" {
            let first = named.split(' ').next().unwrap();
            let special = row.special.to_lowercase();
            assert!(
                special.contains(&first.to_lowercase()),
                "{name}: {reason}: {special}"
            );
        }
        refused += 1;
    }
    assert!(refused > 8, "{refused} refused");
}
