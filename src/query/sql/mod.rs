//! SQL over the [`tables`](crate::store::tables), through Polars.
//!
//! A statement is looked at before Polars sees it ([`plan`]): one query that names only these
//! tables and common table expressions of its own. What would change something, or reach beyond
//! the tables (`read_parquet('…')` opens files), is refused, so a statement can do no more than
//! use time and memory. The plan also knows which tables and columns have to be built.
//!
//! Polars runs on as many threads as there are cores; `POLARS_MAX_THREADS` sets another number.

mod answer;
mod error;
mod plan;
mod stream;

pub use answer::{Answer, Cell, Heading};
pub use error::SqlError;
pub use plan::Plan;
pub use stream::Stream;
