//! Facts about the last run of a tool besides its answer: refused system calls and active limits.
//!
//! Owns: keeping them from the end of a run until the engine reads them. Never: judges a tool by them.

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
    /// Reads the facts that a finished run left in its folder.
    pub(crate) fn record_run(&self, scratch: &RunFolders) {
        let refused = scratch.refused().map(|all| {
            let calls = all.into_iter().map(|refused| RefusedCall {
                call: refused.call,
                times: refused.times,
            });
            calls.collect()
        });
        let limits = scratch.run_limits();
        *self.lock_facts() = RunFacts {
            refused,
            run_limits: limits.iter().map(|limit| limit.as_str().to_owned()).collect(),
        };
    }

    /// Returns the system calls that the tool tried and was refused. `None` if the kernel does not report them, or nothing ran.
    pub(crate) fn refused_calls(&self) -> Option<Vec<RefusedCall>> {
        self.lock_facts().refused.clone()
    }

    /// Returns the names of the limits that applied to all of its processes together.
    pub(crate) fn run_limits(&self) -> Vec<String> {
        self.lock_facts().run_limits.clone()
    }

    fn lock_facts(&self) -> MutexGuard<'_, RunFacts> {
        // The facts are replaced in one step, so they are valid even after a panic in another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
