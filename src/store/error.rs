//! What can go wrong, for whoever must act on it.

use std::io;
use std::path::PathBuf;

use polars::prelude::PolarsError;

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
    /// The columnar engine's word; a fault of ours.
    #[error("the tables cannot be put together: {0}")]
    Engine(String),
}

impl StoreError {
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

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
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
