//! What every part of the rogue's stage needs: names of its profiles, a file, a program run to its end.
//!
//! Owns: these few. Never: knows the stage.

use std::path::Path;
use std::process::Command;

use crate::child::Ended;
use crate::error::GateError;

/// A profile of the user's own that allows the rogue one host.
pub(super) const PROXIED: &str = "rogue-proxied";
/// A profile of the user's own that names the rogue as an agent of the Agent Client Protocol.
pub(super) const DIRECT: &str = "rogue-acp";

/// A profile of the user's own: an agent that outlives its turn.
pub(super) const AGENT: &str = "rogue-survivor";

/// Writes a file.
pub(super) fn put(path: &Path, text: &str) -> Result<(), GateError> {
    std::fs::write(path, text).map_err(GateError::file(path))
}

/// Runs a program to its end.
pub(super) fn run_quietly(command: &mut Command) -> Result<(), GateError> {
    let ended = Ended::run(command, "", None)?;
    let program = command.get_program().display();
    match ended.code {
        Some(0) => Ok(()),
        code => Err(GateError::Usage(format!(
            "`{program}` failed: {code:?} {}",
            ended.stderr.trim_end()
        ))),
    }
}
