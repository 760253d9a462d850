//! A request in words: the sentence, the second sentence, findings grouped for reading.

/// A sentence in pieces, so that each output marks them its own way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence(pub Vec<Piece>);

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Plain words.
    Plain(String),
    /// A name or number that carries the sentence; bold.
    Strong(String),
    /// The sign of the culprit, ◆.
    Culprit,
    /// The sign of where the failure surfaced, ⚑.
    Surfaced,
}
