//! How a number looks: terminal, tables, JSON, CSV, SVG. Computes nothing about spans.

pub mod csv;
mod glyphs;
pub mod grid;
pub mod json;
mod look;
pub mod markdown;
mod marked;
mod pen;
pub mod sheet;
pub mod svg;
pub mod table;
pub mod terminal;

pub use crate::query::number;
pub use look::{Look, visible};
pub use marked::marked;
pub use pen::paragraph;
