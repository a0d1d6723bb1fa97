//! Small parts that the whole suite uses: names of profiles, writing a file, running a program.
//!
//! Owns: these few. Never: knows the prepared surroundings.

use std::path::Path;
use std::process::Command;

use crate::child::FinishedCall;
use crate::error::GateError;

/// Name of a user's profile that allows the rogue one host.
pub(super) const PROXIED: &str = "rogue-proxied";
/// Name of a user's profile with the rogue as an agent of the Agent Client Protocol.
pub(super) const DIRECT: &str = "rogue-acp";

/// Name of a user's profile with an agent that outlives its turn.
pub(super) const AGENT: &str = "rogue-survivor";

/// Writes a file.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), GateError> {
    std::fs::write(path, text).map_err(GateError::file(path))
}

/// Runs a program to its end.
///
/// # Errors
/// When it cannot be started or fails.
pub(super) fn run_quietly(command: &mut Command) -> Result<(), GateError> {
    let ended = FinishedCall::run(command, "", None)?;
    let program = command.get_program().display();
    match ended.code {
        Some(0) => Ok(()),
        code => Err(GateError::Usage(format!(
            "`{program}` failed: {code:?} {}",
            ended.stderr.trim_end()
        ))),
    }
}
