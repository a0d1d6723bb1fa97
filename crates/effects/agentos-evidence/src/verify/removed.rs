//! Texts of conversations that are gone: removed on purpose, or missing.
//!
//! Owns: which missing blobs a later record explains. Never: excuses a blob that a record of a run refers to.

use std::collections::BTreeMap;

use super::bounds::MemoryBudget;
use crate::{EvidenceError, RecordKind};

/// Memory of one missing blob: its id, and the entry of the table.
const COST_OF_TEXT: usize = 160;

/// Blobs that records of conversations refer to and that do not exist, until a record says that they were removed.
#[derive(Debug)]
pub(super) struct MissingTexts {
    /// Line of the last record that refers to each.
    lines: BTreeMap<String, u64>,
    /// Number of blobs that were removed on purpose.
    pub removed: u64,
    budget: MemoryBudget,
}

impl MissingTexts {
    /// Begins without any.
    pub fn new() -> Self {
        Self {
            lines: BTreeMap::new(),
            removed: 0,
            budget: MemoryBudget::new("missing texts"),
        }
    }

    /// Returns whether a blob of this kind of record may be removed later.
    pub fn may_go(kind: RecordKind) -> bool {
        matches!(kind, RecordKind::Turn | RecordKind::Session)
    }

    /// Returns true if the blob is missing so far.
    pub fn contains(&self, id: &str) -> bool {
        self.lines.contains_key(id)
    }

    /// Remembers a missing blob that the record on this line refers to.
    ///
    /// # Errors
    /// [`EvidenceError::TooMuch`] if there are too many.
    pub fn add(&mut self, id: String, line: u64) -> Result<(), EvidenceError> {
        self.budget.take(COST_OF_TEXT)?;
        self.lines.insert(id, line);
        Ok(())
    }

    /// Takes out a blob that a `removed` record names.
    pub fn take_removed(&mut self, id: &str) {
        if self.lines.remove(id).is_some() {
            self.budget.give_back(COST_OF_TEXT);
            self.removed += 1;
        }
    }

    /// Lists the blobs that no record explains, each with the line of a record that refers to it.
    pub fn into_unexplained(self) -> impl Iterator<Item = (String, u64)> {
        self.lines.into_iter()
    }
}
