//! What the last run of a tool tried and was refused.
//!
//! Owns: keeping it from the end of a run until it is asked for. Never: judges a tool by it.

use std::sync::{Mutex, PoisonError};

use agentos_sandbox::Scratch;
use agentos_tool::RefusedCall;

/// Of the last run; none before it, and where the kernel does not tell.
#[derive(Debug, Default)]
pub(crate) struct LastRefusals(Mutex<Option<Vec<RefusedCall>>>);

impl LastRefusals {
    /// Takes what a run that has ended left in its folder.
    pub(crate) fn take(&self, scratch: &Scratch) {
        let told = scratch.refused().map(|all| {
            let told = all.into_iter().map(|refused| RefusedCall {
                call: refused.call,
                times: refused.times,
            });
            told.collect()
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// What was taken.
    pub(crate) fn told(&self) -> Option<Vec<RefusedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
