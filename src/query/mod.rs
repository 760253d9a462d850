//! Every number that anyone sees is made here.
//!
//! Terminal, JSON and pages render these structs and compute nothing.

pub mod advice;
pub mod aggregate;
pub mod attempts;
pub mod calls;
pub mod clocks;
pub mod compare;
pub mod detail;
pub mod diff;
mod error;
pub mod facts;
pub mod filter;
pub mod findings;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod fleet;
mod groups;
pub mod hops;
pub mod ledger;
pub mod minibar;
pub mod number;
pub mod order;
pub mod requests;
mod rows;
pub mod rules;
pub mod samples;
pub mod scan;
pub mod sheet;
pub mod sources;
pub mod sql;
pub mod story;
mod sums;
pub mod waterfall;

pub use error::QueryError;
