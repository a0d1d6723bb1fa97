//! The tools that are known here.
//!
//! Owns: reading them with the profiles of the repository. Never: asks a server.

use agentos_engine::ports::EffectError;

use crate::tools::Tools;
use agentos_ground::Ground;
use agentos_ground::repository;

/// Reads the known tools, with the profiles of the repository if the call has a repository.
pub fn read_tools(ground: &Ground) -> Result<Tools, EffectError> {
    // Providers can be checked outside of a repository too: then only its profiles are missing.
    let repo = repository::open(ground).ok();
    Tools::read(ground, repo.as_ref().and_then(|repo| repo.work_dir()))
}
