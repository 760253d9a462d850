//! From what was asked for to the files to read: folders, patterns, names.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::source::refusal;
use super::{Input, Problem};

/// The files to read, in order.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    /// Each file, and the place of its group if it was found and not named.
    pub(super) inputs: Vec<(Input, Option<usize>)>,
    /// Folders and patterns in which files were looked for.
    pub(super) groups: Vec<String>,
    pub(super) problems: Vec<Problem>,
}

/// Walks folders and expands patterns. A name that exists is that file, whatever characters it
/// has.
pub(super) fn expand(inputs: &[Input]) -> Expanded {
    let mut all = Expanded::default();
    for input in inputs {
        match input {
            Input::Path(path) if path.is_dir() => {
                let group = all.group(input);
                all.walk(path, group, &mut HashSet::new());
            }
            Input::Path(path) if is_pattern(path) && !path.exists() => all.pattern(input, path),
            _ => all.inputs.push((input.clone(), None)),
        }
    }
    all
}

impl Expanded {
    fn group(&mut self, input: &Input) -> usize {
        self.groups.push(input.to_string());
        self.groups.len() - 1
    }

    fn problem(&mut self, file: String, reason: String) {
        self.problems.push(Problem {
            file,
            line: None,
            column: None,
            reason,
        });
    }

    /// The files in a folder and the folders in it, by name; hidden ones are left out.
    fn walk(&mut self, folder: &Path, group: usize, seen: &mut HashSet<PathBuf>) {
        let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
        for entry in walk
            .into_iter()
            .filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry))
        {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    self.found(entry.into_path(), group, seen);
                }
                // Sockets, pipes and devices hold no files; opening one may wait for ever.
                Ok(_) => {}
                Err(error) => {
                    let file = error.path().unwrap_or(folder).display().to_string();
                    let reason = if error.loop_ancestor().is_some() {
                        "a link to a folder that it is in; not followed".to_owned()
                    } else {
                        error
                            .io_error()
                            .map_or_else(|| "cannot be opened".to_owned(), refusal)
                    };
                    self.problem(file, reason);
                }
            }
        }
    }

    fn pattern(&mut self, input: &Input, path: &Path) {
        const OPTIONS: glob::MatchOptions = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        let name = input.to_string();
        let paths = match glob::glob_with(&path.to_string_lossy(), OPTIONS) {
            Ok(paths) => paths,
            Err(error) => {
                let reason = format!("no such file, and as a pattern wrong: {}", error.msg);
                return self.problem(name, reason);
            }
        };
        let group = self.group(input);
        let before = (self.inputs.len(), self.problems.len());
        let mut seen = HashSet::new();
        for path in paths {
            match path {
                Ok(path) if path.is_dir() => self.walk(&path, group, &mut seen),
                Ok(path) => self.found(path, group, &mut seen),
                Err(error) => {
                    let file = error.path().display().to_string();
                    self.problem(file, refusal(error.error()));
                }
            }
        }
        if before == (self.inputs.len(), self.problems.len()) {
            self.groups.pop();
            self.problem(name, "no file matches this pattern".to_owned());
        }
    }

    fn found(&mut self, path: PathBuf, group: usize, seen: &mut HashSet<PathBuf>) {
        if seen.insert(path.clone()) {
            self.inputs.push((Input::Path(path), Some(group)));
        }
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn is_pattern(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .any(|byte| matches!(byte, b'*' | b'?' | b'['))
}
