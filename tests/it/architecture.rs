//! Holds the house to its plan: who may use whom, how large a file may grow, who prints.
//!
//! The source is read as text: comments and literals are blanked, `#[cfg(test)]` items cut.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support;

/// A module and those that it may use; `lib.rs` has the reasons.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("budget", &["model"]),
    ("otlp", &["model"]),
    ("files", &["model", "otlp"]),
    ("store", &["model", "budget", "telemetry"]),
    ("ingest", &["model", "budget", "otlp", "store", "telemetry"]),
    ("receive", &["model", "otlp", "ingest", "telemetry"]),
    ("query", &["model", "budget", "store"]),
    ("report", &["model", "budget", "query"]),
    ("settings", &["model", "budget"]),
    ("telemetry", &[]),
    (
        "web",
        &[
            "model",
            "budget",
            "otlp",
            "files",
            "store",
            "ingest",
            "receive",
            "query",
            "report",
            "settings",
            "telemetry",
        ],
    ),
    (
        "cli",
        &[
            "model",
            "budget",
            "otlp",
            "files",
            "store",
            "ingest",
            "receive",
            "query",
            "report",
            "settings",
            "telemetry",
            "web",
        ],
    ),
];

/// Modules that may name Polars.
const COLUMNAR: [&str; 2] = ["store", "query"];

/// The one file that prints.
const PRINTER: &str = "cli/printer.rs";

/// Lines outside tests from which a file is worth splitting, and from which it must be.
const SOFT_LINES: usize = 300;
const HARD_LINES: usize = 600;

#[test]
fn modules_use_only_what_the_plan_allows() {
    assert_none(&layer_faults(&sources()));
}

#[test]
fn every_module_is_in_the_plan() {
    let planned: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<String> = sources().iter().map(|s| s.module().to_owned()).collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = planned
        .union(&BTreeSet::from(["lib", "main"]))
        .copied()
        .collect();
    assert_eq!(found, known);
}

#[test]
fn files_stay_small() {
    let sources = sources();
    for source in sources.iter().filter(|s| s.lines() > SOFT_LINES) {
        println!(
            "src/{}: {} lines, worth splitting",
            source.path,
            source.lines()
        );
    }
    assert_none(&size_faults(&sources));
}

#[test]
fn polars_is_named_in_store_and_query_alone() {
    assert_none(&polars_faults(&sources()));
}

#[test]
fn only_the_printer_prints() {
    assert_none(&print_faults(&sources()));
}

