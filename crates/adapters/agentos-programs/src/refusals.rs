//! Facts about the last run of a tool besides its answer: refused system calls, refused hosts and active limits.
//!
//! Owns: keeping them from the end of a run until they are read, and adding the refused hosts to a failure. Never: judges a
//! tool by them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_api::NextStep;
use agentos_sandbox::RunFolders;
use agentos_tool::{RefusedCall, ToolError};

use crate::Program;
use crate::outlets::OpenOutlets;

/// Maximum number of refused hosts that a message names.
const MOST_HOSTS: usize = 3;

/// Facts about the last run; empty before it.
#[derive(Debug, Default)]
pub(crate) struct LastRun(Mutex<RunFacts>);

#[derive(Debug, Default)]
struct RunFacts {
    refused: Option<Vec<RefusedCall>>,
    run_limits: Vec<String>,
    refused_hosts: Vec<String>,
}

impl LastRun {
    /// Reads the facts that a finished run left in its folder and its outlets.
    pub(crate) fn record_run(&self, scratch: &RunFolders, outlets: &OpenOutlets) {
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
            refused_hosts: outlets.list_refused(),
        };
    }

    /// Adds the hosts that the program was refused to the failure of its run. They are often its cause, and they are not in
    /// its last line.
    pub(crate) fn explain_failure(&self, program: &Program, mut error: ToolError) -> ToolError {
        // The first few are enough: an agent that may not reach its vendor tries its telemetry and update servers too.
        let hosts = self.lock_facts().refused_hosts.clone();
        if hosts.is_empty() {
            return error;
        }
        let named: Vec<String> = hosts
            .iter()
            .take(MOST_HOSTS)
            .map(|host| format!("`{host}`"))
            .collect();
        let named = if hosts.len() > named.len() {
            format!("{} and {} more", named.join(", "), hosts.len() - named.len())
        } else {
            named.join(", ")
        };
        let reach = if program.has_own_server {
            "the only host that it may reach is the server that you named"
        } else {
            "its profile does not list it"
        };
        error.message = format!("{}; it tried to reach {named}, but {reach}", error.message);
        // A guess from the program's output names no hosts. Here they are known, so their step replaces the guess.
        error
            .advice
            .next
            .retain(|step| !matches!(step, NextStep::AllowHosts { .. }));
        // The hosts of a profile do not apply to a server of the user's own, so listing one there would not help.
        if !program.has_own_server {
            error.advice.next.insert(0, NextStep::AllowHosts { hosts });
        }
        error
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
