//! What happened and how things are, as values: logs, runs, exports, proofs, the state of repository and machine.
//!
//! Owns: reading. Never: asks a model, or writes to a repository.
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

/// The functions of this crate that belong to a [`Ground`].
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