#[test]
fn each_rule_finds_what_breaks_it() {
    let one = |path: &str, text: &str| vec![Source::new(path, text)];
    let layers = |path: &str, text: &str| layer_faults(&one(path, text)).len();
    assert_eq!(layers("model/id.rs", "use crate::otlp::Limits;"), 1);
    assert_eq!(
        layers(
            "model/id.rs",
            "use crate::{budget, model::{Span, id}, web::a};"
        ),
        2
    );
    assert_eq!(layers("budget/x.rs", "fn f() -> crate::web::State { }"), 1);
    assert_eq!(layers("budget/x.rs", "use super::super::store::Memory;"), 1);
    assert_eq!(layers("settings.rs", "use super::{telemetry, model};"), 1);
    assert_eq!(
        layers("budget/x.rs", "use super::store; use crate::model::Span;"),
        0
    );
    assert_eq!(
        layers(
            "model/id.rs",
            "// use crate::web;\n/* crate::web /* */ crate::cli */"
        ),
        0
    );
    assert_eq!(
        layers(
            "model/id.rs",
            "const A: &str = r#\"\"crate::web\"#; const B: char = '\"';"
        ),
        0
    );
    assert_eq!(
        layers("model/id.rs", "fn f<'a>(a: &'a str) {} use crate::web;"),
        1
    );
    assert_eq!(
        layers(
            "model/id.rs",
            "#[cfg(test)]\nmod tests { use crate::web; }\nuse crate::cli;"
        ),
        1
    );
    assert_eq!(
        layers("model/id.rs", "#[cfg(test)] use crate::web::A;\nfn f() {}"),
        0
    );

    let long = |lines: usize| size_faults(&one("model/id.rs", &"fn f() {}\n".repeat(lines))).len();
    assert_eq!((long(HARD_LINES), long(HARD_LINES + 1)), (0, 1));
    let tested = format!(
        "#[cfg(test)]\nmod tests {{\n{}}}\n",
        "fn f() {}\n".repeat(HARD_LINES)
    );
    assert_eq!(size_faults(&one("model/id.rs", &tested)).len(), 0);

    let polars = |path: &str| polars_faults(&one(path, "use polars::prelude::LazyFrame;")).len();
    assert_eq!((polars("report/csv.rs"), polars("store/parts.rs")), (1, 0));
    assert_eq!(
        polars_faults(&one("web/mod.rs", "// polars\nlet a = \"polars\";")).len(),
        0
    );

    let prints = |path: &str| print_faults(&one(path, "fn f() { println!(\"x\"); }")).len();
    assert_eq!((prints("cli/trace.rs"), prints(PRINTER)), (1, 0));
    assert_eq!(
        print_faults(&one("web/mod.rs", "fn f() { std::eprint!(\"x\"); }")).len(),
        1
    );
    assert_eq!(
        print_faults(&one("web/mod.rs", "fn print() { my_println(); }")).len(),
        0
    );
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn layer_faults(sources: &[Source]) -> Vec<String> {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let mut faults = Vec::new();
    for source in sources {
        let Some(allowed) = layers.get(source.module()) else {
            continue;
        };
        for used in source.uses() {
            let foreign = layers.contains_key(used.as_str()) && used != source.module();
            if foreign && !allowed.contains(&used.as_str()) {
                faults.push(format!(
                    "src/{}: `{}` may not use `{used}`",
                    source.path,
                    source.module()
                ));
            }
        }
    }
    faults
}

fn size_faults(sources: &[Source]) -> Vec<String> {
    let too_long = sources.iter().filter(|s| s.lines() > HARD_LINES);
    too_long
        .map(|s| format!("src/{}: {} lines, at most {HARD_LINES}", s.path, s.lines()))
        .collect()
}

fn polars_faults(sources: &[Source]) -> Vec<String> {
    let others = sources.iter().filter(|s| !COLUMNAR.contains(&s.module()));
    others
        .filter(|s| words(&s.code).any(|(_, word)| word.starts_with("polars")))
        .map(|s| format!("src/{}: names Polars", s.path))
        .collect()
}

fn print_faults(sources: &[Source]) -> Vec<String> {
    const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
    let mut faults = Vec::new();
    for source in sources.iter().filter(|s| s.path != PRINTER) {
        for (end, word) in words(&source.code) {
            if MACROS.contains(&word) && source.code.split_at(end).1.starts_with('!') {
                faults.push(format!("src/{}: `{word}!`", source.path));
            }
        }
    }
    faults
}

/// A source file without comments, literals and tests.
struct Source {
    /// Below `src`, with `/`.
    path: String,
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            code: without_tests(&blanked(text)),
        }
    }

    /// The top-level module that the file belongs to.
    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    fn lines(&self) -> usize {
        self.code.lines().count()
    }

    /// Top-level modules that it names, through `crate::` or enough `super::`.
    fn uses(&self) -> Vec<String> {
        // `super` in `x/mod.rs` and in `x.rs` is the crate itself, in `x/y.rs` it is `x`.
        let levels = self.path.matches('/').count() + usize::from(!self.path.ends_with("mod.rs"));
        let climb = format!("{}::", vec!["super"; levels].join("::"));
        let mut found = Vec::new();
        for way in ["crate::", climb.as_str()] {
            for (at, _) in self.code.match_indices(way) {
                let (before, after) = self.code.split_at(at);
                let before = before.chars().next_back();
                if before.is_none_or(|c| !is_word(c) && c != ':') {
                    found.extend(first_segments(after.split_at(way.len()).1));
                }
            }
        }
        found
    }
}

