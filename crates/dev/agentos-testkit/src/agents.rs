//! Real coding agents for tests, where they are installed.
//!
//! Owns: finding them. Never: installs one.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The aider that `AGENTOS_AIDER` names, else the one of `.venv-aider` at the top of the repository. `None`, after saying
/// on standard error what is missing, when there is none.
#[must_use]
pub fn aider() -> Option<PathBuf> {
    let named = std::env::var_os("AGENTOS_AIDER").filter(|value| !value.is_empty());
    let prepared = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv-aider/bin/aider");
    let place = named.map_or_else(prepared, PathBuf::from);
    if place.is_file() {
        return Some(place);
    }
    writeln!(
        std::io::stderr(),
        "skipped: no aider; `scripts/agents/README.md` explains how to prepare `.venv-aider`"
    )
    .ok();
    None
}
