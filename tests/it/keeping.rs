//! The folder of the store as people meet it: `import`, `store` and what `serve` keeps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use dwindle::ingest::log::{self, Log, Record};
use dwindle::store::{Options, Store};
use dwindle::telemetry::Telemetry;
use serde_json::Value as Json;

use crate::support::{code, dwindle, root, samples, stderr, stdout};

/// Requests and traces of the samples.
const REQUESTS: u64 = 22;
const TRACES: u64 = 21;

/// A folder with a store in it.
struct Kept {
    scratch: tempfile::TempDir,
}

impl Kept {
    fn empty() -> Self {
        Self {
            scratch: tempfile::tempdir().unwrap(),
        }
    }

    fn with_samples() -> Self {
        let kept = Self::empty();
        let imported = kept.import(&samples());
        assert_eq!(code(&imported), 0, "{}", stderr(&imported));
        kept
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path().join("store")
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).to_str().unwrap().to_owned()
    }

    fn command(&self) -> Command {
        let mut command = dwindle();
        command.env("DWINDLE_DATA", self.folder());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    fn import(&self, files: &[PathBuf]) -> Output {
        self.command().arg("import").args(files).output().unwrap()
    }

    /// A file with a trace of another hour.
    fn later(&self) -> PathBuf {
        let later = std::fs::read_to_string(&samples()[1]).unwrap();
        let later = later.replace("\"17913", "\"17914");
        assert!(later.contains("\"17914"));
        let file = self.path("later.json");
        let other = later.replace("\"ebf7", "\"ebf8");
        assert_ne!(other, later);
        std::fs::write(&file, other).unwrap();
        file.into()
    }

    /// Every Parquet file, with its length.
    fn parts(&self) -> Vec<(PathBuf, u64)> {
        let files = walkdir::WalkDir::new(self.folder()).sort_by_file_name();
        let files = files.into_iter().map(|entry| entry.unwrap());
        let parts = files.filter(|file| file.path().extension().is_some_and(|of| of == "parquet"));
        parts
            .map(|file| (file.path().to_owned(), file.metadata().unwrap().len()))
            .collect()
    }

    fn stats(&self) -> Json {
        let output = self.run(&["store", "stats", "--format", "json"]);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A file of a table.
    fn part(&self, table: &str) -> PathBuf {
        let pattern = self.folder().join(table).join("date=*/hour=*/*.parquet");
        let mut found = glob::glob(pattern.to_str().unwrap()).unwrap();
        found.next().unwrap().unwrap()
    }
}

/// The requests in files, as JSON, in no order.
fn requests(files: &[PathBuf]) -> Vec<String> {
    let mut command = dwindle();
    let output = command
        .args(["traces", "--format", "ndjson"])
        .args(files)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn what_is_imported_is_exported_as_it_was() {
    let kept = Kept::with_samples();
    let stats = kept.stats();
    assert_eq!(stats["requests"], REQUESTS);
    assert_eq!(stats["traces"], TRACES);
    assert_eq!(stats["tables"]["requests"]["rows"], REQUESTS);
    let outcomes = stats["outcomes"].as_object().unwrap().values();
    assert_eq!(outcomes.map(|n| n.as_u64().unwrap()).sum::<u64>(), REQUESTS);
    let tables = stats["tables"].as_object().unwrap().values();
    let bytes: u64 = tables.map(|table| table["bytes"].as_u64().unwrap()).sum();
    assert_eq!(stats["bytes"], bytes);
    assert!(stats["oldest"].as_str() < stats["newest"].as_str());

    let wanted = requests(&samples());
    for name in ["a.ndjson", "b.ndjson.gz", "c.pb.zst"] {
        let out = kept.path(name);
        let output = kept.run(&["store", "export", "-o", &out]);
        assert_eq!((code(&output), stdout(&output)), (0, ""));
        let said = format!("{out}: {TRACES} traces, 122 spans (OTLP");
        assert!(stderr(&output).starts_with(&said), "{}", stderr(&output));
        assert_eq!(requests(&[out.into()]), wanted, "{name}");
    }
    let again = kept.path("a.ndjson");
    let output = kept.run(&["store", "export", "-o", &again]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("--force replaces it"),
        "{}",
        stderr(&output)
    );
    let output = kept.run(&["store", "export", "-o", "-", "--to", "otlp-proto"]);
    let whole = kept.path("c.pb");
    kept.run(&["store", "export", "-o", &whole]);
    assert_eq!(output.stdout, std::fs::read(whole).unwrap());
}

#[cfg(unix)]
#[test]
fn an_export_that_a_signal_ends_leaves_nothing() {
    let kept = Kept::empty();
    let line = |n: u64| {
        let (id, padding) = (n + 1, "x".repeat(2_000));
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{id:032x}","spanId":"{id:016x}","name":"{padding}{n}","startTimeUnixNano":"1791363600000000000","endTimeUnixNano":"1791363600000000001"}}]}}]}}]}}"#
        ) + "\n"
    };
    let file = kept.path("many.ndjson");
    std::fs::write(&file, (0..4_000).map(line).collect::<String>()).unwrap();
    assert_eq!(code(&kept.import(&[file.into()])), 0);
    let out = kept.path("out");
    std::fs::create_dir(&out).unwrap();
    let there = || std::fs::read_dir(&out).unwrap().count();
    for (signal, ends) in [("-INT", 130), ("-TERM", 143)] {
        for (to, target) in [("otlp-json", "/all.ndjson"), ("parquet", "")] {
            let target = format!("{out}{target}");
            let args = ["store", "export", "--to", to, "-o", &target];
            let mut export = kept.command();
            export.args(args).stderr(std::process::Stdio::null());
            let mut export = export.spawn().unwrap();
            while there() == 0 && export.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            assert!(there() > 0 && export.try_wait().unwrap().is_none(), "{to}");
            let pid = export.id().to_string();
            let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
            assert!(sent.success());
            assert_eq!(export.wait().unwrap().code(), Some(ends), "{to}");
            assert_eq!(there(), 0, "{to}");
        }
    }
}

#[test]
fn importing_again_changes_nothing() {
    let kept = Kept::with_samples();
    let before = kept.stats();
    let output = kept.import(&samples());
    assert_eq!((code(&output), stdout(&output)), (0, ""));
    let said = stderr(&output);
    assert!(
        said.contains(&format!("0 of {TRACES} traces imported, 0 spans")),
        "{said}"
    );
    assert!(said.contains("122 spans were there already"), "{said}");
    assert_eq!(kept.stats(), before);
}

#[test]
fn spans_beyond_2262_are_found_to_be_there_too() {
    let kept = Kept::empty();
    let sample = std::fs::read_to_string(&samples()[0]).unwrap();
    let times = sample.split("UnixNano\":").skip(1);
    let times = times.filter_map(|rest| rest.split('"').nth(1));
    let first: u64 = times.map(|time| time.parse().unwrap()).min().unwrap();
    // Far beyond what the tables hold as an instant.
    let moved = u64::MAX - 10_000_000_000;
    let mut later = String::new();
    let mut rest = sample.as_str();
    while let Some((before, after)) = rest.split_once("UnixNano\":") {
        let (gap, after) = after.split_once('"').unwrap();
        let (time, after) = after.split_once('"').unwrap();
        let time: u64 = time.parse().unwrap();
        let time = moved + (time - first);
        write!(later, "{before}UnixNano\":{gap}\"{time}\"").unwrap();
        rest = after;
    }
    later.push_str(rest);
    let file = PathBuf::from(kept.path("later.json"));
    std::fs::write(&file, later).unwrap();
    assert_eq!(code(&kept.import(std::slice::from_ref(&file))), 0);
    let before = kept.stats();
    assert_eq!(before["requests"], 1);
    let again = kept.import(&[file]);
    assert!(
        stderr(&again).contains("0 of 1 trace imported"),
        "{}",
        stderr(&again)
    );
    assert_eq!(kept.stats(), before);
    assert_eq!(code(&kept.run(&["store", "verify"])), 0);
}

#[test]
fn what_is_old_already_is_told_when_it_is_imported() {
    let kept = Kept::with_samples();
    let old = kept.import(&samples()[..1]);
    // The samples are of one day, whenever this runs.
    let told = stderr(&old).contains("retain_for");
    let newest = kept.run(&["store", "prune", "--dry-run"]);
    assert_eq!(
        told,
        stderr(&newest).starts_with("would go: 1 hour"),
        "{}",
        stderr(&old)
    );
    let mut command = kept.command();
    command.env("DWINDLE_RETAIN_FOR", "0");
    let output = command.arg("import").args(samples()).output().unwrap();
    assert!(
        !stderr(&output).contains("retain_for"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_file_with_faults_is_imported_as_far_as_it_is_good() {
    let kept = Kept::empty();
    let good = std::fs::read_to_string(&samples()[0]).unwrap();
    let good: Json = serde_json::from_str(&good).unwrap();
    let file = kept.path("half.ndjson");
    std::fs::write(&file, format!("{good}\n{{\"resourceSpans\": [\n")).unwrap();
    let output = kept.import(&[file.clone().into()]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains(&format!("{file}:2:")),
        "{}",
        stderr(&output)
    );
    assert!(
        stderr(&output).contains("1 of 1 trace imported"),
        "{}",
        stderr(&output)
    );
    assert_eq!(kept.stats()["traces"], 1);
    let output = kept.run(&["import", &kept.path("none.json")]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("no traces in what was read"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_export_has_the_requests_that_are_asked_for() {
    let kept = Kept::with_samples();
    let out = kept.path("missed.ndjson");
    let missed = ["--where", "outcome=missed"];
    let output = kept.run(&[&["store", "export", "-o", &out], &missed[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let all = requests(&samples());
    let is_missed = |line: &&String| line.contains("\"outcome\":\"missed\"");
    let wanted: Vec<&String> = all.iter().filter(is_missed).collect();
    let exported = requests(&[out.into()]);
    let exported: Vec<&String> = exported.iter().filter(is_missed).collect();
    assert_eq!(exported, wanted);

    // The window is that of the requests' starts.
    let start = |line: &String| {
        let request: Json = serde_json::from_str(line).unwrap();
        request["start"].as_str().unwrap().to_owned()
    };
    let mut starts: Vec<String> = all.iter().map(start).collect();
    starts.sort();
    let (since, until) = (starts[3].as_str(), starts[9].as_str());
    let wanted = starts
        .iter()
        .filter(|at| since <= at.as_str() && at.as_str() < until);
    let folder = kept.path("tables");
    let window = ["--since", since, "--until", until];
    let export = ["store", "export", "-o", &folder, "--to", "parquet"];
    let output = kept.run(&[&export[..], &window[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let tables = ["calls", "findings", "hops", "ledger", "requests", "spans"];
    assert_eq!(files, tables.map(|table| format!("{table}.parquet")));
    let spans = Path::new(&folder).join("spans.parquet");
    let mut exported: Vec<String> = requests(&[spans]).iter().map(start).collect();
    exported.sort();
    assert_eq!(exported, wanted.cloned().collect::<Vec<_>>());

    let output = kept.run(&export);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("--force replaces it"),
        "{}",
        stderr(&output)
    );
    let output = kept.run(&[&export[..], &["--force"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let spans = Path::new(&folder).join("spans.parquet");
    assert_eq!(requests(&[spans]), all);
}

#[test]
fn a_file_that_is_not_as_it_was_is_told_by_name_and_the_rest_is_there() {
    let kept = Kept::with_samples();
    let output = kept.run(&["store", "verify"]);
    assert_eq!((code(&output), stdout(&output)), (0, ""));
    assert!(
        stderr(&output).contains("all as it was written"),
        "{}",
        stderr(&output)
    );

    let part = kept.part("spans");
    let mut bytes = std::fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let name = part.to_str().unwrap();
    let output = kept.run(&["store", "verify"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).starts_with(name), "{}", stdout(&output));
    assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("1 fault"), "{}", stderr(&output));
    // A trace of another hour is exported all the same.
    let imported = kept.import(&[kept.later()]);
    assert_eq!(code(&imported), 0, "{}", stderr(&imported));
    let out = kept.path("left.ndjson");
    let output = kept.run(&["store", "export", "-o", &out]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains(name), "{}", stderr(&output));
    assert_eq!(requests(&[out.into()]).len(), 1);

    std::fs::remove_file(&part).unwrap();
    let output = kept.run(&["store", "verify"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).starts_with(name), "{}", stdout(&output));
}

#[test]
fn without_its_list_of_parts_a_store_is_left_as_it_is() {
    let kept = Kept::with_samples();
    let manifest = kept.folder().join("manifest.json");
    let older = std::fs::read(&manifest).unwrap();
    let later = kept.later();
    assert_eq!(code(&kept.import(&[later])), 0);
    let all = kept.stats()["requests"].clone();
    let parts = || kept.parts();
    let before = parts();
    // A copy from a backup of the same day names none of what came later.
    std::fs::write(&manifest, older).unwrap();
    let refused = |because: &str| {
        for args in [
            &["import", samples()[0].to_str().unwrap()][..],
            &["store", "verify"],
            &["store", "compact"],
            &["traces"],
        ] {
            let data = ["--data", kept.folder().to_str().unwrap()].map(str::to_owned);
            let output = kept.command().args(args).args(data).output().unwrap();
            assert_eq!(code(&output), 2, "{args:?}");
            let said = stderr(&output);
            assert!(
                said.contains(because) && said.contains("dwindle import"),
                "{args:?}: {said}"
            );
        }
        assert_eq!(parts(), before);
    };
    refused("and the last one was");
    std::fs::remove_file(&manifest).unwrap();
    refused("is not there, but");
    // What the advice says brings everything back.
    let spans = kept.path("spans");
    std::fs::rename(kept.folder().join("spans"), &spans).unwrap();
    std::fs::remove_dir_all(kept.folder()).unwrap();
    let files = walkdir::WalkDir::new(&spans).into_iter();
    let files = files.filter_map(|entry| Some(entry.ok()?.into_path()));
    let files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    let imported = kept.import(&files);
    assert_eq!(code(&imported), 0, "{}", stderr(&imported));
    assert_eq!(kept.stats()["requests"], all);
}

#[test]
fn what_is_in_the_log_alone_is_told() {
    let kept = Kept::with_samples();
    let log = kept.folder().join("log");
    let telemetry = Arc::new(Telemetry::new());
    let (written, _) = Log::open(&log, log::Options::default(), telemetry, |_| {}).unwrap();
    let record = || Record {
        kind: log::Kind::Traces,
        bytes: vec![7; 50].into(),
    };
    assert!(written.append(vec![record(), record()], ()).is_ok());
    written.close(std::time::Duration::from_secs(20));
    drop(written);
    let name = log.join("00000000000000000001.log");
    let output = kept.run(&["store", "verify"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("in the log"),
        "{}",
        stderr(&output)
    );
    let data = kept.folder();
    let output = kept.run(&["traces", "--data", data.to_str().unwrap()]);
    let said = stderr(&output);
    assert!(
        said.contains("in no table yet") && said.contains("dwindle serve"),
        "{said}"
    );
    let mut bytes = std::fs::read(&name).unwrap();
    bytes[60] ^= 1;
    std::fs::write(&name, bytes).unwrap();
    let output = kept.run(&["store", "verify"]);
    assert_eq!(code(&output), 2);
    let told = stdout(&output);
    assert!(
        told.starts_with("the log is damaged: `") && told.contains("bytes 40 to"),
        "{told}"
    );
}

#[test]
fn old_hours_go_when_they_are_told_to() {
    let kept = Kept::with_samples();
    let before = kept.stats();
    let output = kept.run(&["store", "prune", "--max-bytes", "1GiB"]);
    assert_eq!((code(&output), stderr(&output)), (0, "nothing to remove\n"));
    let age = ["store", "prune", "--older-than", "1s"];
    let output = kept.run(&[&age[..], &["--dry-run"]].concat());
    let said = stderr(&output);
    assert!(
        said.starts_with("would go: 1 hour, 22 requests, "),
        "{said}"
    );
    assert_eq!(kept.stats(), before);
    let output = kept.run(&age);
    let said = stderr(&output);
    assert!(said.starts_with("removed: 1 hour, 22 requests, "), "{said}");
    assert_eq!(kept.stats()["requests"], 0);
    let pattern = kept.folder().join("**/*.parquet");
    let files = glob::glob(pattern.to_str().unwrap()).unwrap();
    assert_eq!(files.count(), 0, "files stay on disk");

    let mut command = kept.command();
    command.env("DWINDLE_RETAIN_FOR", "0");
    let output = command.args(["store", "prune"]).output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("--older-than"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn small_files_are_merged_and_what_was_superseded_goes() {
    let kept = Kept::empty();
    // Half of a trace, then all of it: the second state supersedes the first.
    let whole = std::fs::read_to_string(&samples()[0]).unwrap();
    let mut half: Json = serde_json::from_str(&whole).unwrap();
    half["resourceSpans"].as_array_mut().unwrap().truncate(2);
    let file = kept.path("half.json");
    std::fs::write(&file, half.to_string()).unwrap();
    for files in [
        [PathBuf::from(&file)],
        [samples()[0].clone()],
        [samples()[1].clone()],
    ] {
        let output = kept.import(&files);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let output = kept.run(&["store", "compact"]);
    assert_eq!((code(&output), stdout(&output)), (0, ""));
    let stats = kept.stats();
    assert_eq!(
        (&stats["parts"], &stats["superseded_traces"]),
        (&1.into(), &0.into())
    );
    let out = kept.path("out.ndjson");
    kept.run(&["store", "export", "-o", &out]);
    assert_eq!(requests(&[out.into()]), requests(&samples()[..2]));
}

#[test]
fn whoever_writes_wants_the_folder_alone_and_whoever_reads_does_not() {
    let kept = Kept::with_samples();
    let holder = Store::open(&kept.folder(), Options::default()).unwrap();
    let pid = std::process::id().to_string();
    let sample = samples()[0].to_str().unwrap().to_owned();
    for (args, advice) in [
        (&["store", "compact"][..], "a server does it by itself"),
        (&["store", "prune"][..], "a server does it by itself"),
        (&["import", &sample][..], "send it the spans by OTLP"),
        (
            &[
                "serve",
                "--grpc-addr=127.0.0.1:0",
                "--http-addr=127.0.0.1:0",
                "--web-addr=127.0.0.1:0",
            ][..],
            "in use by another Dwindle",
        ),
    ] {
        let output = kept.run(args);
        assert_eq!(code(&output), 2, "{args:?}");
        let said = stderr(&output);
        assert!(
            said.contains(advice) && said.contains(&pid),
            "{args:?}: {said}"
        );
        assert!(said.contains(kept.folder().to_str().unwrap()), "{said}");
    }
    let out = kept.path("out.ndjson");
    for args in [
        &["store", "stats"][..],
        &["store", "verify"][..],
        &["store", "prune", "--older-than", "1h", "--dry-run"][..],
        &["store", "export", "-o", &out][..],
    ] {
        let output = kept.run(args);
        assert_eq!(code(&output), 0, "{args:?}: {}", stderr(&output));
    }
    drop(holder);
    assert_eq!(code(&kept.run(&["store", "compact"])), 0);
}

#[test]
fn a_folder_that_is_none_is_told() {
    let kept = Kept::empty();
    for command in ["stats", "verify", "compact", "prune"] {
        let output = kept.run(&["store", command]);
        assert_eq!(code(&output), 2, "{command}");
        assert!(
            stderr(&output).contains("holds no store"),
            "{}",
            stderr(&output)
        );
    }
    assert!(!kept.folder().exists(), "a store was made");
    let file = root().join("Cargo.toml");
    let file = file.to_str().unwrap();
    for args in [
        &["import", "sample-traces", "--data", file][..],
        &["serve", "--data", file, "--grpc-addr=127.0.0.1:0"][..],
        &["store", "stats", "--data", file][..],
    ] {
        let mut command = dwindle();
        command.current_dir(root()).args(args);
        command.env("DWINDLE_HTTP_ADDR", "127.0.0.1:0");
        let output = command
            .env("DWINDLE_WEB_ADDR", "127.0.0.1:0")
            .output()
            .unwrap();
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(
            stderr(&output).contains(file),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}
