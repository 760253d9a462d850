//! The folder of a store: where which file is, and who may write.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::{OpenError, is_full};
use super::find::Footers;
use super::tables::Table;
use super::whole::sync_folder;
use crate::model::UnixNanos;

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;
const INDEX: &str = "index";
/// How often the lock is tried, and how long between.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// The folder of a store.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
    /// Another process may write there.
    foreign: bool,
    footers: Arc<Footers>,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            foreign: false,
            footers: Arc::default(),
        }
    }

    /// One in which another process may write.
    pub(super) fn of_another(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            foreign: true,
            footers: Arc::default(),
        }
    }

    pub(super) fn is_of_another(&self) -> bool {
        self.foreign
    }

    /// What is kept of its files' footers.
    pub(super) fn footers(&self) -> &Footers {
        &self.footers
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.root.join("manifest.json")
    }

    /// Room for a manifest that removes parts, when there is none.
    pub(super) fn reserve(&self) -> PathBuf {
        self.root.join("RESERVE")
    }

    /// Tells the last commit, so that an older manifest is known as one.
    pub(super) fn witness(&self) -> PathBuf {
        self.root.join("COMMIT")
    }

    pub(super) fn table(&self, table: Table, hour: u64, id: &str) -> PathBuf {
        let folder = self.root.join(table.as_str()).join(partition(hour));
        folder.join(format!("{id}.parquet"))
    }

    pub(super) fn filter(&self, id: &str) -> PathBuf {
        self.root.join(INDEX).join(format!("{id}.ids"))
    }

    pub(super) fn summary(&self, id: &str) -> PathBuf {
        self.root.join(INDEX).join(format!("{id}.sum"))
    }

    /// A file by the name that the manifest has for it.
    pub(super) fn dead(&self, name: &str) -> PathBuf {
        self.root.join(INDEX).join(name)
    }

    /// Removes the folders of a partition, as far as they are empty.
    pub(super) fn clear_partition(&self, table: Table, hour: u64) {
        let folder = self.root.join(table.as_str()).join(partition(hour));
        // Not empty is the usual case.
        if fs::remove_dir(&folder).is_ok()
            && let Some(date) = folder.parent()
        {
            fs::remove_dir(date).ok();
        }
    }

    /// Every file below the folders of the tables and the index, and what writers that were killed
    /// left, in order.
    pub(super) fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let path = entry?.path();
            if is_temporary(&path) {
                found.push(path);
            }
        }
        let tables = Table::ALL.map(Table::as_str);
        for folder in tables.into_iter().chain([INDEX]) {
            let folder = self.root.join(folder);
            for entry in walkdir::WalkDir::new(&folder).max_depth(3) {
                match entry {
                    Ok(entry) if entry.file_type().is_dir() => {}
                    Ok(entry) => found.push(entry.into_path()),
                    Err(error) if error.depth() == 0 => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Makes the folder of a file, so that it is there after a power cut.
pub(super) fn make_folder_for(file: &Path) -> io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.is_dir()) else {
        return Ok(());
    };
    let mut missing = Vec::new();
    let mut at = folder;
    while !at.is_dir() {
        missing.push(at);
        match at.parent() {
            Some(parent) => at = parent,
            None => break,
        }
    }
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if let Some(parent) = folder.parent() {
            sync_folder(parent)?;
        }
    }
    Ok(())
}

/// Whether a killed writer may have left it.
pub(super) fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(".dwindle-"))
}

/// Whether we gave a file its name: what has another is never touched.
pub(super) fn is_ours(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let extension = path.extension().and_then(|extension| extension.to_str());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_temporary(path)
        || match (stem, extension) {
            (Some(stem), Some("parquet" | "ids" | "sum")) => digits(stem),
            (Some(stem), Some("dead")) => stem.split('-').all(digits),
            _ => false,
        }
}

/// The hour that an instant lies in, counted from 1970. What lies beyond the year 2262 is held at
/// that end, as in the tables.
pub(super) fn hour_of(at: UnixNanos) -> u64 {
    at.0.min(i64::MAX as u64) / HOUR
}

