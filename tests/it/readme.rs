//! README tells the truth: its commands and flags exist, its transcripts are what is printed.

use std::collections::BTreeSet;

use dwindle::model::{Outcome, Verdict};

use crate::support;

#[test]
fn every_command_and_flag_of_the_readme_exists() {
    let helps: Vec<(&str, String)> = [
        "",
        "serve",
        "trace",
        "traces",
        "hops",
        "calls",
        "findings",
        "diff",
        "filter",
        "sql",
        "convert",
        "import",
        "store",
        "config",
        "completions",
        "man",
    ]
    .map(|command| {
        let below: &[&str] = match command {
            "store" => &["verify", "compact", "prune", "stats", "export"],
            _ => &[],
        };
        let below = below
            .iter()
            .map(|below| help(&format!("{command} {below}")));
        (
            command,
            below.fold(help(command), |all, below| all + &below),
        )
    })
    .into();
    let any = |flag: &str| helps.iter().any(|(_, help)| has(help, flag));
    for code in codes() {
        // The command starts the code or follows `cargo run … --`; everything else names flags.
        let own = code.strip_prefix("$ ").unwrap_or(&code);
        let own = match own.split_once(" -- ") {
            Some((cargo, rest)) if cargo.starts_with("cargo run") => rest,
            _ if own.starts_with("cargo ") => continue,
            _ => own.strip_prefix("dwindle ").unwrap_or(own),
        };
        let own = own.split('#').next().unwrap();
        let command = own.split_whitespace().next().unwrap_or_default();
        let named = helps.iter().find(|(name, _)| *name == command);
        let is_command = own.len() < code.len() && !command.starts_with("--");
        assert!(named.is_some() || !is_command, "no such command: `{code}`");
        for flag in own.split_whitespace().filter(|word| word.starts_with("--")) {
            let known = named.map_or_else(|| any(flag), |(_, help)| has(help, flag));
            assert!(known, "`{flag}` of `{code}` is not in the help");
        }
    }
}

/// With `UPDATE_README` set it writes what is printed into README instead.
#[test]
fn every_transcript_of_the_readme_is_what_is_printed() {
    let readme = readme();
    let mut current = readme.clone();
    let mut transcripts = 0;
    for block in blocks(&readme, "console") {
        for transcript in block.split("$ ").skip(1) {
            let (command, wanted) = transcript.split_once('\n').unwrap();
            let args: Vec<&str> = command.split_whitespace().skip(1).collect();
            let output = support::dwindle()
                .args(args)
                .current_dir(support::root())
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(!printed.is_empty(), "$ {command} prints nothing");
            let (old, new) = (wanted.trim_end(), printed.trim_end());
            current = current.replace(
                &format!("$ {command}\n{old}"),
                &format!("$ {command}\n{new}"),
            );
            transcripts += 1;
            if std::env::var_os("UPDATE_README").is_none() {
                assert_eq!(old, new, "$ {command}: UPDATE_README=1 writes it anew");
            }
        }
    }
    assert!(transcripts > 0, "no transcript is left to check");
    if current != readme && std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(support::root().join("README.md"), current).unwrap();
    }
}

#[test]
fn the_configuration_in_the_readme_is_valid() {
    let readme = readme();
    let blocks = blocks(&readme, "toml");
    assert!(!blocks.is_empty());
    for block in blocks {
        let settings =
            dwindle::settings::resolve(Some(("README.md", block)), &|_| None, &|_| None).unwrap();
        assert!(!settings.entries.is_empty());
    }
}

#[test]
fn the_readme_lists_the_keys_of_a_request() {
    let sample = support::root().join("sample-traces/01-fixed-timeouts.json");
    let output = support::run(&["trace", sample.to_str().unwrap(), "--format", "json"]);
    let request: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let printed: BTreeSet<&str> = request
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let readme = readme();
    let section = section(&readme, "## The JSON");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let listed: BTreeSet<&str> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2))
        .collect();
    assert_eq!(listed, printed);
}

#[test]
fn the_readme_names_every_verdict_outcome_and_folder() {
    let readme = readme();
    let verdicts = Verdict::ALL.map(Verdict::as_str);
    let outcomes = Outcome::ALL.map(Outcome::as_str);
    for word in verdicts.iter().chain(&outcomes) {
        assert!(readme.contains(&format!("`{word}`")), "`{word}` is missing");
    }
    for link in readme.split("](").skip(1) {
        let path = link.split(')').next().unwrap();
        assert!(
            support::root().join(path).exists(),
            "the link to `{path}` leads nowhere"
        );
    }
}

#[test]
fn the_readme_names_the_keys_that_are_read_and_no_others() {
    let table = support::root().join("src/budget/conventions/rules.toml");
    let table = std::fs::read_to_string(table).unwrap();
    let readme = readme();
    let section = section(&readme, "## What it reads");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    for key in rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)) {
        assert!(table.contains(&format!("\"{key}\"")), "`{key}` is not read");
    }
    let ours = table
        .lines()
        .filter(|line| line.starts_with("\"dwindle."))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(|key| key.starts_with("deadline."));
    for key in ours {
        assert!(section.contains(&format!("`{key}`")), "`{key}` is missing");
    }
}

#[test]
fn the_readme_names_variables_of_flags_that_exist() {
    let readme = readme();
    let help = help("serve");
    for part in readme.split("DWINDLE_").skip(1) {
        let name: String = part
            .chars()
            .take_while(|c| c.is_ascii_uppercase() || *c == '_')
            .collect();
        let flag = format!("--{}", name.to_lowercase().replace('_', "-"));
        assert!(
            has(&help, &flag),
            "there is no `{flag}` for `DWINDLE_{name}`"
        );
    }
}

fn readme() -> String {
    std::fs::read_to_string(support::root().join("README.md")).unwrap()
}

fn help(command: &str) -> String {
    let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let output = support::run(&args);
    assert_eq!(output.status.code(), Some(0), "`dwindle {command} --help`");
    String::from_utf8(output.stdout).unwrap()
}

fn has(help: &str, flag: &str) -> bool {
    let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.into_iter().any(|word| word == flag)
}

/// Lines of shell and console blocks, and what stands between backticks in the text.
fn codes() -> Vec<String> {
    let readme = readme();
    let mut found: Vec<String> = Vec::new();
    for (nr, part) in readme.split("```").enumerate() {
        if nr % 2 == 1 {
            let shell = part.starts_with("sh\n");
            let commands = part
                .lines()
                .skip(1)
                .filter(|line| shell || line.starts_with("$ "));
            found.extend(commands.map(str::to_owned));
        } else {
            found.extend(part.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let parts = text.split("```").skip(1).step_by(2);
    parts
        .filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let (_, from) = text.split_once(title).unwrap();
    from.split("\n## ").next().unwrap()
}
