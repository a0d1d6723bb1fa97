//! `cargo xtask install`: all programs of the product, of one version.
//!
//! Owns: the list of the programs. Never: installs anything else, or into another place than cargo does.

use anyhow::Result;
use xshell::{Shell, cmd};

/// Folders of the programs that people start: the command line, and the service that it starts.
const PROGRAMS: [&str; 2] = ["crates/apps/agentos-cli", "crates/apps/agentos-server"];

/// Builds and installs every program.
///
/// # Errors
/// When one does not build, or cannot be installed.
pub fn run(sh: &Shell) -> Result<bool> {
    for folder in PROGRAMS {
        cmd!(sh, "cargo install --locked --path {folder}").quiet().run()?;
    }
    Ok(true)
}
