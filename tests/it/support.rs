//! What several tests need: where things are, and running the command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dwindle::files::{Loaded, load_bytes};
use dwindle::model::Span;
use dwindle::otlp::Limits;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of real traces and worked examples that `DWINDLE_CORPUS` names. Without it the
/// test says "skipped" and passes.
pub(crate) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("DWINDLE_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: DWINDLE_CORPUS names no folder");
    }
    folder
}

/// The sample traces, in the order of their numbers.
pub(crate) fn samples() -> Vec<PathBuf> {
    let folder = root().join("sample-traces");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    files
}

/// The command under test, with an environment that changes nothing in its output.
pub(crate) fn dwindle() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwindle"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DWINDLE_") {
            command.env_remove(name);
        }
    }
    command
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .env_remove("LC_ALL")
        .env_remove("LC_CTYPE")
        .env_remove("LANG")
        // No configuration of whoever runs the tests.
        .env("XDG_CONFIG_HOME", root().join("tests/no-configuration"))
        // Nor their data: whoever keeps some in a test says where.
        .env("XDG_DATA_HOME", root().join("Cargo.toml/no-data"))
        .stdin(std::process::Stdio::null());
    command
}

/// Runs the command with these arguments to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    dwindle().args(args).output().unwrap()
}

/// What it printed.
pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// What it said.
pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Its exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Numbers that look random and are the same in every run (a 64-bit linear congruence).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as usize
    }
}

/// What a file with this text holds.
pub(crate) fn read(text: &str) -> Loaded {
    load_bytes("f", text.as_bytes(), &Limits::default())
}

/// The spans of a text without faults.
pub(crate) fn spans(text: &str) -> Vec<Span> {
    let loaded = read(text);
    assert_eq!(loaded.problems, [], "{text}");
    loaded
        .traces
        .into_iter()
        .flat_map(|trace| trace.spans)
        .collect()
}

/// The one span of a text without faults.
pub(crate) fn one(text: &str) -> Span {
    let [span] = <[Span; 1]>::try_from(spans(text)).unwrap();
    span
}
