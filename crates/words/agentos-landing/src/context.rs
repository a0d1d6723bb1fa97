//! What all steps of one landing are given, with the limit on the work that one answer may cause.
//!
//! Owns: the base, the options and the budget, as one parameter. The budget is counted in steps and never in time: the same
//! input always has the same outcome. Never: the answer, or what was found in it.

use std::cell::Cell;

use crate::{Base, LandOptions, Refusal, RefusalCode};

/// Base, options and budget of one landing.
#[derive(Clone, Copy)]
pub(crate) struct LandingContext<'c> {
    /// State that the answer is landed on.
    pub base: &'c dyn Base,
    /// Options of the landing.
    pub options: &'c LandOptions,
    /// Work that is left for the answer.
    pub budget: &'c WorkBudget,
}

/// Remaining steps of work.
pub(crate) struct WorkBudget {
    left: Cell<u64>,
}

/// Steps granted for any input, however small.
const FLOOR: u64 = 20_000_000;
/// Steps granted for each byte of answer and base. A fixed number for each byte keeps the whole work linear.
const PER_BYTE: u64 = 64;

impl WorkBudget {
    /// Creates a budget for an answer of this many bytes.
    pub(crate) fn for_bytes(bytes: usize) -> Self {
        Self {
            left: Cell::new((bytes as u64).saturating_mul(PER_BYTE).saturating_add(FLOOR)),
        }
    }

    /// Grants steps for further bytes, when another file of the base is read.
    pub(crate) fn grant_bytes(&self, bytes: usize) {
        let granted = (bytes as u64).saturating_mul(PER_BYTE);
        self.left.set(self.left.get().saturating_add(granted));
    }

    /// Subtracts steps from the budget.
    ///
    /// # Errors
    /// Fails with `too-large` if fewer steps are left.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Refusal> {
        let left = self.left.get().checked_sub(steps as u64).ok_or_else(|| {
            let message = "placing these edits takes more work than one answer is allowed";
            let refusal = Refusal::new(RefusalCode::TooLarge, message);
            refusal.hint("send fewer edits at a time, each with more lines around it")
        })?;
        self.left.set(left);
        Ok(())
    }
}
