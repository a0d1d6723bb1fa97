//! `cargo xtask bench service`: the service next to other gateways.
//!
//! Owns: building both programs and calling the script. Never: measures by itself: the script is the command that anyone can run again.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::PeerChoice;
use crate::metadata::Metadata;

/// Builds the programs and measures them.
///
/// # Errors
/// When they do not build, or the script fails.
pub fn run(sh: &Shell, peers: PeerChoice, requests: u32) -> Result<()> {
    cmd!(
        sh,
        "cargo build --locked --release --package agentos --package agentos-server --bins"
    )
    .quiet()
    .run()
    .context("the product does not build")?;
    let target = Metadata::load(sh)?.target_directory;
    let (release, folder) = (
        format!("{target}/release"),
        format!("{target}/bench-peers/service"),
    );
    let requests = requests.to_string();
    let script = cmd!(
        sh,
        "python3 scripts/bench/service.py {release} --requests {requests}"
    );
    let script = match peers {
        PeerChoice::None => script,
        PeerChoice::All | PeerChoice::Installed => script.args(["--peers", folder.as_str()]),
    };
    script.quiet().run()?;
    Ok(())
}
