//! Questions to an index of texts, and its answers.
//!
//! Owns: their form, which the search and the index share. Never: reads a file.

use std::sync::Arc;

/// Content of a file, for the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSource {
    /// Content.
    Bytes(Arc<[u8]>),
    /// Content of this size, which is too large to be ranked.
    TooLarge(u64),
    /// Content that cannot be read at present. It is requested again next time.
    Unknown,
}

/// Text in the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexedText {
    /// Number of words. `None` if the content is no text, or could not be read.
    pub length: Option<u32>,
    /// Size of the content; 0 if it could not be read.
    pub bytes: u64,
}

/// Use of one of the words in one of the objects, by their positions in the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectUse {
    /// Position of the object.
    pub object: usize,
    /// Number of occurrences.
    pub count: u32,
}

/// Answer of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexAnswer {
    /// Texts of the objects, in the order of the question.
    pub texts: Vec<IndexedText>,
    /// Uses of each word, in the order of the question, sorted by object.
    pub uses: Vec<Vec<ObjectUse>>,
    /// Number of objects whose content was read for this answer.
    pub read: usize,
}
