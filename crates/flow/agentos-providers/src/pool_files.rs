//! Profiles of pools, as files.
//!
//! Owns: which profiles are pools. Never: loads a pool's members.

use agentos_engine::ports::EffectError;
use agentos_profile::PoolFile;

use crate::tools::Tools;

/// Reads the user's own profile of a provider as a pool. `None` if the profile is of another kind, or does not exist.
///
/// # Errors
/// If the profile contains a mistake.
pub fn read_pool_file(tools: &Tools, name: &str) -> Result<Option<PoolFile>, EffectError> {
    let file = tools.user_file(name)?;
    let file = file.filter(|file| file.adapter.is_some_and(|adapter| adapter.is_pool()));
    Ok(file.map(|file| file.pool.unwrap_or_default()))
}

/// Returns whether the user's own profile of this name is a pool. False if it contains a mistake, which using it reports.
pub fn is_pool(tools: &Tools, name: &str) -> bool {
    read_pool_file(tools, name).is_ok_and(|file| file.is_some())
}
