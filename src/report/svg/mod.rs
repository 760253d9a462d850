//! The pictures of the pages: one small SVG per row, fluid without script.
//!
//! *x is data, y is style*: `x` and `width` are attributes in per cent, everything vertical and
//! every colour comes from a class. All of them print through `Display`; all text is escaped.

mod axis;
mod chart;
mod escape;
mod icon;
mod ledger;
mod legend;
mod map;
mod mini;
mod row;
mod scale;
mod strip;
mod tree;
mod used;

pub use axis::AxisHead;
pub use chart::{
    Bins, CoverageBar, Line, LineLook, Lines, RankBar, Spark, Stack, StackLook, Stacked, TimeAxis,
    VerdictBar, bin_words, heat,
};
pub use escape::{Escaped, display_name};
pub use icon::{Badge, Icon};
pub use ledger::{LedgerBar, LedgerPiece, PieceLook, Swatch};
pub use legend::Legend;
pub use map::{MapDrawing, MapEdge, MapNode};
pub use mini::MiniBar;
pub use row::{FoldedBars, HandOverBars, RowBars};
pub use scale::{Percent, Scale};
pub use strip::Strip;
pub use tree::Tree;
pub use used::{UsedBars, used_words};
