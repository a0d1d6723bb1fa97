//! Real coding agents for tests, where they are installed.
//!
//! Owns: finding them. Never: installs one.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The aider that `AGENTOS_AIDER` names, else the one of `.venv-aider` at the top of the repository. `None`, after saying
/// on standard error what is missing, when there is none.
#[must_use]
pub fn aider() -> Option<PathBuf> {
    let place = prepared("AGENTOS_AIDER", ".venv-aider/bin/aider");
    if place.is_file() {
        return Some(place);
    }
    skip("aider", ".venv-aider")
}

/// An agent from npm: this path below `node_modules` of the folder that `AGENTOS_AGENTS` names, else of `.agents` at the top
/// of the repository. `None`, after saying on standard error what is missing, when it is not there.
#[must_use]
pub fn from_npm(path: &str) -> Option<PathBuf> {
    let place = prepared("AGENTOS_AGENTS", ".agents")
        .join("node_modules")
        .join(path);
    if place.is_file() {
        return Some(place);
    }
    skip(path, ".agents")
}

/// The place that a variable names, else this one at the top of the repository.
fn prepared(variable: &str, usual: &str) -> PathBuf {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty());
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(usual);
    named.map_or_else(usual, PathBuf::from)
}

fn skip(name: &str, folder: &str) -> Option<PathBuf> {
    let how = format!("skipped: no {name}; `scripts/agents/README.md` explains how to prepare `{folder}`");
    writeln!(std::io::stderr(), "{how}").ok();
    None
}
