//! `--data`: the commands over a store print what they print of the files that went into it.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::otlp::Limits;
use dwindle::store::{Options, Store, Stored};

use crate::support;

/// A folder with the samples in it, in two flushes.
fn stored(folder: &Path) -> Store {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    let store = Store::open(folder, Options::default()).unwrap();
    for (number, trace) in loaded.traces.into_iter().enumerate() {
        if number == 9 {
            store.flush().unwrap();
        }
        let mut analysis = analyse(&trace, &Policy::default(), &Typical::default());
        for request in &mut analysis.requests {
            request.revision = 1;
        }
        store.put(Stored {
            trace: Arc::new(trace),
            analysis: Arc::new(analysis),
            sample: false,
            log_from: u64::MAX,
        });
    }
    store.flush().unwrap();
    store
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwindle"));
    command.args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn commands_over_a_store_print_what_they_print_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let _server = stored(folder.path());
    let data = folder.path().to_str().unwrap();
    let files: Vec<String> = support::samples()
        .iter()
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for args in [
        &["traces"][..],
        &["traces", "--format", "ndjson"],
        &["traces", "--format", "csv", "--sort", "-wasted"],
        &[
            "traces",
            "--format",
            "json",
            "--where",
            "hop.verdict=finished_late",
        ],
        &["traces", "--format", "markdown", "--sort", "culprit.share"],
        &[
            "traces",
            "--format",
            "csv",
            "-w",
            "outcome=missed",
            "-w",
            "wasted > 300ms",
        ],
        &["hops", "--format", "json"],
        &["hops", "--format", "csv", "--where", "outcome=missed"],
        &["calls", "--format", "csv"],
        &["findings", "--format", "ndjson", "--sort", "-requests"],
        &["trace", "--id", "2d6f"],
        &[
            "trace",
            "--id",
            "2d6fa40f2250f92ecc0eea1b5af9685f",
            "--format",
            "json",
        ],
        &[
            "sql",
            "SELECT outcome, count(*) AS n FROM requests GROUP BY outcome ORDER BY outcome",
        ],
        &["sql", "SELECT count(*) AS n FROM requests"],
        &[
            "sql",
            "SELECT count(*) AS n FROM spans WHERE kind = 'server'",
        ],
        &[
            "sql",
            "SELECT * FROM hops ORDER BY trace_id, request, id",
            "--format",
            "csv",
        ],
        &[
            "sql",
            "SELECT count(*) AS n FROM spans",
            "--where",
            "outcome=missed",
            "--format",
            "json",
        ],
        &["diff", "2d6f", "44ac"],
    ] {
        let of_files = run(&[args, &files].concat());
        let of_store = run(&[args, &["--data", data]].concat());
        assert_eq!(text(&of_store), text(&of_files), "{args:?}");
        let talk = String::from_utf8_lossy(&of_store.stderr).into_owned();
        assert!(talk.contains("a running server"), "{talk}");
    }
}

#[test]
fn what_a_store_cannot_be_asked_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let _server = stored(folder.path());
    let data = folder.path().to_str().unwrap();
    let nowhere = folder.path().join("nowhere");
    for (args, words) in [
        (
            &["traces", "x.json", "--data", data][..],
            "cannot be used with",
        ),
        (&["traces"], "required arguments were not provided"),
        (&["trace", "--data", data], "name one with --id"),
        (
            &["trace", "--data", data, "--id", "ffff00"],
            "no trace id begins with `ffff00`",
        ),
        (
            &["diff", "a.json", "2d6f", "--data", data],
            "`a.json` is no trace id",
        ),
        (&["hops", "--data", nowhere.to_str().unwrap()], "nowhere"),
    ] {
        let output = run(args);
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {talk}");
        assert!(talk.contains(words), "{args:?}: {talk}");
    }
}

#[test]
fn a_list_that_is_cut_shows_the_newest_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let _server = stored(folder.path());
    let data = folder.path().to_str().unwrap();
    let all = text(&run(&["traces", "--data", data, "--format", "ndjson"]));
    let cut = run(&[
        "traces", "--data", data, "--format", "ndjson", "--limit", "3",
    ]);
    let lines: Vec<&str> = all.lines().collect();
    let last = lines[lines.len() - 3..].join("\n") + "\n";
    assert_eq!(text(&cut), last);
    let talk = String::from_utf8_lossy(&cut.stderr);
    assert!(
        talk.contains(&format!("3 of {} shown", lines.len())),
        "{talk}"
    );
}
