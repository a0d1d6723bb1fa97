//! Bounds on what a verification holds in memory, however long or hostile the tape is.
//!
//! Owns: the list of findings, which stops growing and goes on counting, and the budget for open runs. Never: decides
//! what is a fault.

use super::Finding;
use crate::EvidenceError;

/// Findings and notes that are kept; the rest is counted.
pub(super) const MOST_KEPT: usize = 1000;
/// Bytes for runs that have not ended and for keys. Every run that was cut short takes some hundred.
const BUDGET: usize = 64 << 20;

/// What is wrong, in the order of the tape.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The first ones.
    pub kept: Vec<Finding>,
    /// How many more there are.
    pub more: u64,
}

impl Findings {
    /// Adds a finding, or counts it if there are enough.
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

/// Adds a note if there are not too many yet.
pub(super) fn push_note(notes: &mut Vec<String>, note: String) {
    if notes.len() < MOST_KEPT {
        notes.push(note);
    }
}

/// Memory that is left for things that grow with the tape.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    what: &'static str,
}

impl Budget {
    /// Makes a budget for things that an error message calls so.
    pub fn new(what: &'static str) -> Self {
        Self { left: BUDGET, what }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// Fails if that many are not left.
    pub fn take(&mut self, bytes: usize) -> Result<(), EvidenceError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(EvidenceError::TooMuch(self.what))?;
        Ok(())
    }

    /// Gives bytes back that were taken.
    pub fn give(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tampering;

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut findings = Findings::default();
        for line in 0..1500 {
            findings.push(Finding::new(Tampering::Mutated, Some(line), ""));
        }
        assert_eq!((findings.kept.len(), findings.more), (1000, 500));
    }

    #[test]
    fn a_budget_ends_and_comes_back() {
        let mut budget = Budget::new("open runs");
        assert!(budget.take(BUDGET).is_ok());
        assert_eq!(
            budget.take(1).unwrap_err().to_string(),
            "the tape has more open runs than any tape that was written here"
        );
        budget.give(1);
        assert!(budget.take(1).is_ok());
    }
}
