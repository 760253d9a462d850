//! Every number that anyone sees is made here.
//!
//! Terminal, JSON and pages render these structs and compute nothing.

#[cfg(test)]
pub(crate) mod fixtures;
pub mod ledger;
pub mod minibar;
pub mod number;
pub mod requests;
pub mod story;
pub mod waterfall;
