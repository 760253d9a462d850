//! Every number that anyone sees is made here.
//!
//! Terminal, JSON and pages render these structs and compute nothing.

pub mod number;
pub mod story;
pub mod waterfall;
