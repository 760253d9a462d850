//! Every number that anyone sees is made here.
//!
//! Terminal, JSON and pages render these structs and compute nothing.

#[cfg(test)]
pub(crate) mod fixtures;
pub mod number;
pub mod story;
pub mod waterfall;
