//! The tool of a server that is about to be called.
//!
//! Owns: the price that counts for the call. Never: calls the server with a task.

use agentos_engine::ports::EffectError;
use agentos_profile::ResolvedProfile;

use crate::prices::prove_prices_now;
use crate::tools::{Tool, make_server_tool};
use agentos_ground::Ground;

/// Makes the tool of a server for calls, whose cost counts. Asks a server on this machine which one it is.
///
/// # Errors
/// If its wire is invalid.
pub fn make_called_tool(ground: &Ground, resolved: &ResolvedProfile) -> Result<Tool, EffectError> {
    let mut tool = make_server_tool(ground, resolved)?;
    let proved = prove_prices_now(tool.price, &resolved.profile);
    tool.price = proved.prices;
    tool.silent = proved.silent;
    Ok(tool)
}