/// `a` of `a::b`, or `a` and `c` of `{a::{x, y}, c as d}`.
fn first_segments(path: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| is_word(*c)).collect::<String>();
    let Some(group) = path.trim_start().strip_prefix('{') else {
        return vec![word(path)];
    };
    let mut found = Vec::new();
    let (mut depth, mut fresh) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && is_word(c) => {
                found.push(word(group.split_at(at).1));
                fresh = false;
            }
            _ => {}
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Each identifier with the byte offset of its end.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(|word| {
            (
                word.as_ptr() as usize - code.as_ptr() as usize + word.len(),
                word,
            )
        })
}

/// The text with comments and literals replaced by spaces; newlines stay.
fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(
                chars[at..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        }
    }
    code
}

/// Where the comment or literal that begins at `at` ends; `at` if none begins there.
fn literal_end(chars: &[char], at: usize) -> usize {
    let starts = |from: usize, text: &str| {
        text.chars()
            .enumerate()
            .all(|(i, c)| chars.get(from + i) == Some(&c))
    };
    let find = |from: usize, text: &str| {
        (from..chars.len())
            .find(|i| starts(*i, text))
            .map_or(chars.len(), |i| i + text.len())
    };
    let in_word = at > 0 && is_word(chars[at - 1]);
    match chars[at] {
        '/' if starts(at, "//") => find(at, "\n").saturating_sub(1).max(at + 2),
        '/' if starts(at, "/*") => {
            let (mut depth, mut i) = (1, at + 2);
            while depth > 0 && i < chars.len() {
                let (step, change) = match (starts(i, "/*"), starts(i, "*/")) {
                    (true, _) => (2, 1),
                    (_, true) => (2, -1),
                    _ => (1, 0),
                };
                depth += change;
                i += step;
            }
            i
        }
        'r' if !in_word || chars[at - 1] == 'b' => {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            if chars.get(at + 1 + hashes) == Some(&'"') {
                find(at + 2 + hashes, &format!("\"{}", "#".repeat(hashes)))
            } else {
                at
            }
        }
        '"' => quoted_end(chars, at, '"'),
        // A lifetime has no closing quote after its first character.
        '\'' if chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'') => {
            quoted_end(chars, at, '\'')
        }
        _ => at,
    }
}

fn quoted_end(chars: &[char], at: usize, quote: char) -> usize {
    let mut i = at + 1;
    while i < chars.len() && chars[i] != quote {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(chars.len())
}

/// Cuts each item that stands under `#[cfg(test)]`, lines and all.
fn without_tests(code: &str) -> String {
    let mut parts = code.split("#[cfg(test)]");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (mut depth, mut end) = (0, part.len());
        for (i, c) in part.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && (c == '}' || c == ';') {
                end = i + 1;
                break;
            }
        }
        kept.push_str(part.split_at(end).1);
    }
    kept
}

/// Every file under `src` but those that are whole test modules.
fn sources() -> Vec<Source> {
    let src = support::root().join("src");
    let mut files = Vec::new();
    collect(&src, &mut files);
    files.sort();
    let tests: BTreeSet<PathBuf> = files.iter().flat_map(|file| test_modules(file)).collect();
    let kept = files.iter().filter(|file| !tests.contains(file.as_path()));
    kept.map(|file| {
        let path = file
            .strip_prefix(&src)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        Source::new(&path, &std::fs::read_to_string(file).unwrap())
    })
    .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

/// Files that this one names with `#[cfg(test)] mod NAME;`.
fn test_modules(file: &Path) -> Vec<PathBuf> {
    let code = blanked(&std::fs::read_to_string(file).unwrap());
    let home = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => file.parent().unwrap().to_owned(),
        _ => file.with_extension(""),
    };
    let parts = code.split("#[cfg(test)]").skip(1);
    parts
        .filter_map(|item| item.trim_start().strip_prefix("mod ")?.split_once(';'))
        .filter(|(name, _)| name.chars().all(is_word))
        .map(|(name, _)| home.join(format!("{name}.rs")))
        .collect()
}
