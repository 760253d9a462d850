//! The map: services and what flows between them.

use serde::Serialize;

use super::services::{Edge, Numbers};
use super::{Share, Stretch};
use crate::model::{CallKind, Nanos, Text};
use crate::query::story::Sentence;

/// The whole map.
#[derive(Debug, Clone, Serialize)]
pub struct Map {
    /// The stretch of time that it is about.
    pub window: Stretch,
    /// What stands out, in words.
    pub sentence: Sentence,
    /// Services and dependencies, those with the most traffic first; at most `rows`.
    pub nodes: Vec<Node>,
    /// How many there are beyond these.
    pub other_nodes: u64,
    /// Calls between them, all operations of a pair together, the most traffic first.
    pub edges: Vec<Edge>,
    /// Edges to or from nodes that are not shown.
    pub other_edges: u64,
    /// What the missed requests had spent before their deadlines: what a node's `held_ms` is of.
    #[serde(rename = "held_ms")]
    pub held: Nanos,
    /// True as long as nothing but samples arrived.
    pub samples: bool,
}

/// A service, or something that leaves no spans.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Its name.
    pub name: Text,
    /// `hop` for a service that left spans.
    pub kind: CallKind,
    /// The longest way to it from a root, in calls; cycles are cut.
    pub depth: usize,
    /// True if requests begin there.
    pub root: bool,
    /// Runs, or calls to what leaves no spans.
    pub runs: u64,
    /// Runs or calls that a deadline or a timeout ended, or that answered late, of all of them.
    pub missed: Share,
    /// Missed requests of which it was the culprit.
    pub culprit: u64,
    /// How long it held the clock in missed requests, before their deadlines.
    #[serde(rename = "held_ms")]
    pub held: Nanos,
    /// All its numbers; `null` for what leaves no spans.
    pub numbers: Option<Numbers>,
}
