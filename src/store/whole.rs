//! A file that is whole or absent.
//!
//! What is written goes to a file of another name in the same folder. Only when all of it is on
//! the disk does it take the name that was asked for, in one step. Whoever reads that name sees the
//! old file, none, or the whole new one, also after a power cut; a writer that breaks off leaves
//! nothing behind but, if it was killed, a file whose name begins with `.dwindle-`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// What to do with a file that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave it, and fail with [`io::ErrorKind::AlreadyExists`].
    Keep,
    /// Put the new one in its place.
    Replace,
}

/// The files that are under way, by the names that they have meanwhile.
static UNDER_WAY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn under_way() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it is there, no file is begun and none gets its name.
#[derive(Debug)]
#[must_use]
pub struct Abandoned {
    _files: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Removes what is under way, for a process that ends without dropping it.
pub fn abandon() -> Abandoned {
    let mut files = under_way();
    for file in std::mem::take(&mut *files) {
        fs::remove_file(file).ok();
    }
    Abandoned { _files: files }
}

/// A file under way. Dropped without [`Whole::finish`] it is gone.
#[derive(Debug)]
pub struct Whole {
    file: BufWriter<NamedTempFile>,
    listed: Listed,
    path: PathBuf,
    existing: Existing,
}

/// A file of [`UNDER_WAY`].
#[derive(Debug)]
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        under_way().remove(&self.0);
    }
}

impl Whole {
    /// Begins the file `path`; a link is followed. Its folder must be there.
    pub fn create(path: &Path, existing: Existing) -> io::Result<Self> {
        let there = path.symlink_metadata().is_ok();
        if there && existing == Existing::Keep {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(_) => path.to_owned(),
        };
        let mut builder = Builder::new();
        builder.prefix(".dwindle-").suffix(".part");
        // As any new file has them: what the umask leaves of these.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let folder = folder(&path);
        let mut list = under_way();
        let made = builder.tempfile_in(folder);
        // The name that it was to have meanwhile is nobody's matter.
        let file = made.map_err(|error| match error.kind() {
            kind @ (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                io::Error::new(kind, format!("there is no folder {}", folder.display()))
            }
            kind => io::Error::new(kind, format!("{kind}, in the folder {}", folder.display())),
        })?;
        let name = file.path().to_owned();
        list.insert(name.clone());
        drop(list);
        Ok(Self {
            file: BufWriter::with_capacity(256 << 10, file),
            listed: Listed(name),
            path,
            existing,
        })
    }

    /// Brings all to the disk and gives the file its name.
    pub fn finish(self) -> io::Result<()> {
        let Self {
            file,
            listed,
            path,
            existing,
        } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        let list = under_way();
        let named = match existing {
            Existing::Keep => file.persist_noclobber(&path),
            Existing::Replace => file.persist(&path),
        };
        drop(list);
        named.map_err(|error| error.error)?;
        drop(listed);
        sync_folder(folder(&path))
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Puts a file in the place of `path` whose room on the disk is there already: `reserve`, which is
/// used up by it. Where no room is left, this still goes.
///
/// # Errors
/// There is none, or it is too small; then nothing was done.
#[expect(clippy::disallowed_methods, reason = "this is the one writer")]
pub(super) fn replace_from(reserve: &Path, path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(reserve)?;
    if file.metadata()?.len() < contents.len() as u64 {
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.write_all(contents)?;
    file.set_len(contents.len() as u64)?;
    file.sync_all()?;
    fs::rename(reserve, path)?;
    sync_folder(folder(path))
}

/// Sees to it that there is a file of so many bytes at least, for [`replace_from`]. Without room it
/// is left for another time.
pub(super) fn keep_reserve(reserve: &Path, bytes: u64) {
    let there = fs::metadata(reserve).map_or(0, |of| of.len());
    if there >= bytes {
        return;
    }
    let make = |file: &mut File| {
        file.seek(SeekFrom::Start(there))?;
        io::copy(&mut io::repeat(0).take(bytes - there), file)?;
        file.sync_all()
    };
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(reserve);
    let made = file.and_then(|mut file| {
        let made = make(&mut file);
        if made.is_err() {
            // What it had is worth keeping.
            file.set_len(there).ok();
        }
        made
    });
    if let Err(error) = made {
        tracing::debug!(%error, file = %reserve.display(), "no room to put by");
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

/// A new name is on the disk when its folder is.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_put_by_becomes_a_file_where_no_room_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let (reserve, path) = (folder.path().join("RESERVE"), folder.path().join("out"));
        keep_reserve(&reserve, 100);
        keep_reserve(&reserve, 50);
        assert_eq!(fs::metadata(&reserve).unwrap().len(), 100);
        keep_reserve(&reserve, 1_000);
        assert!(replace_from(&reserve, &path, &[7; 1_001]).is_err());
        assert_eq!(names(folder.path()), ["RESERVE"]);
        replace_from(&reserve, &path, b"all of it").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all of it");
        assert_eq!(names(folder.path()), ["out"]);
        assert!(replace_from(&reserve, &path, b"again").is_err());
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut file = Whole::create(&path, Existing::Keep).unwrap();
        file.write_all(b"whole").unwrap();
        file.flush().unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["out"]);

        let mut file = Whole::create(&path, Existing::Replace).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_file_that_is_there_is_kept_unless_it_may_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        // One that comes while ours is under way is kept as well.
        let late = Whole::create(&path, Existing::Keep).unwrap();
        Whole::create(&path, Existing::Keep)
            .unwrap()
            .finish()
            .unwrap();
        let kinds = [
            late.finish().unwrap_err().kind(),
            Whole::create(&path, Existing::Keep).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [io::ErrorKind::AlreadyExists; 2]);
        let mut new = Whole::create(&path, Existing::Replace).unwrap();
        new.write_all(b"new").unwrap();
        new.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_behind_a_link_is_replaced_and_the_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["out", "link"].map(|name| folder.path().join(name));
        Whole::create(&path, Existing::Keep)
            .unwrap()
            .finish()
            .unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut new = Whole::create(&link, Existing::Replace).unwrap();
        new.write_all(b"new").unwrap();
        new.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn there_is_no_file_without_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("out");
        let error = Whole::create(&path, Existing::Keep).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("none/x");
        let error = Whole::create(&place, Existing::Keep).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let none = folder.path().join("none");
        assert_eq!(
            error.to_string(),
            format!("there is no folder {}", none.display())
        );
    }
}
