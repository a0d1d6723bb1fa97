//! What happened and how things are, as values: logs, runs, exports, proofs, the state of repository and machine.
//!
//! Owns: reading, copies of evidence, and the git ref of published evidence. Never: asks a model, or changes a branch or a file of a
//! repository.
//!
//! Front ends and embedders use it through `agentos-host`.

pub mod change_lines;
pub mod doctor;
pub mod evidence;
pub mod export;
pub mod published;
pub mod replay;
pub mod run_log;
pub mod run_story;
pub mod sample;
pub mod status;
pub mod tape_events;

use agentos_ground::Ground;

/// Logs, exports, proofs, and the state of the repository and the machine. Cheap to make for each call.
#[derive(Debug, Clone, Copy)]
pub struct Stories<'a> {
    ground: &'a Ground,
}

impl<'a> Stories<'a> {
    /// Makes the handle of a ground.
    #[must_use]
    pub fn of(ground: &'a Ground) -> Self {
        Self { ground }
    }
}
