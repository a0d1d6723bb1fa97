//! Runs: from a task, an answer or a request to the landed commit or the refusal.
//!
//! Owns: the thread of a run, checks, hooks, requests for consent, undo. Never: decides what lands; the engine and policy do.
//!
//! Front ends and embedders use it through `agentos-host`.

pub mod blank;
pub mod change_review;
pub mod check;
pub mod conform;
pub mod context_choice;
pub mod devices;
pub mod explore;
pub mod following;
pub mod hooks;
pub mod init;
pub mod landing_habit;
pub mod normalize;
pub mod pool_succession;
pub mod proposal_run;
pub mod queue_walk;
pub mod recorded_options;
pub mod recover;
pub mod reland;
pub mod requests;
pub mod retry;
pub mod rules;
pub mod run;
pub mod task_preview;
pub mod task_tool;
pub mod tasks;
pub mod undo;

use agentos_ground::Ground;

/// Tasks, answers, requests, policy, devices and undo: all that can change a branch or a file of a repository. Cheap to make for each call.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    ground: &'a Ground,
}

impl<'a> Runs<'a> {
    /// Makes the handle of a ground.
    #[must_use]
    pub fn of(ground: &'a Ground) -> Self {
        Self { ground }
    }
}
