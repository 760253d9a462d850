//! How a number looks: terminal, tables, JSON, CSV, SVG. Computes nothing about spans.

pub mod json;
mod look;
pub mod svg;
pub mod terminal;

pub use crate::query::number;
pub use look::{Look, visible};
