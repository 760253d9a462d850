//! `dwindle.toml`: where it is, and its text.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{Lines, Said, parse};
use super::sources::{Lookup, Origin, Place, Problem};

/// The file's name where none was given.
const NAME: &str = "dwindle.toml";
/// A larger file is no configuration.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the file that was named, by flag or variable, or else the first that there is.
pub(super) fn load(named: Option<&Path>, environment: Lookup<'_>) -> Said {
    let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    if let Some(path) = named {
        return read(path, Some("--config")).unwrap_or_default();
    }
    if let Some(path) = set("DWINDLE_CONFIG") {
        return read(Path::new(&path), Some("DWINDLE_CONFIG")).unwrap_or_default();
    }
    // A relative XDG_CONFIG_HOME is to be ignored, says the XDG base directory specification.
    let own = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = own.filter(|folder| folder.is_absolute());
    let own = own
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")))
        .or_else(|| set("APPDATA").map(PathBuf::from));
    let places = [
        Some(PathBuf::from(NAME)),
        own.map(|own| own.join("dwindle").join(NAME)),
    ];
    let mut places = places.into_iter().flatten();
    places
        .find_map(|place| read(&place, None))
        .unwrap_or_default()
}

/// Reads one file; `None` if nobody named it and it is not there.
fn read(path: &Path, named_by: Option<&str>) -> Option<Said> {
    let name: Arc<str> = path.display().to_string().into();
    let missing = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    match text(path) {
        Ok(text) => Some(parse(&name, &text)),
        Err(Unreadable::Io(error)) if missing(&error) && named_by.is_none() => None,
        Err(unreadable) => {
            let mut place = Place {
                file: Arc::clone(&name),
                line: 0,
                column: 0,
            };
            let named_by = named_by.map_or(String::new(), |by| format!("; {by} names it"));
            let reason = match unreadable {
                Unreadable::Io(error) if missing(&error) => {
                    format!("there is no such file{named_by}")
                }
                Unreadable::Io(error) if error.kind() == io::ErrorKind::IsADirectory => {
                    format!("this is a directory, not a configuration file{named_by}")
                }
                Unreadable::Io(error) => format!("cannot be read: {error}{named_by}"),
                Unreadable::Large => {
                    format!("this is larger than 1 MiB, which no configuration file is{named_by}")
                }
                Unreadable::Text(before) => {
                    (place.line, place.column) = Lines::new(&before).place(before.len());
                    "the file is not UTF-8 from here on; save it as UTF-8".to_owned()
                }
            };
            let problem = Problem {
                origin: Origin::File(place),
                reason,
            };
            Some(Said {
                file: Some(name),
                problems: vec![problem],
                ..Said::default()
            })
        }
    }
}

enum Unreadable {
    Io(io::Error),
    Large,
    /// Not UTF-8 after this.
    Text(String),
}

fn text(path: &Path) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Unreadable::Io)?;
    let mut limited = file.take(MAX_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(Unreadable::Io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Unreadable::Large);
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        Unreadable::Text(String::from_utf8_lossy(before).into_owned())
    })
}