/// The first instant of an hour, and the first after it.
pub(super) fn bounds(hour: u64) -> (UnixNanos, UnixNanos) {
    let start = hour.saturating_mul(HOUR);
    (UnixNanos(start), UnixNanos(start.saturating_add(HOUR)))
}

/// `date=2026-10-07/hour=09`.
pub(super) fn partition(hour: u64) -> String {
    let text = bounds(hour).0.to_string();
    let date = text.get(..10).unwrap_or_default();
    let hour = text.get(11..13).unwrap_or_default();
    format!("date={date}/hour={hour}")
}

/// That no other process writes; ends when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// Who holds a lock, as far as it says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// The number of its process.
    pub process: String,
    /// Where its pages are.
    pub pages: Option<String>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.process.as_str(), &self.pages) {
            ("", _) => Ok(()),
            (number, None) => write!(f, " (process {number})"),
            (number, Some(pages)) => write!(f, " (process {number}, its pages are at {pages})"),
        }
    }
}

impl Holder {
    /// A line for the process, and one for its pages once they are there.
    fn read(text: &str) -> Self {
        let mut lines = text.lines().map(|line| line.trim().to_owned());
        Self {
            process: lines.next().unwrap_or_default(),
            pages: lines.next().filter(|pages| !pages.is_empty()),
        }
    }
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(root: &Path) -> Result<Self, OpenError> {
        let path = root.join("LOCK");
        let failed = |error| OpenError::Io {
            file: path.clone(),
            error,
        };
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(failed)?;
        let mut locked = file.try_lock();
        for _ in 1..TRIES {
            // A process that is just ending, or a child between its fork and its own program.
            if matches!(locked, Err(TryLockError::WouldBlock)) {
                std::thread::sleep(PAUSE);
                locked = file.try_lock();
            }
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).map_err(failed)?;
                return Err(OpenError::Locked {
                    folder: root.to_owned(),
                    holder: Holder::read(&holder),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let lock = Self { file };
        match lock.write(&format!("{}\n", std::process::id())) {
            // The lock is held all the same; only others are not told by whom.
            Err(error) if is_full(&error) => {}
            written => written.map_err(failed)?,
        }
        Ok(lock)
    }

    /// Tells others where this process shows its pages.
    pub(super) fn announce(&self, pages: &str) -> io::Result<()> {
        self.write(&format!("{}\n{pages}\n", std::process::id()))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_the_date_and_the_hour_in_utc() {
        let at = UnixNanos(1_791_364_500_000_000_001);
        assert_eq!(partition(hour_of(at)), "date=2026-10-07/hour=09");
        assert_eq!(partition(0), "date=1970-01-01/hour=00");
        assert_eq!(
            partition(hour_of(UnixNanos(u64::MAX))),
            "date=2262-04-11/hour=23"
        );
        let (start, end) = bounds(hour_of(at));
        assert!(start <= at && at < end);
        assert_eq!(hour_of(end), hour_of(start) + 1);
    }

    #[test]
    fn files_with_names_of_others_are_not_ours() {
        let ours = |name: &str| is_ours(Path::new(name));
        assert!(ours("x/000000000012.parquet") && ours("000000000012-7.dead"));
        assert!(ours(".dwindle-abc.part") && ours("3.ids") && ours("3.sum"));
        assert!(!ours("notes.parquet") && !ours("12.txt") && !ours("a-1.dead") && !ours("12"));
    }

    #[test]
    fn a_lock_says_who_holds_it_and_where_its_pages_are() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        let told = || Lock::take(folder.path()).unwrap_err().to_string();
        let process = format!("(process {})", std::process::id());
        assert!(told().contains(&process), "{}", told());
        lock.announce("http://127.0.0.1:4321/").unwrap();
        let pages = ", its pages are at http://127.0.0.1:4321/)";
        assert!(told().contains(pages), "{}", told());
        drop(lock);
        // What the one before said does not stay.
        let lock = Lock::take(folder.path()).unwrap();
        assert!(told().contains(&process), "{}", told());
        drop(lock);
        let none = Holder::default().to_string();
        assert_eq!(
            (Holder::read("").to_string(), none.as_str()),
            (none.clone(), "")
        );
    }
}
