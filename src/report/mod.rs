//! How a number looks: terminal, tables, JSON, CSV, SVG. Computes nothing about spans.

pub mod csv;
mod glyphs;
pub mod json;
mod look;
mod pen;
pub mod svg;
pub mod table;
pub mod terminal;

pub use crate::query::number;
pub use look::{Look, visible};
