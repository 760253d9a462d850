//! Why a question to the store has no answer.

use std::any::Any;

use polars::prelude::PolarsError;

use super::requests::CursorError;
use crate::store::StoreError;

/// Why a question to the store has no answer. Nothing is changed by it.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// What the store says.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The columnar engine's word; a fault of ours, or a file that changed under it.
    #[error("the tables cannot be read: {0}")]
    Engine(String),
    /// A value that no version up to this one writes.
    #[error("column `{column}` holds `{value}`, which this version of Dwindle does not know")]
    Unknown {
        /// The column.
        column: &'static str,
        /// What stands there.
        value: String,
    },
    /// It would need more memory than one question may take.
    #[error("this sums up more than {0} rows; narrow it with --since and --until")]
    TooMany(usize),
    /// The cursor is of another list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
}

/// What a panic said.
pub(super) fn panic_words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it cannot be run")
}

impl From<PolarsError> for QueryError {
    fn from(error: PolarsError) -> Self {
        Self::Engine(error.to_string())
    }
}
