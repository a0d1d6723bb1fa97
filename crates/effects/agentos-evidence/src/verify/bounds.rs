//! Limits on the memory of a verification, even for a long or hostile tape.
//!
//! Owns: the list of findings, which at its limit only counts further ones, and the memory budget for open runs. Never:
//! decides what is a fault.

use super::Finding;
use crate::EvidenceError;

/// Maximum number of findings, and of notes, that are kept. Further findings are counted.
pub(super) const MOST_KEPT: usize = 1000;
/// Bytes for runs that have not ended, and for keys. A run that was cut short takes a few hundred.
const BUDGET: usize = 64 << 20;

/// Faults in the order of the tape.
#[derive(Debug, Default)]
pub(super) struct FindingList {
    /// First findings, at most [`MOST_KEPT`].
    pub kept: Vec<Finding>,
    /// Number of further findings.
    pub more: u64,
}

impl FindingList {
    /// Adds a finding, or only counts it if the list is full.
    pub fn push(&mut self, finding: Finding) {
        if self.kept.len() < MOST_KEPT {
            self.kept.push(finding);
        } else {
            self.more += 1;
        }
    }

    /// Adds a finding if there is one.
    pub fn extend(&mut self, finding: Option<Finding>) {
        if let Some(finding) = finding {
            self.push(finding);
        }
    }
}

/// Adds a note, unless the list is full.
pub(super) fn push_note(notes: &mut Vec<String>, note: String) {
    if notes.len() < MOST_KEPT {
        notes.push(note);
    }
}

/// Memory that is left for data that grows with the tape.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    left: usize,
    what: &'static str,
}

impl MemoryBudget {
    /// Makes a budget. `what` names the data in the error message.
    pub fn new(what: &'static str) -> Self {
        Self { left: BUDGET, what }
    }

    /// Takes bytes from the budget.
    ///
    /// # Errors
    /// [`EvidenceError::TooMuch`] if fewer are left.
    pub fn take(&mut self, bytes: usize) -> Result<(), EvidenceError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(EvidenceError::TooMuch(self.what))?;
        Ok(())
    }

    /// Returns bytes to the budget.
    pub fn give_back(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tampering;

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut findings = FindingList::default();
        for line in 0..1500 {
            findings.push(Finding::new(Tampering::Mutated, Some(line), ""));
        }
        assert_eq!((findings.kept.len(), findings.more), (1000, 500));
    }

    #[test]
    fn a_budget_ends_and_comes_back() {
        let mut budget = MemoryBudget::new("open runs");
        assert!(budget.take(BUDGET).is_ok());
        assert_eq!(
            budget.take(1).unwrap_err().to_string(),
            "the tape has too many open runs to be verified: more than any tape that AgentOS writes"
        );
        budget.give_back(1);
        assert!(budget.take(1).is_ok());
    }
}
