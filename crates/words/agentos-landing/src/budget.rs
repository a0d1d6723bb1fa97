//! A bound on the work one answer may cause, counted in steps, never in time: the same input always ends the
//! same way.
//!
//! Owns: the count. Never: reads a clock.

use crate::{Refusal, RefusalCode};

/// Steps that are left.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    left: u64,
}

/// Steps granted whatever the size.
const FLOOR: u64 = 20_000_000;
/// Steps granted for each byte of answer and base: what keeps the whole linear.
const PER_BYTE: u64 = 64;

impl WorkBudget {
    /// For this many bytes.
    pub(crate) fn for_bytes(bytes: usize) -> Self {
        Self {
            left: (bytes as u64).saturating_mul(PER_BYTE).saturating_add(FLOOR),
        }
    }

    /// Grants more, as more of the base comes into play.
    pub(crate) fn grant_bytes(&mut self, bytes: usize) {
        self.left = self.left.saturating_add((bytes as u64).saturating_mul(PER_BYTE));
    }

    /// Takes steps.
    ///
    /// # Errors
    /// `too-large` when there are none left.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Refusal> {
        match self.left.checked_sub(steps as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Refusal::new(
                RefusalCode::TooLarge,
                "finding the places of these edits takes more work than an answer may cause",
            )
            .hint("send fewer edits at a time, each with more lines around it")),
        }
    }
}
