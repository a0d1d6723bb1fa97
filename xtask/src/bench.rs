//! `cargo xtask bench`: measures the product next to its peers.
//!
//! Owns: the list of measurements, what they share, and storing reports. Never: fails because something was slow or a peer
//! is not installed; it only reports.

mod clock;
mod evidence;
mod executor;
mod landing;
mod peers;
mod report;
mod service;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use xshell::{Shell, cmd};

use crate::dist;
use crate::say;

/// Choice of the peers that are measured next to the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PeerChoice {
    /// Every peer; missing ones are installed below target/bench-peers.
    All,
    /// The peers that are installed already.
    Installed,
    /// No peer: the product alone.
    None,
}

/// The measurements that there are.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measures landing the corpus next to other tools.
    Landing {
        /// Selects the peers that are measured next to the product.
        #[arg(long, value_enum, default_value = "installed", value_name = "WHICH")]
        peers: PeerChoice,
        /// Folder for the report.
        #[arg(long, value_name = "DIR", default_value = "outputs/bench/landing")]
        out: PathBuf,
    },
    /// Measures verifying tapes of 100,000 and a million records, and appending next to the disk's own rate.
    Evidence {
        /// Folder for the report.
        #[arg(long, value_name = "DIR", default_value = "outputs/bench/evidence")]
        out: PathBuf,
    },
    /// Measures the service's processor time, memory and start next to other gateways.
    Service {
        /// Selects the peers that are measured next to the product; missing ones are installed below target/bench-peers.
        #[arg(long, value_enum, default_value = "none", value_name = "WHICH")]
        peers: PeerChoice,
        /// Number of requests of each kind.
        #[arg(long, default_value_t = 3200)]
        requests: u32,
    },
    /// Measures landing in git next to `git apply --index && git commit`, at three sizes of repository.
    Executor {
        /// Folder for the report.
        #[arg(long, value_name = "DIR", default_value = "outputs/bench/executor")]
        out: PathBuf,
    },
}

/// Runs the chosen measurement on a fresh build of the product.
///
/// # Errors
/// When the product does not build or the measurement cannot be made.
pub fn run(sh: &Shell, which: &BenchCommand) -> Result<bool> {
    if let BenchCommand::Service { peers, requests } = which {
        service::run(sh, *peers, *requests)?;
        return Ok(true);
    }
    // Asked before anything is built, because the source tree may change during a measurement of several minutes.
    let described = cmd!(sh, "git describe --always --dirty --abbrev=12")
        .quiet()
        .ignore_stderr()
        .read();
    let commit = described.unwrap_or_else(|_| "unknown".to_owned());
    let program = dist::build(sh)?;
    match which {
        BenchCommand::Landing { peers, out } => landing::run(sh, &program, commit, *peers, out),
        BenchCommand::Evidence { out } => evidence::run(sh, &program, commit, out),
        BenchCommand::Executor { out } => executor::run(sh, &program, commit, out),
        // Measured above, with programs of another profile.
        BenchCommand::Service { .. } => Ok(()),
    }?;
    Ok(true)
}

/// Prints a report and stores it as a page and as JSON.
fn store_report(sh: &Shell, out: &Path, page: &str, report: &impl Serialize) -> Result<()> {
    sh.write_file(out.join("report.md"), page)?;
    sh.write_file(
        out.join("report.json"),
        serde_json::to_string_pretty(report)? + "\n",
    )?;
    say(page);
    say(format_args!("stored in {}", out.display()));
    Ok(())
}
