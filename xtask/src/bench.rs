//! `cargo xtask bench`: the product measured next to its peers.
//!
//! Owns: which measurements there are, what they share, and where reports go. Never: fails because something was slow or
//! a peer is not there; it only reports.

mod clock;
mod evidence;
mod executor;
mod landing;
mod peers;
mod report;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use xshell::{Shell, cmd};

use crate::dist;
use crate::say;

/// Which peers are measured along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Peers {
    /// All that can be had; what is missing is installed below target/bench-peers.
    All,
    /// Those that are there.
    Installed,
    /// None: the product alone.
    None,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum Which {
    /// Measures landing the corpus next to other tools.
    Landing {
        /// Which peers are measured along.
        #[arg(long, value_enum, default_value = "installed", value_name = "WHICH")]
        peers: Peers,
        /// Where the report goes.
        #[arg(long, value_name = "DIR", default_value = "outputs/bench/landing")]
        out: PathBuf,
    },
    /// Measures verifying tapes of 100,000 and a million records, and appending next to the disk's own rate.
    Evidence {
        /// Where the report goes.
        #[arg(long, value_name = "DIR", default_value = "outputs/bench/evidence")]
        out: PathBuf,
    },
    /// Measures landing in git next to `git apply --index && git commit`, at three sizes of repository.
    Executor {
        /// Where the report goes.
        #[arg(long, value_name = "DIR", default_value = "outputs/bench/executor")]
        out: PathBuf,
    },
}

/// Runs the benchmark that was asked for.
///
/// # Errors
/// When nothing could be measured.
pub fn run(sh: &Shell, which: &Which) -> Result<bool> {
    // Before anything is built: the tree may move on while the runs take their time.
    let described = cmd!(sh, "git describe --always --dirty --abbrev=12")
        .quiet()
        .ignore_stderr()
        .read();
    let commit = described.unwrap_or_else(|_| "unknown".to_owned());
    let program = dist::build(sh)?;
    match which {
        Which::Landing { peers, out } => landing::run(sh, &program, commit, *peers, out),
        Which::Evidence { out } => evidence::run(sh, &program, commit, out),
        Which::Executor { out } => executor::run(sh, &program, commit, out),
    }?;
    Ok(true)
}

/// Prints a report and stores it as a page and as JSON.
fn store(sh: &Shell, out: &Path, page: &str, report: &impl Serialize) -> Result<()> {
    sh.write_file(out.join("report.md"), page)?;
    sh.write_file(
        out.join("report.json"),
        serde_json::to_string_pretty(report)? + "\n",
    )?;
    say(page);
    say(format_args!("stored in {}", out.display()));
    Ok(())
}
