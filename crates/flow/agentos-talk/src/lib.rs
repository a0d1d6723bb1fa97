//! Conversations that last: their sessions and turns, and the tools of agents.
//!
//! Owns: sessions as objects. Never: lands a change; a conversation can only propose.
//!
//! Front ends and embedders use it through `agentos-host`.

pub mod agent_tools;
pub mod conversation;
pub mod session_export;
pub mod sessions;

use agentos_ground::Ground;

/// Conversations that last. Cheap to make for each call.
#[derive(Debug, Clone, Copy)]
pub struct Talk<'a> {
    ground: &'a Ground,
}

impl<'a> Talk<'a> {
    /// Makes the handle of a ground.
    #[must_use]
    pub fn of(ground: &'a Ground) -> Self {
        Self { ground }
    }
}

#[cfg(test)]
mod tests;
