//! Finished requests. For now the whole store is one table in memory.
//!
//! **Invariant**: nothing grows past its ceiling. When the table is full, the traces that came
//! first leave first, whole. Samples are held and marked here, and are never counted. The [`tables`]
//! are what SQL asks, and what [`parquet`] files hold. Files are written whole or not at all
//! ([`whole`]).

mod memory;
pub mod parquet;
mod size;
pub mod tables;
pub mod whole;

pub use memory::{Memory, Put, Stored};
pub use size::{of_log, of_span};
