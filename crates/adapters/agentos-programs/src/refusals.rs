//! What is known of the last run of a tool besides its answer.
//!
//! Owns: keeping it from the end of a run until it is asked for. Never: judges a tool by it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_sandbox::RunFolders;
use agentos_tool::RefusedCall;

/// Facts about the last run; empty before it.
#[derive(Debug, Default)]
pub(crate) struct LastRun(Mutex<RunFacts>);

#[derive(Debug, Default)]
struct RunFacts {
    refused: Option<Vec<RefusedCall>>,
    run_limits: Vec<String>,
}

impl LastRun {
    /// Takes what a run that has ended left in its folder.
    pub(crate) fn take(&self, scratch: &RunFolders) {
        let refused = scratch.refused().map(|all| {
            let calls = all.into_iter().map(|refused| RefusedCall {
                call: refused.call,
                times: refused.times,
            });
            calls.collect()
        });
        let limits = scratch.run_limits();
        *self.facts() = RunFacts {
            refused,
            run_limits: limits.iter().map(|limit| limit.as_str().to_owned()).collect(),
        };
    }

    /// Returns the system calls that it tried and was refused. `None` if the kernel does not tell, or nothing ran.
    pub(crate) fn refused(&self) -> Option<Vec<RefusedCall>> {
        self.facts().refused.clone()
    }

    /// Returns the names of the limits that held for all of its processes together.
    pub(crate) fn run_limits(&self) -> Vec<String> {
        self.facts().run_limits.clone()
    }

    fn facts(&self) -> MutexGuard<'_, RunFacts> {
        // They are whole at every moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
