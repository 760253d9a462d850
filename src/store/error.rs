//! What can go wrong, for whoever must act on it.

use std::io;
use std::path::PathBuf;

use polars::prelude::PolarsError;

use super::folder::Holder;

/// Why the store cannot do what was asked. Nothing is lost by it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system's word about a file.
    #[error("`{}`: {error}{}", .file.display(), advice(.error))]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// A file is not as it was written.
    #[error(
        "`{}` {what}; `dwindle store verify` lists what is damaged", .file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A store that was opened to read was asked to write.
    #[error("the store is open for reading only")]
    ReadOnly,
    /// Parts went while they were read, because another process merged or removed them.
    #[error("another process merged or removed parts of the store while it was read; ask again")]
    Changed,
    /// Another process has written there, in spite of the lock.
    #[error(
        "another process has written to `{}` too, which only one may (was its LOCK removed?); stop \
         one of the two: what this one has taken is in its log until it can be written",
        .folder.display()
    )]
    Overtaken {
        /// The folder.
        folder: PathBuf,
    },
    /// The columnar engine's word; a fault of ours.
    #[error("the tables cannot be put together: {0}")]
    Engine(String),
}

/// Why a folder cannot be opened as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process writes there.
    #[error(
        "`{}` is in use by another Dwindle{}: stop that one, ask it instead, or give another \
         folder with --data", .folder.display(), .holder
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Who has it.
        holder: Holder,
    },
    /// There is no store.
    #[error(
        "`{}` holds no store: it has no `manifest.json`; `dwindle serve --data` or `dwindle import \
         --data` makes one", .folder.display()
    )]
    NoStore {
        /// The folder.
        folder: PathBuf,
    },
    /// A later Dwindle wrote it.
    #[error(
        "`{}` is a store of format {format} (written by Dwindle {version}); this is Dwindle {}, \
         which knows up to format {}; use a newer one",
        .folder.display(), env!("CARGO_PKG_VERSION"), super::manifest::FORMAT
    )]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// Its format.
        format: u32,
        /// Who wrote it.
        version: String,
    },
    /// The list of parts is not as it was written.
    #[error(
        "`{}` is damaged ({what}): {}",
        .file.display(), rescue()
    )]
    Manifest {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The list of parts is not there, and parts are.
    #[error(
        "`{}` is not there, but `{}` and other parts of a store are: {}",
        .file.display(), .part.display(), rescue()
    )]
    NoManifest {
        /// The list.
        file: PathBuf,
        /// The first of the parts.
        part: PathBuf,
    },
    /// The list of parts is a copy from before the last commit.
    #[error(
        "`{}` is of commit {generation}, and the last one was {last}: it names no part that came \
         in between; {}; to go on with what it names and let the others be removed, remove `{}`",
        .file.display(), rescue(), .witness.display()
    )]
    OldManifest {
        /// The list.
        file: PathBuf,
        /// The commit that it is of.
        generation: u64,
        /// The last commit.
        last: u64,
        /// The file that tells the last one.
        witness: PathBuf,
    },
    /// The file system's word about a file.
    #[error("`{}`: {error}{}", .file.display(), advice(.error))]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

/// What to do without a list of parts.
fn rescue() -> &'static str {
    "put back the list of the last commit, or a backup of the whole folder; without one, move the \
     folder away and read the files below `spans` in it again with `dwindle import`, which takes \
     each trace once"
}

impl StoreError {
    /// Whether a file is not as it was written, which does not mend by waiting.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    /// Whether there is no room on the disk.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Io { error, .. } if is_full(error))
    }

    /// Makes one of what the file system said about `file`.
    pub fn io(file: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |error| Self::Io { file, error }
    }
}

impl From<PolarsError> for StoreError {
    fn from(error: PolarsError) -> Self {
        Self::Engine(error.to_string())
    }
}

/// Whether there was no room: it may come back by itself.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if is_full(error) => {
            "; free some room on that disk, or keep less (--retain-bytes); nothing is lost, and \
             it goes on by itself"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; give the user that runs Dwindle the right to write there, or another folder with \
             --data"
        }
        _ => "",
    }
}
